//! Logs in the shape of real clients, line by line.
//!
//! Owns: the order of lines, the chain, what each version adds. The lines
//! themselves are made by [`recto_log::build`], as every line that recto writes.
//! All content is given by the test; ids and times are counted up, so that the
//! same calls give the same bytes.

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::CompactMetadata;
use recto_log::EntryUuid;
use recto_log::Generation;
use recto_log::MessageId;
use recto_log::Patch;
use recto_log::RequestId;
use recto_log::ToolUseId;
use recto_log::build::AnswerLine;
use recto_log::build::AnswerMessage;
use recto_log::build::AttachmentLine;
use recto_log::build::Envelope;
use recto_log::build::Level;
use recto_log::build::MetaLine;
use recto_log::build::Position;
use recto_log::build::QueueLine;
use recto_log::build::QueueStep;
use recto_log::build::SystemLine;
use recto_log::build::UserContent;
use recto_log::build::UserLine;
use recto_log::build::text_block;
use recto_log::build::thinking_block;
use recto_log::build::tool_result_block;
use recto_log::build::tool_use_block;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;
use recto_log::json::write_string;

/// What every answer of a built log says of its tokens.
const USAGE: &[u8] = br#"{"input_tokens":8,"cache_creation_input_tokens":120,"cache_read_input_tokens":9000,"output_tokens":40,"service_tier":"standard"}"#;

/// The client that wrote a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Subagents beside the main log, a linear chain.
    V2_0_50,
    /// Subagents in a folder of the session, results as a tree, no stop reason.
    V2_1_29,
    /// Attachments, the last prompt and the state at the end of each turn.
    V2_1_325,
}

impl Client {
    fn version(self) -> &'static str {
        match self {
            Client::V2_0_50 => "2.0.50",
            Client::V2_1_29 => "2.1.29",
            Client::V2_1_325 => "2.1.325",
        }
    }

    fn generation(self) -> Generation {
        match self {
            Client::V2_0_50 => Generation::V2_0_0,
            Client::V2_1_29 => Generation::V2_1_0,
            Client::V2_1_325 => Generation::V2_1_300,
        }
    }

    fn model(self) -> &'static str {
        match self {
            Client::V2_0_50 | Client::V2_1_29 => "claude-sonnet-4-5-20250929",
            Client::V2_1_325 => "claude-opus-5-5",
        }
    }
}

/// Builds one log.
///
/// ```
/// use recto_testkit::{Client, SessionBuilder};
///
/// let log = SessionBuilder::new("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", Client::V2_1_29)
///     .prompt("Which files are here?")
///     .tool("Bash", r#"{"command":"ls"}"#, "a.txt")
///     .answer("One file, `a.txt`.");
/// assert_eq!(log.bytes().iter().filter(|byte| **byte == b'\n').count(), 4);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SessionBuilder {
    envelope: Envelope,
    client: Client,
    model: String,
    time: Timestamp,
    /// The last line of the chain.
    leaf: Option<EntryUuid>,
    last_prompt: String,
    lines: Vec<u8>,
    counted: u64,
    messages: u64,
}

impl SessionBuilder {
    /// The log of a session, with nothing in it.
    #[expect(clippy::expect_used, reason = "a test that names no session is a failed test")]
    pub fn new(session: &str, client: Client) -> SessionBuilder {
        let mut envelope = Envelope::new(client.generation());
        envelope.session = Some(session.parse().expect("the id of a session"));
        envelope.user_type = Some("external".to_owned());
        envelope.cwd = Some("/home/dev/app".to_owned());
        envelope.branch = Some("main".to_owned());
        envelope.version = Some(client.version().to_owned());
        SessionBuilder {
            envelope,
            client,
            model: client.model().to_owned(),
            // 2026-11-16T08:00:00Z
            time: Timestamp::constant(1_794_816_000, 0),
            leaf: None,
            last_prompt: String::new(),
            lines: Vec::new(),
            counted: 0,
            messages: 0,
        }
    }

    /// The log of a subagent of the session.
    #[expect(clippy::expect_used, reason = "a test that names no subagent is a failed test")]
    pub fn agent(session: &str, agent: &str, client: Client) -> SessionBuilder {
        let mut built = SessionBuilder::new(session, client);
        built.envelope.agent = Some(agent.parse().expect("the id of a subagent"));
        built
    }

    /// Sets the working directory of the lines that follow.
    pub fn cwd(mut self, cwd: &str) -> SessionBuilder {
        self.envelope.cwd = Some(cwd.to_owned());
        self
    }

