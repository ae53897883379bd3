//! Hostile characters: the one table, for terminals, documents, pages and agents.
//!
//! A log contains whatever a web page, a tool or a model wrote. Control characters act on
//! a terminal, bidirectional marks make a command read as another one, and characters
//! without a width hide words from people that a model still reads.

use std::borrow::Cow;

/// Whether a character acts on the screen that shows it, or stays unseen. Line ends, tabs
/// and joiners are among them: the caller knows where they are harmless ([`joins`]).
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}'
        // Fillers and vowels that take their place and show nothing in it.
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        | '\u{fffe}' | '\u{ffff}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character decides if its neighbours are written as one: Persian and Indian
/// scripts need it, and so do images that consist of several characters.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a joiner between these characters joins them. Between ASCII letters it would
/// only hide.
pub fn joins(before: Option<char>, after: Option<char>) -> bool {
    let is_visible = |c: char| !c.is_ascii() && !c.is_whitespace() && !is_hidden(c);
    before.is_some_and(is_visible) && after.is_some_and(is_visible)
}

/// The text without hidden characters. Line ends, tabs and joiners that join stay. A
/// carriage return would let a line overwrite itself; it ends the line instead.
///
/// ```
/// use recto_session::hostile::clean;
///
/// assert_eq!(clean("invoice\u{202e}fdp.exe"), "invoicefdp.exe");
/// assert_eq!(clean("one\r\ntwo"), "one\ntwo");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_hidden(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut before = None;
    while let Some(c) = characters.next() {
        let after = characters.peek().copied();
        match c {
            '\n' | '\t' => cleaned.push(c),
            '\r' if after == Some('\n') => {}
            '\r' => cleaned.push('\n'),
            _ if is_joiner(c) && joins(before, after) => cleaned.push(c),
            _ if is_hidden(c) => {}
            _ => cleaned.push(c),
        }
        before = Some(c);
    }
    Cow::Owned(cleaned)
}

/// Appends the text without hidden characters, and with the five characters of markup
/// escaped.
pub fn push_escaped(out: &mut String, text: &str) {
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_shows_nothing_is_left() {
        let fillers = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}', '\u{34f}', '\u{17b4}'];
        for c in fillers.into_iter().chain(['\u{fff0}', '\u{1bca0}', '\u{2064}']) {
            assert_eq!(clean(&format!("a{c}b")), "ab", "{c:?}");
        }
        // Text that has such characters beside it, and images of several characters.
        for text in ["한글", "ខ្មែរ", "✈\u{fe0f}"] {
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn no_variation_selector_of_the_supplement_and_no_tag_is_left() {
        for c in ['\u{e0000}', '\u{e0041}', '\u{e0100}', '\u{e01ef}', '\u{e0fff}'] {
            assert_eq!(clean(&format!("a{c}b")), "ab", "{c:?}");
        }
    }

    #[test]
    fn lines_stay_and_returns_end_them() {
        assert_eq!(clean("a\tb\nc\r\nd\re"), "a\tb\nc\nd\ne");
        assert!(matches!(clean("a\tb\nc é 日本"), Cow::Borrowed(_)));
    }

    #[test]
    fn joiners_stay_where_they_join() {
        for text in ["می\u{200c}خواهم", "👩\u{200d}💻", "🏳\u{fe0f}\u{200d}🌈"] {
            assert_eq!(clean(text), text);
        }
        assert_eq!(clean("pass\u{200d}word é\u{200d}\u{202e}é"), "password éé");
    }
}
