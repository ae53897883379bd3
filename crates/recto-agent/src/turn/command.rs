//! Commands that a prompt names: `/clear`, `/compact`, `/model`, and those of the user.

use recto_log::EntryUuid;
use recto_log::build::SystemLine;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::compact::Outcome;
use super::control::Prompt;
use super::conversation::Written;
use super::event::End;
use super::event::LocalCommand;
use super::event::Said;
use super::event::TurnEvent;
use super::local_command::is_local;
use super::local_command::own_name;
use super::prompt::display_name;
use super::prompt::model_named;
use super::runner::Runner;
use super::runner::Start;
use super::shared::lock;
use super::transcript::Kept;
use super::transcript::PromptFacts;
use crate::tool::filled_skill;
use crate::wire::Json;

const CAVEAT: &str = "<local-command-caveat>The command below was run by the client, not sent to you, and its output went to the user. It is here as context for later messages.</local-command-caveat>";

/// Commands of clients that have a screen, where there is none.
const NEED_A_TERMINAL: [&str; 32] = [
    "add-dir",
    "bashes",
    "btw",
    "bug",
    "copy",
    "exit",
    "export",
    "extra-usage",
    "feedback",
    "help",
    "hooks",
    "ide",
    "login",
    "logout",
    "memory",
    "permissions",
    "plan",
    "plugin",
    "privacy-settings",
    "quit",
    "release-notes",
    "resume",
    "rewind",
    "sandbox",
    "skills",
    "status",
    "statusline",
    "tasks",
    "terminal-setup",
    "theme",
    "upgrade",
    "vim",
];

/// A command: name and arguments.
pub(super) type Command = (String, String);

/// The command that a text begins with.
fn named(text: &str) -> Option<Command> {
    let rest = text.strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    (!name.is_empty() && name.chars().all(is_name))
        .then(|| (name.to_owned(), arguments.trim().to_owned()))
}

impl Runner {
    /// The command of a prompt, if the client runs it itself.
    pub(super) fn local_command(&self, start: &Start) -> Option<Command> {
        let command = command_of(start)?;
        let name = command.0.as_str();
        let is_own = matches!(name, "clear" | "compact" | "model");
        let offer = self.conversation.shared.offer.get();
        let is_foreign = || {
            (NEED_A_TERMINAL.contains(&name) || is_local(name))
                && offer.skills.iter().all(|skill| skill.name != name)
        };
        (is_own || is_foreign()).then_some(command)
    }

    /// Runs a command of the client.
    pub(super) async fn run_command(
        &mut self,
        command: Command,
        start: &Start,
        cancel: &CancellationToken,
    ) -> Written<End> {
        self.open_turn(start, cancel).await?;
        let (name, arguments) = command;
        if name == "clear" {
            self.start_over(cancel).await?;
            return Ok(End::Local(Some(name)));
        }
        self.conversation.transcript.begin_prompt();
        if NEED_A_TERMINAL.contains(&name.as_str()) {
            return self.refuse_command(name, arguments).await;
        }
        let mut forbidden = false;
        let (text, is_error) = match name.as_str() {
            "compact" => {
                match self.conversation.compact("manual", Kept::Nothing, &arguments, cancel).await?
                {
                    Outcome::Done(events) => {
                        self.tell_began().await;
                        for event in *events {
                            self.conversation.tell(event).await;
                        }
                        return self.end_compaction(&name, &arguments).await;
                    }
                    Outcome::Refused(why) => (format!("Error: {why}"), true),
                    Outcome::Forbidden(why) => {
                        forbidden = true;
                        (why, true)
                    }
                }
            }
            "model" if arguments.is_empty() => {
                self.tell_began().await;
                let model = display_name(&self.conversation.shared.model());
                (format!("Current model: `{model}`\nUsage: /model <name>"), false)
            }
            other if is_local(other) => {
                let text = self.answer_command(&(name.clone(), arguments.clone())).await;
                self.tell_began().await;
                (text, false)
            }
            _ => {
                let model = model_named(&arguments);
                let text = format!("Set model to `{}` for this session only", display_name(&model));
                self.tell_began().await;
                *lock(&self.conversation.shared.model) = model;
                (text, false)
            }
        };
        if is_error {
            self.tell_began().await;
        }
        let own = own_name(&name).to_owned();
        self.write_command(&own, &arguments)?;
        let command = LocalCommand { name: own, arguments, is_error, is_unavailable: false };
        self.say_output(&command, &text).await?;
        let is_silent = is_error && !forbidden;
        self.conversation.turn.text = if is_silent { String::new() } else { text };
        Ok(End::Local(Some(name.replace('-', "_"))))
    }

