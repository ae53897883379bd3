//! The searchable texts of a log, line by line.
//!
//! What `recto show` shows can be found, and the inputs and results of tools as
//! a whole. What the log tells twice is given once: the client's own copy of a
//! result, a prompt that is in the queue and in the chain, a title that is
//! written again and again.

use std::borrow::Cow;

use jiff::Timestamp;
use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::System;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::json::Value;

use super::state::Call;
use super::state::PendingLine;
use super::state::State;
use super::strings::strings;
use crate::Item;
use crate::LineSource;
use crate::NoteKind;
use crate::PromptQueue;
use crate::QueuedPrompt;
use crate::Span;
use crate::TurnCounter;
use crate::command_text;
use crate::items;
use crate::show::items::output_text;
use crate::with_line;

/// What a text is in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextRole {
    /// Something that a person typed, or a subagent's task.
    User,
    /// Text of the model.
    Assistant,
    /// Thinking of the model.
    Thinking,
    /// What a tool was asked: commands, paths, patterns, contents.
    ToolInput,
    /// What a tool gave.
    ToolResult,
    /// The summary of a compaction, or one that names a session.
    Summary,
    /// A title of the session.
    Title,
    /// A plan that the model made.
    Plan,
    /// A text of the client: output of its commands, reminders, attachments, hooks.
    System,
}

impl TextRole {
    /// All roles.
    pub const ALL: [TextRole; 9] = [
        TextRole::User,
        TextRole::Assistant,
        TextRole::Thinking,
        TextRole::ToolInput,
        TextRole::ToolResult,
        TextRole::Summary,
        TextRole::Title,
        TextRole::Plan,
        TextRole::System,
    ];

    /// The name, for machines and for `role:`.
    pub fn name(self) -> &'static str {
        match self {
            TextRole::User => "user",
            TextRole::Assistant => "assistant",
            TextRole::Thinking => "thinking",
            TextRole::ToolInput => "tool-input",
            TextRole::ToolResult => "tool-result",
            TextRole::Summary => "summary",
            TextRole::Title => "title",
            TextRole::Plan => "plan",
            TextRole::System => "system",
        }
    }

    /// The role of a name.
    pub fn from_name(name: &str) -> Option<TextRole> {
        TextRole::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// One text of a line that can be searched. It is hostile.
#[derive(Debug, Clone)]
pub struct Document<'a> {
    /// What it is.
    pub role: TextRole,
    /// The tool that was called, or gave the result; unknown for a result whose
    /// call is not in the log.
    pub tool: Option<&'a str>,
    /// The file that the call is about, or nothing.
    pub path: &'a str,
    /// Whether a call failed.
    pub is_error: bool,
    /// The model that wrote the text.
    pub model: Option<&'a str>,
    /// The line's number, from 1.
    pub line: u64,
    /// Where the line is.
    pub span: Span,
    /// When it was written.
    pub time: Option<Timestamp>,
    /// The number of its turn, in the order of the log.
    pub turn: u32,
    /// The line, but for a prompt that is told by the queue only.
    entry: Option<&'a Entry<'a>>,
    source: Source<'a>,
}

/// Where the text of a document is.
#[derive(Debug, Clone)]
enum Source<'a> {
    Text(Cow<'a, str>),
    /// One string, or blocks of text.
    Content(Content<'a>),
    /// All strings in a value.
    Strings(Value<'a>),
}

impl<'a> Document<'a> {
    /// Gives the pieces of the text, in order, as long as they are wanted: until
    /// `see` says `false`.
    pub fn texts(&self, see: &mut dyn FnMut(&str) -> bool) {
        let mut is_wanted = true;
        match &self.source {
            Source::Text(text) => {
                see(text);
            }
            Source::Content(content) => {
                for block in content.blocks() {
                    let Block::Text { text } = block else { continue };
                    is_wanted = is_wanted && see(&text.as_str().unwrap_or_default());
                }
            }
            Source::Strings(value) => strings(*value, &mut |text| {
                is_wanted = is_wanted && see(&text);
            }),
        }
    }

    /// The whole text; pieces are on lines of their own.
    pub fn text(&self) -> String {
        let mut whole = String::new();
        self.texts(&mut |text| {
            if !whole.is_empty() {
                whole.push('\n');
            }
            whole.push_str(text);
            true
        });
        whole
    }

    /// The id of the line.
    pub fn uuid(&self) -> Option<Cow<'a, str>> {
        self.entry?.str("uuid")
    }

    /// The git branch.
    pub fn branch(&self) -> Option<Cow<'a, str>> {
        self.entry?.git_branch()
    }

    /// The working directory.
    pub fn cwd(&self) -> Option<Cow<'a, str>> {
        self.entry?.cwd()
    }

    /// The subagent that the line belongs to.
    pub fn agent(&self) -> Option<Cow<'a, str>> {
        self.entry?.str("agentId")
    }

    /// Whether the line belongs to a subagent.
    pub fn is_sidechain(&self) -> bool {
        self.entry.is_some_and(Entry::is_sidechain)
    }
}

