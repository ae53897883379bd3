//! What is shown of a line: prompts, answers, calls, results, notes.
//!
//! Every surface (terminal, Markdown, HTML, XML, JSON) shows the same items;
//! which text of a line counts, and as what, is decided here and nowhere else.

use std::borrow::Cow;

use jiff::Timestamp;
use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::System;
use recto_log::ToolResult;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::command_text;
use recto_log::json::Value;
use recto_log::typed_text;

use crate::Overflow;
use crate::fold::hooks::HookLine;
use crate::with_marks;

/// One thing that is shown. Its texts come from the log and are hostile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Something that a person typed, or a subagent's task.
    Prompt {
        /// The text; a command as it was typed.
        text: String,
        /// Pictures and documents in it.
        pictures: usize,
        /// What it is.
        kind: UserText,
        /// Whether it was typed while the model worked, and is part of the turn.
        is_queued: bool,
    },
    /// Text of the model.
    Answer {
        /// The text, which is Markdown.
        text: String,
    },
    /// Thinking of the model.
    Thinking {
        /// The text; empty where it is encrypted or kept back.
        text: String,
    },
    /// A tool call.
    Call {
        /// The id that ties it to its result.
        id: String,
        /// The tool.
        name: String,
        /// The argument that says most.
        about: String,
        /// All arguments, as JSON text.
        input: Vec<u8>,
    },
    /// A tool's result.
    Result {
        /// The id of the call.
        id: String,
        /// The text that the model got.
        text: String,
        /// Pictures in it.
        pictures: usize,
        /// Whether the call failed.
        is_error: bool,
        /// What an edit changed.
        diff: Option<Diff>,
        /// The file with the whole text, where it was too long for the log.
        overflow: Option<Overflow>,
    },
    /// Something that happened.
    Note {
        /// What it is.
        kind: NoteKind,
        /// The text.
        text: String,
    },
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// The conversation was compacted.
    Compaction,
    /// The summary of a compaction.
    Summary,
    /// The user stopped the model.
    Interrupt,
    /// An API call failed.
    ApiError,
    /// A background task ended.
    Task,
    /// The output of a command of the client or the shell.
    Output,
    /// A remark of the client.
    Remark,
    /// A text that the client adds for the model.
    Meta,
    /// A hook failed, or stopped something.
    Hook,
    /// A line that is no JSON object.
    Damage,
}

impl Item {
    /// A prompt that was typed while the model worked.
    pub(crate) fn queued_prompt(text: String, pictures: usize) -> Item {
        Item::Prompt { text, pictures, kind: UserText::Human, is_queued: true }
    }
}

impl NoteKind {
    /// The name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            NoteKind::Compaction => "compaction",
            NoteKind::Summary => "summary",
            NoteKind::Interrupt => "interrupt",
            NoteKind::ApiError => "api-error",
            NoteKind::Task => "task",
            NoteKind::Output => "output",
            NoteKind::Remark => "remark",
            NoteKind::Meta => "meta",
            NoteKind::Hook => "hook",
            NoteKind::Damage => "damage",
        }
    }
}

/// What an edit changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Diff {
    /// The file.
    pub path: String,
    /// The lines of all hunks, each with its sign.
    pub lines: Vec<String>,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// When and where a line's items are from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The line's number, from 1.
    pub line: u64,
    /// The line's id.
    pub uuid: Option<String>,
    /// When it was written.
    pub time: Option<Timestamp>,
    /// The API message that it is a part of.
    pub message: Option<String>,
    /// Whether it belongs to a subagent.
    pub is_sidechain: bool,
}

impl Origin {
    /// The origin of a line.
    pub fn of(entry: &Entry<'_>) -> Origin {
        Origin {
            line: entry.line().number,
            uuid: entry.str("uuid").map(|uuid| uuid.into_owned()),
            time: entry.timestamp(),
            message: entry
                .message()
                .and_then(|message| message.id())
                .map(|id| id.as_str().to_owned()),
            is_sidechain: entry.is_sidechain(),
        }
    }
}

