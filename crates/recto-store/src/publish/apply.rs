//! Steps forward: names are given and taken, then what lost its name is dealt with.
//! The module `late` says why in this order.

use std::collections::BTreeSet;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use super::PublishError;
use super::bounds::Bounds;
use super::late;
use super::late::Against;
use super::operation::Step;
use super::state::FileIdentity;
use super::state::FileVersion;
use super::state::State;
use crate::StoreError;
use crate::place::directory_calls::Kind;
use crate::place::error::PlaceError;
use crate::place::folder::Folder;
use crate::place::writers::FileNumber;
use crate::place::writers::wait_for_writers;

/// What a step does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action<'a> {
    /// New content takes the name of the old, which is aside then, under the name that
    /// the new one had.
    Replace {
        from: &'a FileVersion,
        to: &'a FileVersion,
        temporary: &'a OsStr,
    },
    /// New content gets a name.
    Create {
        temporary: &'a OsStr,
    },
    /// A file loses its name and is aside then.
    Remove {
        from: &'a FileVersion,
        aside: &'a OsStr,
    },
    MakeDirectory {
        mode: Option<u32>,
    },
    RemoveDirectory {
        mode: Option<u32>,
    },
    /// There is nothing to do.
    Nothing,
}

impl<'a> Action<'a> {
    pub(crate) fn of(step: &'a Step) -> Result<Action<'a>, StoreError> {
        let name = step.temporary.as_deref().and_then(Path::file_name);
        let incomplete = || PlaceError::NotAFile { path: step.path.clone() };
        Ok(match (&step.from, &step.to) {
            (_, Some(State::Directory { mode })) => Action::MakeDirectory { mode: *mode },
            (Some(State::Directory { mode }), _) => Action::RemoveDirectory { mode: *mode },
            (Some(State::File(from)), Some(State::File(to))) => {
                Action::Replace { from, to, temporary: name.ok_or_else(incomplete)? }
            }
            (None, Some(State::File(_))) => {
                Action::Create { temporary: name.ok_or_else(incomplete)? }
            }
            (Some(State::File(from)), None) => {
                Action::Remove { from, aside: name.ok_or_else(incomplete)? }
            }
            (None, None) => Action::Nothing,
        })
    }
}

/// Gives and takes the names of a step. `expected` is the file that is to be replaced
/// or removed; it is aside then. Directories go when nothing is aside any longer.
pub(crate) fn apply(
    bounds: &Bounds,
    step: &Step,
    expected: Option<&FileIdentity>,
) -> Result<(), StoreError> {
    let path = &step.path;
    match Action::of(step)? {
        Action::Replace { temporary, .. } => {
            let (folder, name) = bounds.open(path)?;
            check(&folder, name, expected)?;
            swap(&folder, name, temporary)
        }
        Action::Create { temporary } => {
            let (folder, name) = bounds.open(path)?;
            match folder.rename_new(temporary, &folder, name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(PublishError::Exists { path: path.clone() }.into())
                }
                renamed => Ok(renamed?),
            }
        }
        Action::Remove { aside, .. } => {
            let (folder, name) = bounds.open(path)?;
            check(&folder, name, expected)?;
            Ok(folder.rename_new(name, &folder, aside)?)
        }
        Action::MakeDirectory { mode } => make_directory(bounds, path, mode),
        Action::RemoveDirectory { .. } | Action::Nothing => Ok(()),
    }
}

/// Deals with what lost its name in the steps, and removes directories. If this fails,
/// nothing was deleted.
pub(crate) fn conclude(
    bounds: &Bounds,
    steps: &[Step],
    expected: &[Option<FileIdentity>],
) -> Result<(), StoreError> {
    let held = wait_for_writers(&numbers_aside(bounds, steps)?);
    let mut grown = HashSet::new();
    for (at, step) in steps.iter().enumerate() {
        let (from, aside, is_replaced) = match Action::of(step)? {
            Action::Replace { from, temporary, .. } => (from, temporary, true),
            Action::Remove { from, aside } => (from, aside, false),
            _ => continue,
        };
        let Some((folder, _)) = bounds.open_if_there(&step.path)? else { continue };
        if number(&folder, aside)?.is_some_and(|number| held.contains(&number)) {
            return Err(PublishError::InUse { path: step.path.clone() }.into());
        }
        let expected = expected.get(at).and_then(Option::as_ref);
        match late::compare_known(&folder, aside, from, expected)? {
            Against::Missing | Against::Same => {}
            Against::Grown if is_replaced => {
                grown.insert(at);
            }
            Against::Grown | Against::Different => {
                return Err(PublishError::ChangedMeanwhile { path: step.path.clone() }.into());
            }
        }
    }
    for (at, step) in steps.iter().enumerate() {
        let (aside, late) = match Action::of(step)? {
            Action::Replace { from, to, temporary } => (temporary, Some((from, to))),
            Action::Remove { aside, .. } => (aside, None),
            _ => continue,
        };
        let Some((folder, name)) = bounds.open_if_there(&step.path)? else { continue };
        if let Some((from, to)) = late.filter(|_| grown.contains(&at)) {
            late::carry_over(&folder, (aside, from.bytes), (name, to.bytes))?;
        }
        folder.remove(aside)?;
    }
    for step in steps {
        if matches!(Action::of(step)?, Action::RemoveDirectory { .. }) {
            remove_directory(bounds, &step.path)?;
        }
    }
    Ok(())
}

