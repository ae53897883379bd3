//! Events as lines of a JSON stream.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::result::result_line;
use crate::tool::Plugin;
use crate::turn::Said;
use crate::turn::Speaker;
use crate::turn::TurnEvent;
use crate::turn::UserSaid;
use crate::wire::StreamEvent;

/// What is shown.
#[derive(Debug, Clone, Default)]
pub struct StreamOptions {
    /// `--include-partial-messages`.
    pub partial: bool,
    /// `--include-hook-events`.
    pub hooks: bool,
    /// `--replay-user-messages`.
    pub replays: bool,
    /// Whether what subagents say is shown, not only what they call.
    pub forwards_subagents: bool,
    /// Whether `session_state_changed` is shown, and whether it is marked for hosts.
    pub states: Option<bool>,
    /// Where the key is from.
    pub key_source: &'static str,
    /// The version to name in `init`.
    pub version: String,
}

/// Makes lines of events.
#[derive(Debug)]
pub struct StreamLines {
    session: String,
    options: StreamOptions,
}

impl StreamLines {
    /// For a session.
    pub fn new(session: impl Into<String>, options: StreamOptions) -> StreamLines {
        StreamLines { session: session.into(), options }
    }

    /// The lines of an event.
    pub fn lines(&mut self, event: &TurnEvent) -> Vec<Value> {
        match event {
            TurnEvent::Control(line) => vec![line.clone()],
            TurnEvent::ForwardSubagents => {
                self.options.forwards_subagents = true;
                Vec::new()
            }
            TurnEvent::StartedOver { session } => {
                self.session.clone_from(session);
                Vec::new()
            }
            TurnEvent::Prompted { uuid, content, is_output, is_known }
                if *is_output || self.options.replays =>
            {
                let mut line = Map::new();
                line.insert("type".into(), "user".into());
                line.insert("message".into(), json!({"role": "user", "content": content}));
                self.add_speaker(&mut line, None, uuid);
                if *is_known {
                    line.remove("timestamp");
                }
                line.insert("isReplay".into(), true.into());
                vec![Value::Object(line)]
            }
            TurnEvent::State(state) => match self.options.states {
                Some(is_marked) => {
                    let mut line = json!({"type": "system", "subtype": "session_state_changed", "state": state.name()});
                    if is_marked {
                        line["sdk_host_only"] = true.into();
                    }
                    vec![self.signed(line)]
                }
                None => Vec::new(),
            },
            TurnEvent::Began(began) => vec![self.signed(json!({
                "type": "system",
                "subtype": "init",
                "cwd": began.cwd,
                "tools": began.tools,
                "mcp_servers": began.servers,
                "model": began.model,
                "permissionMode": began.mode,
                "slash_commands": began.skills.iter().chain(&began.prompts).collect::<Vec<_>>(),
                "terminal_slash_commands": [],
                "apiKeySource": self.options.key_source,
                "claude_code_version": self.options.version,
                "output_style": began.output_style,
                "agents": began.agents,
                "skills": began.skills,
                "plugins": began.plugins.iter().map(plugin).collect::<Vec<_>>(),
                "capabilities": [],
                "additional_directories": began.directories,
            }))],
            TurnEvent::Requesting if self.options.partial => {
                vec![
                    self.signed(
                        json!({"type": "system", "subtype": "status", "status": "requesting"}),
                    ),
                ]
            }
            TurnEvent::Stream { message, event, after } if self.options.partial => {
                vec![self.stream_line(
                    message,
                    event_json(event),
                    Some(*after).filter(|_| is_start(event)),
                )]
            }
            TurnEvent::Abandoned { message, from_block, open_block, is_interrupted, usage }
                if self.options.partial =>
            {
                let mut lines = Vec::new();
                if let Some(index) = open_block {
                    let event = json!({"type": "content_block_stop", "index": index});
                    lines.push(self.stream_line(message, event, None));
                }
                if *is_interrupted {
                    let delta = json!({"stop_reason": null, "stop_sequence": null});
                    let usage = json!({
                        "output_tokens_details": {"thinking_tokens": usage.thinking},
                        "cache_creation_input_tokens": usage.cache_write,
                        "cache_read_input_tokens": usage.cache_read,
                        "input_tokens": usage.input,
                        "iterations": [],
                        "output_tokens": usage.output,
                        "server_tool_use": {
                            "web_search_requests": usage.web_searches,
                            "web_fetch_requests": usage.web_fetches,
                        },
                        "fallback_credit": null,
                    });
                    let event = json!({"type": "message_delta", "delta": delta, "usage": usage});
                    lines.push(self.stream_line(message, event, None));
                }
                let mut stop = self.stream_line(message, json!({"type": "message_stop"}), None);
                stop["abandoned_blocks"] =
                    json!({"api_message_id": message, "from_block_index": from_block});
                lines.push(stop);
                lines
            }
            TurnEvent::Thinking { estimated, added } => vec![self.signed(json!({
                "type": "system",
                "subtype": "thinking_tokens",
                "estimated_tokens": estimated,
                "estimated_tokens_delta": added,
            }))],
            // Nobody can see it.
            TurnEvent::Said(said) if is_blank(said) => Vec::new(),
            TurnEvent::Said(said)
                if self.options.forwards_subagents || is_shown(said.speaker.as_ref(), said) =>
            {
                vec![self.said(said)]
            }
            TurnEvent::User(user) => {
                let is_hidden = user.speaker.as_ref().is_some_and(|speaker| !speaker.is_shown());
                match is_hidden && !self.options.forwards_subagents {
                    true => Vec::new(),
                    false => vec![self.user(user)],
                }
            }
            TurnEvent::Denied(denied) => {
                let mut line = json!({
                    "type": "system",
                    "subtype": "permission_denied",
                    "tool_name": denied.tool,
                    "tool_use_id": denied.id,
                });
                if let Some(kind) = denied.reason_type {
                    line["decision_reason_type"] = kind.into();
                }
                if let Some(reason) = &denied.reason {
                    line["decision_reason"] = reason.as_str().into();
                }
                line["message"] = denied.message.as_str().into();
                if let Some(agent) = &denied.agent {
                    line["agent_id"] = agent.as_str().into();
                }
                vec![self.signed(line)]
            }
            TurnEvent::System(line) => vec![self.signed(line.clone())],
            TurnEvent::Hook(line) if self.options.hooks => vec![self.signed(line.clone())],
            TurnEvent::Retry { attempt, most, wait, error } => vec![self.signed(json!({
                "type": "system",
                "subtype": "api_retry",
                "attempt": attempt,
                "max_retries": most,
                "retry_delay_ms": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                "error_status": error.status(),
                "error": crate::turn::error_name(error),
            }))],
            TurnEvent::Ended(ended) => vec![result_line(ended, &self.session)],
            TurnEvent::Told(text) => vec![self.signed(json!({
                "type": "system",
                "subtype": "informational",
                "content": text,
                "level": "notice",
            }))],
            TurnEvent::Said(_)
            | TurnEvent::Prompted { .. }
            | TurnEvent::Hook(_)
            | TurnEvent::Requesting
            | TurnEvent::Stream { .. }
            | TurnEvent::Abandoned { .. } => Vec::new(),
        }
    }

