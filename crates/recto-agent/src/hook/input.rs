//! What a hook reads on its standard input.

use serde_json::Map;
use serde_json::Value;

use crate::hook::event::Event;

/// What all inputs of a session have in common.
#[derive(Debug, Clone, Default)]
pub struct Common {
    /// The session.
    pub session_id: String,
    /// Its log.
    pub transcript_path: String,
    /// Where it works now.
    pub cwd: String,
    /// The prompt that is being worked on, once there is one.
    pub prompt_id: Option<String>,
    /// The permission mode.
    pub permission_mode: String,
    /// The subagent, and its kind.
    pub agent: Option<(String, String)>,
    /// How hard the model thinks.
    pub effort: String,
}

/// What an event is about.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Facts<'a> {
    /// `extra` holds the cache fields of a resume and the model of a compaction.
    SessionStart {
        source: &'a str,
        extra: Map<String, Value>,
    },
    SessionEnd {
        reason: &'a str,
    },
    InstructionsLoaded {
        file_path: &'a str,
        memory_type: &'a str,
        load_reason: &'a str,
        parent: Option<&'a str>,
    },
    UserPromptSubmit {
        prompt: &'a str,
    },
    UserPromptExpansion {
        kind: &'a str,
        name: &'a str,
        arguments: &'a str,
        source: &'a str,
        prompt: &'a str,
    },
    PreToolUse {
        tool: &'a str,
        input: &'a Value,
        id: &'a str,
    },
    PermissionRequest {
        tool: &'a str,
        input: &'a Value,
        suggestions: &'a [Value],
    },
    PostToolUse {
        tool: &'a str,
        input: &'a Value,
        id: &'a str,
        response: &'a Value,
        duration_ms: u64,
    },
    PostToolUseFailure {
        tool: &'a str,
        input: &'a Value,
        id: &'a str,
        error: &'a str,
        interrupted: bool,
        duration_ms: u64,
    },
    /// Calls as `{tool_name, tool_input, tool_use_id, tool_response}`.
    PostToolBatch {
        calls: &'a [Value],
    },
    SubagentStart,
    SubagentStop {
        active: bool,
        transcript: &'a str,
        last_message: &'a str,
        tasks: &'a [Value],
        crons: &'a [Value],
    },
    Stop {
        active: bool,
        last_message: &'a str,
        tasks: &'a [Value],
        crons: &'a [Value],
    },
    StopFailure {
        error: &'a str,
        last_message: &'a str,
    },
    PreCompact {
        trigger: &'a str,
        instructions: &'a str,
    },
    PostCompact {
        trigger: &'a str,
        summary: &'a str,
    },
    TaskCreated {
        id: &'a str,
        subject: &'a str,
        description: Option<&'a str>,
    },
    TaskCompleted {
        id: &'a str,
        subject: &'a str,
        description: Option<&'a str>,
    },
    CwdChanged {
        old: &'a str,
        new: &'a str,
    },
    Notification {
        message: &'a str,
        kind: &'a str,
    },
}