/// The numbers of the files that are aside.
fn numbers_aside(bounds: &Bounds, steps: &[Step]) -> Result<HashSet<FileNumber>, StoreError> {
    let mut numbers = HashSet::new();
    for step in steps {
        if let Action::Replace { temporary: aside, .. } | Action::Remove { aside, .. } =
            Action::of(step)?
        {
            // The directory may be gone, when an operation is finished for the second time.
            if let Some((folder, _)) = bounds.open_if_there(&step.path)? {
                numbers.extend(number(&folder, aside)?);
            }
        }
    }
    Ok(numbers)
}

/// The number of the file that has a name.
pub(crate) fn number(folder: &Folder, name: &OsStr) -> Result<Option<FileNumber>, StoreError> {
    let Some(file) = folder.open(name)? else { return Ok(None) };
    Ok(Some(FileIdentity::of_file(&file)?.number()))
}

/// Whether the file is still the one that was looked at.
pub(crate) fn check(
    folder: &Folder,
    name: &OsStr,
    expected: Option<&FileIdentity>,
) -> Result<(), StoreError> {
    let Some(expected) = expected else { return Ok(()) };
    let found = match folder.open(name) {
        Ok(Some(file)) => FileIdentity::of_file(&file).ok(),
        Ok(None) | Err(StoreError::Place(PlaceError::NotAFile { .. })) => None,
        Err(error) => return Err(error),
    };
    match found {
        Some(found) if found == *expected => Ok(()),
        _ => Err(PublishError::ChangedMeanwhile { path: folder.join(name) }.into()),
    }
}

/// Gives the new content the name of the old. The old is aside then, under the name
/// that the new one had, whatever was written to it meanwhile.
pub(crate) fn swap(folder: &Folder, name: &OsStr, temporary: &OsStr) -> Result<(), StoreError> {
    if folder.exchange(temporary, name)? {
        return Ok(());
    }
    // The old file gets a second name first, so that it does not go with its first.
    let second = second_name(temporary);
    folder.link(name, &second)?;
    folder.rename_over(temporary, folder, name)?;
    Ok(folder.rename_new(&second, folder, temporary)?)
}

/// The name of a file that is replaced where names cannot be exchanged.
fn second_name(temporary: &OsStr) -> OsString {
    let text = temporary.to_string_lossy();
    OsString::from(format!("{}-old.tmp", text.strip_suffix(".tmp").unwrap_or(&text)))
}

/// Finishes a swap that was interrupted between its calls. Gives the second name if a
/// file that is nowhere else has it.
pub(crate) fn finish_swap(
    folder: &Folder,
    name: &OsStr,
    temporary: &OsStr,
) -> Result<Option<OsString>, StoreError> {
    let second = second_name(temporary);
    let Some(old) = number(folder, &second)? else { return Ok(None) };
    if folder.kind(temporary)?.is_none() {
        folder.rename_new(&second, folder, temporary)?;
        return Ok(None);
    }
    if number(folder, name)? == Some(old) {
        folder.remove(&second)?;
        return Ok(None);
    }
    Ok(Some(second))
}

pub(crate) fn make_directory(
    bounds: &Bounds,
    path: &Path,
    mode: Option<u32>,
) -> Result<(), StoreError> {
    let (folder, name) = bounds.open(path)?;
    let is_new = folder.kind(name)?.is_none();
    folder.make_directory(name)?;
    if folder.kind(name)? != Some(Kind::Directory) {
        return Err(PlaceError::NotADirectory { path: path.to_owned() }.into());
    }
    if let Some(mode) = mode.filter(|_| is_new) {
        Folder::beneath(bounds.root(), path)?.set_mode(mode)?;
    }
    Ok(())
}

/// Removes a directory that is empty.
pub(crate) fn remove_directory(bounds: &Bounds, path: &Path) -> Result<(), StoreError> {
    match bounds.open_if_there(path)? {
        Some((folder, name)) => Ok(folder.remove_directory(name)?),
        None => Ok(()),
    }
}

/// Makes the names of all paths durable.
pub(crate) fn sync_parents<'a>(
    bounds: &Bounds,
    paths: impl Iterator<Item = &'a Path>,
) -> Result<(), StoreError> {
    let parents: BTreeSet<PathBuf> = paths.filter_map(Path::parent).map(Path::to_owned).collect();
    for parent in parents {
        match Folder::beneath(bounds.root(), &parent) {
            Ok(folder) => folder.sync()?,
            // It was removed as well.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
