//! `TodoWrite`: a list of things to do, replaced as a whole. Newer models use `TaskCreate`.

use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const ABOUT: &str = "Keeps the session's to-do list. Pass the whole list each time, \
with at most one entry in progress.";

const TODO: Schema = Schema::open(&[
    Field::required("content", Kind::String, "What to do"),
    Field::required("status", Kind::OneOf(&["pending", "in_progress", "completed"]), "Its status"),
    Field::required("activeForm", Kind::String, "What to show while it is in progress"),
]);

pub(super) const SCHEMA: Schema = Schema::closed(&[Field::required(
    "todos",
    Kind::Array { of: &Kind::Object(&TODO), min: 0, max: usize::MAX },
    "The list",
)]);

pub(super) fn run(call: &Call<'_>) -> ToolOutcome {
    let new = call.input.get("todos").cloned().unwrap_or_else(|| json!([]));
    let is_done = |todo: &Value| todo.get("status") == Some(&json!("completed"));
    let is_over = new.as_array().is_some_and(|todos| todos.iter().all(is_done));
    let mut state = call.session.state();
    let kept = if is_over { json!([]) } else { new.clone() };
    let old = std::mem::replace(&mut state.todos, kept);
    let old = if old.is_null() { json!([]) } else { old };
    ToolOutcome::text(
        "Todos have been modified successfully. Ensure that you continue to use the todo list to \
         track your progress. Please proceed with the current tasks if applicable",
        json!({"oldTodos": old, "newTodos": new}),
    )
}
