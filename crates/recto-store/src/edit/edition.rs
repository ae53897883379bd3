//! From a draft to a published session: written, read again, compared, and only
//! then given its name.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use recto_log::EntryUuid;
use recto_log::LineReader;
use recto_log::SessionId;
use recto_log::build::Envelope;
use recto_log::build::MetaLine;
use recto_log::decode;
use recto_session::LineSource;
use recto_session::Session;
use recto_session::Span;
use recto_session::edit::Comparison;
use recto_session::edit::Draft;
use recto_session::edit::EditError as PlanError;
use recto_session::edit::LineFilter;
use recto_session::edit::Manuscript;
use recto_session::edit::Place;
use recto_session::edit::Rewrite;
use recto_session::edit::WriteError;
use recto_session::edit::compare;

use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::StoreError;
use crate::edit::copy::SessionCopy;
use crate::edit::copy::make_parents;
use crate::edit::copy::stage_filtered;
use crate::edit::error::EditError;
use crate::open_file;
use crate::place::platform::read_span;
use crate::publish::FileIdentity;
use crate::publish::Transaction;

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

/// Where the result of an edit goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// The log itself, whose old version is kept as a backup.
    InPlace {
        /// The log.
        path: PathBuf,
    },
    /// A new session.
    New {
        /// The session that the log is of.
        source: SessionId,
        /// Its new id.
        session: SessionId,
        /// The directory of the project that it goes to.
        project: PathBuf,
        /// Its title.
        title: Option<String>,
    },
}

impl Destination {
    /// The log that is written.
    pub fn path(&self) -> PathBuf {
        match self {
            Destination::InPlace { path } => path.clone(),
            Destination::New { session, project, .. } => project.join(format!("{session}.jsonl")),
        }
    }
}

/// A new id for a session.
pub fn new_session_id() -> SessionId {
    SessionId::from_bits(uuid::Uuid::new_v4().as_u128())
}

/// Whether the lines of a copy keep their uuids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uuids {
    /// As the client's own forks do.
    Keep,
    /// The copy shares no id with its source.
    New,
}

/// An edit that is ready to be published.
#[derive(Debug)]
pub struct Edit<'a> {
    /// The log as it is.
    pub opened: &'a OpenedLog,
    /// The log as it shall be.
    pub draft: Draft<'a>,
    /// Where it goes.
    pub destination: Destination,
    /// The lines that need not be sent any more: those that are not in the new
    /// log, unless the plan knows better.
    pub removed: HashSet<EntryUuid>,
    pub(crate) rewrite: Rewrite,
    pub(crate) copy: SessionCopy,
    /// Sessions that must be sent as a whole too, but for some lines.
    pub(crate) also: Vec<(&'a Session, HashSet<EntryUuid>)>,
    /// Files beside the log that go through the filter in place.
    parts: Vec<PathBuf>,
}

impl<'a> Edit<'a> {
    /// An edit of the log itself.
    pub fn in_place(opened: &'a OpenedLog, draft: Draft<'a>, path: &Path) -> Edit<'a> {
        Edit {
            opened,
            removed: draft.removed(),
            draft,
            destination: Destination::InPlace { path: path.to_owned() },
            rewrite: Rewrite::none(),
            copy: SessionCopy::default(),
            also: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// An edit that makes a new session, with all that belongs to the old one.
    pub fn new_session(
        home: &Home,
        inventory: &Inventory,
        source: &SessionFile,
        opened: &'a OpenedLog,
        draft: Draft<'a>,
        new: NewSession,
    ) -> Result<Edit<'a>, StoreError> {
        Edit::between_homes((home, home), inventory, source, opened, draft, new)
    }

