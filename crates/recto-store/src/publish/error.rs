//! Why something could not be changed, or not be taken back.

use std::path::PathBuf;

use recto_log::SessionId;
use thiserror::Error;

use super::OperationId;

/// Why a change was refused. Nothing has changed, unless the text says so.
#[derive(Debug, Error)]
pub enum PublishError {
    /// Another process holds the journal.
    #[error("another recto is changing files")]
    Busy,
    /// A file would be made where there is one.
    #[error("there is already a file {}", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file changed while it was worked on.
    #[error("{} was written by another program meanwhile", path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// A file is no longer as the operation left it.
    #[error("{} {how} since operation {id}", path.display())]
    ChangedSince {
        /// The file.
        path: PathBuf,
        /// What happened to it, such as `was changed`.
        how: String,
        /// The operation.
        id: OperationId,
    },
    /// A path leads out of the directories that may be changed.
    #[error("{} is outside of what may be changed", path.display())]
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// A path cannot be written down.
    #[error("{} is no valid text and cannot be recorded", path.display())]
    NotText {
        /// The path.
        path: PathBuf,
    },
    /// There is no operation of that number.
    #[error("there is no operation {id}")]
    NoOperation {
        /// The number.
        id: OperationId,
    },
    /// The operation was made in another home.
    #[error("operation {id} was made in the home {}", home.display())]
    OtherHome {
        /// The operation.
        id: OperationId,
        /// Its home.
        home: PathBuf,
    },
    /// There is nothing to undo, or what was named is undone.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// There is nothing to redo, or what was named is done.
    #[error("there is nothing to redo")]
    NothingToRedo,
    /// A backup is not there.
    #[error("the backup {} is gone", path.display())]
    NoBackup {
        /// Where it should be.
        path: PathBuf,
    },
    /// A backup does not hold what it should.
    #[error("the backup {} is damaged", path.display())]
    BadBackup {
        /// The backup.
        path: PathBuf,
    },
    /// A record cannot be read.
    #[error("the record {} cannot be understood", path.display())]
    BadRecord {
        /// The record.
        path: PathBuf,
    },
    /// An operation failed half-way and could not be taken back.
    #[error("operation {id} was interrupted and could not be taken back: {cause}")]
    Interrupted {
        /// The operation.
        id: OperationId,
        /// Why.
        cause: String,
    },
    /// A client works on the session now.
    #[error("session {session} is open in a client (process {pid})")]
    Live {
        /// The session.
        session: SessionId,
        /// The client.
        pid: u32,
    },
    /// A client that cannot be seen from here may work on the session.
    #[error(
        "session {session} may be open in a client of another container or machine (process {pid} there)"
    )]
    Elsewhere {
        /// The session.
        session: SessionId,
        /// The client.
        pid: u32,
    },
    /// A process lives whose announcement cannot be understood: it may be a client that
    /// works on any session.
    #[error(
        "process {pid} may be a client that works on the session: {} cannot be read", path.display()
    )]
    UnreadableClient {
        /// The process.
        pid: u32,
        /// Its file.
        path: PathBuf,
    },
    /// The log was written a moment ago.
    #[error("{} was written a moment ago: a client may be at work", path.display())]
    Recent {
        /// The log.
        path: PathBuf,
    },
}

impl PublishError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            PublishError::Busy => Some("try again when it has ended"),
            PublishError::Exists { .. } => None,
            PublishError::ChangedMeanwhile { .. } => {
                Some("nothing was changed; try again when no client works on it")
            }
            PublishError::ChangedSince { .. } => Some(
                "undo what was done since first; or use --force, which keeps the present version as a backup",
            ),
            PublishError::Outside { .. } | PublishError::NotText { .. } => None,
            PublishError::NoOperation { .. }
            | PublishError::NothingToUndo
            | PublishError::NothingToRedo => Some("`recto log` lists the operations"),
            PublishError::OtherHome { .. } => Some("use --home to name it"),
            PublishError::NoBackup { .. } | PublishError::BadBackup { .. } => None,
            PublishError::BadRecord { .. } => Some("move it away to go on without it"),
            PublishError::Interrupted { .. } => {
                Some("the next command that changes something tries again")
            }
            PublishError::Live { .. } => Some("end the client first"),
            PublishError::Elsewhere { .. } => Some(
                "end that client; if it is long gone, remove its file from `sessions` in the home",
            ),
            PublishError::UnreadableClient { .. } => Some(
                "try again; if that does not help and the process is no client, remove the file",
            ),
            PublishError::Recent { .. } => Some("wait some seconds and try again"),
        }
    }

    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            PublishError::Busy => "busy",
            PublishError::Exists { .. } => "exists",
            PublishError::ChangedMeanwhile { .. } => "changed-meanwhile",
            PublishError::ChangedSince { .. } => "changed-since",
            PublishError::Outside { .. } => "outside",
            PublishError::NotText { .. } => "not-text",
            PublishError::NoOperation { .. } => "no-operation",
            PublishError::OtherHome { .. } => "other-home",
            PublishError::NothingToUndo => "nothing-to-undo",
            PublishError::NothingToRedo => "nothing-to-redo",
            PublishError::NoBackup { .. } => "no-backup",
            PublishError::BadBackup { .. } => "bad-backup",
            PublishError::BadRecord { .. } => "bad-record",
            PublishError::Interrupted { .. } => "interrupted",
            PublishError::Live { .. }
            | PublishError::Elsewhere { .. }
            | PublishError::UnreadableClient { .. } => "live-session",
            PublishError::Recent { .. } => "recently-written",
        }
    }
}
