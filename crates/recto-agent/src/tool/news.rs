//! What a surface is told about tasks.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json::json;

use super::background::Status;
use super::background::Task;
use super::background::notice;
use super::host::Host;
use super::host::HostRequest;
use super::session::Session;

/// A name of one run of a task.
pub(crate) fn new_run() -> String {
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
            let mut line = json!({"task_id": task.id, "run_id": task.run});
            line["task_type"] = match task.agent_kind() {
                Some(kind) => {
                    line["subagent_type"] = kind.into();
                    "local_agent".into()
                }
                None => "local_bash".into(),
            };
            line["description"] = task.description.as_str().into();
            line
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
    /// Stops a background task, if one of that id runs: what a model that did not stop it
    /// itself should know.
    pub async fn stop_task(&self, id: &str) -> Option<String> {
        let task = self.background.task(id).filter(|task| task.status == Status::Running)?;
        self.background.stop(id).await;
        // A subagent tells its end itself.
        if task.command.is_some() {
            let lines = ended(&task, "killed", &task.description, &self.background.running());
            tell(&self.host, lines).await;
        }
        let summary = format!(
            "Task \"{}\" was stopped by the user or by the app connected to this session",
            task.description
        );
        Some(notice(&task, "killed", &summary, ""))
    }

    /// Which tasks run now, as a JSON stream tells it.
    #[must_use]
    pub fn tasks_line(&self) -> Value {
        changed(&self.background.running())
    }

    /// The same, when one is about to end.
    #[must_use]
    pub fn tasks_line_without(&self, id: &str) -> Value {
        let mut running = self.background.running();
        running.retain(|task| task.id != id);
        changed(&running)
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

    /// A call of a tool has ended: what a subagent does with the tool is no news.
    pub fn note_used(&self, tool: &str) {
        self.state().used.insert(tool.to_owned());
    }

    /// The tools whose calls have ended, here or in a subagent.
    #[must_use]
    pub fn used_tools(&self) -> BTreeSet<String> {
        self.state().used.clone()
    }

    /// Whether the model has loaded a deferred tool.
    #[must_use]
    pub fn has_loaded(&self, name: &str) -> bool {
        self.state().loaded.contains(name)
    }
}
