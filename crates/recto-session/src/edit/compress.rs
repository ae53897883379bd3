//! Older turns behind a summary, as if the client had compacted them.
//!
//! A boundary and a summary are put before the first turn that stays, which is
//! chained on them. The old lines stay in the log, where clients do not look
//! for them, unless they are to go.

use std::collections::HashSet;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::CompactMetadata;
use recto_log::EntryUuid;
use recto_log::RawLine;
use recto_log::SessionId;
use recto_log::build::Envelope;
use recto_log::build::Position;
use recto_log::build::SystemLine;
use recto_log::build::UserLine;
use recto_log::decode;
use recto_log::json::write_string;

use crate::LineSource;
use crate::NodeId;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Link;
use crate::edit::Manuscript;
use crate::edit::Place;
use crate::edit::Plan;
use crate::edit::ages::Ages;
use crate::edit::plan::PlanKind;
use crate::edit::plan::Sizes;
use crate::edit::plan::Tally;
use crate::edit::plan::read_line;
use crate::edit::rewrite::derived;
use crate::edit::summary::SummaryText;
use crate::edit::summary::summary;
use crate::health::estimated_tokens;
use crate::request::Generation;
use crate::request::reach;

/// What is to be compressed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompressOptions {
    /// The first turn that stays.
    pub before: u32,
    /// The text that stands for the turns before.
    pub summary: SummaryText,
    /// What becomes of their lines.
    pub old: OldLines,
    /// The uuids of the new lines follow from it.
    pub seed: SessionId,
    /// The session that the summary points to: where the whole text still is.
    pub source: String,
}

/// What becomes of lines that a summary stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OldLines {
    /// They stay in the log; clients do not send them.
    #[default]
    Keep,
    /// They go, but for those that other branches follow.
    Drop,
}

/// Puts a summary in place of older turns.
pub fn compress<'m>(
    manuscript: &'m Manuscript,
    options: &CompressOptions,
    log: &dyn LineSource,
) -> Result<Plan<'m>, EditError> {
    let session = &manuscript.session;
    let sizes = Sizes::new(manuscript);
    let ages = Ages::new(manuscript, sizes.reach.leaf);
    let before = sizes.amount(manuscript, |_| true);
    let (old, kept) = split(&ages, options.before)?;
    let is_late = |id: &NodeId| {
        let parent = session.parent(*id);
        parent.is_some_and(|parent| session.node(parent).line > session.node(*id).line)
    };
    if let Some(late) = old.iter().chain(&kept).copied().find(is_late) {
        let line = session.node(late).line;
        return Err(EditError::NeedsRepair { why: format!("line {line} comes before its parent") });
    }
    let is_old: HashSet<NodeId> = old.iter().copied().collect();
    let is_spoken = |id: &NodeId| session.node(*id).is_spoken();
    if !sizes.sent().any(|id| is_old.contains(&id) && is_spoken(&id)) {
        return Err(EditError::NothingToDo);
    }
    if !kept.iter().any(is_spoken) {
        return Err(EditError::NothingLeft);
    }
    let (Some(&last_old), Some(&first)) = (old.last(), kept.first()) else {
        return Err(EditError::NothingToDo);
    };
    let text = summary(manuscript, &ages, &old, options, log)?;
    let (boundary, lines) = new_lines(
        manuscript,
        options,
        New { last_old, first, tokens_before: before.tokens, text: &text },
        log,
    )?;
    let is_kept: HashSet<NodeId> = kept.iter().copied().collect();
    let mut draft = Draft::new(manuscript);
    if options.old == OldLines::Drop {
        drop_old(&mut draft, &is_old, &is_kept);
        draft.relink();
    }
    draft.chain(Link::New(boundary), &kept);
    for line in lines {
        draft.add(Place::Before(manuscript.place(first)), line);
    }
    let mut tally = Tally::default();
    for id in sizes.sent().filter(|id| is_old.contains(id)) {
        let turn = ages.turn(id).to_string();
        tally.add(PlanKind::Compressed, &turn, u64::from(session.node(id).content_bytes));
    }
    let mut after = sizes.amount(manuscript, |id| is_kept.contains(&id));
    after.lines += 1;
    let mut json = Vec::new();
    write_string(&mut json, &text);
    after.tokens += estimated_tokens(json.len() as u64);
    let mut removed = draft.removed();
    removed.extend(old.iter().map(|id| session.node(*id).uuid()));
    let notes = notes(manuscript, sizes.reach.leaf);
    let rows = tally.finish();
    Ok(Plan { draft, rows, removed, before, after, notes, is_reached: true })
}