/// Takes the searchable texts out of a log, line by line.
#[derive(Debug, Clone, Default)]
pub struct Extractor {
    state: State,
    turns: TurnCounter,
    queue: PromptQueue,
}

impl Extractor {
    /// Goes on after the line for which [`Extractor::state`] was asked. Prompts that wait
    /// and cannot be read again are lost.
    pub fn resume(state: State, log: &dyn LineSource) -> Extractor {
        let mut queue = PromptQueue::default();
        for pending in &state.pending {
            let PendingLine { offset, number, length, is_taken } = *pending;
            let read = with_line(log, Span { offset, length }, number, QueuedPrompt::of);
            if let Ok(Some(prompt)) = read {
                queue.put_back(prompt, is_taken);
            }
        }
        Extractor { turns: TurnCounter::after(state.turns), state, queue }
    }

    /// What must be kept to go on later.
    pub fn state(&self) -> State {
        let pending = self.queue.pending().map(|(prompt, is_taken)| PendingLine {
            offset: prompt.span.offset,
            number: prompt.line,
            length: prompt.span.length,
            is_taken,
        });
        State { pending: pending.collect(), turns: self.turns.begun(), ..self.state.clone() }
    }

    /// Gives the texts of the next line, in order. A prompt that only the queue
    /// tells is given with a later line; its place is that of its own.
    pub fn next(&mut self, entry: &Entry<'_>, see: &mut dyn FnMut(&Document<'_>)) {
        let turn = self.turns.current();
        for prompt in self.queue.next(entry) {
            see_queued(prompt, turn, see);
        }
        let mut line = Line { entry, time: None, model: None, turn: self.turns.next(entry), see };
        match entry.kind() {
            Kind::User | Kind::ToolResult => self.user(&mut line),
            Kind::Assistant => self.assistant(&mut line),
            Kind::System => system(&mut line),
            Kind::Attachment => attachment(&mut line),
            Kind::Progress => line.hooks(),
            Kind::CustomTitle | Kind::AiTitle | Kind::Summary => self.title(&mut line),
            _ => {}
        }
    }

    /// Gives the prompts that still wait in the queue at the end of the log.
    pub fn rest(&self, see: &mut dyn FnMut(&Document<'_>)) {
        for prompt in self.queue.rest() {
            see_queued(prompt, self.turns.current(), see);
        }
    }

    fn user(&mut self, line: &mut Line<'_, '_>) {
        let entry = line.entry;
        let kind = classify_user(entry);
        if kind == UserText::ToolResult {
            return self.results(line);
        }
        let Some(message) = entry.message() else { return };
        let content = message.content();
        match kind {
            UserText::Human | UserText::Picture | UserText::AgentTask => {
                line.content(TextRole::User, content);
            }
            UserText::Command | UserText::BashInput => {
                line.text(TextRole::User, command_text(&content.text()));
            }
            UserText::CommandOutput | UserText::BashOutput => {
                line.text(TextRole::System, output_text(&content.text()));
            }
            UserText::CompactSummary => line.content(TextRole::Summary, content),
            UserText::Interrupt | UserText::TaskNotification | UserText::Meta => {
                line.content(TextRole::System, content);
            }
            UserText::Nothing | UserText::ToolResult => {}
        }
    }

    fn results(&mut self, line: &mut Line<'_, '_>) {
        let content = match line.entry.message() {
            Some(message) => message.content(),
            // In old descriptions the line itself is the result.
            None => Content::of(line.entry.get("content")),
        };
        for block in content.blocks() {
            match block {
                Block::ToolResult { content, is_error, .. } => {
                    self.result(line, block.id(), Source::Content(content), is_error);
                }
                Block::Text { text } => line.content(TextRole::ToolResult, Content::Text(text)),
                _ => {}
            }
        }
    }

    fn result(
        &mut self,
        line: &mut Line<'_, '_>,
        id: Option<Cow<'_, str>>,
        source: Source<'_>,
        is_error: bool,
    ) {
        let call = id.and_then(|id| self.state.calls.take(&id));
        let tool = call.as_ref().map(|call| call.tool.as_str());
        let path = call.as_ref().map_or("", |call| call.path.as_str());
        line.give(TextRole::ToolResult, Of { tool, path, is_error }, source);
    }

    fn assistant(&mut self, line: &mut Line<'_, '_>) {
        let Some(message) = line.entry.message() else { return };
        line.model = message.model();
        if line.entry.is_api_error() {
            let of = Of { is_error: true, ..Of::default() };
            return line.give(TextRole::System, of, Source::Content(message.content()));
        }
        for block in message.content().blocks() {
            match block {
                Block::Text { text } => line.content(TextRole::Assistant, Content::Text(text)),
                Block::Thinking { thinking: Some(text), .. } => {
                    line.content(TextRole::Thinking, Content::of(Some(text)));
                }
                Block::ToolUse { id, name, input } | Block::ServerToolUse { id, name, input } => {
                    self.call(line, id, name, input);
                }
                Block::WebSearchToolResult { content, .. } => {
                    let hits = match content {
                        Content::Blocks(value) | Content::Text(value) | Content::Other(value) => {
                            value
                        }
                        Content::Missing => continue,
                    };
                    self.result(line, block.id(), Source::Strings(hits), /* is_error */ false);
                }
                _ => {}
            }
        }
    }

    fn call(
        &mut self,
        line: &mut Line<'_, '_>,
        id: Option<Value<'_>>,
        name: Option<Value<'_>>,
        input: Option<Value<'_>>,
    ) {
        const PATHS: [&str; 3] = ["file_path", "notebook_path", "path"];
        let text = |value: Option<Value<'_>>| match value.and_then(Value::as_str) {
            Some(text) => text.into_owned(),
            None => String::new(),
        };
        let path = input.and_then(|input| PATHS.iter().find_map(|name| input.str(name)));
        let call = Call {
            id: text(id),
            tool: text(name),
            path: path.map_or_else(String::new, Cow::into_owned),
        };
        let role = if call.tool == "ExitPlanMode" { TextRole::Plan } else { TextRole::ToolInput };
        if let Some(input) = input {
            let of = Of { tool: Some(&call.tool), path: &call.path, is_error: false };
            line.give(role, of, Source::Strings(input));
        }
        self.state.calls.add(call);
    }

    fn title(&mut self, line: &mut Line<'_, '_>) {
        let (place, role) = match line.entry.kind() {
            Kind::CustomTitle => (0, TextRole::Title),
            Kind::AiTitle => (1, TextRole::Title),
            _ => (2, TextRole::Summary),
        };
        let Some(title) = line.entry.title() else { return };
        let hash = fingerprint(&title);
        if std::mem::replace(&mut self.state.titles[place], hash) != hash {
            line.text(role, title.into_owned());
        }
    }
}

