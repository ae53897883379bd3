//! What the lines of a log say about now, line by line.
//!
//! It can begin at any line: a tail of the log says what is going on as well as the
//! whole does, unless the turn is longer than the tail. Texts are kept cut, calls and
//! tasks are counted, so that a log of any size takes the same memory.

use jiff::Timestamp;
use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::Message;
use recto_log::MessageId;
use recto_log::QueueOperation;
use recto_log::System;
use recto_log::UserBlocks;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::command_text;
use recto_log::json::Value;
use recto_log::said_text;
use recto_log::typed_text;

use super::call::Asking;
use super::call::Audience;
use super::call::PendingCall;
use super::task::RunningTask;
use super::task::TaskKind;
use super::task::Tasks;
use super::timer;
use super::words::beginning;
use crate::Tokens;
use crate::show::items::call_about;

/// The longest output, prompt, and description of a call that are kept.
const OUTPUT_MOST: usize = 500;
const PROMPT_MOST: usize = 200;
const ABOUT_MOST: usize = 200;
/// The most calls that are kept; damaged logs can have any number.
const MOST_CALLS: usize = 64;

/// Where the conversation stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Phase {
    /// Nobody has said anything.
    #[default]
    Nothing,
    /// It is the model's turn, since a time.
    Working { since: Option<Timestamp>, step: Step },
    /// It is the user's.
    Over { at: Option<Timestamp>, how: End },
}

/// The last thing that happened in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Something was asked, or a tool gave its result: the model is next.
    Asked,
    /// The model says something, and there is more to come.
    Answering,
    /// The model has said something, and the log does not say whether that was all.
    Said { at: Option<Timestamp> },
    /// A request failed and is sent again.
    Retrying { attempt: Option<u64>, attempts: Option<u64>, next: Option<Timestamp> },
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Answered,
    Interrupted,
    Failed,
    Command,
    Compacted,
}

/// What the lines so far say about now.
#[derive(Debug, Clone, Default)]
pub struct StatusFold {
    pub(super) phase: Phase,
    pub(super) calls: Vec<PendingCall>,
    tasks: Tasks,
    /// When the last result came.
    pub(super) last_result: Option<Timestamp>,
    /// The newest time of any line.
    pub(super) last: Option<Timestamp>,
    /// When a subagent last wrote something.
    pub(super) agents_written: Option<Timestamp>,
    has_lines: bool,
    /// How the client that wrote the last line was started.
    pub(super) entrypoint: Option<String>,
    custom_title: Option<String>,
    model_title: Option<String>,
    pub(super) last_prompt: Option<String>,
    pub(super) last_output: Option<String>,
    pub(super) model: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) version: Option<String>,
    pub(super) mode: Option<String>,
    /// Those of all messages but the last one, whose usage may come again.
    tokens_before: Tokens,
    last_message: Option<(MessageId, Tokens)>,
    /// The message of the last answer.
    answering: Option<MessageId>,
}

impl StatusFold {
    /// Takes in the next line.
    pub fn push(&mut self, entry: &Entry<'_>) {
        self.has_lines |= !matches!(entry.kind(), Kind::Blank | Kind::Opaque);
        let time = entry.timestamp();
        if entry.is_sidechain() {
            self.note_agents_written(time);
            return;
        }
        self.last = self.last.max(time);
        if entry.kind().in_chain() {
            self.take_envelope(entry);
        }
        match entry.kind() {
            Kind::User | Kind::ToolResult => self.take_user(entry, time),
            Kind::Assistant => self.take_assistant(entry, time),
            Kind::System => self.take_system(entry, time),
            Kind::Progress => self.take_progress(entry),
            Kind::PermissionMode => self.take_mode(entry),
            Kind::CustomTitle => self.custom_title = title(entry).or(self.custom_title.take()),
            Kind::AiTitle => self.model_title = title(entry).or(self.model_title.take()),
            Kind::LastPrompt if self.last_prompt.is_none() => {
                let prompt = entry.last_prompt().and_then(|last| last.prompt);
                let prompt = prompt.map(|text| beginning(&said_text(&text), PROMPT_MOST));
                self.last_prompt = prompt.filter(|prompt| !prompt.is_empty());
            }
            Kind::QueueOperation => {
                if let Some(QueueOperation::Enqueue(content)) = entry.queue_operation() {
                    self.tasks.end_by_note(&Content::of(content).text());
                }
            }
            Kind::Attachment => {
                let attachment = entry.attachment();
                if let Some(prompt) = attachment.and_then(|attachment| attachment.queued_prompt()) {
                    self.tasks.end_by_note(&Content::of(Some(prompt)).text());
                }
            }
            _ => {}
        }
    }

