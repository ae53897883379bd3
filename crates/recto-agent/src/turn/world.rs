//! What a model is told of the world: at the start, and again after a compaction.

use serde_json::json;

use super::conversation::Conversation;
use super::conversation::Written;
use crate::memory::Environment;
use crate::memory::Git;
use crate::memory::Instructions;
use crate::memory::Roots;
use crate::memory::date_note;
use crate::tool::Tool;

impl Conversation {
    /// The instruction files of the user, the project and the administrator.
    pub(super) fn instructions(&self) -> Instructions {
        let shared = &self.shared;
        let place = shared.place_in(shared.places.project.clone());
        let roots = Roots {
            place: &place,
            wanted: shared.wanted,
            managed: shared.managed_instructions.clone(),
        };
        Instructions::read(&roots)
    }

    /// What there is to tell of the place where the session works now.
    pub(super) fn environment(&self) -> Environment {
        let place = self.shared.place_in(self.tools.cwd());
        let shell = self.shared.places.shell.display().to_string();
        Environment::look(&place, Git::find(&place.cwd).as_ref(), Some(&shell))
    }

    /// What the model should know of the world: once, behind the first prompt.
    pub(super) fn announce_world(&mut self) -> Written<()> {
        let shared = std::sync::Arc::clone(&self.shared);
        let environment = self.environment();
        let transcript = &mut self.transcript;
        transcript.attachment(&environment.attachment(), Some((&environment.note(), "system")))?;
        let offer = shared.offer.get();
        let kinds = &offer.agents;
        if offer.tools.contains(&Tool::Agent) && !kinds.is_empty() {
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
        let skills: Vec<_> = offer.skills.iter().filter(|skill| !skill.is_for_users).collect();
        if offer.tools.contains(&Tool::Skill) && !skills.is_empty() {
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
        if shared.mode() == "plan"
            && let Some(file) = self.tools.plan_file()
        {
            let note = format!(
                "Plan mode is on: change nothing. Look around, then write the plan to {} and call ExitPlanMode.",
                file.display()
            );
            let attachment =
                json!({"type": "plan_mode", "planFilePath": file, "planExists": false});
            self.transcript.attachment(&attachment, Some((&note, "system")))?;
        }
        Ok(())
    }

    /// Instructions of the user, and the date: with the first prompt that asks.
    pub(super) fn announce_day(&mut self) -> Written<Vec<String>> {
        let instructions = self.instructions();
        let transcript = &mut self.transcript;
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
        let skipped = instructions.skipped.into_iter();
        Ok(skipped.map(|(path, why)| format!("{} was not read: {why}", path.display())).collect())
    }
}
