//! A log with the place of every line, ready to be edited.

use std::collections::BTreeSet;

use recto_log::Entry;
use recto_log::Kind;

use crate::NodeId;
use crate::Session;
use crate::Span;
use crate::edit::source_lines::SourceLines;

/// One line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLine {
    /// Where it is.
    pub span: Span,
    /// What it is.
    pub kind: Kind,
    /// The line of the chain that it is; of lines with one uuid only the last
    /// counts.
    pub node: Option<NodeId>,
    /// Whether a line end follows. Only the last line can be without.
    pub is_terminated: bool,
    /// Whether all of it is UTF-8; of a line that is no object that is not looked at.
    pub is_utf8: bool,
}

/// A session and all lines of its log.
#[derive(Debug, Clone, Default)]
pub struct Manuscript {
    /// The session.
    pub session: Session,
    lines: SourceLines,
    /// Ids that lines outside the chain have or name.
    pub(super) other_ids: BTreeSet<u128>,
}

impl Manuscript {
    /// A log without lines.
    pub fn new() -> Manuscript {
        Manuscript::default()
    }

    /// Takes in the next line of the log.
    pub fn push(&mut self, entry: &Entry<'_>) {
        self.session.push(entry);
        let line = entry.line();
        let chained = if entry.kind().in_chain() { entry.uuid() } else { None };
        if !entry.kind().in_chain() {
            let names = ["uuid", "messageId", "snapshotMessageId"];
            let ids = names.iter().filter_map(|name| entry.uuid_field(name)?.bits());
            self.other_ids.extend(ids);
        }
        self.lines.push(SourceLine {
            span: Span { offset: line.offset, length: line.length },
            kind: entry.kind(),
            node: chained.and_then(|uuid| self.session.find(&uuid)),
            is_terminated: line.terminated,
            is_utf8: entry.is_utf8() || entry.kind() == Kind::Opaque,
        });
    }

    /// The lines, in the order of the log. Line `n` is at place `n - 1`.
    pub fn lines(&self) -> &SourceLines {
        &self.lines
    }

    /// The place of a line of the chain in [`Manuscript::lines`].
    pub fn place(&self, id: NodeId) -> usize {
        usize::try_from(self.session.node(id).line.saturating_sub(1)).unwrap_or(usize::MAX)
    }

    /// The line of the chain at a place, if it is the one that counts.
    pub fn node_at(&self, place: usize) -> Option<NodeId> {
        let node = self.lines.get(place)?.node?;
        (self.place(node) == place).then_some(node)
    }
}
