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

use crate::context::Context;
use crate::data::Moment;
use crate::data::TokenCounts;

/// What a session does now, and how that is known.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct StatusView {
    pub(crate) id: String,
    pub(crate) status: &'static str,
    pub(crate) since: Option<Moment>,
    pub(crate) confidence: &'static str,
    /// The evidence, in sentences.
    pub(crate) why: Vec<String>,
    /// When the answer changes if nothing happens.
    pub(crate) changes_at: Option<Moment>,
    /// Whether its client runs.
    pub(crate) live: bool,
    pub(crate) pid: Option<u32>,
    /// The call that somebody has to allow or to answer.
    pub(crate) pending: Option<CallView>,
    /// The call that runs.
    pub(crate) current: Option<CallView>,
    /// Subagents that run, and commands in the background.
    pub(crate) running: Vec<TaskView>,
    pub(crate) title: Option<String>,
    pub(crate) goal: Option<String>,
    pub(crate) last_output: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) permission_mode: Option<String>,
    /// None if only the end of the log was read.
    pub(crate) tokens: Option<TokenCounts>,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) last_line: Option<Moment>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct CallView {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) about: String,
    pub(crate) since: Option<Moment>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct TaskView {
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) about: String,
    pub(crate) since: Option<Moment>,
}

/// What was read of logs to tell what their sessions do.
#[derive(Debug, Default)]
pub(crate) struct KnownStatuses {
    /// Sessions that run or were written a short time ago.
    recent: Mutex<Statuses>,
}

/// The sessions that run, or whose logs were written a short time ago: those that
/// need somebody first.
pub(crate) fn recent_statuses(context: &Context) -> Vec<SessionStatus> {
    let inventory = context.inventory();
    let mut known = context.statuses.recent.lock().unwrap_or_else(PoisonError::into_inner);
    known.look(&context.home, &inventory, &StatusScope::Recent(RECENT), context.now())
}

/// What sessions do now: those named, or those that run or did a short time ago.
pub(crate) fn statuses(context: &Context, session: Option<SessionId>) -> Vec<StatusView> {
    let found = match session {
        None => recent_statuses(context),
        // What is known of others stays known.
        Some(id) => {
            let scope = StatusScope::Only(vec![id]);
            let inventory = context.inventory();
            Statuses::default().look(&context.home, &inventory, &scope, context.now())
        }
    };
    found.iter().map(StatusView::of).collect()
}

impl StatusView {
    pub(crate) fn of(one: &SessionStatus) -> StatusView {
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
