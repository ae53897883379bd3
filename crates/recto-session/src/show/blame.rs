//! Who wrote the lines of a file: changes replayed in the order of time.
//!
//! Takes the changes that logs tell of one file and says which of them each
//! line of the file as it is now came from. Reads nothing; the caller gathers
//! the changes. What happened to the file outside the logs is not known, so a
//! line is only ever tied to a change that wrote it for certain:
//!
//! - A log often has the whole text before a change. What differs from the text
//!   that the changes so far lead to came from outside.
//! - Without that text, lines around a patch are all that is known, and the
//!   lines of the patch count only beside one that is unique in the file.
//! - A file that was taken back to an earlier text (a rewind, a checkout) has
//!   the writers that it had then.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

use recto_log::Entry;
use recto_log::StructuredPatch;
use recto_log::ToolResult;
use recto_log::json::Value;

use crate::show::line_diff::same_lines;

/// How many earlier texts are remembered.
const REMEMBERED: usize = 64;

/// The last line that a patch can name of a file that is not known that far.
const FARTHEST: usize = 500_000;

/// A change of a file, as a log tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChange {
    /// The file, as the log names it.
    pub path: String,
    /// The whole text before.
    pub before: Option<String>,
    /// The whole text after.
    pub after: Option<String>,
    /// Whether the file was not there before.
    pub is_new: bool,
    /// The text that was replaced, and what by.
    pub replaced: Option<(String, String)>,
    /// Whether all places with that text were changed.
    pub replaces_all: bool,
    /// What changed, around the places.
    pub hunks: Vec<Hunk>,
}

/// A place that was changed, with the lines around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The first line before the change, from 1.
    pub old_start: usize,
    /// The first line after the change, from 1.
    pub new_start: usize,
    /// The lines, each after ` `, `-` or `+`.
    pub lines: Vec<String>,
}

impl FileChange {
    /// The change that a line of a log tells, if it has the result of a tool
    /// that changes files.
    pub fn of(entry: &Entry<'_>) -> Option<FileChange> {
        let own =
            |value: Option<Value<'_>>| value.and_then(Value::as_str).map(|text| text.into_owned());
        let raw = entry.get("toolUseResult")?;
        // `MultiEdit` of old clients has a name of its own for it.
        let before = raw.get("originalFile").or_else(|| raw.get("originalFileContents"));
        let before = own(before);
        match entry.tool_result(None)? {
            ToolResult::Write { path, content, created, patch } => Some(FileChange {
                path: own(path)?,
                before,
                after: own(content),
                is_new: created,
                hunks: hunks(patch),
                ..FileChange::default()
            }),
            ToolResult::Edit { path, old, new, replace_all, patch } => Some(FileChange {
                path: own(path)?,
                before,
                replaced: own(old).zip(own(new)),
                replaces_all: replace_all,
                hunks: hunks(patch),
                ..FileChange::default()
            }),
            _ => None,
        }
    }
}

fn hunks(patch: StructuredPatch<'_>) -> Vec<Hunk> {
    let number = |hunk: Value<'_>, name| {
        let number = hunk.get(name).and_then(Value::as_u64).unwrap_or(1);
        usize::try_from(number).unwrap_or(usize::MAX)
    };
    let hunk = |hunk: Value<'_>| Hunk {
        old_start: number(hunk, "oldStart"),
        new_start: number(hunk, "newStart"),
        lines: hunk
            .get("lines")
            .into_iter()
            .flat_map(Value::elements)
            .filter_map(Value::as_str)
            // `\ No newline at end of file` is no line of the file.
            .filter(|line| !line.starts_with('\\'))
            .map(|line| line.into_owned())
            .collect(),
    };
    patch.hunks().map(hunk).collect()
}

/// A line of the file as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// None for a line that must be there and was never seen.
    text: Option<Arc<str>>,
    /// The change that wrote it.
    writer: Option<usize>,
    /// The text is from a patch, which is made for the screen: tabs at the start
    /// of a line can be two spaces each in it.
    is_from_patch: bool,
}

impl Line {
    fn new(text: &str, writer: Option<usize>) -> Line {
        Line { text: Some(text.into()), writer, is_from_patch: false }
    }

    fn from_patch(text: &str, writer: Option<usize>) -> Line {
        Line { is_from_patch: true, ..Line::new(text, writer) }
    }

    fn unseen() -> Line {
        Line { text: None, writer: None, is_from_patch: true }
    }

    fn is(&self, text: &str) -> bool {
        match &self.text {
            None => false,
            Some(known) if self.is_from_patch => **known == *text || **known == *shown(text),
            Some(known) => **known == *text,
        }
    }

