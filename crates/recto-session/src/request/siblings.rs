//! Parallel calls: lines beside the chain that belong to a message in it.
//!
//! A client writes the calls of one message as lines that follow each other,
//! and each result below its call. The walk from the leaf sees one result and
//! the calls above it; the others are found again by `message.id`.

use recto_log::Kind;

use super::Generation;
use super::view::Above;
use super::view::View;
use crate::NameId;
use crate::NodeId;
use crate::fold::bits::Bits;
use crate::fold::hash::IdMap;

/// No place in the chain.
const OUTSIDE: u32 = u32::MAX;

/// Adds the calls and results that the walk did not pass.
pub(super) fn recover_siblings(view: &View<'_>, chain: Vec<NodeId>) -> Vec<NodeId> {
    if view.generation < Generation::V2_1_100 {
        return chain;
    }
    let messages = messages_of(view, &chain);
    if messages.is_empty() {
        return chain;
    }
    let family = view.family();
    let count = view.session.node_count();
    let mut place = vec![OUTSIDE; count];
    for (at, id) in (0u32..).zip(&chain) {
        place[id.index()] = at;
    }
    let mut is_inside = Bits::of(count, &chain);
    let mut is_moved = Bits::new(count);
    let mut earlier: IdMap<u32, Vec<NodeId>> = IdMap::default();
    let mut extra: IdMap<u32, Vec<NodeId>> = IdMap::default();
    // Newer clients put calls where they are in the file, and gather all results
    // below the message; older ones put calls last, and results that were not in the
    // chain before those that were.
    let gathers = view.generation == Generation::V2_1_300;
    for message in &messages {
        let lines = family.lines_of(message.name);
        let mut added = Vec::new();
        let mut results = Vec::new();
        let mut next = None;
        for &call in lines.iter().rev() {
            let at = place[call.index()];
            match next {
                // The line that the walk met first stays in front of those that are found.
                _ if at == message.first => {}
                _ if at != OUTSIDE => next = Some(at),
                Some(next) if gathers => earlier.entry(next).or_default().push(call),
                Some(_) | None => added.push(call),
            }
            is_inside.add(call);
        }
        added.reverse();
        for &call in lines {
            results.extend_from_slice(family.results_of(call));
        }
        let is_whole = lines.iter().chain(&results).all(|id| place[id.index()] != OUTSIDE);
        if is_whole {
            continue;
        }
        // A result that is found goes before the next one of the file, or behind the message.
        let stays = |id: &NodeId| place[id.index()] <= message.last;
        results.retain(|id| !is_inside.has(*id) || (gathers && place[id.index()] != OUTSIDE));
        results.sort_by_key(|id| order(view, *id));
        let mut next = None;
        let mut behind = Vec::new();
        for result in results.into_iter().rev() {
            match next {
                _ if stays(&result) => next = Some(place[result.index()]),
                Some(next) if gathers => {
                    is_inside.add(result);
                    is_moved.add(result);
                    earlier.entry(next).or_default().push(result);
                }
                Some(_) | None => behind.push(result),
            }
        }
        behind.reverse();
        let mut results = behind;
        for result in &results {
            is_inside.add(*result);
            is_moved.add(*result);
        }
        added.append(&mut results);
        extra.insert(message.last, added);
    }
    let mut whole = Vec::with_capacity(chain.len());
    for (at, id) in (0u32..).zip(chain) {
        whole.extend(earlier.remove(&at).into_iter().flatten().rev());
        if !is_moved.has(id) {
            whole.push(id);
        }
        whole.extend(extra.remove(&at).into_iter().flatten());
    }
    whole
}

/// A message of the chain.
struct Message {
    /// The places of its first and last line in the chain.
    first: u32,
    last: u32,
    name: NameId,
}

fn messages_of(view: &View<'_>, chain: &[NodeId]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut by_name: IdMap<NameId, usize> = IdMap::default();
    for (last, id) in (0u32..).zip(chain) {
        if view.session.kind(*id) != Kind::Assistant {
            continue;
        }
        let Some(name) = view.node(*id).message else { continue };
        match by_name.get(&name) {
            Some(known) => messages[*known].last = last,
            None => {
                by_name.insert(name, messages.len());
                messages.push(Message { first: last, last, name });
            }
        }
    }
    messages
}

/// Which lines belong together, wherever they hang.
pub(super) struct Family {
    /// The lines of each message.
    lines: IdMap<NameId, Vec<NodeId>>,
    /// Lines with results, by the line that they follow.
    results: IdMap<NodeId, Vec<NodeId>>,
}

impl Family {
    pub(super) fn new(view: &View<'_>) -> Family {
        let mut lines: IdMap<NameId, Vec<NodeId>> = IdMap::default();
        let mut results: IdMap<NodeId, Vec<NodeId>> = IdMap::default();
        for id in view.ids() {
            match view.session.kind(id) {
                Kind::Assistant => {
                    if let Some(name) = view.node(id).message {
                        lines.entry(name).or_default().push(id);
                    }
                }
                Kind::User if view.node(id).has_result() => {
                    if let Above::Line(parent) = view.above(id) {
                        results.entry(parent).or_default().push(id);
                    }
                }
                _ => {}
            }
        }
        for lines in lines.values_mut().chain(results.values_mut()) {
            lines.sort_by_key(|id| order(view, *id));
        }
        Family { lines, results }
    }

    fn lines_of(&self, message: NameId) -> &[NodeId] {
        self.lines.get(&message).map_or(&[], |lines| lines)
    }

    fn results_of(&self, call: NodeId) -> &[NodeId] {
        self.results.get(&call).map_or(&[], |results| results)
    }
}

/// In the order of the file; older clients sort by time first.
fn order(view: &View<'_>, id: NodeId) -> (Option<i64>, u64) {
    let node = view.node(id);
    let time = match view.generation {
        Generation::V2_1_300 => None,
        _ => node.time().map(|time| time.as_millisecond()),
    };
    (time, node.line)
}
