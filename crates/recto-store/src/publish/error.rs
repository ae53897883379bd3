//! Why something could not be changed, or not be taken back.

use std::path::PathBuf;

use thiserror::Error;

use super::OperationId;

/// Why a change was refused. Nothing has changed, unless the text says so.
#[derive(Debug, Error)]
pub enum PublishError {
    /// Another process holds the journal.
    #[error("another recto is changing files")]
    Busy,
    /// A file would be made where there is one.
    #[error("{} already exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file changed while it was worked on.
    #[error("{} was changed by another program meanwhile", path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// Another program does not close a file.
    #[error("{} is open for writing in another program", path.display())]
    InUse {
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
    #[error("{} is not valid text and cannot be recorded", path.display())]
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
    #[error("the backup {} no longer exists", path.display())]
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
    #[error("cannot read the record {}", path.display())]
    BadRecord {
        /// The record.
        path: PathBuf,
    },
    /// An operation failed half-way and could not be taken back.
    #[error("operation {id} was interrupted and could not be undone: {cause}")]
    Interrupted {
        /// The operation.
        id: OperationId,
        /// Why.
        cause: String,
    },
}

impl PublishError {
    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            PublishError::Busy => "busy",
            PublishError::Exists { .. } => "exists",
            PublishError::ChangedMeanwhile { .. } => "changed-meanwhile",
            PublishError::InUse { .. } => "in-use",
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
        }
    }
}
