//! What a generated home contains, exactly.
//!
//! Owns: the numbers and their JSON form (`truth.json`; the keys are explained in `README.md` beside
//! this file). Does not own: the counting, see `ledger`.

use std::collections::BTreeMap;

use super::Shape;
use super::json::Json;

/// Tokens of one or many messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// `input_tokens`.
    pub input: u64,
    /// `output_tokens`.
    pub output: u64,
    /// `cache_creation_input_tokens`.
    pub cache_create: u64,
    /// `cache_read_input_tokens`.
    pub cache_read: u64,
}

impl Usage {
    /// Adds the tokens of another.
    pub fn add(&mut self, other: &Usage) {
        self.input += other.input;
        self.output += other.output;
        self.cache_create += other.cache_create;
        self.cache_read += other.cache_read;
    }

    /// All four together.
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_create + self.cache_read
    }

    fn write(&self, json: &mut Json) {
        json.open().number("input", self.input).number("output", self.output);
        json.number("cache_create", self.cache_create).number("cache_read", self.cache_read);
        json.number("total", self.total()).close();
    }
}

/// Token totals of one model, counted in three ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelTokens {
    /// Distinct message ids.
    pub messages: u64,
    /// Assistant lines.
    pub assistant_lines: u64,
    /// Right: one usage per message id over all files, the one with the largest output.
    pub last: Usage,
    /// One usage per message id, but of its first line.
    pub first: Usage,
    /// The sum over all assistant lines.
    pub naive: Usage,
}

/// Counts of files below `projects`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    /// Session logs, the empty ones and the forks included.
    pub main: u64,
    /// Session logs of zero bytes.
    pub main_empty: u64,
    /// Session logs that start with lines copied from another.
    pub main_fork: u64,
    /// Subagent logs, warm-up stubs included.
    pub agent: u64,
    /// Subagent logs that hold nothing but a warm-up.
    pub agent_warmup_stub: u64,
}

/// Counts of lines in all session and subagent logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// All lines, the blank and the malformed ones and a torn last one included.
    pub total: u64,
    /// Lines of no bytes.
    pub blank: u64,
    /// Lines with a lone surrogate escape (valid JSON, refused by most readers).
    pub lone_surrogate: u64,
    /// Well-formed lines longer than 100 000 bytes.
    pub over_100k: u64,
    /// Length of the longest line, newline included.
    pub max_bytes: u64,
    /// Well-formed lines by their `type`.
    pub by_type: BTreeMap<String, u64>,
    /// Damaged lines by kind of damage.
    pub malformed_by_kind: BTreeMap<String, u64>,
}

/// Counts of what people typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HumanTurns {
    /// User lines that are a prompt of a person.
    pub lines: u64,
    /// The same without the copies in forks.
    pub unique: u64,
    /// Prompts typed while the model worked (`queued_command` attachments), without copies.
    pub queued: u64,
}

/// Counts of tool calls and results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCalls {
    /// Calls by tool name, each line counted.
    pub lines_by_name: BTreeMap<String, u64>,
    /// Calls by tool name, copies in forks left out.
    pub unique_by_name: BTreeMap<String, u64>,
    /// User lines with a tool result.
    pub result_lines: u64,
    /// Those of them that tell of an error.
    pub error_lines: u64,
}

/// The largest session log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LargestSession {
    /// Path below `projects`.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
    /// Its session id.
    pub session_id: String,
}

/// A line that is not in the home, ready to be appended to one of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppendLine {
    /// Path of the file below `projects`.
    pub path: String,
    /// The line, without the newline.
    pub line: String,
    /// Model of the message.
    pub model: String,
    /// What the totals grow by.
    pub usage: Usage,
}

/// A place where a needle is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeedleHit {
    /// Path below `projects`.
    pub path: String,
    /// Line number, from 1.
    pub line: u64,
    /// uuid of the line.
    pub uuid: String,
    /// Session id that the file name (or the folder of a subagent) gives.
    pub session_id: String,
}

/// A text that occurs a known number of times in the messages of user and assistant lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needle {
    /// Short name.
    pub name: String,
    /// The text.
    pub text: String,
    /// Kind of place, in words.
    pub place: String,
    /// Where it is.
    pub hits: Vec<NeedleHit>,
}

/// What one session log contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRow {
    /// Session id.
    pub id: String,
    /// Path below `projects`.
    pub path: String,
    /// Client version.
    pub version: String,
    /// Size.
    pub bytes: u64,
    /// All lines.
    pub lines: u64,
    /// Lines with a uuid.
    pub chain_lines: u64,
    /// User lines that are a prompt of a person.
    pub human_turns: u64,
    /// Tool calls that have their result in this file.
    pub tool_pairs: u64,
    /// Distinct ids of assistant messages that came from a model.
    pub assistant_messages: u64,
    /// uuid of the leaf of the conversation; empty when there is none.
    pub leaf: String,
    /// Lines on the plain walk from the leaf to the first line without a parent.
    pub walk_lines: u64,
    /// Lines that belong to the conversation of the leaf.
    pub reachable_lines: u64,
    /// Compactions.
    pub compactions: u64,
    /// Subagent logs of this session.
    pub agents: u64,
    /// Starts with lines copied from another session.
    pub fork: bool,
}