/// What is shown of a line, in order. Most lines of a log show nothing.
pub fn items(entry: &Entry<'_>) -> Vec<Item> {
    match entry.kind() {
        Kind::User | Kind::ToolResult => user_items(entry),
        Kind::Assistant => answer_items(entry),
        Kind::System => system_items(entry),
        Kind::Attachment => attachment_items(entry),
        Kind::Progress => HookLine::of(entry).map(|hook| hook_note(&hook)).unwrap_or_default(),
        Kind::Opaque => {
            let line = entry.line();
            let text = format!("damaged line, line {}, {} bytes", line.number, line.length);
            vec![Item::Note { kind: NoteKind::Damage, text }]
        }
        _ => Vec::new(),
    }
}

fn note(kind: NoteKind, text: impl Into<String>) -> Vec<Item> {
    vec![Item::Note { kind, text: text.into() }]
}

fn user_items(entry: &Entry<'_>) -> Vec<Item> {
    let kind = classify_user(entry);
    if kind == UserText::ToolResult {
        return result_items(entry);
    }
    let Some(message) = entry.message() else { return Vec::new() };
    let content = message.content();
    let text = content.text();
    match kind {
        UserText::Human | UserText::AgentTask | UserText::Picture => {
            vec![Item::Prompt {
                text: typed_text(&text).into_owned(),
                pictures: pictures(content),
                kind,
                is_queued: false,
            }]
        }
        UserText::Command | UserText::BashInput => {
            vec![Item::Prompt { text: command_text(&text), pictures: 0, kind, is_queued: false }]
        }
        UserText::CommandOutput | UserText::BashOutput => {
            let text = output_text(&text);
            if text.trim().is_empty() { Vec::new() } else { note(NoteKind::Output, text) }
        }
        UserText::Interrupt => note(NoteKind::Interrupt, text),
        UserText::TaskNotification => note(NoteKind::Task, task_text(&text)),
        UserText::CompactSummary => note(NoteKind::Summary, text),
        UserText::Meta => note(NoteKind::Meta, text),
        UserText::Nothing | UserText::ToolResult => Vec::new(),
    }
}

fn answer_items(entry: &Entry<'_>) -> Vec<Item> {
    let Some(message) = entry.message() else { return Vec::new() };
    if entry.is_api_error() {
        return note(NoteKind::ApiError, message.content().text());
    }
    let mut items = Vec::new();
    for block in message.content().blocks() {
        match block {
            Block::Text { .. } => {
                let text = owned(block.text());
                if !text.trim().is_empty() {
                    items.push(Item::Answer { text });
                }
            }
            Block::Thinking { .. } => items.push(Item::Thinking { text: owned(block.text()) }),
            Block::RedactedThinking { .. } => items.push(Item::Thinking { text: String::new() }),
            Block::ToolUse { input, .. } | Block::ServerToolUse { input, .. } => {
                items.push(Item::Call {
                    id: owned(block.id()),
                    name: owned(block.name()),
                    about: input.map(call_about).unwrap_or_default(),
                    input: input.map_or_else(Vec::new, |input| input.bytes().to_vec()),
                });
            }
            Block::WebSearchToolResult { content, .. } => {
                let hits = content.blocks().count();
                items.push(Item::Result {
                    id: owned(block.id()),
                    text: format!("{hits} search hits"),
                    pictures: 0,
                    is_error: false,
                    diff: None,
                    overflow: None,
                });
            }
            Block::Image { .. } | Block::Document { .. } => {
                items.push(Item::Answer { text: "(image or document)".into() });
            }
            Block::Unknown { value } => {
                let name = value.str("type").unwrap_or_default();
                items.push(Item::Answer { text: format!("({name} block)") });
            }
            Block::ToolResult { .. } => {}
        }
    }
    items
}

