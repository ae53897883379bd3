//! Server-sent events, from bytes as they arrive.
//!
//! Owns: lines, fields and the limit of an event. Does not own: what the data mean. The rules
//! are those of the WHATWG standard: a byte order mark at the start counts for nothing, lines
//! end with CR, LF or both, a blank line ends an event, an event without data or without its
//! blank line is none.

use std::mem;

use memchr::memchr2;

/// The most bytes that one event may have.
pub const MOST_EVENT_BYTES: usize = 64 << 20;

/// An event that is larger than [`MOST_EVENT_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a stream event is larger than {} MiB", MOST_EVENT_BYTES >> 20)]
pub struct EventTooLarge;

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// The name; empty if the stream gave none.
    pub event: &'a [u8],
    /// The lines of data, with line feeds between them.
    pub data: &'a [u8],
}

/// Takes the bytes of a stream in pieces of any size.
///
/// ```
/// use recto_agent::wire::SseParser;
///
/// let mut parser = SseParser::default();
/// let mut seen = Vec::new();
/// for piece in [&b"event: ping\r\nda"[..], b"ta: {}\r", b"\n\r\n"] {
///     parser.push(piece, |frame| seen.push((frame.event.to_vec(), frame.data.to_vec())))?;
/// }
/// assert_eq!(seen, [(b"ping".to_vec(), b"{}".to_vec())]);
/// # Ok::<(), recto_agent::wire::EventTooLarge>(())
/// ```
#[derive(Debug, Default)]
pub struct SseParser {
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    event: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a CR, so that an LF belongs to it.
    after_return: bool,
    has_started: bool,
}

const MARK: &[u8] = b"\xef\xbb\xbf";

impl SseParser {
    /// Takes bytes, and hands out the events that they complete.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut emit: impl FnMut(Frame<'_>),
    ) -> Result<(), EventTooLarge> {
        let mut rest = bytes;
        if mem::take(&mut self.after_return) && !rest.is_empty() {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        } else if rest.is_empty() {
            return Ok(());
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, tail) = rest.split_at(end);
            let is_return = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            if is_return {
                match rest.strip_prefix(b"\n") {
                    Some(tail) => rest = tail,
                    None => self.after_return = rest.is_empty(),
                }
            }
            if self.line.is_empty() {
                self.take_line(line, &mut emit)?;
            } else {
                let mut whole = mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take_line(&whole, &mut emit)?;
                whole.clear();
                self.line = whole;
            }
        }
        if self.line.len() + self.data.len() + rest.len() > MOST_EVENT_BYTES {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }

    fn take_line(
        &mut self,
        line: &[u8],
        emit: &mut impl FnMut(Frame<'_>),
    ) -> Result<(), EventTooLarge> {
        let mut line = line;
        if !mem::replace(&mut self.has_started, true) {
            line = line.strip_prefix(MARK).unwrap_or(line);
        }
        if line.is_empty() {
            if self.has_data {
                emit(Frame { event: &self.event, data: &self.data });
            }
            self.event.clear();
            self.data.clear();
            self.has_data = false;
            // One giant event must not keep its memory for the rest of the stream.
            self.data.shrink_to(1 << 16);
            return Ok(());
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(at) => {
                let (name, value) = line.split_at(at);
                let value = value.get(1..).unwrap_or_default();
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => {
                if self.data.len() + value.len() >= MOST_EVENT_BYTES {
                    return Err(EventTooLarge);
                }
                if mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            // Comments, ids, times to wait, and what is unknown.
            _ => {}
        }
        Ok(())
    }
}
