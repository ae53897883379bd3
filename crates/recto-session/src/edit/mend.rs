//! A draft that has lost lines, in order again: links, leaf, names.
//!
//! Children of removed lines follow what those followed. Where only some of the
//! parallel calls of a message went, the conversation is written as one chain:
//! in a tree, the calls that stay could lose their place.

use std::collections::HashMap;
use std::collections::HashSet;

use jiff::SignedDuration;
use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::RawLine;
use recto_log::SessionId;
use recto_log::UserText;
use recto_log::build::Envelope;
use recto_log::build::Level;
use recto_log::build::MetaLine;
use recto_log::build::Position;
use recto_log::build::SystemLine;
use recto_log::decode;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;

use crate::BlockFact;
use crate::LineSource;
use crate::NameId;
use crate::NodeId;
use crate::edit::Change;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Link;
use crate::edit::Place;
use crate::edit::plan::Sizes;
use crate::edit::plan::read_line;
use crate::edit::plan::shortened;
use crate::edit::rewrite::derived;
use crate::request::Generation;
use crate::request::history_to;
use crate::request::leaf as resumed_from;
use crate::request::reach;
use crate::request::way_to;

/// How much of a prompt is kept to show what a session was about.
const PROMPT_LENGTH: usize = 200;

/// Brings a draft in order. `history` is the conversation of the newest clients.
/// Gives the lines that stay and are not sent any more, because the lines that
/// brought them in are gone.
pub(super) fn mend(
    draft: &mut Draft<'_>,
    sizes: &Sizes,
    history: &[Vec<NodeId>],
    log: &dyn LineSource,
) -> Result<Vec<NodeId>, EditError> {
    let session = &draft.manuscript.session;
    let stays = |id: NodeId| session.node(id).is_spoken() && draft.keeps(id);
    let had_any = sizes.sent().any(|id| session.node(id).is_spoken());
    if had_any && !sizes.sent().any(stays) {
        return Err(EditError::NothingLeft);
    }
    draft.relink();
    hang_orphans(draft, history);
    let is_torn = has_torn_message(draft);
    if is_torn {
        chain_all(draft);
    }
    mend_compactions(draft);
    settle(draft, sizes.reach.leaf, history, is_torn, log)?;
    Ok(if is_torn { Vec::new() } else { stranded(draft) })
}

/// Lines that are missing their parent, or follow a removed one for which
/// nothing stands, follow what came before them for the newest clients, if that
/// has changed: those hang orphans on what is near in time.
fn hang_orphans(draft: &mut Draft<'_>, history: &[Vec<NodeId>]) {
    let session = &draft.manuscript.session;
    let is_orphan = |draft: &Draft<'_>, id: NodeId| match draft.effective(id) {
        Some(Link::Node(parent)) => draft.keeps(id) && !draft.keeps(parent),
        Some(Link::Root | Link::New(_)) | None => false,
    };
    for part in history {
        let mut before: Option<NodeId> = None;
        let mut has_lost = false;
        for &id in part {
            if !draft.keeps(id) {
                has_lost = true;
                continue;
            }
            let lone = if has_lost { lone_top(draft, id) } else { None };
            let orphan = lone.or_else(|| is_orphan(draft, id).then_some(id));
            if let Some((before, orphan)) = before.zip(orphan) {
                draft.link(orphan, Link::Node(before));
            }
            // The newest clients do not hang anything on progress.
            if session.node(id).kind != Kind::Progress {
                before = Some(id);
                has_lost = false;
            }
        }
    }
    for id in session.ids() {
        if is_orphan(draft, id) {
            draft.link(id, Link::Root);
        }
    }
}

/// The line that is missing its parent: this one, or the progress above it, which the
/// newest clients look through.
fn lone_top(draft: &Draft<'_>, id: NodeId) -> Option<NodeId> {
    let session = &draft.manuscript.session;
    let mut top = id;
    for _ in session.nodes() {
        match draft.effective(top) {
            None => return Some(top),
            Some(Link::Node(above)) if session.node(above).kind == Kind::Progress => top = above,
            Some(Link::Node(_) | Link::Root | Link::New(_)) => return None,
        }
    }
    None
}

