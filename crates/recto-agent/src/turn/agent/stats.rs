//! How many subagents a session had, and what became of them.

use std::collections::BTreeMap;

use super::AgentStart;
use crate::tool::AgentReport;
use crate::tool::AgentRequest;

/// Counts of the process so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentStats {
    /// Subagents that were started.
    pub spawned: u64,
    /// Calls that asked for the background.
    pub asked_background: u64,
    /// Calls that asked to wait.
    pub asked_foreground: u64,
    /// Calls that did not say.
    pub asked_nothing: u64,
    /// Subagents that nobody waited for.
    pub in_background: u64,
    /// How deep they stood below each other; 1 is a subagent of the session itself.
    pub max_depth: u64,
    /// Subagents of subagents.
    pub by_subagents: u64,
    /// Subagents that reported.
    pub completed: u64,
    /// Subagents that failed.
    pub failed: u64,
    /// Subagents that the user stopped.
    pub stopped: u64,
    /// By kind.
    pub by_kind: BTreeMap<String, u64>,
}

impl AgentStats {
    pub(super) fn start(&mut self, request: &AgentRequest, how: &AgentStart) {
        if request.is_continued {
            return;
        }
        self.spawned += 1;
        *self.by_kind.entry(request.kind.clone()).or_default() += 1;
        match request.wanted_background {
            Some(true) => self.asked_background += 1,
            Some(false) => self.asked_foreground += 1,
            None => self.asked_nothing += 1,
        }
        self.in_background += u64::from(how.is_background);
        self.max_depth = self.max_depth.max(u64::from(how.depth()));
        self.by_subagents += u64::from(how.above.agent.is_some());
    }

    /// Without a report it was stopped.
    pub(super) fn end(&mut self, report: Option<&AgentReport>) {
        match report {
            Some(AgentReport::Done(_)) => self.completed += 1,
            Some(AgentReport::Silent | AgentReport::ApiError(_) | AgentReport::Refused(_)) => {
                self.failed += 1;
            }
            None => self.stopped += 1,
        }
    }
}
