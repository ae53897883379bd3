//! Log text is hostile until it has been through here.
//!
//! A log holds whatever a web page, a tool or a model wrote. On a terminal,
//! control characters can move the cursor, set the title, fill the clipboard or
//! hide text; bidirectional marks can make a command read as another. Nothing
//! of the kind is printed: colour codes are dropped, all else is made visible.

use recto_session::ansi::ESCAPE;
use recto_session::ansi::Sequence;
use recto_session::ansi::sequence;
use recto_session::hostile::is_hidden;
use recto_session::hostile::is_joiner;
use recto_session::hostile::joins;

/// Text that may span lines: line ends and tabs stay.
pub(crate) fn safe(text: &str) -> String {
    if is_harmless(text) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(c) = rest.chars().next() {
        if c == ESCAPE
            && let Sequence { text, colours: Some(_) } = sequence(rest)
        {
            rest = &rest[text.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' if rest.starts_with('\n') => {}
            _ if is_joiner(c) && joins(before, rest.chars().next()) => shown.push(c),
            _ => push_visible(&mut shown, c),
        }
        before = Some(c);
    }
    shown
}

/// Text for one line: all white space becomes single spaces.
pub(crate) fn one_line(text: &str) -> String {
    let shown = safe(text);
    let mut line = String::with_capacity(shown.len());
    for word in shown.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// JSON text with every character that a terminal could act on as an escape.
/// The value is the same.
pub(crate) fn json_for_terminal(json: &[u8]) -> String {
    let text = String::from_utf8_lossy(json);
    if is_harmless(&text) {
        return text.into_owned();
    }
    let mut escaped = String::with_capacity(text.len());
    let mut in_string = false;
    let mut after_backslash = false;
    for c in text.chars() {
        if !in_string && is_hidden(c) {
            // Between values there can be white space only, and no escape.
            escaped.push(if c == '\n' { c } else { ' ' });
            continue;
        }
        in_string ^= c == '"' && !after_backslash;
        after_backslash = c == '\\' && !after_backslash;
        push_escaped(&mut escaped, c);
    }
    escaped
}

/// A part of JSON text that has nothing but characters of its grammar between values.
pub(crate) fn escape_hidden(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    json.chars().for_each(|c| push_escaped(&mut escaped, c));
    escaped
}

fn push_escaped(escaped: &mut String, c: char) {
    if !is_hidden(c) {
        escaped.push(c);
        return;
    }
    let mut units = [0; 2];
    for unit in c.encode_utf16(&mut units) {
        escaped.push_str(&format!("\\u{unit:04x}"));
    }
}

/// Plain ASCII on its lines, which most text is.
pub(crate) fn is_harmless(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
}

fn push_visible(shown: &mut String, c: char) {
    match c {
        // Control characters have pictures of their own.
        '\0'..='\u{1f}' => shown.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
        '\u{7f}' => shown.push('\u{2421}'),
        // A line separator separates.
        '\u{2028}' | '\u{2029}' => shown.push(' '),
        _ if is_hidden(c) => shown.push('\u{fffd}'),
        _ => shown.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_codes_go_and_other_sequences_become_visible() {
        assert_eq!(safe("\u{1b}[1;31mred\u{1b}[0m"), "red");
        assert_eq!(safe("\u{1b}]0;title\u{7}x"), "␛]0;title␇x");
        assert_eq!(safe("\u{1b}[2Jx\u{9b}2J"), "␛[2Jx\u{fffd}2J");
        assert_eq!(safe("a\r\nb\rc\td"), "a\nb␍c\td");
        assert_eq!(safe("user\u{202e}txt.exe\u{200b}"), "user\u{fffd}txt.exe\u{fffd}");
        assert_eq!(safe("plain é 日本 👍"), "plain é 日本 👍");
        assert_eq!(safe("\u{1b}["), "␛[");
    }

    #[test]
    fn joiners_stay_where_they_join_and_nowhere_else() {
        for text in ["می\u{200c}خواهم", "क्\u{200d}ष", "👩\u{200d}💻", "🏳\u{fe0f}\u{200d}🌈"]
        {
            assert_eq!(safe(text), text);
            assert_eq!(one_line(text), text);
        }
        assert_eq!(safe("pass\u{200d}word \u{200c}"), "pass\u{fffd}word \u{fffd}");
        assert_eq!(safe("\u{200d}é\u{200c}"), "\u{fffd}é\u{fffd}");
        assert_eq!(safe("é\u{200d}\u{200d}é"), "é\u{fffd}\u{fffd}é");
        assert_eq!(safe("é\u{200d}\u{202e}é"), "é\u{fffd}\u{fffd}é");
        assert_eq!(safe("é\u{200d}\u{1b}[31mé"), "é\u{fffd}é");
        assert_eq!(safe("🏴\u{e0067}\u{e007f}"), "🏴\u{fffd}\u{fffd}", "tags can hide text");
    }

    #[test]
    fn lines_are_folded() {
        assert_eq!(one_line("  a\n\tb \u{2028} c  "), "a b c");
    }

    #[test]
    fn json_keeps_its_value_and_loses_its_teeth() {
        let json = "{\"a\":\"\u{9b}x\u{202e}é\u{e0041}\"}\n";
        assert_eq!(
            json_for_terminal(json.as_bytes()),
            "{\"a\":\"\\u009bx\\u202eé\\udb40\\udc41\"}\n"
        );
        // White space between values has no escape; a quote inside a string does not end it.
        let json = "{\t\"a\\\"\t\\\\\":\r1}\n{}\n";
        assert_eq!(json_for_terminal(json.as_bytes()), "{ \"a\\\"\\u0009\\\\\": 1}\n{}\n");
    }
}
