//! A log as a session, and its lines by place.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;

use recto_log::DEFAULT_LINE_CAP;
use recto_log::Entry;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::LineSource;
use recto_session::NodeId;
use recto_session::Session;
use recto_session::Span;
use recto_session::request::Generation;
use recto_session::request::read_by;

use crate::StoreError;
use crate::open_file;
use crate::place::platform::read_span;

/// A session with the file it was read from. The session holds facts; texts
/// are read again by their place, so that a log of any size can be worked on.
#[derive(Debug)]
pub struct Loaded {
    /// The session.
    pub session: Session,
    file: File,
}

impl Loaded {
    /// Reads a log.
    pub fn read(path: &Path) -> Result<Loaded, StoreError> {
        Loaded::read_with(path, |entry| entry)
    }

    /// Reads a log as clients of a generation do, who may see more in a damaged line.
    pub fn read_as(path: &Path, generation: Generation) -> Result<Loaded, StoreError> {
        Loaded::read_with(path, |entry| read_by(entry, generation))
    }

    fn read_with(
        path: &Path,
        see: impl for<'a> Fn(Entry<'a>) -> Entry<'a>,
    ) -> Result<Loaded, StoreError> {
        let mut lines = LineReader::new(open_file(path)?);
        let mut session = Session::new();
        while let Some(line) = lines.next_line()? {
            session.push(&see(decode(line).0));
        }
        // A second descriptor, because the reader has moved the first one.
        Ok(Loaded { session, file: open_file(path)? })
    }

    /// Reads a line of the chain again and gives it to `work`, decoded. `None` if it cannot
    /// be read; [`Session::with_entry`] says why.
    pub fn with_entry<T>(&self, id: NodeId, work: impl FnOnce(&Entry<'_>) -> T) -> Option<T> {
        self.session.with_entry(id, self, work).ok()
    }
}

impl LineSource for Loaded {
    fn line(&self, span: Span) -> io::Result<Cow<'_, [u8]>> {
        read_line(&self.file, span)
    }
}

/// The lines of a log that is open.
pub(crate) struct FileLines<'f>(pub(crate) &'f File);

impl LineSource for FileLines<'_> {
    fn line(&self, span: Span) -> io::Result<Cow<'_, [u8]>> {
        read_line(self.0, span)
    }
}

/// Reads a line again. One that the first reader did not keep is not read now.
fn read_line(file: &File, span: Span) -> io::Result<Cow<'_, [u8]>> {
    if span.length > DEFAULT_LINE_CAP as u64 {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    read_span(file, span.offset, span.length).map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn lines_are_read_again_by_their_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        let line = r#"{"type":"user","uuid":"u","message":{"content":"hi"}}"#;
        fs::write(&path, format!("{{}}\n{line}\n")).unwrap();
        let loaded = Loaded::read(&path).unwrap();
        let node = &loaded.session.nodes()[0];
        assert_eq!(loaded.line(node.span()).unwrap(), line.as_bytes());
        let number = loaded.with_entry(NodeId(0), |entry| entry.line().number);
        assert_eq!(number, Some(2));
        fs::write(&path, "").unwrap();
        let error = loaded.line(node.span()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "the file was cut");
    }
}
