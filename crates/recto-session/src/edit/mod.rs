//! Edits: a plan of what the new log holds, made without touching anything.
//!
//! A [`Manuscript`] is a log with the place of every line. A [`Draft`] says
//! which of its lines stay, what changes in them and what is added; it holds no
//! text of the log, so that a log of any size can be edited. [`Draft::write`]
//! gives the bytes of the new log. [`compare()`] then tells whether every client
//! still brings back what it brought back before, but for what was to go.
//!
//! Does not own: files, backups and undoing, which are the store's.

mod change;
mod compare;
mod draft;
mod fork;
mod link;
mod manuscript;
pub mod repair;
mod rewrite;
mod write;

pub use change::Change;
pub use change::PathStep;
pub use compare::Comparison;
pub use compare::Loss;
pub use compare::compare;
pub use draft::Draft;
pub use draft::Place;
pub use fork::ForkPoint;
pub use fork::fork;
pub use link::Link;
pub use manuscript::Manuscript;
pub use manuscript::SourceLine;
pub use rewrite::Rewrite;
pub use write::WriteError;

/// Why an edit cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// There is no such turn.
    NoTurn {
        /// The number that was asked for.
        number: u32,
        /// The number of the last turn.
        last: u32,
    },
    /// There is no such line.
    NoLine {
        /// What was asked for.
        uuid: String,
    },
    /// There is no conversation in the log.
    NoConversation,
    /// Nothing fits what was asked for, so the result would be the same.
    NothingToDo,
    /// The bytes of a line cannot be had any more: the log has changed.
    SourceChanged {
        /// The line.
        line: u64,
    },
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EditError::NoTurn { number, last } => {
                write!(f, "there is no turn {number}; the last one is {last}")
            }
            EditError::NoLine { uuid } => write!(f, "no line of the conversation is {uuid}"),
            EditError::NoConversation => f.write_str("there is no conversation in the log"),
            EditError::NothingToDo => f.write_str("there is nothing to change"),
            EditError::SourceChanged { line } => {
                write!(f, "line {line} is not there any more: the log has changed")
            }
        }
    }
}

impl std::error::Error for EditError {}
