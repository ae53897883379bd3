//! Operations: what was changed, when, and by which command.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;
use recto_log::SessionId;

use super::OperationId;
use super::state::State;

/// Whether an operation is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It was done, or done again.
    Done,
    /// It was undone.
    Undone,
}

impl Status {
    /// `done` or `undone`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Done => "done",
            Status::Undone => "undone",
        }
    }
}

/// What one operation did to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, absolute and without links.
    pub path: PathBuf,
    /// What was there; none for what was made.
    pub before: Option<State>,
    /// What is there since; none for what was removed.
    pub after: Option<State>,
}

impl Change {
    /// What it did, in a word.
    pub fn verb(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, Some(_)) => "create",
            (Some(_), None) => "remove",
            (Some(_), Some(_)) | (None, None) => "replace",
        }
    }
}

/// Something that changed files, with all that is needed to take it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its number.
    pub id: OperationId,
    /// Grows with every change of any operation's status: tells what was last.
    pub(crate) sequence: u64,
    /// When it was done.
    pub time: Timestamp,
    /// The command, such as `rename`.
    pub name: String,
    /// What the command was given.
    pub arguments: Vec<String>,
    /// The version of recto.
    pub version: String,
    /// The home it worked in, without links.
    pub home: PathBuf,
    /// The session it started from.
    pub source: Option<SessionId>,
    /// The session it made or changed.
    pub result: Option<SessionId>,
    /// The title of that session when it was done. It is kept here, because the session may
    /// be gone, and its backups too.
    pub title: Option<String>,
    /// Whether it is in force.
    pub status: Status,
    /// What it changed.
    pub changes: Vec<Change>,
    /// What is still to be done. Only there while it is done or undone, or if
    /// that was interrupted.
    pub(crate) pending: Option<Pending>,
}

impl Operation {
    /// Whether it was interrupted. The next command that changes something
    /// finishes it or takes it back.
    pub fn is_unfinished(&self) -> bool {
        self.pending.is_some()
    }

    /// The sessions whose files it changed, by the names of these.
    pub fn sessions(&self) -> BTreeSet<SessionId> {
        let paths = self.changes.iter().map(|change| change.path.with_extension(""));
        let parts = paths.flat_map(|path| {
            let names = path.iter().map(|name| name.to_string_lossy().parse().ok());
            names.collect::<Vec<Option<SessionId>>>()
        });
        parts.flatten().collect()
    }

    /// The bytes of all versions that are kept for it, before compression.
    pub fn bytes(&self) -> u64 {
        let states = self.changes.iter().filter_map(|change| change.before.as_ref());
        states.filter_map(State::file).map(|file| file.bytes).sum()
    }
}

/// The steps from the record before to this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The record to go back to; none if the operation is new.
    pub(crate) previous: Option<Box<Operation>>,
    pub(crate) steps: Vec<Step>,
}

/// One change of one path, on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) path: PathBuf,
    pub(crate) from: Option<State>,
    pub(crate) to: Option<State>,
    /// The new content, complete and durable, in the same directory.
    pub(crate) temporary: Option<PathBuf>,
}

impl From<&Step> for Change {
    fn from(step: &Step) -> Change {
        Change { path: step.path.clone(), before: step.from.clone(), after: step.to.clone() }
    }
}
