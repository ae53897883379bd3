//! Prompts of the client's history and of all logs, as one list.
//!
//! Both know prompts that the other does not: the history outlives the logs and
//! has commands; only logs have what was given with `-p`. What is in both is
//! found by session and text, or by text, project and time.

use std::collections::HashMap;
use std::collections::HashSet;
use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::hash::Hash;
use std::hash::Hasher as _;
use std::hash::RandomState;
use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_session::Span;
use recto_store::Filter;
use recto_store::Home;
use recto_store::KeptLines;
use recto_store::LogFile;
use recto_store::StoreError;
use serde::Serialize;

use crate::Moment;
use crate::library::Library;
use crate::log_prompts::LogPrompt;
use crate::log_prompts::read_prompts;
use crate::sweep::Tell;

/// How far apart the two times of one prompt can be, in milliseconds.
const NEAR: i64 = 5000;

/// How much of a prompt's text is kept, in bytes. Whole files are given with
/// `-p`, and all prompts are in memory at once.
const LONGEST_TEXT: usize = 16 * 1024;

/// Where a prompt was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptSource {
    /// Only in the history.
    History,
    /// Only in a log.
    Log,
    /// In the history and in a log.
    Both,
}

/// A prompt that was typed, or given to a script's call of the client.
#[derive(Debug, Serialize)]
pub struct PromptRow {
    /// When.
    pub time: Option<Moment>,
    /// The working directory; empty if it is not known.
    pub project: String,
    /// The session; none if it is not known.
    pub session: Option<String>,
    /// The text; of a long one the beginning.
    pub text: String,
    /// How many texts were pasted into it.
    pub pasted: usize,
    /// Where it was found.
    pub source: PromptSource,
    /// Of the whole text, whatever white space is in it.
    #[serde(skip)]
    folded: u64,
}

/// Which prompts are wanted; by default all.
#[derive(Debug, Clone, Default)]
pub struct PromptQuery {
    /// Written since then.
    pub since: Option<Timestamp>,
    /// Written before then.
    pub until: Option<Timestamp>,
    /// A part of the working directory, in whatever case.
    pub project: Option<String>,
    /// A part of the text, in whatever case.
    pub text: Option<String>,
}

/// Prompts, newest first.
#[derive(Debug)]
pub struct Prompts {
    /// The prompts.
    pub rows: Vec<PromptRow>,
    /// Why logs could not be read, one sentence each.
    pub skipped: Vec<String>,
}

impl Library {
    /// The prompts of the history and of all sessions.
    pub fn prompts(&self, query: &PromptQuery, tell: Tell<'_>) -> Result<Prompts, StoreError> {
        let contains = |part: &Option<String>| {
            let part = part.as_deref().map(str::to_lowercase);
            move |text: &str| part.as_ref().is_none_or(|part| text.to_lowercase().contains(part))
        };
        let (is_text, is_project) = (contains(&query.text), contains(&query.project));
        let filter = Filter { since: query.since, until: query.until, ..Filter::default() };
        let inventory = self.inventory();
        let logs = inventory.sessions.iter().filter(|log| log.bytes() > 0);
        // No line of a log is newer than the log.
        let logs: Vec<LogFile> = logs
            .filter(|log| filter.fits_since(log.modified()))
            .map(|log| LogFile::clone(log))
            .collect();
        let gatherer = Gatherer::default();
        let history = gatherer.of_history(self.home(), &is_text)?;
        let (logged, skipped) = gatherer.of_logs(self, &logs, tell, &is_text);
        let mut rows = merge(history, logged);
        rows.retain(|prompt| {
            let time = prompt.time.map_or(Timestamp::UNIX_EPOCH, |time| time.0);
            is_project(&prompt.project) && filter.fits_time(time)
        });
        rows.reverse();
        rows.sort_by_key(|prompt| std::cmp::Reverse(prompt.time));
        Ok(Prompts { rows, skipped })
    }
}

impl PromptRow {
    fn milliseconds(&self) -> Option<i64> {
        self.time.map(|time| time.0.as_millisecond())
    }
}

/// Gathers prompts. Texts are compared by hashes that are seeded anew in each
/// run, so that no log can be made whose texts collide.
#[derive(Default)]
struct Gatherer {
    seed: RandomState,
}

impl Gatherer {
    fn fold(&self, text: &str) -> u64 {
        let mut hasher = self.seed.build_hasher();
        text.split_whitespace().for_each(|word| word.hash(&mut hasher));
        hasher.finish()
    }

