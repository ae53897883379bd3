//! Finding and mending what is broken in a log.
//!
//! A repair goes in rounds. Each family of fixes looks at the log as it would
//! be by then and proposes steps. The rounds end when nothing more is made,
//! so that a second repair finds nothing to do. Then no client of any generation
//! may bring back less than before; if one does, everything is taken back and
//! done again step by step, without the steps that do harm.
//!
//! What was meant is kept: branches left by rewinds stay branches, and what a
//! compaction replaced stays behind it. Only broken links are mended.

mod bench;
mod blocks;
mod chain;
mod damage;
mod evidence;
mod fix;
mod lines;
mod links;
mod messages;
mod repeated;
mod state;
mod step;
mod tree;
mod words;

use std::collections::BTreeSet;

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::SessionId;

use crate::LineSource;
use crate::Session;
use crate::Span;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Manuscript;
use crate::health::MOST_REQUEST_BYTES;
use crate::health::health;
use crate::request::Outcome;
use crate::request::Sent;
use crate::request::reach;
use bench::Bench;
use bench::Guard;
pub use fix::Fix;
use step::Step;
pub use words::Words;

/// Rounds end by themselves; this is for what nobody thought of.
const MOST_ROUNDS: usize = 12;

/// So many lines that stay damaged are named.
const MOST_LEFT: usize = 20;

/// The clients that a repaired log is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// Clients like the newest one that wrote the log, and newer ones.
    Writer,
    /// All.
    All,
}

/// A line that was found in another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLine {
    /// The line, without its end.
    pub bytes: Vec<u8>,
    /// Where it was found, in words.
    pub place: String,
}

/// What is to be repaired, and what a repair is told beside the log.
pub struct RepairOptions<'o> {
    /// The fixes to make, if not those that are made by default.
    pub only: Option<BTreeSet<Fix>>,
    /// Fixes that are not made.
    pub except: BTreeSet<Fix>,
    /// The clients that are to bring back everything.
    pub clients: Clients,
    /// The session's own id.
    pub own: SessionId,
    /// When the log was last written: the time of lines if no line has one.
    pub written: Timestamp,
    /// Looks for a line that is missing in other files.
    pub elsewhere: &'o dyn Fn(&EntryUuid) -> Option<FoundLine>,
}

/// A fix that is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Which one.
    pub fix: Fix,
    /// The line of the old log.
    pub line: u64,
    /// What is done, in words.
    pub words: Words,
}

/// A repaired log.
#[derive(Debug, Clone)]
pub struct Repair<'m> {
    /// The new log.
    pub draft: Draft<'m>,
    /// What is done, in the order in which it is done.
    pub fixes: Vec<Applied>,
    /// Lines that are not in the new log and must be kept beside it: their
    /// number and place in the old one.
    pub aside: Vec<(u64, Span)>,
    /// What is still wrong, in words.
    pub left: Vec<String>,
    /// The session as it is in the new log.
    pub session: Session,
}

/// Plans the repair of a log. `NothingToDo` if nothing is wrong with it; a log
/// with problems that cannot be repaired gives a plan that says so.
pub fn repair<'m>(
    manuscript: &'m Manuscript,
    options: &RepairOptions<'_>,
    log: &dyn LineSource,
) -> Result<Repair<'m>, EditError> {
    let is_asked_for = options.only.is_some() || options.clients == Clients::All;
    if !is_asked_for && is_sound(manuscript) {
        return Err(EditError::NothingToDo);
    }
    let mut bench = Bench::new(manuscript, options, log);
    for _ in 0..MOST_ROUNDS {
        let mark = bench.mark();
        match rounds(&mut bench, Guard::Whole)? {
            Ran::Nothing => break,
            Ran::Changed if bench.is_harmless_since(&mark) => break,
            Ran::Changed | Ran::Endless => bench.go_back(mark),
        }
        match rounds(&mut bench, Guard::EachStep)? {
            Ran::Nothing => break,
            Ran::Changed | Ran::Endless => {}
        }
    }
    if bench.spoken() == 0 && bench.is_unchanged() {
        return Err(EditError::NoConversation);
    }
    note_what_is_left(&mut bench);
    if bench.is_unchanged() && bench.left.is_empty() {
        return Err(EditError::NothingToDo);
    }
    Ok(bench.finish())
}

/// Whether `recto check` finds nothing wrong with a log. Such a log is left alone, even if
/// it could be written in a way that more clients like.
fn is_sound(manuscript: &Manuscript) -> bool {
    let session = &manuscript.session;
    let health = health(session, &[], &|_| None);
    session.damaged.is_empty()
        && manuscript.lines().iter().all(|line| line.is_utf8)
        && health.all.lines > 0
        && health.is_sound()
}

/// How rounds ended.
enum Ran {
    /// There was nothing to do.
    Nothing,
    /// Something was done, and nothing is left to do.
    Changed,
    /// There is always something to do.
    Endless,
}

/// Goes through all passes until nothing more is made.
fn rounds(bench: &mut Bench<'_, '_, '_>, guard: Guard) -> Result<Ran, EditError> {
    for round in 0..MOST_ROUNDS {
        bench.left.clear();
        let mut is_changed = false;
        for find in PASSES {
            let steps = find(bench)?;
            is_changed |= bench.take(steps, guard)?;
        }
        match (is_changed, round) {
            (true, _) => {}
            (false, 0) => return Ok(Ran::Nothing),
            (false, _) => return Ok(Ran::Changed),
        }
    }
    Ok(Ran::Endless)
}

type Find = fn(&mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError>;

/// What is looked for, in this order: each pass relies on those before.
const PASSES: [Find; 18] = [
    damage::damaged_lines,
    lines::byte_order_marks,
    lines::without_content,
    lines::text_answers,
    lines::without_uuid,
    repeated::repeated_uuids,
    lines::sidechain_flags,
    lines::without_time,
    lines::other_sessions,
    links::broken_links,
    messages::message_ids,
    messages::models,
    blocks::calls_and_results,
    blocks::unsendable_blocks,
    blocks::invalid_bytes,
    blocks::half_characters,
    chain::leafs,
    chain::linear_chains,
];

/// What no fix can help.
fn note_what_is_left(bench: &mut Bench<'_, '_, '_>) {
    if bench.makes(Fix::DamagedLine) {
        let damaged = &bench.now.session.damaged;
        let stays = |line: &u64| {
            let place = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
            format!("line {}: no client can read it; it stays", bench.number(place))
        };
        let stay: Vec<String> = damaged.iter().take(MOST_LEFT).map(stays).collect();
        bench.left.extend(stay);
    }
    for generation in bench.generations.clone() {
        let reach = reach(&bench.now.session, generation);
        match reach.outcome {
            Outcome::Resumed => {}
            Outcome::Refused { .. } | Outcome::Hangs { .. } => {
                let why = reach.outcome.why().unwrap_or_default();
                bench.left.push(format!("clients {generation} do not resume it: {why}"));
            }
        }
        let nodes = reach.sent.iter().filter_map(|sent| match sent {
            Sent::Line(line) => Some(bench.now.session.node(line.node)),
            Sent::Added(_) => None,
        });
        let bytes: u64 = nodes.map(|node| u64::from(node.content_bytes)).sum();
        if bytes > MOST_REQUEST_BYTES {
            bench.left.push(format!(
                "the request of clients {generation} has {} MB and the API takes {} MB: trim the session",
                bytes / 1024 / 1024,
                MOST_REQUEST_BYTES / 1024 / 1024
            ));
        }
    }
    bench.left.sort();
    bench.left.dedup();
}
