//! What can go wrong in this crate. Each room has its own errors; this one wraps them.

use std::io;

use recto_session::edit::EditError as PlanError;
use thiserror::Error;

use crate::edit::error::EditError;
use crate::follow::FollowError;
use crate::keep::KeepError;
use crate::pack::error::PackError;
use crate::place::error::PlaceError;
use crate::publish::error::PublishError;
use crate::search::error::IndexError;

/// Why something could not be read or written. The text is for people.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A directory is not known, or a file is not opened.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Something could not be changed, or not be taken back.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// A session may not be edited, or an edit was not made.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// Sessions cannot be packed or unpacked.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// Something cannot be kept, or not be given back.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// A follower cannot continue.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// The system refused. The error names the path.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<PlanError> for StoreError {
    fn from(error: PlanError) -> StoreError {
        EditError::from(error).into()
    }
}

impl StoreError {
    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            StoreError::Place(error) => error.kind(),
            StoreError::Index(_) => "index",
            StoreError::Publish(error) => error.kind(),
            StoreError::Edit(error) => error.kind(),
            StoreError::Pack(error) => error.kind(),
            StoreError::Keep(error) => error.kind(),
            StoreError::Follow(error) => error.kind(),
            StoreError::Io(_) => "io",
        }
    }
}