    /// The same from one home to another.
    pub(crate) fn between_homes(
        (from, to): (&Home, &Home),
        inventory: &Inventory,
        source: &SessionFile,
        opened: &'a OpenedLog,
        draft: Draft<'a>,
        new: NewSession,
    ) -> Result<Edit<'a>, StoreError> {
        let NewSession { id, project, title, uuids, moved } = new;
        let copy = SessionCopy::plan((from, to), inventory, source, id, &project)?;
        let mut rewrite = Rewrite::session(source.id, id).with_other_sessions(&opened.manuscript);
        if uuids == Uuids::New {
            rewrite = rewrite.with_new_uuids(&opened.manuscript);
        }
        rewrite = copy.rewrite(rewrite, uuids)?;
        if let Some((old, new)) = &moved {
            rewrite = rewrite.with_directory(old, new);
        }
        let destination = Destination::New { source: source.id, session: id, project, title };
        let removed = draft.removed();
        let (also, parts) = (Vec::new(), Vec::new());
        Ok(Edit { opened, draft, destination, removed, rewrite, copy, also, parts })
    }

    /// Lets every line, and every text beside the log, go through a filter. In
    /// place, `parts` are the files that belong to the session. Versions of files
    /// from before an edit are not for a filter, because the client puts them back
    /// as they are: a new session goes without them.
    #[must_use]
    pub fn filtered(mut self, home: &Home, filter: &LineFilter, parts: &[PathBuf]) -> Edit<'a> {
        self.rewrite = self.rewrite.with_filter(filter.clone());
        self.copy.leave_out(&home.file_history());
        if matches!(self.destination, Destination::InPlace { .. }) {
            let history = home.file_history();
            let parts = parts.iter().filter(|path| !path.starts_with(&history));
            self.parts = parts.cloned().collect();
        }
        self
    }

    /// How many files belong to the session beside its log, and are copied.
    pub fn copied_files(&self) -> usize {
        self.copy.len()
    }

    /// The draft with the title of the new session.
    fn titled(&self) -> Draft<'a> {
        let mut draft = self.draft.clone();
        if let Destination::New { source, title: Some(title), .. } = &self.destination {
            // It is written with the old id, which is replaced as everywhere else.
            let title = MetaLine::CustomTitle(title.into());
            draft.add(Place::End, Envelope::of_session(*source).meta(&title));
        }
        draft
    }

    /// What the edit would do. Nothing is written.
    pub fn preview(&self) -> Result<Comparison, StoreError> {
        let result = written(self.opened, &self.titled(), &self.rewrite)?;
        self.compared(&result)
    }

    /// Writes the new log beside its place, reads it again and compares it with
    /// its source. An edit by which any client would lose more than was asked
    /// for is refused, and nothing has changed.
    pub fn stage(&self, transaction: &mut Transaction<'_>) -> Result<Comparison, StoreError> {
        let draft = self.titled();
        self.opened.check()?;
        let write = |out: &mut dyn Write| write_draft(self.opened, &draft, &self.rewrite, out);
        let path = self.destination.path();
        let staged = match &self.destination {
            Destination::InPlace { .. } => {
                transaction.replace(&path, &self.opened.identity, write)?
            }
            Destination::New { .. } => {
                make_parents(transaction, &path)?;
                transaction.create(&path, write)?
            }
        };
        self.opened.check()?;
        let result = OpenedLog::read(staged.path())?;
        let comparison = self.compared(result.session())?;
        refuse_damage(self.opened, &result)?;
        self.copy.stage(transaction, &self.rewrite)?;
        for path in &self.parts {
            stage_filtered(transaction, path, &self.rewrite)?;
        }
        Ok(comparison)
    }

    /// Compares the result with its source.
    fn compared(&self, result: &Session) -> Result<Comparison, StoreError> {
        let comparison = compare(self.opened.session(), result, &self.removed, &self.rewrite);
        refuse_losses(&comparison)?;
        for (session, but_for) in &self.also {
            refuse_losses(&compare(session, result, but_for, &self.rewrite))?;
        }
        Ok(comparison)
    }
}

/// What a new session is to be.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// The directory of its project.
    pub project: PathBuf,
    /// Its title.
    pub title: Option<String>,
    /// Whether its lines keep their uuids.
    pub uuids: Uuids,
    /// Its working directory, where that is another one: the old and the new.
    pub moved: Option<(String, String)>,
}

pub(crate) fn refuse_losses(comparison: &Comparison) -> Result<(), StoreError> {
    if comparison.losses.is_empty() {
        return Ok(());
    }
    let losses = comparison.losses.iter().map(ToString::to_string).collect();
    Err(EditError::WouldLose { losses }.into())
}

/// Refuses a result that has more damaged lines than its source.
pub(crate) fn refuse_damage(source: &OpenedLog, result: &OpenedLog) -> Result<(), StoreError> {
    match result.problems.saturating_sub(source.problems) {
        0 => Ok(()),
        new => Err(EditError::WouldLose { losses: vec![format!("{new} damaged lines")] }.into()),
    }
}

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
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.line.extend_from_slice(&rest[..end]);
            self.end_line(true);
            rest = &rest[end + 1..];
        }
        self.line.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "random_edit_tests.rs"]
mod random_edit_tests;
