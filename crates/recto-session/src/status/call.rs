//! Tool calls without a result, and whether they ask somebody.

use jiff::Timestamp;

use super::StatusKind;

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCall {
    /// Ties it to its result.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What the call is about, cut.
    pub about: String,
    /// When it was asked for.
    pub since: Option<Timestamp>,
    /// The background task that it stops.
    pub(super) stops: Option<String>,
    /// Whether lines about its progress were seen, so that it runs for certain.
    pub(super) is_seen_running: bool,
}

/// Whether a call waits for somebody before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// It is a question itself.
    Always,
    /// It does if no rule allows it; the log does not hold the rules.
    Perhaps,
    /// The permission mode makes it unlikely.
    Hardly,
    /// It just runs.
    Never(Reason),
}

/// Why nobody is asked about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// It was seen to run.
    Runs,
    /// It only looks, in whatever mode.
    Harmless,
    /// The permission mode refuses or allows it.
    Mode,
    /// There is nobody who could be asked.
    Headless,
}

/// Who could be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Somebody, or so it is taken.
    Somebody,
    /// Nobody: the client was started for one prompt, without a terminal.
    Nobody,
}

/// The tool that asks the user for an answer, where the others ask for permission.
const QUESTION: &str = "AskUserQuestion";

/// Tools that are a dialog.
const DIALOGS: [&str; 3] = [QUESTION, "ExitPlanMode", "EnterPlanMode"];

/// Tools that only look, or only tell the client something: no rule is needed.
const HARMLESS: [&str; 20] = [
    "Read",
    "Glob",
    "Grep",
    "LS",
    "NotebookRead",
    "TodoRead",
    "TodoWrite",
    "Task",
    "Agent",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
    "BashOutput",
    "KillShell",
    "KillBash",
    "ToolSearch",
    "ListMcpResourcesTool",
];

/// Tools that change files.
const EDITS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

impl Audience {
    /// Who could be asked by a client that was started in some way.
    pub(super) fn of_entrypoint(entrypoint: Option<&str>) -> Audience {
        if entrypoint == Some("sdk-cli") { Audience::Nobody } else { Audience::Somebody }
    }
}

impl PendingCall {
    /// Whether it waits for somebody, in a permission mode.
    pub(super) fn asking(&self, mode: Option<&str>, audience: Audience) -> Asking {
        let tool = self.tool.as_str();
        if self.is_seen_running {
            return Asking::Never(Reason::Runs);
        }
        if audience == Audience::Nobody {
            return Asking::Never(Reason::Headless);
        }
        if DIALOGS.contains(&tool) {
            return Asking::Always;
        }
        if HARMLESS.contains(&tool) {
            return Asking::Never(Reason::Harmless);
        }
        let is_edit = EDITS.contains(&tool);
        match mode {
            // The last two refuse or decide instead of asking.
            Some("bypassPermissions" | "auto" | "dontAsk") => Asking::Never(Reason::Mode),
            // Files outside of the working directories are asked about. Commands are as
            // in the default mode.
            Some("acceptEdits") if is_edit => Asking::Hardly,
            // The model is told to look only, and to write nothing but the plan: most of
            // its commands are known to be harmless.
            Some("plan") if is_edit || tool == "Bash" => Asking::Hardly,
            _ => Asking::Perhaps,
        }
    }

    /// What the session waits for if somebody has to react to the call.
    pub(super) fn waiting(&self) -> StatusKind {
        match self.tool == QUESTION {
            true => StatusKind::WaitingForInput,
            false => StatusKind::WaitingForApproval,
        }
    }

    /// Whether it runs a subagent.
    pub(super) fn is_agent(&self) -> bool {
        matches!(self.tool.as_str(), "Task" | "Agent")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(tool: &str, mode: Option<&str>) -> Asking {
        let call = PendingCall {
            id: "t".into(),
            tool: tool.into(),
            about: String::new(),
            since: None,
            stops: None,
            is_seen_running: false,
        };
        call.asking(mode, Audience::Somebody)
    }

    #[test]
    fn the_mode_decides_but_for_questions() {
        assert_eq!(asking("Bash", None), Asking::Perhaps);
        assert_eq!(asking("Bash", Some("default")), Asking::Perhaps);
        assert_eq!(asking("Bash", Some("bypassPermissions")), Asking::Never(Reason::Mode));
        for tool in ["Bash", "WebFetch", "mcp__db__drop"] {
            assert_eq!(asking(tool, Some("acceptEdits")), Asking::Perhaps, "{tool}");
        }
        assert_eq!(asking("Edit", Some("acceptEdits")), Asking::Hardly);
        assert_eq!(asking("Bash", Some("plan")), Asking::Hardly);
        assert_eq!(asking("WebFetch", Some("plan")), Asking::Perhaps);
        assert_eq!(asking("Read", None), Asking::Never(Reason::Harmless));
        assert_eq!(asking("mcp__db__drop", None), Asking::Perhaps);
        assert_eq!(asking("AskUserQuestion", Some("bypassPermissions")), Asking::Always);
        assert_eq!(asking("ExitPlanMode", Some("plan")), Asking::Always);
    }
}
