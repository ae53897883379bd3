//! Lines of a transcript, ready for the screen.

use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

use crate::terminal::text::Span;

/// A line of the screen, and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageLine {
    pub(super) spans: Vec<Span>,
    /// The line of the log, from 1.
    pub(super) log_line: u64,
    /// The turn, from 1; 0 for what belongs to none.
    pub(super) turn: u32,
}

impl PageLine {
    pub(super) fn text(&self) -> String {
        self.spans.iter().map(|(text, _)| text.as_str()).collect()
    }

    fn is_blank(&self) -> bool {
        self.spans.iter().all(|(text, _)| text.trim().is_empty())
    }
}

/// How much of a document is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Progress {
    #[default]
    Reading,
    Whole,
    /// It has more lines than are kept.
    Cut,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Document {
    pub(super) lines: Vec<PageLine>,
    pub(super) progress: Progress,
    /// The turns, with the line that each begins at.
    turns: Vec<(u32, usize)>,
}

impl Document {
    pub(super) fn add(&mut self, lines: Vec<PageLine>) {
        for line in lines {
            let known = self.turns.last().map_or(0, |(number, _)| *number);
            // The blank line before a heading is no good place to begin.
            if line.turn > known && !line.is_blank() {
                self.turns.push((line.turn, self.lines.len()));
            }
            self.lines.push(line);
        }
    }

    /// The turn that a line belongs to.
    pub(super) fn turn_at(&self, line: usize) -> Option<u32> {
        let after = self.turns.partition_point(|(_, start)| *start <= line);
        Some(self.turns.get(after.checked_sub(1)?)?.0)
    }

    /// The number of the last turn that was read.
    pub(super) fn last_turn(&self) -> u32 {
        self.turns.last().map_or(0, |(number, _)| *number)
    }

    /// Where a turn begins.
    pub(super) fn start_of(&self, turn: u32) -> Option<usize> {
        self.turns.iter().find(|(number, _)| *number == turn).map(|(_, start)| *start)
    }

    /// Where the next turn after a line begins.
    pub(super) fn next_turn(&self, line: usize) -> Option<usize> {
        self.turns.iter().map(|(_, start)| *start).find(|start| *start > line)
    }

    /// Where the last turn before a line begins.
    pub(super) fn turn_before(&self, line: usize) -> Option<usize> {
        self.turns.iter().rev().map(|(_, start)| *start).find(|start| *start < line)
    }

    /// The first line that shows a line of the log, or what comes after it.
    pub(super) fn line_of_log(&self, log_line: u64) -> usize {
        self.lines.partition_point(|line| line.log_line < log_line)
    }

    /// Whether everything up to this line of the log is there.
    pub(super) fn reaches(&self, log_line: u64) -> bool {
        self.progress != Progress::Reading
            || self.lines.last().is_some_and(|line| line.log_line >= log_line)
    }
}

/// Breaks a line that is wider than the screen; what follows is set in like its start.
pub(super) fn fold(spans: Vec<Span>, width: usize) -> Vec<Vec<Span>> {
    let width = width.max(8);
    if spans.iter().map(|(text, _)| text.width()).sum::<usize>() <= width {
        return vec![spans];
    }
    let start: String = spans.iter().flat_map(|(text, _)| text.chars()).take(width).collect();
    let indent = (start.len() - start.trim_start().len()).min(width / 2);
    let mut lines = Vec::new();
    let mut line: Vec<Span> = Vec::new();
    let mut used = 0;
    for (text, look) in spans {
        let mut piece = String::new();
        for c in text.chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > width {
                line.push((std::mem::take(&mut piece), look));
                lines.push(std::mem::take(&mut line));
                piece.push_str(&" ".repeat(indent));
                used = indent;
            }
            piece.push(c);
            used += wide;
        }
        if !piece.is_empty() {
            line.push((piece, look));
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::output::Look;

    fn line(text: &str, log_line: u64, turn: u32) -> PageLine {
        PageLine { spans: vec![(text.to_owned(), Look::Plain)], log_line, turn }
    }

    #[test]
    fn turns_begin_at_their_headings() {
        let mut document = Document::default();
        document.add(vec![line("", 1, 1), line("You 1", 1, 1), line("x", 2, 1)]);
        document.add(vec![line("", 7, 2), line("You 2", 7, 2)]);
        assert_eq!(
            (document.turn_at(0), document.turn_at(1), document.turn_at(4)),
            (None, Some(1), Some(2))
        );
        assert_eq!((document.next_turn(1), document.turn_before(4)), (Some(4), Some(1)));
        assert_eq!((document.line_of_log(2), document.line_of_log(5)), (2, 3));
        assert!(document.reaches(7) && !document.reaches(8));
    }

    #[test]
    fn wide_lines_are_broken_and_set_in() {
        let spans = vec![("    abcdef".to_owned(), Look::Plain), ("日本語".to_owned(), Look::Bad)];
        let folded: Vec<String> = fold(spans, 10)
            .into_iter()
            .map(|spans| spans.into_iter().map(|(text, _)| text).collect())
            .collect();
        assert_eq!(folded, ["    abcdef", "    日本語"]);
        assert_eq!(fold(Vec::new(), 10), [Vec::new()]);
    }
}
