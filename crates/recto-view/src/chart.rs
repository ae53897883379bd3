//! Charts as one SVG file that needs nothing else: no script, no link, no font.
//!
//! Everything from a log is escaped, and characters that XML cannot hold are
//! left out. The colours follow the reader's choice of light or dark.

use std::fmt::Write as _;

use recto_session::hostile::push_escaped;

/// Bars below a heading.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// The heading.
    pub title: String,
    /// The bars, from the top.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// What it is of.
    pub label: String,
    /// How long it is, against the others.
    pub value: u64,
    /// What is written behind it.
    pub text: String,
}

/// The measures of the drawing, in its own units.
const WIDTH: u64 = 760;
const MARGIN: u64 = 24;
const LABEL: u64 = 220;
const BAR: u64 = 320;
const ROW: u64 = 22;
const HEADING: u64 = 40;

/// The longest texts that have room.
const MOST_LABEL: usize = 30;
const MOST_TEXT: usize = 32;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1f2328}\
.title{font-size:20px;font-weight:600}\
.heading{font-size:15px;font-weight:600}\
.faint{fill:#59636e}\
.page{fill:#ffffff}\
.bar{fill:#0a6ebd}\
@media (prefers-color-scheme:dark){\
text{fill:#e6edf3}.faint{fill:#9198a1}.page{fill:#0d1117}.bar{fill:#4493f8}}";

/// The charts below each other, as an SVG document.
pub fn svg(title: &str, about: &str, charts: &[Chart]) -> String {
    let drawn: Vec<&Chart> = charts.iter().filter(|chart| !chart.bars.is_empty()).collect();
    let rows: u64 = drawn.iter().map(|chart| HEADING + chart.bars.len() as u64 * ROW).sum();
    let height = MARGIN * 2 + 48 + rows;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">"
    );
    element(&mut out, "title", "", title);
    let _ = writeln!(out, "<style>{STYLE}</style>");
    let _ = writeln!(out, "<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>");
    let mut y = MARGIN + 16;
    text(&mut out, (MARGIN, y), "title", title, 60);
    y += 24;
    text(&mut out, (MARGIN, y), "faint", about, 90);
    y += 8;
    for chart in drawn {
        text(&mut out, (MARGIN, y + 28), "heading", &chart.title, 60);
        y += HEADING;
        let largest = chart.bars.iter().map(|bar| bar.value).max().unwrap_or(0).max(1);
        for bar in &chart.bars {
            draw(&mut out, bar, largest, y);
            y += ROW;
        }
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, bar: &Bar, largest: u64, y: u64) {
    text(out, (MARGIN, y + 15), "label", &bar.label, MOST_LABEL);
    // What is there is seen, however small it is.
    let length = (u128::from(bar.value) * u128::from(BAR) / u128::from(largest)) as u64;
    let length = if bar.value > 0 { length.max(1) } else { 0 };
    let x = MARGIN + LABEL;
    let _ = writeln!(
        out,
        "<rect class=\"bar\" x=\"{x}\" y=\"{}\" width=\"{length}\" height=\"14\" rx=\"2\"/>",
        y + 4
    );
    text(out, (x + length + 8, y + 15), "faint", &bar.text, MOST_TEXT);
}

fn text(out: &mut String, (x, y): (u64, u64), class: &str, text: &str, most: usize) {
    let cut: String = match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    let attributes = format!(" x=\"{x}\" y=\"{y}\" class=\"{class}\"");
    element(out, "text", &attributes, &cut);
}

fn element(out: &mut String, name: &str, attributes: &str, text: &str) {
    let _ = write!(out, "<{name}{attributes}>");
    let one_line: Vec<&str> = text.split_whitespace().collect();
    push_escaped(out, &one_line.join(" "));
    let _ = writeln!(out, "</{name}>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(title: &str, bars: &[(&str, u64)]) -> Chart {
        let bars = bars.iter().map(|(label, value)| Bar {
            label: (*label).to_owned(),
            value: *value,
            text: format!("{value} of {label}"),
        });
        Chart { title: title.to_owned(), bars: bars.collect() }
    }

    /// The names of the elements and their texts, from a parser that knows as
    /// much XML as these files may have, and takes nothing else.
    fn parse(document: &str) -> Vec<(String, String)> {
        let mut open: Vec<String> = Vec::new();
        let mut found = Vec::new();
        let mut rest = document;
        while let Some(at) = rest.find('<') {
            let text = plain(&rest[..at]);
            let end = at + rest[at..].find('>').expect("a tag ends");
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "tags are nested");
                found.push((name.to_owned(), text));
                continue;
            }
            assert_eq!(text.trim(), "", "there is text only inside of elements");
            let name: String = tag.chars().take_while(char::is_ascii_alphabetic).collect();
            assert!(["svg", "title", "style", "rect", "text"].contains(&name.as_str()), "{name}");
            let attributes = tag[name.len()..].trim_end_matches('/');
            assert_eq!(attributes.matches('"').count() % 2, 0, "{tag}");
            for name in attributes.split('"').step_by(2).filter(|name| !name.trim().is_empty()) {
                let name = name.trim().trim_end_matches('=');
                let known =
                    ["xmlns", "width", "height", "viewBox", "role", "class", "x", "y", "rx"];
                assert!(known.contains(&name), "{name}");
            }
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert_eq!((open.len(), rest.trim()), (0, ""));
        found
    }

    fn plain(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('&') {
            out.push_str(&rest[..at]);
            let end = at + rest[at..].find(';').expect("an entity ends");
            out.push(match &rest[at..=end] {
                "&amp;" => '&',
                "&lt;" => '<',
                "&gt;" => '>',
                "&quot;" => '"',
                "&#39;" => '\'',
                other => panic!("{other} is no entity"),
            });
            rest = &rest[end + 1..];
        }
        out + rest
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let document =
            svg("Sessions", "2 sessions", &[chart("tools", &[("Bash", 40), ("Edit", 10)])]);
        let texts: Vec<String> = parse(&document)
            .into_iter()
            .filter(|(name, _)| name == "text")
            .map(|(_, text)| text)
            .collect();
        assert_eq!(
            texts,
            ["Sessions", "2 sessions", "tools", "Bash", "40 of Bash", "Edit", "10 of Edit"]
        );
        for width in ["width=\"320\"", "width=\"80\""] {
            assert!(document.contains(&format!("{width} height=\"14\"")), "{document}");
        }
    }

    #[test]
    fn what_is_small_is_seen_and_what_is_not_there_is_not() {
        let bars = [("most", u64::MAX), ("one", 1), ("none", 0)];
        let document = svg("", "", &[chart("x", &bars), chart("empty", &[])]);
        parse(&document);
        assert!(document.contains("width=\"1\" height=\"14\""), "{document}");
        assert!(document.contains("width=\"0\" height=\"14\""), "{document}");
        assert!(!document.contains("empty"), "{document}");
    }

    #[test]
    fn hostile_names_stay_text() {
        let names = [
            "</text><script>alert(1)</script>",
            "\"><image href=\"http://example.com/x\"/>",
            "]]></style><style>*{display:none}",
            "<!ENTITY x SYSTEM \"file:///etc/passwd\">&x;",
            "a\u{0}b\u{1b}[31m\u{202e}\u{200b}\u{ffff}\r\nc\u{2028}d",
            "&amp;&#x3c;",
        ];
        for name in names {
            let document = svg(name, name, &[chart(name, &[(name, 1)])]);
            let texts = parse(&document);
            assert_eq!(texts.iter().filter(|(name, _)| name == "text").count(), 5);
            assert!(
                document.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'),
                "{document:?}"
            );
        }
        let long = svg("", "", &[chart("x", &[(&"é<".repeat(500), 1)])]);
        assert!(parse(&long).iter().any(|(_, text)| text.ends_with('…') && text.len() < 100));
    }
}
