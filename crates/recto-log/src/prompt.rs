//! Who wrote the text of a user line.
//!
//! A `user` line is a prompt in a minority of cases. A string is not always
//! human (command output, notifications, summaries are strings too), and an
//! array is not always a tool's result (pictures, interruptions, forks of
//! 2.1.29). New clients say it (`origin`, `promptSource`); for older ones the
//! shape decides.

use std::borrow::Cow;

use crate::Block;
use crate::Entry;
use crate::Kind;
use crate::json::Value;

/// What a user line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UserText {
    /// A prompt: a human, or a program in a human's place, asked for something.
    Human,
    /// The result of a tool.
    ToolResult,
    /// The note that the user stopped the model.
    Interrupt,
    /// A slash command.
    Command,
    /// The output of a built-in command.
    CommandOutput,
    /// A shell command typed with `!`.
    BashInput,
    /// Its output.
    BashOutput,
    /// A background task has ended.
    TaskNotification,
    /// The summary of a compaction.
    CompactSummary,
    /// Text of the client: caveats, reminders, expanded commands.
    Meta,
    /// Pictures or documents and no word, as clients up to 2.1.29 write what was pasted:
    /// they belong to the prompt in the line beside.
    Picture,
    /// The task of a subagent, at the top of its log.
    AgentTask,
    /// No text and no result.
    Nothing,
}

/// Sorts a line of kind [`Kind::User`]; other kinds are [`UserText::Nothing`].
pub fn classify_user(entry: &Entry<'_>) -> UserText {
    if entry.kind() == Kind::ToolResult {
        return UserText::ToolResult;
    }
    let Some(message) = entry.message().filter(|_| entry.kind() == Kind::User) else {
        return UserText::Nothing;
    };
    let mut seen = UserBlocks::default();
    message.content().blocks().for_each(|block| seen.see(&block));
    classify_blocks(entry, &seen)
}

/// What of the content of a user line tells who wrote it, gathered block by
/// block.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct UserBlocks<'a> {
    has_blocks: bool,
    has_result: bool,
    has_note: bool,
    has_picture: bool,
    first_text: Option<Value<'a>>,
}

impl<'a> UserBlocks<'a> {
    /// Takes in the next block.
    pub fn see(&mut self, block: &Block<'a>) {
        match block {
            // What is no object is no block: clients pass over it.
            Block::Unknown { value } if !value.is_object() => return,
            Block::Text { text } if is_note(*text) => {
                self.has_note = true;
                return;
            }
            Block::ToolResult { .. } => self.has_result = true,
            Block::Image { .. } | Block::Document { .. } => self.has_picture = true,
            // Only the beginning is looked at; a picture can stand before it.
            Block::Text { text } if text.is_string() => {
                self.first_text = self.first_text.or(Some(*text));
            }
            _ => {}
        }
        self.has_blocks = true;
    }

    /// Whether the first text begins with a mark of the client, to the letter.
    pub fn begins_with(&self, mark: &str) -> bool {
        self.first_text
            .filter(|text| text.text_start() == mark.bytes().next())
            .and_then(Value::as_str)
            .is_some_and(|text| text.starts_with(mark))
    }
}

/// Sorts a line of kind [`Kind::User`] that has a message, by its blocks.
pub fn classify_blocks(entry: &Entry<'_>, blocks: &UserBlocks<'_>) -> UserText {
    if entry.is_compact_summary() {
        return UserText::CompactSummary;
    }
    if blocks.has_result {
        return UserText::ToolResult;
    }
    let marked = blocks.first_text.and_then(marker_of);
    match marked {
        Some(UserText::Meta) | None => {}
        Some(marked) => return marked,
    }
    if entry.is_meta() || marked == Some(UserText::Meta) {
        return UserText::Meta;
    }
    if !blocks.has_blocks && blocks.has_note {
        return UserText::Meta;
    }
    if let Some(origin) = entry.get("origin").and_then(|origin| origin.str("kind")) {
        match &*origin {
            "human" => return UserText::Human,
            "task-notification" => return UserText::TaskNotification,
            _ => {}
        }
    }
    if !blocks.has_blocks {
        return UserText::Nothing;
    }
    if blocks.has_picture && blocks.first_text.is_none() {
        return UserText::Picture;
    }
    if entry.is_sidechain() { UserText::AgentTask } else { UserText::Human }
}

/// How the notes begin that a client puts before what was typed.
const NOTES: [&str; 2] = ["<ide_", "<system-reminder>"];

/// Whether a text holds notes of the client and nothing else.
fn is_note(text: Value<'_>) -> bool {
    match text.text_start() {
        Some(b'<' | b'\\' | b' ') => text.as_str().is_some_and(|text| {
            NOTES.iter().any(|note| text.trim_start().starts_with(note))
                && typed_text(&text).is_empty()
        }),
        Some(_) | None => false,
    }
}

