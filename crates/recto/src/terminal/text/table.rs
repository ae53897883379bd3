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

/// Parts with a separator between them, on lines of at most `width` if none is wider.
pub(crate) fn wrap_at(parts: &[String], separator: &str, width: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let room = |line: &String| {
            let wide = width_of(line) + width_of(separator) + width_of(part);
            width.is_none_or(|width| wide <= width)
        };
        match lines.last_mut().filter(|line| room(line)) {
            Some(line) => {
                line.push_str(separator);
                line.push_str(part);
            }
            None => lines.push(part.clone()),
        }
    }
    lines
}

/// A name, padded, and a text about it, which wraps below itself; without a width, in one line.
pub(crate) fn entry(name: &str, about: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![format!("{}\t{about}", name.trim_end())] };
    let column = width_of(name).min(width / 2);
    let blank = " ".repeat(column);
    let mut lines: Vec<String> = wrap(about, width - column);
    let is_beside = width_of(name) <= column;
    for (at, line) in lines.iter_mut().enumerate() {
        line.insert_str(0, if at == 0 && is_beside { name } else { &blank });
    }
    if !is_beside {
        lines.insert(0, name.trim_end().to_owned());
    }
    lines
}

/// Cuts a path to a width at its beginning: the end says most.
pub(crate) fn fit_path(path: &str, width: usize) -> String {
    if width_of(path) <= width {
        return path.to_owned();
    }
    let room = width.saturating_sub(1);
    let (mut start, mut used) = (path.len(), 0);
    for (at, c) in path.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        start = at;
    }
    // A name that is cut says less than the slash after it, unless it is the last one.
    let end = &path[start..];
    let whole = end.find('/').filter(|at| *at + 1 < end.len());
    let end = whole.map_or(end, |at| &end[at..]);
    if width == 0 { String::new() } else { format!("…{end}") }
}

/// How a column behaves where there is little room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// As wide as its widest cell.
    Left,
    /// The same, with the text at the right.
    Right,
    /// Takes the room that is left, but no more than it needs: a title.
    Flexible,
    /// What the flexible ones leave; cut at the beginning. Goes before they get very short.
    Path,
    /// As wide as its widest cell; goes before a flexible column gets short.
    Optional,
    /// The same, with the text at the right.
    OptionalRight,
    /// What all others leave; goes if that is little.
    Spare,
    /// As wide as its widest cell; goes where the rest would be cut: a narrow terminal.
    Detail,
    /// The same, with the text at the right.
    DetailRight,
}

/// The widest cell of a table: wider than anything a person reads in one.
const WIDEST: usize = 1000;

