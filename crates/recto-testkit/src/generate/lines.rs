//! The lines that all versions write: envelopes, user lines, system lines, and lines outside the chain.
//!
//! Owns: which keys stand on them and in which order. Does not own: assistant and tool lines
//! (`message`, `results`), and what only the new client writes (`request`, `tail`).

use super::Generator;
use super::clock::timestamp;
use super::json::Json;
use super::ledger::Facts;
use super::ledger::Place;
use super::text::Style;
use super::text::phrase;
use super::transcript::Link;
use super::transcript::Transcript;

/// Who a user line comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Human,
    /// Commands, their output, interruptions: shown, but no prompt.
    Client,
    /// Added by the client for the model.
    Meta,
    CompactSummary,
    TaskNotification,
    /// The prompt of a subagent.
    Agent,
}

/// A user line that is not a tool result.
pub(super) struct UserLine<'a> {
    pub(super) uuid: String,
    /// JSON of `message.content`.
    pub(super) content: &'a [u8],
    pub(super) origin: Origin,
    pub(super) needle: Option<usize>,
}

impl Generator {
    /// Lets time pass.
    pub(super) fn tick(&mut self, transcript: &mut Transcript, low: u64, high: u64) {
        transcript.now += self.random.between(low, high) as i64;
    }

    /// The start of a line of the chain.
    pub(super) fn head(&self, transcript: &Transcript, parent: Option<usize>) -> Json {
        let mut json = Json::line();
        match parent {
            Some(parent) => json.text("parentUuid", &transcript.chain[parent].uuid),
            None => json.key("parentUuid").literal("null"),
        };
        json.flag("isSidechain", transcript.agent.is_some());
        if !transcript.era.new {
            origin_of(&mut json, transcript);
            json.text("gitBranch", transcript.branch);
        }
        json
    }

    /// The agent and the slug, after the head.
    pub(super) fn agent(&self, json: &mut Json, transcript: &Transcript) {
        if let Some(agent) = &transcript.agent {
            json.text("agentId", agent);
        }
        if !transcript.era.new && transcript.era.version != "2.0.36" {
            json.text("slug", &transcript.slug);
        }
    }

    /// The end of a line of the chain; closes it.
    pub(super) fn finish(&self, mut json: Json, transcript: &Transcript) -> Vec<u8> {
        if transcript.era.new {
            if transcript.interactive && transcript.turn_ends.len() % 2 == 1 {
                json.text("session_id", &transcript.session_id);
            }
            json.text("userType", "external");
            json.text("entrypoint", if transcript.interactive { "cli" } else { "sdk-cli" });
            json.text("cwd", &transcript.cwd).text("sessionId", &transcript.session_id);
            json.text("version", transcript.era.version);
            let branch = if transcript.branch.is_empty() { "HEAD" } else { transcript.branch };
            json.text("gitBranch", branch);
            if transcript.compacted {
                json.text("slug", &transcript.slug);
            }
        }
        json.finish()
    }