    /// Whether a line of a patch can be this one.
    fn can_be(&self, patch_line: &str) -> bool {
        self.text.as_deref().is_none_or(|known| *shown(known) == *shown(patch_line))
    }
}

/// A line as a patch shows it.
fn shown(text: &str) -> Cow<'_, str> {
    let rest = text.trim_start_matches('\t');
    match text.len() - rest.len() {
        0 => text.into(),
        tabs => format!("{}{rest}", "  ".repeat(tabs)).into(),
    }
}

/// The lines of a text; a line end of Windows is none of the line's text, and
/// the clients leave it out.
fn lines_of(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Replays changes of one file.
///
/// ```
/// use recto_session::Blame;
/// use recto_session::FileChange;
///
/// let mut blame = Blame::default();
/// let after = Some("one\ntwo\n".to_owned());
/// blame.apply(0, &FileChange { after, is_new: true, ..FileChange::default() });
/// assert_eq!(blame.writers("one\nchanged\ntwo\n"), [Some(0), None, Some(0)]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Blame {
    lines: Vec<Line>,
    /// Whether `lines` is the whole file.
    is_whole: bool,
    earlier: VecDeque<Vec<Line>>,
}

impl Blame {
    /// Takes in a change. Changes come in the order of time; `writer` is the
    /// caller's number for this one.
    pub fn apply(&mut self, writer: usize, change: &FileChange) {
        if let Some(before) = &change.before {
            self.lines = self.carried(&lines_of(before));
            self.is_whole = true;
        } else if change.is_new {
            self.lines.clear();
            self.is_whole = true;
        }
        if let Some(after) = change.after.clone().or_else(|| self.after_replacing(change)) {
            self.write(writer, &after, change);
        } else {
            for hunk in change.hunks.iter().rev() {
                self.patch(writer, hunk);
            }
        }
        if self.is_whole && self.earlier.back() != Some(&self.lines) {
            self.earlier.push_back(self.lines.clone());
            if self.earlier.len() > REMEMBERED {
                self.earlier.pop_front();
            }
        }
    }

    /// The writer of each line of the text as it is now; none where it did not
    /// come from the changes.
    pub fn writers(&self, now: &str) -> Vec<Option<usize>> {
        self.carried(&lines_of(now)).into_iter().map(|line| line.writer).collect()
    }

    /// The lines of another text, with the writers of those that are the same.
    fn carried(&self, new: &[&str]) -> Vec<Line> {
        let is_same = |lines: &[Line]| {
            lines.len() == new.len() && lines.iter().zip(new).all(|(line, text)| line.is(text))
        };
        if !(self.is_whole && is_same(&self.lines))
            && let Some(earlier) = self.earlier.iter().rev().find(|lines| is_same(lines))
        {
            return earlier.clone();
        }
        let known = self.known_writers(new).into_iter();
        new.iter().zip(known).map(|(text, known)| Line::new(text, known.flatten())).collect()
    }

    /// For each new line, if it was there before, its writer.
    fn known_writers(&self, new: &[&str]) -> Vec<Option<Option<usize>>> {
        let old = self.lines.iter().enumerate().map(|(at, line)| match line.text.as_deref() {
            Some(text) => format!(" {}", shown(text)),
            // Never the same as another line, which all begin with a space.
            None => at.to_string(),
        });
        let old: Vec<String> = old.collect();
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let spaced: Vec<String> = new.iter().map(|text| format!(" {}", shown(text))).collect();
        let spaced: Vec<&str> = spaced.iter().map(String::as_str).collect();
        let mut pairs = same_lines(&old, &spaced);
        if !self.is_whole {
            pairs = certain(&pairs, &old, &spaced);
        }
        let mut known = vec![None; new.len()];
        for (from, to) in pairs {
            if self.lines[from].is(new[to]) {
                known[to] = Some(self.lines[from].writer);
            }
        }
        known
    }

    /// The whole text after a replacement in the whole text before.
    fn after_replacing(&self, change: &FileChange) -> Option<String> {
        let (old, new) = change.replaced.as_ref()?;
        if !self.is_whole || self.lines.iter().any(|line| line.is_from_patch) {
            return None;
        }
        // The text itself where the log has it, because of its last line end.
        let text = change.before.clone().unwrap_or_else(|| {
            let lines = self.lines.iter().filter_map(|line| line.text.as_deref());
            lines.flat_map(|line| [line, "\n"]).collect()
        });
        if old.is_empty() {
            return text.is_empty().then(|| new.clone());
        }
        match text.matches(old.as_str()).count() {
            0 => None,
            1 => Some(text.replacen(old.as_str(), new, 1)),
            _ => change.replaces_all.then(|| text.replace(old.as_str(), new)),
        }
    }

