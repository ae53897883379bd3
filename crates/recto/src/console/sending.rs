//! What is typed is sent: a prompt, a command, a note, or a shell command.

use serde_json::Value;
use serde_json::json;

use super::blocks;
use super::commands::ALIASES;
use super::commands::COMMANDS;
use super::live::Queued;
use super::state::Console;
use super::state::Effect;

impl Console {
    /// Sends what is typed: a prompt, a command, a note, or a shell command.
    pub(super) fn send(&mut self) -> Vec<Effect> {
        if self.editor.text().trim().is_empty() {
            return Vec::new();
        }
        self.completion = None;
        let (shown, whole, images) = self.editor.take();
        let mut effects = vec![Effect::History(shown.clone())];
        if let Some(command) = whole.strip_prefix('!').map(str::trim).filter(|c| !c.is_empty()) {
            self.echo(&shown);
            effects.push(Effect::Shell(command.to_owned()));
            return effects;
        }
        if let Some(note) = whole.strip_prefix('#').map(str::trim).filter(|n| !n.is_empty()) {
            self.echo(&shown);
            effects.push(Effect::Remember(note.to_owned()));
            return effects;
        }
        if let Some(name) = self.unknown_command(&shown) {
            self.refuse_command(name, &whole);
            return effects;
        }
        if let Some(more) = self.command(&shown) {
            effects.extend(more);
            return effects;
        }
        effects.push(self.prompt(&shown, &whole, &images));
        effects
    }

    /// What the user said, as a part of the conversation.
    pub(super) fn echo(&mut self, text: &str) {
        if self.facts.shows_typing {
            self.print(vec![Vec::new()]);
        } else {
            self.print(blocks::prompt(text, self.width));
        }
    }

    /// A prompt for the session, which waits if the session is busy.
    pub(super) fn prompt(&mut self, shown: &str, whole: &str, images: &[String]) -> Effect {
        let uuid = recto_store::new_session_id().to_string();
        if self.live.is_busy {
            // It is printed when the session takes it; until then it can be taken back.
            let (text, shown) = (whole.to_owned(), shown.to_owned());
            self.live.queue.push(Queued { uuid: uuid.clone(), text, shown });
        } else {
            self.echo(shown);
            // Until the session says so itself.
            self.live.is_busy = true;
            self.live.since = self.tick;
        }
        let content = match images.is_empty() {
            true => Value::String(whole.to_owned()),
            // The glue reads the files.
            false => json!({"text": whole, "images": images}),
        };
        Effect::Prompt(content, uuid)
    }

    pub(super) fn shell_ended(&mut self, output: &str, code: i32) -> Vec<Effect> {
        let lines = blocks::shell_output(output, code, self.width);
        self.print(lines);
        self.print(vec![Vec::new()]);
        Vec::new()
    }

    /// The name of a command that there is not, if the text looks like one: it would cost an
    /// answer of the model.
    fn unknown_command<'t>(&self, text: &'t str) -> Option<&'t str> {
        let skills = self.skills.as_ref()?;
        let name = text.strip_prefix('/')?.split_whitespace().next()?;
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c));
        // Servers offer their prompts when they are there.
        let is_known = name.starts_with("mcp__")
            || COMMANDS.iter().any(|(known, _)| *known == name)
            || ALIASES.contains(&name)
            || skills.iter().any(|(known, _)| known == name);
        (is_name && !is_known).then_some(name)
    }

    /// Names the unknown command and keeps the text for editing.
    fn refuse_command(&mut self, name: &str, whole: &str) {
        let skills = self.skills.iter().flatten().map(|(name, _)| name.as_str());
        let known = COMMANDS.iter().map(|(known, _)| *known).chain(skills);
        let near = known.min_by_key(|known| recto_store::distance(known, name));
        let near = near.filter(|near| recto_store::distance(near, name) <= name.len().div_ceil(3));
        let advice = match near {
            Some(near) => format!("did you mean /{near}?"),
            None => "/help lists them; a space before it sends it as text".to_owned(),
        };
        let text = format!("unknown command /{name}: {advice}");
        self.hint = Some(text);
        if !self.facts.is_plain {
            self.editor.set(whole);
        }
    }
}
