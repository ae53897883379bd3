//! `SendMessage` and `ListAgents`: words for subagents of this session.
//!
//! A subagent that works reads a message with its next results. One that has reported goes on
//! in the background, from its log.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use serde_json::Value;
use serde_json::json;

use super::agent::AgentRequest;
use super::background::Status;
use super::background::Task;
use super::context::Call;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;
use super::session::Session;

pub(super) const SEND_ABOUT: &str = "Sends a message to a subagent that this session started. \
A running subagent reads it soon; one that has reported continues in the background, and \
notifies you when it stops.";

pub(super) const SEND: Schema = Schema::closed(&[
    Field::required("to", Kind::String, "The id of the subagent, or the name that you gave it"),
    Field::optional("message", Kind::String, "The text to send"),
    Field::optional("summary", Kind::String, "The message in five to ten words"),
]);

pub(super) const LIST_ABOUT: &str = "Lists the subagents that SendMessage can reach.";

pub(super) const LIST: Schema = Schema::closed(&[]);

/// Messages for a subagent, until it has ended. Clones are the same.
#[derive(Debug, Clone)]
pub struct Mail(Arc<Mutex<Option<Vec<String>>>>);

impl Default for Mail {
    fn default() -> Mail {
        Mail(Arc::new(Mutex::new(Some(Vec::new()))))
    }
}

impl PartialEq for Mail {
    fn eq(&self, other: &Mail) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Mail {}

impl Mail {
    fn inner(&self) -> MutexGuard<'_, Option<Vec<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message; false if nobody will read it.
    fn put(&self, message: &str) -> bool {
        match &mut *self.inner() {
            Some(messages) => {
                messages.push(message.to_owned());
                true
            }
            None => false,
        }
    }

    /// What came since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        self.inner().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The same; if there was nothing, nothing more is taken.
    pub(crate) fn take_or_close(&self) -> Vec<String> {
        let mut inner = self.inner();
        match inner.as_mut().map(std::mem::take) {
            Some(messages) if !messages.is_empty() => messages,
            _ => {
                *inner = None;
                Vec::new()
            }
        }
    }
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    match call.text("message").is_empty() {
        true => Err(ToolOutcome::refused("message must not be empty")),
        false => Ok(()),
    }
}

pub(super) async fn send(call: &Call<'_>) -> ToolOutcome {
    let (to, message) = (call.text("to"), call.text("message"));
    let session = call.session;
    if to == "main" && !session.is_subagent {
        let text = "You are the main conversation — \"main\" addresses you. Send to a named agent \
                    instead.";
        return said(json!({"success": false, "message": text}), None);
    }
    let task = session.background.agents().into_iter().find(|task| task.is_called(to));
    if let Some(task) = &task
        && task.status == Status::Running
        && task.mail().is_some_and(|mail| mail.put(message))
    {
        return told(true, &format!("{to} reads it with its next results."), "Sent");
    }
    let id = task.map_or_else(|| to.to_owned(), |task| task.id);
    let Some(request) = continued(session, &id, message) else {
        let text = format!(
            "No agent named '{to}' is reachable.\nUse ListAgents to see everyone you can message."
        );
        let display = format!("Not sent — no agent named '{to}' is reachable.");
        return told(false, &text, &display);
    };
    match super::agent::start(call, request).await {
        Ok(_) => told(true, &format!("{to} continues in the background."), "Sent"),
        Err(outcome) => *outcome,
    }
}

fn told(is_sent: bool, message: &str, display: &str) -> ToolOutcome {
    said(json!({"success": is_sent, "message": message}), Some(display))
}

fn said(said: Value, display: Option<&str>) -> ToolOutcome {
    let mut structured = said.clone();
    if let (Some(display), Some(fields)) = (display, structured.as_object_mut()) {
        fields.insert("display".into(), json!(display));
    }
    ToolOutcome::blocks(vec![json!({"type": "text", "text": said.to_string()})], structured)
}

/// A subagent that goes on, by the file beside its log.
fn continued(session: &Session, id: &str, message: &str) -> Option<AgentRequest> {
    let is_id = id.starts_with('a') && id.len() == 17 && id.chars().all(|c| c.is_ascii_hexdigit());
    let meta = session.places.agent_log(id).with_extension("meta.json");
    let meta = recto_store::read_small(&meta).ok().filter(|_| is_id)?;
    let meta: Value = serde_json::from_slice(&meta).ok()?;
    let text = |name: &str| meta[name].as_str().map(str::to_owned);
    Some(AgentRequest {
        id: id.to_owned(),
        tool_use: text("toolUseId").unwrap_or_default(),
        kind: text("agentType")?,
        description: text("description").unwrap_or_default(),
        prompt: message.to_owned(),
        model: text("resolvedModel"),
        run: String::new(),
        is_continued: true,
        name: None,
        mail: Mail::default(),
        wanted_background: None,
        worktree: None,
    })
}

pub(super) fn list(call: &Call<'_>) -> ToolOutcome {
    let line = |task: &Task| {
        let name = task.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        format!("- {}{name}: {}, {}", task.id, task.description, task.status.as_str())
    };
    let agents = call.session.background.agents();
    let lines: Vec<String> = agents.iter().map(line).collect();
    let listing = match lines.is_empty() {
        true => "No reachable agents: this session has started none in the background.".to_owned(),
        false => format!("Agents of this session:\n{}", lines.join("\n")),
    };
    let structured = json!({"listing": listing, "sections": [], "notes": []});
    ToolOutcome::text(listing, structured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_once_and_none_is_taken_after_the_end() {
        let mail = Mail::default();
        assert!(mail.put("one"));
        assert_eq!(mail.take(), ["one"]);
        assert!(mail.put("two"));
        assert_eq!(mail.take_or_close(), ["two"]);
        assert!(mail.take_or_close().is_empty());
        assert!(!mail.put("three"));
    }
}
