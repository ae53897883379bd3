//! Long texts that the new client repeats: system prompt, tool list, skills.
//!
//! Owns: their making, once per home. Does not own: the lines they stand on (`request`).

use super::json::Json;
use super::random::Random;
use super::text::Style;
use super::text::Text;
use super::text::phrase;

const TOOL_NAMES: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "Edit",
    "ExitPlanMode",
    "Read",
    "Skill",
    "TaskCreate",
    "TaskUpdate",
    "ToolSearch",
    "WebFetch",
    "Write",
];

/// The texts.
pub(super) struct Assets {
    /// `systemPrompt` of a snapshot: a list as JSON.
    pub(super) system_prompt: Vec<u8>,
    /// `tools` of a snapshot: a list as JSON.
    pub(super) snapshot_tools: Vec<u8>,
    pub(super) shapes: Vec<RequestShape>,
    pub(super) skills: String,
    pub(super) agents: Vec<String>,
    pub(super) environment: String,
}

/// A shape of requests: what does not change between them.
pub(super) struct RequestShape {
    pub(super) hash: String,
    /// `shape`, as JSON.
    pub(super) json: Vec<u8>,
}

impl Assets {
    pub(super) fn new(random: &mut Random, text: &Text) -> Self {
        let mut system_prompt = Json::new();
        system_prompt.open_list();
        for size in [1229, 357, 520, 422, 2065, 620, 1800, 900, 2400] {
            system_prompt.string(&text.piece(random, Style::Prose, size));
        }
        system_prompt.close_list();
        let mut snapshot = Json::new();
        let mut tools = Json::new();
        snapshot.open_list();
        tools.open_list();
        for name in TOOL_NAMES {
            let size = random.between(300, 3_200) as usize;
            let description = text.piece(random, Style::Prose, size);
            let schema = schema(random, text);
            let mut tool = Json::line();
            tool.text("name", name).text("description", &description);
            tool.key("input_schema").raw(&schema);
            let tool = tool.finish();
            snapshot.open().text("name", name).text("description", &description);
            snapshot.key("schema").raw(&tool).close();
            tools.raw(&tool);
        }
        snapshot.close_list();
        tools.close_list();
        let tools = tools.into_bytes();
        let mut shapes = Vec::new();
        for _ in 0..3 {
            let mut shape = Json::line();
            shape.key("system").open_list().open().text("type", "text");
            shape.text("text", &phrase(random, 9)).close().open().text("type", "text");
            shape.text("text", &text.piece(random, Style::Prose, 5_800)).close().close_list();
            shape.key("tools").raw(&tools);
            shapes.push(RequestShape { hash: random.hex(64), json: shape.finish() });
        }
        let agents = ["claude", "Explore", "general-purpose", "Plan"].map(|name| {
            format!("- {name}: {}", text.piece(random, Style::Prose, 360).replace('\n', " "))
        });
        Assets {
            system_prompt: system_prompt.into_bytes(),
            snapshot_tools: snapshot.into_bytes(),
            shapes,
            skills: text.piece(random, Style::Prose, 6_200),
            agents: agents.to_vec(),
            environment: text.piece(random, Style::Prose, 500),
        }
    }
}

/// The input schema of a tool.
fn schema(random: &mut Random, text: &Text) -> Vec<u8> {
    let mut json = Json::line();
    json.text("type", "object").key("properties").open();
    for name in ["path", "query", "mode", "limit"] {
        let size = random.between(60, 500) as usize;
        json.key(name).open().text("type", "string");
        json.text("description", &text.piece(random, Style::Prose, size)).close();
    }
    json.close().texts("required", ["path"]).flag("additionalProperties", false);
    json.finish()
}
