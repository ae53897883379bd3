//! What becomes of each line on resume, and whose fault it is.

use recto_log::Kind;

use crate::NameId;
use crate::Node;
use crate::NodeId;
use crate::Session;
use crate::fold::hash::IdSet;
use crate::request::DropReason;
use crate::request::Outcome;
use crate::request::Reach;
use crate::request::Sent;
use crate::request::view::Above;
use crate::request::view::View;

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is sent.
    Sent,
    /// A summary stands for it.
    Compacted,
    /// It is on a branch that the user left by rewinding.
    Branch,
    /// It is below another beginning: the user went back to the very start, or
    /// a link was lost without a trace.
    OtherBeginning,
    /// It cannot be sent: an API error, an answer without text, a call that
    /// never had a result, thinking that was cut off.
    Unsendable,
    /// It is one of several calls made at once, or a result of one, which the
    /// client does not find.
    Parallel,
    /// It is lost.
    Lost {
        /// The line at which the way breaks off.
        at: NodeId,
    },
}

/// The fate of every line of the chain.
pub(super) fn fates(session: &Session, reach: &Reach) -> Vec<Fate> {
    let view = View::new(session, reach.generation);
    let known = direct(&view, reach);
    if reach.outcome != Outcome::Resumed {
        let lost = |(at, fate): (usize, Option<Fate>)| {
            fate.unwrap_or(Fate::Lost { at: NodeId(u32::try_from(at).unwrap_or(u32::MAX)) })
        };
        return known.into_iter().enumerate().map(lost).collect();
    }
    let tops = tops(&view, &known);
    let family = Family::new(&view, reach);
    let end = reach.chain.first().map(|top| End::of(&view, *top));
    let fate = |id: NodeId| match known[id.index()] {
        Some(fate) => fate,
        None if family.has(&view, id) => Fate::Parallel,
        None => match tops[id.index()] {
            Top::Chain => Fate::Branch,
            Top::Orphan(at) => match end {
                // The log begins in the middle of what was compacted.
                Some(End::Boundary(top)) if is_before(&view, id, top) => Fate::Compacted,
                Some(End::Boundary(_) | End::Beginning | End::Break(_)) | None => Fate::Lost { at },
            },
            Top::Cycle(at) => Fate::Lost { at },
            Top::Root(root) => other_tree(&view, root, id, end),
        },
    };
    session.ids().map(fate).collect()
}

/// Whether a line can begin a conversation: answers and results follow something.
pub(super) fn can_begin(node: &Node) -> bool {
    node.kind != Kind::Assistant && !node.has_result()
}

/// What the request itself says of a line.
fn direct(view: &View<'_>, reach: &Reach) -> Vec<Option<Fate>> {
    let mut fates = vec![None; view.session.nodes().len()];
    for sent in &reach.sent {
        if let Sent::Line(line) = sent {
            fates[line.node.index()] = Some(Fate::Sent);
        }
    }
    for id in view.session.ids() {
        if fates[id.index()].is_some() {
            continue;
        }
        let line = view.node(id).line;
        let at = reach.dropped.partition_point(|dropped| dropped.line < line);
        let reason = reach.dropped.get(at).filter(|dropped| dropped.line == line);
        fates[id.index()] = match reason.map(|dropped| dropped.reason) {
            Some(DropReason::BeforeCompaction) => Some(Fate::Compacted),
            Some(
                DropReason::ApiError
                | DropReason::BlankAnswer
                | DropReason::OrphanThinking
                | DropReason::ForeignThinking
                | DropReason::CallWithoutResult,
            ) => Some(Fate::Unsendable),
            Some(DropReason::NoContent | DropReason::NotRead) => Some(Fate::Lost { at: id }),
            Some(
                DropReason::Damaged
                | DropReason::NoUuid
                | DropReason::RepeatedUuid
                | DropReason::NotReached
                | DropReason::NotForModel,
            )
            | None => None,
        };
    }
    fates
}

/// Where the way up from a line ends.
#[derive(Clone, Copy)]
enum Top {
    /// At a line whose fate is known: the conversation or what was before it.
    Chain,
    /// At a beginning.
    Root(NodeId),
    /// Below a line that is not there.
    Orphan(NodeId),
    /// In a cycle.
    Cycle(NodeId),
}

fn tops(view: &View<'_>, known: &[Option<Fate>]) -> Vec<Top> {
    let count = known.len();
    let mut tops: Vec<Option<Top>> = vec![None; count];
    let mut on_way = vec![false; count];
    let mut way = Vec::new();
    for start in view.session.ids() {
        let mut at = start;
        let top = loop {
            if let Some(top) = tops[at.index()] {
                break top;
            }
            if matches!(known[at.index()], Some(Fate::Sent | Fate::Compacted | Fate::Unsendable)) {
                break Top::Chain;
            }
            if std::mem::replace(&mut on_way[at.index()], true) {
                break Top::Cycle(at);
            }
            way.push(at);
            match (view.meant_above(at), view.above(at)) {
                (Some(next), _) => at = next,
                (None, Above::Missing) => break Top::Orphan(view.break_at(at)),
                (None, Above::Nothing | Above::Line(_)) => break Top::Root(at),
            }
        };
        tops[start.index()] = Some(top);
        for id in way.drain(..) {
            tops[id.index()] = Some(top);
        }
    }
    tops.into_iter().map(|top| top.unwrap_or(Top::Chain)).collect()
}

/// How the chain begins.
#[derive(Clone, Copy)]
enum End {
    /// As it should.
    Beginning,
    /// At a compaction.
    Boundary(NodeId),
    /// Where it should not.
    Break(NodeId),
}

impl End {
    fn of(view: &View<'_>, top: NodeId) -> End {
        match view.above(top) {
            Above::Nothing if view.is_boundary(top) => End::Boundary(top),
            Above::Nothing if can_begin(view.node(top)) => End::Beginning,
            Above::Nothing | Above::Missing | Above::Line(_) => End::Break(view.break_at(top)),
        }
    }
}

/// Whether a line stands before another in the log.
fn is_before(view: &View<'_>, id: NodeId, other: NodeId) -> bool {
    view.node(id).line < view.node(other).line
}

/// A line in a tree of its own.
fn other_tree(view: &View<'_>, root: NodeId, id: NodeId, end: Option<End>) -> Fate {
    match end {
        Some(End::Boundary(top)) if is_before(view, id, top) => Fate::Compacted,
        Some(End::Break(top)) if is_before(view, id, top) => Fate::Lost { at: top },
        _ if !can_begin(view.node(root)) => Fate::Lost { at: root },
        _ => Fate::OtherBeginning,
    }
}

/// The messages of the chain.
struct Family {
    messages: IdSet<NameId>,
}

impl Family {
    fn new(view: &View<'_>, reach: &Reach) -> Family {
        let message = |id: &NodeId| view.node(*id).message;
        Family { messages: reach.chain.iter().filter_map(message).collect() }
    }

    /// Whether a line is a call of one of the messages, or the result of one.
    fn has(&self, view: &View<'_>, id: NodeId) -> bool {
        let is_call = |node: &Node| {
            node.kind == Kind::Assistant
                && node.message.is_some_and(|message| self.messages.contains(&message))
        };
        let node = view.node(id);
        match view.above(id) {
            Above::Line(parent) if node.has_result() => is_call(view.node(parent)),
            Above::Line(_) | Above::Nothing | Above::Missing => is_call(node),
        }
    }
}
