//! A log as a conversation that people can read, line by line.
//!
//! Works as the lines come, so that the first screen of a large log is there at
//! once. Everything from the log is made safe before it is written.

use std::collections::HashMap;

use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::System;
use recto_log::ToolResult;
use recto_log::ToolUseId;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::json::Value;

use crate::commands::show::ToolDetail;
use crate::error::CommandError;
use crate::output::Look;
use crate::output::Output;
use crate::text::count;
use crate::text::fit;
use crate::text::one_line;
use crate::text::plural;
use crate::text::safe;
use crate::text::wrap;

/// How many lines of a result are shown unless all are asked for.
const RESULT_LINES: usize = 4;
/// How many lines of a change are shown unless all are asked for.
const DIFF_LINES: usize = 12;
/// Text on a wide terminal reads badly; on a pipe it is not wrapped at all.
const WIDEST: usize = 100;
/// How many calls are remembered to name their results.
const OPEN_CALLS: usize = 10_000;

/// What to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) thinking: bool,
    pub(crate) tools: ToolDetail,
    pub(crate) meta: bool,
}

/// Who spoke last, so that a heading comes only when that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Model,
    Client,
}

/// A transcript that is being written.
pub(crate) struct Transcript {
    options: Options,
    width: Option<usize>,
    speaker: Option<Speaker>,
    calls: HashMap<ToolUseId, String>,
    prompts: u64,
    /// Whether the last thing shown was a tool call or its result.
    after_tool: bool,
}

impl Transcript {
    pub(crate) fn new(options: Options, width: Option<usize>) -> Transcript {
        let width = width.map(|width| width.saturating_sub(2).clamp(20, WIDEST));
        Transcript {
            options,
            width,
            speaker: None,
            calls: HashMap::new(),
            prompts: 0,
            after_tool: false,
        }
    }

