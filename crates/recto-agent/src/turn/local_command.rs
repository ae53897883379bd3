//! What commands answer that need no model: `/cost`, `/context`, `/mcp` and others.

use super::command::Command;
use super::event::TurnEvent;
use super::prompt::window;
use super::runner::Runner;
use super::shared::lock;
use super::totals::dollars;

/// Commands that have an answer, under the names that users type.
const ANSWERED: [&str; 8] =
    ["agents", "context", "cost", "mcp", "reload-skills", "rename", "stats", "usage"];

/// Commands of clients that have no counterpart here.
const MISSING: [&str; 12] = [
    "autocompact",
    "color",
    "config",
    "effort",
    "fast",
    "focus",
    "goal",
    "heapdump",
    "list-agents",
    "output-style",
    "recap",
    "reload-plugins",
];

/// Whether a command is answered without the model.
pub(super) fn is_local(name: &str) -> bool {
    ANSWERED.contains(&name) || MISSING.contains(&name)
}

/// The name under which a command is in the log.
pub(super) fn own_name(name: &str) -> &str {
    match name {
        "cost" | "stats" => "usage",
        other => other,
    }
}

impl Runner {
    /// What a command says.
    pub(super) async fn answer_command(&mut self, command: &Command) -> String {
        let (name, arguments) = command;
        match name.as_str() {
            "cost" | "stats" | "usage" => self.usage_text(),
            "context" => self.context_text(),
            "mcp" => self.servers_text(arguments),
            "agents" => self.agents_text(),
            "reload-skills" => {
                let count = self.conversation.shared.offer.get().skills.len();
                format!("{count} skills are available.")
            }
            "rename" => self.rename(arguments).await,
            _ => format!("/{name} isn't available here"),
        }
    }

    fn usage_text(&self) -> String {
        let totals = lock(&self.conversation.shared.totals);
        let wall = jiff::Timestamp::now().as_second() - self.started.as_second();
        let mut text = format!(
            "Total cost:            ${:.4}\nTotal duration (API):  {}s\nTotal duration (wall): {wall}s\nTotal code changes:    {} lines added, {} lines removed\n",
            dollars(totals.cost()),
            totals.api.as_secs(),
            totals.lines.0,
            totals.lines.1
        );
        if totals.models.is_empty() {
            text.push_str("Usage:                 0 input, 0 output, 0 cache read, 0 cache write");
            return text;
        }
        text.push_str("Usage by model:");
        for (name, model) in &totals.models {
            text.push_str(&format!("\n{name:>20}:  {}", model.in_words()));
        }
        text
    }

    fn context_text(&self) -> String {
        let shared = &self.conversation.shared;
        let size = lock(&shared.size).clone();
        let model = shared.model();
        let most = shared.own_window.unwrap_or_else(|| window(&model)).max(1);
        let messages = size.counted.saturating_sub(size.system + size.tools);
        let used = size.system + size.tools + messages;
        let percent = |tokens: u64| tokens * 100 / most;
        let mut text = format!(
            "## Context Usage\n\n**Model:** {model}  \n**Tokens:** {used} / {most} ({}%)\n\n| Category | Tokens | Percentage |\n|----------|--------|------------|",
            percent(used)
        );
        let rows = [
            ("System prompt", size.system),
            ("Tools", size.tools),
            ("Messages", messages),
            ("Free space", most.saturating_sub(used)),
        ];
        for (name, tokens) in rows {
            text.push_str(&format!("\n| {name} | {tokens} | {}% |", percent(tokens)));
        }
        text
    }

    fn servers_text(&self, arguments: &str) -> String {
        let servers = self.conversation.shared.servers.summary();
        let text = |server: &serde_json::Value, name: &str| {
            server[name].as_str().unwrap_or_default().to_owned()
        };
        if let Some(wanted) = arguments.split_whitespace().nth(1)
            && wanted != "all"
            && servers.iter().all(|server| server["name"] != wanted)
        {
            return format!("There's no MCP server named \"{wanted}\".");
        }
        if servers.is_empty() {
            return "No MCP servers are configured.".to_owned();
        }
        let lines = servers
            .iter()
            .map(|server| format!("{}: {}", text(server, "name"), text(server, "status")));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn agents_text(&self) -> String {
        let offer = self.conversation.shared.offer.get();
        let names: Vec<String> =
            offer.agents.iter().map(|kind| format!("- {}", kind.name)).collect();
        format!("Agents:\n{}", names.join("\n"))
    }

    async fn rename(&mut self, arguments: &str) -> String {
        if arguments.is_empty() {
            return "Usage: /rename <name>".to_owned();
        }
        lock(&self.conversation.shared.changes).title = Some((arguments.to_owned(), true));
        let line = serde_json::json!({
            "type": "system", "subtype": "session_title_changed", "title": arguments,
        });
        self.conversation.tell(TurnEvent::System(line)).await;
        // The next line of the log says whether it can be written.
        let _ = self.write_title();
        format!("Session renamed to: {arguments}")
    }
}
