//! Why something could not be kept or given back.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use thiserror::Error;

/// Why an archive could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The archive was written by a newer version.
    #[error("{} is an archive of the newer version {version}", path.display())]
    Newer {
        /// The archive.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// Another collector works on the archive.
    #[error("another collector is using {}", path.display())]
    Busy {
        /// The archive.
        path: PathBuf,
    },
    /// A segment that cannot be read.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Bytes of a file that no segment holds.
    #[error("bytes {from} to {to} of {file} are missing in the archive")]
    Gap {
        /// The file, below the home.
        file: String,
        /// Where the gap begins.
        from: u64,
        /// Where it ends.
        to: u64,
    },
    /// No archive exists at the place.
    #[error("no archive at {}", path.display())]
    NoArchive {
        /// The place.
        path: PathBuf,
    },
    /// The archive belongs to another user.
    #[error("{} belongs to another user", path.display())]
    Foreign {
        /// The archive.
        path: PathBuf,
    },
    /// What the collector remembers cannot be used.
    #[error("{}: {reason}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl KeepError {
    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            KeepError::Newer { .. } => "archive-newer",
            KeepError::Busy { .. } => "archive-busy",
            KeepError::Damaged { .. } => "archive-damaged",
            KeepError::Gap { .. } => "archive-gap",
            KeepError::NoArchive { .. } => "no-archive",
            KeepError::Foreign { .. } => "archive-foreign",
            KeepError::State { .. } => "collect-state",
            KeepError::Io { .. } => "io",
        }
    }

    pub(super) fn of(path: &Path) -> impl Fn(io::Error) -> KeepError {
        move |source| KeepError::Io { path: path.to_owned(), source }
    }

    pub(super) fn damaged(path: &Path, reason: impl Into<String>) -> KeepError {
        KeepError::Damaged { path: path.to_owned(), reason: reason.into() }
    }
}
