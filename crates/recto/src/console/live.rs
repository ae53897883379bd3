//! What is happening now: the answer that grows, calls that run, background tasks, prompts that
//! wait. Events in; lines for the scrollback out.

use recto_agent::api::ApiError;
use recto_agent::turn::End;
use recto_agent::turn::Ended;
use recto_agent::turn::Said;
use recto_agent::turn::TurnEvent;
use recto_agent::turn::UserSaid;
use recto_agent::wire::StreamEvent;
use serde_json::Value;

use super::blocks;
use super::blocks::Lines;
use super::calls::Calls;
use crate::terminal::output::Look;
use crate::terminal::text::one_line;

/// A call that runs.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) about: String,
    /// When it began, in ticks of the console.
    pub(super) since: u64,
    /// Whether a subagent called.
    pub(super) is_agents: bool,
}

/// What runs in the background.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) about: String,
    pub(super) doing: String,
}

/// A prompt that waits.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    pub(super) uuid: String,
    pub(super) text: String,
    /// With chips in place of what was pasted.
    pub(super) shown: String,
}

/// What is happening now.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// The text block that grows.
    pub(super) text: String,
    /// How much of it is in the scrollback.
    printed: usize,
    /// Tokens of thinking so far.
    pub(super) thinking: Option<u64>,
    pub(super) running: Vec<Running>,
    /// Calls that can be opened.
    pub(super) calls: Calls,
    pub(super) tasks: Vec<Task>,
    pub(super) queue: Vec<Queued>,
    pub(super) retry: Option<String>,
    /// Whether that is because there is no connection.
    pub(super) is_unreachable: bool,
    pub(super) is_busy: bool,
    /// Whether thinking is shown when it is over.
    pub(super) shows_thinking: bool,
    /// When the turn began, in ticks.
    pub(super) since: u64,
    /// The working directory: paths in it are shown without it.
    pub(super) directory: String,
}

impl Live {
    /// What a call is about; the path of a file here is short.
    fn about(&self, call: &Value) -> String {
        let about = blocks::about(call);
        let inside = about.strip_prefix(&self.directory).and_then(|path| path.strip_prefix('/'));
        match inside.filter(|path| !self.directory.is_empty() && !path.is_empty()) {
            Some(path) => path.to_owned(),
            None => about,
        }
    }

    /// Takes calls of an earlier part of the conversation.
    pub(super) fn recall(&mut self, blocks: &[Value]) {
        for block in blocks {
            match block["tool_use_id"].as_str() {
                Some(id) => self.calls.end(id, block, None),
                None => self.calls.begin(block, self.about(block), false),
            }
        }
    }

    /// The part of the growing text that is not in the scrollback yet.
    pub(super) fn growing(&self) -> &str {
        self.text.get(self.printed..).unwrap_or_default()
    }

    /// Takes an event; gives what can be printed for good.
    pub(super) fn take(&mut self, event: &TurnEvent, tick: u64, width: usize) -> Lines {
        match event {
            TurnEvent::Stream { event, .. } => self.stream(event, width),
            TurnEvent::Abandoned { is_interrupted, .. } => {
                let lines = self.end_text(width);
                match (lines.is_empty(), is_interrupted) {
                    (false, false) => {
                        let mut lines = lines;
                        lines.extend(blocks::note(Look::Faint, "(cut off; asking again)", width));
                        lines
                    }
                    _ => lines,
                }
            }
            TurnEvent::Thinking { estimated, .. } => {
                self.thinking = Some(*estimated);
                Vec::new()
            }
            TurnEvent::Said(said) => self.said(said, tick, width),
            TurnEvent::User(user) => self.user(user, width),
            TurnEvent::System(line) => self.system(line, width),
            TurnEvent::Retry { attempt, most, wait, error } => {
                let seconds = wait.as_secs_f64();
                let text = format!("{error}; retry {attempt} of {most} in {seconds:.1} s");
                self.retry = Some(one_line(&text));
                self.is_unreachable = matches!(error, ApiError::Unreachable { .. });
                Vec::new()
            }
            TurnEvent::Requesting => {
                self.retry = None;
                Vec::new()
            }
            TurnEvent::Told(text) => blocks::note(Look::Faint, text, width),
            TurnEvent::Denied(denied) => {
                let text = format!("{} was not allowed: {}", denied.tool, denied.message);
                blocks::note(Look::Warning, &one_line(&text), width)
            }
            TurnEvent::Ended(ended) => self.ended(ended, width),
            TurnEvent::State(_)
            | TurnEvent::Began(_)
            | TurnEvent::Control(_)
            | TurnEvent::Prompted { .. }
            | TurnEvent::StartedOver { .. }
            | TurnEvent::ForwardSubagents
            | TurnEvent::Hook(_) => Vec::new(),
        }
    }

    fn stream(&mut self, event: &StreamEvent, width: usize) -> Lines {
        self.retry = None;
        match event {
            StreamEvent::BlockStart { .. } => self.end_text(width),
            StreamEvent::BlockDelta { delta, .. } => {
                let Some(text) = delta.text() else { return Vec::new() };
                self.thinking = None;
                self.text.push_str(&text);
                let settled = blocks::settled(self.growing());
                if settled == 0 {
                    return Vec::new();
                }
                let part = self.growing()[..settled].to_owned();
                self.printed += settled;
                let mut lines = blocks::answer(&part, width);
                if !lines.is_empty() {
                    lines.push(Vec::new());
                }
                lines
            }
            _ => Vec::new(),
        }
    }

    /// Prints what is left of the growing text.
    fn end_text(&mut self, width: usize) -> Lines {
        let lines = blocks::answer(self.growing(), width);
        self.text.clear();
        self.printed = 0;
        self.thinking = None;
        lines
    }