/// What a generated home contains, exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Seed of the options.
    pub seed: u64,
    /// Size of the options.
    pub megabytes: u64,
    /// Shape of the options.
    pub shape: Shape,
    /// Project folders that hold at least one file.
    pub projects: u64,
    /// Files below `projects`.
    pub files: FileCounts,
    /// Bytes of all session and subagent logs.
    pub bytes_jsonl: u64,
    /// Lines of them.
    pub lines: LineCounts,
    /// Prompts of people.
    pub human_turns: HumanTurns,
    /// Lines of `history.jsonl`.
    pub history_lines: u64,
    /// Compaction boundaries, copies in forks included.
    pub compactions: u64,
    /// Tool calls and results.
    pub tool_calls: ToolCalls,
    /// Tokens by model name.
    pub tokens: BTreeMap<String, ModelTokens>,
    /// The largest session log.
    pub largest_session: LargestSession,
    /// A line to append.
    pub append: AppendLine,
    /// Texts to search for.
    pub needles: Vec<Needle>,
    /// One row per session log, in the order of writing.
    pub sessions: Vec<SessionRow>,
}

impl Truth {
    /// Tokens of all models together.
    pub fn all_tokens(&self) -> ModelTokens {
        let mut all = ModelTokens::default();
        for tokens in self.tokens.values() {
            all.messages += tokens.messages;
            all.assistant_lines += tokens.assistant_lines;
            all.last.add(&tokens.last);
            all.first.add(&tokens.first);
            all.naive.add(&tokens.naive);
        }
        all
    }

    /// The content of `truth.json`.
    pub fn to_json(&self) -> String {
        let mut json = Json::line();
        json.line_break().text("generator", "recto-testkit");
        json.number("seed", self.seed).number("mb", self.megabytes);
        json.text("shape", self.shape.name()).line_break().number("projects", self.projects);
        json.key("files").open().number("main", self.files.main);
        json.number("main_empty", self.files.main_empty).number("main_fork", self.files.main_fork);
        json.number("agent", self.files.agent);
        json.number("agent_warmup_stub", self.files.agent_warmup_stub).close().line_break();
        json.number("bytes_jsonl", self.bytes_jsonl).line_break();
        self.write_lines(&mut json);
        json.key("human_turns").open().number("lines", self.human_turns.lines);
        json.number("unique", self.human_turns.unique).number("queued", self.human_turns.queued);
        json.close().line_break().number("history_lines", self.history_lines);
        json.number("compactions", self.compactions).line_break();
        self.write_tools(&mut json);
        json.key("tokens").open();
        for (name, tokens) in &self.tokens {
            write_tokens(&mut json, name, tokens);
        }
        write_tokens(&mut json, "ALL", &self.all_tokens());
        json.close().line_break();
        let largest = &self.largest_session;
        json.key("largest_session").open().text("path", &largest.path);
        json.number("bytes", largest.bytes).number("lines", largest.lines);
        json.text("sessionId", &largest.session_id).close().line_break();
        json.key("append").open().text("path", &self.append.path).text("line", &self.append.line);
        json.text("model", &self.append.model).key("usage");
        self.append.usage.write(&mut json);
        json.close().line_break();
        self.write_needles(&mut json);
        self.write_sessions(&mut json);
        let mut bytes = json.finish();
        bytes.push(b'\n');
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn write_lines(&self, json: &mut Json) {
        let lines = &self.lines;
        json.key("lines").open().number("total", lines.total).number("blank", lines.blank);
        json.number("lone_surrogate", lines.lone_surrogate).number("over_100k", lines.over_100k);
        json.number("max_bytes", lines.max_bytes).line_break();
        write_map(json, "by_type", &lines.by_type);
        json.number("malformed", lines.malformed_by_kind.values().sum());
        write_map(json, "malformed_by_kind", &lines.malformed_by_kind);
        json.close().line_break();
    }

    fn write_tools(&self, json: &mut Json) {
        let calls = &self.tool_calls;
        json.key("tool_calls").open().number("lines", calls.lines_by_name.values().sum());
        json.number("unique", calls.unique_by_name.values().sum());
        write_map(json, "unique_by_name", &calls.unique_by_name);
        write_map(json, "lines_by_name", &calls.lines_by_name);
        json.number("result_lines", calls.result_lines);
        json.number("error_lines", calls.error_lines).close().line_break();
    }

    fn write_needles(&self, json: &mut Json) {
        json.key("needles").open_list();
        for needle in &self.needles {
            json.line_break().open().text("name", &needle.name).text("text", &needle.text);
            json.text("place", &needle.place).number("count", needle.hits.len() as u64);
            json.key("hits").open_list();
            for hit in &needle.hits {
                json.open().text("path", &hit.path).number("line", hit.line);
                json.text("uuid", &hit.uuid).text("sessionId", &hit.session_id).close();
            }
            json.close_list().close();
        }
        json.close_list().line_break();
    }

    fn write_sessions(&self, json: &mut Json) {
        json.key("sessions").open_list();
        for row in &self.sessions {
            json.line_break().open().text("id", &row.id).text("path", &row.path);
            json.text("version", &row.version).number("bytes", row.bytes);
            json.number("lines", row.lines).number("chain_lines", row.chain_lines);
            json.number("human_turns", row.human_turns).number("tool_pairs", row.tool_pairs);
            json.number("assistant_messages", row.assistant_messages).text("leaf", &row.leaf);
            json.number("walk_lines", row.walk_lines);
            json.number("reachable_lines", row.reachable_lines);
            json.number("compactions", row.compactions).number("agents", row.agents);
            json.flag("fork", row.fork).close();
        }
        json.close_list();
    }
}

fn write_map(json: &mut Json, name: &str, map: &BTreeMap<String, u64>) {
    json.key(name).open();
    for (key, count) in map {
        json.number(key, *count);
    }
    json.close();
}

fn write_tokens(json: &mut Json, name: &str, tokens: &ModelTokens) {
    json.line_break().key(name).open().number("messages", tokens.messages);
    json.number("assistant_lines", tokens.assistant_lines).key("final");
    tokens.last.write(json);
    json.key("first");
    tokens.first.write(json);
    json.key("naive");
    tokens.naive.write(json);
    json.close();
}
