//! The lines of a draft, written to a file or folded at once.

use std::io;
use std::io::Write;

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

/// Takes in a log as it is written.
#[derive(Default)]
struct Refold {
    session: Session,
    line: Vec<u8>,
    offset: u64,
    number: u64,
}

impl Refold {
    fn end_line(&mut self, terminated: bool) {
        self.number += 1;
        let line = recto_log::RawLine {
            offset: self.offset,
            number: self.number,
            terminated,
            ..recto_log::RawLine::alone(&self.line)
        };
        self.offset = line.end();
        self.session.push(&decode(line).0);
        self.line.clear();
    }

    fn finish(mut self) -> Session {
        if !self.line.is_empty() {
            self.end_line(false);
        }
        self.session
    }
}

impl Write for Refold {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.line.extend_from_slice(&rest[..end]);
            self.end_line(true);
            rest = &rest[end + 1..];
        }
        self.line.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
