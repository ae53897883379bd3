//! How far a file was read, and whether what was read is still there.
//!
//! A [`Cursor`] is the one notion of "read up to here": following, the index, statuses
//! and sessions that grow all have one. It knows
//!
//! - the **file** by its number in the file system (zeros where the system has none);
//! - the **generation**: which life of the file this is, by its content ([`GenerationId`]);
//! - the **offset**: everything before it was read;
//! - the **chain**: a strong hash of what was read.

use std::fs::File;
use std::fs::Metadata;
use std::io;
use std::ops::Range;

use memchr::memchr;
use memchr::memrchr;
use recto_log::DEFAULT_LINE_CAP;
use recto_log::Lines;
use recto_log::RawLine;

use crate::log::chain::BLOCK;
use crate::log::chain::ChainHash;
use crate::log::chain::GenerationId;
use crate::log::chain::links;
use crate::log::file_state::FileState;
use crate::log::file_state::Stamp;
use crate::place::platform::file_number;
use crate::place::platform::read_span;
use crate::place::platform::read_up_to;

/// How much is read at once.
const WINDOW: u64 = 256 * 1024;
/// How much of a line that is too long is held.
const KEPT_OF_LONG_LINE: usize = 4096;
/// The form in which cursors are written down.
const FORM: u8 = 1;

/// Which file it is: the file system, and the number in it.
pub(crate) type Identity = (u64, u64);

/// The number of a file.
pub(crate) fn identity(metadata: &Metadata) -> Identity {
    file_number(metadata)
}

/// How much a cursor reads at once.
#[derive(Debug, Clone, Copy)]
pub struct ReadLimits {
    /// How many bytes of lines, unless the first one is longer.
    pub batch: usize,
    /// The longest line that is held. Longer ones are given as a range.
    pub line: usize,
}

impl Default for ReadLimits {
    fn default() -> ReadLimits {
        ReadLimits { batch: 1024 * 1024, line: DEFAULT_LINE_CAP }
    }
}

/// What [`Cursor::advance`] found behind the offset.
#[derive(Debug, PartialEq, Eq)]
pub enum Advance {
    /// No whole line.
    Nothing,
    /// Whole lines, which the cursor is behind now.
    Grown(Growth),
    /// The file is another one, or not what it was. The cursor has not moved.
    Differs,
}

/// Whole lines, each with its `\n`.
#[derive(Debug, PartialEq, Eq)]
pub struct Growth {
    /// Which life of the file they belong to.
    pub generation: GenerationId,
    /// Where they are.
    pub range: Range<u64>,
    /// Their bytes. Of one line that is longer than what is held, the first few: the
    /// rest is read by the range, in parts.
    pub bytes: Vec<u8>,
}

impl Growth {
    /// Whether it is a line of which only the first bytes are held.
    pub fn is_long_line(&self) -> bool {
        (self.bytes.len() as u64) < self.range.end - self.range.start
    }

    /// The lines, of which the first has this number.
    pub fn lines(&self, number: u64) -> impl Iterator<Item = RawLine<'_>> {
        let offset = self.range.start;
        let length = self.range.end - offset - 1;
        let long = RawLine { offset, number, bytes: &self.bytes, length, terminated: true };
        let long = self.is_long_line().then_some(long);
        let whole = if long.is_some() { &[][..] } else { &self.bytes[..] };
        long.into_iter().chain(Lines::new(whole).starting_at(offset, number))
    }
}