    /// Whether nothing was shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.speaker.is_none()
    }

    /// Shows one line of the log.
    pub(crate) fn entry(
        &mut self,
        entry: &Entry<'_>,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        match entry.kind() {
            Kind::User | Kind::ToolResult => self.user(entry, output),
            Kind::Assistant => self.assistant(entry, output),
            Kind::System => self.system(entry, output),
            Kind::Attachment => self.attachment(entry, output),
            Kind::Opaque => self.client_line("damaged line", Look::Bad, entry, output),
            Kind::Unknown if self.options.meta => {
                let name = entry
                    .type_name()
                    .map_or_else(|| "line without a type".into(), |name| one_line(&name));
                self.client_line(&name, Look::Faint, entry, output)
            }
            _ => Ok(()),
        }
    }

    fn user(&mut self, entry: &Entry<'_>, output: &mut Output) -> Result<(), CommandError> {
        let kind = classify_user(entry);
        if kind == UserText::ToolResult {
            return self.results(entry, output);
        }
        let Some(message) = entry.message() else { return Ok(()) };
        let text = message.content().text();
        match kind {
            UserText::Human | UserText::AgentTask => {
                self.prompts += 1;
                let heading = match entry.timestamp() {
                    Some(time) => format!("{}  {}", self.prompts, crate::text::clock(time)),
                    None => self.prompts.to_string(),
                };
                output.line("")?;
                let mark = if kind == UserText::Human { "You" } else { "Task" };
                output.line(&format!(
                    "{}  {}",
                    output.paint(Look::User, mark),
                    output.paint(Look::Faint, &heading)
                ))?;
                self.speaker = Some(Speaker::User);
                self.after_tool = false;
                self.text(&text, Look::Plain, output)?;
                self.pictures(message.content(), output)
            }
            UserText::Interrupt => self.note(&text, Look::Warning, output),
            UserText::Command | UserText::BashInput => {
                self.speak(Speaker::User, output)?;
                self.text(&command_text(&text), Look::Tool, output)
            }
            UserText::CommandOutput | UserText::BashOutput => {
                let text = without_tags(&text);
                if text.trim().is_empty() { Ok(()) } else { self.result_text(&text, false, output) }
            }
            UserText::TaskNotification => self.note(&task_text(&text), Look::Tool, output),
            UserText::CompactSummary => {
                self.note("summary of the conversation so far", Look::Warning, output)?;
                if self.options.meta { self.text(&text, Look::Faint, output) } else { Ok(()) }
            }
            UserText::Meta if self.options.meta => self.note(&text, Look::Faint, output),
            UserText::Meta | UserText::Nothing | UserText::ToolResult => Ok(()),
        }
    }

    fn assistant(&mut self, entry: &Entry<'_>, output: &mut Output) -> Result<(), CommandError> {
        let Some(message) = entry.message() else { return Ok(()) };
        if entry.is_api_error() {
            return self.note(&message.content().text(), Look::Bad, output);
        }
        for block in message.content().blocks() {
            match block {
                Block::Text { text } => {
                    let text = text.as_str().unwrap_or_default();
                    if !text.trim().is_empty() {
                        self.speak(Speaker::Model, output)?;
                        if std::mem::take(&mut self.after_tool) {
                            output.line("")?;
                        }
                        self.text(&text, Look::Plain, output)?;
                    }
                }
                Block::Thinking { thinking, .. } if self.options.thinking => {
                    let text = thinking.and_then(Value::as_str).unwrap_or_default();
                    self.speak(Speaker::Model, output)?;
                    let text = if text.is_empty() {
                        "(thinking, not shown by the model)".into()
                    } else {
                        text
                    };
                    self.text(&text, Look::Faint, output)?;
                }
                Block::RedactedThinking { .. } if self.options.thinking => {
                    self.speak(Speaker::Model, output)?;
                    self.text("(thinking, encrypted)", Look::Faint, output)?;
                }
                Block::ToolUse { name, input, .. } | Block::ServerToolUse { name, input, .. } => {
                    self.call(&block, name, input, output)?;
                }
                Block::WebSearchToolResult { content, .. } => {
                    let hits = content.blocks().count() as u64;
                    self.result_text(&plural(hits, "search hit"), false, output)?;
                }
                Block::Image { .. } | Block::Document { .. } => {
                    self.speak(Speaker::Model, output)?;
                    self.text("(picture or document)", Look::Faint, output)?;
                }
                Block::Unknown { value } => {
                    let name = value.str("type").unwrap_or_default();
                    self.speak(Speaker::Model, output)?;
                    self.text(&format!("({} block)", one_line(&name)), Look::Faint, output)?;
                }
                Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::ToolResult { .. } => {}
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        block: &Block<'_>,
        name: Option<Value<'_>>,
        input: Option<Value<'_>>,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let name = name.and_then(Value::as_str).unwrap_or_default();
        if let Some(id) = block.tool_use_id()
            && self.calls.len() < OPEN_CALLS
        {
            self.calls.insert(id, name.clone().into_owned());
        }
        if self.options.tools == ToolDetail::None {
            return Ok(());
        }
        self.speak(Speaker::Model, output)?;
        self.after_tool = true;
        let name = one_line(&name);
        let about = input.map(call_summary).unwrap_or_default();
        let room = self.width.unwrap_or(usize::MAX).saturating_sub(name.len() + 6);
        let about =
            if self.options.tools == ToolDetail::Full { String::new() } else { fit(&about, room) };
        let line = format!(
            "  {} {} {about}",
            output.paint(Look::Tool, "⏺"),
            output.paint(Look::Strong, &name)
        );
        output.line(line.trim_end())?;
        if self.options.tools == ToolDetail::Full {
            for member in input.into_iter().flat_map(Value::members) {
                let value = member
                    .value
                    .as_str()
                    .unwrap_or_else(|| String::from_utf8_lossy(member.value.bytes()));
                self.indented(&format!("{}: {value}", member.key()), "    ", Look::Faint, output)?;
            }
        }
        Ok(())
    }

    fn results(&mut self, entry: &Entry<'_>, output: &mut Output) -> Result<(), CommandError> {
        if self.options.tools == ToolDetail::None {
            return Ok(());
        }
        let content = match entry.message() {
            Some(message) => message.content(),
            // The line itself is the result in old descriptions.
            None => Content::of(entry.get("content")),
        };
        for block in content.blocks() {
            match block {
                Block::ToolResult { content, is_error, .. } => {
                    // The result may be far from its call: say whose it is.
                    let name = block.tool_use_id().and_then(|id| self.calls.remove(&id));
                    let text = content.text();
                    let text =
                        if text.is_empty() { without_text(content) } else { text.into_owned() };
                    if self.speaker != Some(Speaker::Model) {
                        self.speak(Speaker::Model, output)?;
                        let name = name.unwrap_or_else(|| "tool".into());
                        output.line(&format!(
                            "  {}",
                            output.paint(Look::Faint, &format!("result of {}", one_line(&name)))
                        ))?;
                    }
                    if is_error || !self.diff(entry, output)? {
                        self.result_text(&text, is_error, output)?;
                    }
                }
                Block::Text { text } => {
                    let text = text.as_str().unwrap_or_default();
                    self.result_text(&text, false, output)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What an edit changed. Says whether there was anything to show.
    fn diff(&mut self, entry: &Entry<'_>, output: &mut Output) -> Result<bool, CommandError> {
        let patch = match entry.tool_result(None) {
            Some(ToolResult::Edit { patch, .. } | ToolResult::Write { patch, .. }) => patch,
            _ => return Ok(false),
        };
        let (added, removed) = patch.line_counts();
        if added + removed == 0 {
            return Ok(false);
        }
        let sum = format!("{} added, {} removed", plural(added, "line"), count(removed));
        output.line(&format!("  ⎿ {}", output.paint(Look::Faint, &sum)))?;
        let most = if self.options.tools == ToolDetail::Full { usize::MAX } else { DIFF_LINES };
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(6));
        let lines: Vec<String> = patch
            .hunks()
            .filter_map(|hunk| hunk.get("lines"))
            .flat_map(Value::elements)
            .filter_map(|line| Some(safe(&line.as_str()?).replace(['\n', '\t'], "    ")))
            .collect();
        for line in lines.iter().take(most) {
            let look = match line.chars().next() {
                Some('+') => Look::Good,
                Some('-') => Look::Bad,
                _ => Look::Faint,
            };
            output.line(format!("    {}", output.paint(look, &fit(line, room))).trim_end())?;
        }
        if lines.len() > most {
            let more = format!("… {} more", plural((lines.len() - most) as u64, "line"));
            output.line(&format!("    {}", output.paint(Look::Faint, &more)))?;
        }
        Ok(true)
    }

    /// The text of a result, cut to a few lines.
    fn result_text(
        &mut self,
        text: &str,
        is_error: bool,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let look = if is_error { Look::Bad } else { Look::Faint };
        let text = safe(text.trim_end());
        let lines: Vec<&str> = text.lines().collect();
        let shown = match self.options.tools {
            ToolDetail::Full => lines.len(),
            _ => RESULT_LINES.min(lines.len()),
        };
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(4));
        for (at, line) in lines[..shown].iter().enumerate() {
            let lead = if at == 0 { "  ⎿ " } else { "    " };
            let line = match self.options.tools {
                ToolDetail::Full => line.replace('\t', "    "),
                _ => fit(&line.replace('\t', "    "), room),
            };
            output.line(format!("{lead}{}", output.paint(look, &line)).trim_end())?;
        }
        if lines.len() > shown {
            let more = format!("… {} more", plural((lines.len() - shown) as u64, "line"));
            output.line(&format!("    {}", output.paint(Look::Faint, &more)))?;
        }
        if lines.is_empty() {
            output.line(&format!("  ⎿ {}", output.paint(Look::Faint, "(nothing)")))?;
        }
        Ok(())
    }

    fn system(&mut self, entry: &Entry<'_>, output: &mut Output) -> Result<(), CommandError> {
        match entry.system() {
            Some(System::CompactBoundary(metadata)) => {
                let trigger = metadata
                    .trigger
                    .as_deref()
                    .map_or(String::new(), |t| format!(" ({})", one_line(t)));
                let tokens = match (metadata.tokens_before, metadata.tokens_after) {
                    (Some(before), Some(after)) => {
                        format!(", {} → {} tokens", count(before), count(after))
                    }
                    (Some(before), None) => format!(", {} tokens before", count(before)),
                    _ => String::new(),
                };
                self.note(
                    &format!("── conversation compacted{trigger}{tokens} ──"),
                    Look::Warning,
                    output,
                )
            }
            Some(System::LocalCommand { content } | System::Informational { content }) => {
                let text = content.and_then(Value::as_str).unwrap_or_default();
                let text = if text.contains("<command-name>") {
                    command_text(&text)
                } else {
                    without_tags(&text)
                };
                if text.trim().is_empty() { Ok(()) } else { self.note(&text, Look::Faint, output) }
            }
            Some(System::ApiError { attempt, attempts, .. }) => {
                let number = |n: Option<u64>| n.map_or_else(|| "?".into(), count);
                let text = format!("API error, try {} of {}", number(attempt), number(attempts));
                self.note(&text, Look::Bad, output)
            }
            Some(_) if self.options.meta => {
                let name = entry.subtype().unwrap_or_default();
                self.note(&format!("system: {name}"), Look::Faint, output)
            }
            _ => Ok(()),
        }
    }

    fn attachment(&mut self, entry: &Entry<'_>, output: &mut Output) -> Result<(), CommandError> {
        let Some(attachment) = entry.attachment() else { return Ok(()) };
        if let Some(prompt) = attachment.queued_prompt() {
            self.speak(Speaker::User, output)?;
            let text = Content::of(Some(prompt)).text();
            return self.text(&text, Look::Plain, output);
        }
        if !self.options.meta {
            return Ok(());
        }
        let name = attachment.name().unwrap_or_default();
        self.note(&format!("attachment: {name}"), Look::Faint, output)
    }

    fn client_line(
        &mut self,
        what: &str,
        look: Look,
        entry: &Entry<'_>,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let text = format!(
            "({what}, line {}, {})",
            count(entry.line().number),
            plural(entry.line().length, "byte")
        );
        self.note(&text, look, output)
    }

    /// A heading, if somebody else spoke before.
    fn speak(&mut self, speaker: Speaker, output: &mut Output) -> Result<(), CommandError> {
        if self.speaker == Some(speaker) {
            return Ok(());
        }
        self.speaker = Some(speaker);
        self.after_tool = false;
        output.line("")?;
        match speaker {
            Speaker::User => output.line(&output.paint(Look::User, "You")),
            Speaker::Model => output.line(&output.paint(Look::Model, "Claude")),
            Speaker::Client => Ok(()),
        }
    }

    /// A remark of the client's, on its own.
    fn note(&mut self, text: &str, look: Look, output: &mut Output) -> Result<(), CommandError> {
        self.speak(Speaker::Client, output)?;
        self.text(text, look, output)
    }

    fn text(&mut self, text: &str, look: Look, output: &mut Output) -> Result<(), CommandError> {
        self.indented(text, "  ", look, output)
    }

    fn indented(
        &self,
        text: &str,
        indent: &str,
        look: Look,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let text = safe(text.trim_end());
        let lines = match self.width {
            Some(width) => wrap(&text, width),
            None => text.split('\n').map(str::to_owned).collect(),
        };
        for line in lines {
            let line = format!("{indent}{}", output.paint(look, &line));
            output.line(line.trim_end())?;
        }
        Ok(())
    }

    fn pictures(&mut self, content: Content<'_>, output: &mut Output) -> Result<(), CommandError> {
        let pictures = content
            .blocks()
            .filter(|block| matches!(block, Block::Image { .. } | Block::Document { .. }));
        match pictures.count() as u64 {
            0 => Ok(()),
            number => self.text(&format!("({})", plural(number, "picture")), Look::Faint, output),
        }
    }
}

/// What a result without text is.
fn without_text(content: Content<'_>) -> String {
    let pictures =
        content.blocks().filter(|block| matches!(block, Block::Image { .. })).count() as u64;
    if pictures > 0 { format!("({})", plural(pictures, "picture")) } else { String::new() }
}

/// The argument of a call that says most about it.
pub(crate) fn call_summary(input: Value<'_>) -> String {
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
    one_line(&telling.or_else(any).unwrap_or_default())
}

/// The text between two tags.
fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{tag}>"))? + tag.len() + 2;
    let end = text[start..].find(&format!("</{tag}>"))?;
    Some(&text[start..start + end])
}

/// A slash or shell command as it was typed.
pub(crate) fn command_text(text: &str) -> String {
    if let Some(command) = between(text, "bash-input") {
        return format!("!{command}");
    }
    let name = between(text, "command-name").unwrap_or_default();
    let arguments = between(text, "command-args").unwrap_or_default();
    let name = if name.starts_with('/') { name.to_owned() } else { format!("/{name}") };
    format!("{name} {arguments}").trim_end().to_owned()
}

/// The output of a command without the tags around it.
fn without_tags(text: &str) -> String {
    const TAGS: [&str; 4] =
        ["local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr"];
    let parts: Vec<&str> =
        TAGS.iter().filter_map(|tag| between(text, tag)).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() && !TAGS.iter().any(|tag| text.contains(tag)) {
        text.to_owned()
    } else {
        parts.join("\n")
    }
}

/// What a notification of a background task says.
pub(crate) fn task_text(text: &str) -> String {
    let summary = between(text, "summary").or_else(|| between(text, "status"));
    let id = between(text, "task-id").unwrap_or_default();
    format!("task {id}: {}", summary.unwrap_or("has ended"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_they_were_typed() {
        assert_eq!(
            command_text(
                "<command-message>x</command-message>\n<command-name>/fix</command-name>\n<command-args>the bug</command-args>"
            ),
            "/fix the bug"
        );
        assert_eq!(command_text("<bash-input>ls -l</bash-input>"), "!ls -l");
        assert_eq!(without_tags("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"), "a");
        assert_eq!(without_tags("plain"), "plain");
        assert_eq!(without_tags("<local-command-stdout></local-command-stdout>"), "");
    }

    #[test]
    fn the_telling_argument_is_shown() {
        let summary = |text: &str| call_summary(Value::parse(text.as_bytes()).unwrap());
        assert_eq!(summary(r#"{"description":"list","command":"ls\n-l"}"#), "ls -l");
        assert_eq!(summary(r#"{"count":1,"other":"x"}"#), "x");
        assert_eq!(summary("{}"), "");
    }
}
