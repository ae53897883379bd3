//! Texts of logs on a page. maud escapes them; what is left to do is to take out
//! characters that turn or hide the text around them, and sequences for terminals.

use maud::Markup;
use maud::PreEscaped;
use recto_session::export::markdown_html;
use recto_session::hostile::clean;

use crate::pages::ansi;

/// A text without what no page should carry.
pub(crate) fn shown(text: &str) -> String {
    clean(&ansi::plain(text)).into_owned()
}

/// The beginning of a text, on one line.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let text = ansi::plain(text);
    let text = clean(&text);
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most {
            let mut end = line.floor_char_boundary(most);
            // A picture character is not cut in two where that is easy to see.
            while end > 0 && line[end..].starts_with('\u{200d}') {
                end = line.floor_char_boundary(end - 1);
            }
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}

/// Markdown, made harmless where documents are made harmless. Its headings stand
/// below those of the page.
pub(crate) fn markdown(text: &str) -> Markup {
    let mut html = markdown_html(text);
    // Tags are the renderer's own: in text, `<` is escaped.
    for (from, to) in [("h4>", "h6>"), ("h3>", "h5>"), ("h2>", "h4>"), ("h1>", "h3>")] {
        html = html.replace(&format!("<{from}"), &format!("<{to}"));
        html = html.replace(&format!("</{from}"), &format!("</{to}"));
    }
    PreEscaped(html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_stand_below_those_of_the_page() {
        let html = markdown("# One\n\n### Three\n\n<h1>raw</h1>").into_string();
        assert!(html.contains("<h3>One</h3>") && html.contains("<h5>Three</h5>"), "{html}");
        assert!(!html.contains("<h1>") && html.contains("&lt;h1&gt;raw"), "{html}");
    }

    #[test]
    fn characters_that_hide_reach_no_page() {
        assert_eq!(shown("a\u{e0100}b\u{e01ef}c\u{e0041}"), "abc");
        assert_eq!(one_line("pass\u{200d}word\u{e0100}", 40), "password");
        let html = markdown("a\u{e0100}b `c\u{e01ef}d`").into_string();
        assert_eq!(html, "<p>ab <code>cd</code></p>\n");
    }

    #[test]
    fn a_line_is_cut_between_characters() {
        assert_eq!(one_line("a\n\tb   c", 10), "a b c");
        assert_eq!(one_line("ääää", 5), "ää…");
        assert_eq!(one_line("x\u{202e}y", 9), "xy");
        assert_eq!(one_line("\u{1b}[1;31merror\u{1b}[0m: no", 40), "error: no");
        assert_eq!(shown("\u{1b}[1;31merror\u{1b}[0m\n"), "error\n");
    }
}
