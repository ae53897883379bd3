//! Progress lines of older logs: what a command printed so far, hooks, words of subagents.

use std::time::Duration;
use std::time::Instant;

use recto_log::build::ProgressLine;
use recto_log::build::ProgressOf;
use serde_json::Value;
use serde_json::json;

use super::conversation::Conversation;
use super::conversation::Written;
use super::receiving::Receiving;
use super::shared::lock;
use crate::hook;
use crate::tool::Tool;
use crate::wire::Json;

/// How often progress is written.
pub(super) const PACE: Duration = Duration::from_secs(1);

impl Conversation {
    /// Whether progress lines are part of this log.
    pub(super) fn has_progress(&self) -> bool {
        self.transcript.has_progress()
    }

    /// What the commands that run have printed, and what subagents said.
    pub(super) fn write_progress(&mut self, receiving: &Receiving, began: Instant) -> Written<()> {
        if !self.has_progress() {
            return Ok(());
        }
        let seconds = began.elapsed().as_secs();
        for (number, (call, _)) in receiving.open_calls.iter().enumerate() {
            if Tool::named(&call.name) != Some(Tool::Bash) {
                continue;
            }
            let Some(output) = self.tools.output_so_far(&call.id) else { continue };
            let data = json!({
                "type": "bash_progress",
                "output": last_lines(&output),
                "fullOutput": output,
                "elapsedTimeSeconds": seconds,
                "totalLines": output.lines().count(),
            });
            let id = format!("bash-progress-{number}");
            self.write_progress_line(ProgressOf::Tool, &data, &id, &call.id)?;
        }
        self.write_agent_progress()
    }

    /// What subagents said since the last time.
    pub(super) fn write_agent_progress(&mut self) -> Written<()> {
        if !self.has_progress() || self.speaker.is_some() {
            return Ok(());
        }
        let said = std::mem::take(&mut *lock(&self.shared.agent_progress));
        for (tool_use, data) in said {
            let id = format!("agent_msg_{}", uuid::Uuid::new_v4().simple());
            self.write_progress_line(ProgressOf::Tool, &data, &id, &tool_use)?;
        }
        Ok(())
    }

    /// A message of a subagent, for the log of its parent.
    pub(super) fn note_for_parent(&self, kind: &str, message: &Value) {
        let Some(speaker) = &self.speaker else { return };
        if !self.has_progress() {
            return;
        }
        let data = json!({
            "type": "agent_progress",
            "message": {"type": kind, "message": message, "timestamp": format!("{:.3}", jiff::Timestamp::now())},
            "agentId": speaker.agent,
        });
        lock(&self.shared.agent_progress).push((speaker.tool_use.clone(), data));
    }

    /// That hooks ran.
    pub(super) fn write_hook_progress(&mut self, lines: &[hook::Line]) -> Written<()> {
        if !self.has_progress() {
            return Ok(());
        }
        for line in lines {
            let hook = &line.attachment;
            let Some(command) = hook["command"].as_str() else { continue };
            let data = json!({
                "type": "hook_progress",
                "hookEvent": hook["hookEvent"],
                "hookName": hook["hookName"],
                "command": command,
            });
            let id = hook["toolUseID"].as_str().unwrap_or_default().to_owned();
            let of = match hook["hookEvent"].as_str() {
                Some("PreToolUse") => ProgressOf::Tool,
                _ => ProgressOf::Hook,
            };
            self.write_progress_line(of, &data, &id, &id)?;
        }
        Ok(())
    }

    fn write_progress_line(
        &mut self,
        of: ProgressOf,
        data: &Value,
        id: &str,
        parent: &str,
    ) -> Written<()> {
        let data = Json::from(data);
        self.transcript.progress(&ProgressLine {
            of,
            data: data.value(),
            tool_use: id.into(),
            parent_tool_use: parent.into(),
        })
    }
}

/// The end of an output, as much as a person wants to see.
fn last_lines(output: &str) -> String {
    const SHOWN: usize = 5;
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}