    fn said(&mut self, said: &Said, tick: u64, width: usize) -> Lines {
        let message = said.message.to_serde();
        let mut lines = Vec::new();
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") if said.speaker.is_some() => {}
                Some("text") => lines.extend(self.whole_text(block, said, width)),
                Some("thinking") if said.speaker.is_none() => {
                    self.thinking = None;
                    let seconds = said.thinking.map_or(0, |time| time.as_secs());
                    let text = format!("✻ thought for {seconds} s");
                    lines.extend(blocks::note(Look::Faint, &text, width));
                    if self.shows_thinking {
                        let text = block["thinking"].as_str().unwrap_or_default();
                        lines.extend(blocks::note(Look::Faint, text, width));
                    }
                }
                Some("tool_use") => {
                    let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
                    let about = self.about(block);
                    self.calls.begin(block, about.clone(), said.speaker.is_some());
                    self.running.push(Running {
                        id: text("id"),
                        name: text("name"),
                        about,
                        since: tick,
                        is_agents: said.speaker.is_some(),
                    });
                }
                _ => {}
            }
        }
        lines
    }

    /// A text block that is whole: the rest of what grew, or all of it.
    fn whole_text(&mut self, block: &Value, said: &Said, width: usize) -> Lines {
        let text = block["text"].as_str().unwrap_or_default();
        let printed = self.text.get(..self.printed).unwrap_or_default();
        let rest = text.strip_prefix(printed).unwrap_or(text).to_owned();
        self.text.clear();
        self.printed = 0;
        match &said.failure {
            Some(_) => blocks::note(Look::Bad, &rest, width),
            None if said.command.is_some() => blocks::note(Look::Faint, &rest, width),
            None => blocks::answer(&rest, width),
        }
    }

    fn user(&mut self, user: &UserSaid, width: usize) -> Lines {
        let mut lines = Vec::new();
        for block in user.content.as_array().into_iter().flatten() {
            let Some(id) = block["tool_use_id"].as_str() else {
                let text = block["text"].as_str().unwrap_or_default();
                if text.starts_with("[Request interrupted") {
                    lines.extend(blocks::note(Look::Warning, "interrupted", width));
                }
                continue;
            };
            let Some(at) = self.running.iter().position(|call| call.id == id) else { continue };
            let call = self.running.remove(at);
            let structured = user.tool_use_result.as_ref();
            self.calls.end(id, block, structured);
            // Of a subagent's calls the last line of its own says enough.
            if !call.is_agents {
                lines.extend(blocks::finished_call(
                    &call.name,
                    &call.about,
                    block,
                    structured,
                    width,
                ));
            }
        }
        lines
    }

    fn system(&mut self, line: &Value, width: usize) -> Lines {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        match (line["type"].as_str(), line["subtype"].as_str()) {
            (_, Some("task_started")) => {
                let (id, call) = (text("task_id"), text("tool_use_id"));
                self.tasks.retain(|task| task.id != id);
                // A command that is waited for has its line already.
                let is_waited_for = line["is_backgrounded"] == false
                    && self.running.iter().any(|running| running.id == call);
                if is_waited_for {
                    return Vec::new();
                }
                self.tasks.push(Task { id, about: text("description"), doing: String::new() });
                Vec::new()
            }
            (_, Some("task_progress")) => {
                let id = text("task_id");
                if let Some(task) = self.tasks.iter_mut().find(|task| task.id == id) {
                    task.doing = text("description");
                }
                Vec::new()
            }
            (_, Some("task_notification")) => {
                let id = text("task_id");
                let was_known = self.tasks.iter().any(|task| task.id == id);
                self.tasks.retain(|task| task.id != id);
                match was_known && !text("summary").is_empty() && !text("output_file").is_empty() {
                    true => blocks::note(Look::Tool, &one_line(&text("summary")), width),
                    false => Vec::new(),
                }
            }
            (_, Some("informational")) => blocks::note(Look::Faint, &text("content"), width),
            (_, Some("compact_boundary")) => {
                let before = line["compact_metadata"]["pre_tokens"].as_u64().unwrap_or_default();
                let text = format!("── compacted ({before} tokens before) ──");
                blocks::note(Look::Warning, &text, width)
            }
            (Some("command_lifecycle"), _) if line["state"] != "queued" => {
                let uuid = text("command_uuid");
                let Some(at) = self.queue.iter().position(|prompt| prompt.uuid == uuid) else {
                    return Vec::new();
                };
                // The conversation has it from now on.
                blocks::prompt(&self.queue.remove(at).shown, width)
            }
            _ => Vec::new(),
        }
    }

    fn ended(&mut self, ended: &Ended, width: usize) -> Lines {
        let mut lines = self.end_text(width);
        self.running.clear();
        self.retry = None;
        let told = match &ended.end {
            End::Completed
            | End::HookStopped
            | End::StopHookPrevented
            | End::Local(_)
            | End::ApiError(..)
            | End::InterruptedText
            | End::InterruptedTools => None,
            End::PromptTooLong(text, _) => {
                Some(format!("{text}; /compact shortens the conversation"))
            }
            End::Deferred(_, name, _) => Some(format!("a hook deferred the call of {name}")),
            End::PromptBlocked(text) => Some(text.clone()),
            End::MaxTurns(most) => Some(format!("stopped after {most} requests (--max-turns)")),
            End::Budget(most) => {
                Some(format!("stopped: the budget of ${most} is used up (--max-budget-usd)"))
            }
            End::NoStructuredOutput => Some("the answer does not match --json-schema".to_owned()),
            End::LogFailed(why) => Some(format!("the log cannot be written: {why}")),
        };
        if let Some(text) = told {
            lines.extend(blocks::note(Look::Warning, &text, width));
        }
        lines
    }
}