    /// The prompts of the history whose text is wanted, in its order.
    fn of_history(
        &self,
        home: &Home,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<PromptRow>, StoreError> {
        let mut prompts = Vec::new();
        let mut reader = match home.read_history() {
            Ok(reader) => reader,
            // A home in which nothing was typed has no history.
            Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(prompts);
            }
            Err(error) => return Err(error),
        };
        while let Some(entry) = reader.next_entry()? {
            if wanted(&entry.display) {
                prompts.push(PromptRow {
                    time: entry.time.map(Moment),
                    project: entry.project.unwrap_or_default(),
                    session: entry.session,
                    pasted: entry.pasted.len(),
                    source: PromptSource::History,
                    folded: self.fold(&entry.display),
                    text: entry.display,
                });
            }
        }
        Ok(prompts)
    }

    /// The prompts of main logs whose text is wanted, oldest first, and why logs could not be
    /// read.
    fn of_logs(
        &self,
        library: &Library,
        logs: &[LogFile],
        tell: Tell<'_>,
        wanted: impl Fn(&str) -> bool + Sync,
    ) -> (Vec<PromptRow>, Vec<String>) {
        let (done, skipped) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let work = |log: &LogFile, known: Option<&[Span]>| {
            tell(done.fetch_add(1, Ordering::Relaxed), logs.len() as u64);
            let mut found: Vec<(Option<EntryUuid>, Timestamp, PromptRow)> = Vec::new();
            let read = read_prompts(&log.path, known, &mut |prompt| {
                if wanted(&prompt.text) {
                    let uuid = prompt.uuid.clone();
                    found.push((uuid, log.modified(), self.of_log(log, prompt)));
                }
            });
            let lines = read.unwrap_or_else(|error| {
                let mut skipped = skipped.lock().unwrap_or_else(PoisonError::into_inner);
                skipped.push(error.to_string());
                None
            });
            (found, lines)
        };
        let home = library.home();
        let found = home.with_kept_lines(logs, library.cache(), KeptLines::Prompts, work);
        let mut found: Vec<_> = found.into_iter().flatten().collect();
        // A session that goes on from another one begins with a copy of its
        // lines. The log that was written last is taken for the copy.
        found.sort_by(|(_, modified, a), (_, other, b)| {
            (a.time, modified, &a.session).cmp(&(b.time, other, &b.session))
        });
        let (mut seen, mut queued) = (HashSet::new(), HashSet::new());
        found.retain(|(uuid, _, prompt)| match uuid {
            Some(uuid) => seen.insert(uuid.clone()),
            // Lines of the queue have no id, but the time at which they were typed.
            None => prompt.time.is_none() || queued.insert((prompt.time, prompt.folded)),
        });
        let found = found.into_iter().map(|(_, _, prompt)| prompt).collect();
        (found, skipped.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn of_log(&self, log: &LogFile, prompt: LogPrompt) -> PromptRow {
        let folded = self.fold(&prompt.text);
        let mut text = prompt.text;
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.shrink_to_fit();
        PromptRow {
            time: prompt.time.map(Moment),
            project: prompt.project.unwrap_or_default(),
            session: log.session.map(|session| session.to_string()),
            text,
            pasted: 0,
            source: PromptSource::Log,
            folded,
        }
    }
}

/// Joins both lists; a prompt that is in both comes once, as the history has it.
/// A prompt that was given several times stays as often as one of them has it.
fn merge(mut history: Vec<PromptRow>, mut logs: Vec<PromptRow>) -> Vec<PromptRow> {
    let same_session = |prompt: &PromptRow| Some((prompt.session.clone()?, prompt.folded));
    match_by(&mut history, &mut logs, same_session, Some(NEAR));
    // What was typed while the model worked is in the log only later.
    match_by(&mut history, &mut logs, same_session, None);
    let same_project = |prompt: &PromptRow| Some((prompt.project.clone(), prompt.folded));
    match_by(&mut history, &mut logs, same_project, Some(NEAR));
    // The history shows a mark for a text that was pasted, the log has the text.
    let pasted = |prompt: &PromptRow| {
        let can_be = prompt.source == PromptSource::Log || prompt.pasted > 0;
        prompt.session.clone().filter(|_| can_be)
    };
    match_by(&mut history, &mut logs, pasted, Some(NEAR));
    history.extend(logs.into_iter().filter(|prompt| prompt.source == PromptSource::Log));
    history
}

/// Marks what has the same key and lies near enough in time as found in both.
fn match_by<K: Hash + Eq>(
    history: &mut [PromptRow],
    logs: &mut [PromptRow],
    key: impl Fn(&PromptRow) -> Option<K>,
    near: Option<i64>,
) {
    let mut groups: HashMap<K, (VecDeque<usize>, Vec<usize>)> = HashMap::new();
    for (place, prompt) in logs.iter().enumerate() {
        if let Some(key) = key(prompt).filter(|_| prompt.source == PromptSource::Log) {
            groups.entry(key).or_default().1.push(place);
        }
    }
    for (place, prompt) in history.iter().enumerate() {
        if let Some(key) = key(prompt).filter(|_| prompt.source == PromptSource::History)
            && let Some(group) = groups.get_mut(&key)
        {
            group.0.push_back(place);
        }
    }
    for (mut typed, mut logged) in groups.into_values() {
        typed.make_contiguous().sort_by_key(|place| history[*place].time);
        logged.sort_by_key(|place| logs[*place].time);
        let count = logged.len();
        for (done, place) in logged.into_iter().enumerate() {
            let apart = |typed: usize| {
                let both = history[typed].milliseconds().zip(logs[place].milliseconds());
                both.map_or(i64::MAX, |(typed, logged)| typed.abs_diff(logged) as i64)
            };
            // A nearer one is better, as long as enough are left for the rest.
            let spare = |typed: &VecDeque<usize>| near.is_some() || typed.len() > count - done;
            while typed.len() > 1 && spare(&typed) && apart(typed[1]) < apart(typed[0]) {
                typed.pop_front();
            }
            let Some(&first) = typed.front() else { break };
            if near.is_none_or(|near| apart(first) <= near) {
                typed.pop_front();
                history[first].source = PromptSource::Both;
                logs[place].source = PromptSource::Both;
                if history[first].session.is_none() {
                    history[first].session = logs[place].session.clone();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(source: PromptSource, session: &str, second: i64, text: &str) -> PromptRow {
        PromptRow {
            time: Timestamp::from_second(second).ok().map(Moment),
            project: "/app".into(),
            session: Some(session.to_owned()).filter(|session| !session.is_empty()),
            text: text.into(),
            pasted: usize::from(text.contains("[Pasted")),
            source,
            folded: text.split_whitespace().map(|word| word.len() as u64).sum(),
        }
    }

    fn merged(history: &[(&str, i64, &str)], logs: &[(&str, i64, &str)]) -> Vec<String> {
        let of = |source, list: &[(&str, i64, &str)]| {
            list.iter().map(|(session, time, text)| prompt(source, session, *time, text)).collect()
        };
        let mut merged = merge(of(PromptSource::History, history), of(PromptSource::Log, logs));
        merged.sort_by_key(|prompt| prompt.time);
        let seconds = |prompt: &PromptRow| prompt.time.map_or(0, |time| time.0.as_second());
        merged
            .iter()
            .map(|prompt| format!("{} {:?}", seconds(prompt), prompt.source).to_lowercase())
            .collect()
    }

    #[test]
    fn a_prompt_in_both_is_listed_once() {
        assert_eq!(merged(&[("s", 1, "go  on")], &[("s", 900, "go\non")]), ["1 both"]);
        assert_eq!(merged(&[("", 1, "go")], &[("s", 5, "go")]), ["1 both"], "no session");
        assert_eq!(merged(&[("", 1, "go")], &[("s", 7, "go")]), ["1 history", "7 log"]);
        assert_eq!(merged(&[("s", 1, "go")], &[("s", 1, "stop")]), ["1 history", "1 log"]);
        let paste = ("s", 1, "[Pasted text #1 +9 lines]");
        assert_eq!(merged(&[paste], &[("s", 2, "a long text")]), ["1 both"]);
    }

    #[test]
    fn what_was_asked_again_stays() {
        let twice = [("s", 10, "go"), ("s", 20, "go")];
        assert_eq!(merged(&twice, &twice), ["10 both", "20 both"]);
        assert_eq!(merged(&twice, &twice[1..]), ["10 history", "20 both"]);
        assert_eq!(merged(&twice[1..], &twice), ["10 log", "20 both"]);
        let late = [("s", 30, "go"), ("s", 40, "go")];
        assert_eq!(merged(&twice, &late), ["10 both", "20 both"]);
    }
}