impl Facts<'_> {
    /// The event.
    pub fn event(&self) -> Event {
        match self {
            Facts::SessionStart { .. } => Event::SessionStart,
            Facts::SessionEnd { .. } => Event::SessionEnd,
            Facts::InstructionsLoaded { .. } => Event::InstructionsLoaded,
            Facts::UserPromptSubmit { .. } => Event::UserPromptSubmit,
            Facts::UserPromptExpansion { .. } => Event::UserPromptExpansion,
            Facts::PreToolUse { .. } => Event::PreToolUse,
            Facts::PermissionRequest { .. } => Event::PermissionRequest,
            Facts::PostToolUse { .. } => Event::PostToolUse,
            Facts::PostToolUseFailure { .. } => Event::PostToolUseFailure,
            Facts::PostToolBatch { .. } => Event::PostToolBatch,
            Facts::SubagentStart => Event::SubagentStart,
            Facts::SubagentStop { .. } => Event::SubagentStop,
            Facts::Stop { .. } => Event::Stop,
            Facts::StopFailure { .. } => Event::StopFailure,
            Facts::PreCompact { .. } => Event::PreCompact,
            Facts::PostCompact { .. } => Event::PostCompact,
            Facts::TaskCreated { .. } => Event::TaskCreated,
            Facts::TaskCompleted { .. } => Event::TaskCompleted,
            Facts::CwdChanged { .. } => Event::CwdChanged,
            Facts::Notification { .. } => Event::Notification,
        }
    }

    /// What a matcher of the event is compared with.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Facts::SessionStart { source, .. } => Some(source),
            Facts::SessionEnd { reason } => Some(reason),
            Facts::PreToolUse { tool, .. }
            | Facts::PermissionRequest { tool, .. }
            | Facts::PostToolUse { tool, .. }
            | Facts::PostToolUseFailure { tool, .. } => Some(tool),
            Facts::PreCompact { trigger, .. } | Facts::PostCompact { trigger, .. } => Some(trigger),
            Facts::Notification { kind, .. } => Some(kind),
            Facts::UserPromptExpansion { name, .. } => Some(name),
            Facts::InstructionsLoaded { load_reason, .. } => Some(load_reason),
            _ => None,
        }
    }

    /// The input of the call that the event is about.
    pub fn tool_input(&self) -> Option<&Value> {
        match self {
            Facts::PreToolUse { input, .. }
            | Facts::PermissionRequest { input, .. }
            | Facts::PostToolUse { input, .. }
            | Facts::PostToolUseFailure { input, .. } => Some(input),
            _ => None,
        }
    }

    /// The whole input.
    pub fn to_json(&self, common: &Common) -> Value {
        let event = self.event();
        let mut line = Line(Map::new());
        line.text("session_id", &common.session_id)
            .text("transcript_path", &common.transcript_path)
            .text("cwd", &common.cwd);
        if let Some(id) = common.prompt_id.as_ref().filter(|_| event != Event::InstructionsLoaded) {
            line.text("prompt_id", id);
        }
        if has_mode(event) {
            line.text("permission_mode", &common.permission_mode);
        }
        if let Some((id, kind)) = &common.agent {
            line.text("agent_id", id).text("agent_type", kind);
        }
        if has_effort(event) {
            line.value("effort", serde_json::json!({ "level": common.effort }));
        }
        line.text("hook_event_name", event.name());
        self.add_facts(&mut line);
        Value::Object(line.0)
    }

    fn add_facts(&self, line: &mut Line) {
        match self {
            Facts::SessionStart { source, extra } => {
                line.text("source", source);
                line.0.extend(extra.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            Facts::SessionEnd { reason } => {
                line.text("reason", reason);
            }
            Facts::InstructionsLoaded { file_path, memory_type, load_reason, parent } => {
                line.text("file_path", file_path)
                    .text("memory_type", memory_type)
                    .text("load_reason", load_reason);
                if let Some(parent) = parent {
                    line.text("parent_file_path", parent);
                }
            }
            Facts::UserPromptSubmit { prompt } => {
                line.text("prompt", prompt);
            }
            Facts::UserPromptExpansion { kind, name, arguments, source, prompt } => {
                line.text("expansion_type", kind)
                    .text("command_name", name)
                    .text("command_args", arguments)
                    .text("command_source", source)
                    .text("prompt", prompt);
            }
            Facts::PreToolUse { tool, input, id } => {
                line.call(tool, input).text("tool_use_id", id);
            }
            Facts::PermissionRequest { tool, input, suggestions } => {
                let line = line.call(tool, input);
                if !suggestions.is_empty() {
                    line.value("permission_suggestions", suggestions.to_vec());
                }
            }
            Facts::PostToolUse { tool, input, id, response, duration_ms } => {
                line.call(tool, input)
                    .value("tool_response", (*response).clone())
                    .text("tool_use_id", id)
                    .value("duration_ms", *duration_ms);
            }
            Facts::PostToolUseFailure { tool, input, id, error, interrupted, duration_ms } => {
                line.call(tool, input)
                    .text("tool_use_id", id)
                    .text("error", error)
                    .value("is_interrupt", *interrupted)
                    .value("duration_ms", *duration_ms);
            }
            Facts::PostToolBatch { calls } => {
                line.value("tool_calls", calls.to_vec());
            }
            Facts::SubagentStart => {}
            Facts::SubagentStop { active, transcript, last_message, tasks, crons } => {
                line.value("stop_hook_active", *active)
                    .text("agent_transcript_path", transcript)
                    .text("last_assistant_message", last_message)
                    .value("background_tasks", tasks.to_vec())
                    .value("session_crons", crons.to_vec());
            }
            Facts::Stop { active, last_message, tasks, crons } => {
                line.value("stop_hook_active", *active)
                    .text("last_assistant_message", last_message)
                    .value("background_tasks", tasks.to_vec())
                    .value("session_crons", crons.to_vec());
            }
            Facts::StopFailure { error, last_message } => {
                line.text("error", error).text("last_assistant_message", last_message);
            }
            Facts::PreCompact { trigger, instructions } => {
                line.text("trigger", trigger);
                match *instructions {
                    "" => line.value("custom_instructions", Value::Null),
                    text => line.text("custom_instructions", text),
                };
            }
            Facts::PostCompact { trigger, summary } => {
                line.text("trigger", trigger).text("compact_summary", summary);
            }
            Facts::TaskCreated { id, subject, description }
            | Facts::TaskCompleted { id, subject, description } => {
                line.text("task_id", id).text("task_subject", subject);
                if let Some(description) = description {
                    line.text("task_description", description);
                }
            }
            Facts::CwdChanged { old, new } => {
                line.text("old_cwd", old).text("new_cwd", new);
            }
            Facts::Notification { message, kind } => {
                line.text("message", message).text("notification_type", kind);
            }
        }
    }
}

fn has_mode(event: Event) -> bool {
    event.is_about_a_tool()
        || matches!(
            event,
            Event::UserPromptSubmit
                | Event::UserPromptExpansion
                | Event::PostToolBatch
                | Event::Stop
                | Event::SubagentStop
        )
}

fn has_effort(event: Event) -> bool {
    event.is_about_a_tool()
        || matches!(
            event,
            Event::PostToolBatch | Event::Stop | Event::SubagentStop | Event::StopFailure
        )
}

struct Line(Map<String, Value>);

impl Line {
    fn text(&mut self, key: &str, text: &str) -> &mut Self {
        self.value(key, text)
    }

    fn value(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    fn call(&mut self, tool: &str, input: &Value) -> &mut Self {
        self.text("tool_name", tool).value("tool_input", input.clone())
    }
}
