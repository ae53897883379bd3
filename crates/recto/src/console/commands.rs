//! Commands of the console: `/help` and the others. Those of the user, skills, `/clear` and
//! `/compact` are the session's own.

use serde_json::Value;
use serde_json::json;

use super::picker::Choice;
use super::picker::Picker;
use super::picker::Purpose;
use super::state::Console;
use super::state::Effect;
use super::view::mode_name;
use crate::terminal::output::Look;
use crate::terminal::text::count;
use crate::terminal::text::money;
use crate::terminal::text::one_line;
use crate::terminal::text::short_model;
use crate::terminal::text::wrap;

/// Other names that people type.
pub(super) const ALIASES: [&str; 2] = ["vim", "quit"];

/// The commands, and what they do.
pub(super) const COMMANDS: [(&str, &str); 24] = [
    ("help", "list commands and keys"),
    ("model", "choose the model"),
    ("clear", "start over in a new session"),
    ("compact", "replace the conversation with a summary"),
    ("context", "show what fills the model's window"),
    ("cost", "show what this session cost"),
    ("usage", "show tokens by model"),
    ("resume", "open another session"),
    ("rewind", "go back to an earlier prompt"),
    ("fork", "continue in a copy"),
    ("export", "write the conversation to a Markdown file"),
    ("permissions", "list permission rules"),
    ("hooks", "list hooks"),
    ("mcp", "list MCP servers"),
    ("agents", "list subagents"),
    ("memory", "list memory files"),
    ("add-dir", "work in another directory, too"),
    ("status", "show session, model, sandbox"),
    ("init", "write a CLAUDE.md for this project"),
    ("undo", "undo the file changes of the last turn"),
    ("calls", "open a call: its input and whole result"),
    ("transcript", "read the conversation full-screen"),
    ("vi", "switch between vi and Emacs keys"),
    ("exit", "leave"),
];

const KEYS: [(&str, &str); 14] = [
    ("Enter", "send; waits its turn while recto works"),
    ("Alt-Enter, Ctrl-J, \\ Enter", "new line"),
    ("Esc", "interrupt"),
    ("Esc Esc", "go back to an earlier prompt, or clear the text"),
    ("Shift-Tab", "next permission mode"),
    ("Up, Down, Ctrl-R", "earlier prompts"),
    ("Tab", "complete /commands and @files"),
    ("Ctrl-O", "read the conversation full-screen"),
    ("Ctrl-X", "open a call: its input and whole result"),
    ("Ctrl-T", "show or fold thinking"),
    ("Ctrl-C, Ctrl-D", "interrupt, clear, leave"),
    ("Ctrl-Z", "suspend"),
    ("!command", "run a shell command yourself"),
    ("# text", "add a line to the project's CLAUDE.md"),
];

const NO_CONNECTION: &str =
    "no connection: check the network and ANTHROPIC_BASE_URL, then send the prompt again";

const INIT: &str = "Look at this project and write a CLAUDE.md for agents that will work on it: \
how to build, test and run it (commands that you have checked), how the code is laid out, and \
conventions that are not obvious from the code. Keep it short. If there is one already, improve it.";

