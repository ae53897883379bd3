//! What all hooks of an event say together: log lines, notes for the model, and what happens.

use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use crate::hook::effect::HookEffect;
use crate::hook::effect::Outcome;
use crate::hook::event::Event;
use crate::hook::output::Choice;
use crate::hook::output::PermissionAnswer;

/// A hook that ran.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Its command.
    pub command: String,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// Its exit code, where it has one.
    pub code: i32,
    /// How long it took.
    pub duration: Duration,
    /// What it means.
    pub effect: HookEffect,
    /// Whether the program ran it that started the session.
    pub is_callback: bool,
}

/// What the event is called in log lines, and which ids they have.
#[derive(Debug, Clone, Copy)]
pub struct Label<'a> {
    /// The event.
    pub event: Event,
    /// The tool, the source or the agent's kind: `PreToolUse:Bash`.
    pub subject: Option<&'a str>,
    /// The call, or a new id for the run of these hooks.
    pub id: &'a str,
}

impl Label<'_> {
    /// `PreToolUse:Bash`.
    pub fn name(&self) -> String {
        let shows = self.event.is_about_a_tool()
            || matches!(self.event, Event::SessionStart | Event::SubagentStart | Event::PreCompact);
        match self.subject.filter(|_| shows) {
            Some(subject) => format!("{}:{subject}", self.event.name()),
            None => self.event.name().to_owned(),
        }
    }

    /// The name in notes about context, which are about the event as a whole.
    fn context_name(&self) -> String {
        match self.event {
            Event::SessionStart | Event::SubagentStart => self.event.name().to_owned(),
            _ => self.name(),
        }
    }

    fn context_id(&self) -> String {
        match self.event {
            Event::SessionStart => "SessionStart".to_owned(),
            Event::UserPromptSubmit | Event::UserPromptExpansion => format!("hook-{}", self.id),
            _ => self.own_id(),
        }
    }

    fn own_id(&self) -> String {
        match self.event {
            Event::PostToolBatch => format!("hook-{}", self.id),
            _ => self.id.to_owned(),
        }
    }
}

/// An `attachment` line of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The attachment.
    pub attachment: Value,
    /// What the model reads of it.
    pub note: Option<String>,
}

impl Line {
    /// `rendered` of the line: the note as the log keeps it.
    pub fn rendered(&self) -> Option<Value> {
        let note = self.note.as_ref()?;
        Some(json!([{ "content": format!("<system-reminder>\n{note}\n</system-reminder>") }]))
    }
}

/// Why something does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The sentence.
    pub message: String,
    /// The reason alone, where one was given.
    pub reason: Option<String>,
    /// The hook.
    pub command: String,
    /// Whether it printed JSON.
    pub by_json: bool,
}

/// What all hooks of an event say.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Lines for the log, in order.
    pub lines: Vec<Line>,
    /// Lines for a stream of JSON (`system` lines without ids).
    pub stream: Vec<Value>,
    /// The first hook that forbids it.
    pub block: Option<Block>,
    /// What a hook of `PreToolUse` decides: the strictest of all, and why.
    pub choice: Option<(Choice, Option<String>)>,
    /// Another input for the tool.
    pub updated_input: Option<Value>,
    /// Another output of the tool.
    pub updated_output: Option<Value>,
    /// What the model should know besides.
    pub contexts: Vec<String>,
    /// The run ends: why.
    pub stop: Option<String>,
    /// The answer to a permission question.
    pub permission: Option<PermissionAnswer>,
    /// A new title of the session.
    pub session_title: Option<String>,
}

impl Answer {
    /// Puts together what hooks said, in the order in which they ended.
    pub fn new(label: Label<'_>, ran: &[Ran]) -> Self {
        let mut answer = Answer::default();
        let ended = in_order_of_end(ran);
        for hook in &ended {
            answer.add(label, hook);
            // What ends the run after a call ends the rest of what is said about it.
            if label.event == Event::PostToolUse && answer.stop.is_some() {
                break;
            }
        }
        // Of several hooks that end the run before a call, the last one says why.
        let stops = |hook: &&Ran| hook.effect.output.stop.is_some();
        if label.event == Event::PreToolUse
            && let Some(hook) = ended.iter().copied().rfind(stops)
        {
            let reason = hook.effect.output.stop.clone().unwrap_or_default();
            answer.add_stop(label, &reason);
            answer.stop = Some(reason);
        }
        answer.add_contexts(label);
        answer.warn(label, ran);
        // Of a prompt that is not sent nothing is kept.
        let is_prompt = matches!(label.event, Event::UserPromptSubmit | Event::UserPromptExpansion);
        if is_prompt && answer.block.is_some() {
            answer.lines.clear();
            answer.stream.clear();
        }
        if label.event == Event::PreToolUse {
            answer.keep_last_block(&ended);
        }
        answer
    }