    /// The file has a new text.
    fn write(&mut self, writer: usize, after: &str, change: &FileChange) {
        let new = lines_of(after);
        let known = self.known_writers(&new);
        let lines = new.iter().zip(known).enumerate().map(|(at, (text, known))| {
            let writer = match known {
                Some(known) => known,
                // What was there before is not known: the patch says what is new.
                None if !self.is_whole && !is_added(&change.hunks, at + 1, text) => None,
                None => Some(writer),
            };
            Line::new(text, writer)
        });
        self.lines = lines.collect();
        self.is_whole = true;
    }

    /// A place of the file has changed, and only its surroundings are known.
    fn patch(&mut self, writer: usize, hunk: &Hunk) {
        let old = || hunk.lines.iter().filter(|line| !line.starts_with('+')).map(|line| tail(line));
        let length = old().count();
        let at = match self.anchor(hunk.old_start.saturating_sub(1), &old().collect::<Vec<_>>()) {
            Some(at) => at,
            None => {
                // The file was changed in between: where this goes is not known,
                // and so is what else is still there.
                self.is_whole = false;
                let at = hunk.old_start.saturating_sub(1).min(self.lines.len());
                let unseen = std::iter::repeat_with(Line::unseen).take(length + 2);
                self.lines.splice(at..at, unseen);
                at + 1
            }
        };
        let missing = (at + length).saturating_sub(self.lines.len());
        self.lines.extend(std::iter::repeat_with(Line::unseen).take(missing));
        let mut before = self.lines[at..at + length].iter().cloned();
        let mut after = Vec::new();
        for line in &hunk.lines {
            match line.as_bytes().first() {
                Some(b'+') => after.push(Line::from_patch(tail(line), Some(writer))),
                Some(b'-') => drop(before.next()),
                _ => {
                    let known = before.next().filter(|known| known.text.is_some());
                    after.push(known.unwrap_or_else(|| Line::from_patch(tail(line), None)));
                }
            }
        }
        self.lines.splice(at..at + length, after);
    }

    /// Where the lines of a patch stand: at the place it names if they can be
    /// there, else at the only place where all of them are.
    fn anchor(&self, named: usize, old: &[&str]) -> Option<usize> {
        let can_be_at = |at: usize| {
            let known = self.lines.get(at..).unwrap_or_default();
            (known.len() >= old.len() || !self.is_whole)
                && known.iter().zip(old).all(|(line, text)| line.can_be(text))
        };
        if named <= self.lines.len().max(FARTHEST) && can_be_at(named) {
            return Some(named);
        }
        let is_at = |at: &usize| {
            let known = &self.lines[*at..*at + old.len()];
            known.iter().zip(old).all(|(line, text)| line.text.is_some() && line.can_be(text))
        };
        let last = self.lines.len().checked_sub(old.len())?;
        let mut places = (0..=last).filter(is_at);
        let place = places.next().filter(|_| !old.is_empty())?;
        places.next().is_none().then_some(place)
    }
}

/// A line of a patch without its mark, which is one byte.
fn tail(line: &str) -> &str {
    line.get(1..).unwrap_or_default()
}

/// Whether a patch adds the line with this number.
fn is_added(hunks: &[Hunk], number: usize, text: &str) -> bool {
    hunks.iter().any(|hunk| {
        let after = hunk.lines.iter().filter(|line| !line.starts_with('-'));
        let at = number.checked_sub(hunk.new_start);
        let line = at.and_then(|at| after.into_iter().nth(at));
        line.is_some_and(|line| line.starts_with('+') && *shown(tail(line)) == *shown(text))
    })
}

/// Pairs that stand in a row with one whose line is nowhere else and has a word
/// in it. A brace says nothing about a file of which only parts are known.
fn certain(pairs: &[(usize, usize)], old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let mut counts: HashMap<&str, (u32, u32)> = HashMap::new();
    for line in old {
        counts.entry(line).or_default().0 += 1;
    }
    for line in new {
        counts.entry(line).or_default().1 += 1;
    }
    let is_row = |a: &(usize, usize), b: &(usize, usize)| a.0 + 1 == b.0 && a.1 + 1 == b.1;
    let is_telling = |pair: &(usize, usize)| {
        let letters = new[pair.1].chars().filter(|c| c.is_alphanumeric()).count();
        letters >= 3 && counts.get(new[pair.1]) == Some(&(1, 1))
    };
    let rows = pairs.chunk_by(is_row).filter(|row| row.iter().any(is_telling));
    rows.flatten().copied().collect()
}

#[cfg(test)]
#[path = "blame_tests.rs"]
mod tests;