    /// A user line.
    pub(super) fn user(&mut self, transcript: &mut Transcript, line: UserLine<'_>) -> usize {
        let parent = transcript.leaf;
        let new = transcript.era.new;
        let mut json = self.head(transcript, parent);
        if new {
            json.text("promptId", &transcript.new.prompt_id);
        }
        self.agent(&mut json, transcript);
        json.text("type", "user").key("message").open().text("role", "user").key("content");
        json.raw(line.content).close();
        match line.origin {
            Origin::CompactSummary => {
                json.flag("isVisibleInTranscriptOnly", true).flag("isCompactSummary", true);
            }
            Origin::Meta => {
                json.flag("isMeta", true);
            }
            Origin::Human | Origin::Client | Origin::TaskNotification | Origin::Agent => {}
        }
        json.text("uuid", &line.uuid).text("timestamp", &timestamp(transcript.now));
        match (line.origin, new) {
            (Origin::Human, true) => {
                json.text("permissionMode", "auto");
                if transcript.interactive {
                    json.members(r#""origin":{"kind":"human"},"promptSource":"typed""#);
                    json.text("turnOrigin", "human");
                } else {
                    json.text("promptSource", "sdk").text("turnOrigin", "sdk");
                }
                turn_position(&mut json, transcript);
            }
            (Origin::TaskNotification, true) => {
                json.text("permissionMode", "auto");
                json.members(r#""origin":{"kind":"task-notification","producer":"session-task"}"#);
                json.text("promptSource", "system").text("turnOrigin", "task_notification");
                turn_position(&mut json, transcript);
                json.flag("queueSkipAttachments", true);
            }
            (Origin::Human, false) if transcript.era.version == "2.1.29" => {
                json.members(r#""thinkingMetadata":{"maxThinkingTokens":31999},"todos":[]"#);
                json.text("permissionMode", "default");
            }
            (Origin::Human, false) => {
                json.members(
                    r#""thinkingMetadata":{"level":"high","disabled":false,"triggers":[]},"todos":[]"#,
                );
            }
            _ => {}
        }
        let bytes = self.finish(json, transcript);
        let human = line.origin == Origin::Human;
        let facts = Facts { kind: "user", human, needle: line.needle, ..Facts::default() };
        let link =
            Link { uuid: line.uuid, parent, logical_parent: None, message: None, call: None };
        self.push_link(transcript, bytes, facts, link)
    }

    /// A user line with a plain text.
    pub(super) fn user_text(
        &mut self,
        transcript: &mut Transcript,
        text: &str,
        origin: Origin,
    ) -> usize {
        let mut content = Json::new();
        content.string(text);
        let uuid = self.random.uuid();
        let content = content.into_bytes();
        self.user(transcript, UserLine { uuid, content: &content, origin, needle: None })
    }

    /// A user line with one text block.
    pub(super) fn user_block(
        &mut self,
        transcript: &mut Transcript,
        text: &str,
        origin: Origin,
    ) -> usize {
        let mut content = Json::new();
        content.open_list().open().text("type", "text").text("text", text).close().close_list();
        let uuid = self.random.uuid();
        let content = content.into_bytes();
        self.user(transcript, UserLine { uuid, content: &content, origin, needle: None })
    }

    /// A prompt of a person, sometimes with an image.
    pub(super) fn human_prompt(&mut self, transcript: &mut Transcript, image: bool) -> usize {
        let size = self.random.long_tail(160, 5, 12, 9_000) as usize;
        let mut text = self.text.piece(&mut self.random, Style::Prose, size);
        let needle = self.plant(Place::Human, &mut text);
        let uuid = self.random.uuid();
        if transcript.first_prompt.is_empty() {
            transcript.first_prompt = text.clone();
        }
        if transcript.interactive {
            transcript.prompts.push((transcript.now, text.clone()));
            self.snapshot(transcript, &uuid);
        } else {
            self.queue_operation(transcript, "enqueue", Some(&text));
            self.queue_operation(transcript, "dequeue", None);
        }
        transcript.new.prompts += 1;
        transcript.new.prompt_id = self.random.uuid();
        transcript.new.last_prompt = text.replace(['\n', '\t'], " ").chars().take(200).collect();
        transcript.new.turn_started = transcript.now;
        let mut content = Json::new();
        if image {
            content.open_list().open().text("type", "text").text("text", &text).close();
            content.open().text("type", "image").key("source").open().text("type", "base64");
            let size = self.random.long_tail(60_000, 5, 400, 880_000) as usize;
            let mut data = String::with_capacity(size);
            self.random.letters(super::random::BASE64, size / 4 * 4, &mut data);
            content.text("media_type", "image/png").text("data", &data);
            content.close().close().close_list();
        } else {
            content.string(&text);
        }
        let content = content.into_bytes();
        let origin = Origin::Human;
        self.user(transcript, UserLine { uuid, content: &content, origin, needle })
    }

    /// A system line in the chain; `members` are what it has besides type and subtype.
    pub(super) fn system(&mut self, transcript: &mut Transcript, subtype: &str, members: &str) {
        let parent = transcript.leaf;
        let uuid = self.random.uuid();
        let mut json = self.head(transcript, parent);
        self.agent(&mut json, transcript);
        json.text("type", "system").text("subtype", subtype).members(members);
        json.text("timestamp", &timestamp(transcript.now)).text("uuid", &uuid);
        let bytes = self.finish(json, transcript);
        let link = Link { uuid, parent, logical_parent: None, message: None, call: None };
        self.push_link(transcript, bytes, Facts { kind: "system", ..Facts::default() }, link);
    }

    /// A `progress` line in the chain; `data` is JSON.
    pub(super) fn progress(
        &mut self,
        transcript: &mut Transcript,
        data: &[u8],
        tool_use_id: &str,
        lone_surrogate: bool,
    ) {
        let parent = transcript.leaf;
        let uuid = self.random.uuid();
        let mut json = self.head(transcript, parent);
        self.agent(&mut json, transcript);
        json.text("type", "progress").key("data").raw(data);
        json.text("toolUseID", tool_use_id).text("parentToolUseID", tool_use_id);
        json.text("uuid", &uuid).text("timestamp", &timestamp(transcript.now));
        let bytes = self.finish(json, transcript);
        let link = Link { uuid, parent, logical_parent: None, message: None, call: None };
        let facts = Facts { kind: "progress", lone_surrogate, ..Facts::default() };
        self.push_link(transcript, bytes, facts, link);
    }

    /// A line outside the chain.
    pub(super) fn plain(
        &mut self,
        transcript: &mut Transcript,
        kind: &'static str,
        fill: impl FnOnce(&mut Json),
    ) {
        let mut json = Json::line();
        json.text("type", kind);
        fill(&mut json);
        self.push(transcript, json.finish(), Facts { kind, ..Facts::default() });
    }

    pub(super) fn queue_operation(
        &mut self,
        transcript: &mut Transcript,
        operation: &str,
        content: Option<&str>,
    ) {
        let (now, id) = (timestamp(transcript.now), transcript.session_id.clone());
        self.plain(transcript, "queue-operation", |json| {
            json.text("operation", operation).text("timestamp", &now).text("sessionId", &id);
            if let Some(content) = content {
                json.text("content", content);
            }
        });
    }

    /// A title of an earlier session, as the old clients write it at the top of a file.
    pub(super) fn summary(&mut self, transcript: &mut Transcript) {
        let (words, leaf) = (phrase(&mut self.random, 6), self.random.uuid());
        self.plain(transcript, "summary", |json| {
            json.text("summary", &words).text("leafUuid", &leaf);
        });
    }

    /// The state of tracked files when a prompt is sent.
    fn snapshot(&mut self, transcript: &mut Transcript, message: &str) {
        let now = timestamp(transcript.now);
        self.plain(transcript, "file-history-snapshot", |json| {
            json.text("messageId", message).key("snapshot").open().text("messageId", message);
            json.key("trackedFileBackups").open().close().text("timestamp", &now).close();
            json.flag("isSnapshotUpdate", false);
        });
    }

    /// A type that no reader knows.
    pub(super) fn unknown(&mut self, transcript: &mut Transcript) {
        let (id, words) = (transcript.session_id.clone(), phrase(&mut self.random, 4));
        self.plain(transcript, "x-future-kind", |json| {
            json.text("sessionId", &id).key("payload").open().text("note", &words);
            json.key("usage").open().number("output_tokens", 999_999).close().close();
        });
    }

    pub(super) fn pull_request(&mut self, transcript: &mut Transcript) {
        let (id, now) = (transcript.session_id.clone(), timestamp(transcript.now));
        let number = self.random.between(1, 900);
        self.plain(transcript, "pr-link", |json| {
            json.text("sessionId", &id).number("prNumber", number);
            json.text("prUrl", &format!("https://example.com/dev/app/pull/{number}"));
            json.text("prRepository", "dev/app").text("timestamp", &now);
        });
    }
}

fn origin_of(json: &mut Json, transcript: &Transcript) {
    json.text("userType", "external").text("cwd", &transcript.cwd);
    json.text("sessionId", &transcript.session_id).text("version", transcript.era.version);
}

fn turn_position(json: &mut Json, transcript: &Transcript) {
    json.key("turnPosition").open().number("promptIndex", transcript.new.prompts);
    json.number("turnIndex", transcript.turn_ends.len() as u64 + 1).close();
}