    /// Says that a command needs a screen.
    async fn refuse_command(&mut self, name: String, arguments: String) -> Written<End> {
        self.tell_began().await;
        let typed = format!("/{name} {arguments}");
        self.conversation.transcript.system(&SystemLine::LocalCommand {
            content: typed.trim_end().into(),
            run: None,
            is_display_only: false,
        })?;
        let text = format!("/{name} isn't available in this environment.");
        let command = LocalCommand { name, arguments, is_error: false, is_unavailable: true };
        self.say_output(&command, &text).await?;
        self.conversation.turn.text = text;
        Ok(End::Local(None))
    }

    async fn end_compaction(&mut self, name: &str, arguments: &str) -> Written<End> {
        self.write_command(name, arguments)?;
        let told = std::mem::take(&mut self.conversation.compaction_told).join("\n");
        let text = format!("<local-command-stdout>Compacted {told}</local-command-stdout>");
        let uuid = self.conversation.transcript.command_line(&text, false)?;
        self.conversation.announce_world()?;
        self.knows_day = false;
        let content = Value::String(text);
        let event = TurnEvent::Prompted {
            uuid: uuid.to_string(),
            content,
            is_output: true,
            is_known: false,
        };
        self.conversation.tell(event).await;
        self.conversation.turn.text.clear();
        Ok(End::Local(Some(name.to_owned())))
    }

    /// The lines that say which command it was; the name of the last one.
    pub(super) fn write_command(&mut self, name: &str, arguments: &str) -> Written<EntryUuid> {
        let transcript = &mut self.conversation.transcript;
        transcript.command_line(CAVEAT, true)?;
        let text = format!(
            "<command-name>/{name}</command-name>\n            <command-message>{name}</command-message>\n            <command-args>{arguments}</command-args>"
        );
        transcript.command_line(&text, false)
    }

    /// Notes what the host changed as the command that does the same.
    pub(super) fn write_host_commands(&mut self) -> Written<()> {
        let commands = std::mem::take(&mut lock(&self.conversation.shared.changes).commands);
        for (name, arguments, text) in commands {
            self.write_command(name, &arguments)?;
            let text = format!("<local-command-stdout>{text}</local-command-stdout>");
            self.conversation.transcript.command_line(&text, false)?;
        }
        Ok(())
    }

    /// What a command said, for the log.
    pub(super) fn write_output(
        &mut self,
        command: &LocalCommand,
        text: &str,
    ) -> Written<EntryUuid> {
        let kind = if command.is_error { "stderr" } else { "stdout" };
        let content = format!("<local-command-{kind}>{text}</local-command-{kind}>");
        let run = Json::from(json!({"command": command.name, "args": command.arguments}));
        self.conversation.transcript.system(&SystemLine::LocalCommand {
            content: content.into(),
            run: Some(run.value()).filter(|_| !command.is_unavailable),
            is_display_only: false,
        })
    }

    /// What a command says, in the model's place.
    async fn say_output(&mut self, command: &LocalCommand, text: &str) -> Written<()> {
        let uuid = self.write_output(command, text)?;
        let message = json!({
            "id": uuid::Uuid::new_v4().to_string(),
            "model": "<synthetic>",
            "role": "assistant",
            "stop_reason": "end_turn",
            "stop_sequence": null,
            "type": "message",
            "usage": {
                "output_tokens_details": null,
                "input_tokens": 0,
                "output_tokens": 0,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
                "service_tier": null,
                "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
                "inference_geo": null,
                "iterations": null,
                "speed": null,
                "fallback_credit": null,
            },
            "content": [{"type": "text", "text": text}],
        });
        let said = Said {
            uuid: uuid.to_string(),
            message: message.into(),
            speaker: None,
            request_id: None,
            is_aborted: false,
            thinking: None,
            failure: None,
            prompts: Vec::new(),
            command: Some(command.clone()),
        };
        self.conversation.tell(TurnEvent::Said(Box::new(said))).await;
        Ok(())
    }

