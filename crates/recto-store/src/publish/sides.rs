//! How far a step is, told from what its two names mean.

use std::ffi::OsStr;
use std::path::Path;

use super::apply;
use super::bounds::Bounds;
use super::late;
use super::late::Against;
use super::operation::Step;
use super::state::FileVersion;
use super::state::State;
use crate::StoreError;
use crate::place::error::PlaceError;
use crate::place::folder::Folder;

/// Which version of a step's file has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Missing,
    /// The version from before the step.
    Old,
    /// The same, and lines that were added.
    OldGrown,
    /// The version after the step.
    New,
    /// The same, and lines that were added.
    NewGrown,
    Other,
}

impl Side {
    pub(crate) fn is_new(self) -> bool {
        matches!(self, Side::New | Side::NewGrown)
    }

    pub(crate) fn is_old(self) -> bool {
        matches!(self, Side::Old | Side::OldGrown)
    }
}

/// What the two names of a step mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sides {
    pub(crate) path: Side,
    /// What was staged, or is aside.
    pub(crate) temporary: Side,
}

impl Sides {
    pub(crate) fn of(bounds: &Bounds, step: &Step) -> Result<Sides, StoreError> {
        let missing = Sides { path: Side::Missing, temporary: Side::Missing };
        if is_of_directory(step) {
            return Ok(missing);
        }
        let Some((folder, name)) = bounds.open_if_there(&step.path)? else { return Ok(missing) };
        let temporary = step.temporary.as_deref().and_then(Path::file_name);
        if let Some(temporary) = temporary {
            apply::finish_swap(&folder, name, temporary)?;
        }
        Ok(Sides {
            path: side(&folder, name, step)?,
            temporary: match temporary {
                Some(temporary) => side(&folder, temporary, step)?,
                None => Side::Missing,
            },
        })
    }
}

pub(crate) fn is_of_directory(step: &Step) -> bool {
    [&step.from, &step.to].iter().any(|state| matches!(state, Some(State::Directory { .. })))
}

fn side(folder: &Folder, name: &OsStr, step: &Step) -> Result<Side, StoreError> {
    let old = step.from.as_ref().and_then(State::file);
    let new = step.to.as_ref().and_then(State::file);
    let against = |version: Option<&FileVersion>| match version {
        Some(version) => late::compare(folder, name, version),
        None => Ok(Against::Different),
    };
    let (against_old, against_new) = match (against(old), against(new)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(StoreError::Place(PlaceError::NotAFile { .. })), _)
        | (_, Err(StoreError::Place(PlaceError::NotAFile { .. }))) => return Ok(Side::Other),
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    let bytes = |version: Option<&FileVersion>| version.map_or(0, |version| version.bytes);
    Ok(match (against_old, against_new) {
        (Against::Missing, _) | (_, Against::Missing) => Side::Missing,
        (_, Against::Same) => Side::New,
        (Against::Same, _) => Side::Old,
        // One version may be the beginning of the other: the longer one counts.
        (Against::Grown, Against::Grown) if bytes(old) > bytes(new) => Side::OldGrown,
        (_, Against::Grown) => Side::NewGrown,
        (Against::Grown, _) => Side::OldGrown,
        (Against::Different, Against::Different) => Side::Other,
    })
}