/// Tells titles apart, on every machine alike (FNV-1a).
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What a text is of.
#[derive(Debug, Clone, Copy, Default)]
struct Of<'a> {
    tool: Option<&'a str>,
    path: &'a str,
    is_error: bool,
}

/// The line that is being read, and who wants its texts.
struct Line<'l, 'e> {
    entry: &'l Entry<'e>,
    /// Read once it is needed.
    time: Option<Option<Timestamp>>,
    model: Option<Cow<'e, str>>,
    turn: u32,
    see: &'l mut dyn FnMut(&Document<'_>),
}

impl Line<'_, '_> {
    fn give(&mut self, role: TextRole, of: Of<'_>, source: Source<'_>) {
        let entry = self.entry;
        let line = entry.line();
        let time = *self.time.get_or_insert_with(|| entry.timestamp());
        (self.see)(&Document {
            role,
            tool: of.tool,
            path: of.path,
            is_error: of.is_error,
            model: self.model.as_deref(),
            line: line.number,
            span: Span { offset: line.offset, length: line.length },
            time,
            turn: self.turn,
            entry: Some(entry),
            source,
        });
    }

    fn content(&mut self, role: TextRole, content: Content<'_>) {
        self.give(role, Of::default(), Source::Content(content));
    }

    fn text(&mut self, role: TextRole, text: String) {
        if !text.trim().is_empty() {
            self.give(role, Of::default(), Source::Text(text.into()));
        }
    }

    /// What `show` tells of hooks.
    fn hooks(&mut self) {
        for item in items(self.entry) {
            if let Item::Note { kind: NoteKind::Hook, text } = item {
                self.text(TextRole::System, text);
            }
        }
    }
}

fn system(line: &mut Line<'_, '_>) {
    match line.entry.system() {
        Some(System::LocalCommand { content } | System::Informational { content }) => {
            let text = content.and_then(Value::as_str).unwrap_or_default();
            match text.contains("<command-name>") {
                true => line.text(TextRole::User, command_text(&text)),
                false => line.text(TextRole::System, output_text(&text)),
            }
        }
        Some(System::StopHookSummary { .. }) => line.hooks(),
        _ => {}
    }
}

fn attachment(line: &mut Line<'_, '_>) {
    let Some(attachment) = line.entry.attachment() else { return };
    if let Some(prompt) = attachment.queued_prompt() {
        return line.content(TextRole::User, Content::of(Some(prompt)));
    }
    if attachment.name().is_some_and(|name| name.starts_with("hook_")) {
        return line.hooks();
    }
    // The exact texts, where the client kept them; else what they were made of.
    let rendered = line.entry.get("rendered").filter(|rendered| rendered.elements().count() > 0);
    if let Some(value) = rendered.or_else(|| line.entry.get("attachment")) {
        line.give(TextRole::System, Of::default(), Source::Strings(value));
    }
}

fn see_queued(prompt: QueuedPrompt, turn: u32, see: &mut dyn FnMut(&Document<'_>)) {
    let of = Of::default();
    see(&Document {
        role: TextRole::User,
        tool: of.tool,
        path: of.path,
        is_error: of.is_error,
        model: None,
        line: prompt.line,
        span: prompt.span,
        time: prompt.time,
        turn,
        entry: None,
        source: Source::Text(prompt.text.into()),
    });
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
