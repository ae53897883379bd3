//! Work over many logs at once, for questions across sessions.
//!
//! Each log is read by one thread, asked, and dropped again, so that memory
//! stays that of a few logs however many there are.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_log::AgentId;
use recto_session::BlockFact;
use recto_session::NodeId;
use recto_session::Session;
use recto_session::Turn;
use recto_session::turns;
use recto_store::Loaded;
use recto_store::LogFile;
use recto_store::each_alone;

use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::output::remark;
use recto_session::spoken_text;
use recto_session::turn_places;

/// A log that is being asked.
pub(crate) struct Swept<'a> {
    pub(crate) log: &'a LogFile,
    pub(crate) loaded: Loaded,
    turns: Vec<Turn>,
    turn_of: Vec<usize>,
}

impl Swept<'_> {
    pub(crate) fn session(&self) -> &Session {
        &self.loaded.session
    }

    /// Where a line stands.
    pub(crate) fn place(&self, id: NodeId) -> Place {
        let node = self.session().node(id);
        let turn = self.turns.get(self.turn_of[id.index()]);
        let call = node.blocks.iter().find_map(|block| match block {
            BlockFact::ToolResult { id, .. } | BlockFact::ToolUse { id, .. } => Some(*id),
            _ => None,
        });
        Place {
            log: self.log.clone(),
            turn: turn.map_or(0, |turn| turn.number),
            time: node.time(),
            line: node.line,
            call: call.map(|call| self.session().name(call).to_owned()),
        }
    }

    /// What began the turn of a line, in words.
    pub(crate) fn prompt(&self, id: NodeId) -> String {
        let turn = self.turns.get(self.turn_of[id.index()]);
        let prompt = turn.and_then(|turn| turn.prompt);
        prompt.and_then(|id| self.loaded.with_entry(id, spoken_text)).unwrap_or_default()
    }
}

/// Where something stands: which log, turn and line.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) log: LogFile,
    /// The number of the turn in its log.
    pub(crate) turn: u32,
    pub(crate) time: Option<Timestamp>,
    pub(crate) line: u64,
    call: Option<String>,
}

impl Place {
    /// A short name of the log that every SESSION argument understands.
    pub(crate) fn short_name(&self) -> String {
        match (&self.log.agent, self.log.session) {
            (None, Some(session)) => session.to_string().chars().take(8).collect(),
            _ => self.log.name(),
        }
    }

    pub(crate) fn session(&self) -> Option<String> {
        self.log.session.map(|session| session.to_string())
    }

    pub(crate) fn agent(&self) -> Option<&str> {
        self.log.agent.as_ref().map(|agent| agent.as_str())
    }

    pub(crate) fn rfc3339(&self) -> Option<String> {
        self.time.map(|time| format!("{time:.3}"))
    }
}

/// Asks all logs. The answers are in the order in which they were written,
/// oldest first. A log that cannot be read is said and left out.
pub(crate) fn sweep<T: Send>(
    logs: &[LogFile],
    output: &Output,
    ask: impl Fn(&Swept<'_>) -> Vec<(Place, T)> + Sync,
) -> Vec<(Place, T)> {
    let progress = Progress::new("reading", output);
    let done = AtomicU64::new(0);
    let mut answers: Vec<(Place, T)> = each_alone(logs)
        .flat_map_iter(|log| {
            progress.tell(done.fetch_add(1, Ordering::Relaxed), logs.len() as u64);
            match Loaded::read(&log.path) {
                Ok(loaded) => {
                    let turns = turns(&loaded.session);
                    let turn_of = turn_places(&loaded.session, &turns);
                    ask(&Swept { log, loaded, turns, turn_of })
                }
                Err(error) => {
                    remark(&format!("skipped: {error}"));
                    Vec::new()
                }
            }
        })
        .collect();
    progress.done();
    // A session that goes on from another one begins with a copy of its lines.
    // The one that was written last is taken for the copy.
    answers.sort_by(|(a, _), (b, _)| {
        let key = |place: &Place| (place.time, place.log.modified());
        key(a).cmp(&key(b)).then_with(|| a.log.path.cmp(&b.log.path)).then(a.line.cmp(&b.line))
    });
    let mut firsts: HashMap<(String, Option<Timestamp>, Option<AgentId>), PathBuf> = HashMap::new();
    answers.retain(|(place, _)| {
        let Some(call) = &place.call else { return true };
        let key = (call.clone(), place.time, place.log.agent.clone());
        let first = firsts.entry(key).or_insert_with(|| place.log.path.clone());
        *first == place.log.path
    });
    answers
}
