//! How the lines of the chain are kept: in rows, and what few lines have beside them.
//!
//! A log of five million lines must fit into memory, so a line is kept in pieces. Numbers
//! that grow from line to line are kept as what they are after those of the row's first line;
//! what few lines have (a model, several blocks, a size of megabytes) is in lists beside.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::UserText;

use crate::BlockFact;
use crate::BlockFacts;
use crate::Flags;
use crate::NameId;
use crate::Node;
use crate::NodeId;
use crate::Parent;
use crate::fold::hash::IdMap;
use crate::fold::hash::Places;
use crate::fold::node::Few;
use crate::fold::node::LineUuid;
use crate::fold::node::Moment;
use crate::fold::row::Marks;
use crate::fold::row::Packed;
use crate::fold::row::ROW;
use crate::fold::row::Row;
use crate::fold::row::Shape;
use crate::fold::row::Small;
use crate::fold::row::Wide;

/// No line, as a place.
const NOTHING: u32 = u32::MAX;

/// A place that is one of [`crate::Session::missing_uuid`].
const IS_MISSING: u32 = 1 << 31;

/// The lines of the chain.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nodes {
    rows: Vec<Row>,
    by_uuid: Places,
    /// Uuids in no usual spelling.
    texts: Vec<EntryUuid>,
    sides: Vec<Side>,
    blocks: Vec<BlockFact>,
    /// Lines whose numbers do not fit into a [`Packed`].
    wide: IdMap<u32, Wide>,
    /// What lines follow in meaning.
    logical: IdMap<u32, EntryUuid>,
}

/// Names and blocks of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Side {
    subtype: Option<NameId>,
    message: Option<NameId>,
    model: Option<NameId>,
    first_block: u32,
    blocks: u32,
}

/// A line as it is taken in.
#[derive(Debug, Clone)]
pub(crate) struct NewNode {
    pub(crate) uuid: EntryUuid,
    pub(crate) parent: Parent,
    pub(crate) logical_parent: Option<EntryUuid>,
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) content_bytes: u32,
    pub(crate) kind: Kind,
    pub(crate) subtype: Option<NameId>,
    pub(crate) user: UserText,
    pub(crate) time: Moment,
    pub(crate) message: Option<NameId>,
    pub(crate) model: Option<NameId>,
    pub(crate) flags: Flags,
    pub(crate) blocks: Few,
}

impl Nodes {
    pub(crate) fn len(&self) -> usize {
        match self.rows.last() {
            Some(last) => (self.rows.len() - 1) * ROW + last.len(),
            None => 0,
        }
    }

    /// The line with a uuid.
    pub(crate) fn find(&self, uuid: &EntryUuid) -> Option<NodeId> {
        self.by_uuid.find(uuid, |at| self.uuid(NodeId(at)).is(uuid)).map(NodeId)
    }

    /// What a line follows.
    #[inline]
    pub(crate) fn parent(&self, id: NodeId) -> Parent {
        {
            let (row, start, at) = self.row(id);
            parent_at(row.parent(start, at))
        }
    }

    pub(crate) fn set_parent(&mut self, id: NodeId, parent: Parent) {
        let (start, at) = place_in_row(id);
        self.rows[id.index() / ROW].set_parent(start, at, place_of(parent));
    }

    /// Makes a line one of a subagent.
    pub(crate) fn set_sidechain(&mut self, id: NodeId) {
        let packed = self.packed_mut(id);
        let shape = &mut packed.shape;
        shape.marks.0 |= Marks::of(Flags { is_sidechain: true, ..Flags::default() }).0;
        if shape.user == UserText::Human {
            shape.user = UserText::AgentTask;
        }
    }

    /// Whether the last line has a uuid.
    pub(crate) fn last_is(&self, uuid: &EntryUuid) -> Option<NodeId> {
        let last = NodeId(u32::try_from(self.len().checked_sub(1)?).ok()?);
        self.uuid(last).is(uuid).then_some(last)
    }

    /// Adds a line whose uuid is new.
    pub(crate) fn add(&mut self, new: NewNode) -> NodeId {
        let id = NodeId(u32::try_from(self.len()).unwrap_or(u32::MAX));
        let is_full = |row: &Row| row.len() == ROW;
        if self.rows.last().is_none_or(is_full) {
            if let Some(full) = self.rows.last_mut() {
                full.seal(id.0 - ROW as u32);
            }
            self.rows.push(Row::new(new.wide()));
        }
        let uuid = new.uuid.clone();
        let packed = self.pack(id, new);
        if let Some(row) = self.rows.last_mut() {
            row.push(packed);
        }
        let mut by_uuid = std::mem::take(&mut self.by_uuid);
        by_uuid.add(&uuid, id.0, |hashes, at| self.uuid(NodeId(at)).hash_with(hashes));
        self.by_uuid = by_uuid;
        id
    }

