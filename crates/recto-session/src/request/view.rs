//! The lines that a client of a generation has before it.

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::Kind;

use super::Generation;
use crate::Node;
use crate::NodeId;
use crate::Parent;
use crate::Session;

/// What is above a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Above {
    /// Nothing: the line begins a conversation.
    Nothing,
    /// A line.
    Line(NodeId),
    /// A line that the client does not have.
    Missing,
}

/// The lines of a session that a client has, by the rules of its generation.
pub(crate) struct View<'s> {
    pub(crate) session: &'s Session,
    pub(crate) generation: Generation,
    is_there: Vec<bool>,
}

impl<'s> View<'s> {
    /// All that a client reads of a log.
    pub(crate) fn new(session: &'s Session, generation: Generation) -> View<'s> {
        View::of(session, generation, |_| true)
    }

    /// What a client had when it wrote a line: the lines before, and those
    /// after that are not newer than `late`. Lines reach the file late.
    pub(crate) fn before(
        session: &'s Session,
        generation: Generation,
        line: u64,
        late: Option<Timestamp>,
    ) -> View<'s> {
        View::of(session, generation, |node| {
            node.line < line
                || late.is_some_and(|late| node.time().is_some_and(|time| time <= late))
        })
    }

    fn of(session: &'s Session, generation: Generation, keep: impl Fn(&Node) -> bool) -> View<'s> {
        let reads = |node: &Node| reads(session, generation, node) && keep(node);
        View { session, generation, is_there: session.nodes().iter().map(reads).collect() }
    }

    /// Whether the client has the line.
    pub(crate) fn has(&self, id: NodeId) -> bool {
        self.is_there[id.index()]
    }

    /// The lines that the client has.
    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + use<'_, 's> {
        self.session.ids().filter(|id| self.has(*id))
    }

    pub(crate) fn node(&self, id: NodeId) -> &'s Node {
        self.session.node(id)
    }

    /// The line with a uuid, if the client has it.
    pub(crate) fn find(&self, uuid: &EntryUuid) -> Option<NodeId> {
        self.session.find(uuid).filter(|id| self.has(*id))
    }

    /// What a line follows.
    pub(crate) fn above(&self, id: NodeId) -> Above {
        match self.node(id).parent {
            Parent::Root => Above::Nothing,
            Parent::Node(parent) if self.has(parent) => Above::Line(parent),
            Parent::Node(_) | Parent::Missing(_) => Above::Missing,
        }
    }

    /// What a line follows in meaning: across a compaction too.
    pub(crate) fn above_in_meaning(&self, id: NodeId) -> Option<NodeId> {
        match self.above(id) {
            Above::Line(parent) => Some(parent),
            Above::Nothing => self.find(self.node(id).logical_parent.as_ref()?),
            Above::Missing => None,
        }
    }

    /// Whether a system line is where a compaction happened.
    pub(crate) fn is_boundary(&self, id: NodeId) -> bool {
        let node = self.node(id);
        node.kind == Kind::System
            && node.subtype.is_some_and(|name| self.session.name(name) == "compact_boundary")
    }

    /// The children of each line.
    pub(crate) fn children(&self) -> Children {
        let count = self.session.nodes().len();
        let mut starts = vec![0u32; count + 1];
        let parent_of = |id| match self.above(id) {
            Above::Line(parent) => Some(parent),
            Above::Nothing | Above::Missing => None,
        };
        for parent in self.ids().filter_map(parent_of) {
            starts[parent.index() + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut lines = vec![NodeId(0); starts[count] as usize];
        for id in self.ids() {
            if let Some(parent) = parent_of(id) {
                lines[next[parent.index()] as usize] = id;
                next[parent.index()] += 1;
            }
        }
        Children { starts, lines }
    }
}

/// The children of each line, in two flat lists.
pub(crate) struct Children {
    starts: Vec<u32>,
    lines: Vec<NodeId>,
}

impl Children {
    /// The children of a line, in the order of the log.
    pub(crate) fn of(&self, id: NodeId) -> &[NodeId] {
        &self.lines[self.starts[id.index()] as usize..self.starts[id.index() + 1] as usize]
    }
}

/// Whether a client reads a line at all.
fn reads(session: &Session, generation: Generation, node: &Node) -> bool {
    use Generation::*;
    let knows_kind = match generation {
        V2_0_0 | V2_0_76 => node.kind != Kind::Progress,
        V2_1_0 | V2_1_100 | V2_1_200 | V2_1_300 => true,
    };
    // A byte order mark: the oldest lose the line, most take it on line 1 only.
    let takes_mark = match generation {
        V2_0_0 => false,
        V2_1_0 | V2_1_100 => true,
        V2_0_76 | V2_1_200 | V2_1_300 => node.line == 1,
    };
    let stops_at_null = match generation {
        V2_1_0 | V2_1_100 => true,
        V2_0_0 | V2_0_76 | V2_1_200 | V2_1_300 => false,
    };
    let is_after_null =
        stops_at_null && session.first_null_line.is_some_and(|line| node.line > line);
    knows_kind && (takes_mark || !node.flags.has_byte_order_mark) && !is_after_null
}
