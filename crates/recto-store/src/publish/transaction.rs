//! Staging and committing.

use std::ffi::OsStr;
use std::io;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use fs_err as fs;
use jiff::Timestamp;

use super::Change;
use super::Journal;
use super::Operation;
use super::PublishError;
use super::apply;
use super::backup::Backups;
use super::bounds::Bounds;
use super::notes::Notes;
use super::notes::temporary_name;
use super::operation::Pending;
use super::operation::Step;
use super::record::text;
use super::state::FileIdentity;
use super::state::FileVersion;
use super::state::HashingWriter;
use super::state::State;
use crate::Digest;
use crate::StoreError;
use crate::log::log_file::LogName;
use crate::place::error::PlaceError;
use crate::place::folder::Folder;
use crate::place::platform;
use crate::place::platform::timestamp;

/// An operation under way. Dropped without [`Transaction::commit`], it leaves
/// everything as it was.
#[derive(Debug)]
pub struct Transaction<'j> {
    journal: &'j mut Journal,
    operation: Operation,
    previous: Option<Operation>,
    bounds: Bounds,
    notes: Notes,
    steps: Vec<Step>,
    /// For each step, the file that it replaces or removes.
    expected: Vec<Option<FileIdentity>>,
    is_settled: bool,
}

/// New content that is written and durable, and has not yet its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    temporary: PathBuf,
    state: FileVersion,
}

impl Staged {
    /// Where the content can be read again, to be checked.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// What will be there.
    pub fn state(&self) -> &FileVersion {
        &self.state
    }
}

