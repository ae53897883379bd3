//! The lines of a draft, written to a file or folded at once.

use std::io;
use std::io::Write;

use recto_log::DEFAULT_LINE_CAP;
use recto_log::decode;
use recto_session::Session;
use recto_session::edit::Draft;
use recto_session::edit::Rewrite;
use recto_session::edit::WriteError;

use crate::StoreError;
use crate::edit::opened_log::OpenedLog;

/// A draft as it would be read, without a file.
pub(crate) fn written(
    opened: &OpenedLog,
    draft: &Draft<'_>,
    rewrite: &Rewrite,
) -> Result<Session, StoreError> {
    let mut lines = Refold::default();
    write_draft(opened, draft, rewrite, &mut lines)?;
    Ok(lines.finish())
}

pub(crate) fn write_draft(
    opened: &OpenedLog,
    draft: &Draft<'_>,
    rewrite: &Rewrite,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    let mut put = |bytes: &[u8]| out.write_all(bytes);
    draft.write(rewrite, opened, &mut put).map_err(|error| match error {
        WriteError::Edit(error) => error.into(),
        WriteError::Sink(error) => error.into(),
    })
}

/// How much of a line is kept that is longer than readers keep: enough to say what it was.
const KEPT_OF_LONG_LINE: usize = 4096;

/// Takes in a log as it is written.
#[derive(Default)]
struct Refold {
    session: Session,
    /// The line so far; only its beginning if it is longer than readers keep.
    line: Vec<u8>,
    /// How long it is so far.
    length: u64,
    offset: u64,
    number: u64,
}

impl Refold {
    fn end_line(&mut self, terminated: bool) {
        self.number += 1;
        let line = recto_log::RawLine {
            offset: self.offset,
            number: self.number,
            bytes: &self.line,
            length: self.length,
            terminated,
        };
        self.offset = line.end();
        self.session.push(&decode(line).0);
        self.line.clear();
        self.length = 0;
    }

    /// Takes in a part of a line.
    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.length > DEFAULT_LINE_CAP as u64 {
            let missing = KEPT_OF_LONG_LINE.saturating_sub(self.line.len()).min(bytes.len());
            self.line.extend_from_slice(&bytes[..missing]);
            self.line.truncate(KEPT_OF_LONG_LINE);
            self.line.shrink_to_fit();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn finish(mut self) -> Session {
        if self.length > 0 {
            self.end_line(false);
        }
        self.session
    }
}

impl Write for Refold {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.add(&rest[..end]);
            self.end_line(true);
            rest = &rest[end + 1..];
        }
        self.add(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_readers_do_not_keep_is_not_kept_while_it_is_written() {
        let mut lines = Refold::default();
        let piece = vec![b'x'; 1024 * 1024];
        lines.write_all(b"{\"type\":\"user\",\"uuid\":\"a\",\"message\":{\"content\":\"").unwrap();
        for _ in 0..70 {
            lines.write_all(&piece).unwrap();
            assert!(lines.line.capacity() <= 2 * DEFAULT_LINE_CAP);
        }
        assert!(lines.line.capacity() <= 2 * KEPT_OF_LONG_LINE, "{}", lines.line.capacity());
        lines.write_all(b"\"}}\n{\"type\":\"user\",\"uuid\":\"b\",\"message\":{}}\n").unwrap();
        let session = lines.finish();
        // What is too long is no part of the conversation, as for every reader.
        assert_eq!((session.lines, session.damaged.as_slice()), (2, &[1][..]));
        assert_eq!(session.nodes().next().unwrap().line, 2);
    }
}
