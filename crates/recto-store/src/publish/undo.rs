//! Undo and redo: an operation's changes in the other direction, published like
//! any others.

use std::path::Path;
use std::path::PathBuf;

use super::Change;
use super::FileIdentity;
use super::Journal;
use super::Operation;
use super::OperationId;
use super::PublishError;
use super::State;
use super::Status;
use super::Transaction;
use super::state::hash_beginning;
use super::state::is_in;
use super::transaction::Attributes;
use crate::Home;
use crate::StoreError;

/// Undo or redo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Back to what was before the operation.
    Undo,
    /// To what was after it.
    Redo,
}

/// What to do about a file that another program has changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// Refuse, and change nothing at all.
    Refuse,
    /// Keep the present version as a backup, and go on.
    Keep,
}

/// What was undone or redone.
#[derive(Debug, Clone)]
pub struct Reversal {
    /// The operation as it is now.
    pub operation: Operation,
    /// Files that had been changed since, with the backups of what they were.
    pub kept: Vec<(PathBuf, PathBuf)>,
}

impl Journal {
    /// Undoes an operation of the home: the last one that is in force, unless
    /// one is named.
    pub fn undo(
        &mut self,
        home: &Home,
        which: Option<OperationId>,
        changed: Changed,
    ) -> Result<Reversal, StoreError> {
        self.reverse(home, which, Direction::Undo, changed)
    }

    /// Does again what was undone last, unless an operation is named.
    pub fn redo(
        &mut self,
        home: &Home,
        which: Option<OperationId>,
    ) -> Result<Reversal, StoreError> {
        self.reverse(home, which, Direction::Redo, Changed::Refuse)
    }

    /// Finds the operation that would be undone or redone, and the files that
    /// another program has changed since, with what happened to them. Refuses if a
    /// client works on one of its sessions.
    pub fn look(
        &self,
        home: &Home,
        which: Option<OperationId>,
        direction: Direction,
    ) -> Result<(Operation, Vec<PublishError>), StoreError> {
        let operation = self.choose(home, which, direction)?;
        let mut changed = Vec::new();
        for change in &operation.changes {
            self.bounds.check_recorded(&change.path)?;
            let from = ends(change, direction).0;
            let is_directory = [&change.before, &change.after]
                .iter()
                .any(|state| matches!(state, Some(State::Directory { .. })));
            if !is_directory && !is_in(&change.path, from)? {
                let how = self.what_happened(&operation, &change.path, from)?;
                let (path, id) = (change.path.clone(), operation.id);
                changed.push(PublishError::ChangedSince { path, how, id });
            }
        }
        home.may_reverse(&operation)?;
        Ok((operation, changed))
    }

    fn choose(
        &self,
        home: &Home,
        which: Option<OperationId>,
        direction: Direction,
    ) -> Result<Operation, StoreError> {
        let (wanted, nothing) = match direction {
            Direction::Undo => (Status::Done, PublishError::NothingToUndo),
            Direction::Redo => (Status::Undone, PublishError::NothingToRedo),
        };
        let fits = |operation: &Operation| {
            operation.status == wanted && operation.home == home.real_root()
        };
        if let Some(id) = which {
            let operation = self.operation(id)?;
            if operation.home != home.real_root() {
                return Err(PublishError::OtherHome { id, home: operation.home }.into());
            }
            return if fits(&operation) { Ok(operation) } else { Err(nothing.into()) };
        }
        let mut operations = self.operations()?;
        operations.retain(fits);
        let last = match direction {
            Direction::Undo => operations.pop(),
            Direction::Redo => operations.into_iter().max_by_key(|operation| operation.sequence),
        };
        Ok(last.ok_or(nothing)?)
    }

    /// In words, what another program did to a file.
    fn what_happened(
        &self,
        operation: &Operation,
        path: &Path,
        from: Option<&State>,
    ) -> Result<String, StoreError> {
        let later = self.operations()?.into_iter().rev().find(|other| {
            other.id > operation.id
                && other.status == Status::Done
                && other.changes.iter().any(|change| change.path == path)
        });
        if let Some(later) = later {
            return Ok(format!("was changed by operation {} ({})", later.id, later.name));
        }
        let Ok(metadata) = fs_err::symlink_metadata(path) else {
            return Ok("was removed".to_owned());
        };
        match from.and_then(State::file) {
            None => Ok("was made".to_owned()),
            Some(file)
                if metadata.is_file()
                    && metadata.len() > file.bytes
                    && hash_beginning(path, file.bytes)? == file.sha256 =>
            {
                Ok(format!("has grown by {} bytes", metadata.len() - file.bytes))
            }
            Some(_) => Ok("was changed".to_owned()),
        }
    }

