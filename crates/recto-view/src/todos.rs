//! The to-do list of a log.

use recto_log::Entry;
use recto_session::NodeId;
use recto_session::TODO_TOOLS;
use recto_session::Todo;
use recto_session::TodoChange;
use recto_session::TodoList;
use recto_session::ToolCall;
use recto_session::with_call;
use serde::Serialize;

use crate::Moment;
use crate::Reading;

/// A to-do.
#[derive(Debug, Serialize)]
pub struct TodoRow {
    /// The task's number; `TodoWrite` has none.
    pub id: Option<String>,
    /// `pending`, `in_progress`, `completed`, or what the tool says.
    pub status: String,
    /// What is to be done.
    pub text: String,
}

impl From<Todo> for TodoRow {
    fn from(todo: Todo) -> TodoRow {
        let Todo { id, status, text } = todo;
        TodoRow { id, status, text }
    }
}

/// A change of the list.
#[derive(Debug, Serialize)]
pub struct TodoChangeRow {
    /// The to-do after the change.
    #[serde(flatten)]
    pub todo: TodoRow,
    /// The status before; none for a new one.
    pub before: Option<String>,
    /// Whether it was taken off the list.
    pub removed: bool,
    /// The turn of the change; 0 if it belongs to none.
    pub turn: u32,
    /// When the tool was done.
    pub time: Option<Moment>,
}

/// The list at the end, and all changes in the order of the results.
pub fn todos(reading: &Reading) -> (Vec<TodoRow>, Vec<TodoChangeRow>) {
    let session = reading.session();
    let is_kept = |call: &&ToolCall| {
        !call.is_error && call.name.is_some_and(|name| TODO_TOOLS.contains(&session.name(name)))
    };
    let calls = session.facts().calls.iter().filter(is_kept);
    // Parallel calls change the list when they are answered.
    let mut calls: Vec<(NodeId, &ToolCall)> =
        calls.filter_map(|call| Some((call.result?, call))).collect();
    calls.sort_by_key(|(result, _)| session.node(*result).line);
    let mut list = TodoList::default();
    let mut changes = Vec::new();
    for (result, call) in calls {
        let changed = take(reading, &mut list, call, result);
        changes.extend(changed.into_iter().map(|change| TodoChangeRow {
            todo: change.todo.into(),
            before: change.before,
            removed: change.is_removed,
            turn: reading.turn_number(result),
            time: session.node(result).time().map(Moment),
        }));
    }
    (list.todos().iter().cloned().map(TodoRow::from).collect(), changes)
}

fn take(
    reading: &Reading,
    list: &mut TodoList,
    call: &ToolCall,
    result: NodeId,
) -> Vec<TodoChange> {
    let session = reading.session();
    let (tool, id) = (call.name.map_or("", |name| session.name(name)), session.name(call.id));
    let take = |called: &Entry<'_>| {
        reading.loaded.with_entry(result, |answered| {
            let kept = answered.get("toolUseResult");
            with_call(called, id, |input| list.take(tool, Some(input), kept))
        })
    };
    let taken = call.call.and_then(|line| reading.loaded.with_entry(line, take));
    taken.flatten().flatten().unwrap_or_default()
}