    /// Puts a line in place of one with the same uuid.
    pub(crate) fn replace(&mut self, id: NodeId, new: NewNode) {
        let packed = self.pack(id, new);
        *self.packed_mut(id) = packed;
    }

    fn pack(&mut self, id: NodeId, new: NewNode) -> Packed {
        let mut marks = Marks::of(new.flags);
        let uuid = match new.uuid.bits() {
            Some(bits) => [0, 32, 64, 96].map(|shift| (bits >> shift) as u32),
            None => {
                marks.0 |= Marks::TEXT;
                self.texts.push(new.uuid.clone());
                [u32::try_from(self.texts.len() - 1).unwrap_or(u32::MAX), 0, 0, 0]
            }
        };
        let wide = new.wide();
        let first = &self.rows[id.index() / ROW].first;
        let numbers = wide.after(first).unwrap_or_else(|| {
            marks.0 |= Marks::WIDE;
            self.wide.insert(id.0, wide);
            Small::default()
        });
        if let Some(logical) = new.logical_parent {
            marks.0 |= Marks::LOGICAL;
            self.logical.insert(id.0, logical);
        }
        let side = Side {
            subtype: new.subtype,
            message: new.message,
            model: new.model,
            first_block: 0,
            blocks: new.blocks.len() as u32,
        };
        Packed {
            uuid,
            parent: place_of(new.parent),
            side: self.side_of(side, &new.blocks),
            shape: Shape { marks, kind: new.kind, user: new.user },
            numbers,
        }
    }

    /// Where names and blocks are kept. Lines that follow each other often have the same.
    fn side_of(&mut self, mut side: Side, blocks: &[BlockFact]) -> u32 {
        if side == Side::default() {
            return 0;
        }
        if let Some(last) = self.sides.last() {
            let first = last.first_block as usize;
            let same = self.blocks.get(first..first + last.blocks as usize);
            if same.is_some_and(|same| same == blocks) {
                side.first_block = last.first_block;
            } else {
                side.first_block = self.blocks.len() as u32;
                self.blocks.extend_from_slice(blocks);
            }
            if side == *last {
                return self.sides.len() as u32;
            }
        } else {
            self.blocks.extend_from_slice(blocks);
        }
        self.sides.push(side);
        self.sides.len() as u32
    }

    /// The row of a line, the number of the row's first line, and the place in the row.
    #[inline]
    fn row(&self, id: NodeId) -> (&Row, u32, usize) {
        let (start, at) = place_in_row(id);
        (&self.rows[id.index() / ROW], start, at)
    }

    fn packed_mut(&mut self, id: NodeId) -> &mut Packed {
        let (start, at) = place_in_row(id);
        self.rows[id.index() / ROW].get_mut(start, at)
    }

    fn uuid(&self, id: NodeId) -> LineUuid<'_> {
        let (row, _, at) = self.row(id);
        let (marks, uuid) = row.uuid(at);
        self.uuid_of(marks, uuid)
    }

    #[inline]
    fn uuid_of(&self, marks: Marks, uuid: [u32; 4]) -> LineUuid<'_> {
        if marks.has(Marks::TEXT)
            && let Some(text) = self.texts.get(uuid[0] as usize)
        {
            return LineUuid::Text(text);
        }
        LineUuid::Bits(uuid)
    }

    /// What kind of line one is.
    #[inline]
    pub(crate) fn kind(&self, id: NodeId) -> Kind {
        let (row, _, at) = self.row(id);
        row.kind(at)
    }

    /// The number of a line.
    #[inline]
    pub(crate) fn line(&self, id: NodeId) -> u64 {
        self.get(id).line
    }

    /// A line.
    #[inline]
    pub(crate) fn get(&self, id: NodeId) -> Node<'_> {
        let (row, start, at) = self.row(id);
        let packed = row.get(start, at);
        let Shape { marks, kind, user } = packed.shape;
        let side = match packed.side.checked_sub(1) {
            Some(side) => self.sides.get(side as usize).copied().unwrap_or_default(),
            None => Side::default(),
        };
        let wide = match marks.has(Marks::WIDE) {
            true => self.wide.get(&id.0).copied(),
            false => None,
        };
        let wide = wide.unwrap_or_else(|| packed.numbers.wide(&row.first));
        let first = side.first_block as usize;
        let blocks = self.blocks.get(first..first + side.blocks as usize).unwrap_or_default();
        Node {
            uuid: self.uuid_of(marks, packed.uuid),
            parent: parent_at(packed.parent),
            logical_parent: match marks.has(Marks::LOGICAL) {
                true => self.logical.get(&id.0),
                false => None,
            },
            line: wide.line,
            offset: wide.offset,
            length: wide.length,
            content_bytes: wide.content_bytes,
            kind,
            subtype: side.subtype,
            user,
            time: wide.time,
            message: side.message,
            model: side.model,
            flags: marks.flags(),
            blocks: BlockFacts(blocks),
        }
    }
}