impl Console {
    /// Runs a command, if the text is one of the console's.
    pub(super) fn command(&mut self, text: &str) -> Option<Vec<Effect>> {
        let rest = text.strip_prefix('/')?;
        let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let argument = argument.trim();
        let simple = |effect: Effect| Some(vec![effect]);
        if COMMANDS.iter().any(|(known, _)| *known == name)
            && !matches!(name, "clear" | "compact" | "init")
        {
            self.echo(text);
        }
        match name {
            "help" => {
                self.help();
                Some(Vec::new())
            }
            "model" if argument.is_empty() => Some(self.offer_models()),
            "model" => Some(self.set_model(argument)),
            "context" => self.asking("context-show", json!({"subtype": "get_context_usage"})),
            "usage" => {
                self.show_usage();
                Some(Vec::new())
            }
            "cost" => self.asking("cost", json!({"subtype": "get_session_cost"})),
            "permissions" => {
                self.asking("permissions", json!({"subtype": "list_permission_rules"}))
            }
            "hooks" => self.asking("hooks", json!({"subtype": "get_settings"})),
            "mcp" => self.asking("mcp", json!({"subtype": "mcp_status"})),
            "agents" => self.asking("agents", json!({"subtype": "get_context_usage"})),
            "resume" if argument.is_empty() => simple(Effect::ListSessions),
            "resume" => simple(Effect::Open(argument.to_owned())),
            "rewind" => simple(Effect::ListPrompts),
            "fork" => simple(Effect::Fork),
            "export" => simple(Effect::Export(argument.to_owned())),
            "memory" => simple(Effect::Remember(String::new())),
            "add-dir" if argument.is_empty() => {
                self.say(Look::Warning, "name a directory: /add-dir ../other");
                Some(Vec::new())
            }
            "add-dir" => simple(Effect::AddDirectory(argument.to_owned())),
            "status" => {
                self.status();
                Some(Vec::new())
            }
            "init" => Some(vec![self.prompt(text, INIT, &[])]),
            "undo" => simple(Effect::UndoFiles),
            "calls" => Some(self.show_calls()),
            "vi" | "vim" => {
                self.switch_keys();
                Some(Vec::new())
            }
            "transcript" => simple(Effect::Transcript),
            "exit" | "quit" => simple(Effect::Quit),
            // The session knows them, or tells the model that nobody does.
            _ => None,
        }
    }

