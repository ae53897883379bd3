//! How the lines of the chain are kept: 44 bytes each.
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

/// So many lines are kept in a row: a list that grows by doubling would take twice the memory.
const ROW: usize = 1024;

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

/// Some lines, and the numbers of the first of them.
#[derive(Debug, Clone)]
struct Row {
    first: Wide,
    lines: Vec<Packed>,
}

/// A line, without what few lines have.
#[derive(Debug, Clone, Copy)]
struct Packed {
    /// The uuid, or a place in the list of texts.
    uuid: [u32; 4],
    parent: u32,
    /// After that of the row.
    offset: u32,
    /// In milliseconds, after that of the row.
    time: i32,
    /// A place in the list, from 1; 0 for a line without any of it.
    side: u32,
    /// After that of the row.
    line: u16,
    marks: Marks,
    length: [u8; 3],
    content_bytes: [u8; 3],
    kind: Kind,
    user: UserText,
}

/// The numbers of a line.
#[derive(Debug, Clone, Copy)]
struct Wide {
    line: u64,
    offset: u64,
    time: Moment,
    length: u32,
    content_bytes: u32,
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

/// Yes-or-no facts in two bytes, from the first bit on in the order of [`Flags`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks(u16);

impl Marks {
    /// Its uuid is a text.
    const TEXT: u16 = 1 << 13;
    /// Its numbers are in the list of such lines.
    const WIDE: u16 = 1 << 14;
    /// It follows something in meaning.
    const LOGICAL: u16 = 1 << 15;

    fn of(flags: Flags) -> Marks {
        let Flags {
            is_sidechain,
            is_meta,
            is_compact_summary,
            is_api_error,
            is_synthetic,
            is_aborted,
            is_string,
            has_message,
            has_content,
            is_display_only,
            has_byte_order_mark,
            is_broken_text,
            asks_nothing,
        } = flags;
        let all = [
            is_sidechain,
            is_meta,
            is_compact_summary,
            is_api_error,
            is_synthetic,
            is_aborted,
            is_string,
            has_message,
            has_content,
            is_display_only,
            has_byte_order_mark,
            is_broken_text,
            asks_nothing,
        ];
        Marks(all.iter().rev().fold(0, |marks, is| (marks << 1) | u16::from(*is)))
    }

    fn has(self, mark: u16) -> bool {
        self.0 & mark != 0
    }

    fn flags(self) -> Flags {
        let is = |place: u16| self.has(1 << place);
        Flags {
            is_sidechain: is(0),
            is_meta: is(1),
            is_compact_summary: is(2),
            is_api_error: is(3),
            is_synthetic: is(4),
            is_aborted: is(5),
            is_string: is(6),
            has_message: is(7),
            has_content: is(8),
            is_display_only: is(9),
            has_byte_order_mark: is(10),
            is_broken_text: is(11),
            asks_nothing: is(12),
        }
    }
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
            Some(last) => (self.rows.len() - 1) * ROW + last.lines.len(),
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
        parent_at(self.packed(id).parent)
    }

    pub(crate) fn set_parent(&mut self, id: NodeId, parent: Parent) {
        self.packed_mut(id).parent = place_of(parent);
    }

