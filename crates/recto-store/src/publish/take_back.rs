//! Steps back. The new content is what is put aside then, and what was written to it
//! meanwhile is carried over to the old.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::Journal;
use super::Operation;
use super::apply;
use super::apply::Action;
use super::late;
use super::late::Against;
use super::notes::Notes;
use super::notes::temporary_name;
use super::operation::Step;
use super::recovery::TakenBack;
use super::sides::Side;
use super::sides::Sides;
use super::state::FileVersion;
use super::transaction::Attributes;
use super::transaction::write_staged;
use super::trash;
use crate::StoreError;
use crate::place::error::PlaceError;
use crate::place::folder::Folder;
use crate::place::writers::wait_for_writers;

/// What becomes of the file that is aside.
#[derive(Debug, Clone, Copy)]
enum Rest {
    /// Nothing is aside.
    None,
    /// What it has after `known` bytes is appended to the file that has the name, whose
    /// first `base` bytes are not late lines. Then it goes.
    Carry { known: u64, base: u64 },
    /// It goes if it is the version that the operation made; else it gets its name back.
    Discard,
    /// Nobody has read it, and something else has its name.
    Trash,
}

/// The step, and what became of its path.
struct Back {
    rest: Rest,
    is_kept: bool,
}

impl Back {
    fn done(rest: Rest) -> Back {
        Back { rest, is_kept: false }
    }

    /// The step was not taken. What was added since is the work of another program.
    fn of(path: Side, rest: Rest) -> Back {
        Back { rest, is_kept: path == Side::OldGrown }
    }

    fn kept(rest: Rest) -> Back {
        Back { rest, is_kept: true }
    }
}

impl Journal {
    /// Takes back the steps of an operation and its record.
    pub(crate) fn take_back(
        &mut self,
        operation: &Operation,
        notes: &mut Notes,
    ) -> Result<TakenBack, StoreError> {
        let mut taken_back = TakenBack::default();
        let Some(pending) = &operation.pending else { return Ok(taken_back) };
        let mut rests = Vec::new();
        for step in pending.steps.iter().rev() {
            let back = self.step_back(operation, step, notes)?;
            if back.is_kept {
                taken_back.kept.push(step.path.clone());
            }
            rests.push((step, back.rest));
        }
        let paths = || pending.steps.iter().map(|step| step.path.as_path());
        apply::sync_parents(&self.bounds, paths())?;
        self.conclude_back(operation, &rests, &mut taken_back)?;
        for step in pending.steps.iter().rev() {
            if matches!(Action::of(step)?, Action::MakeDirectory { .. }) {
                apply::remove_directory(&self.bounds, &step.path)?;
            }
        }
        apply::sync_parents(&self.bounds, paths())?;
        match &pending.previous {
            Some(previous) => self.records.write(previous)?,
            None => self.records.remove(operation.id)?,
        }
        // Nothing depends on it any longer; what is left is removed next time.
        let _ = notes.abandon(&self.bounds);
        Ok(taken_back)
    }

    /// Gives the names of a step back.
    fn step_back(
        &self,
        operation: &Operation,
        step: &Step,
        notes: &mut Notes,
    ) -> Result<Back, StoreError> {
        let sides = Sides::of(&self.bounds, step)?;
        match Action::of(step)? {
            Action::Replace { from, to, temporary } => {
                let (folder, name) = self.bounds.open(&step.path)?;
                let versions = (from, to);
                self.replace_back(operation, (&folder, name, temporary), versions, sides, notes)
            }
            Action::Create { temporary } => {
                let Some((folder, name)) = self.bounds.open_if_there(&step.path)? else {
                    return Ok(Back::done(Rest::None));
                };
                create_back((&folder, name, temporary), sides)
            }
            Action::Remove { from, aside } => {
                apply_parents(self, step)?;
                let (folder, name) = self.bounds.open(&step.path)?;
                self.remove_back(operation, (&folder, name, aside), from, sides, notes)
            }
            Action::RemoveDirectory { mode } => {
                apply::make_directory(&self.bounds, &step.path, mode)?;
                Ok(Back::done(Rest::None))
            }
            // Directories that were made go when they are empty.
            Action::MakeDirectory { .. } | Action::Nothing => Ok(Back::done(Rest::None)),
        }
    }