    /// With the session, and an id of its own where it has none.
    fn signed(&self, mut line: Value) -> Value {
        line["session_id"] = self.session.as_str().into();
        if line["uuid"].is_null() {
            line["uuid"] = uuid::Uuid::new_v4().to_string().into();
        }
        line
    }

    fn stream_line(
        &self,
        message: &str,
        event: Value,
        first: Option<std::time::Duration>,
    ) -> Value {
        let mut line = json!({
            "type": "stream_event",
            "event": event,
            "parent_tool_use_id": null,
            "api_message_id": message,
        });
        if let Some(first) = first {
            line["ttft_ms"] = u64::try_from(first.as_millis()).unwrap_or(u64::MAX).into();
        }
        self.signed(line)
    }

    fn said(&self, said: &Said) -> Value {
        let mut message = said.message.to_serde();
        if said.failure.is_none()
            && let Some(message) = message.as_object_mut()
        {
            message.entry("context_management").or_insert(Value::Null);
        }
        let mut line = Map::new();
        line.insert("type".into(), "assistant".into());
        line.insert("message".into(), message);
        self.add_speaker(&mut line, said.speaker.as_ref(), &said.uuid);
        if let Some(failure) = &said.failure {
            line.insert("error".into(), failure.error.into());
        }
        if let Some(id) = &said.request_id {
            line.insert("request_id".into(), id.as_str().into());
        }
        if let Some(failure) = &said.failure {
            line.insert("is_api_error_message".into(), true.into());
            if let Some(status) = failure.status {
                line.insert("api_error_status".into(), status.into());
            }
            if let Some(kind) = &failure.kind {
                line.insert("api_error_type".into(), kind.as_str().into());
            }
            if let Some(cause) = failure.cause {
                line.insert("api_error".into(), cause.into());
            }
            let more = failure.more.clone().unwrap_or_default();
            if let Some(message) = &more.refused {
                line.insert("refused_message_id".into(), message.as_str().into());
            }
            if let Some(cut) = more.cut {
                line.insert("api_error_params".into(), json!({"cut": cut}));
            }
        }
        if said.is_aborted {
            line.insert("aborted".into(), true.into());
        }
        if let Some(meta) = tool_use_meta(&said.message.to_serde()) {
            line.insert("tool_use_meta".into(), meta);
        }
        if let Some(first) = said.prompts.first() {
            line.insert("user_message_uuid".into(), first.as_str().into());
            line.insert("user_message_uuids".into(), said.prompts.clone().into());
        }
        if let Some(command) = &said.command {
            let text = said.message.to_serde()["content"][0]["text"].clone();
            let kind = if command.is_error { "stderr" } else { "stdout" };
            let source = format!(
                "<local-command-{kind}>{}</local-command-{kind}>",
                text.as_str().unwrap_or_default()
            );
            line.insert("local_command_source".into(), source.into());
            if command.is_unavailable {
                let outcome = json!({"kind": "unavailable_headless"});
                line.insert("local_command_outcome".into(), outcome);
            } else {
                let run = json!({"command": command.name, "args": command.arguments});
                line.insert("local_command_run".into(), run);
            }
            if command.is_error {
                line.insert("local_command_outcome".into(), json!({"kind": "failed"}));
            }
        }
        if let Some(time) = said.thinking {
            let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            line.insert("thinking_duration_ms".into(), time.into());
        }
        Value::Object(line)
    }

