//! The hashes that identify what was read of a file.

use std::fmt;

use memchr::memchr;

/// How long a block of the chain is.
pub const BLOCK: u64 = 16 * 1024;

/// Which life of a file it is, by its content: the first 16 bytes of the BLAKE3 hash of the
/// first line with its `\n`, or of the first [`BLOCK`] bytes if the line is longer.
///
/// It is known as soon as the first line is whole, and nothing that is appended changes it.
/// So all who look at a file agree on it, whenever they come.
///
/// It does not tell two lives apart that begin with the same line, as a log and what `trim
/// --in-place` leaves of it do: nothing that is known from the start could. Whoever keeps files
/// by a key needs the chain besides ([`Cursor::chain`](crate::Cursor::chain)): two lives have
/// different chains from the first byte on that differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GenerationId(pub(super) [u8; 16]);

impl GenerationId {
    /// By the beginning of a file; none while the first line is not whole.
    pub fn of(beginning: &[u8]) -> Option<GenerationId> {
        let head = &beginning[..beginning.len().min(BLOCK as usize)];
        let end = match memchr(b'\n', head) {
            Some(end) => end + 1,
            None if head.len() == BLOCK as usize => head.len(),
            None => return None,
        };
        let mut id = [0; 16];
        id.copy_from_slice(&blake3::hash(&head[..end]).as_bytes()[..16]);
        Some(GenerationId(id))
    }

    /// To be written down.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// One that was written down.
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> GenerationId {
        GenerationId(bytes)
    }
}

impl fmt::Display for GenerationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for GenerationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "GenerationId({self})")
    }
}

/// The hash of everything that was read, up to some offset.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ChainHash(pub(super) [u8; 32]);

impl ChainHash {
    /// The hash of one more block.
    pub(super) fn after(self, block: &[u8]) -> ChainHash {
        ChainHash(*blake3::keyed_hash(&self.0, block).as_bytes())
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ChainHash({self})")
    }
}

/// A number that differs where texts do, as good as for certain.
pub(crate) fn short_hash(bytes: &[u8]) -> i64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(bytes).as_bytes()[..8]);
    i64::from_le_bytes(first)
}

/// The chain after some blocks.
pub(super) struct Links {
    /// Before the last whole block.
    pub(super) before: ChainHash,
    pub(super) chain: ChainHash,
}

/// Goes on with a chain over bytes that begin with a block.
pub(super) fn links(start: ChainHash, bytes: &[u8]) -> Links {
    let mut links = Links { before: start, chain: start };
    for block in bytes.chunks(BLOCK as usize) {
        let at = links.chain;
        links.chain = at.after(block);
        if block.len() == BLOCK as usize {
            links.before = at;
        }
    }
    links
}
