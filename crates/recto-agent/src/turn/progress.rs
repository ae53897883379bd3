//! Progress lines of older logs: what a command printed so far, hooks, words of subagents.

use std::time::Duration;
use std::time::Instant;

use recto_log::EntryUuid;
use recto_log::build::DeltaLine;
use recto_log::build::MetaLine;
use recto_log::build::ProgressLine;
use recto_log::build::ProgressOf;
use recto_log::build::SnapshotLine;
use serde_json::Value;
use serde_json::json;

use super::checkpoint::Copied;
use super::conversation::Conversation;
use super::conversation::Written;
use super::receiving::Receiving;
use super::shared::lock;
use crate::hook;
use crate::tool::Tool;
use crate::wire::Json;

/// How often progress is written.
pub(super) const PACE: Duration = Duration::from_secs(1);

/// A line of progress that is still to be written.
#[derive(Debug)]
pub(super) struct Noted {
    of: ProgressOf,
    id: String,
    parent: String,
    data: Value,
}

impl Noted {
    /// That a hook ran.
    pub(super) fn hook(label: hook::Label<'_>, ran: &hook::Ran) -> Noted {
        let of = match label.event {
            hook::Event::PreToolUse => ProgressOf::Tool,
            _ => ProgressOf::Hook,
        };
        let data = json!({
            "type": "hook_progress",
            "hookEvent": label.event.name(),
            "hookName": label.name(),
            "command": ran.command,
        });
        Noted { of, id: label.id.to_owned(), parent: label.id.to_owned(), data }
    }
}

impl Conversation {
    /// Whether progress lines are part of this log.
    pub(super) fn has_progress(&self) -> bool {
        self.transcript.has_progress()
    }

    /// A file was copied before a call changed it. Older logs tell all copies again.
    pub(super) fn write_copied(&mut self, line: &EntryUuid, copied: &Copied) -> Written<()> {
        let (message, time) = (line.clone(), jiff::Timestamp::now());
        let snapshot_message = EntryUuid::new(&copied.prompt);
        if self.has_progress() {
            let all = self.shared.checkpoints.as_ref().map(|kept| lock(kept).all());
            let files = Json::from(all.unwrap_or_default());
            return self.transcript.meta(&MetaLine::FileHistorySnapshot(SnapshotLine {
                message,
                snapshot_message,
                files: files.value(),
                time,
                is_update: true,
            }));
        }
        let backup = Json::from(&copied.backup);
        self.transcript.meta(&MetaLine::FileHistoryDelta(DeltaLine {
            message,
            snapshot_message,
            path: copied.path.as_str().into(),
            backup: backup.value(),
            time,
        }))
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
        self.write_noted()
    }

    /// What subagents said and which hooks ran since the last time.
    pub(super) fn write_noted(&mut self) -> Written<()> {
        if !self.has_progress() || self.speaker.is_some() {
            return Ok(());
        }
        let all = std::mem::take(&mut *lock(&self.shared.noted));
        for noted in all {
            self.write_progress_line(noted.of, &noted.data, &noted.id, &noted.parent)?;
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
        lock(&self.shared.noted).push(Noted {
            of: ProgressOf::Tool,
            id: format!("agent_msg_{}", uuid::Uuid::new_v4().simple()),
            parent: speaker.tool_use.clone(),
            data,
        });
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