/// What a person said by a text that is told as a prompt or a title: what was typed, a
/// command as it was typed, nothing where the client speaks. Such texts are cut in logs, so
/// that a mark may have no end.
pub fn said_text(text: &str) -> Cow<'_, str> {
    let typed = typed_text(text);
    match by_marker(&typed) {
        None => typed,
        Some(UserText::Command | UserText::BashInput) => Cow::Owned(command_text(&typed)),
        Some(_) => Cow::Borrowed(""),
    }
}

/// A slash or shell command as it was typed.
pub fn command_text(text: &str) -> String {
    if let Some(command) = between(text, "bash-input") {
        return format!("!{command}");
    }
    // Without its name, what the client shows for it.
    let name = between(text, "command-name").or_else(|| between(text, "command-message"));
    let name = name.unwrap_or_default();
    let arguments = between(text, "command-args").unwrap_or_default();
    let name = if name.starts_with('/') { name.to_owned() } else { format!("/{name}") };
    format!("{name} {arguments}").trim_end().to_owned()
}

/// The text inside a tag; up to the end of a text that is cut.
fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{tag}>"))? + tag.len() + 2;
    let rest = &text[start..];
    let end = rest.find(&format!("</{tag}>")).or_else(|| rest.find('<')).unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches('…'))
}

/// What was typed of a prompt: without the notes about the editor and the reminders that
/// the client puts before and after it. A note that begins the text and has no end is all
/// there is: the text was cut in it.
pub fn typed_text(text: &str) -> Cow<'_, str> {
    let Some(first) = NOTES.iter().filter_map(|note| text.find(note)).min() else {
        return Cow::Borrowed(text);
    };
    let mut typed = text[..first].to_owned();
    let mut rest = &text[first..];
    while let Some(end) = note_end(rest) {
        rest = &rest[end..];
        let next = NOTES.iter().filter_map(|note| rest.find(note)).min().unwrap_or(rest.len());
        typed.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    if !(typed.trim().is_empty()
        && is_note_start(rest)
        && NOTES.iter().any(|note| rest.starts_with(note)))
    {
        typed.push_str(rest);
    }
    Cow::Owned(typed.trim().to_owned())
}

/// Whether a text begins with the whole tag of a note, or with what was left of one.
fn is_note_start(text: &str) -> bool {
    let name = text.trim_start_matches('<');
    let length = name.find(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
    match length.map(|length| &name[length..]) {
        None => true,
        Some(rest) => rest.starts_with(['>', ' ', '…']),
    }
}

/// Where the note at the beginning of a text ends; `None` if it does not end.
fn note_end(text: &str) -> Option<usize> {
    let name = text.strip_prefix('<')?;
    let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c))?];
    let close = format!("</{name}>");
    Some(text.find(&close)? + close.len())
}

/// The marker at the beginning of a text. Most texts begin otherwise, and need
/// not be read to see that.
fn marker_of(text: Value<'_>) -> Option<UserText> {
    match text.text_start() {
        None => None,
        Some(start) if start.is_ascii_graphic() && !STARTS.contains(&start) => None,
        Some(_) => by_marker(&text.as_str()?),
    }
}

/// What the texts begin with that the client marks, or an escape.
const STARTS: &[u8] = b"[<CS\\";

/// The client marks its own texts by how they begin.
fn by_marker(text: &str) -> Option<UserText> {
    let text = text.trim_start();
    MARKERS.iter().find(|(marker, _)| text.starts_with(marker)).map(|(_, kind)| *kind)
}

const MARKERS: [(&str, UserText); 15] = [
    ("[Request interrupted by user", UserText::Interrupt),
    ("<command-name>", UserText::Command),
    ("<command-message>", UserText::Command),
    ("<command-args>", UserText::Command),
    ("<local-command-stdout>", UserText::CommandOutput),
    ("<local-command-stderr>", UserText::CommandOutput),
    ("<bash-input>", UserText::BashInput),
    ("<bash-stdout>", UserText::BashOutput),
    ("<bash-stderr>", UserText::BashOutput),
    ("<task-notification>", UserText::TaskNotification),
    ("<local-command-caveat>", UserText::Meta),
    ("<system-reminder>", UserText::Meta),
    ("<teammate-message", UserText::Meta),
    // Clients up to 2.0.36 do not mark it as their own.
    ("Stop hook feedback:\n", UserText::Meta),
    (
        "Caveat: The messages below were generated by the user while running local commands",
        UserText::Meta,
    ),
];

#[cfg(test)]
mod tests {
    use crate::RawLine;
    use crate::decode;

    use super::*;

    fn check(line: &str, expected: UserText) {
        assert_eq!(classify_user(&decode(RawLine::alone(line.as_bytes())).0), expected, "{line}");
    }

