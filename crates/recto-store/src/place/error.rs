//! Why a directory is not known, or a file is not opened.

use std::path::PathBuf;

use thiserror::Error;

/// Why a directory is not known, or a file is not opened.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// There is no home where one was looked for.
    #[error("there is no Claude Code home at {}", path.display())]
    NoHome {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The home is not a directory.
    #[error("{} is not a directory", path.display())]
    HomeIsNoDirectory {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Nothing says where the home is.
    #[error("no home directory is set")]
    HomeUnknown,
    /// The real home was about to be used by a test.
    #[error("a test asked for a home without naming one")]
    HomeInTest,
    /// Nothing says where data of recto's own may be.
    #[error("no data directory is set")]
    DataUnknown,
    /// Real data were about to be used by a test.
    #[error("a test asked for the data directory without naming one")]
    DataInTest,
    /// Nothing says where the index may be.
    #[error("no cache directory is set")]
    CacheUnknown,
    /// A real cache was about to be used by a test.
    #[error("a test asked for the cache directory without naming one")]
    CacheInTest,
    /// The file can hold a secret and is never opened.
    #[error("{} can contain a secret and is never opened", path.display())]
    Secret {
        /// The file.
        path: PathBuf,
    },
    /// A link leads out of the folder that it is in, and is not followed.
    #[error("{} is a link that leads out of its folder and is not followed", path.display())]
    LeadsOut {
        /// The link.
        path: PathBuf,
    },
    /// The path is not a regular file.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A link is among the files of a session. It could lead anywhere.
    #[error("{} is a link, and recto follows no links in the directory of a session", path.display())]
    Link {
        /// The path.
        path: PathBuf,
    },
    /// Something else is where a directory should be.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Only the archive has the content of the file, and nobody was told where the archive is.
    #[error("the content of {} is only in the archive", path.display())]
    OnlyArchived {
        /// The copy without content.
        path: PathBuf,
    },
    /// The file is larger than such a file can be.
    #[error("{} has {bytes} bytes, more than recto reads of such a file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
}

impl PlaceError {
    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            PlaceError::NoHome { .. } => "no-home",
            PlaceError::HomeIsNoDirectory { .. } => "home-is-no-directory",
            PlaceError::HomeUnknown => "home-unknown",
            PlaceError::HomeInTest => "home-in-test",
            PlaceError::DataUnknown => "no-data-directory",
            PlaceError::DataInTest => "data-in-test",
            PlaceError::CacheUnknown => "no-cache-directory",
            PlaceError::CacheInTest => "cache-in-test",
            PlaceError::Secret { .. } => "secret",
            PlaceError::LeadsOut { .. } => "leads-out",
            PlaceError::NotAFile { .. } => "not-a-file",
            PlaceError::Link { .. } => "link",
            PlaceError::NotADirectory { .. } => "not-a-directory",
            PlaceError::OnlyArchived { .. } => "only-archived",
            PlaceError::TooLarge { .. } => "too-large",
        }
    }
}
