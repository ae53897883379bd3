//! Bytes to lines.
//!
//! Owns: where a line starts and ends, and how long a line may be. Does not
//! own: what is in it. A line is the bytes between two `\n`; a `\r`, a byte
//! order mark, NUL padding and invalid UTF-8 stay inside the line, so that
//! joining the lines gives back the file.

use std::io;
use std::io::Read;

use memchr::memchr;

/// The longest line that is held in memory unless the caller says otherwise.
pub const DEFAULT_LINE_CAP: usize = 64 * 1024 * 1024;

/// How much of a line over the cap is kept, to say what it was.
const KEPT_OF_LONG_LINE: usize = 4096;

/// One line of a log, without its `\n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawLine<'a> {
    /// Where the line starts in the file.
    pub offset: u64,
    /// The line's number, from 1.
    pub number: u64,
    /// The bytes of the line; the first few only if it is longer than the cap.
    pub bytes: &'a [u8],
    /// The true length of the line, which is more than `bytes` holds if the
    /// line is longer than the cap.
    pub length: u64,
    /// Whether a `\n` follows. Only the last line of a file can be without.
    pub terminated: bool,
}

impl<'a> RawLine<'a> {
    /// A line that stands alone, for tests and for lines made in memory.
    pub fn alone(bytes: &'a [u8]) -> RawLine<'a> {
        RawLine { offset: 0, number: 1, bytes, length: bytes.len() as u64, terminated: true }
    }

    /// Whether the line was longer than the cap, so that `bytes` is only its start.
    pub fn is_cut(&self) -> bool {
        self.length > self.bytes.len() as u64
    }

    /// The offset of the first byte after this line and its `\n`.
    pub fn end(&self) -> u64 {
        self.offset + self.length + u64::from(self.terminated)
    }
}

/// The lines of a slice.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: &'a [u8],
    offset: u64,
    number: u64,
    cap: usize,
}

impl<'a> Lines<'a> {
    /// The lines of a whole log.
    pub fn new(bytes: &'a [u8]) -> Lines<'a> {
        Lines { rest: bytes, offset: 0, number: 1, cap: DEFAULT_LINE_CAP }
    }

    /// Says where in the file the slice begins.
    pub fn starting_at(mut self, offset: u64, number: u64) -> Lines<'a> {
        self.offset = offset;
        self.number = number;
        self
    }

    /// Sets the longest line that is given out whole.
    pub fn with_cap(mut self, cap: usize) -> Lines<'a> {
        self.cap = cap;
        self
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = RawLine<'a>;

    fn next(&mut self) -> Option<RawLine<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (whole, terminated, rest) = match memchr(b'\n', self.rest) {
            Some(end) => (&self.rest[..end], true, &self.rest[end + 1..]),
            None => (self.rest, false, &self.rest[self.rest.len()..]),
        };
        let bytes =
            if whole.len() > self.cap { &whole[..KEPT_OF_LONG_LINE.min(self.cap)] } else { whole };
        let line = RawLine {
            offset: self.offset,
            number: self.number,
            bytes,
            length: whole.len() as u64,
            terminated,
        };
        self.rest = rest;
        self.offset = line.end();
        self.number += 1;
        Some(line)
    }
}

/// The buffer of a reader at first.
const FIRST_BUFFER: usize = 256 * 1024;

/// A buffer larger than this is not used again.
const MOST_KEPT_BUFFER: usize = 4 * 1024 * 1024;

/// The lines of a reader, through one buffer that is used again.
///
/// The buffer grows to the longest line below the cap and no further: of a
/// line over the cap only the start is kept and the rest is read past.
pub struct LineReader<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The part of `buffer` that is read but not yet given out.
    start: usize,
    filled: usize,
    ended: bool,
    offset: u64,
    number: u64,
    cap: usize,
}

impl<R: Read> LineReader<R> {
    /// Reads lines from the start of a log.
    pub fn new(reader: R) -> LineReader<R> {
        LineReader::with_buffer(reader, Vec::new())
    }

    /// Uses a buffer that a reader before has given back.
    pub fn with_buffer(reader: R, mut buffer: Vec<u8>) -> LineReader<R> {
        // What is in it does not matter, so that it is not cleared each time.
        if buffer.len() < FIRST_BUFFER {
            buffer.resize(FIRST_BUFFER, 0);
        }
        LineReader {
            reader,
            buffer,
            start: 0,
            filled: 0,
            ended: false,
            offset: 0,
            number: 1,
            cap: DEFAULT_LINE_CAP,
        }
    }

    /// Gives the buffer back for another reader, unless a long line made it large.
    pub fn into_buffer(self) -> Vec<u8> {
        if self.buffer.len() > MOST_KEPT_BUFFER { Vec::new() } else { self.buffer }
    }

    /// Says where in the file the reader stands.
    pub fn starting_at(mut self, offset: u64, number: u64) -> LineReader<R> {
        self.offset = offset;
        self.number = number;
        self
    }

    /// Sets the longest line that is given out whole.
    pub fn with_cap(mut self, cap: usize) -> LineReader<R> {
        self.cap = cap;
        self
    }

