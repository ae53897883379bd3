//! How far a log is read, and how to tell that it is still the same.

use std::fs::File;
use std::fs::Metadata;
use std::io;
use std::sync::Arc;

use memchr::memchr;
use memchr::memrchr;

use super::FollowedFile;
use crate::log::file_state::FileState;
use crate::log::file_state::Stamp;
use crate::place::platform::read_fully;
use crate::search::index::sum;

/// How many bytes of either end are looked at again before a log is read on.
const MARK: u64 = 4096;
/// How much is read at once.
const WINDOW: usize = 256 * 1024;
/// How much of a line that is too long is handed out.
const KEPT_OF_LONG_LINE: usize = 4096;

/// Which file it is: the file system, and the number in it.
pub(super) type Identity = (u64, u64);

pub(super) fn identity(metadata: &Metadata) -> Identity {
    let stamp = Stamp::of(metadata);
    (stamp.device, stamp.number)
}

/// How far one of the logs of a home is read.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    pub(super) file: Arc<FollowedFile>,
    pub(super) generation: u64,
    pub(super) at: Position,
}

impl Cursor {
    /// At the beginning of a file.
    pub(super) fn new(file: Arc<FollowedFile>, generation: u64, identity: Identity) -> Cursor {
        Cursor { file, generation, at: Position::new(identity) }
    }
}

/// How far a file is read.
#[derive(Debug, Clone)]
pub(super) struct Position {
    pub(super) identity: Identity,
    /// What the file was when it was looked at last.
    pub(super) state: FileState,
    /// All before is handed out.
    pub(super) offset: u64,
    pub(super) mark: Mark,
}

/// Sums of the bytes before an offset. The tail is enough where it reaches the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) head: u64,
    pub(super) tail: u64,
}

impl Default for Mark {
    fn default() -> Mark {
        Mark { head: 0, tail: sum(&[]) }
    }
}

/// What was found after the offset.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// No whole line.
    Nothing,
    /// Whole lines.
    Lines(Vec<u8>),
    /// A line over the cap.
    LongLine { start: Vec<u8>, length: u64 },
    /// The bytes before the offset are not what they were.
    Differs,
}

impl Position {
    /// At the beginning of a file.
    pub(super) fn new(identity: Identity) -> Position {
        Position { identity, state: FileState::default(), offset: 0, mark: Mark::default() }
    }

    /// Goes behind the last whole line.
    pub(super) fn go_to_end(&mut self, file: &File, metadata: &Metadata) -> io::Result<()> {
        self.state = FileState::now(metadata);
        self.offset = end_of_lines(file, metadata.len())?;
        if self.offset > MARK {
            self.mark.head = sum(&read(file, 0, MARK as usize)?);
        }
        let back = self.offset.min(MARK);
        self.mark.tail = sum(&read(file, self.offset - back, back as usize)?);
        Ok(())
    }

    /// Reads on: at most `most` bytes of lines, or one line of at most `cap` bytes.
    pub(super) fn read_on(
        &mut self,
        file: &File,
        metadata: &Metadata,
        most: usize,
        cap: usize,
    ) -> io::Result<Piece> {
        self.state = FileState::now(metadata);
        let length = metadata.len();
        if length < self.offset || !self.head_is_same(file)? {
            return Ok(Piece::Differs);
        }
        let back = self.offset.min(MARK) as usize;
        let from = self.offset - back as u64;
        let there = usize::try_from(length - self.offset).unwrap_or(usize::MAX);
        let mut window = most.clamp(1, WINDOW).min(there);
        let mut is_first_line_only = false;
        loop {
            // What was read before is read again with what follows, so that both are of
            // one moment.
            let buffer = read(file, from, back + window)?;
            if buffer.len() < back || sum(&buffer[..back]) != self.mark.tail {
                return Ok(Piece::Differs);
            }
            let fresh = &buffer[back..];
            let end = whole_lines(fresh, cap, is_first_line_only);
            if end > 0 {
                let bytes = fresh[..end].to_vec();
                self.advance(&buffer, back + end);
                return Ok(Piece::Lines(bytes));
            }
            if fresh.len() > cap {
                return self.pass_long_line(file, cap);
            }
            if fresh.len() < window || window == there {
                return Ok(Piece::Nothing);
            }
            is_first_line_only = true;
            window = window.saturating_mul(4).min(cap.saturating_add(1)).min(there);
        }
    }

    /// Whether more is in the file, as far as is known.
    pub(super) fn is_behind(&self) -> bool {
        self.offset < self.state.size
    }

    fn head_is_same(&self, file: &File) -> io::Result<bool> {
        Ok(self.offset <= MARK || sum(&read(file, 0, MARK as usize)?) == self.mark.head)
    }

    /// Moves behind `end` in a buffer that begins with what the mark is made of.
    fn advance(&mut self, buffer: &[u8], end: usize) {
        let before = self.offset;
        self.offset += end as u64 - before.min(MARK);
        if before <= MARK && self.offset > MARK {
            // The buffer begins where the file begins.
            self.mark.head = sum(&buffer[..MARK as usize]);
        }
        let back = self.offset.min(MARK) as usize;
        self.mark.tail = sum(&buffer[end - back..end]);
    }

    /// Looks for the end of a line of which only the start is kept.
    fn pass_long_line(&mut self, file: &File, cap: usize) -> io::Result<Piece> {
        let start = read(file, self.offset, KEPT_OF_LONG_LINE.min(cap))?;
        let mut at = self.offset;
        loop {
            let piece = read(file, at, WINDOW)?;
            if let Some(end) = memchr(b'\n', &piece) {
                at += end as u64;
                break;
            }
            if piece.is_empty() {
                return Ok(Piece::Nothing);
            }
            at += piece.len() as u64;
        }
        let length = at - self.offset;
        self.offset = at + 1;
        if self.offset > MARK {
            self.mark.head = sum(&read(file, 0, MARK as usize)?);
        }
        let back = self.offset.min(MARK);
        self.mark.tail = sum(&read(file, self.offset - back, back as usize)?);
        Ok(Piece::LongLine { start, length })
    }
}

/// The end of the whole lines, or of the first of them, up to one that is longer than
/// the cap.
fn whole_lines(bytes: &[u8], cap: usize, is_first_only: bool) -> usize {
    let mut end = 0;
    while let Some(length) = memchr(b'\n', &bytes[end..]).filter(|length| *length <= cap) {
        end += length + 1;
        if is_first_only {
            break;
        }
    }
    end
}

/// The offset behind the last `\n`.
fn end_of_lines(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut size = MARK;
    while end > 0 {
        let from = end.saturating_sub(size);
        let piece = read(file, from, (end - from) as usize)?;
        if let Some(at) = memrchr(b'\n', &piece) {
            return Ok(from + at as u64 + 1);
        }
        end = from;
        size = WINDOW as u64;
    }
    Ok(0)
}

/// Reads up to `length` bytes; fewer where the file ends.
fn read(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; length];
    let filled = read_fully(file, &mut buffer, offset)?;
    buffer.truncate(filled);
    Ok(buffer)
}
