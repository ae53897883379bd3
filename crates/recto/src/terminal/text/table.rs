//! Columns that line up, and text that fits.

use std::borrow::Cow;

use rayon::prelude::*;
use recto_session::hostile::is_joiner;
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

/// Cuts a text to a width, with `…` where something is missing.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        fitted.push(c);
    }
    // What joined it to the rest is of no use.
    if fitted.ends_with(is_joiner) {
        fitted.pop();
    }
    if width > 0 {
        fitted.push('…');
    }
    fitted
}

/// Cuts a text to a width, and fills it up with spaces.
///
/// A width in a format string is a `u16`, and a wider one panics: one long title would end a
/// listing. So this is the only place that pads to a width from a log.
pub(crate) fn padded(text: &str, width: usize) -> String {
    let mut padded = fit(text, width);
    let missing = width.saturating_sub(width_of(&padded));
    padded.extend(std::iter::repeat_n(' ', missing));
    padded
}

/// The same with the spaces before the text.
fn padded_left(text: &str, width: usize) -> String {
    let text = fit(text, width);
    " ".repeat(width.saturating_sub(width_of(&text))) + &text
}

/// How many columns a text takes on a terminal.
fn width_of(text: &str) -> usize {
    // Most text is plain, and a listing asks tens of thousands of times.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain { text.len() } else { text.width() }
}

/// Breaks a text into lines of at most `width`, at spaces where there are any.
/// Lines that fit stay as they are, with their leading space.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    // Nothing can fail here.
    let _: Result<(), ()> = wrap_each(text, width, &mut |line| {
        lines.push(line);
        Ok(())
    });
    lines
}

/// The same, one line at a time: a text may be longer than what should be held twice.
pub(crate) fn wrap_each<E>(
    text: &str,
    width: usize,
    put: &mut dyn FnMut(String) -> Result<(), E>,
) -> Result<(), E> {
    let width = width.max(8);
    for line in text.split('\n') {
        let line: Cow<'_, str> = match line.contains('\t') {
            true => line.replace('\t', "    ").into(),
            false => line.into(),
        };
        if width_of(&line) <= width {
            put(line.into_owned())?;
            continue;
        }
        let mut current = String::new();
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let wide = width_of(word.trim_end());
            if used > 0 && used + wide > width {
                put(current.trim_end().to_owned())?;
                current.clear();
                used = 0;
            }
            for c in word.chars() {
                let wide = c.width().unwrap_or(0);
                if used + wide > width && c != ' ' {
                    put(std::mem::take(&mut current))?;
                    used = 0;
                }
                current.push(c);
                used += wide;
            }
        }
        put(current.trim_end().to_owned())?;
    }
    Ok(())
}

/// How a column behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// As wide as its widest cell.
    Left,
    /// The same, with the text at the right.
    Right,
    /// Takes the room that is left, but no more than it needs.
    Flexible,
}

/// The widest cell of a table: wider than anything a person reads in one.
const WIDEST: usize = 1000;

/// So many bytes of a text are enough for a cell, however they are written.
pub(crate) const MOST_IN_CELL: usize = 16 * WIDEST;

/// Rows of cells that line up.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[Column]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// A row whose number of cells is known only when it is made.
    pub(crate) fn cells(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows as cells of equal width. `width` is the room there is; without it, only cells
    /// are cut that are wider than anything a person reads in a table: every other row is
    /// padded to the widest.
    pub(crate) fn layout(self, width: Option<usize>) -> Vec<Vec<String>> {
        const GAP: usize = 2;
        const LEAST: usize = 10;
        let widest = |widths: Vec<usize>, row: &Vec<String>| -> Vec<usize> {
            widths.iter().zip(row).map(|(width, cell)| (*width).max(width_of(cell))).collect()
        };
        let none = || vec![0; self.columns.len()];
        let wider =
            |a: Vec<usize>, b: Vec<usize>| a.iter().zip(&b).map(|(a, b)| *a.max(b)).collect();
        let mut widths: Vec<usize> = self.rows.par_iter().fold(none, widest).reduce(none, wider);
        let most = width.map_or(WIDEST, |room| room.clamp(LEAST, WIDEST));
        for width in &mut widths {
            *width = (*width).min(most);
        }
        if let Some(room) = width {
            let gaps = GAP * widths.iter().filter(|width| **width > 0).count().saturating_sub(1);
            let fixed: usize = self
                .columns
                .iter()
                .zip(&widths)
                .filter(|(column, _)| **column != Column::Flexible)
                .map(|(_, width)| width)
                .sum();
            let flexible =
                self.columns.iter().filter(|column| **column == Column::Flexible).count();
            let mut left = room.saturating_sub(fixed + gaps);
            let mut waiting = flexible;
            // The narrow ones first: what they do not need goes to the others.
            let mut order: Vec<usize> =
                (0..widths.len()).filter(|at| self.columns[*at] == Column::Flexible).collect();
            order.sort_by_key(|at| widths[*at]);
            for at in order {
                widths[at] = widths[at].min((left / waiting.max(1)).max(LEAST));
                left = left.saturating_sub(widths[at]);
                waiting -= 1;
            }
        }
        let cell = |at: usize, text: &str| match self.columns[at] {
            Column::Right => padded_left(text, widths[at]),
            Column::Left | Column::Flexible => padded(text, widths[at]),
        };
        self.rows
            .par_iter()
            .map(|row| {
                row.iter()
                    .enumerate()
                    .filter(|(at, _)| widths[*at] > 0)
                    .map(|(at, text)| cell(at, text))
                    .collect()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit("日本語です", 7), "日本語…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("abc", 0), "");
    }

    #[test]
    fn text_wraps_at_spaces_and_keeps_its_lines() {
        assert_eq!(wrap("one two three\n  x", 9), ["one two", "three", "  x"]);
        assert_eq!(wrap("abcdefghijkl", 8), ["abcdefgh", "ijkl"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("日本語日本語", 8), ["日本語日", "本語"]);
    }

    #[test]
    fn a_text_of_any_width_is_cut_before_it_is_padded() {
        for wide in ["x".repeat(70_000), "日".repeat(70_000), "\u{301}".repeat(70_000)] {
            for column in [Column::Left, Column::Right, Column::Flexible] {
                for room in [None, Some(0), Some(80), Some(200_000)] {
                    let mut table = Table::new(&[column, Column::Left]);
                    table.row([wide.clone(), "a".into()]);
                    table.row(["b".into(), wide.clone()]);
                    let rows = table.layout(room);
                    let widest = rows.iter().flatten().map(|cell| width_of(cell)).max();
                    assert!(widest.unwrap() <= 1000, "{column:?}, {room:?}");
                }
            }
        }
        assert_eq!(padded("", 70_000).len(), 70_000);
    }

    #[test]
    fn the_flexible_column_gives_way() {
        let mut table = Table::new(&[Column::Left, Column::Flexible, Column::Right]);
        table.row(["id".into(), "a rather long title".into(), "1".into()]);
        table.row(["x".into(), "short".into(), "100".into()]);
        assert_eq!(
            table.layout(Some(20)),
            [["id", "a rather l…", "  1"], ["x ", "short      ", "100"]]
        );
    }
}
