//! Tool results: what the model sees and what the client keeps.
//!
//! Owns: user lines with a `tool_result`, and the files that go with them. Does not own: the logs of
//! subagents (`agents`).

use std::fmt::Write as _;

use super::Generator;
use super::clock::timestamp;
use super::json::Json;
use super::ledger::Facts;
use super::ledger::Place;
use super::message::write_usage;
use super::text::Style;
use super::text::relative_path;
use super::tools::Call;
use super::transcript::Link;
use super::transcript::Transcript;
use super::truth::Usage;

/// Longest output that stays on the line.
const INLINE_LIMIT: usize = 30_000;

/// A result before it becomes a line.
#[derive(Default)]
struct Outcome {
    /// Text for the model.
    content: String,
    /// `toolUseResult`, as JSON.
    kept: Vec<u8>,
    error: bool,
    lone_surrogate: bool,
    /// `content` is a list with one text block.
    listed: bool,
    needle: Option<usize>,
}

impl Generator {
    /// Writes the result of a call. `source` is the line of the call.
    pub(super) fn tool_result(&mut self, transcript: &mut Transcript, call: &Call, source: usize) {
        self.tick(transcript, 30, 9_000);
        let outcome = self.outcome(transcript, call);
        if transcript.era.progress && self.random.chance(3_000) {
            self.hook_progress(transcript, call);
        }
        let era = transcript.era;
        let parent = if era.tree { Some(source) } else { transcript.leaf };
        let uuid = self.random.uuid();
        let mut json = self.head(transcript, parent);
        if era.new {
            json.text("promptId", &transcript.new.prompt_id);
        }
        self.agent(&mut json, transcript);
        json.text("type", "user").key("message").open().text("role", "user").key("content");
        json.open_list().open().text("tool_use_id", &call.id).text("type", "tool_result");
        json.key("content");
        if outcome.listed {
            json.open_list().open().text("type", "text").text("text", &outcome.content);
            json.close().close_list();
        } else if outcome.lone_surrogate {
            json.string_cut_in_pair(&outcome.content);
        } else {
            json.string(&outcome.content);
        }
        if outcome.error || era.new {
            json.flag("is_error", outcome.error);
        }
        json.close().close_list().close();
        json.text("uuid", &uuid).text("timestamp", &timestamp(transcript.now));
        if transcript.agent.is_none() || !era.new {
            json.key("toolUseResult").raw(&outcome.kept);
        }
        if era.tree {
            json.text("sourceToolAssistantUUID", &transcript.chain[source].uuid);
        }
        if era.new {
            json.members(
                r#""permissionDecision":{"decision":"accept","source":"config","reasonType":"mode"}"#,
            );
        }
        let bytes = self.finish(json, transcript);
        transcript.context += outcome.content.len() as u64 / 8;
        let facts = Facts {
            kind: "user",
            tool_result: true,
            tool_error: outcome.error,
            lone_surrogate: outcome.lone_surrogate,
            needle: outcome.needle,
            ..Facts::default()
        };
        let link = Link { uuid, parent, logical_parent: None, message: None, call: Some(source) };
        self.push_link(transcript, bytes, facts, link);
        if matches!(call.name, "Edit" | "Write") && !outcome.error {
            self.file_backup(transcript, call, source);
        }
    }

    fn outcome(&mut self, transcript: &mut Transcript, call: &Call) -> Outcome {
        let size = if self.random.chance(60) {
            self.random.between(80_000, (self.total / 12).clamp(120_000, 400_000)) as usize
        } else {
            let median = if transcript.era.new { 600 } else { 850 };
            self.random.long_tail(median, 6, 10, 60_000) as usize
        };
        let agent = matches!(call.name, "Task" | "Agent");
        if self.random.chance(400) && !agent {
            let output = self.text.piece(&mut self.random, Style::Terminal, size.min(3_000));
            let mut kept = Json::new();
            kept.string(&format!("Error: {output}"));
            let (content, kept) = (format!("Exit code 1\n{output}"), kept.into_bytes());
            return Outcome { content, kept, error: true, ..Outcome::default() };
        }
        match call.name {
            "Task" | "Agent" => self.agent_outcome(transcript, call),
            "Bash" => self.bash_outcome(transcript, call, size),
            "Read" => self.read_outcome(transcript, call, size),
            "Edit" | "Write" => self.edit_outcome(call, size),
            "Grep" | "Glob" => self.search_outcome(size),
            "TodoWrite" => {
                let (before, after) = (self.todos(), self.todos());
                let mut kept = Json::line();
                kept.key("oldTodos").raw(&before).key("newTodos").raw(&after);
                let content = "Todos have been modified successfully.".to_string();
                let path = format!("todos/{0}-agent-{0}.json", transcript.session_id);
                self.outbox.push(super::OutputFile { path, bytes: after, time: transcript.now });
                Outcome { content, kept: kept.finish(), ..Outcome::default() }
            }
            "TaskCreate" | "TaskUpdate" => {
                let number = 1 + self.random.below(9);
                let mut task = Json::line();
                task.text("id", &number.to_string()).text("subject", &call.argument);
                task.text("status", self.random.pick(&["pending", "in_progress", "completed"]));
                let bytes = task.finish();
                let mut kept = Json::line();
                kept.key("task").raw(&bytes);
                let path = format!("tasks/{}/{number}.json", transcript.session_id);
                self.outbox.push(super::OutputFile { path, bytes, time: transcript.now });
                let content = format!("Task #{number} saved: {}", call.argument);
                Outcome { content, kept: kept.finish(), ..Outcome::default() }
            }
            _ => {
                let content = self.text.piece(&mut self.random, Style::Prose, size.min(40_000));
                let mut kept = Json::line();
                kept.text("result", &content).number("durationMs", 840);
                Outcome { content, kept: kept.finish(), ..Outcome::default() }
            }
        }
    }