    /// Notes when a subagent last wrote something: its log is a file of its own.
    pub fn note_agents_written(&mut self, time: Option<Timestamp>) {
        self.agents_written = self.agents_written.max(time);
    }

    /// Whether no line was taken in that says anything.
    pub fn is_empty(&self) -> bool {
        !self.has_lines
    }

    /// Whether anything was said in the lines that were taken in.
    pub fn has_conversation(&self) -> bool {
        self.phase != Phase::Nothing
    }

    /// The title: the user's, else a model's.
    pub fn title(&self) -> Option<&str> {
        self.custom_title.as_deref().or(self.model_title.as_deref())
    }

    /// The tokens of all messages, each counted once.
    pub fn tokens(&self) -> Tokens {
        let mut tokens = self.tokens_before;
        tokens.add(self.last_message.as_ref().map_or_else(Tokens::default, |(_, last)| *last));
        tokens
    }

    /// What the last answer was given for.
    pub fn context_tokens(&self) -> Option<u64> {
        let (_, tokens) = self.last_message.as_ref()?;
        Some(tokens.context()).filter(|context| *context > 0)
    }

    /// Whether the client that wrote the log announces itself while it runs. Clients
    /// that are not used by a person may not.
    pub(super) fn announces_itself(&self) -> bool {
        const FIRST: [u32; 3] = [2, 1, 200];
        let version = self.version.as_deref().unwrap_or_default();
        let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
        let is_interactive = self.entrypoint.as_deref() == Some("cli");
        // Recto announces every session that it keeps a log of.
        if self.entrypoint.as_deref() == Some("recto") {
            return true;
        }
        is_interactive && numbers.len() == FIRST.len() && numbers.as_slice() >= &FIRST[..]
    }

    /// What runs beside the conversation: subagents that a call waits for, and what was
    /// put into the background since the process started.
    pub(super) fn running(&self, started: Option<Timestamp>) -> Vec<RunningTask> {
        let waited_for = self.calls.iter().filter(|call| call.is_agent());
        let waited_for = waited_for.map(|call| RunningTask {
            id: call.id.clone(),
            kind: TaskKind::Agent,
            about: call.about.clone(),
            since: call.since,
        });
        waited_for.chain(self.tasks.since(started)).collect()
    }

    fn take_envelope(&mut self, entry: &Entry<'_>) {
        let keep = |slot: &mut Option<String>, name: &str| {
            // Most lines repeat what the line before said.
            if let Some(text) = entry.str(name)
                && slot.as_deref() != Some(&*text)
            {
                *slot = Some(text.into_owned());
            }
        };
        keep(&mut self.version, "version");
        keep(&mut self.cwd, "cwd");
        keep(&mut self.branch, "gitBranch");
        keep(&mut self.entrypoint, "entrypoint");
    }

    fn take_mode(&mut self, entry: &Entry<'_>) {
        if let Some(mode) = entry.str("permissionMode") {
            self.mode = Some(beginning(&mode, ABOUT_MOST));
        }
    }

    fn take_user(&mut self, entry: &Entry<'_>, time: Option<Timestamp>) {
        self.take_mode(entry);
        let text = || entry.message().map(|message| message.content().text()).unwrap_or_default();
        match classify_user(entry) {
            UserText::Human => self.begin(time, Some(&typed_text(&text()))),
            UserText::Command | UserText::BashInput => {
                self.begin(time, Some(&command_text(&text())));
            }
            UserText::TaskNotification => {
                self.tasks.end_by_note(&text());
                self.begin(time, None);
            }
            UserText::ToolResult => self.take_results(entry, time),
            UserText::Interrupt => self.end(time, End::Interrupted),
            UserText::CommandOutput | UserText::BashOutput => self.end(time, End::Command),
            UserText::Meta if is_for_the_model(entry) => self.go_on(time, Step::Asked),
            // The model is asked, whatever is said beside the picture.
            UserText::Picture => self.go_on(time, Step::Asked),
            UserText::Meta | UserText::CompactSummary | UserText::AgentTask | UserText::Nothing => {
            }
        }
    }

