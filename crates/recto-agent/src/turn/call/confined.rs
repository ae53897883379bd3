//! Calls in a sandbox: what leaves it is asked about, and what it refused becomes a question.

use serde_json::Value;

use super::Calling;
use crate::permission::Decision;
use crate::sandbox::Confinement;
use crate::sandbox::looks_refused;
use crate::tool::Prepared;
use crate::tool::Tool;
use crate::tool::ToolOutcome;

/// How often a command is asked about that wants to reach one host after the other.
const MOST_HOSTS: usize = 8;

impl Calling {
    fn is_confined(&self) -> bool {
        let sandbox = self.tools.sandbox.as_ref();
        sandbox.is_some_and(|sandbox| sandbox.confinement != Confinement::None)
    }

    /// Why a call leaves the sandbox, if it does.
    pub(super) fn leaves_sandbox(&self, prepared: &Prepared) -> Option<String> {
        let sandbox = self.tools.sandbox.as_ref().filter(|_| self.is_confined())?;
        let input = &prepared.call.input;
        let (key, is_write) = match prepared.tool()? {
            Tool::Bash => {
                let is_out = input.get("dangerouslyDisableSandbox") == Some(&Value::Bool(true));
                return is_out.then(|| "This command would run outside the sandbox.".to_owned());
            }
            Tool::Write | Tool::Edit | Tool::MultiEdit => ("file_path", true),
            Tool::NotebookEdit => ("notebook_path", true),
            Tool::Read => ("file_path", false),
            _ => return None,
        };
        let path = input.get(key)?.as_str()?;
        let path = self.shared.place_in(self.tools.cwd()).absolute(path);
        // The plan is the session's own.
        if self.tools.plan_file().as_deref() == Some(path.as_path()) {
            return None;
        }
        sandbox.refuses(&path, is_write)
    }

    /// The user let a call out.
    pub(super) fn note_way_out(&self, prepared: &Prepared) {
        if prepared.tool() == Some(Tool::Bash) && self.leaves_sandbox(prepared).is_some() {
            self.tools.let_out(&prepared.call.id);
        }
    }

    /// Asks whether a command that the sandbox refused something shall run again: with a host
    /// that it wanted to reach, or outside. Runs it.
    pub(super) async fn run_again(
        &self,
        prepared: &Prepared,
        outcome: &ToolOutcome,
    ) -> Option<ToolOutcome> {
        let is_bash = prepared.tool() == Some(Tool::Bash);
        let sandbox = self.tools.sandbox_of(&prepared.call.id).filter(|_| is_bash)?;
        let mut hosts = sandbox.take_refused_hosts();
        let mut again = None;
        for _ in 0..MOST_HOSTS {
            let last = again.as_ref().unwrap_or(outcome);
            if !last.is_error || self.cancel.is_cancelled() || hosts.is_empty() {
                break;
            }
            let names = hosts.join(", ");
            let question = format!(
                "The sandbox refused a connection to {names}.\nAllow {names} for this session, and run the command again?"
            );
            if !self.is_granted(prepared, question).await {
                return again;
            }
            hosts.iter().for_each(|host| sandbox.allow_host(host));
            again = Some(prepared.run(&self.tools, &self.cancel).await);
            hosts = sandbox.take_refused_hosts();
        }
        if again.is_some() {
            return again;
        }
        let text = outcome.content.text();
        if !outcome.is_error || !looks_refused(&text) || self.cancel.is_cancelled() {
            return None;
        }
        let last = text.lines().rev().find(|line| looks_refused(line)).unwrap_or_default();
        let question = format!("The sandbox refused something: {last}\nRun it again outside?");
        if !self.is_granted(prepared, question).await {
            return None;
        }
        self.tools.let_out(&prepared.call.id);
        Some(prepared.run(&self.tools, &self.cancel).await)
    }

    async fn is_granted(&self, prepared: &Prepared, question: String) -> bool {
        let reply = self.ask(prepared, &Decision::question(question)).await;
        matches!(reply, Some(super::Reply::Allow { .. }))
    }
}
