//! How full the context of a session is, from the tail of its log.
//!
//! For a status line, which is asked for several times a second: the log is never
//! read as a whole, however long it is.

use std::path::Path;

use memchr::memmem;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::RawLine;
use recto_log::System;
use recto_log::decode;

use crate::StoreError;
use crate::place::open::open_sized;
use crate::place::platform::read_up_to;
use crate::read::lines_back::LinesBack;

/// How much of the tail is read at first, and at most: a result of a tool can be
/// long, and the answer stands before it.
const FIRST: u64 = 64 * 1024;
const MOST: u64 = 1024 * 1024;

/// What the end of a log says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastState {
    /// The tokens that the last answer was given for. None if the tail has no
    /// answer, or if the session was compacted since.
    pub context: Option<u64>,
    /// The model that gave it.
    pub model: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
}

impl LastState {
    /// Reads the tail of a log.
    pub fn read(path: &Path) -> Result<LastState, StoreError> {
        let (file, length) = open_sized(path)?;
        let mut wanted = FIRST;
        loop {
            let start = length.saturating_sub(wanted);
            let tail = read_up_to(&file, start, length - start)?;
            // The first line is cut, unless the whole log is here.
            let whole = match (start, memchr::memchr(b'\n', &tail)) {
                (0, _) => &tail[..],
                (_, Some(end)) => &tail[end + 1..],
                (_, None) => &[],
            };
            let mut state = LastState::default();
            if state.look_back(whole) == Found::All || start == 0 || wanted >= MOST {
                return Ok(state);
            }
            wanted = (wanted * 4).min(MOST);
        }
    }

    /// Looks at lines, the last one first, until everything is known.
    fn look_back(&mut self, tail: &[u8]) -> Found {
        let mut is_compacted = false;
        for line in LinesBack(tail) {
            if self.branch.is_some() && !may_tell(line) {
                continue;
            }
            let (entry, _) = decode(RawLine::alone(line));
            if self.branch.is_none() && entry.kind().in_chain() {
                self.branch = entry.git_branch().map(|branch| branch.into_owned());
            }
            is_compacted |= matches!(entry.system(), Some(System::CompactBoundary(_)));
            if let Some((context, model)) = answer(&entry) {
                self.context = Some(context).filter(|_| !is_compacted);
                self.model = model;
                return Found::All;
            }
        }
        Found::Some
    }
}

/// Whether there is something left to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    All,
    Some,
}

/// Whether a line may be an answer or a compaction.
fn may_tell(line: &[u8]) -> bool {
    [&b"\"usage\""[..], b"\"compact_boundary\""]
        .iter()
        .any(|word| memmem::find(line, word).is_some())
}

/// What an answer of the session itself was sent, and the model that gave it.
fn answer(entry: &Entry<'_>) -> Option<(u64, Option<String>)> {
    if entry.kind() != Kind::Assistant || entry.is_sidechain() || entry.is_api_error() {
        return None;
    }
    let message = entry.message().filter(|message| !message.is_synthetic())?;
    let usage = message.usage()?;
    let counts =
        [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
    let context = counts.into_iter().flatten().fold(0, u64::saturating_add);
    (context > 0).then(|| (context, message.model().map(|model| model.into_owned())))
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    fn answer(read: u64, more: &str) -> String {
        format!(
            r#"{{"type":"assistant","uuid":"u","gitBranch":"main",{more}"message":{{"model":"m","content":[],"usage":{{"input_tokens":5,"cache_read_input_tokens":{read},"output_tokens":7}}}}}}"#
        ) + "\n"
    }

    fn state(log: &str) -> LastState {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        fs::write(&path, log).unwrap();
        LastState::read(&path).unwrap()
    }

    #[test]
    fn the_last_answer_of_the_session_itself_counts() {
        let log = [
            answer(1, ""),
            answer(1000, ""),
            answer(9, r#""isSidechain":true,"#),
            answer(9, r#""isApiErrorMessage":true,"#),
            answer(9, "").replace("\"m\"", "\"<synthetic>\""),
            // A line that holds an answer is none.
            format!(r#"{{"type":"progress","data":{}}}"#, answer(9, "").trim()) + "\n",
            r#"{"type":"user","uuid":"v","gitBranch":"fix/x","message":{"content":"\"usage\""}}"#
                .to_owned(),
            "\n{torn".to_owned(),
        ];
        let state = state(&log.concat());
        assert_eq!((state.context, state.model.as_deref()), (Some(1005), Some("m")));
        assert_eq!(state.branch.as_deref(), Some("fix/x"));
    }

    #[test]
    fn after_a_compaction_nothing_is_known() {
        let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"b"}"#;
        let log = [answer(1000, ""), format!("{boundary}\n")].concat();
        assert_eq!(state(&log).context, None);
        assert_eq!(state(&(log + &answer(20, ""))).context, Some(25));
    }

    #[test]
    fn only_the_tail_is_read_and_long_lines_are_passed() {
        let long = |bytes: usize| {
            format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{}\"}}}}\n", "x".repeat(bytes))
        };
        assert_eq!(state(&(answer(7, "") + &long(500_000))).context, Some(12));
        assert_eq!(state(&(answer(7, "") + &long(2_000_000))), LastState::default());
        assert_eq!(state(""), LastState::default());
        assert_eq!(state("\n\n\n"), LastState::default());
    }
}
