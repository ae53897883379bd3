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

use crate::answer::Failure;
use crate::context::Context;
use crate::data::Moment;

/// How long a page offers to take a new title back. The API does at any time.
const OFFERED: SignedDuration = SignedDuration::from_mins(10);

/// Something that recto did, as `recto log --json` tells it.
#[derive(Debug, Serialize)]
pub(crate) struct OperationView {
    pub(crate) id: u64,
    pub(crate) time: Moment,
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) version: String,
    pub(crate) home: String,
    pub(crate) source: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) unfinished: bool,
    pub(crate) changes: Vec<ChangeView>,
}

/// What an operation did to one file.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeView {
    pub(crate) path: String,
    pub(crate) change: &'static str,
    pub(crate) bytes_before: Option<u64>,
    pub(crate) bytes_after: Option<u64>,
}

/// A session that has another title now.
#[derive(Debug, Serialize)]
pub(crate) struct RenamedView {
    pub(crate) session: String,
    pub(crate) title: String,
    /// The number by which it can be undone.
    pub(crate) operation: u64,
    /// What had been interrupted before, and was put right first.
    pub(crate) remarks: Vec<String>,
}

/// An operation that was taken back.
#[derive(Debug, Serialize)]
pub(crate) struct UndoneView {
    #[serde(flatten)]
    pub(crate) operation: OperationView,
    /// What had been interrupted before, and was put right first.
    pub(crate) remarks: Vec<String>,
}

impl From<&Operation> for OperationView {
    fn from(operation: &Operation) -> OperationView {
        OperationView {
            id: operation.id.number(),
            time: Moment(operation.time),
            name: operation.name.clone(),
            arguments: operation.arguments.clone(),
            version: operation.version.clone(),
            home: operation.home.to_string_lossy().into_owned(),
            source: operation.source.map(|id| id.to_string()),
            result: operation.result.map(|id| id.to_string()),
            status: operation.status.name(),
            unfinished: operation.is_unfinished(),
            changes: operation.changes.iter().map(ChangeView::from).collect(),
        }
    }
}

impl From<&Change> for ChangeView {
    fn from(change: &Change) -> ChangeView {
        let bytes =
            |state: &Option<State>| state.as_ref().and_then(State::file).map(|file| file.bytes);
        ChangeView {
            path: change.path.to_string_lossy().into_owned(),
            change: change.verb(),
            bytes_before: bytes(&change.before),
            bytes_after: bytes(&change.after),
        }
    }
}

/// What recto did in this home, newest first.
pub(crate) fn operations(context: &Context, most: usize) -> Result<Vec<OperationView>, Failure> {
    let operations = newest_operations(&context.data, &context.home)?;
    Ok(operations.iter().take(most).map(OperationView::from).collect())
}

/// Gives a session another title.
pub(crate) fn rename(
    context: &Context,
    session: SessionId,
    title: &str,
) -> Result<RenamedView, Failure> {
    let wanted = Title::new(title)?;
    let mut journal = Journal::open(&context.data)?;
    // What was put right may have changed what is there.
    context.readings.forget_list();
    let found = context.find(session)?;
    let renamed = journal.rename(Renaming {
        home: &context.home,
        data: &context.data,
        session: &found.file,
        title: &wanted,
        arguments: vec![session.to_string(), title.to_owned()],
        time: context.now(),
        is_dry: false,
    });
    context.readings.forget_list();
    let operation = renamed?.operation.ok_or_else(|| Failure::internal("nothing was done"))?;
    Ok(RenamedView {
        session: session.to_string(),
        title: wanted.as_str().to_owned(),
        operation: operation.id.number(),
        remarks: remarks(&journal),
    })
}

/// Takes an operation back: the newest one that is in force, unless one is named.
pub(crate) fn undo(context: &Context, which: Option<OperationId>) -> Result<UndoneView, Failure> {
    let mut journal = Journal::open(&context.data)?;
    let reversal = journal.undo(&context.home, which, Changed::Refuse);
    context.readings.forget_list();
    let operation = OperationView::from(&reversal?.operation);
    Ok(UndoneView { operation, remarks: remarks(&journal) })
}

/// The new title that a page offers to take back: it was given a moment ago, and
/// nothing else was done since.
pub(crate) fn last_rename(context: &Context, session: SessionId) -> Option<OperationId> {
    // A page is shown without the offer rather than not at all.
    let operations = newest_operations(&context.data, &context.home).ok()?;
    let last = operations.iter().find(|operation| operation.status == Status::Done)?;
    let is_it = last.name == "rename" && last.result == Some(session) && !last.is_unfinished();
    let is_new = context.now().duration_since(last.time).abs() < OFFERED;
    (is_it && is_new).then_some(last.id)
}

fn remarks(journal: &Journal) -> Vec<String> {
    journal.recovered().iter().flat_map(Recovered::lines).collect()
}
