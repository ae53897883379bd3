//! What the new client writes about its requests: attachments, snapshots, shapes, blobs, requests.
//!
//! Owns: these lines and the bookkeeping of hashes. Does not own: the recipe of the hashes; here they
//! are opaque but used consistently.

use super::Generator;
use super::clock::date;
use super::clock::timestamp;
use super::json::Json;
use super::ledger::Facts;
use super::text::Style;
use super::transcript::Link;
use super::transcript::Transcript;

/// Who the rendered text of an attachment speaks as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
}

impl Generator {
    /// An attachment line. `fill` writes the members of `attachment` after its type.
    pub(super) fn attachment(
        &mut self,
        transcript: &mut Transcript,
        kind: &str,
        rendered: Option<(Role, &str)>,
        fill: impl FnOnce(&mut Json),
    ) {
        let parent = transcript.leaf;
        let uuid = self.random.uuid();
        let mut json = self.head(transcript, parent);
        self.agent(&mut json, transcript);
        json.key("attachment").open().text("type", kind);
        fill(&mut json);
        json.close().text("type", "attachment").text("uuid", &uuid);
        json.text("timestamp", &timestamp(transcript.now));
        if let Some((role, text)) = rendered {
            json.key("rendered").open_list().open();
            json.text("content", &format!("<system-reminder>\n{text}\n</system-reminder>"));
            json.close().close_list();
            json.text("renderedRole", if role == Role::User { "user" } else { "system" });
        }
        let bytes = self.finish(json, transcript);
        let queued_human = kind == "queued_command";
        let facts = Facts { kind: "attachment", queued_human, ..Facts::default() };
        let link = Link { uuid, parent, logical_parent: None, message: None, call: None };
        self.push_link(transcript, bytes, facts, link);
    }

    /// What is announced at the start of a session and after a compaction.
    pub(super) fn announcements(&mut self, transcript: &mut Transcript) {
        let cwd = transcript.cwd.clone();
        let environment = format!(
            "# Environment\n - Primary working directory: {cwd}\n{}",
            self.assets.environment
        );
        self.attachment(transcript, "environment", Some((Role::System, &environment)), |json| {
            json.key("snapshot").open().text("workingDirectory", &cwd);
            json.members(
                r#""isWorktree":false,"isGitRepo":true,"platform":"linux","shell":"bash""#,
            );
            json.close();
        });
        let model = transcript.model.name;
        let text = format!("You are powered by the model {model}.");
        self.attachment(transcript, "model", Some((Role::System, &text)), |json| {
            json.key("identity").open().text("modelId", model).close().text("text", &text);
        });
        let names = ["CronCreate", "CronDelete", "EnterWorktree", "Monitor", "WebSearch"];
        let text = format!("The following deferred tools are now available: {}", names.join("\n"));
        self.attachment(transcript, "deferred_tools_delta", Some((Role::System, &text)), |json| {
            json.texts("addedNames", names).texts("addedLines", names).texts("removedNames", []);
        });
        let agents = self.assets.agents.clone();
        let text = format!("Available agent types for the Agent tool:\n{}", agents.join("\n"));
        self.attachment(transcript, "agent_listing_delta", Some((Role::System, &text)), |json| {
            json.texts("addedLines", agents.iter().map(String::as_str)).flag("isInitial", true);
        });
        let skills = self.assets.skills.clone();
        let text = format!("The following skills are available:\n\n{skills}");
        self.attachment(transcript, "skill_listing", Some((Role::System, &text)), |json| {
            json.text("content", &skills).number("skillCount", 13).flag("isInitial", true);
        });
        self.attachment(transcript, "session_context", None, |json| {
            json.key("context").open().close();
        });
        let today = date(transcript.now);
        let text = format!("Today's date is {today}.");
        self.attachment(transcript, "date", Some((Role::System, &text)), |json| {
            json.text("date", &today);
        });
        if self.random.chance(3_000) {
            let memory = self.text.piece(&mut self.random, Style::Prose, 2_500);
            let path = format!("{cwd}/CLAUDE.md");
            self.attachment(transcript, "instructions", Some((Role::User, &memory)), |json| {
                json.key("files").open_list().open().text("path", &path).text("type", "Project");
                json.text("content", &memory).close().close_list();
            });
        }
        self.prompt_snapshot(transcript, false);
    }