    fn replace_back(
        &self,
        operation: &Operation,
        (folder, name, temporary): (&Folder, &OsStr, &OsStr),
        (from, to): (&FileVersion, &FileVersion),
        sides: Sides,
        notes: &mut Notes,
    ) -> Result<Back, StoreError> {
        let carry = Rest::Carry { known: to.bytes, base: from.bytes };
        Ok(match (sides.path, sides.temporary) {
            // It was never taken, or was taken back already.
            (path @ (Side::Old | Side::OldGrown), Side::Missing) => Back::of(path, Rest::None),
            (path @ (Side::Old | Side::OldGrown), Side::New | Side::NewGrown) => {
                Back::of(path, carry)
            }
            (Side::Old | Side::OldGrown, Side::Old | Side::OldGrown) => {
                Back::done(Rest::Carry { known: from.bytes, base: from.bytes })
            }
            (Side::New | Side::NewGrown, aside) => {
                if aside == Side::Missing {
                    self.stage_backup(operation, folder, temporary, from, notes)?;
                }
                apply::swap(folder, name, temporary)?;
                Back::done(carry)
            }
            (Side::Missing, Side::Old | Side::OldGrown | Side::Other) => {
                folder.rename_new(temporary, folder, name)?;
                Back::done(Rest::None)
            }
            (Side::Missing | Side::Other, Side::Missing) => Back::kept(Rest::None),
            (Side::Missing | Side::Other, Side::New) | (Side::Other, Side::Old) => {
                folder.remove(temporary)?;
                Back::kept(Rest::None)
            }
            (_, Side::Other) | (Side::Other, Side::OldGrown) => Back::kept(Rest::Trash),
            (Side::Missing | Side::Other, Side::NewGrown) => Back::kept(Rest::Trash),
        })
    }

    fn remove_back(
        &self,
        operation: &Operation,
        (folder, name, aside): (&Folder, &OsStr, &OsStr),
        from: &FileVersion,
        sides: Sides,
        notes: &mut Notes,
    ) -> Result<Back, StoreError> {
        let is_log = Path::new(name).extension().is_some_and(|extension| extension == "jsonl");
        Ok(match (sides.path, sides.temporary) {
            (Side::Missing, Side::Missing) => {
                self.stage_backup(operation, folder, aside, from, notes)?;
                folder.rename_new(aside, folder, name)?;
                Back::done(Rest::None)
            }
            // Whatever it is by now, it had the name.
            (Side::Missing, _) => {
                folder.rename_new(aside, folder, name)?;
                Back::done(Rest::None)
            }
            (path, Side::Missing) if path.is_old() => Back::of(path, Rest::None),
            (path, temporary) if path.is_old() && temporary.is_old() => {
                Back::done(Rest::Carry { known: from.bytes, base: from.bytes })
            }
            // Lines of the log that was made meanwhile.
            (path, _) if path.is_old() && is_log => {
                Back::done(Rest::Carry { known: 0, base: from.bytes })
            }
            // A client went on with the log that was gone, and so made it again.
            (_, temporary) if is_log => {
                if temporary == Side::Missing {
                    self.stage_backup(operation, folder, aside, from, notes)?;
                }
                apply::swap(folder, name, aside)?;
                Back::done(Rest::Carry { known: 0, base: from.bytes })
            }
            (_, Side::Missing) => Back::kept(Rest::None),
            (_, Side::Old) => {
                folder.remove(aside)?;
                Back::kept(Rest::None)
            }
            (_, _) => Back::kept(Rest::Trash),
        })
    }

    /// Writes the old content again, where the file that is aside would be. It gets that
    /// name only when it is whole.
    fn stage_backup(
        &self,
        operation: &Operation,
        folder: &Folder,
        aside: &OsStr,
        version: &FileVersion,
        notes: &mut Notes,
    ) -> Result<(), StoreError> {
        // Numbers of staged files are small.
        let number = 1_000_000 + notes.staged.temporaries.len();
        let temporary = temporary_name(operation, number);
        let temporary = OsStr::new(&temporary);
        folder.remove(temporary)?;
        let attributes = Attributes::from(version);
        write_staged(folder, temporary, notes, attributes, |out| {
            self.backups.copy_to(version, out)
        })?;
        Ok(folder.rename_new(temporary, folder, aside)?)
    }

