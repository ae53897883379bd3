//! Output of programs, with the colours that they chose.
//!
//! Only colours and weights are taken; every other sequence is left out, and the
//! classes are ours, so that no text of a log becomes a part of a tag.

use std::borrow::Cow;

use maud::Markup;
use maud::html;
use recto_session::ansi::ESCAPE;
use recto_session::ansi::sequence;

use crate::pages::text::shown;

/// How text is written from some point on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Pen {
    /// 1 to 7 for red to white; black cannot be read on all grounds.
    colour: Option<u8>,
    bold: bool,
    faint: bool,
}

impl Pen {
    fn class(self) -> Option<&'static str> {
        match (self.colour, self.bold, self.faint) {
            (Some(1), _, _) => Some("ansi-red"),
            (Some(2), _, _) => Some("ansi-green"),
            (Some(3), _, _) => Some("ansi-yellow"),
            (Some(4), _, _) => Some("ansi-blue"),
            (Some(5), _, _) => Some("ansi-magenta"),
            (Some(6), _, _) => Some("ansi-cyan"),
            (_, true, _) => Some("ansi-bold"),
            (_, _, true) => Some("ansi-faint"),
            _ => None,
        }
    }

    fn apply(&mut self, codes: &str) {
        let mut codes = codes.split(';');
        while let Some(code) = codes.next() {
            // Codes with colons have their arguments in them.
            if code.contains(':') {
                continue;
            }
            match code.parse().unwrap_or(0) {
                0 => *self = Pen::default(),
                1 => self.bold = true,
                2 => self.faint = true,
                22 => (self.bold, self.faint) = (false, false),
                39 => self.colour = None,
                code @ (30..=37 | 90..=97) => self.colour = Some((code % 10) as u8),
                // A colour of a palette has arguments of its own.
                38 | 48 => {
                    let arguments = if codes.next() == Some("2") { 3 } else { 1 };
                    for _ in 0..arguments {
                        codes.next();
                    }
                }
                _ => {}
            }
        }
    }
}

/// A text in which sequences of a terminal are colours, or nothing.
pub(crate) fn coloured(text: &str) -> Markup {
    let parts = parts(text);
    html! {
        @for (pen, part) in &parts {
            @match pen.class() {
                Some(class) => span class=(class) { (shown(part)) },
                None => (shown(part)),
            }
        }
    }
}

/// A text without sequences of a terminal.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    parts(text).into_iter().map(|(_, part)| part).collect::<String>().into()
}

fn parts(text: &str) -> Vec<(Pen, &str)> {
    let mut parts = Vec::new();
    let mut pen = Pen::default();
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        if at > 0 {
            parts.push((pen, &rest[..at]));
        }
        let sequence = sequence(&rest[at..]);
        if let Some(codes) = sequence.colours {
            pen.apply(codes);
        }
        rest = &rest[at + sequence.text.len()..];
    }
    if !rest.is_empty() {
        parts.push((pen, rest));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str) -> String {
        coloured(text).into_string()
    }

    #[test]
    fn colours_are_classes_and_the_rest_is_gone() {
        assert_eq!(drawn("a\u{1b}[31mb\u{1b}[0mc"), "a<span class=\"ansi-red\">b</span>c");
        assert_eq!(drawn("\u{1b}[1;92mok\u{1b}[39;22m!"), "<span class=\"ansi-green\">ok</span>!");
        assert_eq!(drawn("\u{1b}[38;5;31mx\u{1b}[2J\u{1b}[Hy"), "xy");
        assert_eq!(drawn("\u{1b}[38;2;1;2;31mx"), "x");
        assert_eq!(plain("a\u{1b}[1;31mb\u{1b}[0m [1;31m"), "ab [1;31m");
        assert_eq!(drawn("\u{1b}]0;title\u{7}x\u{1b}[38:5:31my"), "xy");
    }

    #[test]
    fn a_link_is_its_text() {
        for end in ["\u{1b}\\", "\u{7}"] {
            let text = format!("see \u{1b}]8;;http://a{end}this\u{1b}]8;;{end} link");
            assert_eq!(drawn(&text), "see this link");
            assert_eq!(plain(&text), "see this link");
        }
    }

    #[test]
    fn torn_sequences_and_markup_are_text() {
        assert_eq!(drawn("\u{1b}"), "");
        assert_eq!(drawn("\u{1b}[3"), "");
        assert_eq!(drawn("\u{1b}[31é<b>"), "é&lt;b&gt;");
        assert_eq!(drawn("\u{1b}é"), "é");
    }
}
