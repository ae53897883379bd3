//! Columns that line up, and text that fits.

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

/// How many columns a text takes on a terminal.
fn width_of(text: &str) -> usize {
    // Most text is plain, and a listing asks tens of thousands of times.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain { text.len() } else { text.width() }
}

/// Breaks a text into lines of at most `width`, at spaces where there are any.
/// Lines that fit stay as they are, with their leading space.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = line.replace('\t', "    ");
        if line.width() <= width {
            lines.push(line);
            continue;
        }
        let mut current = String::new();
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let wide = word.trim_end().width();
            if used > 0 && used + wide > width {
                lines.push(current.trim_end().to_owned());
                current.clear();
                used = 0;
            }
            for c in word.chars() {
                let wide = c.width().unwrap_or(0);
                if used + wide > width && c != ' ' {
                    lines.push(std::mem::take(&mut current));
                    used = 0;
                }
                current.push(c);
                used += wide;
            }
        }
        lines.push(current.trim_end().to_owned());
    }
    lines
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

    /// The rows as cells of equal width. `width` is the room there is; without
    /// it nothing is cut.
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
        let cell = |at: usize, text: &str| {
            let text = fit(text, widths[at]);
            let pad = widths[at] - width_of(&text);
            match self.columns[at] {
                Column::Right => format!("{:pad$}{text}", ""),
                Column::Left | Column::Flexible => format!("{text}{:pad$}", ""),
            }
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
