//! Lines of the chain as facts, without their text.

use std::ops::Deref;

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::UserText;

use crate::NameId;

/// A line of the chain, by its place in [`crate::Session::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The place as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a line follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Parent {
    /// Nothing: `parentUuid` is `null`, missing or no string.
    Root,
    /// A line that is there.
    Node(NodeId),
    /// A line that is not there, or not yet: a place in
    /// [`crate::Session::missing_uuid`].
    Missing(u32),
}

/// One content block of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockFact {
    /// Text.
    Text {
        /// Nothing but white space.
        is_blank: bool,
    },
    /// Thinking, shown or encrypted.
    Thinking {
        /// Whether it has a signature, without which the API refuses it.
        is_signed: bool,
    },
    /// A tool call.
    ToolUse {
        /// The id of the call.
        id: NameId,
        /// The tool.
        name: NameId,
    },
    /// A tool's result.
    ToolResult {
        /// The id of the call.
        id: NameId,
        /// Whether the call failed.
        is_error: bool,
    },
    /// A picture or document.
    Media,
    /// Anything else.
    Other,
}

/// The blocks of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockFacts<'s>(pub(crate) &'s [BlockFact]);

impl Deref for BlockFacts<'_> {
    type Target = [BlockFact];

    fn deref(&self) -> &[BlockFact] {
        self.0
    }
}

impl<'s> IntoIterator for BlockFacts<'s> {
    type Item = &'s BlockFact;
    type IntoIter = std::slice::Iter<'s, BlockFact>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'s> IntoIterator for &BlockFacts<'s> {
    type Item = &'s BlockFact;
    type IntoIter = std::slice::Iter<'s, BlockFact>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// The blocks of a line that is taken in. Most have one, which takes no memory of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Few {
    #[default]
    None,
    One(BlockFact),
    Many(Box<[BlockFact]>),
}

impl Deref for Few {
    type Target = [BlockFact];

    fn deref(&self) -> &[BlockFact] {
        match self {
            Few::None => &[],
            Few::One(block) => std::slice::from_ref(block),
            Few::Many(blocks) => blocks,
        }
    }
}

impl FromIterator<BlockFact> for Few {
    fn from_iter<I: IntoIterator<Item = BlockFact>>(blocks: I) -> Few {
        let mut blocks = blocks.into_iter();
        let Some(first) = blocks.next() else { return Few::None };
        let Some(second) = blocks.next() else { return Few::One(first) };
        Few::Many([first, second].into_iter().chain(blocks).collect())
    }
}

/// A time in milliseconds, or none, in eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(i64);

impl Moment {
    pub(crate) const NONE: Moment = Moment(i64::MIN);

    pub(crate) fn of(time: Option<Timestamp>) -> Moment {
        time.map_or(Moment::NONE, |time| Moment(time.as_millisecond()))
    }

    /// As a number that [`Moment::at`] takes.
    pub(crate) fn number(self) -> i64 {
        self.0
    }

    /// The moment of a number, which is none if no time has it.
    pub(crate) fn at(number: i64) -> Moment {
        Moment(number)
    }

    pub(crate) fn get(self) -> Option<Timestamp> {
        // The smallest number is no time, so it is none.
        Timestamp::from_millisecond(self.0).ok()
    }

    /// The earlier of two; one that is known, if only one is.
    pub(crate) fn earlier(self, other: Moment) -> Moment {
        match (self, other) {
            (Moment::NONE, known) | (known, Moment::NONE) => known,
            (a, b) => Moment(a.0.min(b.0)),
        }
    }
}

impl Moment {
    /// The later of two; one that is known, if only one is.
    pub(crate) fn later(self, other: Moment) -> Moment {
        Moment(self.0.max(other.0))
    }
}