    /// Takes the names of commands and skills; what they do stays known.
    pub(super) fn know_skills<'n>(&mut self, names: impl Iterator<Item = &'n String>) {
        let known = self.skills.take().unwrap_or_default();
        let about = |name: &String| {
            let found = known.iter().find(|(known, _)| known == name);
            found.map(|(_, about)| about.clone()).unwrap_or_default()
        };
        self.skills = Some(names.map(|name| (name.clone(), about(name))).collect());
    }

    /// What the session offers: the user's commands, skills and prompts of servers.
    fn take_offer(&mut self, answer: &Value) {
        let offered = answer["commands"].as_array().into_iter().flatten();
        let own = offered.filter(|command| command["builtin"] != true).map(|command| {
            let text = |name: &str| command[name].as_str().unwrap_or_default().to_owned();
            (text("name"), text("description"))
        });
        self.skills = Some(own.collect());
    }

    fn switch_keys(&mut self) {
        let is_vi = self.editor.vi_mode().is_none();
        self.editor.set_vi(is_vi);
        let name = if is_vi { "vi" } else { "Emacs" };
        let text = format!("{name} keys; `console_keys` in config.toml keeps them");
        self.say(Look::Faint, &text);
    }

    fn asking(&mut self, purpose: &str, body: Value) -> Option<Vec<Effect>> {
        Some(self.request(purpose, body).into_iter().collect())
    }

    fn pairs(&mut self, rows: &[(String, String)]) {
        let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        for (name, about) in rows {
            let name = format!("{:widest$}", one_line(name));
            let room = self.width.saturating_sub(widest + 5).max(16);
            for (at, part) in wrap(&one_line(about), room).into_iter().enumerate() {
                let name = if at == 0 { name.clone() } else { " ".repeat(widest) };
                let line =
                    vec![(format!("  {name}"), Look::Tool), (format!("  {part}"), Look::Plain)];
                self.print(vec![line]);
            }
        }
    }

    fn help(&mut self) {
        let owned = |(name, about): &(&str, &str), mark: &str| {
            (format!("{mark}{name}"), (*about).to_owned())
        };
        let mut rows: Vec<(String, String)> = COMMANDS.iter().map(|row| owned(row, "/")).collect();
        let skills = self.skills.clone().unwrap_or_default();
        rows.extend(skills.into_iter().map(|(name, about)| (format!("/{name}"), about)));
        self.pairs(&rows);
        self.print(vec![Vec::new()]);
        let rows: Vec<(String, String)> = KEYS.iter().map(|row| owned(row, "")).collect();
        self.pairs(&rows);
    }

    fn offer_models(&mut self) -> Vec<Effect> {
        let models = [
            ("default", "the usual model"),
            ("opus", "for hard tasks"),
            ("sonnet", "for everyday tasks"),
            ("haiku", "for quick answers"),
        ];
        let choices = models.map(|(name, about)| Choice::new(name, name, about)).into();
        let title = format!("Model (now {})", one_line(&self.model));
        self.show_picker(Picker::new(Purpose::Model, &title, choices))
    }

    fn status(&mut self) {
        let context = match self.context {
            Some((used, most)) => format!("{} of {} tokens", count(used), count(most)),
            None => "not known yet".to_owned(),
        };
        let rows = [
            ("session", self.session.clone()),
            ("directory", self.facts.directory.clone()),
            ("branch", self.branch.clone().unwrap_or_default()),
            ("model", self.model.clone()),
            ("mode", mode_name(&self.mode).to_owned()),
            ("context", context),
            ("cost", money(self.cost)),
            ("sandbox", self.facts.sandbox.trim_start_matches("sandbox ").to_owned()),
            ("recto", self.facts.version.clone()),
        ];
        let rows: Vec<(String, String)> = rows.map(|(name, value)| (name.to_owned(), value)).into();
        self.pairs(&rows);
    }

    /// What to do about a failure of the endpoint.
    pub(super) fn hint_at_failure(&mut self, ended: &recto_agent::turn::Ended, was_cut_off: bool) {
        let recto_agent::turn::End::ApiError(_, failed) = &ended.end else {
            if was_cut_off {
                self.say(Look::Warning, NO_CONNECTION);
            }
            return;
        };
        let hint = match (failed.error, failed.status) {
            ("authentication_failed", _) | (_, Some(401 | 403)) => {
                "the endpoint refused the key: set ANTHROPIC_API_KEY to a valid one and start again"
            }
            ("billing_error", _) => "the account has no credit left: add some, or use another key",
            ("rate_limit", _) => "too many requests: wait a little and send the prompt again",
            ("model_not_found", _) | (_, Some(404)) => {
                "the endpoint does not know the model: choose another one with /model"
            }
            (_, Some(413)) => {
                "the conversation is too long: /compact shortens it, /clear starts over"
            }
            (_, Some(400..500)) => {
                "the endpoint rejects this conversation: /rewind goes back to an earlier prompt"
            }
            (_, Some(_)) => "the endpoint failed: send the prompt again",
            (_, None) => NO_CONNECTION,
        };
        self.say(Look::Warning, hint);
    }

    fn show_usage(&mut self) {
        if self.models.is_empty() {
            return self.say(Look::Faint, "no tokens used since this session was opened");
        }
        let rows: Vec<(String, String)> = self
            .models
            .iter()
            .map(|(model, used)| {
                let about = format!(
                    "{} · {} in · {} out · cache: {} read, {} written",
                    money(used.cost),
                    count(used.input),
                    count(used.output),
                    count(used.cache_read),
                    count(used.cache_write),
                );
                (short_model(model).to_owned(), about)
            })
            .collect();
        self.pairs(&rows);
    }

    /// What the session answered.
    pub(super) fn answered(&mut self, id: &str, answer: Result<Value, String>) -> Vec<Effect> {
        let Some(purpose) = self.pending.remove(id) else { return Vec::new() };
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => {
                // Whoever types is not disturbed.
                if !matches!(purpose.as_str(), "files" | "context" | "session" | "unqueue") {
                    self.say(Look::Warning, &why);
                }
                return Vec::new();
            }
        };
        match purpose.as_str() {
            "files" => self.offer_files(&answer),
            "context" => self.note_context(&answer),
            "context-show" => {
                self.note_context(&answer);
                self.show_context(&answer);
            }
            "cost" => self.show_cost(answer["text"].as_str().unwrap_or_default()),
            "session" => self.take_offer(&answer),
            "permissions" => self.show_rules(&answer["state"]),
            "hooks" => self.show_hooks(&answer["effective"]["hooks"]),
            "mcp" => self.show_servers(&answer["mcpServers"]),
            "agents" => self.show_agents(&answer["agents"]),
            "model" => {
                let model = answer["model"].as_str().unwrap_or_default();
                model.clone_into(&mut self.model);
                self.hint = Some(format!("model: {}", one_line(model)));
            }
            "mode" => {
                answer["mode"].as_str().unwrap_or_default().clone_into(&mut self.mode);
            }
            _ => {}
        }
        Vec::new()
    }

    fn note_context(&mut self, answer: &Value) {
        let number = |name: &str| answer[name].as_u64();
        self.context = number("totalTokens").zip(number("maxTokens"));
    }

    fn show_context(&mut self, answer: &Value) {
        let most = answer["maxTokens"].as_u64().unwrap_or_default().max(1);
        let rows = answer["categories"].as_array().into_iter().flatten();
        let name = |row: &Value| one_line(row["name"].as_str().unwrap_or_default());
        let widest = rows.clone().map(|row| name(row).chars().count()).max().unwrap_or_default();
        let lines = rows.map(|row| {
            let tokens = row["tokens"].as_u64().unwrap_or_default();
            let percent = tokens as f64 * 100.0 / most as f64;
            vec![
                (format!("  {:widest$}", name(row)), Look::Tool),
                (format!("  {:>9}  {percent:>5.1}%", count(tokens)), Look::Plain),
            ]
        });
        self.print(lines.collect());
    }

    /// The session's own sums, a line for each, and the models below.
    fn show_cost(&mut self, text: &str) {
        let sums = text.lines().take_while(|line| !line.starts_with("Usage by model"));
        let sums = sums.filter_map(|line| line.split_once(": "));
        let mut rows = vec![("Total cost".to_owned(), money(self.cost))];
        let rest = sums.filter(|(name, _)| *name != "Total cost");
        rows.extend(rest.map(|(name, value)| (name.to_owned(), value.to_owned())));
        self.pairs(&rows);
        if !self.models.is_empty() {
            self.show_usage();
        }
    }

    fn show_rules(&mut self, state: &Value) {
        let rows = state["rules"].as_array().into_iter().flatten().map(|rule| {
            let text = |name: &str| rule[name].as_str().unwrap_or_default();
            (text("behavior").to_owned(), format!("{}  {}", text("rule"), text("source")))
        });
        let mut rows: Vec<(String, String)> = rows.collect();
        for directory in state["workspaceDirectories"].as_array().into_iter().flatten() {
            let path = directory["path"].as_str().unwrap_or_default();
            rows.push(("directory".to_owned(), path.to_owned()));
        }
        if rows.is_empty() {
            self.say(Look::Faint, "no rules: recto asks before it changes or runs anything");
        }
        self.pairs(&rows);
    }

    fn show_hooks(&mut self, hooks: &Value) {
        let mut rows = Vec::new();
        for (event, groups) in hooks.as_object().into_iter().flatten() {
            for group in groups.as_array().into_iter().flatten() {
                let matcher = group["matcher"].as_str().unwrap_or("*");
                for hook in group["hooks"].as_array().into_iter().flatten() {
                    let command = hook["command"].as_str().unwrap_or_default();
                    rows.push((format!("{event} {matcher}"), command.to_owned()));
                }
            }
        }
        if rows.is_empty() {
            self.say(Look::Faint, "no hooks");
        }
        self.pairs(&rows);
    }

    fn show_servers(&mut self, servers: &Value) {
        let rows = servers.as_array().into_iter().flatten().map(|server| {
            let text = |name: &str| server[name].as_str().unwrap_or_default().to_owned();
            (text("name"), text("status"))
        });
        let rows: Vec<(String, String)> = rows.collect();
        if rows.is_empty() {
            self.say(Look::Faint, "no MCP servers");
        }
        self.pairs(&rows);
    }

    fn show_agents(&mut self, agents: &Value) {
        let own = [("general-purpose", "built in"), ("Explore", "built in"), ("Plan", "built in")];
        let mut rows: Vec<(String, String)> =
            own.map(|(name, about)| (name.to_owned(), about.to_owned())).into();
        for agent in agents.as_array().into_iter().flatten() {
            let name = agent["agentType"].as_str().unwrap_or_default();
            rows.push((name.to_owned(), "yours".to_owned()));
        }
        self.pairs(&rows);
    }
}
