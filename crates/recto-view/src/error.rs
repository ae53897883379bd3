//! Why a question has no answer.

use recto_store::StoreError;
use thiserror::Error;

/// Why a question has no answer. No message contains text of a log or a path that the asker sent.
#[derive(Debug, Error)]
pub enum ViewError {
    /// The session, agent, call or line does not exist.
    #[error("{0}")]
    NotFound(&'static str),
    /// The question is not one.
    #[error("{message}")]
    Refused {
        /// A stable name, for programs.
        kind: &'static str,
        /// What is wrong with it.
        message: String,
        /// What to ask instead.
        hint: Option<String>,
    },
    /// Files could not be read or changed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something that cannot happen.
    #[error("{0}")]
    Internal(&'static str),
}

impl ViewError {
    pub(crate) fn refused(kind: &'static str, message: impl Into<String>) -> ViewError {
        ViewError::Refused { kind, message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> ViewError {
        match self {
            ViewError::Refused { kind, message, .. } => {
                ViewError::Refused { kind, message, hint: Some(hint.into()) }
            }
            other => other,
        }
    }
}