    /// Sets the branch of the lines that follow.
    pub fn branch(mut self, branch: &str) -> SessionBuilder {
        self.envelope.branch = Some(branch.to_owned());
        self
    }

    /// Sets the version that the lines that follow name.
    pub fn version(mut self, version: &str) -> SessionBuilder {
        self.envelope.version = Some(version.to_owned());
        self
    }

    /// Sets the model of the answers that follow.
    pub fn model(self, model: &str) -> SessionBuilder {
        SessionBuilder { model: model.to_owned(), ..self }
    }

    /// Sets the time of the next line; each further one is a second later.
    pub fn at(self, time: Timestamp) -> SessionBuilder {
        SessionBuilder { time, ..self }
    }

    /// A prompt typed by a human, or the task of a subagent.
    pub fn prompt(mut self, text: &str) -> SessionBuilder {
        text.clone_into(&mut self.last_prompt);
        let is_main = self.envelope.agent.is_none();
        if self.client != Client::V2_1_29 && is_main {
            let queued =
                QueueLine::new(QueueStep::Enqueue, self.time, Some(UserContent::Text(text.into())));
            self = self.meta(&MetaLine::QueueOperation(queued));
        }
        let mut line = UserLine::text(text);
        if self.client == Client::V2_1_325 && is_main {
            line.prompt_source = Some("typed".into());
            line.origin = Some(json(br#"{"kind":"human"}"#));
        }
        self.user(&line)
    }

    /// Text that stands in a user line and is no prompt: command output,
    /// notifications, interruptions.
    pub fn user_text(self, text: &str) -> SessionBuilder {
        self.user(&UserLine::text(text))
    }

    /// A prompt of blocks, as JSON: texts, images, documents.
    pub fn user_blocks(self, blocks: &str) -> SessionBuilder {
        let mut line = UserLine::text("");
        line.content = UserContent::Json(json(blocks.as_bytes()));
        self.user(&line)
    }

    /// Text that the client adds for the model.
    pub fn meta_text(self, text: &str) -> SessionBuilder {
        self.user(&UserLine::meta(text))
    }

    /// The end of an answer: the model's text.
    pub fn answer(mut self, text: &str) -> SessionBuilder {
        self = self.block(&text_block(text), "end_turn");
        self.messages += 1;
        self.tail()
    }

    /// What the model thought.
    pub fn thinking(self, text: &str) -> SessionBuilder {
        self.block(&thinking_block(text, "c2lnbmF0dXJl"), "tool_use")
    }

    /// A call of a tool (JSON text of its input) and its result.
    pub fn tool(self, name: &str, input: &str, result: &str) -> SessionBuilder {
        let detail = ObjectWriter::new().string("stdout", result).string("stderr", "").finish();
        self.call(name, input, result, ResultOf::Success(&detail))
    }

    /// The same, with the client's structured result (JSON text).
    pub fn tool_with_detail(
        self,
        name: &str,
        input: &str,
        result: &str,
        detail: &str,
    ) -> SessionBuilder {
        self.call(name, input, result, ResultOf::Success(detail.as_bytes()))
    }

    /// A call of a tool that fails.
    pub fn failed_tool(self, name: &str, input: &str, result: &str) -> SessionBuilder {
        self.call(name, input, result, ResultOf::Failure)
    }

    /// A content block of the model's (JSON text).
    pub fn model_block(self, block: &str) -> SessionBuilder {
        self.block(block.as_bytes(), "end_turn")
    }

    /// A line of the client itself.
    #[expect(clippy::expect_used, reason = "a line that was just built has a subtype")]
    pub fn system(self, subtype: &str, content: &str) -> SessionBuilder {
        let line = SystemLine::Informational { content: content.into(), level: Level::Info };
        let line = self.envelope.system(&self.position(), &line);
        let mut patch = Patch::new(&line).expect("an object");
        patch.set_string(&["subtype".into()], subtype).expect("a subtype");
        self.push_chained(patch.finish())
    }

    /// Something told to the model beside the prompts; `field` is one field of it.
    pub fn attachment(self, name: &str, field: (&str, &str)) -> SessionBuilder {
        let attachment = ObjectWriter::new().string("type", name).string(field.0, field.1).finish();
        let line = AttachmentLine::new(json(&attachment));
        let line = self.envelope.attachment(&self.position(), &line);
        self.push_chained(line)
    }

    /// A compaction: the boundary, and the summary as the first line after it.
    pub fn compaction(mut self, summary: &str) -> SessionBuilder {
        let boundary = SystemLine::CompactBoundary {
            logical_parent: self.leaf.take(),
            metadata: CompactMetadata {
                trigger: Some("manual".to_owned()),
                tokens_before: Some(150_000),
                ..CompactMetadata::default()
            },
        };
        let line = self.envelope.system(&self.position(), &boundary);
        self.push_chained(line).user(&UserLine::compact_summary(summary))
    }

    /// A title given by the user.
    pub fn custom_title(self, title: &str) -> SessionBuilder {
        self.meta(&MetaLine::CustomTitle(title.into()))
    }

    /// A title given by a model: a `summary` line of old clients, an `ai-title`
    /// of new ones.
    pub fn model_title(self, title: &str) -> SessionBuilder {
        let line = match self.client {
            Client::V2_0_50 | Client::V2_1_29 => {
                MetaLine::Summary { title: title.into(), leaf: self.leaf_or_empty() }
            }
            Client::V2_1_325 => MetaLine::AiTitle(title.into()),
        };
        self.meta(&line)
    }

    /// A line of a type that no client writes, with one field.
    pub fn unknown(self, name: &str, field: (&str, &str)) -> SessionBuilder {
        let line = ObjectWriter::new().string("type", name).string(field.0, field.1);
        let line = line.id_if_any("sessionId", self.envelope.session.as_ref());
        self.push(&line.finish())
    }

    /// Bytes as they are, without a line end of their own.
    pub fn raw(mut self, bytes: impl AsRef<[u8]>) -> SessionBuilder {
        self.lines.extend_from_slice(bytes.as_ref());
        self
    }

    /// The log.
    pub fn bytes(&self) -> &[u8] {
        &self.lines
    }

    /// The path of the log below the project's directory.
    pub(crate) fn file_name(&self) -> String {
        let session = self.session();
        match (&self.envelope.agent, self.client) {
            (None, _) => format!("{session}.jsonl"),
            (Some(agent), Client::V2_0_50) => format!("agent-{agent}.jsonl"),
            (Some(agent), _) => format!("{session}/subagents/agent-{agent}.jsonl"),
        }
    }

    pub(crate) fn working_directory(&self) -> &str {
        self.envelope.cwd.as_deref().unwrap_or_default()
    }

    fn session(&self) -> String {
        self.envelope.session.map_or_else(String::new, |session| session.to_string())
    }

    fn call(self, name: &str, input: &str, result: &str, of: ResultOf<'_>) -> SessionBuilder {
        let id = ToolUseId::new(&format!("toolu_{}{:04}", self.id_start(), self.counted));
        let call = tool_use_block(&id, name, json(input.as_bytes()));
        let mut built = self.block(&call, "tool_use");
        built.messages += 1;
        let (content, error) = (string(result), string(&format!("Error: {result}")));
        let is_error = of == ResultOf::Failure;
        let block = tool_result_block(&id, json(&content), Some(is_error));
        let blocks = ArrayWriter::new().json(&block).finish();
        let detail = match of {
            ResultOf::Success(detail) => detail,
            ResultOf::Failure => &error,
        };
        let mut line = UserLine::tool_result(json(&blocks), Some(json(detail)));
        if built.client != Client::V2_0_50 {
            line.source_assistant = built.leaf.clone();
        }
        built.user(&line)
    }

    /// What tells the ids of this log from those of others: the API gives no id
    /// twice.
    fn id_start(&self) -> String {
        let agent = self.envelope.agent.as_ref();
        let name = agent.map_or_else(|| self.session(), |agent| agent.to_string());
        format!("{name:0<8.8}")
    }

    /// One line of an answer. Lines of one message share its id.
    fn block(self, block: &[u8], stop_reason: &str) -> SessionBuilder {
        let stop = match self.client {
            // This client never learns how a message ended.
            Client::V2_1_29 => None,
            Client::V2_0_50 | Client::V2_1_325 => Some(stop_reason.into()),
        };
        let mut line = AnswerLine::new(AnswerMessage {
            id: MessageId::new(&format!("msg_{}{:04}", self.id_start(), self.messages)),
            model: self.model.as_str().into(),
            block: json(block),
            stop_reason: stop,
            stop_sequence: None,
            usage: json(USAGE),
            context_management: None,
            stop_details: None,
        });
        line.request = Some(RequestId::new(&format!("req_{:04}", self.messages)));
        let line = self.envelope.answer(&self.position(), &line);
        self.push_chained(line)
    }

    /// What new clients append after each turn.
    fn tail(self) -> SessionBuilder {
        if self.client != Client::V2_1_325 || self.envelope.agent.is_some() {
            return self;
        }
        let last = MetaLine::last_prompt(self.last_prompt.clone(), self.leaf_or_empty());
        self.meta(&last).meta(&MetaLine::Mode("normal".into()))
    }

    fn leaf_or_empty(&self) -> EntryUuid {
        self.leaf.clone().unwrap_or_else(|| EntryUuid::new(""))
    }

    fn next_uuid(&self) -> EntryUuid {
        EntryUuid::new(&format!("{:.8}-0000-4000-8000-{:012x}", self.session(), self.counted))
    }

    fn position(&self) -> Position {
        Position {
            parent: self.leaf.clone(),
            uuid: self.next_uuid(),
            time: self.time,
            session: None,
        }
    }

    fn user(self, line: &UserLine<'_>) -> SessionBuilder {
        let line = self.envelope.user(&self.position(), line);
        self.push_chained(line)
    }

    fn meta(self, line: &MetaLine<'_>) -> SessionBuilder {
        let line = self.envelope.meta(line);
        self.push(&line)
    }

    fn push_chained(mut self, line: Vec<u8>) -> SessionBuilder {
        self.leaf = Some(self.next_uuid());
        self.push(&line)
    }

    fn push(mut self, line: &[u8]) -> SessionBuilder {
        self.lines.extend_from_slice(line);
        self.lines.push(b'\n');
        self.counted += 1;
        self.time = self.time.saturating_add(SignedDuration::from_secs(1)).unwrap_or(self.time);
        self
    }
}

#[expect(clippy::expect_used, reason = "a test that gives no JSON is a failed test")]
fn json(text: &[u8]) -> Value<'_> {
    Value::parse(text).expect("JSON")
}

fn string(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(&mut out, text);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultOf<'a> {
    /// With the structured result.
    Success(&'a [u8]),
    Failure,
}

#[cfg(test)]
mod tests {
    use recto_log::Kind;
    use recto_log::Lines;
    use recto_log::decode;

    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    fn everything(client: Client) -> SessionBuilder {
        SessionBuilder::new(ID, client)
            .prompt("first \"prompt\"\n")
            .thinking("hm")
            .tool("Bash", r#"{"command":"ls"}"#, "a\tb")
            .failed_tool("Read", r#"{"file_path":"/x"}"#, "no such file")
            .answer("done")
            .compaction("what was said")
            .system("local_command", "<command-name>/cost</command-name>")
            .attachment("queued_command", ("prompt", "and more"))
            .meta_text("a reminder")
            .custom_title("a title")
            .model_title("another title")
            .answer("more")
    }

    #[test]
    fn logs_of_all_clients_are_known_and_chained() {
        for client in [Client::V2_0_50, Client::V2_1_29, Client::V2_1_325] {
            let log = everything(client);
            let mut drift = recto_log::Drift::default();
            let mut known = Vec::new();
            for line in Lines::new(log.bytes()) {
                let (entry, problems) = decode(line);
                assert_eq!(problems, [], "{client:?}");
                drift.add(&entry);
                if let Some(parent) = entry.parent_uuid() {
                    assert!(known.contains(&parent), "{client:?} has a parent that is not there");
                }
                known.extend(entry.uuid());
            }
            let unknown: Vec<_> = drift.findings().collect();
            assert_eq!(unknown, [], "{client:?}");
        }
    }

    #[test]
    fn clients_differ_in_what_they_write() {
        let kinds = |client: Client| -> Vec<Kind> {
            let log = everything(client);
            Lines::new(log.bytes()).map(|line| decode(line).0.kind()).collect()
        };
        assert!(kinds(Client::V2_0_50).contains(&Kind::Summary));
        assert!(!kinds(Client::V2_1_29).contains(&Kind::QueueOperation));
        assert!(kinds(Client::V2_1_325).contains(&Kind::LastPrompt));
        let place = |client| SessionBuilder::agent(ID, "a1", client).file_name();
        assert_eq!(place(Client::V2_0_50), "agent-a1.jsonl");
        assert_eq!(place(Client::V2_1_29), format!("{ID}/subagents/agent-a1.jsonl"));
    }
}