/// How far a file was read.
///
/// # The chain
///
/// The file is cut into blocks of 16 KiB, from offset 0. The hash of a block is
/// BLAKE3 with the hash of the block before it as the key; the last block may be cut by
/// the offset. So the chain depends on the bytes alone, not on how they were read: two
/// observers that read a file up to the same offset have the same chain, and one that
/// resumes needs 64 bytes of state and the last two blocks of the file.
///
/// BLAKE3 in blocks of 16 KiB takes 0.22 CPU-seconds for a gigabyte, SHA-256 with the
/// instructions for it 0.56, and XXH3, which is not strong, 0.04 (x86-64 with AVX-512; medians
/// of five). Blocks of 4 KiB would take 0.42, a chain of lines of 3 KB 0.75.
///
/// A cursor that begins at an offset ([`Cursor::at`]) has not read what is before it: its
/// chain covers the last one or two blocks only ([`Cursor::covers_from`]).
///
/// # Which checks run when
///
/// [`Cursor::advance`] and [`Cursor::is_intact`] compare the file's number, its length, the
/// first block, and everything from the last whole block up to the offset. They notice a file
/// that was truncated, replaced or rewritten, but not a change in place between
/// those blocks that keeps the length. [`Cursor::verify`] reads everything that the chain
/// covers again, and notices every change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    identity: Identity,
    /// What the file was when it was looked at last.
    state: FileState,
    generation: Option<GenerationId>,
    offset: u64,
    /// Where the chain begins; a multiple of [`BLOCK`].
    from: u64,
    /// The hash of the first block, if the chain is not looked at from there anyway.
    head: ChainHash,
    /// The chain at the anchor, and at the offset.
    before: ChainHash,
    chain: ChainHash,
}

impl Cursor {
    /// At the beginning of a file.
    pub fn start(metadata: &Metadata) -> Cursor {
        Cursor::start_of(identity(metadata))
    }

    /// At the beginning of the file of this number.
    pub(crate) fn start_of(identity: Identity) -> Cursor {
        Cursor {
            identity,
            state: FileState::default(),
            generation: None,
            offset: 0,
            from: 0,
            head: ChainHash::default(),
            before: ChainHash::default(),
            chain: ChainHash::default(),
        }
    }

    /// At an offset of a file, as if all before had been read. An offset behind the end of the
    /// file is an error.
    pub fn at(file: &File, offset: u64) -> io::Result<Cursor> {
        let metadata = file.metadata()?;
        let mut cursor = Cursor::start(&metadata);
        cursor.state = FileState::now(&metadata);
        cursor.offset = offset;
        cursor.from = cursor.anchor();
        let bytes = read_span(file, cursor.from, offset - cursor.from)?;
        cursor.chain = links(ChainHash::default(), &bytes).chain;
        if cursor.from == 0 {
            cursor.generation = GenerationId::of(&bytes);
        } else {
            let head = read_up_to(file, 0, BLOCK)?;
            cursor.head = ChainHash::default().after(&head);
            cursor.generation = GenerationId::of(&head);
        }
        Ok(cursor)
    }

    /// Behind the last whole line of a file.
    pub fn at_end(file: &File) -> io::Result<Cursor> {
        Cursor::at(file, end_of_lines(file, file.metadata()?.len())?)
    }

    /// Everything before this offset was read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Which life of the file it is; none while no whole line was read.
    pub fn generation(&self) -> Option<GenerationId> {
        self.generation
    }

    /// The hash of what was read.
    pub fn chain(&self) -> ChainHash {
        self.chain
    }

