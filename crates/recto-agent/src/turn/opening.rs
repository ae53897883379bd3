//! What happens before the first request of a session, and of a turn.

use recto_log::EntryUuid;
use recto_log::build::Level;
use recto_log::build::MetaLine;
use recto_log::build::SnapshotLine;
use recto_log::build::SystemLine;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::conversation::Written;
use super::event::Began;
use super::event::End;
use super::event::TurnEvent;
use super::runner::Runner;
use super::shared::lock;
use crate::hook::Answer;
use crate::hook::Event;
use crate::hook::Facts;
use crate::tool::Tool;
use crate::wire::Json;

impl Runner {
    /// Lines about the whole session: its title, and the kind of agent that it is run as. A log
    /// that goes on keeps the ones it has.
    pub(super) async fn begin_heading(&mut self) -> Written<()> {
        let goes_on = self.resumed.leaf.is_some() && self.setup.copied.is_empty();
        let mut lines = Vec::new();
        // A copy has its title from the session that it was made of.
        let is_copy = !self.setup.copied.is_empty();
        let copied = self.resumed.title.clone().filter(|_| is_copy);
        if let Some(title) = self.setup.with.title.take().or(copied) {
            self.resumed.title = Some(title.clone());
            lines.push(MetaLine::CustomTitle(title.clone().into()));
            lines.push(MetaLine::AgentName(title.into()));
        }
        if let Some(kind) = self.resumed.runs_as.take() {
            lines.push(MetaLine::AgentSetting(kind.into()));
        }
        for line in &lines {
            self.conversation.transcript.meta(line)?;
        }
        if !goes_on {
            self.heading = lines;
        }
        Ok(())
    }

    /// The lines that a copy of another session begins with.
    pub(super) fn begin_log(&mut self) -> Written<()> {
        for line in std::mem::take(&mut self.setup.copied) {
            self.conversation.transcript.append(&line)?;
        }
        Ok(())
    }

    /// A session that was cut off gets its open calls answered, in the log too.
    pub(super) fn write_repairs(&mut self) -> Written<()> {
        let calls = std::mem::take(&mut self.resumed.open_calls);
        let needs_answer = std::mem::take(&mut self.resumed.needs_answer);
        self.conversation.transcript.mend(&calls, needs_answer)
    }

    /// Hooks that look at a session which begins; `source` says how it does.
    pub(super) async fn session_start_hooks(
        &mut self,
        source: &'static str,
        cancel: &CancellationToken,
    ) -> Written<()> {
        let shared = std::sync::Arc::clone(&self.conversation.shared);
        if shared.hooks.has(Event::InstructionsLoaded) {
            let instructions = self.conversation.instructions();
            for file in &instructions.files {
                let path = file.path.display().to_string();
                let parent = file.parent.as_ref().map(|path| path.display().to_string());
                let facts = Facts::InstructionsLoaded {
                    file_path: &path,
                    memory_type: file.kind.name(),
                    load_reason: file.reason(),
                    parent: parent.as_deref(),
                };
                let scene = self.conversation.scene();
                let id = uuid::Uuid::new_v4().to_string();
                shared.run_hooks(&facts, &scene, None, &id, cancel).await;
            }
        }
        let facts = Facts::SessionStart { source, extra: Map::new() };
        let id = uuid::Uuid::new_v4().to_string();
        let scene = self.conversation.scene();
        if let Some((answer, _)) = shared.run_hooks(&facts, &scene, None, &id, cancel).await {
            self.conversation.write_hook_lines(&answer.lines)?;
        }
        Ok(())
    }

