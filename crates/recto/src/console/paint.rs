//! An area at the end of the scrollback that is drawn again, below lines that are printed once.
//!
//! Owns: which bytes go to the terminal. Nothing above the area is ever touched, so the
//! terminal's own scrollback has the conversation.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::blocks::Lines;
use super::view::Area;
use crate::terminal::output::Look;
use crate::terminal::text::Span;

/// What the terminal shows of the area.
#[derive(Debug, Default)]
pub(super) struct Painter {
    pub(super) has_colour: bool,
    /// The widths of the lines that are shown.
    shown: Vec<usize>,
    lines: Vec<String>,
    /// The row of the cursor in the area.
    row: usize,
    width: usize,
}

impl Painter {
    pub(super) fn new(has_colour: bool) -> Painter {
        Painter { has_colour, ..Painter::default() }
    }

    /// The bytes that print lines for good and draw the area below them.
    pub(super) fn draw(&mut self, printed: &Lines, area: &Area, width: usize) -> String {
        let lines: Vec<String> = area.lines.iter().map(|line| self.line(line, width)).collect();
        let mut out = String::from("\u{1b}[?2026h\u{1b}[?25l");
        if printed.is_empty() && width == self.width && lines.len() == self.lines.len() {
            self.change(&lines, &mut out);
        } else {
            self.erase(width, &mut out);
            for line in printed {
                out.push_str(&self.line(line, width));
                out.push_str("\r\n");
            }
            for (at, line) in lines.iter().enumerate() {
                out.push_str(line);
                if at + 1 < lines.len() {
                    out.push_str("\r\n");
                }
            }
            self.row = lines.len().saturating_sub(1);
        }
        self.shown = area.lines.iter().map(|line| wide(line).min(width)).collect();
        self.lines = lines;
        self.width = width;
        self.go_to(area.cursor.0, &mut out);
        let _ = write!(out, "\r\u{1b}[{}G\u{1b}[?25h\u{1b}[?2026l", area.cursor.1 + 1);
        out
    }

    /// The bytes that leave the area behind and put the cursor where it began.
    pub(super) fn clear(&mut self, width: usize) -> String {
        let mut out = String::new();
        self.erase(width, &mut out);
        self.shown.clear();
        self.lines.clear();
        self.row = 0;
        out.push_str("\u{1b}[?25h");
        out
    }

    /// Forgets what is shown: the screen was cleared, or another program had it.
    pub(super) fn forget(&mut self) {
        self.shown.clear();
        self.lines.clear();
        self.row = 0;
    }

    /// Draws the lines that changed, where all stay where they are.
    fn change(&mut self, lines: &[String], out: &mut String) {
        for (at, line) in lines.iter().enumerate() {
            if self.lines.get(at) != Some(line) {
                self.go_to(at, out);
                let _ = write!(out, "\r\u{1b}[2K{line}");
            }
        }
    }

    fn go_to(&mut self, row: usize, out: &mut String) {
        let (from, to) = (self.row, row);
        if to < from {
            let _ = write!(out, "\u{1b}[{}A", from - to);
        } else if to > from {
            let _ = write!(out, "\u{1b}[{}B", to - from);
        }
        self.row = row;
    }

    /// Goes to the beginning of the area and clears what is below. A terminal that became
    /// narrower has broken long lines into several.
    fn erase(&mut self, width: usize, out: &mut String) {
        let rows = |shown: &usize| shown.div_ceil(width.max(1)).max(1);
        let above: usize = match width < self.width {
            true => self.shown.iter().take(self.row).map(rows).sum(),
            false => self.row,
        };
        if above > 0 {
            let _ = write!(out, "\u{1b}[{above}A");
        }
        out.push_str("\r\u{1b}[J");
        self.row = 0;
    }

    /// A line that is never wider than the terminal.
    fn line(&self, spans: &[Span], width: usize) -> String {
        let mut line = String::new();
        let mut room = width;
        for (text, look) in spans {
            let text = cut(text, room);
            room -= text.width().min(room);
            if text.is_empty() {
                continue;
            }
            match self.has_colour && *look != Look::Plain {
                true => {
                    let style = look.style();
                    let _ = write!(line, "{}{text}{}", style.render(), style.render_reset());
                }
                false => line.push_str(text),
            }
        }
        line
    }

    /// A line as text, for output that is not drawn on.
    pub(super) fn plain_line(&self, spans: &[Span]) -> String {
        self.line(spans, usize::MAX)
    }
}

fn wide(spans: &[Span]) -> usize {
    spans.iter().map(|(text, _)| text.width()).sum()
}

/// As much of a text as fits.
fn cut(text: &str, room: usize) -> &str {
    if text.width() <= room {
        return text;
    }
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used > room {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(lines: &[&str]) -> Area {
        let lines: Lines =
            lines.iter().map(|line| vec![((*line).to_owned(), Look::Plain)]).collect();
        let row = lines.len() - 1;
        Area { lines, cursor: (row, 0) }
    }

    #[test]
    fn what_is_printed_once_is_not_drawn_again() {
        let mut painter = Painter::new(false);
        let said = vec![vec![("said".to_owned(), Look::Plain)]];
        let first = painter.draw(&said, &area(&["one", "two"]), 40);
        assert!(first.contains("said\r\none\r\ntwo"), "{first:?}");
        let second = painter.draw(&Vec::new(), &area(&["one", "TWO"]), 40);
        assert!(!second.contains("said") && !second.contains("one"), "{second:?}");
        assert!(second.contains("\u{1b}[2KTWO"), "{second:?}");
        let third = painter.draw(&said, &area(&["three"]), 40);
        assert!(third.contains("\u{1b}[1A\r\u{1b}[Jsaid\r\nthree"), "{third:?}");
    }

    #[test]
    fn a_line_is_never_wider_than_the_terminal() {
        let mut painter = Painter::new(false);
        let drawn = painter.draw(&Vec::new(), &area(&["漢字漢字漢字漢字漢字"]), 7);
        assert!(drawn.contains("漢字漢") && !drawn.contains("漢字漢字"), "{drawn:?}");
    }

    #[test]
    fn a_terminal_that_became_narrower_is_cleared_as_far_as_lines_broke() {
        let mut painter = Painter::new(false);
        painter.draw(&Vec::new(), &area(&["aaaaaaaaaaaaaaaaaaaa", "b"]), 40);
        let drawn = painter.draw(&Vec::new(), &area(&["c"]), 10);
        assert!(drawn.contains("\u{1b}[2A\r\u{1b}[J"), "{drawn:?}");
    }
}