    /// The next line, or `None` at the end. After an error the reader must not
    /// be used again: a part of a line may be gone.
    ///
    /// Not an `Iterator`, because each line borrows the buffer.
    pub fn next_line(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.start..self.filled];
            if let Some(at) = memchr(b'\n', &unread[searched..]) {
                return Ok(Some(self.give(searched + at, true)));
            }
            searched = unread.len();
            if self.ended {
                if searched == 0 {
                    return Ok(None);
                }
                return Ok(Some(self.give(searched, false)));
            }
            if searched > self.cap {
                return self.skip_long_line().map(Some);
            }
            self.fill()?;
        }
    }

    /// Hands out `length` bytes of the buffer as a line.
    fn give(&mut self, length: usize, terminated: bool) -> RawLine<'_> {
        let begin = self.start;
        self.start += length + usize::from(terminated);
        let kept = if length > self.cap { KEPT_OF_LONG_LINE.min(self.cap) } else { length };
        let line = RawLine {
            offset: self.offset,
            number: self.number,
            bytes: &self.buffer[begin..begin + kept],
            length: length as u64,
            terminated,
        };
        self.offset = line.end();
        self.number += 1;
        line
    }

    /// Reads past a line over the cap and keeps only its start.
    fn skip_long_line(&mut self) -> io::Result<RawLine<'_>> {
        let kept = KEPT_OF_LONG_LINE.min(self.cap);
        let mut length = (self.filled - self.start) as u64;
        self.buffer.copy_within(self.start..self.start + kept, 0);
        // The start of the line stays below `kept`; the rest of the buffer is
        // read into again and again until the line ends.
        let terminated = loop {
            let read = read_some(&mut self.reader, &mut self.buffer[kept..])?;
            if read == 0 {
                self.ended = true;
                self.start = kept;
                self.filled = kept;
                break false;
            }
            if let Some(at) = memchr(b'\n', &self.buffer[kept..kept + read]) {
                length += at as u64;
                self.start = kept + at + 1;
                self.filled = kept + read;
                break true;
            }
            length += read as u64;
        };
        let line = RawLine {
            offset: self.offset,
            number: self.number,
            bytes: &self.buffer[..kept],
            length,
            terminated,
        };
        self.offset = line.end();
        self.number += 1;
        Ok(line)
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        if self.filled == self.buffer.len() {
            let larger = (self.buffer.len() * 2).min(self.cap.saturating_add(64 * 1024));
            self.buffer.resize(larger.max(self.filled + 4096), 0);
        }
        let read = read_some(&mut self.reader, &mut self.buffer[self.filled..])?;
        self.filled += read;
        self.ended = read == 0;
        Ok(())
    }
}

fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads at most `step` bytes a time, to put every boundary everywhere.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(buffer.len()).min(self.0.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    type Seen = (u64, u64, Vec<u8>, u64, bool);

    fn seen(line: RawLine<'_>) -> Seen {
        (line.offset, line.number, line.bytes.to_vec(), line.length, line.terminated)
    }

    fn read_all(bytes: &[u8], step: usize, cap: usize) -> Vec<Seen> {
        let mut reader = LineReader::new(Trickle(bytes, step)).with_cap(cap);
        let mut all = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            all.push(seen(line));
        }
        all
    }

    #[test]
    fn reader_and_slice_agree_on_every_kind_of_line() {
        let long = "x".repeat(9000);
        let log = format!("\u{feff}{{}}\n\r\n\n{{\"a\":1}}\r\n\0\0\0\n{long}\nshort\n{long}");
        for cap in [10, 100, 8999, 9000, 20000] {
            let expected: Vec<Seen> = Lines::new(log.as_bytes()).with_cap(cap).map(seen).collect();
            for step in [1, 7, 4096, 1 << 20] {
                assert_eq!(read_all(log.as_bytes(), step, cap), expected, "cap {cap} step {step}");
            }
        }
    }

    #[test]
    fn lines_join_to_the_file() {
        let log = b"a\n\nb\r\nc";
        let mut joined = Vec::new();
        for line in Lines::new(log) {
            assert_eq!(line.offset, joined.len() as u64);
            joined.extend_from_slice(line.bytes);
            if line.terminated {
                joined.push(b'\n');
            }
        }
        assert_eq!(joined, log);
    }

    #[test]
    fn a_line_over_the_cap_is_cut_and_the_next_one_is_whole() {
        let log = [vec![b'y'; 1 << 20], b"\nnext\n".to_vec()].concat();
        let lines = read_all(&log, 1 << 16, 1000);
        assert_eq!(lines[0].2.len(), 1000);
        assert_eq!(lines[0].3, 1 << 20);
        assert_eq!(lines[1], ((1 << 20) + 1, 2, b"next".to_vec(), 4, true));
    }

    #[test]
    fn an_empty_log_has_no_line() {
        assert_eq!(Lines::new(b"").count(), 0);
        assert_eq!(read_all(b"", 1, 10), []);
    }
}