    /// Deals with what is aside, when nobody writes to it any longer.
    fn conclude_back(
        &self,
        operation: &Operation,
        rests: &[(&Step, Rest)],
        taken_back: &mut TakenBack,
    ) -> Result<(), StoreError> {
        let mut numbers = HashSet::new();
        for (step, rest) in rests {
            if !matches!(rest, Rest::None | Rest::Trash)
                && let Some((folder, aside)) = self.aside(step)?
            {
                numbers.extend(apply::number(&folder, aside)?);
            }
        }
        let held = wait_for_writers(&numbers);
        for (step, rest) in rests {
            let Some((folder, aside)) = self.aside(step)? else { continue };
            let name = step.path.file_name().unwrap_or_default();
            let number = match rest {
                Rest::None | Rest::Trash => None,
                Rest::Carry { .. } | Rest::Discard => apply::number(&folder, aside)?,
            };
            let is_held = number.is_some_and(|number| held.contains(&number));
            let goes_to_trash = match *rest {
                Rest::None => false,
                Rest::Trash => folder.kind(aside)?.is_some(),
                Rest::Carry { known, base } => {
                    let is_carried = carry((&folder, name, aside), known, base)?;
                    if is_carried && !is_held {
                        folder.remove(aside)?;
                    }
                    is_held || !is_carried
                }
                Rest::Discard => match discard((&folder, name, aside), step, is_held)? {
                    Discarded::Gone => false,
                    Discarded::Kept => {
                        taken_back.kept.push(step.path.clone());
                        false
                    }
                    Discarded::NoName => true,
                },
            };
            if let Some(second) = apply::finish_swap(&folder, name, aside)? {
                let what = (operation.id, name);
                taken_back.trash.push(trash::discard(&self.bounds, &folder, &second, what)?);
            }
            if goes_to_trash {
                let what = (operation.id, name);
                taken_back.trash.push(trash::discard(&self.bounds, &folder, aside, what)?);
            }
        }
        Ok(())
    }

    fn aside<'a>(&self, step: &'a Step) -> Result<Option<(Folder, &'a OsStr)>, StoreError> {
        let aside = step.temporary.as_deref().and_then(Path::file_name);
        let folder = self.bounds.open_if_there(&step.path)?.map(|(folder, _)| folder);
        Ok(folder.zip(aside))
    }
}

/// Makes the directories above a file again, which a removal may have emptied. Those
/// that the operation removed have steps of their own, which were taken back before.
fn apply_parents(journal: &Journal, step: &Step) -> Result<(), StoreError> {
    let gone: Vec<&Path> = step
        .path
        .ancestors()
        .skip(1)
        .take_while(|above| {
            *above != journal.bounds.root() && fs_err::symlink_metadata(above).is_err()
        })
        .collect();
    for above in gone.into_iter().rev() {
        apply::make_directory(&journal.bounds, above, Some(0o700))?;
    }
    Ok(())
}

/// A file that was made goes again, if it is still what was made.
fn create_back(
    (folder, name, temporary): (&Folder, &OsStr, &OsStr),
    sides: Sides,
) -> Result<Back, StoreError> {
    Ok(match (sides.path, sides.temporary) {
        (Side::New, Side::Missing) => {
            folder.rename_new(name, folder, temporary)?;
            Back::done(Rest::Discard)
        }
        (Side::Missing, Side::Missing) => Back::done(Rest::None),
        // It was never given its name, or that was taken back.
        (Side::Missing, _) => Back::done(Rest::Discard),
        (_, Side::Missing) => Back::kept(Rest::None),
        (_, Side::New) => {
            folder.remove(temporary)?;
            Back::kept(Rest::None)
        }
        (_, _) => Back::kept(Rest::Trash),
    })
}

/// Carries late lines over; `false` if there is no file to carry them to, or too many.
fn carry(
    (folder, name, aside): (&Folder, &OsStr, &OsStr),
    known: u64,
    base: u64,
) -> Result<bool, StoreError> {
    match late::carry_over(folder, (aside, known), (name, base)) {
        Ok(()) => Ok(true),
        Err(StoreError::Io(error))
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::FileTooLarge) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

enum Discarded {
    Gone,
    /// It has its name back, because it holds more than was written to it.
    Kept,
    /// It holds more, and something else has its name.
    NoName,
}

fn discard(
    (folder, name, aside): (&Folder, &OsStr, &OsStr),
    step: &Step,
    is_held: bool,
) -> Result<Discarded, StoreError> {
    let incomplete = || PlaceError::NotAFile { path: step.path.clone() };
    let to = step.to.as_ref().and_then(super::State::file).ok_or_else(incomplete)?;
    let against = late::compare(folder, aside, to)?;
    match against {
        Against::Missing => return Ok(Discarded::Gone),
        Against::Same if !is_held => {
            folder.remove(aside)?;
            return Ok(Discarded::Gone);
        }
        Against::Same | Against::Grown | Against::Different => {}
    }
    match folder.rename_new(aside, folder, name) {
        Ok(()) => Ok(Discarded::Kept),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Discarded::NoName),
        Err(error) => Err(error.into()),
    }
}
