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
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_log::EntryUuid;
use recto_store::Home;
use recto_store::LogFile;
use recto_store::LogPrompt;
use recto_store::StoreError;
use recto_store::each_alone;
use recto_store::read_prompts;

use crate::error::CommandError;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::output::remark;

/// How far apart the two times of one prompt can be, in milliseconds.
const NEAR: i64 = 5000;

/// How much of a prompt's text is kept, in bytes. Whole files are given with
/// `-p`, and all prompts are in memory at once.
const LONGEST_TEXT: usize = 16 * 1024;

/// Where a prompt was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    History,
    Log,
    Both,
}

impl Source {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Source::History => "history",
            Source::Log => "log",
            Source::Both => "both",
        }
    }
}

/// One prompt.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) time: Option<Timestamp>,
    pub(crate) project: String,
    pub(crate) session: Option<String>,
    /// The text; of a long one the beginning.
    pub(crate) text: String,
    pub(crate) pasted: usize,
    pub(crate) source: Source,
    /// Of the whole text, whatever white space is in it.
    folded: u64,
}

impl Prompt {
    fn milliseconds(&self) -> Option<i64> {
        self.time.map(Timestamp::as_millisecond)
    }
}

/// Gathers prompts. Texts are compared by hashes that are seeded anew in each
/// run, so that no log can be made whose texts collide.
#[derive(Default)]
pub(crate) struct Gatherer {
    seed: RandomState,
}

impl Gatherer {
    fn fold(&self, text: &str) -> u64 {
        let mut hasher = self.seed.build_hasher();
        text.split_whitespace().for_each(|word| word.hash(&mut hasher));
        hasher.finish()
    }

    /// The prompts of the history whose text is wanted, in its order.
    pub(crate) fn of_history(
        &self,
        home: &Home,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Prompt>, CommandError> {
        let mut prompts = Vec::new();
        let mut reader = match home.read_history() {
            Ok(reader) => reader,
            // A home in which nothing was typed has no history.
            Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(prompts);
            }
            Err(error) => return Err(error.into()),
        };
        while let Some(entry) = reader.next_entry()? {
            if wanted(&entry.display) {
                prompts.push(Prompt {
                    time: entry.time,
                    project: entry.project.unwrap_or_default(),
                    session: entry.session,
                    pasted: entry.pasted.len(),
                    source: Source::History,
                    folded: self.fold(&entry.display),
                    text: entry.display,
                });
            }
        }
        Ok(prompts)
    }

    /// The prompts of main logs whose text is wanted, oldest first. A log that
    /// cannot be read is said and left out.
    pub(crate) fn of_logs(
        &self,
        logs: &[LogFile],
        output: &Output,
        wanted: impl Fn(&str) -> bool + Sync,
    ) -> Vec<Prompt> {
        let progress = Progress::new("reading", output);
        let done = AtomicU64::new(0);
        let mut found: Vec<(Option<EntryUuid>, Timestamp, Prompt)> = each_alone(logs)
            .flat_map_iter(|log| {
                progress.tell(done.fetch_add(1, Ordering::Relaxed), logs.len() as u64);
                let mut found = Vec::new();
                let read = read_prompts(&log.path, |prompt| {
                    if wanted(&prompt.text) {
                        let uuid = prompt.uuid.clone();
                        found.push((uuid, log.modified(), self.of_log(log, prompt)));
                    }
                });
                if let Err(error) = read {
                    remark(&format!("skipped: {error}"));
                }
                found
            })
            .collect();
        progress.done();
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
        found.into_iter().map(|(_, _, prompt)| prompt).collect()
    }

    fn of_log(&self, log: &LogFile, prompt: LogPrompt) -> Prompt {
        let folded = self.fold(&prompt.text);
        let mut text = prompt.text;
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.shrink_to_fit();
        Prompt {
            time: prompt.time,
            project: prompt.project.unwrap_or_default(),
            session: log.session.map(|session| session.to_string()),
            text,
            pasted: 0,
            source: Source::Log,
            folded,
        }
    }
}

/// Joins both lists; a prompt that is in both comes once, as the history has it.
/// A prompt that was given several times stays as often as one of them has it.
pub(crate) fn merge(mut history: Vec<Prompt>, mut logs: Vec<Prompt>) -> Vec<Prompt> {
    let same_session = |prompt: &Prompt| Some((prompt.session.clone()?, prompt.folded));
    match_by(&mut history, &mut logs, same_session, Some(NEAR));
    // What was typed while the model worked is in the log only later.
    match_by(&mut history, &mut logs, same_session, None);
    let same_project = |prompt: &Prompt| Some((prompt.project.clone(), prompt.folded));
    match_by(&mut history, &mut logs, same_project, Some(NEAR));
    // The history shows a mark for a text that was pasted, the log has the text.
    let pasted = |prompt: &Prompt| {
        let can_be = prompt.source == Source::Log || prompt.pasted > 0;
        prompt.session.clone().filter(|_| can_be)
    };
    match_by(&mut history, &mut logs, pasted, Some(NEAR));
    history.extend(logs.into_iter().filter(|prompt| prompt.source == Source::Log));
    history
}

/// Marks what has the same key and lies near enough in time as found in both.
fn match_by<K: Hash + Eq>(
    history: &mut [Prompt],
    logs: &mut [Prompt],
    key: impl Fn(&Prompt) -> Option<K>,
    near: Option<i64>,
) {
    let mut groups: HashMap<K, (VecDeque<usize>, Vec<usize>)> = HashMap::new();
    for (place, prompt) in logs.iter().enumerate() {
        if let Some(key) = key(prompt).filter(|_| prompt.source == Source::Log) {
            groups.entry(key).or_default().1.push(place);
        }
    }
    for (place, prompt) in history.iter().enumerate() {
        if let Some(key) = key(prompt).filter(|_| prompt.source == Source::History)
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
                history[first].source = Source::Both;
                logs[place].source = Source::Both;
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

    fn prompt(source: Source, session: &str, second: i64, text: &str) -> Prompt {
        Prompt {
            time: Timestamp::from_second(second).ok(),
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
        let mut merged = merge(of(Source::History, history), of(Source::Log, logs));
        merged.sort_by_key(|prompt| prompt.time);
        let seconds = |prompt: &Prompt| prompt.time.map_or(0, Timestamp::as_second);
        merged
            .iter()
            .map(|prompt| format!("{} {}", seconds(prompt), prompt.source.name()))
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