    /// Hooks that look at a prompt can refuse it.
    pub(super) async fn prompt_hooks(
        &mut self,
        text: &str,
        cancel: &CancellationToken,
    ) -> Written<Option<End>> {
        let shared = std::sync::Arc::clone(&self.conversation.shared);
        let facts = Facts::UserPromptSubmit { prompt: text };
        let id = uuid::Uuid::new_v4().to_string();
        let scene = self.conversation.scene();
        let hooks = shared.run_hooks(&facts, &scene, None, &id, cancel).await;
        let Some((answer, _)) = hooks else { return Ok(None) };
        if let Some(text) = refusal_of(Event::UserPromptSubmit, &answer, text) {
            let reason = match &answer.block {
                Some(block) => block.reason.as_deref(),
                None => answer.stop.as_deref(),
            };
            let reason = reason.map(str::trim_end).filter(|reason| !reason.is_empty());
            let mut outcome = match answer.block {
                Some(_) => json!({"kind": "blocked_by_hook", "prompt_kept": false}),
                None => json!({"kind": "stopped_by_hook", "prompt_kept": true}),
            };
            if let Some(reason) = reason {
                outcome["reason"] = reason.into();
            }
            if answer.block.is_none() {
                // The prompt stays in the log, so it comes first.
                self.stopped_prompt = Some((text, outcome));
                return Ok(None);
            }
            self.tell_began().await;
            self.refuse_prompt(&text, Some(outcome)).await?;
            return Ok(Some(End::PromptBlocked(text)));
        }
        if let Some(title) = &answer.session_title {
            self.conversation.transcript.meta(&MetaLine::CustomTitle(title.as_str().into()))?;
            let line =
                json!({"type": "system", "subtype": "session_title_changed", "title": title});
            self.conversation.tell(TurnEvent::System(line)).await;
        }
        self.prompt_lines = answer.lines;
        Ok(None)
    }

    /// Hooks that look at a command of the user can refuse it, too.
    pub(super) async fn expansion_hooks(
        &mut self,
        name: &str,
        arguments: &str,
        prompt: &str,
        cancel: &CancellationToken,
    ) -> Written<Option<End>> {
        let shared = std::sync::Arc::clone(&self.conversation.shared);
        if !shared.hooks.has(Event::UserPromptExpansion) {
            return Ok(None);
        }
        let home = {
            let offer = shared.offer.get();
            let Some(skill) = offer.skills.iter().find(|skill| skill.name == name) else {
                return Ok(None);
            };
            let place = lock(&shared.place).clone();
            skill.directory.starts_with(&place.claude)
        };
        let source = if home { "userSettings" } else { "projectSettings" };
        let facts =
            Facts::UserPromptExpansion { kind: "slash_command", name, arguments, source, prompt };
        let id = uuid::Uuid::new_v4().to_string();
        let scene = self.conversation.scene();
        let hooks = shared.run_hooks(&facts, &scene, None, &id, cancel).await;
        let Some((answer, _)) = hooks else { return Ok(None) };
        if let Some(text) = refusal_of(Event::UserPromptExpansion, &answer, prompt) {
            self.tell_began().await;
            self.refuse_prompt(&text, None).await?;
            return Ok(Some(End::PromptBlocked(text)));
        }
        self.prompt_lines.extend(answer.lines);
        Ok(None)
    }

    /// Says that a prompt was refused, in the log and the stream.
    pub(super) async fn refuse_prompt(
        &mut self,
        text: &str,
        outcome: Option<Value>,
    ) -> Written<()> {
        let line = SystemLine::Informational { content: text.into(), level: Level::Warning };
        self.conversation.transcript.system(&line)?;
        let mut line = json!({
            "type": "system",
            "subtype": "informational",
            "content": text,
            "level": Level::Warning.name(),
            "prevent_continuation": true,
        });
        if let Some(outcome) = outcome {
            line["prompt_submit_outcome"] = outcome;
        }
        self.conversation.tell(TurnEvent::System(line)).await;
        Ok(())
    }

    /// Takes over what the host changed since the last turn.
    pub(super) async fn take_changes(&mut self) -> Written<()> {
        let shared = std::sync::Arc::clone(&self.conversation.shared);
        shared.servers.ready().await;
        shared.offer_servers();
        self.write_title()?;
        let changes = std::mem::take(&mut *lock(&shared.changes));
        // They are written behind the lines of the queue.
        lock(&shared.changes).commands = changes.commands;
        let has_words = changes.system_prompt.is_some() || changes.append_system_prompt.is_some();
        if let Some(text) = changes.system_prompt {
            self.setup.system_prompt = Some(text);
        }
        if let Some(text) = changes.append_system_prompt {
            self.setup.append_system_prompt = Some(text);
        }
        if has_words {
            self.conversation.system = self.setup.system(&shared.model());
        }
        if let Some(schema) = changes.schema {
            self.conversation.schema = Some(std::sync::Arc::new(schema));
        }
        self.conversation.declared = super::conversation::declarations(&self.conversation.tools);
        Ok(())
    }

