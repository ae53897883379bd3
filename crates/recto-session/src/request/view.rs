//! The lines that a client of a generation has before it.

use std::cell::OnceCell;
use std::cell::RefCell;

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::Kind;

use super::Generation;
use super::siblings::Family;
use crate::Node;
use crate::NodeId;
use crate::Parent;
use crate::Session;
use crate::fold::bits::Bits;
use crate::fold::hash::IdMap;

/// How many bytes an array without anything in it takes.
const EMPTY_ARRAY: u32 = 2;

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
    /// The lines that the client does not have; most logs have none of them.
    is_absent: Option<Bits>,
    /// What is above each line, where the client looks through some of them.
    above: Option<AllAbove>,
    /// Which lines belong together, once somebody asks.
    family: OnceCell<Family>,
    /// Lines with broken links, by lines for which they were asked for.
    breaks: RefCell<IdMap<NodeId, NodeId>>,
}

/// What is above each line, in four bytes each.
struct AllAbove(Vec<u32>);

impl AllAbove {
    const NOTHING: u32 = u32::MAX;
    const MISSING: u32 = u32::MAX - 1;

    fn get(&self, id: NodeId) -> Above {
        match self.0[id.index()] {
            AllAbove::NOTHING => Above::Nothing,
            AllAbove::MISSING => Above::Missing,
            line => Above::Line(NodeId(line)),
        }
    }

    fn place(above: Above) -> u32 {
        match above {
            Above::Nothing => AllAbove::NOTHING,
            Above::Missing => AllAbove::MISSING,
            Above::Line(id) => id.0,
        }
    }
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

    fn of(
        session: &'s Session,
        generation: Generation,
        keep: impl Fn(Node<'_>) -> bool,
    ) -> View<'s> {
        let reads = |node: Node<'_>| reads(session, generation, node) && keep(node);
        let mut is_absent: Option<Bits> = None;
        for (id, node) in session.ids().zip(session.nodes()) {
            if !reads(node) {
                is_absent.get_or_insert_with(|| Bits::new(session.node_count())).add(id);
            }
        }
        let mut view = View {
            session,
            generation,
            is_absent,
            above: None,
            family: OnceCell::new(),
            breaks: RefCell::default(),
        };
        if session.counts.of_kind(Kind::Progress) > 0 && looks_through(generation, Kind::Progress) {
            view.above = Some(above_all(&view));
        }
        view
    }

    /// Which lines belong together.
    pub(super) fn family(&self) -> &Family {
        self.family.get_or_init(|| Family::new(self))
    }

    /// Whether the client has the line.
    pub(crate) fn has(&self, id: NodeId) -> bool {
        self.is_absent.as_ref().is_none_or(|is_absent| !is_absent.has(id))
    }

    /// The lines that the client has.
    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + use<'_, 's> {
        self.session.ids().filter(|id| self.has(*id))
    }