    fn reverse(
        &mut self,
        home: &Home,
        which: Option<OperationId>,
        direction: Direction,
        changed: Changed,
    ) -> Result<Reversal, StoreError> {
        let (previous, mut differing) = self.look(home, which, direction)?;
        if changed == Changed::Refuse && !differing.is_empty() {
            return Err(differing.swap_remove(0).into());
        }
        let mut operation = previous.clone();
        operation.sequence = self.records.next_sequence()?;
        operation.status = match direction {
            Direction::Undo => Status::Undone,
            Direction::Redo => Status::Done,
        };
        let mut changes = previous.changes.clone();
        let mut kept = Vec::new();
        let mut folders = Vec::new();
        let mut transaction = Transaction::new(self, operation, Some(previous));
        let mut order: Vec<usize> = (0..changes.len()).collect();
        if direction == Direction::Undo {
            order.reverse();
        }
        for at in order {
            let change = &mut changes[at];
            let mut made = Vec::new();
            let found = stage(&mut transaction, change, direction, &mut made)?;
            folders.extend(made.into_iter().map(|folder| (at, folder)));
            let from = ends(change, direction).0;
            let differs = from.and_then(State::file).map(|file| &file.sha256)
                != found.as_ref().and_then(State::file).map(|file| &file.sha256);
            if differs {
                // It was as the operation left it a moment ago.
                if changed == Changed::Refuse {
                    let path = change.path.clone();
                    return Err(PublishError::ChangedMeanwhile { path }.into());
                }
                if let Some(State::File(file)) = &found {
                    kept.push((change.path.clone(), transaction.backups().path(&file.sha256)));
                }
                // So that the opposite brings back what was there now.
                match direction {
                    Direction::Undo => change.after = found,
                    Direction::Redo => change.before = found,
                }
            }
        }
        transaction.operation_mut().changes = with_folders(changes, &folders, direction);
        let operation = transaction.commit()?;
        Ok(Reversal { operation, kept })
    }
}

/// From where to where a change goes.
fn ends(change: &Change, direction: Direction) -> (Option<&State>, Option<&State>) {
    match direction {
        Direction::Undo => (change.after.as_ref(), change.before.as_ref()),
        Direction::Redo => (change.before.as_ref(), change.after.as_ref()),
    }
}

/// The mode of a folder that had to be made again.
const FOLDER: State = State::Directory { mode: Some(0o700) };

/// Adds folders that had to be made for changes, so that the opposite removes them.
fn with_folders(
    changes: Vec<Change>,
    folders: &[(usize, PathBuf)],
    direction: Direction,
) -> Vec<Change> {
    let mut all = Vec::with_capacity(changes.len() + folders.len());
    for (at, change) in changes.into_iter().enumerate() {
        let made = folders.iter().filter(|(place, _)| *place == at);
        let made = made.map(|(_, folder)| folder.clone());
        // Outer folders are made first and removed last.
        match direction {
            Direction::Redo => {
                let made = made.map(|path| Change { path, before: None, after: Some(FOLDER) });
                all.extend(made);
                all.push(change);
            }
            Direction::Undo => {
                all.push(change);
                let gone = made.map(|path| Change { path, before: Some(FOLDER), after: None });
                all.extend(gone.rev());
            }
        }
    }
    all
}

/// Makes the folders of a file again that are gone, outer ones first: another
/// operation may have emptied and removed them.
fn stage_folders(
    transaction: &mut Transaction<'_>,
    path: &Path,
    made: &mut Vec<PathBuf>,
) -> Result<(), StoreError> {
    let above = path.ancestors().skip(1);
    let is_gone = |folder: &&Path| fs_err::symlink_metadata(folder).is_err();
    let gone: Vec<&Path> = above.take_while(is_gone).collect();
    for folder in gone.into_iter().rev() {
        transaction.stage_directory(folder.to_owned(), Some(0o700))?;
        made.push(folder.to_owned());
    }
    Ok(())
}

/// Stages one change in the other direction. Gives what is there now. `made` gets the
/// folders that had to be made for it.
fn stage(
    transaction: &mut Transaction<'_>,
    change: &Change,
    direction: Direction,
    made: &mut Vec<PathBuf>,
) -> Result<Option<State>, StoreError> {
    let path = &change.path;
    let (from, to) = ends(change, direction);
    match (from, to) {
        (_, Some(State::Directory { mode })) => {
            if !path.is_dir() {
                transaction.stage_directory(path.clone(), *mode)?;
            }
            return Ok(from.cloned());
        }
        (Some(State::Directory { mode }), _) => {
            let there = Some(State::Directory { mode: *mode });
            transaction.push(path.clone(), there.clone(), None, None, None);
            return Ok(there);
        }
        (Some(State::File(_)) | None, Some(State::File(_)) | None) => {}
    }
    let present = match fs_err::symlink_metadata(path) {
        Ok(_) => {
            let identity = FileIdentity::of(path)?;
            Some((identity, transaction.backups().keep(path, &identity)?))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let found = present.as_ref().map(|(_, state)| State::File(state.clone()));
    match (present, to.and_then(State::file)) {
        (Some((identity, before)), Some(wanted)) => {
            let attributes = Attributes::from(wanted);
            transaction.stage_replacement(
                path.clone(),
                identity,
                before,
                attributes,
                |backups, out| backups.copy_to(wanted, out),
            )?;
        }
        (Some((identity, before)), None) => {
            transaction.stage_removal(path.clone(), State::File(before), identity);
        }
        (None, Some(wanted)) => {
            stage_folders(transaction, path, made)?;
            let attributes = Attributes::from(wanted);
            transaction.stage_creation(path.clone(), attributes, |backups, out| {
                backups.copy_to(wanted, out)
            })?;
        }
        (None, None) => {}
    }
    Ok(found)
}
