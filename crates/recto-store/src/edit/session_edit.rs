//! From a draft to a published session: written, read again, compared, and only
//! then given its name.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use recto_log::EntryUuid;
use recto_log::SessionId;
use recto_log::build::Envelope;
use recto_log::build::MetaLine;
use recto_session::Session;
use recto_session::edit::Comparison;
use recto_session::edit::Draft;
use recto_session::edit::LineFilter;
use recto_session::edit::Place;
use recto_session::edit::Rewrite;
use recto_session::edit::compare;

use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::StoreError;
use crate::edit::copy::SessionCopy;
use crate::edit::copy::Uuids;
use crate::edit::copy::make_parents;
use crate::edit::copy::stage_filtered;
use crate::edit::draft_text::write_draft;
use crate::edit::draft_text::written;
use crate::edit::error::EditError;
use crate::edit::opened_log::OpenedLog;
use crate::publish::Transaction;

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
    directory: Option<String>,
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
            directory: None,
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
        let directory = moved.map(|(_, new)| new);
        let destination = Destination::New { source: source.id, session: id, project, title };
        let removed = draft.removed();
        let (also, parts) = (Vec::new(), Vec::new());
        Ok(Edit { opened, draft, destination, removed, rewrite, copy, also, parts, directory })
    }

    /// The working directory of the result, if it is not that of the source.
    pub fn directory(&self) -> Option<&str> {
        self.directory.as_deref()
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

#[cfg(test)]
#[path = "random_edit_tests.rs"]
mod random_edit_tests;
