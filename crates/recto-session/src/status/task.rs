//! What runs beside the conversation: subagents, and commands in the background.

use jiff::Timestamp;
use recto_log::Entry;
use recto_log::ToolResult;

use super::call::PendingCall;
use super::words::beginning;
use crate::show::items::between;

/// The most tasks that are kept; damaged logs can have any number.
const MOST: usize = 256;
/// The longest id that is kept.
const ID_MOST: usize = 200;
/// How the client's note that a task has ended begins.
const NOTE: &str = "<task-notification>";

/// What runs beside the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskKind {
    /// A subagent.
    Agent,
    /// A shell command in the background.
    Command,
}

impl TaskKind {
    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            TaskKind::Agent => "agent",
            TaskKind::Command => "command",
        }
    }
}

/// A subagent, or a command in the background, that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningTask {
    /// The subagent's or the task's id; that of the call for one that is waited for.
    pub id: String,
    /// What it is.
    pub kind: TaskKind,
    /// What it does, cut.
    pub about: String,
    /// When it was started.
    pub since: Option<Timestamp>,
}

/// What was put into the background and has not ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks(Vec<RunningTask>);

impl Tasks {
    /// Notes what a call has put into the background, by its result.
    pub(super) fn take_result(
        &mut self,
        entry: &Entry<'_>,
        call: Option<&PendingCall>,
        time: Option<Timestamp>,
    ) {
        let (kind, id) = match entry.tool_result(call.map(|call| call.tool.as_str())) {
            Some(ToolResult::AgentLaunched { agent: Some(agent), .. }) => {
                (TaskKind::Agent, agent.as_str().to_owned())
            }
            Some(ToolResult::Bash { background: Some(id), .. }) => {
                let Some(id) = id.as_str().filter(|id| !id.is_empty()) else { return };
                (TaskKind::Command, id.into_owned())
            }
            _ => return,
        };
        let about = call.map(|call| call.about.clone()).unwrap_or_default();
        self.stop(&id);
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(RunningTask { id: beginning(&id, ID_MOST), kind, about, since: time });
    }

    /// A task has ended, if the text is the client's note about it.
    pub(super) fn end_by_note(&mut self, text: &str) {
        if !text.trim_start().starts_with(NOTE) {
            return;
        }
        if let Some(id) = between(text, "task-id") {
            self.stop(id.trim());
        }
    }

    /// A task was stopped.
    pub(super) fn stop(&mut self, id: &str) {
        self.0.retain(|task| task.id != id);
    }

    /// Those that a process has started: what an earlier one had ended with it.
    pub(super) fn since(
        &self,
        started: Option<Timestamp>,
    ) -> impl Iterator<Item = RunningTask> + '_ {
        let is_ours = move |task: &&RunningTask| match (task.since, started) {
            (Some(since), Some(started)) => since >= started,
            _ => true,
        };
        self.0.iter().filter(is_ours).cloned()
    }
}
