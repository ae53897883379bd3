//! Tool calls: which tool, with which input.
//!
//! Owns: the `tool_use` block. Does not own: results (`results`) and subagents (`agents`).

use super::Generator;
use super::json::Json;
use super::message::Block;
use super::message::BlockKind;
use super::text::Style;
use super::text::command;
use super::text::phrase;
use super::text::relative_path;
use super::transcript::Transcript;

/// A call that waits for its result.
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) id: String,
    /// Path, command or prompt, by kind of tool.
    pub(super) argument: String,
}

/// Tool names and how often they are called, for the old clients.
const OLD_TOOLS: &[(&str, usize)] = &[
    ("Bash", 360),
    ("Read", 230),
    ("Edit", 160),
    ("Grep", 90),
    ("TodoWrite", 45),
    ("Glob", 35),
    ("Write", 35),
    ("Task", 13),
    ("mcp__db__query", 11),
    ("WebFetch", 9),
    ("WebSearch", 7),
    ("Skill", 5),
    ("AskUserQuestion", 5),
    ("ExitPlanMode", 3),
    ("NotebookEdit", 2),
];

/// The same for the new client.
const NEW_TOOLS: &[(&str, usize)] = &[
    ("Bash", 480),
    ("Read", 240),
    ("Edit", 140),
    ("Write", 40),
    ("Agent", 14),
    ("TaskCreate", 12),
    ("TaskUpdate", 14),
    ("ToolSearch", 12),
    ("WebFetch", 10),
    ("WebSearch", 8),
    ("mcp__db__query", 14),
    ("AskUserQuestion", 4),
    ("ExitPlanMode", 4),
    ("Skill", 6),
];

impl Generator {
    /// The next call: its block, and what the result needs.
    pub(super) fn tool_call(&mut self, transcript: &Transcript) -> (Block, Call) {
        let name = self.tool_name(transcript);
        let id = self.identifier("toolu_01", 22);
        let mut json = Json::line();
        json.text("type", "tool_use").text("id", &id).text("name", name).key("input").open();
        let argument = self.tool_input(transcript, name, &mut json);
        json.close();
        let block = Block { json: json.finish(), kind: BlockKind::Tool(name), needle: None };
        (block, Call { name, id, argument })
    }

    fn tool_name(&mut self, transcript: &Transcript) -> &'static str {
        let tools = if transcript.era.new { NEW_TOOLS } else { OLD_TOOLS };
        let total: usize = tools.iter().map(|tool| tool.1).sum();
        let mut rest = self.random.below(total);
        // Small homes need a subagent too: the first calls of the first sessions start one.
        if transcript.agent.is_none() && self.agent_due() {
            return if transcript.era.new { "Agent" } else { "Task" };
        }
        for (name, weight) in tools {
            if rest < *weight {
                let agent = matches!(*name, "Task" | "Agent");
                return if agent && transcript.agent.is_some() { "Read" } else { name };
            }
            rest -= weight;
        }
        "Bash"
    }

    fn tool_input(
        &mut self,
        transcript: &Transcript,
        name: &'static str,
        json: &mut Json,
    ) -> String {
        let random = &mut self.random;
        let path = format!("{}/{}", transcript.cwd, relative_path(random));
        match name {
            "Bash" => {
                let line = command(random);
                json.text("command", &line).text("description", "Run a command");
                line
            }
            "Read" => {
                json.text("file_path", &path);
                path
            }
            "Edit" => {
                let size = random.long_tail(320, 5, 20, 16_000) as usize;
                let before = self.text.piece(random, Style::Code, size);
                let after = self.text.piece(random, Style::Code, size);
                json.flag("replace_all", false).text("file_path", &path);
                json.text("old_string", &before).text("new_string", &after);
                path
            }
            "Write" => {
                let size = random.long_tail(1_800, 5, 20, 60_000) as usize;
                let content = self.text.piece(random, Style::Code, size);
                json.text("file_path", &path).text("content", &content);
                path
            }
            "TodoWrite" => {
                let todos = self.todos();
                json.key("todos").raw(&todos);
                String::new()
            }
            "Task" | "Agent" => {
                let prompt = self.text.piece(random, Style::Prose, 700);
                json.text("description", "Explore the code").text("prompt", &prompt);
                json.text("subagent_type", "general-purpose");
                prompt
            }
            "Grep" | "Glob" => {
                let pattern = format!("{}.*\\b{}", phrase(random, 1), phrase(random, 1));
                json.text("pattern", &pattern).text("path", &transcript.cwd);
                pattern
            }
            _ => {
                let query = phrase(random, 8);
                json.text("query", &query);
                query
            }
        }
    }

    /// A list of todos as JSON.
    pub(super) fn todos(&mut self) -> Vec<u8> {
        let mut json = Json::new();
        json.open_list();
        for _ in 0..2 + self.random.below(7) {
            let words = phrase(&mut self.random, 6);
            let status = self.random.pick(&["completed", "in_progress", "pending"]);
            json.open().text("content", &words).text("status", status);
            json.text("activeForm", &words).close();
        }
        json.close_list();
        json.into_bytes()
    }
}
