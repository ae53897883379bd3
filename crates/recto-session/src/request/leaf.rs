//! Which line a client goes on from.

use recto_log::Kind;

use super::Generation;
use super::view::Above;
use super::view::View;
use crate::NodeId;
use crate::fold::bits::Bits;

/// The line to go on from; `None` if there is no conversation.
pub(super) fn choose_leaf(view: &View<'_>) -> Option<NodeId> {
    match view.generation {
        Generation::V2_0_0 | Generation::V2_0_76 | Generation::V2_1_0 | Generation::V2_1_100 => {
            newest(view)
        }
        Generation::V2_1_200 | Generation::V2_1_300 => {
            // Only a leaf with a time is a conversation to these clients, and none of a
            // subagent.
            named_or_last(view).filter(|leaf| {
                let node = view.node(*leaf);
                node.time().is_some() && !node.flags.is_sidechain
            })
        }
    }
}

/// The last line of the log that is (or is not) of a subagent, which is where
/// a running client stands.
pub(super) fn last_line(view: &View<'_>, of_subagent: bool) -> Option<NodeId> {
    let lines = view.ids().filter(|id| view.node(*id).flags.is_sidechain == of_subagent);
    lines.max_by_key(|id| view.node(*id).line)
}

/// The newest line, wherever it is; the first one of equals.
fn newest(view: &View<'_>) -> Option<NodeId> {
    let needs_time = matches!(view.generation, Generation::V2_0_76 | Generation::V2_1_100);
    let mut best = None;
    for id in view.ids() {
        let node = view.node(id);
        if node.flags.is_sidechain || (needs_time && node.time().is_none()) {
            continue;
        }
        // A line without a time is never newer, and nothing is newer than it.
        let is_newer = match best {
            None => true,
            Some(best) => {
                let old = view.node(best).time();
                node.time().zip(old).is_some_and(|(new, old)| new > old)
            }
        };
        if is_newer {
            best = Some(id);
        }
    }
    best
}

/// The line that the last `last-prompt` names, unless the last line of the log
/// follows it; then, and without a name, the last line.
fn named_or_last(view: &View<'_>) -> Option<NodeId> {
    let mut spoken = SpokenAbove::new(view);
    let last = last_of_conversation(view, &mut spoken)?;
    let named = view.session.meta.leaf.as_ref().and_then(|leaf| view.find(leaf));
    let named = named.filter(|named| spoken.is_above(view, *named));
    match named {
        Some(named) if !is_above(view, named, last) => Some(named),
        Some(_) | None if view.generation == Generation::V2_1_200 => {
            Some(last_attachment_below(view, last))
        }
        Some(_) | None => Some(newest_below(view, last)),
    }
}

/// The last line of the log that belongs to what was said: a line of the client that
/// hangs on nothing is passed over.
fn last_of_conversation(view: &View<'_>, spoken: &mut SpokenAbove) -> Option<NodeId> {
    let is_candidate = |id: &NodeId| !view.node(*id).flags.is_sidechain && !view.is_boundary(*id);
    let last = view.ids().filter(is_candidate).max_by_key(|id| view.node(*id).line)?;
    // This is so in all logs but few, and saves the sorting.
    if spoken.is_above(view, last) {
        return Some(last);
    }
    let mut lines: Vec<NodeId> = view.ids().filter(is_candidate).collect();
    lines.sort_unstable_by_key(|id| view.node(*id).line);
    lines.into_iter().rev().find(|id| spoken.is_above(view, *id))
}

/// Whether somebody speaks on the way up from lines, each of which is passed once.
struct SpokenAbove {
    is_known: Bits,
    speaks: Bits,
}

impl SpokenAbove {
    fn new(view: &View<'_>) -> SpokenAbove {
        let none = Bits::new(view.session.node_count());
        SpokenAbove { is_known: none.clone(), speaks: none }
    }

    fn is_above(&mut self, view: &View<'_>, line: NodeId) -> bool {
        let mut way = Vec::new();
        let mut at = line;
        let speaks = loop {
            // In a ring, a second visit finds nobody who speaks.
            if !self.is_known.add(at) {
                break self.speaks.has(at);
            }
            way.push(at);
            // Older clients stumble over a line without content instead of passing it.
            let is_passed = view.generation == Generation::V2_1_300 && view.lacks_content(at);
            if view.node(at).is_spoken() && !is_passed {
                break true;
            }
            match view.above(at) {
                Above::Line(next) => at = next,
                Above::Nothing | Above::Missing => break false,
            }
        };
        if speaks {
            for id in way {
                self.speaks.add(id);
            }
        }
        speaks
    }
}

/// Whether `top` is `line` or above it.
fn is_above(view: &View<'_>, top: NodeId, line: NodeId) -> bool {
    let mut seen = Bits::new(view.session.node_count());
    let mut at = Some(line);
    while let Some(id) = at {
        if id == top {
            return true;
        }
        if !seen.add(id) {
            return false;
        }
        at = view.above_in_meaning(id);
    }
    false
}

fn has_line_below(view: &View<'_>, top: NodeId) -> bool {
    view.ids().any(|id| view.above(id) == Above::Line(top))
}

/// The newest line below `top`. Only a file that is out of order has any.
fn newest_below(view: &View<'_>, top: NodeId) -> NodeId {
    if !has_line_below(view, top) {
        return top;
    }
    let children = view.children();
    let mut seen = Bits::new(view.session.node_count());
    seen.add(top);
    let mut open = vec![top];
    let mut below = Vec::new();
    while let Some(id) = open.pop() {
        for &child in children.of(id) {
            if seen.add(child) && !view.node(child).flags.is_sidechain {
                open.push(child);
                below.push(child);
            }
        }
    }
    below.sort_unstable_by_key(|id| view.node(*id).line);
    let mut best = top;
    for id in below {
        if view.node(id).time() >= view.node(best).time() {
            best = id;
        }
    }
    best
}

/// The attachments that hang on the last line belong to it. Only a file that
/// is out of order has any.
fn last_attachment_below(view: &View<'_>, top: NodeId) -> NodeId {
    if !has_line_below(view, top) {
        return top;
    }
    let children = view.children();
    let mut seen = Bits::new(view.session.node_count());
    let mut top = top;
    loop {
        seen.add(top);
        let is_next = |id: &&NodeId| view.node(**id).kind == Kind::Attachment && !seen.has(**id);
        match children.of(top).iter().find(is_next) {
            Some(&next) => top = next,
            None => return top,
        }
    }
}
