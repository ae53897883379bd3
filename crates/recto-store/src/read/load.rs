//! A log as a session, and its lines by place.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use fs_err as fs;
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

use crate::Advance;
use crate::Cursor;
use crate::ReadLimits;
use crate::StoreError;
use crate::log::file_state::FileState;
use crate::open_file;
use crate::place::platform::read_span;

/// A session with the file it was read from. The session holds facts; texts
/// are read again by their place, so that a log of any size can be worked on.
///
/// Clones share the file, and copy the session.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The session.
    pub session: Session,
    path: PathBuf,
    file: Arc<File>,
    /// What the file was when it was read.
    state: FileState,
    /// Where the log is read on; none if it has to be read again as a whole.
    cursor: Option<Cursor>,
}

/// What became of a log since it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// Nothing.
    Same,
    /// Lines were added, and are taken in.
    Grown,
    /// It was read again, because it was changed or ended in the middle of a line.
    Anew,
}

impl Loaded {
    /// Reads a log.
    pub fn read(path: &Path) -> Result<Loaded, StoreError> {
        Loaded::read_with(path, Session::new(), |entry| entry)
    }

    /// Reads a log as clients of a generation do, who may see more in a damaged line. It
    /// does not grow: a refresh would read it without that.
    pub fn read_as(path: &Path, generation: Generation) -> Result<Loaded, StoreError> {
        let mut session = Session::new();
        session.read_as(generation);
        Loaded::read_with(path, session, |entry| read_by(entry, generation))
    }

    fn read_with(
        path: &Path,
        mut session: Session,
        see: impl for<'a> Fn(Entry<'a>) -> Entry<'a>,
    ) -> Result<Loaded, StoreError> {
        let file = open_file(path)?;
        let cursor = Cursor::at_end(&file)?;
        let state = cursor.state();
        let mut lines = LineReader::new((&file).take(state.size));
        let mut is_torn = false;
        while let Some(line) = lines.next_line()? {
            if line.terminated && line.offset >= cursor.offset() {
                // Written meanwhile: it comes with a refresh.
                break;
            }
            is_torn = !line.terminated;
            session.push(&see(decode(line).0));
        }
        // A line that is not whole is shown, and may become another one. A file that was
        // changed while it was read must not be gone on with.
        let goes_on = !is_torn && cursor.is_intact(&file)?;
        let cursor = goes_on.then_some(cursor);
        Ok(Loaded { session, path: path.to_owned(), file: Arc::new(file), state, cursor })
    }

    /// Another session whose lines are inside this log. It does not grow.
    pub(crate) fn inside(&self, session: Session) -> Loaded {
        let (path, file) = (self.path.clone(), Arc::clone(&self.file));
        Loaded { session, path, file, state: self.state, cursor: None }
    }

    /// Takes in what happened to the file since. After an error it must be read again.
    pub fn refresh(&mut self) -> Result<Refresh, StoreError> {
        if self.is_fresh() {
            return Ok(Refresh::Same);
        }
        let file = open_file(&self.path)?;
        let metadata = file.metadata()?;
        let now = FileState::listed(&metadata);
        // Written without growing: any of it may be other text.
        let is_rewritten = now.size == self.state.size && now.modified != self.state.modified;
        let before = self.session.lines;
        if is_rewritten || !self.take_new(&file)? {
            *self = Loaded::read(&self.path)?;
            return Ok(Refresh::Anew);
        }
        Ok(if self.session.lines > before { Refresh::Grown } else { Refresh::Same })
    }

    /// Whether the file is what it was when it was read, as far as its state and
    /// its cursor tell.
    pub fn is_fresh(&self) -> bool {
        let Ok(metadata) = fs::metadata(&self.path) else { return false };
        let now = FileState::listed(&metadata);
        if now == self.state {
            return true;
        }
        // The clock of the file system may have stood still since it was written.
        let looks_the_same = !self.state.is_certain()
            && (now.size, now.modified) == (self.state.size, self.state.modified);
        let is_intact = |cursor: &Cursor| {
            open_file(&self.path).is_ok_and(|file| cursor.is_intact(&file).unwrap_or(false))
        };
        looks_the_same && self.cursor.as_ref().is_some_and(is_intact)
    }

    /// How large the file was.
    pub fn bytes(&self) -> u64 {
        self.state.size
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes in the lines that were added. `false` if that is not all that happened.
    fn take_new(&mut self, file: &File) -> Result<bool, StoreError> {
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        loop {
            match cursor.advance(file, ReadLimits::default())? {
                Advance::Grown(growth) => {
                    let number = self.session.lines + 1;
                    growth.lines(number).for_each(|line| self.session.push(&decode(line).0));
                }
                Advance::Nothing => break,
                Advance::Differs => return Ok(false),
            }
        }
        self.state = cursor.state();
        // The end of a line that is not whole is shown, too.
        Ok(!cursor.is_behind())
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
        let node = loaded.session.nodes().next().unwrap();
        assert_eq!(loaded.line(node.span()).unwrap(), line.as_bytes());
        let number = loaded.with_entry(NodeId(0), |entry| entry.line().number);
        assert_eq!(number, Some(2));
        fs::write(&path, "").unwrap();
        let error = loaded.line(node.span()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "the file was cut");
    }
}