/// The conversation before a turn, and from it on. The turn must be in the part
/// that clients send.
fn split(ages: &Ages, before: u32) -> Result<(Vec<NodeId>, Vec<NodeId>), EditError> {
    let last = u32::try_from(ages.turns.len()).unwrap_or(u32::MAX);
    let at = (before as usize).checked_sub(1).filter(|at| *at < ages.turns.len());
    let at = at.ok_or(EditError::NoTurn { number: before, last })?;
    let not_current = EditError::NotCurrent { number: before };
    let (current, earlier) = ages.history.split_last().ok_or(EditError::NoConversation)?;
    let begins = |id: &NodeId| match ages.turns.prompt(at) {
        Some(prompt) => *id == prompt,
        None => ages.turn(*id) == before,
    };
    let cut = current.iter().position(begins).ok_or(not_current)?;
    let (old, kept) = current.split_at(cut);
    Ok((earlier.iter().flatten().chain(old).copied().collect(), kept.to_vec()))
}

/// What new lines are made from.
struct New<'a> {
    last_old: NodeId,
    first: NodeId,
    tokens_before: u64,
    text: &'a str,
}

/// The boundary and the summary, and the uuid of the summary.
fn new_lines(
    manuscript: &Manuscript,
    options: &CompressOptions,
    new: New<'_>,
    log: &dyn LineSource,
) -> Result<(EntryUuid, [Vec<u8>; 2]), EditError> {
    let session = &manuscript.session;
    let first = session.node(new.first);
    let bytes = read_line(manuscript, manuscript.place(new.first), log)?;
    let (entry, _) = decode(RawLine::alone(&bytes));
    let (boundary_time, summary_time) = times(session.node(new.last_old).time(), first.time())
        .ok_or_else(|| EditError::NeedsRepair {
            why: format!("line {} has no time", first.line),
        })?;
    let key = first.uuid().bits().unwrap_or(u128::from(first.line));
    let [boundary, summary] =
        [1, 2].map(|tag| EntryUuid::from_bits(derived(options.seed, key.wrapping_add(tag))));
    let logical_parent = match options.old {
        OldLines::Keep => Some(session.node(new.last_old).uuid()),
        OldLines::Drop => None,
    };
    let envelope = Envelope::of(&entry);
    let metadata = CompactMetadata {
        trigger: Some("manual".to_owned()),
        tokens_before: Some(new.tokens_before),
        ..CompactMetadata::default()
    };
    let line = envelope.system(
        &Position::root(boundary.clone(), boundary_time),
        &SystemLine::CompactBoundary { logical_parent, metadata },
    );
    let said = envelope.user(
        &Position::after(boundary, summary.clone(), summary_time),
        &UserLine::compact_summary(new.text),
    );
    Ok((summary, [line, said]))
}

/// Times between the lines around: not before the last old line, if that can
/// be, and always before the first one that stays, or old clients would take
/// the new lines for the newest.
fn times(last_old: Option<Timestamp>, first: Option<Timestamp>) -> Option<(Timestamp, Timestamp)> {
    let first = first?;
    let earlier = |milliseconds| first.checked_sub(SignedDuration::from_millis(milliseconds)).ok();
    let (boundary, summary) = (earlier(2)?, earlier(1)?);
    match last_old {
        Some(old) if old < first => Some((boundary.max(old), summary.max(old))),
        Some(_) | None => Some((boundary, summary)),
    }
}

/// Takes out old lines that no other branch follows, and what else hangs on them:
/// progress and remarks are no branch.
fn drop_old(draft: &mut Draft<'_>, is_old: &HashSet<NodeId>, is_kept: &HashSet<NodeId>) {
    let manuscript = draft.manuscript();
    let session = &manuscript.session;
    let is_branch = |id: &NodeId| {
        let node = session.node(*id);
        let is_said = node.is_spoken() && !node.flags.is_meta;
        is_said && !is_old.contains(id) && !is_kept.contains(id)
    };
    let mut is_needed = vec![false; session.node_count()];
    for start in session.ids().filter(is_branch) {
        let mut at = Some(start);
        // The lines that stay hang on the summary from now on.
        while let Some(id) = at.filter(|id| !is_needed[id.index()] && !is_kept.contains(id)) {
            is_needed[id.index()] = true;
            at = above(manuscript, id);
        }
    }
    let hangs_on_old = |id: NodeId| {
        let mut seen = HashSet::new();
        let mut at = Some(id);
        while let Some(next) = at.filter(|id| !is_kept.contains(id) && !is_needed[id.index()]) {
            if is_old.contains(&next) {
                return true;
            }
            at = above(manuscript, next).filter(|_| seen.insert(next));
        }
        false
    };
    for (place, line) in manuscript.lines().iter().enumerate() {
        if line.node.is_some_and(hangs_on_old) {
            draft.remove_line(place);
        }
    }
}

/// What a line follows, across a compaction too.
fn above(manuscript: &Manuscript, id: NodeId) -> Option<NodeId> {
    let session = &manuscript.session;
    session.parent(id).or_else(|| session.find(session.node(id).logical_parent.as_ref()?))
}

/// Whether all clients will see the summary.
fn notes(manuscript: &Manuscript, leaf: Option<NodeId>) -> Vec<String> {
    let others = Generation::ALL.into_iter().filter(|generation| {
        let reach = reach(&manuscript.session, *generation);
        reach.leaf.is_some() && reach.leaf != leaf
    });
    let say = |generation| {
        format!("clients {generation} resume from another line and do not see the summary")
    };
    others.map(say).collect()
}