    fn content(content: &str, more: &str, expected: UserText) {
        check(
            &format!(r#"{{"type":"user"{more},"message":{{"role":"user","content":{content}}}}}"#),
            expected,
        );
    }

    #[test]
    fn strings_are_not_always_human() {
        content(r#""fix it""#, "", UserText::Human);
        content(r#""<command-name>/cost</command-name>""#, "", UserText::Command);
        content(r#""<local-command-stdout></local-command-stdout>""#, "", UserText::CommandOutput);
        content(r#""<bash-input>ls</bash-input>""#, "", UserText::BashInput);
        content(r#""<bash-stdout>a</bash-stdout>""#, "", UserText::BashOutput);
        content(r#""<task-notification>\n<task-id>a1""#, "", UserText::TaskNotification);
        content(
            r#""This session is being continued""#,
            r#","isCompactSummary":true"#,
            UserText::CompactSummary,
        );
        content(r#""Stop hook feedback""#, r#","isMeta":true"#, UserText::Meta);
    }

    #[test]
    fn notes_of_an_editor_are_not_part_of_a_prompt() {
        let note = "<ide_opened_file>The user opened a.rs.</ide_opened_file>";
        let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        content(&format!("[{}]", text(note)), "", UserText::Meta);
        content(&format!("[{},{}]", text(note), text("fix it")), "", UserText::Human);
        content(
            &format!("[{},{}]", text(note), text("<command-name>/x</command-name>")),
            "",
            UserText::Command,
        );
        assert_eq!(typed_text(&format!("{note}\nfix it")), "fix it");
        assert_eq!(typed_text("say <ide_x> twice"), "say <ide_x> twice");
        assert_eq!(typed_text("<ide_selection>The user selected the li"), "", "cut");
        assert_eq!(typed_text("<system-reminder>\nAs you"), "", "cut");
        assert_eq!(typed_text(&format!("{note}<ide_selection>lines")), "", "cut");
        assert_eq!(typed_text("fix it"), "fix it");
    }

    #[test]
    fn a_prompt_that_is_told_again_has_no_tags_of_the_client() {
        let command = "<command-message>fix is running</command-message>\n<command-name>/fix</command-name>\n<command-args>the bug</command-args>";
        assert_eq!(said_text(command), "/fix the bug");
        assert_eq!(said_text(&command[..31]), "/fix is running", "cut");
        assert_eq!(said_text("<bash-input>ls</bash-input>"), "!ls");
        assert_eq!(said_text("<local-command-stdout>ok</local-command-stdout>"), "");
        assert_eq!(said_text("<teammate-message teammate_id=\"a\">hi"), "");
        assert_eq!(said_text("<ide_opened_file>a.rs</ide_opened_file>fix it"), "fix it");
        assert_eq!(said_text("fix <b> here"), "fix <b> here");
    }

    #[test]
    fn messages_of_teammates_are_not_prompts() {
        content(
            r#""<teammate-message teammate_id=\"a\">\nhi</teammate-message>""#,
            "",
            UserText::Meta,
        );
    }

    #[test]
    fn pictures_alone_are_not_prompts() {
        let picture = r#"{"type":"image","source":{}}"#;
        content(&format!("[{picture}]"), "", UserText::Picture);
        content(&format!("[{picture},{picture}]"), r#","isSidechain":true"#, UserText::Picture);
        let note = r#"{"type":"text","text":"<ide_selection>x</ide_selection>"}"#;
        content(&format!("[{note},{picture}]"), "", UserText::Picture);
        // Newer clients say that a person sent it.
        content(&format!("[{picture}]"), r#","origin":{"kind":"human"}"#, UserText::Human);
    }

    #[test]
    fn content_that_is_no_block_is_nothing() {
        content(r#"["words"]"#, "", UserText::Nothing);
    }

    #[test]
    fn arrays_are_not_always_results() {
        content(
            r#"[{"type":"tool_result","tool_use_id":"t","content":"x"}]"#,
            "",
            UserText::ToolResult,
        );
        content(
            r#"[{"type":"text","text":"[Request interrupted by user for tool use]"}]"#,
            "",
            UserText::Interrupt,
        );
        content(
            r#"[{"type":"image","source":{}},{"type":"text","text":"what is this"}]"#,
            "",
            UserText::Human,
        );
        content(r#"[{"type":"text","text":"forked prompt"}]"#, "", UserText::Human);
        content(
            r#"[{"type":"text","text":"expanded command"}]"#,
            r#","isMeta":true"#,
            UserText::Meta,
        );
        content("[]", "", UserText::Nothing);
    }

    #[test]
    fn what_the_client_says_counts() {
        content(
            r#""done""#,
            r#","origin":{"kind":"task-notification"}"#,
            UserText::TaskNotification,
        );
        content(r#""go""#, r#","origin":{"kind":"human"},"isSidechain":true"#, UserText::Human);
        content(r#""find the bug""#, r#","isSidechain":true"#, UserText::AgentTask);
        check(r#"{"type":"assistant","message":{"content":"x"}}"#, UserText::Nothing);
        check(r#"{"type":"tool_result","content":"x"}"#, UserText::ToolResult);
    }

    #[test]
    fn every_mark_begins_with_a_byte_that_is_looked_at() {
        for (marker, _) in MARKERS {
            assert!(STARTS.contains(&marker.as_bytes()[0]), "{marker}");
        }
    }
}
