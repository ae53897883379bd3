//! One line to go on from, and one chain that leads to it.

use jiff::SignedDuration;
use recto_log::Kind;
use recto_log::build::Envelope;
use recto_log::build::MetaLine;

use super::Fix;
use super::bench::Bench;
use super::bench::Edit;
use super::bench::uuid_of;
use super::step::Step;
use crate::NodeId;
use crate::Parent;
use crate::Session;
use crate::edit::Change;
use crate::edit::EditError;
use crate::request::Generation;
use crate::request::Reach;
use crate::request::history_to;
use crate::request::leaf as resumed_from;
use crate::request::reach;

/// What clients disagree about.
struct Disagreement {
    /// The conversation that is meant, up to its last line.
    meant: Vec<NodeId>,
    /// The line that all should go on from.
    leaf: NodeId,
    /// Whether a client that loses lines goes on from another line.
    has_other_leaf: bool,
}

pub(super) fn leafs(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let Some(found) = disagreement(bench).filter(|found| found.has_other_leaf) else {
        return Ok(Vec::new());
    };
    let line = bench.number_of(found.leaf);
    Ok(vec![Step::new(
        Fix::Leaf,
        line,
        format!("all clients resume from line {line}"),
        settle(bench, found.leaf),
    )])
}

/// Clients that do not look for parallel calls, or do not read progress, lose
/// what is not on the way from the leaf up.
pub(super) fn linear_chains(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let Some(found) = disagreement(bench) else { return Ok(Vec::new()) };
    let session = &bench.now.session;
    let mut edits = Vec::new();
    let mut parent: Option<NodeId> = None;
    for &id in &found.meant {
        // The first line stays where it is.
        let link = match parent {
            Some(parent) => Parent::Node(parent),
            None => session.node(id).parent,
        };
        if link != session.node(id).parent {
            edits.push(Edit::Parent(bench.sheet_of(id), uuid_of(session, link)));
        }
        if session.node(id).kind != Kind::Progress {
            parent = Some(id);
        }
    }
    let places: Vec<usize> = found.meant.iter().map(|id| bench.now.place(*id)).collect();
    if !places.is_sorted() {
        edits.push(Edit::Order(places.into_iter().map(|place| bench.sheet(place)).collect()));
    }
    if edits.is_empty() {
        return Ok(Vec::new());
    }
    let count = edits.len();
    if let Some(last) = parent.filter(|last| *last != found.leaf) {
        edits.extend(settle(bench, last));
    }
    let first = found.meant.first().copied().unwrap_or(found.leaf);
    Ok(vec![Step::new(
        Fix::LinearChain,
        bench.number_of(first),
        format!(
            "{count} of {} lines of the current branch now follow another line",
            found.meant.len()
        ),
        edits,
    )])
}

/// Whether clients bring back less than the conversation that is meant.
fn disagreement(bench: &mut Bench<'_, '_, '_>) -> Option<Disagreement> {
    let session = &bench.now.session;
    let reaches: Vec<Reach> =
        bench.generations.iter().map(|generation| reach(session, *generation)).collect();
    let mut leafs = Vec::new();
    for leaf in reaches.iter().rev().filter_map(|reach| reach.leaf) {
        if !leafs.contains(&leaf) {
            leafs.push(leaf);
        }
    }
    // In a log that is out of order neither its last line nor the last name of
    // a leaf says where the client stood, but the time does.
    let newest = resumed_from(session, Generation::V2_1_100).filter(|_| is_out_of_order(session));
    let with_newest: Vec<NodeId> = leafs.iter().copied().chain(newest).collect();
    let meant = meant(session, &with_newest).or_else(|| meant(session, &leafs));
    let Some((leaf, meant)) = meant else {
        if leafs.len() > 1 {
            let numbers: Vec<String> =
                leafs.iter().map(|leaf| bench.number_of(*leaf).to_string()).collect();
            bench.left.push(format!(
                "clients resume from different branches: lines {}; fork the one that you want",
                numbers.join(", ")
            ));
        }
        return None;
    };
    let loses = |reach: &&Reach| loses(session, reach, &meant);
    let losers: Vec<&Reach> = reaches.iter().filter(loses).collect();
    if losers.is_empty() {
        return None;
    }
    let has_other_leaf = losers.iter().any(|reach| reach.leaf != Some(leaf));
    Some(Disagreement { meant, leaf, has_other_leaf })
}

