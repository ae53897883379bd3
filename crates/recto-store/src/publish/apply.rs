//! One step forward, or back.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use fs_err as fs;

use super::PublishError;
use super::backup::remove_if_there;
use super::operation::Step;
use super::state::FileIdentity;
use super::state::State;
use super::state::is_in;
use crate::StoreError;
use crate::place::error::PlaceError;
use crate::place::platform;

/// Takes a step. `expected` is the file that is to be replaced or removed.
pub(crate) fn apply(step: &Step, expected: Option<&FileIdentity>) -> Result<(), StoreError> {
    let path = &step.path;
    match (&step.to, &step.temporary) {
        (Some(State::File(_)), Some(temporary)) => match expected {
            Some(expected) => replace(path, temporary, expected),
            None => {
                if fs::symlink_metadata(path).is_ok() {
                    return Err(PublishError::Exists { path: path.clone() }.into());
                }
                platform::rename_new(temporary, path).map_err(|error| named(path, error))
            }
        },
        (Some(State::File(_)), None) => Err(PlaceError::NotAFile { path: path.clone() }.into()),
        (Some(State::Directory { mode }), _) => make_directory(path, *mode),
        (None, _) if matches!(step.from, Some(State::Directory { .. })) => remove_directory(path),
        (None, _) => {
            if let Some(expected) = expected {
                check(path, expected)?;
            }
            Ok(remove_if_there(path)?)
        }
    }
}

/// Whether the file is still the one that was looked at.
pub(crate) fn check(path: &Path, expected: &FileIdentity) -> Result<(), StoreError> {
    match FileIdentity::of(path) {
        Ok(found) if found == *expected => Ok(()),
        _ => Err(PublishError::ChangedMeanwhile { path: path.to_owned() }.into()),
    }
}

/// Puts the new content in place of the file.
fn replace(path: &Path, temporary: &Path, expected: &FileIdentity) -> Result<(), StoreError> {
    check(path, expected)?;
    if !platform::exchange(temporary, path).map_err(|error| named(path, error))? {
        return Ok(fs::rename(temporary, path)?);
    }
    // A client that wrote since the check wrote to the file that has the other
    // name now: its lines must not be lost.
    if let Err(error) = check(temporary, expected) {
        platform::exchange(temporary, path).map_err(|error| named(path, error))?;
        return Err(match error {
            StoreError::Publish(PublishError::ChangedMeanwhile { .. }) => {
                PublishError::ChangedMeanwhile { path: path.to_owned() }.into()
            }
            other => other,
        });
    }
    Ok(remove_if_there(temporary)?)
}

pub(crate) fn make_directory(path: &Path, mode: Option<u32>) -> Result<(), StoreError> {
    let is_new = fs::symlink_metadata(path).is_err();
    platform::make_private_directory(path).map_err(|error| named(path, error))?;
    if !fs::symlink_metadata(path)?.is_dir() {
        return Err(PlaceError::NotADirectory { path: path.to_owned() }.into());
    }
    if let Some(mode) = mode.filter(|_| is_new) {
        platform::set_path_mode(path, mode).map_err(|error| named(path, error))?;
    }
    Ok(())
}

/// Removes a directory that is empty. Another program may have put something
/// into it meanwhile, which stays.
fn remove_directory(path: &Path) -> Result<(), StoreError> {
    match fs::remove_dir(path) {
        Ok(()) => Ok(()),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty => Ok(()),
            _ => Err(error.into()),
        },
    }
}

/// Makes the names of all paths durable.
pub(crate) fn sync_parents<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<(), StoreError> {
    let parents: BTreeSet<&Path> = paths.filter_map(Path::parent).collect();
    for parent in parents {
        match platform::sync_directory(parent) {
            // It was removed as well.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            synced => synced.map_err(|error| named(parent, error))?,
        }
    }
    Ok(())
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The path is as it was.
    Before,
    /// The path is as it should be.
    After,
    /// Neither: another program has changed it.
    Elsewhere,
}

pub(crate) fn progress(step: &Step) -> Result<Progress, StoreError> {
    if is_in(&step.path, step.to.as_ref())? {
        Ok(Progress::After)
    } else if is_in(&step.path, step.from.as_ref())? {
        Ok(Progress::Before)
    } else {
        Ok(Progress::Elsewhere)
    }
}

/// The error of the system, with the path.
pub(crate) fn named(path: &Path, error: io::Error) -> StoreError {
    io::Error::new(error.kind(), format!("{}: {error}", path.display())).into()
}
