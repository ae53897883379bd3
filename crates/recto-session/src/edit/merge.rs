//! One session of two logs, where a conversation was split by accident.

use std::collections::HashSet;

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::Kind;

use crate::BlockFact;
use crate::NodeId;
use crate::Session;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Link;
use crate::edit::Manuscript;
use crate::request::Generation;
use crate::request::history_to;
use crate::request::reach;

/// Two logs as one conversation.
#[derive(Debug)]
pub struct Merge<'m> {
    /// The new log.
    pub draft: Draft<'m>,
    /// The line that is resumed from.
    pub leaf: NodeId,
    /// Lines of the first log that need not be sent: other branches of it, calls
    /// without a result, and all of it if the second one was compacted.
    pub unsent_of_first: HashSet<EntryUuid>,
    /// Other branches of the second log.
    pub unsent_of_second: HashSet<EntryUuid>,
    /// The last line of the first conversation, and the first one that follows.
    pub seam: (Option<Timestamp>, Option<Timestamp>),
}

impl Merge<'_> {
    /// Whether the second log goes on before the first one ends.
    pub fn is_out_of_order(&self) -> bool {
        matches!(self.seam, (Some(end), Some(start)) if start < end)
    }
}

/// Joins two logs, whose lines are in one manuscript: those of the first, then
/// those of the second that the first has not. The conversation of the second
/// goes on where that of the first ends. Other branches stay in the log.
pub fn merge<'m>(
    manuscript: &'m Manuscript,
    first: &Session,
    second: &Session,
) -> Result<Merge<'m>, EditError> {
    let session = &manuscript.session;
    let joined = |log: &Session, ids: &[NodeId]| -> Vec<NodeId> {
        ids.iter().filter_map(|id| session.find(&log.node(*id).uuid())).collect()
    };
    let first_parts = conversation(first)?;
    let mut second_parts = conversation(second)?;
    let unsent_of_second = outside(second, &second_parts);
    let mut unsent_of_first = outside(first, &first_parts);
    unsent_of_first.extend(cut_off_calls(first));
    for part in &mut second_parts {
        part.retain(|id| first.find(&second.node(*id).uuid()).is_none());
    }
    second_parts.retain(|part| !part.is_empty());
    let mut parts: Vec<Vec<NodeId>> = first_parts.iter().map(|part| joined(first, part)).collect();
    let mut own = second_parts.iter().map(|part| joined(second, part));
    let next = own.next().ok_or(EditError::NothingToDo)?;
    let time = |id: Option<&NodeId>| id.and_then(|id| session.node(*id).time());
    let seam = (time(parts.last().and_then(|part| part.last())), time(next.first()));
    let is_boundary = |id: &NodeId| {
        session.facts().compactions.iter().any(|compaction| compaction.boundary == *id)
    };
    // After a compaction the conversation begins anew, and names what it follows.
    match parts.last_mut() {
        Some(last) if !next.first().is_some_and(is_boundary) => last.extend(next),
        Some(_) | None => parts.push(next),
    }
    parts.extend(own);
    let leaf = parts.last().and_then(|part| part.last()).copied();
    let leaf = leaf.ok_or(EditError::NoConversation)?;
    let mut draft = Draft::new(manuscript);
    for part in &parts {
        draft.chain(Link::Root, part);
    }
    let is_compacted = second_parts
        .iter()
        .flatten()
        .any(|id| second.facts().compactions.iter().any(|found| found.boundary == *id));
    if is_compacted {
        unsent_of_first.extend(first.nodes().map(|node| node.uuid()));
    }
    Ok(Merge { draft, leaf, unsent_of_first, unsent_of_second, seam })
}

/// The conversation that the newest clients go on with, in parts that
/// compactions divide. Nothing can go on from progress at its end.
fn conversation(session: &Session) -> Result<Vec<Vec<NodeId>>, EditError> {
    let leaf = reach(session, Generation::latest()).leaf.ok_or(EditError::NoConversation)?;
    let mut parts = history_to(session, leaf, Generation::latest());
    let is_progress = |id: &mut NodeId| session.node(*id).kind == Kind::Progress;
    while parts.last_mut().is_some_and(|part| part.pop_if(is_progress).is_some()) {}
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() { Err(EditError::NoConversation) } else { Ok(parts) }
}

/// The lines that are not part of a conversation.
fn outside(session: &Session, parts: &[Vec<NodeId>]) -> HashSet<EntryUuid> {
    let inside: HashSet<NodeId> = parts.iter().flatten().copied().collect();
    let outside = session.ids().filter(|id| !inside.contains(id));
    outside.map(|id| session.node(id).uuid()).collect()
}

/// Calls without a result. At the end of a conversation some clients answer them
/// themselves; with more to follow, none sends them.
fn cut_off_calls(session: &Session) -> impl Iterator<Item = EntryUuid> {
    let is_cut_off = |block: &BlockFact| match block {
        BlockFact::ToolUse { id, .. } => {
            session.facts().call(*id).is_none_or(|call| call.result.is_none())
        }
        _ => false,
    };
    let lines = session.nodes().filter(move |node| node.blocks.iter().any(is_cut_off));
    lines.map(|node| node.uuid())
}
