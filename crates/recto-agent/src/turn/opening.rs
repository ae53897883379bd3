//! What happens before the first request of a session, and of a turn.

use recto_log::EntryUuid;
use recto_log::build::Level;
use recto_log::build::MetaLine;
use recto_log::build::SnapshotLine;
use serde_json::Map;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::conversation::Written;
use super::event::Began;
use super::event::End;
use super::event::TurnEvent;
use super::runner::Runner;
use super::shared::lock;
use crate::hook::Event;
use crate::hook::Facts;
use crate::memory::Environment;
use crate::memory::Git;
use crate::memory::Instructions;
use crate::memory::Roots;
use crate::memory::date_note;
use crate::tool::Tool;
use crate::wire::Json;

impl Runner {
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

    pub(super) async fn session_start_hooks(&mut self, cancel: &CancellationToken) -> Written<()> {
        let shared = std::sync::Arc::clone(&self.conversation.shared);
        if shared.hooks.has(Event::InstructionsLoaded) {
            let instructions = self.instructions();
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
        let source = if self.resumed.leaf.is_some() { "resume" } else { "startup" };
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
        let refusal = match (&answer.block, &answer.stop) {
            (Some(block), _) => {
                let why = &block.message;
                Some(format!(
                    "UserPromptSubmit operation blocked by hook:\n{why}\n\nOriginal prompt: {text}"
                ))
            }
            (None, Some(why)) => Some(format!("Operation stopped by hook: {why}")),
            (None, None) => None,
        };
        if let Some(text) = refusal {
            self.conversation.inform(&text, Level::Warning).await?;
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

    fn instructions(&self) -> Instructions {
        let place = self.conversation.shared.place_in(self.setup.project.clone());
        let roots = Roots {
            place: &place,
            wanted: self.setup.wanted,
            managed: self.setup.managed_instructions.clone(),
        };
        Instructions::read(&roots)
    }

    /// What the model should know of the world: once, behind the first prompt.
    pub(super) fn announce_world(&mut self) -> Written<()> {
        let shared = std::sync::Arc::clone(&self.conversation.shared);
        let place = shared.place_in(self.setup.project.clone());
        let git = Git::find(&place.cwd);
        let shell = self.setup.shell.display().to_string();
        let environment = Environment::look(&place, git.as_ref(), Some(&shell));
        let instructions = self.instructions();
        let transcript = &mut self.conversation.transcript;
        transcript.attachment(&environment.attachment(), Some((&environment.note(), "system")))?;
        let kinds = &shared.offer.agents;
        if shared.offer.tools.contains(&Tool::Agent) && !kinds.is_empty() {
            let line = |kind: &crate::tool::AgentType| format!("- {}: {}", kind.name, kind.about);
            let lines: Vec<String> = kinds.iter().map(line).collect();
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
            let attachment = json!({
                "type": "agent_listing_delta",
                "addedTypes": names,
                "addedLines": lines,
                "removedTypes": [],
                "isInitial": true,
            });
            let note = format!("Kinds of subagents for the Agent tool:\n{}", lines.join("\n"));
            transcript.attachment(&attachment, Some((&note, "system")))?;
        }
        let skills = &shared.offer.skills;
        if shared.offer.tools.contains(&Tool::Skill) && !skills.is_empty() {
            let lines: Vec<String> =
                skills.iter().map(|skill| format!("- {}: {}", skill.name, skill.about)).collect();
            let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
            let attachment = json!({
                "type": "skill_listing",
                "content": lines.join("\n"),
                "skillCount": skills.len(),
                "isInitial": true,
                "names": names,
            });
            let note = format!("Skills for the Skill tool:\n{}", lines.join("\n"));
            transcript.attachment(&attachment, Some((&note, "system")))?;
        }
        if !instructions.files.is_empty() {
            let mut note = String::from(
                "Instructions of the user for work here. They come before your own habits.",
            );
            for file in &instructions.files {
                note.push_str(&format!(
                    "\n\nContents of {}:\n\n{}",
                    file.path.display(),
                    file.content
                ));
            }
            transcript.attachment(&instructions.attachment(), Some((&note, "user")))?;
        }
        let (note, attachment) = date_note(jiff::Zoned::now().date());
        transcript.attachment(&attachment, Some((&note, "system")))?;
        for (path, why) in instructions.skipped {
            self.resumed.told.push(format!("{} was not read: {why}", path.display()));
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
        let mut tools: Vec<String> = shared.offer.tools.iter().map(name).collect();
        if conversation.schema.is_some() {
            tools.push(super::call::STRUCTURED_OUTPUT.to_owned());
        }
        let place = lock(&shared.place).clone();
        let began = Began {
            cwd: conversation.tools.cwd().display().to_string(),
            tools,
            model: conversation.model(),
            mode: shared.mode(),
            agents: shared.offer.agents.iter().map(|kind| kind.name.clone()).collect(),
            skills: shared.offer.skills.iter().map(|skill| skill.name.clone()).collect(),
            directories: place.additional.iter().map(|path| path.display().to_string()).collect(),
        };
        conversation.tell(TurnEvent::Began(Box::new(began))).await;
    }
}
