//! Why a follower cannot continue.

use thiserror::Error;

/// Why a follower cannot continue.
#[derive(Debug, Error)]
pub enum FollowError {
    /// The checkpoint of a follower cannot be resumed from.
    #[error("the checkpoint cannot be used: {why}")]
    BadCheckpoint {
        /// What is wrong with it.
        why: &'static str,
    },
}

impl FollowError {
    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            FollowError::BadCheckpoint { .. } => "bad-checkpoint",
        }
    }
}
