//! Why sessions cannot be packed or unpacked.

use std::path::PathBuf;

use recto_log::SessionId;
use thiserror::Error;

/// Why sessions cannot be packed or unpacked.
#[derive(Debug, Error)]
pub enum PackError {
    /// An archive cannot be read, or holds what no archive of sessions holds.
    #[error("not a recto archive: {} ({why})", path.display())]
    BadArchive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Sessions cannot be packed.
    #[error("{} cannot be packed: {why}", path.display())]
    CannotPack {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The home has a session of that id, and it is another one.
    #[error("the home has a session {session} already, and it is not the same: {}", path.display())]
    SessionExists {
        /// The session.
        session: SessionId,
        /// Its log, or the file that differs.
        path: PathBuf,
    },
}

impl PackError {
    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            PackError::BadArchive { .. } => "bad-archive",
            PackError::CannotPack { .. } => "cannot-pack",
            PackError::SessionExists { .. } => "session-exists",
        }
    }
}
