//! A log that is to be edited, and that it is still the same when its lines are read again.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;

use recto_log::LineReader;
use recto_log::UserText;
use recto_log::decode;
use recto_session::LineSource;
use recto_session::NodeId;
use recto_session::Session;
use recto_session::Span;
use recto_session::edit::EditError as PlanError;
use recto_session::edit::Manuscript;

use crate::StoreError;
use crate::open_file;
use crate::place::platform::read_span;
use crate::publish::FileIdentity;

/// A log that is to be edited. What is read of it later is of the same version,
/// or the edit is refused.
#[derive(Debug)]
pub struct OpenedLog {
    /// What the log holds.
    pub manuscript: Manuscript,
    /// Problems of its lines.
    pub problems: u64,
    /// Which version of the file it is.
    pub identity: FileIdentity,
    file: File,
    /// A second log whose lines follow.
    pub(crate) next: Option<NextLog>,
}

/// A log whose lines follow those of another one.
#[derive(Debug)]
pub(crate) struct NextLog {
    /// Where it begins.
    pub(crate) offset: u64,
    pub(crate) file: File,
    pub(crate) identity: FileIdentity,
}

impl OpenedLog {
    /// Reads a log.
    pub fn read(path: &Path) -> Result<OpenedLog, StoreError> {
        let file = open_file(path)?;
        let identity = FileIdentity::of_file(&file)?;
        let mut lines = LineReader::new(open_file(path)?);
        let mut manuscript = Manuscript::new();
        let mut problems = 0;
        while let Some(line) = lines.next_line()? {
            let (entry, found) = decode(line);
            problems += found.len() as u64;
            manuscript.push(&entry);
        }
        Ok(OpenedLog { manuscript, problems, identity, file, next: None })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.manuscript.session
    }

    /// What the user said last before a line, for the client's list of sessions.
    pub fn prompt_before(&self, leaf: NodeId) -> String {
        let session = self.session();
        let mut at = Some(leaf);
        let mut steps = session.node_count();
        while let Some(id) = at {
            if matches!(session.node(id).user, UserText::Human) {
                let text = session.with_entry(id, self, |entry| {
                    entry.message().map(|message| message.content().text().into_owned())
                });
                return text.ok().flatten().unwrap_or_default().chars().take(200).collect();
            }
            steps = steps.saturating_sub(1);
            at = session.parent(id).filter(|_| steps > 0);
        }
        String::new()
    }

    /// Refuses if a file was written to since it was read.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let next_is_same = match &self.next {
            Some(next) => FileIdentity::of_file(&next.file)? == next.identity,
            None => true,
        };
        if next_is_same && FileIdentity::of_file(&self.file)? == self.identity {
            return Ok(());
        }
        Err(PlanError::SourceChanged { line: self.manuscript.lines().len() as u64 }.into())
    }
}

impl LineSource for OpenedLog {
    fn line(&self, span: Span) -> io::Result<Cow<'_, [u8]>> {
        let (file, start) = match &self.next {
            Some(next) if span.offset >= next.offset => (&next.file, span.offset - next.offset),
            _ => (&self.file, span.offset),
        };
        read_span(file, start, span.length).map(Cow::Owned)
    }
}