    fn bash_outcome(&mut self, transcript: &mut Transcript, call: &Call, size: usize) -> Outcome {
        let mut output = self.text.piece(&mut self.random, Style::Terminal, size);
        if transcript.era.progress && size > 2_000 && self.random.chance(1_500) {
            let part: String = output.chars().take(size / 4).collect();
            let mut data = Json::line();
            data.text("type", "bash_progress").text("output", &part).text("fullOutput", &part);
            data.number("elapsedTimeSeconds", 3).number("totalLines", 40);
            self.progress(transcript, &data.finish(), &call.id, false);
        }
        let mut outcome = Outcome::default();
        let mut persisted = None;
        if output.len() > INLINE_LIMIT {
            let end = output.floor_char_boundary(INLINE_LIMIT);
            if transcript.era.tree {
                let short = self.random.hex(8);
                let name = if transcript.era.new { format!("b{short}") } else { call.id.clone() };
                let folder = format!("{}/{}", transcript.project, transcript.session_id);
                let file = format!("{folder}/tool-results/{name}.txt");
                let path = format!("/home/dev/.claude/projects/{file}");
                outcome.content = format!(
                    "<persisted-output>\nOutput too large ({}KB). Full output saved to: {path}\n\nPreview (first 2KB):\n{}\n...\n</persisted-output>",
                    output.len() / 1024,
                    &output[..output.floor_char_boundary(2_000)]
                );
                let length = output.len();
                self.outbox.push(super::OutputFile {
                    path: format!("projects/{file}"),
                    bytes: output.clone().into_bytes(),
                    time: transcript.now,
                });
                if transcript.era.new {
                    output.truncate(end);
                    persisted = Some((path, length));
                }
            } else {
                let dropped = output[end..].lines().count();
                output.truncate(end);
                let _ = write!(output, "\n\n... [{dropped} lines truncated] ...");
            }
        }
        if outcome.content.is_empty() {
            if transcript.agent.is_none() {
                outcome.needle = self.plant(Place::ToolResult, &mut output);
            }
            outcome.content.push_str(&output);
            self.bash_counter += 1;
            outcome.lone_surrogate = self.bash_counter % self.surrogate_interval == 7;
        }
        let mut kept = Json::line();
        kept.text("stdout", &output).text("stderr", "").flag("interrupted", false);
        kept.flag("isImage", false);
        if transcript.era.new {
            kept.flag("noOutputExpected", false);
        }
        if let Some((path, length)) = persisted {
            kept.text("persistedOutputPath", &path).number("persistedOutputSize", length as u64);
        }
        Outcome { kept: kept.finish(), ..outcome }
    }

    fn read_outcome(&mut self, transcript: &Transcript, call: &Call, size: usize) -> Outcome {
        let file = self.text.piece(&mut self.random, Style::Code, size);
        let mut content = String::with_capacity(file.len() * 5 / 4);
        let mut count = 0;
        for line in file.split('\n') {
            count += 1;
            let _ = match transcript.era.new {
                true => writeln!(content, "{count}\t{line}"),
                false => writeln!(content, "{count:>6}→{line}"),
            };
        }
        let mut kept = Json::line();
        kept.text("type", "text").key("file").open().text("filePath", &call.argument);
        kept.text("content", &file).number("numLines", count).number("startLine", 1);
        kept.number("totalLines", count).close();
        Outcome { content, kept: kept.finish(), ..Outcome::default() }
    }

