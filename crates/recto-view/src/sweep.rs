//! Questions across sessions: many logs are read, asked and dropped again, so memory stays that of
//! a few logs however many there are.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_session::BlockFact;
use recto_session::NodeId;
use recto_store::LogFile;
use recto_store::each_alone;
use serde::Serialize;

use crate::Moment;
use crate::Reading;

/// Says how many of all logs are done.
pub type Tell<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Where something is: which log and turn.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Place {
    /// The session; none if it is not known.
    pub session: Option<String>,
    /// The subagent, if it is in the log of one.
    pub agent: Option<String>,
    /// The turn of its log; 0 if it belongs to none.
    pub turn: u32,
    /// When it was written.
    pub time: Option<Moment>,
    /// A short name of the log that every SESSION argument accepts; none without a log.
    #[serde(skip)]
    pub name: Option<String>,
    #[serde(skip)]
    line: Line,
}

/// The line that something was read from, to know copies.
#[derive(Debug, Clone, Default)]
struct Line {
    path: PathBuf,
    modified: Timestamp,
    number: u64,
    call: Option<String>,
}

impl Place {
    /// A place of which only the time is known.
    pub(crate) fn at_time(time: Timestamp) -> Place {
        Place { time: Some(Moment(time)), ..Place::default() }
    }

    /// Whether two places are in the same turn of the same log.
    pub(crate) fn is_same_turn(&self, other: &Place) -> bool {
        self.turn == other.turn && self.line.path == other.line.path
    }
}

impl Reading {
    /// Where a line is.
    pub fn place(&self, id: NodeId) -> Place {
        let node = self.session().node(id);
        let call = node.blocks.iter().find_map(|block| match block {
            BlockFact::ToolResult { id, .. } | BlockFact::ToolUse { id, .. } => Some(*id),
            _ => None,
        });
        let session = self.log.session.map(|session| session.to_string());
        let name = match (&self.log.agent, &session) {
            (None, Some(session)) => session.chars().take(8).collect(),
            _ => self.log.name(),
        };
        Place {
            session,
            agent: self.log.agent.as_ref().map(|agent| agent.as_str().to_owned()),
            turn: self.turn_number(id),
            time: node.time().map(Moment),
            name: Some(name),
            line: Line {
                path: self.log.path.clone(),
                modified: self.log.modified(),
                number: node.line,
                call: self.name(call),
            },
        }
    }
}

/// Answers of many logs.
#[derive(Debug)]
pub struct Sweep<T> {
    /// The answers and where they are, in the order in which they were written, oldest first.
    pub answers: Vec<(Place, T)>,
    /// Why logs could not be read, one sentence each.
    pub skipped: Vec<String>,
}

/// Asks all logs. What a session copied from another one is an answer of the first only.
pub fn sweep<T: Send>(
    logs: &[LogFile],
    tell: Tell<'_>,
    ask: impl Fn(&Reading) -> Vec<(Place, T)> + Sync,
) -> Sweep<T> {
    let (done, skipped) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let mut answers: Vec<(Place, T)> = each_alone(logs)
        .flat_map_iter(|log| {
            tell(done.fetch_add(1, Ordering::Relaxed), logs.len() as u64);
            match Reading::open(log.clone()) {
                Ok(reading) => ask(&reading),
                Err(error) => {
                    let mut skipped = skipped.lock().unwrap_or_else(PoisonError::into_inner);
                    skipped.push(error.to_string());
                    Vec::new()
                }
            }
        })
        .collect();
    drop_copies(&mut answers, |(place, _)| place);
    Sweep { answers, skipped: skipped.into_inner().unwrap_or_else(PoisonError::into_inner) }
}

/// Puts what was found into the order in which it was written, and drops copies. A session that
/// goes on from another one begins with a copy of its lines; the log that was written last is
/// taken for the copy.
pub(crate) fn drop_copies<T>(found: &mut Vec<T>, place_of: impl Fn(&T) -> &Place) {
    found.sort_by(|a, b| {
        let (a, b) = (place_of(a), place_of(b));
        let key = |place: &Place| (place.time, place.line.modified);
        key(a)
            .cmp(&key(b))
            .then_with(|| a.line.path.cmp(&b.line.path))
            .then(a.line.number.cmp(&b.line.number))
    });
    let mut firsts: HashMap<(String, Option<Moment>, Option<String>), PathBuf> = HashMap::new();
    found.retain(|one| {
        let place = place_of(one);
        let Some(call) = &place.line.call else { return true };
        let key = (call.clone(), place.time, place.agent.clone());
        let first = firsts.entry(key).or_insert_with(|| place.line.path.clone());
        *first == place.line.path
    });
}