    /// Asks the server whose prompt is called by a command.
    pub(super) async fn ask_for_prompt(&mut self, start: &Start) {
        let Some((name, arguments)) = command_of(start) else { return };
        let shared = &self.conversation.shared;
        match shared.servers.prompt(&name, &arguments).await {
            Some(Ok(text)) => self.server_prompt = Some(text),
            Some(Err(why)) => {
                self.resumed.told.push(format!("/{name} returned no prompt: {why}"));
            }
            None => {}
        }
    }

    /// Writes a prompt; one that names a skill or command of the user is expanded.
    pub(super) fn write_prompt(
        &mut self,
        start: &Start,
        content: &Value,
        facts: &PromptFacts,
    ) -> Written<()> {
        let transcript = &mut self.conversation.transcript;
        let offer = self.conversation.shared.offer.get();
        let command = command_of(start);
        if let (Some((name, arguments)), Some(text)) = (&command, self.server_prompt.take()) {
            transcript.prompt(&Value::String(command_text(name, arguments)), facts)?;
            transcript.companion(&text, true, None)?;
            return Ok(());
        }
        let skill = command
            .as_ref()
            .and_then(|(name, _)| offer.skills.iter().find(|skill| skill.name == *name));
        let (Some((name, arguments)), Some(skill)) = (&command, skill) else {
            transcript.prompt(content, facts)?;
            self.unknown_command = command.map(|(name, _)| name);
            return Ok(());
        };
        transcript.prompt(&Value::String(command_text(name, arguments)), facts)?;
        transcript.companion(&filled_skill(skill, arguments), true, None)?;
        lock(&self.conversation.shared.permissions).allow_for_turn(&skill.allowed);
        self.command_allows = Some(skill.allowed.clone());
        self.conversation.own_model = skill.model.as_deref().map(model_named);
        Ok(())
    }

    /// Tells the model that a prompt looks like a command that is not there.
    pub(super) fn tell_unknown_command(&mut self) -> Written<()> {
        let Some(name) = self.unknown_command.take() else { return Ok(()) };
        let offer = self.conversation.shared.offer.get();
        let known: Vec<&str> = offer.skills.iter().map(|skill| skill.name.as_str()).collect();
        let attachment = json!({
            "type": "unknown_command_fallback",
            "commandName": name,
            "availableCommandNames": known,
            "availableCommandCount": known.len(),
        });
        let note = format!(
            "The prompt begins with /{name}, which is not a command here{}. Treat it as the user's words.",
            if known.is_empty() {
                String::new()
            } else {
                format!("; the commands are: {}", known.join(", "))
            }
        );
        self.conversation.transcript.attachment(&attachment, Some((&note, "system")))?;
        Ok(())
    }
}

/// A command in a prompt's place.
fn command_text(name: &str, arguments: &str) -> String {
    let mut text =
        format!("<command-message>{name}</command-message>\n<command-name>/{name}</command-name>");
    if !arguments.is_empty() {
        text.push_str(&format!("\n<command-args>{arguments}</command-args>"));
    }
    text
}

pub(super) fn command_of(start: &Start) -> Option<Command> {
    match start {
        Start::Prompt(prompt) => command_in(prompt),
        _ => None,
    }
}

/// Whether a prompt begins with a command, known or not: it waits for the end of a turn.
pub(super) fn is_command(prompt: &Prompt) -> bool {
    command_in(prompt).is_some()
}

fn command_in(prompt: &Prompt) -> Option<Command> {
    if prompt.is_verbatim || !prompt.asks {
        return None;
    }
    let text = match &prompt.content {
        Value::String(text) => text.as_str(),
        Value::Array(blocks) if blocks.len() == 1 => blocks.first()?["text"].as_str()?,
        _ => return None,
    };
    named(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_name_behind_a_slash() {
        let command = |text: &str| named(text).map(|(name, rest)| format!("{name}|{rest}"));
        assert_eq!(command("/compact keep the plan").as_deref(), Some("compact|keep the plan"));
        assert_eq!(command("/model").as_deref(), Some("model|"));
        assert_eq!(command("/home/dev/app is the folder"), None);
        assert_eq!(command("no /compact"), None);
    }
}