/// The space between columns.
const GAP: usize = 2;
/// The least that is left of a flexible column.
const LEAST: usize = 10;
/// The least that is left of a path.
const PATH: usize = 14;
/// A title that would get less takes the room of the path.
const NARROW: usize = 16;
/// What a title should have before optional columns of words are shown.
const COMFORT: usize = 60;
/// The same before figures are shown, which are what their table is for.
const COMFORT_BESIDE_FIGURES: usize = 32;
/// The least that a spare column is worth.
const SPARE: usize = 16;

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

    /// The rows of a listing: cells of equal width for a person, and as they are for a
    /// program, which cuts a line at its tabs.
    pub(crate) fn layout(self, width: Option<usize>) -> Vec<Vec<String>> {
        match width {
            Some(_) => self.aligned(width),
            None => {
                let cells = |row: Vec<String>| row.iter().map(|text| fit(text, WIDEST)).collect();
                self.rows.into_par_iter().map(cells).collect()
            }
        }
    }

    /// The rows as cells of equal width. `width` is the room there is; without it, only cells
    /// are cut that are wider than anything a person reads in a table: every other row is
    /// padded to the widest.
    pub(crate) fn aligned(self, width: Option<usize>) -> Vec<Vec<String>> {
        let widths = self.widths(width);
        let cell = |at: usize, text: &str| match self.columns[at] {
            Column::Right | Column::OptionalRight | Column::DetailRight => {
                padded_left(text, widths[at])
            }
            Column::Path => padded(&fit_path(text, widths[at]), widths[at]),
            Column::Left | Column::Flexible | Column::Optional | Column::Spare | Column::Detail => {
                padded(text, widths[at])
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

    /// How wide each column is; 0 for one that is not shown.
    fn widths(&self, width: Option<usize>) -> Vec<usize> {
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
            self.squeeze(&mut widths, room);
        }
        widths
    }

    /// Makes the columns fit into the room.
    fn squeeze(&self, widths: &mut [usize], room: usize) {
        let places = |column: Column| {
            let columns = self.columns.iter().enumerate();
            columns.filter(move |(_, other)| **other == column).map(|(at, _)| at)
        };
        let natural = widths.to_vec();
        // What is used if columns that can give way get no more than this.
        let used = |widths: &[usize], flexible: usize| {
            let shown = widths.iter().filter(|width| **width > 0).count();
            let columns = self.columns.iter().zip(widths);
            let sum: usize = columns
                .map(|(column, width)| match column {
                    Column::Flexible => (*width).min(flexible),
                    Column::Path => (*width).min(PATH),
                    Column::Left
                    | Column::Right
                    | Column::Optional
                    | Column::OptionalRight
                    | Column::Spare
                    | Column::Detail
                    | Column::DetailRight => *width,
                })
                .sum();
            sum + GAP * shown.saturating_sub(1)
        };
        for at in places(Column::Spare) {
            widths[at] = 0;
        }
        for at in (0..widths.len()).rev() {
            let comfort = match self.columns[at] {
                Column::Optional => COMFORT,
                Column::OptionalRight => COMFORT_BESIDE_FIGURES,
                Column::Left
                | Column::Right
                | Column::Flexible
                | Column::Path
                | Column::Spare
                | Column::Detail
                | Column::DetailRight => continue,
            };
            if used(widths, comfort) > room {
                widths[at] = 0;
            }
        }
        let needs = places(Column::Flexible).map(|at| natural[at].min(NARROW)).max();
        if needs.is_some_and(|needs| used(widths, needs) > room) {
            places(Column::Path).for_each(|at| widths[at] = 0);
        }
        for at in (0..widths.len()).rev() {
            let is_detail = matches!(self.columns[at], Column::Detail | Column::DetailRight);
            if is_detail && used(widths, LEAST) > room {
                widths[at] = 0;
            }
        }
        // Paths keep a little, titles get what they need of the rest, and paths what is left.
        let mut left = room.saturating_sub(used(widths, 0));
        let mut order: Vec<usize> = places(Column::Flexible).collect();
        let mut waiting = order.len();
        // The narrow ones first: what they do not need goes to the others.
        order.sort_by_key(|at| widths[*at]);
        for at in order {
            widths[at] = widths[at].min((left / waiting.max(1)).max(LEAST));
            left = left.saturating_sub(widths[at]);
            waiting -= 1;
        }
        for at in places(Column::Path) {
            let kept = widths[at].min(PATH);
            widths[at] = widths[at].min(kept + left);
            left = left.saturating_sub(widths[at] - kept);
        }
        for at in places(Column::Spare) {
            let width = natural[at].min(left.saturating_sub(GAP));
            if width >= natural[at].min(SPARE) && width > 0 {
                widths[at] = width;
                left = left.saturating_sub(width + GAP);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_wraps_below_itself() {
        let lines = ["cycle   cut a cycle at", "        its first line"];
        assert_eq!(entry("cycle   ", "cut a cycle at its first line", Some(24)), lines);
        assert_eq!(
            entry("a-long-name  ", "cut a cycle", Some(16)),
            ["a-long-name", "        cut a", "        cycle"]
        );
        assert_eq!(entry("cycle   ", "cut", None), ["cycle\tcut"]);
    }

    #[test]
    fn parts_stay_whole_where_they_wrap() {
        let parts = ["3f2a1b4c", "~/code/app", "main"].map(str::to_owned);
        assert_eq!(wrap_at(&parts, " · ", Some(22)), ["3f2a1b4c · ~/code/app", "main"]);
        assert_eq!(wrap_at(&parts, " · ", None), ["3f2a1b4c · ~/code/app · main"]);
    }

    #[test]
    fn details_go_where_the_terminal_is_narrow() {
        let rows = |room: usize| -> Vec<String> {
            let mut table =
                Table::new(&[Column::Left, Column::Detail, Column::DetailRight, Column::Flexible]);
            table.row(["3f2a", "2026-11-14", "12 calls", "Repair the parser"].map(str::to_owned));
            table.row(["9a2e", "2026-11-15", "1 call", "Write"].map(str::to_owned));
            table.aligned(Some(room)).into_iter().map(|cells| cells.join("  ")).collect()
        };
        let cut = "3f2a  2026-11-14  12 calls  Repair th…";
        assert_eq!(rows(38), [cut, "9a2e  2026-11-15    1 call  Write     "]);
        assert_eq!(rows(37)[0], "3f2a  2026-11-14  Repair the parser");
        assert_eq!(rows(27)[0], "3f2a  Repair the parser");
        assert_eq!(rows(20)[0], "3f2a  Repair the pa…");
    }

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
                    let rows = table.aligned(room);
                    let widest = rows.iter().flatten().map(|cell| width_of(cell)).max();
                    assert!(widest.unwrap() <= 1000, "{column:?}, {room:?}");
                }
            }
        }
        assert_eq!(padded("", 70_000).len(), 70_000);
    }

    #[test]
    fn titles_get_the_room_paths_lose_their_beginning_and_the_rest_goes_first() {
        let columns =
            [Column::Left, Column::Flexible, Column::Path, Column::Optional, Column::Spare];
        let table = || {
            let mut table = Table::new(&columns);
            let title = "A title of thirty-two characters".to_owned();
            let path = "~/code/companies/acme/parser".to_owned();
            table.row(["id".into(), title, path, "main".into(), "because it is so".into()]);
            table
        };
        let shown = |width: usize| table().layout(Some(width)).remove(0).join("|");
        let whole = "id|A title of thirty-two characters|~/code/companies/acme/parser|main|because it is so";
        assert_eq!(shown(100), whole);
        assert_eq!(
            shown(80),
            "id|A title of thirty-two characters|~/code/companies/acme/parser|main"
        );
        assert_eq!(shown(58), "id|A title of thirty-two characters|…/acme/parser |main");
        assert_eq!(shown(54), "id|A title of thirty-two characters|…/acme/parser   ");
        assert_eq!(shown(40), "id|A title of thirty-t…|…/acme/parser ");
        for width in 30..120 {
            assert!(shown(width).chars().count() <= width, "{width}: {}", shown(width));
        }
        assert_eq!(table().layout(None).remove(0).join("|"), whole);
    }

    #[test]
    fn a_long_title_gets_the_room_before_optional_columns() {
        let shown = |width: usize| {
            let mut table = Table::new(&[Column::Left, Column::Flexible, Column::Optional]);
            let title = "A title of a conversation with fifty-one characters";
            table.row(["id".into(), title.into(), "feature/branch".into()]);
            table.layout(Some(width)).remove(0).join("|")
        };
        let title = "id|A title of a conversation with fifty-one characters";
        assert_eq!(shown(80), format!("{title}|feature/branch"));
        assert_eq!(shown(64), title);
        assert_eq!(shown(40), "id|A title of a conversation with fift…");
        // Figures are what their table is for.
        let mut table = Table::new(&[Column::Flexible, Column::OptionalRight]);
        let title = "A title of a conversation with fifty-one characters";
        table.row([title.into(), "1,234,567".into()]);
        assert_eq!(
            table.layout(Some(48)).remove(0).join("|"),
            "A title of a conversation with fifty…|1,234,567"
        );
    }

    #[test]
    fn a_path_is_cut_at_its_beginning() {
        assert_eq!(fit_path("~/code/app", 10), "~/code/app");
        assert_eq!(fit_path("~/code/app", 9), "…/app");
        assert_eq!(fit_path("~/code/application", 8), "…ication");
        assert_eq!(fit_path("/日本/語", 6), "…/語");
        assert_eq!((fit_path("/a/b", 1), fit_path("/a/b", 0)), ("…".into(), String::new()));
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