    fn take_results(&mut self, entry: &Entry<'_>, time: Option<Timestamp>) {
        let Some(message) = entry.message() else { return };
        let mut since = None;
        for block in message.content().blocks() {
            let Block::ToolResult { is_error, .. } = block else { continue };
            let Some(id) = block.id() else { continue };
            let call = self.calls.iter().position(|call| call.id == *id);
            let call = call.map(|at| self.calls.remove(at));
            self.last_result = self.last_result.max(time);
            if let Some(call) = &call {
                // Somebody may have been waited for: what works now has begun to again.
                let audience = Audience::of_entrypoint(self.entrypoint.as_deref());
                if may_have_waited(call, call.asking(self.mode.as_deref(), audience), time) {
                    since = time;
                }
                if let Some(stopped) = call.stops.as_deref().filter(|_| !is_error) {
                    self.tasks.stop(stopped);
                }
            }
            self.tasks.take_result(entry, call.as_ref(), time);
        }
        self.go_on(time, Step::Asked);
        if let (Phase::Working { since: begun, .. }, Some(time)) = (&mut self.phase, since) {
            *begun = Some(time);
        }
    }

    fn take_assistant(&mut self, entry: &Entry<'_>, time: Option<Timestamp>) {
        let Some(message) = entry.message() else { return };
        if entry.is_api_error() {
            self.last_output = shown_text(&message).or(self.last_output.take());
            return self.end(time, End::Failed);
        }
        // A model is asked again only when all calls of its message have results.
        if let Some(id) = message.id()
            && self.answering.as_ref() != Some(&id)
        {
            self.calls.clear();
            self.answering = Some(id);
        }
        if !message.is_synthetic() {
            self.model = message.model().map(|model| model.into_owned()).or(self.model.take());
            self.take_tokens(&message);
        }
        self.last_output = shown_text(&message).or(self.last_output.take());
        let (mut has_call, mut has_text) = (false, false);
        for block in message.content().blocks() {
            has_text |= matches!(block, Block::Text { .. });
            if let Block::ToolUse { .. } = block {
                has_call = true;
                self.take_call(&block, time);
            }
        }
        if entry.object().is_true("isAbortedMidStream") {
            return self.end(time, End::Interrupted);
        }
        match message.stop_reason().as_deref() {
            _ if has_call => self.go_on(time, Step::Answering),
            Some("tool_use" | "pause_turn") => self.go_on(time, Step::Answering),
            // The results of other calls of the same message may still be missing.
            Some(_) if self.calls.is_empty() => self.end(time, End::Answered),
            None if has_text => self.go_on(time, Step::Said { at: time }),
            Some(_) | None => self.go_on(time, Step::Answering),
        }
    }

    fn take_call(&mut self, block: &Block<'_>, time: Option<Timestamp>) {
        let Some(id) = block.id() else { return };
        let input = block.input();
        let tool = block.name().unwrap_or_default();
        let is_stop = matches!(&*tool, "KillShell" | "KillBash" | "TaskStop");
        let stopped = || {
            let names = ["shell_id", "task_id", "bash_id"];
            names.iter().find_map(|name| Some(input?.str(name)?.into_owned()))
        };
        self.calls.retain(|call| call.id != *id);
        if self.calls.len() == MOST_CALLS {
            self.calls.remove(0);
        }
        self.calls.push(PendingCall {
            id: beginning(&id, ABOUT_MOST),
            tool: beginning(&tool, ABOUT_MOST),
            about: beginning(&input.map(about).unwrap_or_default(), ABOUT_MOST),
            since: time,
            stops: if is_stop { stopped() } else { None },
            is_seen_running: false,
        });
    }

    fn take_tokens(&mut self, message: &Message<'_>) {
        let Some(usage) = message.usage_value() else { return };
        let tokens = Tokens::of(usage);
        let Some(id) = message.id() else { return self.tokens_before.add(tokens) };
        match &mut self.last_message {
            // The lines of one message repeat its usage; the last one is final.
            Some((last, counted)) if *last == id => *counted = tokens,
            last => {
                if let Some((_, before)) = last.replace((id, tokens)) {
                    self.tokens_before.add(before);
                }
            }
        }
    }

