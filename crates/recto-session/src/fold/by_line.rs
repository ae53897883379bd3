//! Lines in the order of their log.

use crate::NodeId;

/// The lines of a session in the order of the log.
#[derive(Debug, Clone)]
pub enum ByLine {
    /// So many, in the order of their ids.
    Same(u32),
    /// In an order of their own.
    Other(Vec<NodeId>),
}

impl ByLine {
    /// The lines.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        let (same, other) = match self {
            ByLine::Same(count) => (*count, &[][..]),
            ByLine::Other(ids) => (0, ids.as_slice()),
        };
        (0..same).map(NodeId).chain(other.iter().copied())
    }
}