impl<'j> Transaction<'j> {
    pub(crate) fn new(
        journal: &'j mut Journal,
        operation: Operation,
        previous: Option<Operation>,
    ) -> Transaction<'j> {
        let notes = Notes::new(journal.records.notes_path(operation.id), &operation);
        let bounds = journal.bounds.clone();
        Transaction {
            journal,
            operation,
            previous,
            bounds,
            notes,
            steps: Vec::new(),
            expected: Vec::new(),
            is_settled: false,
        }
    }

    /// Stages a new file, where there must be none. Only its user may read it,
    /// as with the client's own.
    pub fn create(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<Staged, StoreError> {
        self.stage_new(path, Attributes { modified: None, mode: Some(0o600) }, write)
    }

    /// Stages a new file that shall seem to be written at a time.
    pub fn create_at(
        &mut self,
        path: &Path,
        modified: Timestamp,
        write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<Staged, StoreError> {
        self.stage_new(path, Attributes { modified: Some(modified), mode: Some(0o600) }, write)
    }

    /// Stages new content of a file, which must be the version that is
    /// expected, now and when it is replaced. Its time stays, because the client
    /// continues the session whose log is the newest.
    pub fn replace(
        &mut self,
        path: &Path,
        expected: &FileIdentity,
        write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<Staged, StoreError> {
        self.replace_at(path, expected, expected.modified, write)
    }

    /// The same with another time.
    pub fn replace_at(
        &mut self,
        path: &Path,
        expected: &FileIdentity,
        modified: Timestamp,
        write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<Staged, StoreError> {
        let path = self.bounds.locate_existing(path)?;
        text(&path)?;
        let before = self.journal.backups.keep(&path, expected)?;
        let attributes = Attributes { modified: Some(modified), mode: before.mode };
        self.stage_replacement(path, *expected, before, attributes, |_, out| write(out))
    }

    /// Stages the removal of a file, which must be the version that is expected.
    pub fn remove(&mut self, path: &Path, expected: &FileIdentity) -> Result<(), StoreError> {
        let path = self.bounds.locate_existing(path)?;
        text(&path)?;
        let before = self.journal.backups.keep(&path, expected)?;
        self.stage_removal(path, State::File(before), *expected);
        Ok(())
    }

    /// Makes a directory now, so that files can be staged in it. It goes again if
    /// the operation is not committed. One that is there is left alone.
    pub fn create_directory(&mut self, path: &Path) -> Result<(), StoreError> {
        let path = self.bounds.locate(path)?;
        if path.is_dir() {
            return Ok(());
        }
        self.stage_directory(path, Some(0o700))
    }

    /// Stages the removal of a directory. It goes if it is empty then.
    pub fn remove_directory(&mut self, path: &Path) -> Result<(), StoreError> {
        let path = self.bounds.locate(path)?;
        text(&path)?;
        let metadata = fs::symlink_metadata(&path)?;
        if !metadata.is_dir() {
            return Err(PlaceError::NotADirectory { path }.into());
        }
        let before = State::Directory { mode: platform::mode(&metadata) };
        self.push(path, Some(before), None, None, None);
        Ok(())
    }

    /// What the operation will have changed.
    pub fn changes(&self) -> Vec<Change> {
        self.steps.iter().map(Change::from).collect()
    }

    /// Publishes everything that was staged. If this fails, nothing has changed,
    /// or the error is [`PublishError::Interrupted`].
    pub fn commit(mut self) -> Result<Operation, StoreError> {
        if self.operation.changes.is_empty() {
            self.operation.changes = self.changes();
            self.operation.title = self.title();
        }
        for (step, expected) in self.steps.iter().zip(&self.expected) {
            if expected.is_some() {
                let (folder, name) = self.bounds.open(&step.path)?;
                apply::check(&folder, name, expected.as_ref())?;
            }
        }
        let staged = self.notes.staged.temporaries.iter().chain(&self.notes.staged.directories);
        apply::sync_parents(&self.bounds, staged.map(PathBuf::as_path))?;
        self.is_settled = true;
        match self.publish() {
            Ok(()) => Ok(self.operation.clone()),
            Err(error) => Err(self.give_up(error)),
        }
    }

    /// The title of the session that the operation is about: as its new log has it, because
    /// the old one may have been redacted.
    fn title(&self) -> Option<String> {
        let is_log = |step: &&Step| matches!(LogName::of_path(&step.path), Some(LogName::Main(_)));
        self.steps.iter().filter(is_log).find_map(|step| {
            let log = match step.to {
                Some(_) => step.temporary.as_ref()?,
                None => &step.path,
            };
            Digest::read(log, false).ok()?.title.map(|(title, _)| title)
        })
    }

    fn publish(&mut self) -> Result<(), StoreError> {
        let mut intended = self.operation.clone();
        intended.pending = Some(Pending {
            previous: self.previous.clone().map(Box::new),
            steps: self.steps.clone(),
        });
        // From here on the operation will be finished, whatever happens.
        self.journal.records.write(&intended)?;
        for (step, expected) in self.steps.iter().zip(&self.expected) {
            apply::apply(&self.bounds, step, expected.as_ref())?;
        }
        let paths = || self.steps.iter().map(|step| step.path.as_path());
        apply::sync_parents(&self.bounds, paths())?;
        apply::conclude(&self.bounds, &self.steps, &self.expected)?;
        apply::sync_parents(&self.bounds, paths())?;
        self.journal.records.write(&self.operation)?;
        // What is left over is removed by the next one that opens the journal.
        let _ = self.notes.finish();
        Ok(())
    }

    /// Takes back what was done.
    fn give_up(&mut self, error: StoreError) -> StoreError {
        let mut intended = self.operation.clone();
        intended.pending = Some(Pending {
            previous: self.previous.clone().map(Box::new),
            steps: std::mem::take(&mut self.steps),
        });
        match self.journal.take_back(&intended, &mut self.notes) {
            Ok(_) => error,
            Err(second) => PublishError::Interrupted {
                id: self.operation.id,
                cause: format!("{error}; {second}"),
            }
            .into(),
        }
    }

    fn stage_new(
        &mut self,
        path: &Path,
        attributes: Attributes,
        write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<Staged, StoreError> {
        let path = self.bounds.locate(path)?;
        self.stage_creation(path, attributes, |_, out| write(out))
    }

    pub(crate) fn stage_creation(
        &mut self,
        path: PathBuf,
        attributes: Attributes,
        write: impl FnOnce(&Backups, &mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<Staged, StoreError> {
        if fs::symlink_metadata(&path).is_ok() {
            return Err(PublishError::Exists { path }.into());
        }
        let staged = self.stage(&path, attributes, write)?;
        let to = Some(State::File(staged.state.clone()));
        self.push(path, None, to, Some(staged.temporary.clone()), None);
        Ok(staged)
    }

    pub(crate) fn stage_replacement(
        &mut self,
        path: PathBuf,
        expected: FileIdentity,
        before: FileVersion,
        attributes: Attributes,
        write: impl FnOnce(&Backups, &mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<Staged, StoreError> {
        let staged = self.stage(&path, attributes, write)?;
        let to = Some(State::File(staged.state.clone()));
        let from = Some(State::File(before));
        self.push(path, from, to, Some(staged.temporary.clone()), Some(expected));
        Ok(staged)
    }

    /// Stages a removal. What another program may write until then is looked at again
    /// under another name.
    pub(crate) fn stage_removal(&mut self, path: PathBuf, from: State, expected: FileIdentity) {
        // Numbers of staged files are smaller.
        let name = temporary_name(&self.operation, 2_000_000 + self.steps.len());
        let aside = path.with_file_name(name);
        self.push(path, Some(from), None, Some(aside), Some(expected));
    }

    pub(crate) fn stage_directory(
        &mut self,
        path: PathBuf,
        mode: Option<u32>,
    ) -> Result<(), StoreError> {
        self.notes.directory(&path)?;
        apply::make_directory(&self.bounds, &path, mode)?;
        self.push(path, None, Some(State::Directory { mode }), None, None);
        Ok(())
    }

    pub(crate) fn push(
        &mut self,
        path: PathBuf,
        from: Option<State>,
        to: Option<State>,
        temporary: Option<PathBuf>,
        expected: Option<FileIdentity>,
    ) {
        self.steps.push(Step { path, from, to, temporary });
        self.expected.push(expected);
    }

    /// The operation as it will be recorded.
    pub(crate) fn operation_mut(&mut self) -> &mut Operation {
        &mut self.operation
    }

    pub(crate) fn backups(&self) -> &Backups {
        &self.journal.backups
    }

    fn stage(
        &mut self,
        path: &Path,
        attributes: Attributes,
        write: impl FnOnce(&Backups, &mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<Staged, StoreError> {
        let (folder, _) = self.bounds.open(path)?;
        let backups = self.journal.backups.clone();
        let number = self.notes.staged.temporaries.len();
        let name = temporary_name(&self.operation, number);
        write_staged(&folder, name.as_ref(), &mut self.notes, attributes, |out| {
            write(&backups, out)
        })
    }
}

/// What a staged file shall have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes {
    /// Its time; else the present.
    pub(crate) modified: Option<Timestamp>,
    /// Who may do what with it.
    pub(crate) mode: Option<u32>,
}

impl From<&FileVersion> for Attributes {
    fn from(state: &FileVersion) -> Attributes {
        Attributes { modified: Some(state.modified), mode: state.mode }
    }
}

/// Writes a file that has not yet its name, and makes it durable.
pub(crate) fn write_staged(
    folder: &Folder,
    name: &OsStr,
    notes: &mut Notes,
    attributes: Attributes,
    write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
) -> Result<Staged, StoreError> {
    let temporary = folder.join(name);
    notes.temporary(&temporary)?;
    let file = folder.create(name)?;
    let mut writer = HashingWriter::new(BufWriter::with_capacity(256 * 1024, file));
    write(&mut writer)?;
    let (buffered, sha256, bytes) = writer.finish();
    let file = buffered.into_inner().map_err(io::IntoInnerError::into_error)?;
    if let Some(mode) = attributes.mode {
        platform::set_mode(&file, mode)?;
    }
    if let Some(modified) = attributes.modified {
        file.set_modified(SystemTime::from(modified))?;
    }
    file.sync_all()?;
    let metadata = file.metadata()?;
    let modified = timestamp(metadata.modified());
    let state = FileVersion { sha256, bytes, modified, mode: platform::mode(&metadata) };
    Ok(Staged { temporary, state })
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            // What cannot be removed now is removed when the journal is opened next.
            let _ = self.notes.abandon(&self.bounds);
        }
    }
}