/// The line that all others led to, and the conversation up to it.
fn meant(session: &Session, leafs: &[NodeId]) -> Option<(NodeId, Vec<NodeId>)> {
    leafs.iter().find_map(|leaf| {
        let parts = history_to(session, *leaf, Generation::latest());
        let is_inside = |other: &NodeId| parts.iter().any(|part| part.contains(other));
        let part = parts.last().filter(|_| leafs.iter().all(is_inside))?;
        Some((*leaf, without_copies(session, *leaf, part)))
    })
}

/// Whether a line of the main conversation stands before the one it follows.
fn is_out_of_order(session: &Session) -> bool {
    session.ids().any(|id| {
        let node = session.node(id);
        let above = session.parent(id).map(|above| session.node(above));
        !node.flags.is_sidechain && above.is_some_and(|above| above.line > node.line)
    })
}

/// The lines of a conversation that are on the way up from its leaf, or beside
/// it: newer clients find parallel calls by their message, and so find copies
/// of an answer on a branch that was left, too.
fn without_copies(session: &Session, leaf: NodeId, part: &[NodeId]) -> Vec<NodeId> {
    let mut is_meant = vec![false; session.node_count()];
    let mut at = Some(leaf);
    while let Some(id) = at.filter(|id| !std::mem::replace(&mut is_meant[id.index()], true)) {
        at = session.parent(id);
    }
    // Calls follow each other, and results their calls.
    let mut by_line: Vec<NodeId> = part.to_vec();
    by_line.sort_by_key(|id| session.node(*id).line);
    for id in by_line {
        let is_beside = session.parent(id).is_some_and(|above| is_meant[above.index()]);
        is_meant[id.index()] |= is_beside;
    }
    // A way that newer clients mend themselves leads past a gap.
    let has_gap = part.first().is_some_and(|first| !is_meant[first.index()]);
    part.iter().copied().filter(|id| has_gap || is_meant[id.index()]).collect()
}

/// Whether a client does not reach something that was said.
fn loses(session: &Session, reach: &Reach, meant: &[NodeId]) -> bool {
    let mut is_reached = vec![false; session.node_count()];
    for id in &reach.chain {
        is_reached[id.index()] = true;
    }
    meant.iter().any(|id| {
        let node = session.node(*id);
        node.is_spoken() && node.flags.has_content && !is_reached[id.index()]
    })
}

/// Makes a line the newest of the log, and names it at the end.
fn settle(bench: &Bench<'_, '_, '_>, leaf: NodeId) -> Vec<Edit> {
    let session = &bench.now.session;
    let mut edits = Vec::new();
    let others = session.ids().filter(|id| *id != leaf && !session.node(*id).flags.is_sidechain);
    let newest = others.filter_map(|id| session.node(id).time()).max();
    // Of equal times old clients take the first line.
    if let Some(newest) = newest
        && session.node(leaf).time().is_none_or(|own| own <= newest)
        && let Ok(later) = newest.checked_add(SignedDuration::from_millis(1))
    {
        let change = Change::set_string(["timestamp".into()], &format!("{later:.3}"));
        edits.push(Edit::Change(bench.sheet_of(leaf), change));
    }
    let uuid = &session.node(leaf).uuid();
    let prompt = session.meta.last_prompt.as_deref().unwrap_or_default();
    if session.meta.leaf.as_ref() != Some(uuid) {
        let envelope = Envelope::of_session(bench.options.own);
        edits.push(Edit::Append(envelope.meta(&MetaLine::last_prompt(prompt, uuid.clone()))));
    }
    edits
}
