//! Logs in the shape of real clients, line by line.
//!
//! Owns: the order of lines, the chain, what each version adds. The lines
//! themselves are made by [`EntryBuilder`], as every line that recto writes.
//! All content is given by the test; ids and times are counted up, so that the
//! same calls give the same bytes.

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::EntryBuilder;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;

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
    session: String,
    agent: Option<String>,
    client: Client,
    cwd: String,
    branch: String,
    version: String,
    model: String,
    time: Timestamp,
    /// The last line of the chain.
    leaf: Option<String>,
    last_prompt: String,
    lines: Vec<u8>,
    counted: u64,
    messages: u64,
}

impl SessionBuilder {
    /// The log of a session, with nothing in it.
    pub fn new(session: &str, client: Client) -> SessionBuilder {
        SessionBuilder {
            session: session.to_owned(),
            agent: None,
            client,
            cwd: "/home/dev/app".to_owned(),
            branch: "main".to_owned(),
            version: client.version().to_owned(),
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
    pub fn agent(session: &str, agent: &str, client: Client) -> SessionBuilder {
        SessionBuilder { agent: Some(agent.to_owned()), ..SessionBuilder::new(session, client) }
    }

    /// Sets the working directory of the lines that follow.
    pub fn cwd(self, cwd: &str) -> SessionBuilder {
        SessionBuilder { cwd: cwd.to_owned(), ..self }
    }

    /// Sets the branch of the lines that follow.
    pub fn branch(self, branch: &str) -> SessionBuilder {
        SessionBuilder { branch: branch.to_owned(), ..self }
    }

    /// Sets the version that the lines that follow name.
    pub fn version(self, version: &str) -> SessionBuilder {
        SessionBuilder { version: version.to_owned(), ..self }
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
        if self.client != Client::V2_1_29 && self.agent.is_none() {
            let line = EntryBuilder::of_type("queue-operation")
                .string("operation", "enqueue")
                .string("timestamp", &self.iso())
                .string("sessionId", &self.session)
                .string("content", text);
            self.push(line);
        }
        let mut line = self.chained("user").user_text(text);
        if self.client == Client::V2_1_325 && self.agent.is_none() {
            line = line.string("promptSource", "typed").json("origin", br#"{"kind":"human"}"#);
        }
        self.push_chained(line)
    }

    /// Text that stands in a user line and is no prompt: command output,
    /// notifications, interruptions.
    pub fn user_text(self, text: &str) -> SessionBuilder {
        let line = self.chained("user").user_text(text);
        self.push_chained(line)
    }

    /// Text that the client adds for the model.
    pub fn meta_text(self, text: &str) -> SessionBuilder {
        let line = self.chained("user").user_text(text).boolean("isMeta", true);
        self.push_chained(line)
    }

    /// The end of an answer: the model's text.
    pub fn answer(mut self, text: &str) -> SessionBuilder {
        let block = ObjectWriter::new().string("type", "text").string("text", text);
        self = self.block(&block.finish(), "end_turn");
        self.messages += 1;
        self.tail()
    }

    /// What the model thought.
    pub fn thinking(self, text: &str) -> SessionBuilder {
        let block = ObjectWriter::new()
            .string("type", "thinking")
            .string("thinking", text)
            .string("signature", "c2lnbmF0dXJl");
        self.block(&block.finish(), "tool_use")
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
    pub fn system(self, subtype: &str, content: &str) -> SessionBuilder {
        let line = self.chained("system").string("subtype", subtype).string("content", content);
        self.push_chained(line.string("level", "info").boolean("isMeta", false))
    }

    /// Something told to the model beside the prompts; `field` is one field of it.
    pub fn attachment(self, name: &str, field: (&str, &str)) -> SessionBuilder {
        let attachment = ObjectWriter::new().string("type", name).string(field.0, field.1).finish();
        let line = self.chained("attachment").json("attachment", &attachment);
        self.push_chained(line)
    }

    /// A compaction: the boundary, and the summary as the first line after it.
    pub fn compaction(mut self, summary: &str) -> SessionBuilder {
        let before = self.leaf.take().unwrap_or_default();
        let uuid = self.next_uuid();
        let line = EntryBuilder::compact_boundary(&before, &uuid, self.time, 150_000);
        let line = self.with_session(line);
        self.leaf = Some(uuid);
        self.push(line);
        let line = self.chained("user").user_text(summary).boolean("isCompactSummary", true);
        self.push_chained(line.boolean("isVisibleInTranscriptOnly", true))
    }

    /// A title given by the user.
    pub fn custom_title(mut self, title: &str) -> SessionBuilder {
        let line = EntryBuilder::custom_title(&self.session, title);
        self.push(line);
        self
    }

    /// A title given by a model: a `summary` line of old clients, an `ai-title`
    /// of new ones.
    pub fn model_title(mut self, title: &str) -> SessionBuilder {
        let line = match self.client {
            Client::V2_0_50 | Client::V2_1_29 => EntryBuilder::of_type("summary")
                .string("summary", title)
                .string("leafUuid", self.leaf.as_deref().unwrap_or_default()),
            Client::V2_1_325 => EntryBuilder::of_type("ai-title")
                .string("aiTitle", title)
                .string("sessionId", &self.session),
        };
        self.push(line);
        self
    }

    /// A line of a type that no client writes, with one field.
    pub fn unknown(mut self, name: &str, field: (&str, &str)) -> SessionBuilder {
        let line = EntryBuilder::of_type(name).string(field.0, field.1);
        self.push(line.string("sessionId", &self.session));
        self
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
        match (&self.agent, self.client) {
            (None, _) => format!("{}.jsonl", self.session),
            (Some(agent), Client::V2_0_50) => format!("agent-{agent}.jsonl"),
            (Some(agent), _) => format!("{}/subagents/agent-{agent}.jsonl", self.session),
        }
    }

    pub(crate) fn working_directory(&self) -> &str {
        &self.cwd
    }

    fn call(self, name: &str, input: &str, result: &str, of: ResultOf<'_>) -> SessionBuilder {
        let id = format!("toolu_{}{:04}", self.id_start(), self.counted);
        let call = ObjectWriter::new()
            .string("type", "tool_use")
            .string("id", &id)
            .string("name", name)
            .json("input", input.as_bytes());
        let mut built = self.block(&call.finish(), "tool_use");
        built.messages += 1;
        let block = ObjectWriter::new()
            .string("tool_use_id", &id)
            .string("type", "tool_result")
            .string("content", result)
            .boolean("is_error", of == ResultOf::Failure);
        let blocks = ArrayWriter::new().json(&block.finish()).finish();
        let mut line = built.chained("user").user_blocks(&blocks);
        line = match of {
            ResultOf::Success(detail) => line.json("toolUseResult", detail),
            ResultOf::Failure => line.string("toolUseResult", &format!("Error: {result}")),
        };
        if let (Client::V2_1_29 | Client::V2_1_325, Some(call)) = (built.client, &built.leaf) {
            line = line.string("sourceToolAssistantUUID", call);
        }
        built.push_chained(line)
    }

    /// One line of an answer. Lines of one message share its id.
    /// What tells the ids of this log from those of others: the API gives no id
    /// twice.
    fn id_start(&self) -> String {
        let name = self.agent.as_deref().unwrap_or(&self.session);
        format!("{name:0<8.8}")
    }

    fn block(self, block: &[u8], stop_reason: &str) -> SessionBuilder {
        let blocks = ArrayWriter::new().json(block).finish();
        let usage = br#"{"input_tokens":8,"cache_creation_input_tokens":120,"cache_read_input_tokens":9000,"output_tokens":40,"service_tier":"standard"}"#;
        let stop = match self.client {
            // This client never learns how a message ended.
            Client::V2_1_29 => None,
            Client::V2_0_50 | Client::V2_1_325 => Some(stop_reason),
        };
        let message = ObjectWriter::new()
            .string("id", &format!("msg_{}{:04}", self.id_start(), self.messages))
            .string("type", "message")
            .string("role", "assistant")
            .string("model", &self.model)
            .json("content", &blocks)
            .string_or_null("stop_reason", stop)
            .json("stop_sequence", b"null")
            .json("usage", usage);
        let line = self.chained("assistant").json("message", &message.finish());
        let line = line.string("requestId", &format!("req_{:04}", self.messages));
        self.push_chained(line)
    }

    /// What new clients append after each turn.
    fn tail(mut self) -> SessionBuilder {
        if self.client == Client::V2_1_325 && self.agent.is_none() {
            let leaf = self.leaf.clone().unwrap_or_default();
            let line = EntryBuilder::last_prompt(&self.session, &self.last_prompt, &leaf);
            self.push(line);
            let mode = EntryBuilder::of_type("mode").string("mode", "normal");
            self.push(mode.string("sessionId", &self.session));
        }
        self
    }

    fn next_uuid(&self) -> String {
        format!("{}-0000-4000-8000-{:012x}", &self.session[..8], self.counted)
    }

    fn iso(&self) -> String {
        format!("{:.3}", self.time)
    }

    fn chained(&self, name: &str) -> EntryBuilder {
        let parent = self.leaf.as_deref();
        let uuid = self.next_uuid();
        let line = match &self.agent {
            None => EntryBuilder::chained(name, parent, &uuid, self.time),
            Some(agent) => {
                let line = EntryBuilder::of_type(name);
                let line = match parent {
                    Some(parent) => line.string("parentUuid", parent),
                    None => line.json("parentUuid", b"null"),
                };
                line.boolean("isSidechain", true)
                    .string("agentId", agent)
                    .string("uuid", &uuid)
                    .string("timestamp", &self.iso())
            }
        };
        self.with_session(line)
    }

    fn with_session(&self, line: EntryBuilder) -> EntryBuilder {
        line.session(&self.session, &self.cwd, &self.version, &self.branch)
    }

    fn push_chained(mut self, line: EntryBuilder) -> SessionBuilder {
        self.leaf = Some(self.next_uuid());
        self.push(line);
        self
    }

    fn push(&mut self, line: EntryBuilder) {
        self.lines.extend_from_slice(&line.finish());
        self.lines.push(b'\n');
        self.counted += 1;
        self.time = self.time.saturating_add(SignedDuration::from_secs(1)).unwrap_or(self.time);
    }
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