impl NewNode {
    fn wide(&self) -> Wide {
        Wide {
            line: self.line,
            offset: self.offset,
            time: self.time,
            length: self.length,
            content_bytes: self.content_bytes,
        }
    }
}

/// The number of the first line of the row that a line is in, and the line's place in it.
#[inline]
fn place_in_row(id: NodeId) -> (u32, usize) {
    let at = id.0 % ROW as u32;
    (id.0 - at, at as usize)
}

#[inline]
fn parent_at(place: u32) -> Parent {
    match place {
        NOTHING => Parent::Root,
        place if place & IS_MISSING != 0 => Parent::Missing(place & !IS_MISSING),
        place => Parent::Node(NodeId(place)),
    }
}

fn place_of(parent: Parent) -> u32 {
    match parent {
        Parent::Root => NOTHING,
        Parent::Node(id) => id.0,
        Parent::Missing(place) => place | IS_MISSING,
    }
}

impl LineUuid<'_> {
    fn hash_with(self, hashes: &RandomState) -> u64 {
        match self {
            LineUuid::Text(text) => hashes.hash_one(text),
            LineUuid::Bits(_) => hashes.hash_one(self.owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(uuid: &str) -> NewNode {
        NewNode {
            uuid: EntryUuid::new(uuid),
            parent: Parent::Root,
            logical_parent: None,
            line: 1,
            offset: 0,
            length: 10,
            content_bytes: 3,
            kind: Kind::User,
            subtype: None,
            user: UserText::Human,
            time: Moment::NONE,
            message: None,
            model: None,
            flags: Flags::default(),
            blocks: Few::default(),
        }
    }

    #[test]
    fn a_line_takes_44_bytes() {
        assert_eq!(size_of::<Packed>(), 44);
    }

    #[test]
    fn numbers_of_any_size_come_back() {
        let numbers =
            [0u64, 1, 65_535, 65_536, 1 << 24, u64::from(u32::MAX), 1 << 32, u64::MAX / 2];
        let mut nodes = Nodes::default();
        let mut given = Vec::new();
        for (at, &number) in numbers.iter().cycle().take(ROW + 20).enumerate() {
            let short = u32::try_from(number).unwrap_or(u32::MAX);
            let time = match at % 3 {
                0 => Moment::NONE,
                _ => Moment::at(number.cast_signed() - 5),
            };
            let new = NewNode {
                line: number,
                offset: number / 2,
                length: short,
                content_bytes: short / 3,
                time,
                ..line(&at.to_string())
            };
            given.push(new.clone());
            nodes.add(new);
        }
        assert_eq!(nodes.len(), given.len());
        for (at, new) in given.iter().enumerate() {
            let node = nodes.get(NodeId(at as u32));
            let numbers = (node.line, node.offset, node.length, node.content_bytes, node.time);
            let expected = (new.line, new.offset, new.length, new.content_bytes, new.time);
            assert_eq!(numbers, expected, "{at}");
            assert_eq!(nodes.find(&new.uuid), Some(NodeId(at as u32)));
        }
    }

    #[test]
    fn every_flag_comes_back_and_no_other() {
        for bit in 0..13 {
            let flags = Marks(1 << bit).flags();
            assert_eq!(Marks::of(flags), Marks(1 << bit));
            assert_ne!(flags, Flags::default());
        }
    }

    #[test]
    fn names_and_blocks_are_those_of_the_line() {
        let mut names = crate::Names::default();
        let (one, two) = (names.add("one"), names.add("two"));
        let text = BlockFact::Text { is_blank: false };
        let call = BlockFact::ToolUse { id: one, name: two };
        let blocks = [&[][..], &[text], &[text], &[call], &[text, call], &[], &[call, call, text]];
        let mut nodes = Nodes::default();
        for (at, blocks) in blocks.iter().enumerate() {
            let blocks = blocks.iter().copied().collect();
            let model = (at % 2 == 0).then_some(one);
            nodes.add(NewNode { blocks, model, message: Some(two), ..line(&at.to_string()) });
        }
        for (at, blocks) in blocks.iter().enumerate() {
            let node = nodes.get(NodeId(at as u32));
            assert_eq!(*node.blocks, **blocks);
            assert_eq!(node.model, (at % 2 == 0).then_some(one));
            assert_eq!(node.message, Some(two));
        }
        nodes.replace(NodeId(3), line("3"));
        assert!(nodes.get(NodeId(3)).blocks.is_empty());
        assert_eq!(nodes.get(NodeId(2)).blocks.len(), 1);
    }
}