    /// The system prompt, and sometimes the tools with it.
    pub(super) fn prompt_snapshot(&mut self, transcript: &mut Transcript, tools: bool) {
        let system = self.assets.system_prompt.clone();
        let list = if tools { self.assets.snapshot_tools.clone() } else { Vec::new() };
        self.attachment(transcript, "prompt_snapshot", None, |json| {
            json.key("systemPrompt").raw(&system);
            if tools {
                json.key("tools").raw(&list);
            }
            json.flag("reminderFold", false).flag("echoWireToolInputs", false);
            json.text("contextRendering", "announced");
        });
    }

    /// The lines of one request: its shape when it is new, blobs, and the request itself.
    pub(super) fn request(&mut self, transcript: &mut Transcript) {
        if !transcript.era.new {
            return;
        }
        let shape = match transcript.new.shape {
            Some(shape) => shape,
            None => {
                let shape = self.random.below(self.assets.shapes.len());
                transcript.new.shape = Some(shape);
                self.request_shape(transcript, shape);
                self.request_blob(transcript, "user", 1_500);
                self.request_blob(transcript, "system", 9_600);
                shape
            }
        };
        if self.random.chance(4_000) {
            let size = self.random.long_tail(7_000, 5, 300, 200_000) as usize;
            self.request_blob(transcript, "user", size);
        } else {
            let hash = self.random.hex(64);
            transcript.new.message_hashes.push(hash);
        }
        let id = self.random.uuid();
        let whole = transcript.new.last_request.is_none() || self.random.chance(120);
        let mut json = Json::line();
        json.text("type", "api-request");
        session_of(&mut json, transcript);
        json.text("id", &id).text("timestamp", &timestamp(transcript.now));
        json.text("version", transcript.era.version);
        let source = if transcript.interactive { "repl_main_thread" } else { "sdk" };
        json.text("querySource", source).text("shapeHash", &self.assets.shapes[shape].hash);
        json.key("params").open().text("model", transcript.model.name);
        json.members(
            r#""betas":["claude-code-20250219","interleaved-thinking-2025-05-14","context-management-2025-06-27"],"max_tokens":128000,"thinking":{"type":"adaptive","display":"updates"},"output_config":{"effort":"medium"}"#,
        );
        json.close();
        let start = match (&transcript.new.last_request, whole) {
            (Some(base), false) => {
                json.text("base", base);
                transcript.new.kept_hashes
            }
            _ => 0,
        };
        json.number("keep", start as u64);
        json.texts("tail", transcript.new.message_hashes[start..].iter().map(String::as_str));
        json.members(
            r#""cacheControl":[{"path":["system",0],"value":{"type":"ephemeral"}},{"path":["system",1],"value":{"type":"ephemeral"}}]"#,
        );
        json.text("requestDigest", &self.random.hex(64));
        let kind = "api-request";
        self.push(transcript, json.finish(), Facts { kind, ..Facts::default() });
        transcript.new.kept_hashes = transcript.new.message_hashes.len();
        transcript.new.last_request = Some(id.clone());
        transcript.new.request = id;
        // The assistant message that answers is a message of the next request.
        let hash = self.random.hex(64);
        transcript.new.message_hashes.push(hash);
    }

    fn request_shape(&mut self, transcript: &mut Transcript, shape: usize) {
        let mut json = Json::line();
        json.text("type", "api-request-shape");
        session_of(&mut json, transcript);
        json.text("shapeHash", &self.assets.shapes[shape].hash);
        json.text("timestamp", &timestamp(transcript.now));
        json.text("version", transcript.era.version).key("shape");
        json.raw(&self.assets.shapes[shape].json);
        let kind = "api-request-shape";
        self.push(transcript, json.finish(), Facts { kind, ..Facts::default() });
    }

    fn request_blob(&mut self, transcript: &mut Transcript, role: &str, size: usize) {
        let hash = self.random.hex(64);
        let text = self.text.piece(&mut self.random, Style::Prose, size);
        let mut json = Json::line();
        json.text("type", "api-request-blob");
        session_of(&mut json, transcript);
        json.text("hash", &hash).key("message").open().text("role", role).key("content");
        json.open_list().open().text("type", "text").text("text", &text).close().close_list();
        json.close();
        transcript.new.message_hashes.push(hash);
        let kind = "api-request-blob";
        self.push(transcript, json.finish(), Facts { kind, ..Facts::default() });
    }
}

fn session_of(json: &mut Json, transcript: &Transcript) {
    json.text("sessionId", &transcript.session_id);
    if let Some(agent) = &transcript.agent {
        json.text("agentId", agent);
    }
}
