//! What the window of the model is filled with.

use serde_json::Value;
use serde_json::json;

use super::super::prompt::window;
use super::super::shared::lock;
use super::desk::Desk;
use crate::tool::estimated_tokens;

impl Desk {
    /// The answer to `get_context_usage`. Parts are estimated; the sum is that of the endpoint
    /// as soon as it has counted.
    pub(super) fn context_usage(&self) -> Value {
        let shared = &self.shared;
        let model = shared.model();
        let most = window(&model);
        let size = lock(&shared.size).clone();
        let offer = shared.offer.get();
        let mcp: Vec<Value> = offer
            .mcp
            .iter()
            .map(|tool| {
                let tokens =
                    estimated_tokens(&tool.schema.to_string()) + estimated_tokens(&tool.about);
                json!({
                    "name": tool.name(),
                    "serverName": tool.server,
                    "tokens": tokens,
                    "isLoaded": self.tools.has_loaded(&tool.name()),
                })
            })
            .collect();
        let agents: Vec<Value> = offer
            .agents
            .iter()
            .filter(|kind| kind.prompt.is_some())
            .map(|kind| {
                json!({
                    "agentType": kind.name,
                    "source": "custom",
                    "tokens": estimated_tokens(&kind.about),
                })
            })
            .collect();
        let skills: u64 = offer
            .skills
            .iter()
            .map(|skill| estimated_tokens(&skill.about) + estimated_tokens(&skill.name))
            .sum();
        let known = size.system + size.tools + skills;
        let total = match size.counted {
            0 => known,
            counted => counted,
        };
        let messages = total.saturating_sub(known);
        let threshold = shared.compaction_threshold();
        let buffer = most.saturating_sub(threshold);
        let mut categories = Vec::new();
        let mut add = |id: &str, name: &str, tokens: u64, color: &str, kind: &str| {
            if tokens > 0 {
                categories.push(json!({
                    "id": id,
                    "name": name,
                    "tokens": tokens,
                    "color": color,
                    "kind": kind,
                }));
            }
        };
        add("system_prompt", "System prompt", size.system, "promptBorder", "used");
        add("system_tools", "System tools", size.tools, "inactive", "used");
        add("skills", "Skills", skills, "warning", "used");
        add("messages", "Messages", messages, "purple", "used");
        add("autocompact_buffer", "Autocompact buffer", buffer, "inactive", "buffer");
        let free = most.saturating_sub(total).saturating_sub(buffer);
        add("free_space", "Free space", free, "promptBorder", "free");
        let usage = size.usage.map(|usage| {
            json!({
                "input_tokens": usage.input,
                "output_tokens": usage.output,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
            })
        });
        json!({
            "categories": categories,
            "totalTokens": total,
            "maxTokens": most,
            "rawMaxTokens": most,
            "autocompactSource": "model-default",
            "percentage": (total * 100).div_ceil(most.max(1)),
            "gridRows": [],
            "model": model,
            "memoryFiles": [],
            "mcpTools": mcp,
            "mcpInstructions": [],
            "agents": agents,
            "slashCommands": {
                "totalCommands": offer.skills.len(),
                "includedCommands": offer.skills.len(),
                "tokens": skills,
            },
            "skills": {
                "totalSkills": offer.skills.len(),
                "includedSkills": offer.skills.len(),
                "tokens": skills,
                "skillFrontmatter": [],
            },
            "autoCompactThreshold": threshold,
            "isAutoCompactEnabled": true,
            "apiUsage": usage,
        })
    }
}
