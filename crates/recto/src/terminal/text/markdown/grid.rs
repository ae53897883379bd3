//! A table of Markdown in columns.
//!
//! Columns that need little keep it, the others share the room, and cells wrap in their column.
//! Where even that leaves no room, every row becomes a list of its cells with their headings.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

use super::Span;
use super::fill;
use crate::terminal::output::Look;

/// What stands between two columns.
const GAP: usize = 2;
/// A column that is narrower than this, although its cells need more, cannot be read.
const NARROWEST: usize = 6;

type Cell = Vec<Span>;

/// The cells of a table, row by row; the first row is the head.
pub(super) struct Grid {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
    row: Vec<Cell>,
}

impl Grid {
    pub(super) fn new(alignments: Vec<Alignment>) -> Grid {
        Grid { alignments, rows: Vec::new(), row: Vec::new() }
    }

    pub(super) fn push_cell(&mut self, cell: Cell) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// The table in lines of at most `room`.
    pub(super) fn lines(self, room: usize) -> Vec<Vec<Span>> {
        match self.widths(room) {
            Some(widths) => self.columns(&widths),
            None => self.records(room),
        }
    }

    /// How wide each column is; none if there is no room for columns.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let mut needs = vec![0; self.alignments.len()];
        for row in &self.rows {
            for (need, cell) in needs.iter_mut().zip(row) {
                *need = (*need).max(width(cell));
            }
        }
        let mut left = room.checked_sub(GAP * needs.len().saturating_sub(1))?;
        let mut order: Vec<usize> = (0..needs.len()).collect();
        order.sort_by_key(|column| needs[*column]);
        let mut widths = vec![0; needs.len()];
        for (at, column) in order.into_iter().enumerate() {
            let share = left / (needs.len() - at);
            if needs[column] > share && share < NARROWEST {
                return None;
            }
            widths[column] = needs[column].min(share);
            left -= widths[column];
        }
        Some(widths)
    }

    fn columns(self, widths: &[usize]) -> Vec<Vec<Span>> {
        let mut lines = Vec::new();
        for (at, row) in self.rows.into_iter().enumerate() {
            let mut cells: Vec<_> =
                row.into_iter().zip(widths).map(|(cell, width)| wrapped(cell, *width)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
            for level in 0..height {
                let mut line = Vec::new();
                for (column, width) in widths.iter().enumerate() {
                    let part = cells.get_mut(column).and_then(|cell| cell.get_mut(level));
                    let part = part.map(std::mem::take).unwrap_or_default();
                    let is_last = column + 1 == widths.len();
                    align(&mut line, part, *width, self.alignments[column], is_last);
                }
                lines.push(line);
            }
            if at == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(vec![(rules.join(&" ".repeat(GAP)), Look::Faint)]);
            }
        }
        lines
    }

    /// Each row as a list of its cells, with an empty line between two rows.
    fn records(self, room: usize) -> Vec<Vec<Span>> {
        let mut rows = self.rows.into_iter();
        let heads = rows.next().unwrap_or_default();
        // Without rows the head is all there is.
        if rows.len() == 0 {
            return heads.into_iter().flat_map(|head| wrapped(head, room)).collect();
        }
        let mut lines: Vec<Vec<Span>> = Vec::new();
        for row in rows {
            if !lines.is_empty() {
                lines.push(Vec::new());
            }
            for (column, cell) in row.into_iter().enumerate().filter(|(_, cell)| width(cell) > 0) {
                let mut line = heads.get(column).cloned().unwrap_or_default();
                if width(&line) > 0 {
                    line.push((": ".into(), Look::Strong));
                }
                line.extend(cell);
                lines.extend(wrapped(line, room));
            }
        }
        lines
    }
}

fn width(spans: &[Span]) -> usize {
    spans.iter().map(|(text, _)| text.width()).sum()
}

/// The lines of a cell. Words that are longer than the column are broken.
fn wrapped(cell: Cell, room: usize) -> Vec<Vec<Span>> {
    let mut pieces: Vec<Span> = Vec::new();
    for (text, look) in cell {
        for word in text.split_inclusive(' ') {
            if word.trim_end().width() <= room {
                pieces.push((word.to_owned(), look));
                continue;
            }
            let (mut piece, mut used) = (String::new(), 0);
            for c in word.chars() {
                let wide = c.width().unwrap_or(0);
                if used + wide > room && !piece.is_empty() {
                    pieces.push((std::mem::take(&mut piece), look));
                    used = 0;
                }
                piece.push(c);
                used += wide;
            }
            pieces.push((piece, look));
        }
    }
    fill(pieces, room)
}

/// Adds the part of a cell to its line, in its place.
fn align(line: &mut Vec<Span>, mut part: Cell, room: usize, to: Alignment, is_last: bool) {
    if let Some((text, _)) = part.last_mut() {
        text.truncate(text.trim_end().len());
    }
    let free = room.saturating_sub(width(&part));
    let before = match to {
        Alignment::Right => free,
        Alignment::Center => free / 2,
        Alignment::Left | Alignment::None => 0,
    };
    let after = if is_last { 0 } else { free - before + GAP };
    let space = |count: usize| (count > 0).then(|| (" ".repeat(count), Look::Plain));
    line.extend(space(before));
    line.extend(part);
    line.extend(space(after));
}
