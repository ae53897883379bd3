//! What sessions do now.

use std::sync::Mutex;
use std::sync::PoisonError;

use recto_log::SessionId;
use recto_session::status::PendingCall;
use recto_session::status::RunningTask;
use recto_store::RECENT;
use recto_store::SessionStatus;
use recto_store::StatusScope;
use recto_store::Statuses;
use serde::Serialize;

use crate::Moment;
use crate::TokenCounts;
use crate::library::Library;

/// What a session does now, and how that is known.
#[derive(Debug, Clone, Serialize)]
pub struct StatusView {
    pub id: String,
    pub status: &'static str,
    pub since: Option<Moment>,
    pub confidence: &'static str,
    /// The evidence, in sentences.
    pub why: Vec<String>,
    /// When the answer changes if nothing happens.
    pub changes_at: Option<Moment>,
    /// Whether its client runs.
    pub live: bool,
    pub pid: Option<u32>,
    /// The call that somebody has to allow or to answer.
    pub pending: Option<CallView>,
    /// The call that runs.
    pub current: Option<CallView>,
    /// Subagents that run, and commands in the background.
    pub running: Vec<TaskView>,
    pub title: Option<String>,
    pub goal: Option<String>,
    pub last_output: Option<String>,
    pub model: Option<String>,
    pub branch: Option<String>,
    pub cwd: Option<String>,
    pub version: Option<String>,
    pub permission_mode: Option<String>,
    /// None if only the end of the log was read.
    pub tokens: Option<TokenCounts>,
    pub context_tokens: Option<u64>,
    pub last_line: Option<Moment>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CallView {
    pub id: String,
    pub tool: String,
    pub about: String,
    pub since: Option<Moment>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TaskView {
    pub id: String,
    pub kind: &'static str,
    pub about: String,
    pub since: Option<Moment>,
}

/// What was read of logs to tell what their sessions do.
#[derive(Debug, Default)]
pub(crate) struct KnownStatuses {
    /// Sessions that run or were written a short time ago.
    recent: Mutex<Statuses>,
}

impl Library {
    /// The sessions that run, or whose logs were written a short time ago: those that
    /// need somebody first.
    pub fn recent_statuses(&self) -> Vec<SessionStatus> {
        let inventory = self.inventory();
        let mut known = self.known_statuses().recent.lock().unwrap_or_else(PoisonError::into_inner);
        known.look(self.home(), &inventory, &StatusScope::Recent(RECENT), self.now())
    }
}

impl Library {
    /// What sessions do now: those named, or those that run or did a short time ago.
    pub fn statuses(&self, session: Option<SessionId>) -> Vec<StatusView> {
        let found = match session {
            None => self.recent_statuses(),
            // What is known of others stays known.
            Some(id) => {
                let scope = StatusScope::Only(vec![id]);
                let inventory = self.inventory();
                Statuses::default().look(self.home(), &inventory, &scope, self.now())
            }
        };
        found.iter().map(StatusView::of).collect()
    }
}

impl StatusView {
    pub fn of(one: &SessionStatus) -> StatusView {
        let status = &one.status;
        StatusView {
            id: one.id.to_string(),
            status: status.kind.name(),
            since: status.since.map(Moment),
            confidence: status.confidence.name(),
            why: status.why.clone(),
            changes_at: status.changes_at.map(Moment),
            live: one.is_live(),
            pid: one.announced.as_ref().map(|announced| announced.pid),
            pending: status.pending.as_ref().map(call),
            current: status.current.as_ref().map(call),
            running: status.running.iter().map(task).collect(),
            title: status.title.clone(),
            goal: status.goal.clone(),
            last_output: status.last_output.clone(),
            model: status.model.clone(),
            branch: status.branch.clone(),
            cwd: status.cwd.clone(),
            version: status.version.clone(),
            permission_mode: status.permission_mode.clone(),
            tokens: one.is_whole.then(|| status.tokens.into()),
            context_tokens: status.context_tokens,
            last_line: status.last_line.map(Moment),
        }
    }
}

fn call(call: &PendingCall) -> CallView {
    CallView {
        id: call.id.clone(),
        tool: call.tool.clone(),
        about: call.about.clone(),
        since: call.since.map(Moment),
    }
}

fn task(task: &RunningTask) -> TaskView {
    TaskView {
        id: task.id.clone(),
        kind: task.kind.name(),
        about: task.about.clone(),
        since: task.since.map(Moment),
    }
}
