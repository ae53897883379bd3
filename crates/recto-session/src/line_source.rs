//! Where the bytes of a line come from. A session keeps facts and no text; whatever needs a
//! text reads the line again, by its place.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;

use recto_log::Entry;
use recto_log::RawLine;
use recto_log::decode;

use crate::Span;

/// A log whose lines can be read again: in memory, in a file ([`SeekLines`]) or elsewhere.
///
/// ```
/// use recto_session::LineSource;
/// use recto_session::Span;
///
/// let log: &[u8] = b"{\"type\":\"mode\"}\n{}\n";
/// assert_eq!(log.line(Span { offset: 16, length: 2 })?, &b"{}"[..]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait LineSource {
    /// The bytes of a line, without its end. [`io::ErrorKind::UnexpectedEof`] means that the
    /// log is shorter than it was when the session was read.
    fn line(&self, span: Span) -> io::Result<Cow<'_, [u8]>>;
}

impl LineSource for &[u8] {
    fn line(&self, span: Span) -> io::Result<Cow<'_, [u8]>> {
        slice(self, span).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl LineSource for Vec<u8> {
    fn line(&self, span: Span) -> io::Result<Cow<'_, [u8]>> {
        slice(self, span).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

fn slice(log: &[u8], span: Span) -> Option<Cow<'_, [u8]>> {
    let start = usize::try_from(span.offset).ok()?;
    let end = start.checked_add(usize::try_from(span.length).ok()?)?;
    log.get(start..end).map(Cow::Borrowed)
}

/// The lines of anything that can seek, such as an open file.
#[derive(Debug)]
pub struct SeekLines<R>(RefCell<R>);

impl<R: Read + Seek> SeekLines<R> {
    /// The lines of a log that begins where `reader` begins.
    pub fn new(reader: R) -> SeekLines<R> {
        SeekLines(RefCell::new(reader))
    }
}

impl<R: Read + Seek> LineSource for SeekLines<R> {
    fn line(&self, span: Span) -> io::Result<Cow<'_, [u8]>> {
        let mut reader = self.0.borrow_mut();
        reader.seek(SeekFrom::Start(span.offset))?;
        let mut bytes = Vec::new();
        // A span may be a lie: only what is there takes memory.
        let read = reader.by_ref().take(span.length).read_to_end(&mut bytes)?;
        if (read as u64) < span.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Cow::Owned(bytes))
    }
}

/// Reads a line again and gives it to `work`, decoded. `number` is its number in the log.
pub fn with_line<T>(
    log: &dyn LineSource,
    span: Span,
    number: u64,
    work: impl FnOnce(&Entry<'_>) -> T,
) -> io::Result<T> {
    let bytes = log.line(span)?;
    let line = RawLine { offset: span.offset, number, ..RawLine::alone(&bytes) };
    Ok(work(&decode(line).0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = b"{}\n{\"type\":\"mode\"}\n";

    #[test]
    fn memory_and_files_give_the_same_lines_and_the_same_errors() {
        let owned = LOG.to_vec();
        let file = SeekLines::new(io::Cursor::new(LOG));
        let sources: [&dyn LineSource; 3] = [&LOG, &owned, &file];
        for log in sources {
            // Later lines first: a file must seek back.
            assert_eq!(log.line(Span { offset: 3, length: 15 }).unwrap(), &LOG[3..18]);
            assert_eq!(log.line(Span { offset: 0, length: 2 }).unwrap(), &LOG[..2]);
            for (offset, length) in [(18, 2), (40, 1), (0, u64::MAX), (u64::MAX, u64::MAX)] {
                let error = log.line(Span { offset, length }).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{offset} {length}");
            }
            let span = Span { offset: 3, length: 15 };
            let read = with_line(log, span, 2, |entry| (entry.line().number, entry.line().offset));
            assert_eq!(read.unwrap(), (2, 3));
        }
    }
}