    /// What the model reads, in order.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| line.note.as_deref())
    }

    /// The result of a call that hooks of `PreToolUse` forbid.
    pub fn refusal(&self, label: Label<'_>) -> Option<String> {
        let block = self.block.as_ref()?;
        Some(format!("{} hook error: {}", label.name(), block.message))
    }

    /// The answer to a permission question cannot be used: the call does not run.
    pub(crate) fn refuse_permission(&mut self, why: String) {
        self.permission = Some(PermissionAnswer::Deny { message: Some(why), interrupt: false });
        let decided = self.lines.iter_mut().map(|line| &mut line.attachment);
        for attachment in decided.filter(|line| line["type"] == "hook_permission_decision") {
            attachment["decision"] = "deny".into();
        }
    }

    fn add(&mut self, label: Label<'_>, hook: &Ran) {
        let output = &hook.effect.output;
        self.add_outcome(label, hook);
        let stop = output.stop.as_ref().filter(|_| can_stop(label.event));
        let is_told = logs(label.event) && !(stop.is_some() && keeps_only_stop(label.event));
        if let Some(message) = output.system_message.as_ref().filter(|_| is_told) {
            let attachment = json!({ "type": "hook_system_message", "content": message, "hookName": label.name(), "toolUseID": label.own_id(), "hookEvent": label.event.name() });
            self.push(label, attachment, None);
            let quiet = matches!(
                label.event,
                Event::SessionStart | Event::SubagentStart | Event::SubagentStop
            );
            if !quiet {
                self.stream.push(json!({ "type": "system", "subtype": "informational", "content": format!("{} says: {message}", label.name()), "level": "notice" }));
            }
        }
        // After a batch one line says why the run ends.
        let block = match &hook.effect.outcome {
            Outcome::Block { message, .. } => Some(message),
            _ => None,
        };
        if let Some(reason) = stop.or(block).filter(|_| label.event == Event::PostToolBatch) {
            self.add_stop(label, reason);
        }
        if let Some((choice, reason)) =
            output.choice.map(|choice| (choice, output.choice_reason.clone()))
            && self.choice.as_ref().is_none_or(|(known, _)| choice > *known)
        {
            self.choice = Some((choice, reason));
        }
        if let Some(context) = &output.context {
            self.contexts.push(context.clone());
            if stands_alone(label.event) && output.stop.is_none() {
                self.add_context(label, std::slice::from_ref(context));
            }
        }
        self.updated_input = output.updated_input.clone().or(self.updated_input.take());
        self.updated_output = output.updated_output.clone().or(self.updated_output.take());
        self.session_title = output.session_title.clone().or(self.session_title.take());
        if self.permission.is_none() && label.event == Event::PermissionRequest {
            self.permission = output.permission.clone();
            let decision = match &self.permission {
                Some(PermissionAnswer::Allow { .. }) => Some("allow"),
                Some(PermissionAnswer::Deny { interrupt: false, .. }) => Some("deny"),
                Some(PermissionAnswer::Deny { interrupt: true, .. }) | None => None,
            };
            if let Some(decision) = decision {
                let attachment = json!({ "type": "hook_permission_decision", "decision": decision, "toolUseID": label.own_id(), "hookEvent": label.event.name() });
                self.push(label, attachment, None);
            }
        }
    }

    /// The lines about how one hook ended, and what that stops.
    fn add_outcome(&mut self, label: Label<'_>, hook: &Ran) {
        let stop = hook.effect.output.stop.as_deref().filter(|_| can_stop(label.event));
        let stop = stop.map(|reason| match (reason, label.event) {
            ("", Event::Stop | Event::SubagentStop) => {
                "Stop hook prevented continuation".to_owned()
            }
            (reason, _) => reason.to_owned(),
        });
        if let Some(reason) = &stop {
            self.stop.get_or_insert_with(|| reason.clone());
        }
        if !logs(label.event) {
            self.keep_block(hook, label.event);
            return;
        }
        let stops_first =
            matches!(label.event, Event::Stop | Event::SubagentStop | Event::PostToolUse);
        if let Some(reason) = stop.as_ref().filter(|_| stops_first) {
            self.add_stop(label, reason);
        }
        if stop.is_none() || !keeps_only_stop(label.event) {
            self.add_end(label, hook);
        }
    }

    fn add_end(&mut self, label: Label<'_>, hook: &Ran) {
        let (name, id, event) = (label.name(), label.own_id(), label.event.name());
        let duration = u64::try_from(hook.duration.as_millis()).unwrap_or(u64::MAX);
        match &hook.effect.outcome {
            Outcome::Silent => {}
            Outcome::Success { content } => self.add_success(label, hook, content),
            Outcome::Failed { stderr, stdout, code, timed, .. } => {
                let mut attachment = json!({ "type": "hook_non_blocking_error", "hookName": name, "toolUseID": id, "hookEvent": event, "stderr": stderr, "stdout": stdout, "exitCode": code, "command": hook.command });
                if *timed && let Some(object) = attachment.as_object_mut() {
                    object.insert("durationMs".into(), duration.into());
                }
                self.push(label, attachment, None);
                // An object that decides nothing, and a code that would.
                if hook.effect.is_object && hook.code == 2 && hook.effect.output.block.is_none() {
                    self.add_success(label, hook, "");
                }
            }
            Outcome::Cancelled { timeout } => {
                let mut attachment = json!({ "type": "hook_cancelled", "hookName": name, "toolUseID": id, "hookEvent": event });
                // After a call, that is all there is to say.
                let is_after =
                    matches!(label.event, Event::PostToolUse | Event::PostToolUseFailure);
                if let Some(object) = attachment.as_object_mut().filter(|_| !is_after) {
                    object.insert("command".into(), hook.command.clone().into());
                    object.insert("durationMs".into(), duration.into());
                }
                if let (Some(timeout), Some(object)) =
                    (timeout, attachment.as_object_mut().filter(|_| !is_after))
                {
                    object.insert("timedOut".into(), true.into());
                    object.insert(
                        "timeoutMs".into(),
                        u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).into(),
                    );
                }
                self.push(label, attachment, None);
            }
            Outcome::Block { message, by_json, .. } => {
                self.keep_block(hook, label.event);
                self.add_block(label, hook, message, *by_json);
                // An object that decides nothing, and a code that does.
                if hook.effect.is_object && !by_json {
                    self.add_success(label, hook, "");
                }
            }
        }
    }

    fn add_success(&mut self, label: Label<'_>, hook: &Ran, content: &str) {
        let quiet = matches!(label.event, Event::UserPromptSubmit | Event::UserPromptExpansion);
        if quiet && content.is_empty() {
            return;
        }
        let name = label.name();
        let duration = u64::try_from(hook.duration.as_millis()).unwrap_or(u64::MAX);
        let attachment = json!({ "type": "hook_success", "hookName": name, "toolUseID": label.own_id(), "hookEvent": label.event.name(), "content": content, "stdout": hook.stdout, "stderr": hook.stderr, "exitCode": hook.code, "command": hook.command, "durationMs": duration });
        let told = label.event.tells_plain_text() && !content.is_empty();
        let note = told.then(|| format!("{name} hook success: {content}"));
        self.push(label, attachment, note);
    }

    fn add_block(&mut self, label: Label<'_>, hook: &Ran, message: &str, by_json: bool) {
        match label.event {
            Event::PostToolUse | Event::PostToolUseFailure => {}
            // Feedback for the model is a line of its own; of an object there are both.
            Event::Stop | Event::SubagentStop if by_json => {}
            _ => return,
        }
        let command = &hook.command;
        let name = match (hook.is_callback, label.event) {
            (true, Event::Stop | Event::SubagentStop) => format!("{}:Callback", label.name()),
            _ => label.name(),
        };
        let attachment = json!({ "type": "hook_blocking_error", "hookName": name, "toolUseID": label.own_id(), "hookEvent": label.event.name(), "blockingError": { "blockingError": message, "command": command } });
        let note = format!("{name} hook blocking error from command: \"{command}\": {message}");
        self.push(label, attachment, Some(note));
    }

    fn add_stop(&mut self, label: Label<'_>, message: &str) {
        let message = match (message, label.event) {
            ("", Event::PreToolUse) => "Execution stopped by hook",
            ("", Event::PostToolUse) => "Execution stopped by PostToolUse hook",
            ("", Event::PostToolBatch) => "Execution stopped by PostToolBatch hook",
            (message, _) => message,
        };
        // What ends a subagent is logged as what ends a turn.
        let (name, event) = match label.event {
            Event::SubagentStop => ("Stop".to_owned(), "Stop"),
            event => (label.name(), event.name()),
        };
        let attachment = json!({ "type": "hook_stopped_continuation", "message": message, "hookName": name, "toolUseID": label.own_id(), "hookEvent": event });
        let note = format!("{name} hook stopped continuation: {message}");
        self.push(label, attachment, Some(note));
    }

    fn add_contexts(&mut self, label: Label<'_>) {
        if !self.contexts.is_empty() && logs(label.event) && !stands_alone(label.event) {
            self.add_context(label, &self.contexts.clone());
        }
    }

    fn add_context(&mut self, label: Label<'_>, contexts: &[String]) {
        let name = label.context_name();
        let attachment = json!({ "type": "hook_additional_context", "content": contexts, "hookName": name, "toolUseID": label.context_id(), "hookEvent": label.event.name() });
        let note = format!("{name} hook additional context: {}", contexts.join("\n"));
        self.push(label, attachment, Some(note));
    }

    /// The stream says when a check did not happen, and when the end of a turn went wrong.
    fn warn(&mut self, label: Label<'_>, ran: &[Ran]) {
        let failed = |hook: &Ran| matches!(hook.effect.outcome, Outcome::Failed { .. });
        let late =
            |hook: &Ran| matches!(hook.effect.outcome, Outcome::Cancelled { timeout: Some(_) });
        let unusable =
            |hook: &Ran| matches!(hook.effect.outcome, Outcome::Failed { unusable: true, .. });
        let timed_out = ran.iter().any(late);
        let unchecked = timed_out || ran.iter().any(unusable);
        if label.event == Event::PreToolUse && unchecked {
            let text = match timed_out {
                true => "A hook didn't answer in time, so it didn't check this action.",
                false => "A hook gave no usable answer, so it didn't check this action.",
            };
            self.stream.push(json!({ "type": "system", "subtype": "informational", "content": text, "level": "warning", "tag": "hook_no_verdict", "hook_no_verdict": { "hook_event": "PreToolUse", "tool_use_id": label.id, "timed_out": timed_out } }));
        }
        if label.event == Event::Stop && (self.block.is_some() || ran.iter().any(failed)) {
            self.stream.push(json!({ "type": "system", "subtype": "notification", "key": "stop-hook-error", "text": "Stop hook error occurred · ctrl+o to see", "priority": "immediate" }));
        }
    }

    /// Of several hooks that forbid a call, the one that ended last says why.
    fn keep_last_block(&mut self, ended: &[&Ran]) {
        let blocks = |hook: &&Ran| matches!(hook.effect.outcome, Outcome::Block { .. });
        if let Some(last) = ended.iter().copied().rfind(blocks) {
            self.block = None;
            self.keep_block(last, Event::PreToolUse);
        }
    }

    fn keep_block(&mut self, hook: &Ran, event: Event) {
        // A question is answered by its own decision and by nothing else.
        if let Outcome::Block { message, reason, by_json } = &hook.effect.outcome
            && self.block.is_none()
            && event != Event::PermissionRequest
        {
            self.block = Some(Block {
                message: message.clone(),
                reason: reason.clone(),
                command: hook.command.clone(),
                by_json: *by_json,
            });
        }
    }

    fn push(&mut self, label: Label<'_>, mut attachment: Value, note: Option<String>) {
        if let (Event::PostToolBatch, Some(object)) = (label.event, attachment.as_object_mut()) {
            object.insert("accountMemoryBatch".into(), false.into());
        }
        self.lines.push(Line { attachment, note });
    }
}

