//! What changed between two texts, in hunks with three lines around.

mod shortest;

use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;
use similar::Algorithm;
use similar::DiffOp;

use shortest::Run;

/// Lines around a change.
const CONTEXT: usize = 3;

/// After so long a diff is made coarse.
const LONGEST: Duration = Duration::from_secs(5);

/// A line of both texts, or of one.
#[derive(Debug, Clone, Copy)]
enum Line<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The hunks that turn one text into another, as the log keeps them.
pub(super) fn hunks(old: &str, new: &str) -> Value {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let lines = lines(&old, &new);
    let mut hunks = Vec::new();
    let is_changed = |at: usize| lines.get(at).is_some_and(|line| !matches!(line, Line::Same(_)));
    let mut at = 0;
    // How many lines of each text come before `done`.
    let (mut done, mut old_before, mut new_before) = (0, 0, 0);
    while at < lines.len() {
        if !is_changed(at) {
            at += 1;
            continue;
        }
        let start = at.saturating_sub(CONTEXT).max(done);
        // Changes whose surroundings meet are one hunk.
        let mut last = at;
        while let Some(next) = (last + 1..=last + 1 + 2 * CONTEXT).find(|at| is_changed(*at)) {
            last = next;
        }
        let end = (last + 1 + CONTEXT).min(lines.len());
        let skipped = start - done;
        old_before += skipped;
        new_before += skipped;
        let hunk = lines.get(start..end).unwrap_or_default();
        let old_lines = hunk.iter().filter(|line| !matches!(line, Line::New(_))).count();
        let new_lines = hunk.iter().filter(|line| !matches!(line, Line::Old(_))).count();
        hunks.push(json!({
            "oldStart": old_before + 1,
            "oldLines": old_lines,
            "newStart": new_before + 1,
            "newLines": new_lines,
            "lines": spelled(hunk),
        }));
        old_before += old_lines;
        new_before += new_lines;
        done = end;
        at = end;
    }
    Value::Array(hunks)
}

/// Both texts as one, in each change the old lines first.
fn lines<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let runs = shortest::runs(old, new).unwrap_or_else(|| coarse_runs(old, new));
    let (mut old, mut new) = (old.iter(), new.iter());
    let mut lines = Vec::new();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for run in runs {
        match run {
            Run::Same(count) => {
                lines.append(&mut removed);
                lines.append(&mut added);
                lines.extend(old.by_ref().take(count).map(|line| Line::Same(line)));
                new.by_ref().take(count).for_each(drop);
            }
            Run::Removed(count) => {
                removed.extend(old.by_ref().take(count).map(|line| Line::Old(line)));
            }
            Run::Added(count) => {
                added.extend(new.by_ref().take(count).map(|line| Line::New(line)));
            }
        }
    }
    lines.append(&mut removed);
    lines.append(&mut added);
    lines
}

/// Runs of texts that have little in common, in bounded time.
fn coarse_runs(old: &[&str], new: &[&str]) -> Vec<Run> {
    let deadline = Instant::now() + LONGEST;
    let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline));
    let runs = ops.iter().flat_map(|op| match *op {
        DiffOp::Equal { len, .. } => [Run::Same(len), Run::Added(0)],
        DiffOp::Delete { old_len, .. } => [Run::Removed(old_len), Run::Added(0)],
        DiffOp::Insert { new_len, .. } => [Run::Added(new_len), Run::Removed(0)],
        DiffOp::Replace { old_len, new_len, .. } => [Run::Removed(old_len), Run::Added(new_len)],
    });
    runs.collect()
}

fn spelled(hunk: &[Line<'_>]) -> Vec<String> {
    let mut spelled = Vec::with_capacity(hunk.len());
    for line in hunk {
        let (sign, line) = match line {
            Line::Same(line) => (' ', line),
            Line::Old(line) => ('-', line),
            Line::New(line) => ('+', line),
        };
        match line.strip_suffix('\n') {
            Some(line) => spelled.push(format!("{sign}{}", indented(line))),
            None => {
                spelled.push(format!("{sign}{}", indented(line)));
                spelled.push("\\ No newline at end of file".to_owned());
            }
        }
    }
    spelled
}

/// The line with two blanks for each tab that it begins with.
fn indented(line: &str) -> String {
    let rest = line.trim_start_matches('\t');
    format!("{}{rest}", "  ".repeat(line.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The new text, from the old one and the hunks.
    fn applied(old: &str, hunks: &Value) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let mut new = String::new();
        let mut at = 0;
        for hunk in hunks.as_array().unwrap() {
            let start = hunk["oldStart"].as_u64().unwrap() as usize - 1;
            new.extend(old[at..start].iter().copied());
            at = start + hunk["oldLines"].as_u64().unwrap() as usize;
            for line in hunk["lines"].as_array().unwrap() {
                let line = line.as_str().unwrap();
                match line.split_at(1) {
                    ("\\", _) => {
                        // Takes the newline back that the line before was given, if it
                        // belongs to the new text.
                        if new.ends_with('\u{1}') {
                            new.truncate(new.len() - 2);
                        }
                    }
                    ("-", _) => new = new.trim_end_matches('\u{1}').to_owned(),
                    (_, line) => {
                        new = new.trim_end_matches('\u{1}').to_owned();
                        new.push_str(line);
                        new.push_str("\n\u{1}");
                    }
                }
            }
            new = new.trim_end_matches('\u{1}').to_owned();
        }
        new.extend(old[at..].iter().copied());
        new
    }

    #[test]
    fn of_several_shortest_ways_the_known_one_is_taken() {
        let lines = |old: &str, new: &str| {
            let hunks = hunks(old, new);
            let lines = hunks[0]["lines"].as_array().unwrap().clone();
            lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(lines("a\nb\nc\n", "c\nb\na\n"), ["-a", "-b", " c", "+b", "+a"]);
        assert_eq!(lines("a\na\na\n", "b\na\n"), ["+b", " a", "-a", "-a"]);
        assert_eq!(lines("a\nb\na\nb\n", "b\na\nb\na\n"), ["-a", " b", " a", " b", "+a"]);
    }

    #[test]
    fn texts_that_have_nothing_in_common_are_compared_in_bounded_time() {
        let text = |word: &str| (0..20_000).map(|at| format!("{word} {at}\n")).collect::<String>();
        let hunks = hunks(&text("old"), &text("new"));
        assert_eq!(hunks[0]["oldLines"], 20_000);
        assert_eq!(hunks[0]["newLines"], 20_000);
    }

    proptest! {
        #[test]
        fn hunks_turn_the_old_text_into_the_new_one(
            old in proptest::collection::vec("[abc]{0,2}", 0..30),
            new in proptest::collection::vec("[abc]{0,2}", 0..30),
        ) {
            let (old, new) = (old.join("\n"), new.join("\n"));
            prop_assert_eq!(applied(&old, &hunks(&old, &new)), new);
        }
    }
}