    pub(crate) fn node(&self, id: NodeId) -> Node<'s> {
        self.session.node(id)
    }

    /// The line with a uuid, if the client has it.
    pub(crate) fn find(&self, uuid: &EntryUuid) -> Option<NodeId> {
        self.session.find(uuid).filter(|id| self.has(*id))
    }

    /// What a line follows.
    pub(crate) fn above(&self, id: NodeId) -> Above {
        match &self.above {
            Some(above) => above.get(id),
            None => self.named_above(id),
        }
    }

    /// What a line names as what it follows.
    fn named_above(&self, id: NodeId) -> Above {
        match self.session.link(id) {
            Parent::Root => Above::Nothing,
            Parent::Node(parent) if self.has(parent) || self.looks_through(parent) => {
                Above::Line(parent)
            }
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

    /// What a line follows in meaning, for those who tell what became of lines: also where
    /// a compaction names a progress line that the client looks through.
    pub(crate) fn meant_above(&self, id: NodeId) -> Option<NodeId> {
        self.above_in_meaning(id).or_else(|| {
            let named = self.session.find(self.node(id).logical_parent.as_ref()?)?;
            match self.above(named) {
                Above::Line(above) if self.looks_through(named) => Some(above),
                Above::Line(_) | Above::Nothing | Above::Missing => None,
            }
        })
    }

    /// The line with the broken link, of a line above which nothing is found: itself, or
    /// the progress above it that the client looks through.
    pub(crate) fn break_at(&self, id: NodeId) -> NodeId {
        let mut known = self.breaks.borrow_mut();
        let mut way = Vec::new();
        let mut at = id;
        // Many lines may hang on a long row of progress, which is passed once.
        for _ in self.session.nodes() {
            if let Some(end) = known.get(&at) {
                at = *end;
                break;
            }
            match self.session.link(at) {
                Parent::Node(above) if self.looks_through(above) => {
                    way.push(at);
                    at = above;
                }
                Parent::Node(_) | Parent::Missing(_) | Parent::Root => break,
            }
        }
        known.extend(way.into_iter().map(|id| (id, at)));
        at
    }

    /// Whether a system line is where a compaction happened.
    pub(crate) fn is_boundary(&self, id: NodeId) -> bool {
        let is_named = |name| self.session.name(name) == "compact_boundary";
        self.session.kind(id) == Kind::System && self.node(id).subtype.is_some_and(is_named)
    }

    /// Whether the client looks through a line: what is below it follows what it follows.
    pub(crate) fn looks_through(&self, id: NodeId) -> bool {
        looks_through(self.generation, self.session.kind(id))
    }

    /// Whether a line that should say something does not: it has no message, or, to the
    /// newest clients, one of no blocks at all.
    pub(crate) fn lacks_content(&self, id: NodeId) -> bool {
        let node = self.node(id);
        let has_blocks = node.flags.is_string
            || !node.blocks.is_empty()
            || node.content_bytes <= EMPTY_ARRAY
            || self.generation < Generation::V2_1_300;
        node.is_spoken() && !(node.flags.has_content && has_blocks)
    }

    /// The children of each line.
    pub(crate) fn children(&self) -> Children {
        let count = self.session.node_count();
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
        // Each start moves on as lines are put there, and is then that of the next line.
        let mut lines = vec![NodeId(0); starts[count] as usize];
        for id in self.ids() {
            if let Some(parent) = parent_of(id) {
                lines[starts[parent.index()] as usize] = id;
                starts[parent.index()] += 1;
            }
        }
        Children { ends: starts, lines }
    }
}

/// The children of each line, in two flat lists.
pub(crate) struct Children {
    ends: Vec<u32>,
    lines: Vec<NodeId>,
}

impl Children {
    /// The children of a line, in the order of the log.
    pub(crate) fn of(&self, id: NodeId) -> &[NodeId] {
        let start = id.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.lines[start as usize..self.ends[id.index()] as usize]
    }
}

/// What is above each line. From 2.1.100, a line below progress follows what the
/// progress follows.
fn above_all(view: &View<'_>) -> AllAbove {
    let (session, generation) = (view.session, view.generation);
    let named = session.ids().map(|id| AllAbove::place(view.named_above(id)));
    let mut above = AllAbove(named.collect());
    for id in session.ids() {
        pass_progress(session, generation, &mut above, id);
    }
    above
}

fn looks_through(generation: Generation, kind: Kind) -> bool {
    generation >= Generation::V2_1_100 && kind == Kind::Progress
}

/// Puts what is above a row of progress lines above the line below them, and above
/// each of them, so that no row is passed twice. A ring of progress ends nowhere.
fn pass_progress(session: &Session, generation: Generation, above: &mut AllAbove, id: NodeId) {
    let is_progress = |above| match above {
        Above::Line(next) => looks_through(generation, session.kind(next)),
        Above::Nothing | Above::Missing => false,
    };
    if !is_progress(above.get(id)) {
        return;
    }
    let mut row = vec![id];
    let end = loop {
        match above.get(row[row.len() - 1]) {
            Above::Line(next) if looks_through(generation, session.kind(next)) => {
                if row.len() > above.0.len() {
                    break Above::Missing;
                }
                row.push(next);
            }
            end => break end,
        }
    };
    for id in row {
        above.0[id.index()] = AllAbove::place(end);
    }
}

/// Whether a client reads a line at all.
fn reads(session: &Session, generation: Generation, node: Node<'_>) -> bool {
    use Generation::*;
    // Only one generation has progress in its chain. The oldest lose what hangs on
    // it; newer ones look through it.
    let knows_kind = generation == V2_1_0 || node.kind != Kind::Progress;
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
