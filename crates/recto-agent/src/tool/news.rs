//! What a surface is told about tasks.

use serde_json::Value;
use serde_json::json;

use super::background::Task;
use super::host::Host;
use super::host::HostRequest;
use super::session::Session;

/// A name of one run of a task.
pub(super) fn new_run() -> String {
    format!("{:018x}", uuid::Uuid::new_v4().as_u128() >> 56)
}

/// A command that runs by itself now.
pub(super) fn begun(task: &Task, all: &[Task]) -> Vec<Value> {
    vec![changed(all), started(task, true)]
}

/// A command that runs longer than most, or in the background.
pub(super) fn started(task: &Task, is_background: bool) -> Value {
    json!({
        "type": "system",
        "subtype": "task_started",
        "task_id": task.id,
        "run_id": task.run,
        "tool_use_id": task.tool_use,
        "description": task.description,
        "is_backgrounded": is_background,
        "task_type": "local_bash",
    })
}

/// Which tasks run now.
fn changed(all: &[Task]) -> Value {
    let tasks: Vec<Value> = all
        .iter()
        .map(|task| {
            json!({
                "task_id": task.id,
                "run_id": task.run,
                "task_type": "local_bash",
                "description": task.description,
            })
        })
        .collect();
    json!({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks})
}

/// A command of the background ended. `status` is `completed`, `failed` or `killed`.
pub(super) fn ended(task: &Task, status: &str, summary: &str, all: &[Task]) -> Vec<Value> {
    let time = jiff::Timestamp::now().as_millisecond();
    let updated = json!({
        "type": "system",
        "subtype": "task_updated",
        "task_id": task.id,
        "run_id": task.run,
        "patch": {"status": status, "end_time": time},
    });
    let status = if status == "killed" { "stopped" } else { status };
    let file = task.output.display().to_string();
    vec![updated, notification(task, status, &file, summary), changed(all)]
}

/// That a command ended.
pub(super) fn notification(task: &Task, status: &str, file: &str, summary: &str) -> Value {
    json!({
        "type": "system",
        "subtype": "task_notification",
        "task_id": task.id,
        "run_id": task.run,
        "tool_use_id": task.tool_use,
        "status": status,
        "output_file": file,
        "summary": summary,
    })
}

/// Tells, and waits until it is on its way.
pub(super) async fn tell(host: &Host, lines: Vec<Value>) {
    // Without a loop nobody looks.
    let _ = host.ask(|answer| HostRequest::Tell { lines, answer }).await;
}

impl Session {
    /// Stops a background task, if there is one of that id; whether there was.
    pub async fn stop_task(&self, id: &str) -> bool {
        let Some(task) = self.background.task(id) else { return false };
        self.background.stop(id).await;
        // A subagent tells its end itself.
        if task.command.is_some() {
            let lines = ended(&task, "killed", &task.description, &self.background.commands());
            tell(&self.host, lines).await;
        }
        true
    }

    /// The name of the run of a task.
    #[must_use]
    pub fn run_of_task(&self, id: &str) -> Option<String> {
        self.background.task(id).map(|task| task.run)
    }

    /// Whether a subagent works that nobody waits for.
    #[must_use]
    pub fn has_live_agents(&self) -> bool {
        self.background.has_agents()
    }

    /// Whether the model has loaded a deferred tool.
    #[must_use]
    pub fn has_loaded(&self, name: &str) -> bool {
        self.state().loaded.contains(name)
    }
}
