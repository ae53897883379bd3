//! Why the index cannot be used.

use rusqlite::ErrorCode;
use thiserror::Error;

/// Why the index cannot be used.
#[derive(Debug, Error)]
pub enum IndexError {
    /// Its file is not what it should be; it can be made anew.
    #[error("the index cannot be used: {why}")]
    Damaged {
        /// What the database said.
        why: String,
    },
    /// Another process holds it.
    #[error("the index cannot be used: {why}")]
    Locked {
        /// What the database said.
        why: String,
    },
    /// It cannot be opened or written.
    #[error("the index cannot be used: {why}")]
    Refused {
        /// What the database or the system said.
        why: String,
    },
}

impl From<rusqlite::Error> for IndexError {
    fn from(error: rusqlite::Error) -> IndexError {
        // What the check of a page's sum gives.
        let extended = error.sqlite_error().map(|error| error.extended_code);
        if extended == Some(rusqlite::ffi::SQLITE_IOERR_DATA) {
            return IndexError::Damaged { why: "a page is damaged".into() };
        }
        let why = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => IndexError::Locked { why },
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::NoLargeFileSupport
                | ErrorCode::AuthorizationForStatementDenied
                | ErrorCode::FileLockingProtocolFailed,
            ) => IndexError::Refused { why },
            // What FTS5 says of an expression that it does not take. The file is all right.
            Some(ErrorCode::Unknown) if why.starts_with("fts5: ") => IndexError::Refused { why },
            // A table that is not there, or not as it should be, is damage, too.
            _ => IndexError::Damaged { why },
        }
    }
}