fn result_items(entry: &Entry<'_>) -> Vec<Item> {
    let content = match entry.message() {
        Some(message) => message.content(),
        // In old descriptions the line itself is the result.
        None => Content::of(entry.get("content")),
    };
    let mut items = Vec::new();
    for block in content.blocks() {
        match block {
            Block::ToolResult { content, is_error, .. } => {
                let text = content.text().into_owned();
                items.push(Item::Result {
                    id: owned(block.id()),
                    pictures: pictures(content),
                    is_error,
                    diff: if is_error { None } else { diff_of(entry) },
                    overflow: Overflow::of_text(&text, entry.overflow_bytes()),
                    text,
                });
            }
            Block::Text { .. } => items.push(Item::Result {
                id: String::new(),
                text: owned(block.text()),
                pictures: 0,
                is_error: false,
                diff: None,
                overflow: None,
            }),
            _ => {}
        }
    }
    items
}

fn system_items(entry: &Entry<'_>) -> Vec<Item> {
    match entry.system() {
        Some(System::CompactBoundary(metadata)) => {
            let trigger = metadata.trigger.map_or(String::new(), |trigger| format!(" ({trigger})"));
            let tokens = match (metadata.tokens_before, metadata.tokens_after) {
                (Some(before), Some(after)) => {
                    format!(", {} to {} tokens", with_marks(before), with_marks(after))
                }
                (Some(before), None) => format!(", {} tokens before", with_marks(before)),
                _ => String::new(),
            };
            note(NoteKind::Compaction, format!("conversation compacted{trigger}{tokens}"))
        }
        Some(System::LocalCommand { content } | System::Informational { content }) => {
            let text = owned(content.and_then(Value::as_str));
            if text.contains("<command-name>") {
                return vec![Item::Prompt {
                    text: command_text(&text),
                    pictures: 0,
                    kind: UserText::Command,
                    is_queued: false,
                }];
            }
            let text = output_text(&text);
            if text.trim().is_empty() { Vec::new() } else { note(NoteKind::Remark, text) }
        }
        Some(System::ApiError { attempt, attempts, .. }) => {
            let number = |number: Option<u64>| number.map_or_else(|| "?".into(), |n| n.to_string());
            let text = format!("API error, try {} of {}", number(attempt), number(attempts));
            note(NoteKind::ApiError, text)
        }
        Some(System::StopHookSummary { .. }) => {
            let Some(hook) = HookLine::of(entry) else { return Vec::new() };
            // Clients that note what hooks add write a line for each that blocks, too.
            if entry.get("hookAdditionalContext").is_some() {
                return note(NoteKind::Meta, hook.text());
            }
            hook_note(&hook)
        }
        Some(_) => {
            let name = entry.subtype().unwrap_or_default();
            note(NoteKind::Meta, format!("system: {name}"))
        }
        None => Vec::new(),
    }
}

fn attachment_items(entry: &Entry<'_>) -> Vec<Item> {
    let Some(attachment) = entry.attachment() else { return Vec::new() };
    if let Some(prompt) = attachment.queued_prompt() {
        let content = Content::of(Some(prompt));
        let text = typed_text(&content.text()).into_owned();
        return vec![Item::queued_prompt(text, pictures(content))];
    }
    if let Some(hook) = HookLine::of(entry) {
        return hook_note(&hook);
    }
    note(NoteKind::Meta, format!("attachment: {}", attachment.name().unwrap_or_default()))
}

/// What a hook did. That it ran is of interest to few.
fn hook_note(hook: &HookLine<'_>) -> Vec<Item> {
    let is_meta = hook.failed == 0 && hook.blocked == 0;
    note(if is_meta { NoteKind::Meta } else { NoteKind::Hook }, hook.text())
}

fn owned(text: Option<Cow<'_, str>>) -> String {
    text.unwrap_or_default().into_owned()
}

pub(crate) fn pictures(content: Content<'_>) -> usize {
    let media = |block: &Block<'_>| matches!(block, Block::Image { .. } | Block::Document { .. });
    content.blocks().filter(media).count()
}