    /// Writes a title that the host gave.
    pub(super) fn write_title(&mut self) -> Written<()> {
        let title = lock(&self.conversation.shared.changes).title.take();
        match title {
            Some((title, is_name)) => {
                let transcript = &mut self.conversation.transcript;
                transcript.meta(&MetaLine::CustomTitle(title.as_str().into()))?;
                match is_name {
                    true => transcript.meta(&MetaLine::AgentName(title.as_str().into())),
                    false => Ok(()),
                }
            }
            None => Ok(()),
        }
    }

    /// Files that were changed before, as they are when a prompt comes.
    pub(super) fn write_snapshot(&mut self, prompt: &EntryUuid) -> Written<()> {
        let Some(checkpoints) = &self.conversation.shared.checkpoints else { return Ok(()) };
        let files = Json::from(lock(checkpoints).begin(&prompt.to_string()));
        self.conversation.transcript.meta(&MetaLine::FileHistorySnapshot(SnapshotLine {
            message: prompt.clone(),
            snapshot_message: prompt.clone(),
            files: files.value(),
            time: jiff::Timestamp::now(),
            is_update: false,
        }))
    }

    /// Images of a prompt as files, so that tools can have them, too.
    pub(super) fn keep_images(&mut self, content: &Value) -> Written<()> {
        let images = content.as_array().into_iter().flatten();
        let images = images.filter_map(|block| {
            let source = block.get("source").filter(|_| block["type"] == "image")?;
            Some((source["media_type"].as_str()?, source["data"].as_str()?))
        });
        for (kind, data) in images {
            if let Some(path) = self.conversation.tools.keep_image(kind, data) {
                let text = format!("[Image: source: {}]", path.display());
                self.conversation.transcript.companion(&text, true, None)?;
            }
        }
        Ok(())
    }

    pub(super) async fn tell_began(&self) {
        let conversation = &self.conversation;
        let shared = &conversation.shared;
        if self.turns_so_far() == 0
            && let Some(title) = &self.resumed.title
        {
            let line =
                json!({"type": "system", "subtype": "session_title_changed", "title": title});
            conversation.tell(TurnEvent::System(line)).await;
        }
        let name = |tool: &Tool| match tool {
            // Scripts know it by this name.
            Tool::Agent => "Task".to_owned(),
            other => other.name().to_owned(),
        };
        let offer = shared.offer.get();
        let mut tools: Vec<String> = offer.tools.iter().map(name).collect();
        tools.extend(offer.mcp.iter().map(crate::tool::McpTool::name));
        if conversation.schema.is_some() {
            tools.push(super::call::STRUCTURED_OUTPUT.to_owned());
        }
        let place = lock(&shared.place).clone();
        let began = Began {
            cwd: conversation.tools.cwd().display().to_string(),
            tools,
            model: conversation.model(),
            mode: shared.mode(),
            servers: shared.servers.summary(),
            agents: offer.agents.iter().map(|kind| kind.name.clone()).collect(),
            skills: offer.skills.iter().map(|skill| skill.name.clone()).collect(),
            prompts: shared.servers.prompts().into_iter().map(|(name, _)| name).collect(),
            output_style: shared.output_style.name.clone(),
            plugins: shared.plugins.clone(),
            directories: place.additional.iter().map(|path| path.display().to_string()).collect(),
        };
        conversation.tell(TurnEvent::Began(Box::new(began))).await;
    }
}

/// What is said when hooks refuse a prompt.
fn refusal_of(event: Event, answer: &Answer, prompt: &str) -> Option<String> {
    match (&answer.block, answer.stop.as_deref()) {
        (Some(block), _) => {
            let (event, why) = (event.name(), &block.message);
            Some(format!("{event} operation blocked by hook:\n{why}\n\nOriginal prompt: {prompt}"))
        }
        (None, Some("")) => Some("Operation stopped by hook".to_owned()),
        (None, Some(why)) => Some(format!("Operation stopped by hook: {why}")),
        (None, None) => None,
    }
}