    fn user(&self, user: &UserSaid) -> Value {
        let mut line = Map::new();
        line.insert("type".into(), "user".into());
        line.insert("message".into(), json!({"role": "user", "content": user.content}));
        self.add_speaker(&mut line, user.speaker.as_ref(), &user.uuid);
        if let Some(result) = &user.tool_use_result {
            line.insert("tool_use_result".into(), result.clone());
        }
        if let Some(meta) = &user.meta {
            line.insert("tool_result_meta".into(), meta.clone());
        }
        if let Some(replay) = user.replay {
            line.insert("isReplay".into(), replay.into());
        }
        if user.is_synthetic {
            line.insert("isSynthetic".into(), true.into());
        }
        if let Some(refused) = &user.refused {
            line.insert("refused_message_id".into(), refused.as_str().into());
        }
        Value::Object(line)
    }

    fn add_speaker(&self, line: &mut Map<String, Value>, speaker: Option<&Speaker>, uuid: &str) {
        let parent = speaker.map(|speaker| speaker.tool_use.as_str());
        line.insert("parent_tool_use_id".into(), parent.into());
        line.insert("session_id".into(), self.session.as_str().into());
        line.insert("uuid".into(), uuid.into());
        line.insert("timestamp".into(), format!("{:.3}", jiff::Timestamp::now()).into());
        if let Some(speaker) = speaker {
            line.insert("agent_id".into(), speaker.agent.as_str().into());
            line.insert("subagent_type".into(), speaker.kind.as_str().into());
            line.insert("task_description".into(), speaker.description.as_str().into());
        }
    }
}

/// What a call of a server's tool is called for people.
fn tool_use_meta(message: &Value) -> Option<Value> {
    let call = message["content"].get(0).filter(|block| block["type"] == "tool_use")?;
    let (server, tool) = call["name"].as_str()?.strip_prefix("mcp__")?.split_once("__")?;
    Some(json!([{
        "id": call["id"],
        "display_name": crate::turn::tool_title(call["name"].as_str()?),
        "server_display_name": server,
        "tool_name": tool,
    }]))
}

/// Whether a model said nothing but white space.
fn is_blank(said: &Said) -> bool {
    let message = said.message.to_serde();
    let block = &message["content"][0];
    let is_white = block["text"].as_str().is_some_and(|text| text.trim().is_empty());
    block["type"] == "text" && is_white && said.failure.is_none() && said.command.is_none()
}

/// Of a subagent that is waited for, only its calls are shown.
fn is_shown(speaker: Option<&Speaker>, said: &Said) -> bool {
    speaker.is_none_or(|speaker| {
        let is_call = said.message.to_serde()["content"][0]["type"] == "tool_use";
        speaker.is_background || (is_call && speaker.is_shown())
    })
}

fn is_start(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::MessageStart { .. })
}

fn event_json(event: &StreamEvent) -> Value {
    match event {
        StreamEvent::MessageStart { message } => {
            json!({"type": "message_start", "message": message.to_serde()})
        }
        StreamEvent::BlockStart { index, block } => {
            json!({"type": "content_block_start", "index": index, "content_block": block.json().to_serde()})
        }
        StreamEvent::BlockDelta { index, delta } => {
            json!({"type": "content_block_delta", "index": index, "delta": delta.json().to_serde()})
        }
        StreamEvent::BlockStop { index } => json!({"type": "content_block_stop", "index": index}),
        StreamEvent::MessageDelta { event } | StreamEvent::Unknown { event } => event.to_serde(),
        StreamEvent::MessageStop => json!({"type": "message_stop"}),
        StreamEvent::Ping | StreamEvent::Error(_) => json!({"type": "ping"}),
    }
}

fn plugin(plugin: &Plugin) -> Value {
    let source = format!("{}@inline", plugin.name);
    json!({"name": plugin.name, "path": plugin.path, "source": source})
}