fn diff_of(entry: &Entry<'_>) -> Option<Diff> {
    let (path, patch) = match entry.tool_result(None) {
        Some(ToolResult::Edit { path, patch, .. } | ToolResult::Write { path, patch, .. }) => {
            (path, patch)
        }
        _ => return None,
    };
    let (added, removed) = patch.line_counts();
    if added + removed == 0 {
        return None;
    }
    let lines = patch.hunks().filter_map(|hunk| hunk.get("lines")).flat_map(Value::elements);
    Some(Diff {
        path: owned(path.and_then(Value::as_str)),
        lines: lines.map(|line| owned(line.as_str())).collect(),
        added,
        removed,
    })
}

/// The argument of a call that says most about it.
pub fn call_about(input: Value<'_>) -> String {
    const TELLING: [&str; 12] = [
        "command",
        "file_path",
        "pattern",
        "path",
        "url",
        "query",
        "description",
        "prompt",
        "subject",
        "skill",
        "notebook_path",
        "taskId",
    ];
    let telling = TELLING.iter().find_map(|name| input.str(name));
    let any = || input.members().find_map(|member| member.value.as_str());
    telling.or_else(any).unwrap_or_default().into_owned()
}

/// The text between two tags.
pub(crate) fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{tag}>"))? + tag.len() + 2;
    let end = text[start..].find(&format!("</{tag}>"))?;
    Some(&text[start..start + end])
}

/// The output of a command without the tags around it.
pub(crate) fn output_text(text: &str) -> String {
    const TAGS: [&str; 4] =
        ["local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr"];
    if !TAGS.iter().any(|tag| text.contains(tag)) {
        return text.to_owned();
    }
    let parts = TAGS.iter().filter_map(|tag| between(text, tag)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// What a notification of a background task says.
pub fn task_text(text: &str) -> String {
    let summary = between(text, "summary").or_else(|| between(text, "status"));
    let id = between(text, "task-id").unwrap_or_default();
    format!("task {id}: {}", summary.unwrap_or("has ended"))
}

#[cfg(test)]
mod tests {
    use recto_log::RawLine;
    use recto_log::decode;

    use super::*;

    fn shown(line: &str) -> Vec<Item> {
        items(&decode(RawLine::alone(line.as_bytes())).0)
    }

    #[test]
    fn commands_are_shown_as_they_were_typed() {
        let text = "<command-message>x</command-message>\n<command-name>/fix</command-name>\n<command-args>the bug</command-args>";
        assert_eq!(command_text(text), "/fix the bug");
        assert_eq!(command_text("<bash-input>ls -l</bash-input>"), "!ls -l");
        assert_eq!(output_text("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"), "a");
        assert_eq!(output_text("plain"), "plain");
        assert_eq!(output_text("<local-command-stdout></local-command-stdout>"), "");
        assert_eq!(
            task_text("<task-id>a1</task-id><summary>Agent done</summary>"),
            "task a1: Agent done"
        );
    }

    #[test]
    fn the_telling_argument_is_shown() {
        let about = |text: &str| call_about(Value::parse(text.as_bytes()).unwrap());
        assert_eq!(about(r#"{"description":"list","command":"ls -l"}"#), "ls -l");
        assert_eq!(about(r#"{"count":1,"other":"x"}"#), "x");
        assert_eq!(about("{}"), "");
    }

    #[test]
    fn an_edit_shows_its_diff_unless_it_failed() {
        let line = |error: bool| {
            format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"ok","is_error":{error}}}]}},"toolUseResult":{{"filePath":"/a","oldString":"x","newString":"y","structuredPatch":[{{"lines":["-x","+y"," z"]}}]}}}}"#
            )
        };
        let [Item::Result { diff: Some(diff), .. }] = &shown(&line(false))[..] else { panic!() };
        assert_eq!(
            (diff.path.as_str(), diff.added, diff.removed, diff.lines.len()),
            ("/a", 1, 1, 3)
        );
        assert!(matches!(
            &shown(&line(true))[..],
            [Item::Result { diff: None, is_error: true, .. }]
        ));
    }

    #[test]
    fn lines_outside_the_conversation_show_nothing() {
        assert_eq!(shown(r#"{"type":"mode","mode":"x"}"#), []);
        assert_eq!(shown(""), []);
        assert!(matches!(shown("{broken")[..], [Item::Note { kind: NoteKind::Damage, .. }]));
    }
}
