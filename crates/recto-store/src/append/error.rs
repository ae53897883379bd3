//! Why something could not be added.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use thiserror::Error;

/// Why a line or an announcement could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The file is not in the home, or a link leads out of it.
    #[error("{} leads out of the home", path.display())]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// Something else is where the file should be.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file can hold a secret and is never opened.
    #[error("{} can contain a secret and is never opened", path.display())]
    Secret {
        /// The file.
        path: PathBuf,
    },
    /// The line is more than one.
    #[error("a line end is inside the line")]
    LineEnd,
    /// Another process has locked the file for too long.
    #[error("{} is locked by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The system refused. Of the line, a beginning may have been written; the
    /// next line starts on a line of its own.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl AppendError {
    pub(super) fn of(path: &Path) -> impl Fn(io::Error) -> AppendError {
        move |source| AppendError::Io { path: path.to_owned(), source }
    }
}
