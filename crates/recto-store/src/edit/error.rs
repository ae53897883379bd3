//! Why a session may not be edited, or an edit was not made.

use std::path::PathBuf;

use recto_log::SessionId;
use recto_session::edit::EditError as PlanError;
use thiserror::Error;

/// Why a session may not be edited, or an edit was not made. Nothing has changed.
#[derive(Debug, Error)]
pub enum EditError {
    /// The session does not allow the edit.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A client would lose more by an edit than was asked for.
    #[error("the edit was not made: {}", losses.join("; "))]
    WouldLose {
        /// What would be lost, in words.
        losses: Vec<String>,
    },
    /// Two sessions have a file of one name, and the contents differ.
    #[error("{} and {} are not the same", first.display(), second.display())]
    PartsDiffer {
        /// That of the first session.
        first: PathBuf,
        /// That of the second session.
        second: PathBuf,
    },
    /// The user's settings are no JSON object.
    #[error("{} is not a JSON object", path.display())]
    BadSettings {
        /// The file.
        path: PathBuf,
    },
    /// A title has more than one line, or characters that control something, or is too long.
    #[error("a title is one line of text, of at most 400 bytes")]
    BadTitle,
    /// A log with another title would not show that title.
    #[error("the log with the new title does not read back; nothing was changed")]
    TitleNotReadBack,
    /// Only the archive has the session.
    #[error("session {session} is only in the archive")]
    Archived {
        /// The session.
        session: SessionId,
    },
    /// A client works on the session now.
    #[error("session {session} is open (process {pid})")]
    Live {
        /// The session.
        session: SessionId,
        /// The client.
        pid: u32,
    },
    /// A client that cannot be seen from here may work on the session.
    #[error(
        "session {session} may be open in another container or on another machine (process {pid} there)"
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
        "process {pid} may be using the session: {} cannot be read", path.display()
    )]
    UnreadableClient {
        /// The process.
        pid: u32,
        /// Its file.
        path: PathBuf,
    },
    /// The log was written a moment ago.
    #[error("{} was modified a moment ago and may be in use", path.display())]
    Recent {
        /// The log.
        path: PathBuf,
    },
}

impl EditError {
    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            EditError::Plan(error) => error.kind(),
            EditError::WouldLose { .. } => "would-lose",
            EditError::PartsDiffer { .. } => "parts-differ",
            EditError::BadSettings { .. } => "bad-settings",
            EditError::BadTitle => "bad-title",
            EditError::TitleNotReadBack => "not-read-back",
            EditError::Archived { .. } => "only-archived",
            EditError::Live { .. }
            | EditError::Elsewhere { .. }
            | EditError::UnreadableClient { .. } => "live-session",
            EditError::Recent { .. } => "recently-written",
        }
    }
}