    fn edit_outcome(&mut self, call: &Call, size: usize) -> Outcome {
        let before = self.text.piece(&mut self.random, Style::Code, 180);
        let after = self.text.piece(&mut self.random, Style::Code, 230);
        let original = self.text.piece(&mut self.random, Style::Code, size * 2);
        let mut kept = Json::line();
        kept.text("filePath", &call.argument).text("oldString", &before);
        kept.text("newString", &after).text("originalFile", &original);
        kept.key("structuredPatch").open_list().open().number("oldStart", 4);
        kept.number("oldLines", 7).number("newStart", 4).number("newLines", 9);
        kept.key("lines").open_list();
        for line in before.split('\n') {
            kept.string(&format!("-{line}"));
        }
        for line in after.split('\n') {
            kept.string(&format!("+{line}"));
        }
        kept.close_list().close().close_list();
        kept.flag("userModified", false).flag("replaceAll", false);
        let content = format!("The file {} has been updated successfully.", call.argument);
        Outcome { content, kept: kept.finish(), ..Outcome::default() }
    }

    fn search_outcome(&mut self, size: usize) -> Outcome {
        let count = (size / 50).clamp(1, 200);
        let paths: Vec<String> = (0..count).map(|_| relative_path(&mut self.random)).collect();
        let mut kept = Json::line();
        kept.text("mode", "files_with_matches").number("numFiles", count as u64);
        kept.texts("filenames", paths.iter().map(String::as_str));
        Outcome { content: paths.join("\n"), kept: kept.finish(), ..Outcome::default() }
    }

    fn agent_outcome(&mut self, transcript: &mut Transcript, call: &Call) -> Outcome {
        let report = self.run_agent(transcript, call);
        let mut kept = Json::line();
        if report.background {
            kept.flag("isAsync", true).text("status", "async_launched");
            kept.text("agentId", &report.agent_id).text("description", "Explore the code");
            kept.text("resolvedModel", report.model).text("prompt", &call.argument);
            let content = format!(
                "Async agent launched successfully.\nagentId: {} (internal)",
                report.agent_id
            );
            return Outcome { content, kept: kept.finish(), listed: true, ..Outcome::default() };
        }
        kept.text("status", "completed").text("prompt", &call.argument);
        kept.text("agentId", &report.agent_id).key("content").open_list().open();
        kept.text("type", "text").text("text", &report.answer).close().close_list();
        kept.number("totalDurationMs", 40_000 + report.tools * 900);
        kept.number("totalTokens", report.last_usage.total());
        kept.number("totalToolUseCount", report.tools).key("usage");
        write_usage(&mut kept, &report.last_usage, transcript.era.new);
        let (content, kept) = (report.answer, kept.finish());
        Outcome { content, kept, listed: true, ..Outcome::default() }
    }

    fn hook_progress(&mut self, transcript: &mut Transcript, call: &Call) {
        let mut data = Json::line();
        data.text("type", "hook_progress").text("hookEvent", "PostToolUse");
        data.text("hookName", &format!("PostToolUse:{}", call.name)).text("command", "callback");
        self.progress(transcript, &data.finish(), &call.id, false);
    }

    /// The copy of a file before an edit, for one edit in sixteen.
    fn file_backup(&mut self, transcript: &mut Transcript, call: &Call, source: usize) {
        if transcript.agent.is_some() || !transcript.interactive || !self.random.chance(625) {
            return;
        }
        let name = format!("{}@v1", self.random.hex(16));
        let bytes = self.text.piece(&mut self.random, Style::Code, 900).into_bytes();
        let path = format!("file-history/{}/{name}", transcript.session_id);
        self.outbox.push(super::OutputFile { path, bytes, time: transcript.now });
        let relative = call.argument.trim_start_matches(&transcript.cwd).trim_start_matches('/');
        let (now, cwd) = (timestamp(transcript.now), transcript.cwd.clone());
        let message = transcript.chain[source].uuid.clone();
        let mut backup = Json::line();
        backup.text("backupFileName", &name).number("version", 1).text("backupTime", &now);
        if transcript.era.new {
            backup.text("realParentDir", &cwd);
            let backup = backup.finish();
            self.plain(transcript, "file-history-delta", |json| {
                json.text("messageId", &message).text("snapshotMessageId", &message);
                json.text("trackingPath", relative).key("backup").raw(&backup);
                json.text("timestamp", &now);
            });
        } else {
            let backup = backup.finish();
            self.plain(transcript, "file-history-snapshot", |json| {
                json.text("messageId", &message).key("snapshot").open();
                json.text("messageId", &message).key("trackedFileBackups").open();
                json.key(relative).raw(&backup).close().text("timestamp", &now).close();
                json.flag("isSnapshotUpdate", true);
            });
        }
    }
}

/// What a subagent leaves behind.
pub(super) struct AgentReport {
    pub(super) agent_id: String,
    pub(super) answer: String,
    pub(super) tools: u64,
    pub(super) model: &'static str,
    pub(super) last_usage: Usage,
    /// It goes on while the session does; the answer comes later.
    pub(super) background: bool,
}
