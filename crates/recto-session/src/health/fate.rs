//! What becomes of each line on resume, and whose fault it is.

use recto_log::Kind;

use crate::NameId;
use crate::Node;
use crate::NodeId;
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

/// The fates of the lines of a session, in four bytes each.
#[derive(Debug, Clone)]
pub(super) struct Fates {
    /// Empty as long as nothing is known of any line.
    places: Vec<u32>,
    count: usize,
}

/// A fate that is not known yet.
const UNKNOWN: u32 = u32::MAX;

impl Fates {
    /// Those without a line of their own, from the end of the numbers on.
    const ALONE: [Fate; 6] = [
        Fate::Sent,
        Fate::Compacted,
        Fate::Branch,
        Fate::OtherBeginning,
        Fate::Unsendable,
        Fate::Parallel,
    ];

    fn known(&self, id: NodeId) -> Option<Fate> {
        let known = self.places.get(id.index()).copied().unwrap_or(UNKNOWN);
        match UNKNOWN - known {
            0 => None,
            place if place as usize <= Fates::ALONE.len() => Some(Fates::ALONE[place as usize - 1]),
            _ => Some(Fate::Lost { at: NodeId(known) }),
        }
    }

    fn set(&mut self, id: NodeId, fate: Fate) {
        if self.places.is_empty() {
            self.places = vec![UNKNOWN; self.count];
        }
        let place = Fates::ALONE.iter().position(|alone| *alone == fate);
        self.places[id.index()] = match (place, fate) {
            (Some(place), _) => UNKNOWN - 1 - place as u32,
            (None, Fate::Lost { at }) => at.0,
            (None, _) => UNKNOWN,
        };
    }

    /// What becomes of a line.
    pub(super) fn of(&self, id: NodeId) -> Fate {
        self.known(id).unwrap_or(Fate::Lost { at: id })
    }

    /// All of them, in the order of the lines.
    pub(super) fn iter(&self) -> impl Iterator<Item = Fate> + '_ {
        (0..self.count as u32).map(|at| self.of(NodeId(at)))
    }
}

/// The fate of every line of the chain.
pub(super) fn fates(view: &View<'_>, reach: &Reach) -> Fates {
    let mut fates = direct(view, reach);
    // Of most logs nothing is left to ask for.
    let is_known = |id: NodeId| fates.known(id).is_some();
    if reach.outcome != Outcome::Resumed || view.session.ids().all(is_known) {
        return fates;
    }
    let tops = tops(view, &fates);
    let family = Family::new(view, reach);
    let end = reach.chain.first().map(|top| End::of(view, *top));
    for id in view.session.ids().filter(|id| tops.has(*id)) {
        if fates.known(id).is_some() {
            continue;
        }
        let fate = match tops.get(id) {
            _ if family.has(view, id) => Fate::Parallel,
            Top::Chain => Fate::Branch,
            Top::Orphan(at) => match end {
                // The log begins in the middle of what was compacted.
                Some(End::Boundary(top)) if is_before(view, id, top) => Fate::Compacted,
                Some(End::Boundary(_) | End::Beginning | End::Break(_)) | None => Fate::Lost { at },
            },
            Top::Cycle(at) => Fate::Lost { at },
            Top::Root(root) => other_tree(view, root, id, end),
        };
        fates.set(id, fate);
    }
    fates
}

/// Whether a line can begin a conversation: answers and results follow something.
pub(super) fn can_begin(node: Node<'_>) -> bool {
    node.kind != Kind::Assistant && !node.has_result()
}

/// What the request itself says of a line.
fn direct(view: &View<'_>, reach: &Reach) -> Fates {
    let mut fates = Fates { places: Vec::new(), count: view.session.node_count() };
    for sent in &reach.sent {
        if let Sent::Line(line) = sent {
            fates.set(line.node, Fate::Sent);
        }
    }
    for id in view.session.ids() {
        if fates.known(id).is_some() {
            continue;
        }
        let line = view.session.line(id);
        let at = reach.dropped.partition_point(|dropped| dropped.line < line);
        let reason = reach.dropped.get(at).filter(|dropped| dropped.line == line);
        let fate = match reason.map(|dropped| dropped.reason) {
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
        if let Some(fate) = fate {
            fates.set(id, fate);
        }
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

/// Where the ways up from lines end, in five bytes each.
struct Tops {
    kinds: Vec<u8>,
    lines: Vec<NodeId>,
}

impl Tops {
    const UNKNOWN: u8 = 0;
    const ON_WAY: u8 = 1;

    fn has(&self, id: NodeId) -> bool {
        self.kinds[id.index()] > Tops::ON_WAY
    }

    fn get(&self, id: NodeId) -> Top {
        let line = self.lines[id.index()];
        match self.kinds[id.index()] {
            2 => Top::Root(line),
            3 => Top::Orphan(line),
            4 => Top::Cycle(line),
            _ => Top::Chain,
        }
    }

    fn set(&mut self, id: NodeId, top: Top) {
        (self.kinds[id.index()], self.lines[id.index()]) = match top {
            Top::Root(line) => (2, line),
            Top::Orphan(line) => (3, line),
            Top::Cycle(line) => (4, line),
            Top::Chain => (5, id),
        };
    }
}

fn tops(view: &View<'_>, fates: &Fates) -> Tops {
    let count = view.session.node_count();
    let mut tops = Tops { kinds: vec![Tops::UNKNOWN; count], lines: vec![NodeId(0); count] };
    let mut way = Vec::new();
    for start in view.session.ids() {
        let mut at = start;
        let top = loop {
            if tops.has(at) {
                break tops.get(at);
            }
            if matches!(fates.known(at), Some(Fate::Sent | Fate::Compacted | Fate::Unsendable)) {
                break Top::Chain;
            }
            let kind = &mut tops.kinds[at.index()];
            if std::mem::replace(kind, Tops::ON_WAY) == Tops::ON_WAY {
                break Top::Cycle(at);
            }
            way.push(at);
            match (view.meant_above(at), view.above(at)) {
                (Some(next), _) => at = next,
                (None, Above::Missing) => break Top::Orphan(view.break_at(at)),
                (None, Above::Nothing | Above::Line(_)) => break Top::Root(at),
            }
        };
        tops.set(start, top);
        for id in way.drain(..) {
            tops.set(id, top);
        }
    }
    tops
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
        let is_call = |node: Node<'_>| {
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