    /// Makes a line one of a subagent.
    pub(crate) fn set_sidechain(&mut self, id: NodeId) {
        let packed = self.packed_mut(id);
        packed.marks.0 |= Marks::of(Flags { is_sidechain: true, ..Flags::default() }).0;
        if packed.user == UserText::Human {
            packed.user = UserText::AgentTask;
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
        if self.rows.last().is_none_or(|row| row.lines.len() == ROW) {
            self.rows.push(Row { first: new.wide(), lines: Vec::new() });
        }
        let uuid = new.uuid.clone();
        let packed = self.pack(id, new);
        if let Some(row) = self.rows.last_mut() {
            row.lines.push(packed);
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
        let (line, offset, time, length, content_bytes) =
            wide.after(&self.rows[id.index() / ROW].first).unwrap_or_else(|| {
                marks.0 |= Marks::WIDE;
                self.wide.insert(id.0, wide);
                (0, 0, 0, [0; 3], [0; 3])
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
            offset,
            time,
            side: self.side_of(side, &new.blocks),
            line,
            marks,
            length,
            content_bytes,
            kind: new.kind,
            user: new.user,
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

    #[inline]
    fn packed(&self, id: NodeId) -> &Packed {
        &self.rows[id.index() / ROW].lines[id.index() % ROW]
    }

    fn packed_mut(&mut self, id: NodeId) -> &mut Packed {
        &mut self.rows[id.index() / ROW].lines[id.index() % ROW]
    }

    fn uuid(&self, id: NodeId) -> LineUuid<'_> {
        self.uuid_of(self.packed(id))
    }

    #[inline]
    fn uuid_of(&self, packed: &Packed) -> LineUuid<'_> {
        if packed.marks.has(Marks::TEXT)
            && let Some(text) = self.texts.get(packed.uuid[0] as usize)
        {
            return LineUuid::Text(text);
        }
        LineUuid::Bits(packed.uuid)
    }

    /// What kind of line one is.
    #[inline]
    pub(crate) fn kind(&self, id: NodeId) -> Kind {
        self.rows[id.index() / ROW].lines[id.index() % ROW].kind
    }

    /// The number of a line.
    #[inline]
    pub(crate) fn line(&self, id: NodeId) -> u64 {
        let row = &self.rows[id.index() / ROW];
        let packed = &row.lines[id.index() % ROW];
        let wide = if packed.marks.has(Marks::WIDE) { self.wide.get(&id.0) } else { None };
        wide.map_or_else(|| row.first.line + u64::from(packed.line), |wide| wide.line)
    }

    /// A line.
    #[inline]
    pub(crate) fn get(&self, id: NodeId) -> Node<'_> {
        let row = &self.rows[id.index() / ROW];
        let packed = &row.lines[id.index() % ROW];
        let side = match packed.side.checked_sub(1) {
            Some(side) => self.sides.get(side as usize).copied().unwrap_or_default(),
            None => Side::default(),
        };
        let wide = match packed.marks.has(Marks::WIDE) {
            true => self.wide.get(&id.0).copied(),
            false => None,
        };
        let wide = wide.unwrap_or_else(|| packed.wide(&row.first));
        let first = side.first_block as usize;
        let blocks = self.blocks.get(first..first + side.blocks as usize).unwrap_or_default();
        Node {
            uuid: self.uuid_of(packed),
            parent: parent_at(packed.parent),
            logical_parent: match packed.marks.has(Marks::LOGICAL) {
                true => self.logical.get(&id.0),
                false => None,
            },
            line: wide.line,
            offset: wide.offset,
            length: wide.length,
            content_bytes: wide.content_bytes,
            kind: packed.kind,
            subtype: side.subtype,
            user: packed.user,
            time: wide.time,
            message: side.message,
            model: side.model,
            flags: packed.marks.flags(),
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

/// Line, offset, time, length and bytes of content.
type Small = (u16, u32, i32, [u8; 3], [u8; 3]);

/// A line without a time.
const NO_TIME: i32 = i32::MIN;

impl Wide {
    /// As what it is after the first of its row, if there is room for it.
    fn after(&self, first: &Wide) -> Option<Small> {
        let time = match (self.time, first.time) {
            (Moment::NONE, _) => NO_TIME,
            (_, Moment::NONE) => return None,
            (time, first) => {
                let after = time.number().checked_sub(first.number())?;
                i32::try_from(after).ok().filter(|after| *after != NO_TIME)?
            }
        };
        Some((
            u16::try_from(self.line.checked_sub(first.line)?).ok()?,
            u32::try_from(self.offset.checked_sub(first.offset)?).ok()?,
            time,
            three(self.length)?,
            three(self.content_bytes)?,
        ))
    }
}

impl Packed {
    #[inline]
    fn wide(&self, first: &Wide) -> Wide {
        let number = |[low, middle, high]: [u8; 3]| u32::from_le_bytes([low, middle, high, 0]);
        Wide {
            line: first.line + u64::from(self.line),
            offset: first.offset + u64::from(self.offset),
            time: match self.time {
                NO_TIME => Moment::NONE,
                after => Moment::at(first.time.number().wrapping_add(i64::from(after))),
            },
            length: number(self.length),
            content_bytes: number(self.content_bytes),
        }
    }
}

fn three(number: u32) -> Option<[u8; 3]> {
    match number.to_le_bytes() {
        [low, middle, high, 0] => Some([low, middle, high]),
        _ => None,
    }
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