    fn take_system(&mut self, entry: &Entry<'_>, time: Option<Timestamp>) {
        match entry.system() {
            Some(System::TurnDuration { .. } | System::StopHookSummary { .. })
                if matches!(self.phase, Phase::Working { .. }) =>
            {
                self.end(time, End::Answered);
            }
            Some(System::ApiError { attempt, attempts, retry_in }) => {
                let wait = retry_in.filter(|wait| (0.0..1e9).contains(wait)).unwrap_or(0.0);
                let wait = jiff::SignedDuration::from_millis(wait as i64);
                let next = time.and_then(|time| time.checked_add(wait).ok());
                self.go_on(time, Step::Retrying { attempt, attempts, next });
            }
            Some(System::CompactBoundary(metadata)) => {
                // What was sent before says nothing about what is sent next.
                if let Some((_, tokens)) = self.last_message.take() {
                    self.tokens_before.add(tokens);
                }
                // One that the client chose itself is in the middle of a turn.
                if metadata.trigger.as_deref() == Some("manual") {
                    self.end(time, End::Compacted);
                }
            }
            Some(System::LocalCommand { .. }) if self.phase == Phase::Nothing => {
                self.end(time, End::Command);
            }
            _ => {}
        }
    }

    /// A line about the progress of a command. One about its hooks says nothing: they
    /// run before anybody is asked.
    fn take_progress(&mut self, entry: &Entry<'_>) {
        if entry.subtype().as_deref() == Some("hook_progress") {
            return;
        }
        let Some(id) = entry.str("parentToolUseID") else { return };
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == *id) {
            call.is_seen_running = true;
        }
    }

    /// A turn begins. What an earlier one left without a result will never have one.
    fn begin(&mut self, time: Option<Timestamp>, prompt: Option<&str>) {
        self.calls.clear();
        self.phase = Phase::Working { since: time, step: Step::Asked };
        if let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) {
            self.last_prompt = Some(beginning(prompt, PROMPT_MOST));
        }
    }

    /// A turn goes on, or one of which the beginning was not seen.
    fn go_on(&mut self, time: Option<Timestamp>, step: Step) {
        let since = match &self.phase {
            Phase::Working { since, .. } => *since,
            Phase::Nothing | Phase::Over { .. } => time,
        };
        self.phase = Phase::Working { since, step };
    }

    fn end(&mut self, time: Option<Timestamp>, how: End) {
        self.calls.clear();
        self.phase = Phase::Over { at: time, how };
    }
}

/// What a call is about; of a question, the question.
fn about(input: Value<'_>) -> String {
    let question = input.get("questions").and_then(|all| all.elements().next()?.str("question"));
    question.map_or_else(|| call_about(input), |question| question.into_owned())
}

fn title(entry: &Entry<'_>) -> Option<String> {
    entry
        .title()
        .map(|title| beginning(&said_text(&title), PROMPT_MOST))
        .filter(|title| !title.is_empty())
}

fn shown_text(message: &Message<'_>) -> Option<String> {
    let text = message.content().text();
    Some(beginning(&text, OUTPUT_MOST)).filter(|text| !text.is_empty())
}

/// Whether a text of the client's makes the model answer: what a hook or the end of the
/// output limit says does, a reminder or a caveat beside something else does not.
fn is_for_the_model(entry: &Entry<'_>) -> bool {
    let Some(message) = entry.message() else { return false };
    let mut blocks = UserBlocks::default();
    message.content().blocks().for_each(|block| blocks.see(&block));
    let beside = ["<system-reminder>", "<local-command-caveat>", "Caveat: "];
    !beside.iter().any(|mark| blocks.begins_with(mark))
}

/// Whether the answer was, while the call had no result, that somebody is waited for.
fn may_have_waited(call: &PendingCall, asking: Asking, result: Option<Timestamp>) -> bool {
    match asking {
        Asking::Always => true,
        Asking::Perhaps => match (call.since, result) {
            (Some(since), Some(result)) => result.duration_since(since) >= timer::ASKING,
            _ => false,
        },
        Asking::Hardly | Asking::Never(_) => false,
    }
}
