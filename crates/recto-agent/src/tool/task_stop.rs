//! `TaskStop`: ends a background task. Older models call it `KillShell`.

use serde_json::json;

use super::background::Status;
use super::context::Call;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const ABOUT: &str = "Stops a background task and everything it started.";

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::optional("task_id", Kind::String, "The id returned when the task started"),
    Field::optional("shell_id", Kind::String, "The same, as older models call it"),
]);

fn wanted<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    let given = |name| call.optional(name).filter(|id| !id.is_empty());
    given("task_id").or_else(|| given("shell_id"))
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    let Some(id) = wanted(call) else {
        return Err(ToolOutcome::refused("Missing required parameter: task_id"));
    };
    let Some(task) = call.session.background.task(id) else {
        return Err(ToolOutcome::refused(format!("No task found with ID: {id}")));
    };
    if task.status != Status::Running {
        return Err(ToolOutcome::refused(format!(
            "Task {id} is not running (status: {})",
            task.status.as_str()
        )));
    }
    Ok(())
}

pub(super) async fn run(call: &Call<'_>) -> ToolOutcome {
    let id = wanted(call).unwrap_or_default();
    let Some(task) = call.session.background.task(id) else {
        return ToolOutcome::refused(format!("No task found with ID: {id}"));
    };
    call.session.stop_task(id).await;
    let kind = if task.command.is_some() { "local_bash" } else { "local_agent" };
    let command = task.command.unwrap_or(task.description);
    let structured = json!({
        "message": format!("Successfully stopped task: {id} ({command})"),
        "task_id": id,
        "task_type": kind,
        "command": command,
    });
    ToolOutcome::text(structured.to_string(), structured)
}