/// Lines beside the way to the leaf that clients send because they belong to a
/// message on it, of which nothing is left on it. A client that writes a branch
/// anew gives its copies the message of the original.
fn stranded(draft: &Draft<'_>) -> Vec<NodeId> {
    let session = &draft.manuscript.session;
    let mut found: HashSet<NodeId> = HashSet::new();
    for generation in Generation::ALL {
        let reach = reach(session, generation);
        let mut is_on_way = vec![false; session.node_count()];
        for id in reach.leaf.map_or_else(Vec::new, |leaf| way_to(session, leaf, generation)) {
            is_on_way[id.index()] = true;
        }
        let on_way = |id: &&NodeId| is_on_way[id.index()] && draft.keeps(**id);
        let left: HashSet<NameId> =
            reach.chain.iter().filter(on_way).filter_map(|id| session.node(*id).message).collect();
        let mut calls: HashSet<NodeId> = HashSet::new();
        for &id in reach.chain.iter().filter(|id| !is_on_way[id.index()] && draft.keeps(**id)) {
            let node = session.node(id);
            let is_alone = node.message.is_some_and(|message| !left.contains(&message));
            let is_result = session.parent(id).is_some_and(|parent| calls.contains(&parent));
            if is_alone || is_result {
                calls.insert(id);
            }
        }
        found.extend(calls);
    }
    found.into_iter().collect()
}

/// Whether a message has lost a call or result and still has another call.
fn has_torn_message(draft: &Draft<'_>) -> bool {
    let session = &draft.manuscript.session;
    let mut message_of: HashMap<NameId, NameId> = HashMap::new();
    let mut torn: HashSet<NameId> = HashSet::new();
    let mut whole: HashSet<NameId> = HashSet::new();
    for id in session.ids() {
        let node = session.node(id);
        let Some(message) = node.message.filter(|_| node.kind == Kind::Assistant) else { continue };
        for block in &node.blocks {
            if let BlockFact::ToolUse { id: call, .. } = block {
                message_of.insert(*call, message);
                if draft.keeps(id) {
                    whole.insert(message)
                } else {
                    torn.insert(message)
                };
            }
        }
    }
    for id in session.ids().filter(|id| !draft.keeps(*id)) {
        for block in &session.node(id).blocks {
            if let BlockFact::ToolResult { id: call, .. } = block {
                torn.extend(message_of.get(call));
            }
        }
    }
    torn.iter().any(|message| whole.contains(message))
}

/// Writes the conversation of every generation as one chain.
fn chain_all(draft: &mut Draft<'_>) {
    let session = &draft.manuscript.session;
    let mut leaves: Vec<NodeId> = Vec::new();
    for generation in Generation::ALL {
        if let Some(leaf) = resumed_from(session, generation) {
            // The newest clients come last, so that their order counts.
            leaves.retain(|known| *known != leaf);
            leaves.push(leaf);
        }
    }
    for leaf in leaves {
        for part in history_to(session, leaf, Generation::latest()) {
            let kept: Vec<NodeId> = part.into_iter().filter(|id| draft.keeps(*id)).collect();
            let Some((&first, rest)) = kept.split_first() else { continue };
            match draft.effective(first) {
                Some(Link::Node(above)) if kept.contains(&above) => draft.chain(Link::Root, &kept),
                Some(above) => draft.chain(above, &kept),
                None => draft.chain(Link::Node(first), rest),
            }
        }
    }
}

/// Compactions name the lines that they preserved, and the line before those.
fn mend_compactions(draft: &mut Draft<'_>) {
    let session = &draft.manuscript.session;
    for compaction in &session.facts().compactions {
        let boundary = compaction.boundary;
        let metadata = &compaction.metadata;
        let is_gone = |uuid| session.find(uuid).is_some_and(|id| !draft.keeps(id));
        let anchor = metadata.anchor.as_ref();
        let is_anchor_gone = anchor.is_some_and(is_gone);
        if !draft.keeps(boundary) || !(is_anchor_gone || metadata.preserved.iter().any(is_gone)) {
            continue;
        }
        let left: Vec<String> = metadata
            .preserved
            .iter()
            .filter(|uuid| !is_gone(*uuid))
            .map(ToString::to_string)
            .collect();
        let key = |name: &str| ["compactMetadata".into(), name.into()];
        let (Some(first), Some(last)) = (left.first(), left.last()) else {
            draft.change(boundary, Change::remove(key("preservedMessages")));
            draft.change(boundary, Change::remove(key("preservedSegment")));
            continue;
        };
        // Without a summary they follow the boundary itself.
        let anchor = match anchor {
            Some(anchor) if !is_anchor_gone => anchor.to_string(),
            Some(_) | None => session.node(boundary).uuid().to_string(),
        };
        let array = |uuids: &[String]| {
            uuids.iter().fold(ArrayWriter::new(), |array, uuid| array.string(uuid)).finish()
        };
        let messages = ObjectWriter::new()
            .string("anchorUuid", &anchor)
            .json("uuids", &array(&left))
            .json("allUuids", &array(&left))
            .finish();
        let segment = ObjectWriter::new()
            .string("headUuid", first)
            .string("anchorUuid", &anchor)
            .string("tailUuid", last)
            .finish();
        draft.change(boundary, Change::set(key("preservedMessages"), messages));
        draft.change(boundary, Change::set(key("preservedSegment"), segment));
    }
}