    /// Where the chain begins: 0 if the whole file was read.
    pub fn covers_from(&self) -> u64 {
        self.from
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// What the file was when it was looked at last.
    pub(crate) fn state(&self) -> FileState {
        self.state
    }

    /// The file was looked at, though not read.
    pub(crate) fn note_state(&mut self, state: FileState) {
        self.state = state;
    }

    /// Whether more is in the file, as far as is known.
    pub fn is_behind(&self) -> bool {
        self.offset < self.state.size
    }

    /// Reads the next whole lines. What was read before is read again with them,
    /// as far as [`Cursor`] says, so that both are of one moment.
    pub fn advance(&mut self, file: &File, limits: ReadLimits) -> io::Result<Advance> {
        let metadata = file.metadata()?;
        self.state = FileState::now(&metadata);
        let length = metadata.len();
        if !self.can_be(&metadata) || !self.has_same_head(file)? {
            return Ok(Advance::Differs);
        }
        let known = (self.offset - self.anchor()) as usize;
        let there = usize::try_from(length - self.offset).unwrap_or(usize::MAX);
        let mut window = limits.batch.clamp(1, WINDOW as usize).min(there);
        let mut wanted = Wanted::AllLines;
        loop {
            let buffer = read_up_to(file, self.anchor(), (known + window) as u64)?;
            if buffer.len() < known || links(self.before, &buffer[..known]).chain != self.chain {
                return Ok(Advance::Differs);
            }
            let fresh = &buffer[known..];
            let end = whole_lines(fresh, limits.line, wanted);
            if end > 0 {
                let (start, bytes) = (self.offset, fresh[..end].to_vec());
                self.take(&buffer[..known + end]);
                return Ok(self.grown(start, bytes));
            }
            if fresh.len() > limits.line {
                let kept = fresh[..limits.line.min(KEPT_OF_LONG_LINE)].to_vec();
                return self.pass_long_line(file, length, kept);
            }
            if fresh.len() < window || window == there {
                return Ok(Advance::Nothing);
            }
            wanted = Wanted::FirstLine;
            window = window.saturating_mul(4).min(limits.line.saturating_add(1)).min(there);
        }
    }

    /// Whether what was read is still there, by the quick checks.
    pub fn is_intact(&self, file: &File) -> io::Result<bool> {
        if !self.can_be(&file.metadata()?) || !self.has_same_head(file)? {
            return Ok(false);
        }
        let known = read_up_to(file, self.anchor(), self.offset - self.anchor())?;
        Ok(links(self.before, &known).chain == self.chain)
    }

    /// Whether every byte that the chain covers is what it was.
    pub fn verify(&self, file: &File) -> io::Result<bool> {
        if !self.can_be(&file.metadata()?) || !self.has_same_head(file)? {
            return Ok(false);
        }
        let mut again = Cursor { offset: self.from, ..Cursor::start_of(self.identity) };
        again.from = self.from;
        again.read_to(file, self.offset)?;
        Ok(again.chain == self.chain)
    }

    fn can_be(&self, metadata: &Metadata) -> bool {
        identity(metadata) == self.identity && metadata.len() >= self.offset
    }

    fn has_same_head(&self, file: &File) -> io::Result<bool> {
        // What begins with the file is compared anyway.
        if self.anchor() == 0 {
            return Ok(true);
        }
        let head = read_up_to(file, 0, BLOCK)?;
        Ok(ChainHash::default().after(&head) == self.head)
    }

    /// Where the last whole block before the offset begins.
    fn anchor(&self) -> u64 {
        let last = (self.offset / BLOCK).saturating_sub(1) * BLOCK;
        last.max(self.from)
    }

    /// Takes in everything from the anchor to a new offset.
    fn take(&mut self, bytes: &[u8]) {
        let anchor = self.anchor();
        if anchor == 0 {
            self.generation = self.generation.or_else(|| GenerationId::of(bytes));
            if let Some(head) = bytes.get(..BLOCK as usize) {
                self.head = ChainHash::default().after(head);
            }
        }
        let links = links(self.before, bytes);
        (self.before, self.chain) = (links.before, links.chain);
        self.offset = anchor + bytes.len() as u64;
    }

    /// Takes in a file up to an offset, a window at a time.
    fn read_to(&mut self, file: &File, end: u64) -> io::Result<()> {
        while self.offset < end {
            let anchor = self.anchor();
            // Whole blocks, so that none is read twice but the one before.
            let to = (self.offset / BLOCK * BLOCK + WINDOW).min(end);
            self.take(&read_span(file, anchor, to - anchor)?);
        }
        Ok(())
    }

    /// Goes behind a line that is too long to be held.
    fn pass_long_line(&mut self, file: &File, length: u64, kept: Vec<u8>) -> io::Result<Advance> {
        let mut at = self.offset;
        let end = loop {
            let piece = read_up_to(file, at, WINDOW.min(length - at))?;
            if let Some(end) = memchr(b'\n', &piece) {
                break at + end as u64 + 1;
            }
            at += piece.len() as u64;
            if piece.is_empty() {
                return Ok(Advance::Nothing);
            }
        };
        let mut moved = self.clone();
        moved.read_to(file, end)?;
        let start = self.offset;
        *self = moved;
        Ok(self.grown(start, kept))
    }

    /// What was read since an offset. Who has read a line knows the generation, unless
    /// the cursor was written down by somebody who did not.
    fn grown(&self, start: u64, bytes: Vec<u8>) -> Advance {
        match self.generation {
            Some(generation) => {
                Advance::Grown(Growth { generation, range: start..self.offset, bytes })
            }
            None => Advance::Differs,
        }
    }

    /// Writes the cursor down.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORM];
        let FileState { size, modified, stamp } = self.state;
        let (device, number) = self.identity;
        for value in [device, number, size, modified.cast_unsigned(), stamp.changed.cast_unsigned()]
        {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(self.from.to_le_bytes());
        bytes.extend(self.offset.to_le_bytes());
        bytes.push(u8::from(self.generation.is_some()));
        bytes.extend(self.generation.map_or([0; 16], |id| id.0));
        for hash in [self.head, self.before, self.chain] {
            bytes.extend(hash.0);
        }
        bytes
    }

    /// Reads what [`Cursor::encode`] wrote; nothing if it is of another form, or says
    /// something impossible.
    pub fn decode(bytes: &[u8]) -> Option<Cursor> {
        let mut fields = Fields(bytes);
        if fields.next()? != [FORM] {
            return None;
        }
        let identity = (fields.number()?, fields.number()?);
        let (size, modified) = (fields.number()?, fields.number()?.cast_signed());
        let changed = fields.number()?.cast_signed();
        let stamp = Stamp { device: identity.0, number: identity.1, changed };
        let (from, offset) = (fields.number()?, fields.number()?);
        let [has_generation] = fields.next()?;
        let id = GenerationId(fields.next()?);
        let generation = match has_generation {
            0 => None,
            1 => Some(id),
            _ => return None,
        };
        let cursor = Cursor {
            identity,
            state: FileState { size, modified, stamp },
            generation,
            offset,
            from,
            head: ChainHash(fields.next()?),
            before: ChainHash(fields.next()?),
            chain: ChainHash(fields.next()?),
        };
        let is_possible = fields.0.is_empty()
            && from <= offset
            && from.is_multiple_of(BLOCK)
            && i64::try_from(offset).is_ok();
        is_possible.then_some(cursor)
    }
}

/// What is left of a cursor that was written down.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn next<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn number(&mut self) -> Option<u64> {
        self.next().map(u64::from_le_bytes)
    }
}

/// Which lines of a window are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    AllLines,
    FirstLine,
}

/// The end of the lines that are wanted, up to one that is longer than the cap.
fn whole_lines(bytes: &[u8], cap: usize, wanted: Wanted) -> usize {
    let mut end = 0;
    while let Some(length) = memchr(b'\n', &bytes[end..]).filter(|length| *length <= cap) {
        end += length + 1;
        if wanted == Wanted::FirstLine {
            break;
        }
    }
    end
}

/// The offset behind the last `\n`.
fn end_of_lines(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut size = 4096;
    while end > 0 {
        let from = end.saturating_sub(size);
        let piece = read_up_to(file, from, end - from)?;
        if let Some(at) = memrchr(b'\n', &piece) {
            return Ok(from + at as u64 + 1);
        }
        end = from;
        size = WINDOW;
    }
    Ok(0)
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