/// Yes-or-no facts of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Flags {
    /// The line belongs to a subagent.
    pub is_sidechain: bool,
    /// The client, not the user, wrote it.
    pub is_meta: bool,
    /// It is the summary of a compaction.
    pub is_compact_summary: bool,
    /// It stands for a failed API call.
    pub is_api_error: bool,
    /// The client made the message up.
    pub is_synthetic: bool,
    /// The answer was stopped while it was written.
    pub is_aborted: bool,
    /// The content is a string, not an array.
    pub is_string: bool,
    /// The line has a `message` object.
    pub has_message: bool,
    /// The message has content: a string or an array.
    pub has_content: bool,
    /// The client shows the line and does not send it.
    pub is_display_only: bool,
    /// A byte order mark stands before the line; some clients lose such lines.
    pub has_byte_order_mark: bool,
    /// A string holds a lone surrogate or invalid UTF-8.
    pub is_broken_text: bool,
    /// It is what a command of the client said, the caveat before that, or the command itself
    /// right after the caveat: the newest clients see nothing in it that is to be answered.
    /// Of an answer: it is a string of white space.
    pub asks_nothing: bool,
}

/// Where a line is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// Where it starts, in bytes.
    pub offset: u64,
    /// How long it is, without its end.
    pub length: u64,
}

/// The uuid of a line, where the session keeps it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineUuid<'s> {
    Bits([u32; 4]),
    Text(&'s EntryUuid),
}

impl LineUuid<'_> {
    pub(crate) fn is(self, uuid: &EntryUuid) -> bool {
        match self {
            LineUuid::Bits(bits) => uuid.bits() == Some(number(bits)),
            LineUuid::Text(text) => text == uuid,
        }
    }

    pub(crate) fn owned(self) -> EntryUuid {
        match self {
            LineUuid::Bits(bits) => EntryUuid::from_bits(number(bits)),
            LineUuid::Text(text) => text.clone(),
        }
    }
}

impl std::fmt::Debug for LineUuid<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.owned(), f)
    }
}

fn number(bits: [u32; 4]) -> u128 {
    bits.iter().rev().fold(0, |number, part| (number << 32) | u128::from(*part))
}

/// A line of the chain, as [`crate::Session::node`] gives it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Node<'s> {
    pub(crate) uuid: LineUuid<'s>,
    /// What it follows.
    pub parent: Parent,
    /// What it follows in meaning, across a compaction.
    pub logical_parent: Option<&'s EntryUuid>,
    /// The line's number, from 1.
    pub line: u64,
    /// Where the line starts in the file.
    pub offset: u64,
    /// How long it is.
    pub length: u32,
    /// How many bytes of JSON its content takes; of an attachment, what it says.
    pub content_bytes: u32,
    /// What it is.
    pub kind: Kind,
    /// The subtype of a system line, or the type of an attachment.
    pub subtype: Option<NameId>,
    /// What a user line is; `Nothing` for others.
    pub user: UserText,
    /// When it was written.
    pub(crate) time: Moment,
    /// The API message that it is part of.
    pub message: Option<NameId>,
    /// The model that answered.
    pub model: Option<NameId>,
    /// Yes-or-no facts.
    pub flags: Flags,
    /// The blocks of its content, where that is an array.
    pub blocks: BlockFacts<'s>,
}

impl Node<'_> {
    /// The line's id.
    pub fn uuid(&self) -> EntryUuid {
        self.uuid.owned()
    }

    /// Where the line is in the file.
    pub fn span(&self) -> Span {
        Span { offset: self.offset, length: u64::from(self.length) }
    }

    /// When it was written. Clients count milliseconds, and so does this.
    pub fn time(&self) -> Option<Timestamp> {
        self.time.get()
    }

    /// Whether the line is part of what was said: a user or assistant line.
    pub fn is_spoken(&self) -> bool {
        matches!(self.kind, Kind::User | Kind::Assistant)
    }

    /// Whether the line holds a tool's result.
    pub fn has_result(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, BlockFact::ToolResult { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_same_however_many_there_are() {
        for count in 0..4 {
            let all = vec![BlockFact::Media; count];
            let facts: Few = all.iter().copied().collect();
            assert_eq!(*facts, *all);
        }
    }

    #[test]
    fn a_time_is_kept_to_the_millisecond() {
        for text in ["2026-11-16T00:16:12.116Z", "1969-12-31T23:59:59.999Z", "9999-01-01T00:00:00Z"]
        {
            let time: Timestamp = text.parse().unwrap();
            assert_eq!(Moment::of(Some(time)).get(), Some(time));
        }
        assert_eq!(Moment::of(None).get(), None);
    }
}