/// Makes clients go on from what is left, if the line from which they went on
/// is not there or not the last one any more.
fn settle(
    draft: &mut Draft<'_>,
    leaf: Option<NodeId>,
    history: &[Vec<NodeId>],
    is_chained: bool,
    log: &dyn LineSource,
) -> Result<(), EditError> {
    let Some(leaf) = leaf else { return Ok(()) };
    let session = &draft.manuscript.session;
    let can_lead = |id: &NodeId| draft.keeps(*id) && session.node(*id).kind != Kind::Progress;
    let newest = || history.iter().flatten().rev().copied().find(can_lead);
    let last = if is_chained { newest() } else { above(draft, leaf).or_else(newest) };
    if draft.keeps(leaf) && (!is_chained || last == Some(leaf)) {
        return Ok(());
    }
    let last = last.ok_or(EditError::NothingLeft)?;
    let is_prompt = |id: &NodeId| draft.keeps(*id) && session.node(*id).user == UserText::Human;
    let prompt = match history.iter().flatten().rev().copied().find(is_prompt) {
        Some(id) => prompt_text(draft, id, log)?,
        None => String::new(),
    };
    let own_id = session_id(draft);
    // Clients by time may go on from another branch, which is left to them.
    let agree = Generation::ALL
        .iter()
        .all(|generation| resumed_from(session, *generation).is_none_or(|other| other == leaf));
    let is_followed =
        session.ids().any(|id| draft.keeps(id) && draft.effective(id) == Some(Link::Node(last)));
    if agree && !is_followed {
        draft.settle_leaf(last, own_id, &prompt);
    } else {
        lead(draft, last, agree, &Envelope::of_session(own_id), &prompt);
    }
    Ok(())
}

/// The nearest line at or above a line that stays and that can be gone on from.
fn above(draft: &Draft<'_>, leaf: NodeId) -> Option<NodeId> {
    let session = &draft.manuscript.session;
    let mut seen = HashSet::new();
    let mut at = leaf;
    while seen.insert(at) {
        if draft.keeps(at) && session.node(at).kind != Kind::Progress {
            return Some(at);
        }
        let Some(Link::Node(parent)) = draft.effective(at) else { return None };
        at = parent;
    }
    None
}

/// Lets a remark follow a line that other branches follow too: named as the
/// leaf, the line itself would lead clients into the branch that was written
/// last. Old clients take the newest line, if they are to come along.
fn lead(draft: &mut Draft<'_>, last: NodeId, is_newest: bool, envelope: &Envelope, prompt: &str) {
    let session = &draft.manuscript.session;
    let node = session.node(last);
    let others = session.ids().filter(|id| draft.keeps(*id));
    let newest = others.filter_map(|id| session.node(id).time()).max();
    let later = newest.and_then(|time| time.checked_add(SignedDuration::from_millis(1)).ok());
    let time = if is_newest { later } else { node.time() };
    let Some(time) = time.or(later) else { return };
    let key = node.uuid().bits().unwrap_or(u128::from(node.line));
    let uuid = EntryUuid::from_bits(derived(SessionId::from_bits(key), key));
    let position = Position::after(node.uuid(), uuid.clone(), time);
    let content = "Edited by recto".into();
    let remark = SystemLine::Informational { content, level: Level::Info };
    for place in 0..draft.manuscript.lines().len() {
        if draft.manuscript.lines().get(place).is_some_and(|line| line.kind == Kind::LastPrompt) {
            draft.remove_line(place);
        }
    }
    draft.add(Place::End, envelope.system(&position, &remark));
    draft.add(Place::End, envelope.meta(&MetaLine::last_prompt(prompt, uuid)));
}

/// What the user said in a line.
fn prompt_text(draft: &Draft<'_>, id: NodeId, log: &dyn LineSource) -> Result<String, EditError> {
    let bytes = read_line(draft.manuscript, draft.manuscript.place(id), log)?;
    let (entry, _) = decode(RawLine::alone(&bytes));
    let text = entry.message().map(|message| message.content().text().into_owned());
    Ok(shortened(&text.unwrap_or_default(), PROMPT_LENGTH))
}

/// The session that most lines say they belong to.
fn session_id(draft: &Draft<'_>) -> Option<SessionId> {
    let sessions = &draft.manuscript.session.records.sessions;
    let most = sessions.iter().max_by_key(|(_, lines, _)| *lines);
    most.and_then(|(name, ..)| name.parse().ok())
}