/// Hooks in the order in which they ended. Those that ended close together stay in the order of
/// their settings.
fn in_order_of_end(ran: &[Ran]) -> Vec<&Ran> {
    const TOGETHER: Duration = Duration::from_millis(100);
    let mut ended: Vec<&Ran> = Vec::with_capacity(ran.len());
    for hook in ran {
        let later = |other: &&Ran| other.duration > hook.duration + TOGETHER;
        let at = ended.iter().rposition(|other| !later(other)).map_or(0, |at| at + 1);
        ended.insert(at, hook);
    }
    ended
}

/// Whether the log has lines about how hooks of an event ended.
fn logs(event: Event) -> bool {
    matches!(
        event,
        Event::SessionStart
            | Event::UserPromptSubmit
            | Event::UserPromptExpansion
            | Event::PreToolUse
            | Event::PostToolUse
            | Event::PostToolUseFailure
            | Event::PostToolBatch
            | Event::Stop
            | Event::SubagentStart
            | Event::SubagentStop
    )
}

/// Whether nothing else is kept of a hook that ends the run.
fn keeps_only_stop(event: Event) -> bool {
    matches!(event, Event::PostToolUse | Event::UserPromptSubmit | Event::UserPromptExpansion)
}

/// Whether what a hook wants the model to know stands with that hook.
fn stands_alone(event: Event) -> bool {
    matches!(
        event,
        Event::PostToolUse
            | Event::PostToolUseFailure
            | Event::PostToolBatch
            | Event::UserPromptSubmit
            | Event::Stop
            | Event::SubagentStop
    )
}

/// Whether `continue: false` ends anything at an event.
fn can_stop(event: Event) -> bool {
    matches!(
        event,
        Event::UserPromptSubmit
            | Event::UserPromptExpansion
            | Event::PreToolUse
            | Event::PostToolUse
            | Event::PostToolBatch
            | Event::Stop
            | Event::SubagentStop
    )
}
