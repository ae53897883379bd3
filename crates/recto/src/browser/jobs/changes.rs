//! What the file tools changed in a turn, as diffs.

use recto_log::LineReader;
use recto_log::decode;
use recto_session::FileChange;
use recto_session::TurnCounter;
use recto_store::open_file;

use super::Flow;
use super::sheet::Sheet;
use crate::browser::message::ReadRequest;
use crate::error::CommandError;
use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::plural;
use crate::terminal::text::safe;

/// What the file tools changed in a turn, as diffs.
pub(super) fn read_changes(
    request: &ReadRequest,
    turn: u32,
    flow: &Flow<'_>,
) -> Result<(), CommandError> {
    let mut sheet = Sheet::new(request, flow);
    let mut turns = TurnCounter::default();
    let mut lines = LineReader::new(open_file(&request.log.path)?);
    let mut count = 0;
    while let Some(line) = lines.next_line()? {
        if (flow.is_stopped)() {
            return Ok(());
        }
        let log_line = line.number;
        let (entry, _) = decode(line);
        if turns.next(&entry) != turn {
            continue;
        }
        let Some(change) = FileChange::of(&entry) else { continue };
        count += 1;
        for spans in change_lines(&change) {
            sheet.add(spans, log_line, turn);
        }
        sheet.tell_some();
        if sheet.is_full() {
            sheet.end(true);
            return Ok(());
        }
    }
    if count == 0 {
        let text = format!("turn {turn} changed no file with the file tools");
        sheet.add(vec![(text, Look::Faint)], 0, turn);
    }
    sheet.end(false);
    Ok(())
}

fn change_lines(change: &FileChange) -> Vec<Vec<Span>> {
    let clean = |text: &str| safe(text).replace('\t', "    ").replace('\n', " ");
    let new_lines =
        |text: &str| -> Vec<String> { text.lines().map(|line| format!("+{line}")).collect() };
    let mut hunks: Vec<(Option<usize>, Vec<String>)> =
        change.hunks.iter().map(|hunk| (Some(hunk.new_start), hunk.lines.clone())).collect();
    if hunks.is_empty() {
        if let Some((old, new)) = &change.replaced {
            let removed = old.lines().map(|line| format!("-{line}"));
            hunks.push((None, removed.chain(new_lines(new)).collect()));
        } else if let Some(after) = &change.after {
            hunks.push((None, new_lines(after)));
        }
    }
    let count = |sign: char| {
        let lines = hunks.iter().flat_map(|(_, lines)| lines);
        lines.filter(|line| line.starts_with(sign)).count() as u64
    };
    let (added, removed) = (count('+'), count('-'));
    let kind = if change.is_new { "new file, " } else { "" };
    let sum = format!("  {kind}{} added, {removed} removed", plural(added, "line"));
    let mut shown = vec![vec![(clean(&change.path), Look::Strong), (sum, Look::Faint)]];
    for (start, lines) in hunks {
        if let Some(start) = start.filter(|start| *start > 0) {
            shown.push(vec![(format!("  line {start}"), Look::Faint)]);
        }
        for line in lines {
            let look = match line.chars().next() {
                Some('+') => Look::Good,
                Some('-') => Look::Bad,
                _ => Look::Faint,
            };
            shown.push(vec![("  ".into(), Look::Plain), (clean(&line), look)]);
        }
    }
    shown.push(Vec::new());
    shown
}
