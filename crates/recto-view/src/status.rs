//! What sessions do now.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;

use recto_log::SessionId;
use recto_session::status::PendingCall;
use recto_session::status::RunningTask;
use recto_session::status::StatusKind;
use recto_store::Inventory;
use recto_store::RECENT;
use recto_store::SessionStatus;
use recto_store::StatusScope;
use recto_store::Statuses;
use serde::Serialize;

use crate::Moment;
use crate::Profile;
use crate::TokenCounts;
use crate::library::Library;
use crate::profile::goal;
use crate::profile::last_part;

/// What a session does now, and how that is known.
#[derive(Debug, Clone, Serialize)]
pub struct StatusRow {
    /// The session.
    pub id: String,
    /// What it does: `working`, `waiting`, …
    pub status: &'static str,
    /// Since when.
    pub since: Option<Moment>,
    /// How sure that is.
    pub confidence: &'static str,
    /// The evidence, in sentences.
    pub why: Vec<String>,
    /// Whether its client runs.
    pub live: bool,
    /// The process of its client.
    pub pid: Option<u32>,
    /// What the session is.
    #[serde(flatten)]
    pub profile: Profile,
    /// 200 characters at most.
    pub last_prompt: Option<String>,
    /// The mode of permissions that it is in.
    pub permission_mode: Option<String>,
    /// The call that somebody has to allow or to answer.
    pub pending: Option<CallRow>,
    /// The call that runs.
    pub current: Option<CallRow>,
    /// Subagents that run, and commands in the background.
    pub running: Vec<TaskRow>,
    /// None if only the end of the log was read.
    pub tokens: Option<TokenCounts>,
    /// Tokens of the context, as the last answer tells them.
    pub context_tokens: Option<u64>,
    /// When the last line was written.
    pub last_line: Option<Moment>,
    /// When the answer changes if nothing happens.
    pub changes_at: Option<Moment>,
    /// The log; none before the first prompt.
    pub path: Option<String>,
}

/// A call of a tool that has no result yet.
#[derive(Debug, Clone, Serialize)]
pub struct CallRow {
    /// The id of the call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The argument that says most.
    pub about: String,
    /// When it was called.
    pub since: Option<Moment>,
}

/// Work in the background.
#[derive(Debug, Clone, Serialize)]
pub struct TaskRow {
    /// Its id.
    pub id: String,
    /// `agent` or `command`.
    pub kind: &'static str,
    /// What it does, in a few words.
    pub about: String,
    /// When it was started.
    pub since: Option<Moment>,
}

/// What was read of logs to tell what their sessions do.
#[derive(Debug, Default)]
pub(crate) struct KnownStatuses {
    /// Sessions that run or were written a short time ago.
    recent: Mutex<Statuses>,
    /// Sessions in a list that run.
    running: Mutex<Statuses>,
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
    /// What some sessions do, in one word each.
    pub(crate) fn statuses_of(
        &self,
        sessions: Vec<SessionId>,
        inventory: &Inventory,
    ) -> HashMap<SessionId, StatusKind> {
        if sessions.is_empty() {
            return HashMap::new();
        }
        let known = &self.known_statuses().running;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.look(self.home(), inventory, &StatusScope::Only(sessions), self.now());
        found.into_iter().map(|one| (one.id, one.status.kind)).collect()
    }

    /// What sessions do now: those named, or those that run or did a short time ago.
    pub fn statuses(&self, session: Option<SessionId>) -> Vec<StatusRow> {
        let found = match session {
            None => self.recent_statuses(),
            // What is known of others stays known.
            Some(id) => {
                let scope = StatusScope::Only(vec![id]);
                let inventory = self.inventory();
                Statuses::default().look(self.home(), &inventory, &scope, self.now())
            }
        };
        found.iter().map(StatusRow::of).collect()
    }
}

impl StatusRow {
    /// The row of what was found.
    pub fn of(one: &SessionStatus) -> StatusRow {
        let status = &one.status;
        let path = one.path.as_deref();
        StatusRow {
            id: one.id.to_string(),
            status: status.kind.name(),
            since: status.since.map(Moment),
            confidence: status.confidence.name(),
            why: status.why.clone(),
            live: one.is_live(),
            pid: one.announced.as_ref().map(|announced| announced.pid),
            profile: Profile {
                title: status.title.clone().or_else(|| one.first_prompt.clone()),
                goal: one.first_prompt.as_deref().map(goal),
                last_output: status.last_output.clone(),
                project: path.and_then(|path| last_part(path.parent()?)),
                project_name: status.cwd.as_deref().and_then(|cwd| last_part(Path::new(cwd))),
                cwd: status.cwd.clone(),
                branch: status.branch.clone(),
                model: status.model.clone(),
                version: status.version.clone(),
                // Subagents have no status of their own: they are among `running`.
                subagent: false,
            },
            last_prompt: status.last_prompt.clone(),
            permission_mode: status.permission_mode.clone(),
            pending: status.pending.as_ref().map(call),
            current: status.current.as_ref().map(call),
            running: status.running.iter().map(task).collect(),
            tokens: one.is_whole.then(|| status.tokens.into()),
            context_tokens: status.context_tokens,
            last_line: status.last_line.map(Moment),
            changes_at: status.changes_at.map(Moment),
            path: path.map(|path| path.to_string_lossy().into_owned()),
        }
    }
}

fn call(call: &PendingCall) -> CallRow {
    CallRow {
        id: call.id.clone(),
        tool: call.tool.clone(),
        about: call.about.clone(),
        since: call.since.map(Moment),
    }
}

fn task(task: &RunningTask) -> TaskRow {
    TaskRow {
        id: task.id.clone(),
        kind: task.kind.name(),
        about: task.about.clone(),
        since: task.since.map(Moment),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use jiff::Timestamp;
    use recto_store::Home;
    use recto_testkit::Client;
    use recto_testkit::FakeHome;
    use recto_testkit::SessionBuilder;

    use super::*;

    const ONE: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    fn row(log: &SessionBuilder) -> serde_json::Value {
        let fake = FakeHome::new();
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        fake.add(log, now - SignedDuration::from_mins(1));
        let found = Home::open(fake.path()).unwrap().statuses(now);
        serde_json::json!(StatusRow::of(&found[0]))
    }

    #[test]
    fn the_goal_is_the_first_prompt_however_long_the_log_is() {
        let first = format!("Repair {}", "it ".repeat(200));
        let mut log = SessionBuilder::new(ONE, Client::V2_1_29).prompt(&first);
        let small = row(&log.clone().prompt("Go on").answer("Done."));
        for _ in 0..30 {
            log = log.tool("Bash", "{}", &"long ".repeat(10_000));
        }
        let large = row(&log.prompt("Go on").answer("Done."));
        for row in [&small, &large] {
            let goal = row["goal"].as_str().unwrap();
            assert!(goal.starts_with("Repair it") && goal.chars().count() == 200, "{goal}");
            assert_eq!(
                (&row["last_prompt"], &row["last_output"]),
                (&"Go on".into(), &"Done.".into())
            );
            assert_eq!((&row["project_name"], &row["subagent"]), (&"app".into(), &false.into()));
            assert_eq!(row["project"], "-home-dev-app");
        }
        // Of a large log only the end is read, so its sums are not known.
        assert!(small["tokens"]["cache_creation_5m"].is_u64(), "{small}");
        assert!(large["tokens"].is_null(), "{large}");
    }
}
