//! Edits: a plan of what the new log holds, made without touching anything.
//!
//! A [`Manuscript`] is a log with the place of every line. A [`Draft`] says
//! which of its lines stay, what changes in them and what is added; it holds no
//! text of the log, so that a log of any size can be edited. [`Draft::write`]
//! gives the bytes of the new log. [`compare()`] then tells whether every client
//! still brings back what it brought back before, but for what was to go.
//!
//! Does not own: files, backups and undoing, which are the store's.

mod ages;
mod budget;
mod change;
mod compare;
mod compress;
mod cut;
mod draft;
mod fork;
mod link;
mod manuscript;
mod mend;
mod merge;
mod plan;
pub mod repair;
mod rewrite;
mod source_lines;
mod strip;
mod summary;
mod trim;
mod trimmer;
mod write;

use std::io;

pub use change::Change;
pub use change::PathStep;
pub use compare::Comparison;
pub use compare::Loss;
pub use compare::compare;
pub use compress::CompressOptions;
pub use compress::OldLines;
pub use compress::compress;
pub use draft::Draft;
pub use draft::Place;
pub use fork::ForkPoint;
pub use fork::fork;
pub use link::Link;
pub use manuscript::Manuscript;
pub use manuscript::SourceLine;
pub use merge::Merge;
pub use merge::merge;
pub use plan::Plan;
pub use plan::PlanKind;
pub use plan::PlanRow;
pub use rewrite::LineFilter;
pub use rewrite::Rewrite;
pub use source_lines::SourceLines;
pub use strip::StripOptions;
pub use strip::strip;
pub use summary::SummaryText;
pub use summary::ToolDetail;
pub use trim::ResultAction;
pub use trim::ResultPolicy;
pub use trim::TrimOptions;
pub use trim::trim;
pub use write::WriteError;

/// Why an edit cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Nothing would be left to go on from.
    NothingLeft,
    /// The turn is not part of the conversation that clients go on with: it is
    /// on another branch, or a summary stands for it.
    NotCurrent {
        /// The turn.
        number: u32,
    },
    /// A line is too long to be changed.
    LineTooLong {
        /// The line.
        line: u64,
    },
    /// The log is damaged in a way that the edit would make worse.
    NeedsRepair {
        /// What is wrong.
        why: String,
    },
    /// A line no longer exists: the log has changed.
    SourceChanged {
        /// The line.
        line: u64,
    },
    /// A line cannot be read.
    Unreadable {
        /// The line.
        line: u64,
        /// What the source of the lines said.
        error: String,
    },
}

impl EditError {
    /// Why a line could not be read again.
    fn of_line(line: u64, error: &io::Error) -> EditError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => EditError::SourceChanged { line },
            _ => EditError::Unreadable { line, error: error.to_string() },
        }
    }

    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            EditError::NoTurn { .. } => "no-turn",
            EditError::NoLine { .. } => "no-line",
            EditError::NoConversation => "no-conversation",
            EditError::NothingToDo => "nothing-to-do",
            EditError::NothingLeft => "nothing-left",
            EditError::NotCurrent { .. } => "not-current",
            EditError::LineTooLong { .. } => "line-too-long",
            EditError::NeedsRepair { .. } => "needs-repair",
            EditError::SourceChanged { .. } => "source-changed",
            EditError::Unreadable { .. } => "unreadable",
        }
    }
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
            EditError::NothingLeft => f.write_str("nothing would be left of the conversation"),
            EditError::NotCurrent { number } => write!(
                f,
                "turn {number} is not part of the current conversation: it is on another branch, or was compacted"
            ),
            EditError::LineTooLong { line } => write!(f, "line {line} is too long to edit"),
            EditError::NeedsRepair { why } => {
                write!(f, "the log is damaged: {why}; run `recto repair` first")
            }
            EditError::SourceChanged { line } => {
                write!(f, "line {line} no longer exists: the log has changed")
            }
            EditError::Unreadable { line, error } => {
                write!(f, "line {line} cannot be read: {error}")
            }
        }
    }
}

impl std::error::Error for EditError {}
