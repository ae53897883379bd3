//! What recto changed in the home, and changing it: a new title, and taking back.
//!
//! The rules (who may not be edited, what is put right first) are the store's.

use jiff::SignedDuration;
use recto_log::SessionId;
use recto_store::Renaming;
use recto_store::Title;
use recto_store::publish::Change;
use recto_store::publish::Changed;
use recto_store::publish::Journal;
use recto_store::publish::Operation;
use recto_store::publish::OperationId;
use recto_store::publish::Recovered;
use recto_store::publish::State;
use recto_store::publish::Status;
use recto_store::publish::newest_operations;
use serde::Serialize;

use crate::Moment;
use crate::SessionName;
use crate::error::ViewError;
use crate::library::Library;

/// How long a page offers to take a new title back. The API does at any time.
const OFFERED: SignedDuration = SignedDuration::from_mins(10);

/// Something that recto did, as `recto log --json` tells it.
#[derive(Debug, Serialize)]
pub struct OperationRow {
    /// Its number, for undo.
    pub id: u64,
    /// When it was done.
    pub time: Moment,
    /// The command.
    pub name: String,
    /// What the command was given.
    pub arguments: Vec<String>,
    /// The version of recto that did it.
    pub version: String,
    /// The home that it changed.
    pub home: String,
    /// The session that it started from.
    pub source: Option<String>,
    /// The session that it made or changed.
    pub result: Option<String>,
    /// The sessions whose files it changed.
    pub sessions: Vec<String>,
    /// The title of the session when it was done.
    pub title: Option<String>,
    /// `done` or `undone`.
    pub status: &'static str,
    /// Whether it was interrupted.
    pub unfinished: bool,
    /// The files that it changed.
    pub changes: Vec<ChangeRow>,
}

/// What an operation did to one file.
#[derive(Debug, Serialize)]
pub struct ChangeRow {
    /// The file.
    pub path: String,
    /// `create`, `replace` or `remove`.
    pub change: &'static str,
    /// Its size before; none if there was none, and for directories.
    pub bytes_before: Option<u64>,
    /// Its size after.
    pub bytes_after: Option<u64>,
}

/// A session that has another title now.
#[derive(Debug, Serialize)]
pub struct RenamedView {
    /// The session.
    pub session: String,
    /// Its title now.
    pub title: String,
    /// The number to undo it with.
    pub operation: u64,
    /// What had been interrupted before, and was put right first.
    pub remarks: Vec<String>,
}

/// An operation that was taken back.
#[derive(Debug, Serialize)]
pub struct UndoneView {
    /// The operation.
    #[serde(flatten)]
    pub operation: OperationRow,
    /// What had been interrupted before, and was put right first.
    pub remarks: Vec<String>,
}

impl From<&Operation> for OperationRow {
    fn from(operation: &Operation) -> OperationRow {
        OperationRow {
            id: operation.id.number(),
            time: Moment(operation.time),
            name: operation.name.clone(),
            arguments: operation.arguments.clone(),
            version: operation.version.clone(),
            home: operation.home.to_string_lossy().into_owned(),
            source: operation.source.map(|id| id.to_string()),
            result: operation.result.map(|id| id.to_string()),
            sessions: operation.sessions().iter().map(ToString::to_string).collect(),
            title: operation.title.clone(),
            status: operation.status.name(),
            unfinished: operation.is_unfinished(),
            changes: operation.changes.iter().map(ChangeRow::from).collect(),
        }
    }
}

impl From<&Change> for ChangeRow {
    fn from(change: &Change) -> ChangeRow {
        let bytes =
            |state: &Option<State>| state.as_ref().and_then(State::file).map(|file| file.bytes);
        ChangeRow {
            path: change.path.to_string_lossy().into_owned(),
            change: change.verb(),
            bytes_before: bytes(&change.before),
            bytes_after: bytes(&change.after),
        }
    }
}

impl Library {
    /// What recto did in this home, newest first.
    pub fn operations(&self, most: usize) -> Result<Vec<OperationRow>, ViewError> {
        let operations = newest_operations(self.data()?, self.home())?.operations;
        Ok(operations.iter().take(most).map(OperationRow::from).collect())
    }
}

impl Library {
    /// Gives a session another title.
    pub fn rename(
        &self,
        name: impl Into<SessionName>,
        title: &str,
    ) -> Result<RenamedView, ViewError> {
        let wanted = Title::new(title)?;
        let mut journal = Journal::open(self.data()?, self.home())?;
        // What was put right may have changed what is there.
        self.readings().forget_list();
        let found = self.find(name)?;
        let session = found.file.id;
        let renamed = journal.rename(Renaming {
            home: self.home(),
            data: self.data()?,
            session: &found.file,
            title: &wanted,
            arguments: vec![session.to_string(), title.to_owned()],
            time: self.now(),
            is_dry: false,
        });
        self.readings().forget_list();
        let operation = renamed?.operation.ok_or(ViewError::Internal("nothing was done"))?;
        Ok(RenamedView {
            session: session.to_string(),
            title: wanted.as_str().to_owned(),
            operation: operation.id.number(),
            remarks: remarks(&journal),
        })
    }
}

impl Library {
    /// Takes an operation back: the newest one that is in force, unless one is named.
    pub fn undo(&self, which: Option<OperationId>) -> Result<UndoneView, ViewError> {
        let mut journal = Journal::open(self.data()?, self.home())?;
        let reversal = journal.undo(self.home(), which, Changed::Refuse);
        self.readings().forget_list();
        let operation = OperationRow::from(&reversal?.operation);
        Ok(UndoneView { operation, remarks: remarks(&journal) })
    }
}

impl Library {
    /// The new title that a page offers to take back: it was given a moment ago, and
    /// nothing else was done since.
    pub fn last_rename(&self, session: SessionId) -> Option<OperationId> {
        // A page is shown without the offer rather than not at all.
        let operations = newest_operations(self.data().ok()?, self.home()).ok()?.operations;
        let last = operations.iter().find(|operation| operation.status == Status::Done)?;
        let is_it = last.name == "rename" && last.result == Some(session) && !last.is_unfinished();
        let is_new = self.now().duration_since(last.time).abs() < OFFERED;
        (is_it && is_new).then_some(last.id)
    }
}

/// What had been interrupted before, and was put right first.
pub(crate) fn remarks(journal: &Journal) -> Vec<String> {
    journal.recovered().iter().flat_map(Recovered::lines).collect()
}
