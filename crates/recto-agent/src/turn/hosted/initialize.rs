//! `initialize`: hooks, agents and servers of the host, and what it is told about the session.

use serde_json::Value;
use serde_json::json;

use super::super::output_schema::OutputSchema;
use super::super::prompt::MODELS;
use super::super::prompt::display_name;
use super::super::prompt::model_named;
use super::super::shared::lock;
use super::desk::Desk;
use super::desk::Granted;
use super::desk::Refusal;
use crate::hook::Callback;
use crate::memory::OutputStyle;
use crate::tool::agents_of;

impl Desk {
    pub(super) async fn initialize(&mut self, request: &Value) -> Granted {
        let shared = &self.shared;
        let hooks = &request["hooks"];
        *lock(&shared.callbacks) = Callback::read_all(hooks);
        let agents = agents_of(&request["agents"]);
        if !agents.is_empty() {
            shared.offer.change(|offer| {
                offer.agents.retain(|known| agents.iter().all(|new| new.name != known.name));
                offer.agents.extend(agents);
            });
        }
        self.become_kind();
        let texts = |value: &Value| -> Option<String> {
            match value {
                Value::String(text) => Some(text.clone()),
                Value::Array(texts) => {
                    let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
                    Some(texts.join("\n\n"))
                }
                _ => None,
            }
        };
        {
            let mut changes = lock(&shared.changes);
            changes.system_prompt =
                texts(&request["systemPrompt"]).or(changes.system_prompt.take());
            changes.append_system_prompt =
                texts(&request["appendSystemPrompt"]).or(changes.append_system_prompt.take());
            let schema = request["jsonSchema"].is_object().then(|| request["jsonSchema"].clone());
            changes.schema = schema.and_then(OutputSchema::new).or(changes.schema.take());
        }
        shared.servers.add_of_host(&request["sdkMcpServers"], &request["sdkMcpServerManifests"]);
        shared.servers.begin();
        // They say hello before the answer.
        tokio::task::yield_now().await;
        if let Some(title) = request["title"].as_str().filter(|title| !title.trim().is_empty()) {
            self.set_title(title.trim(), false).await;
        }
        if request["forwardSubagentText"] == true {
            self.tell(super::super::event::TurnEvent::ForwardSubagents).await;
        }
        if hooks.as_object().is_some_and(|hooks| hooks.values().any(|groups| !groups.is_array())) {
            return Err(Refusal::plain("hooks must be lists of groups"));
        }
        Ok(Some(self.description(hooks.is_object())))
    }

    /// The session becomes what `--agent` names, if that is known by now.
    fn become_kind(&self) {
        let shared = &self.shared;
        let mut wanted = lock(&shared.kind_to_be);
        let offer = shared.offer.get();
        let kind = offer.agents.iter().find(|kind| wanted.as_ref() == Some(&kind.name));
        let Some(kind) = kind else { return };
        *wanted = None;
        if let Some(names) = &kind.tools {
            let is_named = |tool: crate::tool::Tool| names.iter().any(|name| name == tool.name());
            shared.offer.change(|offer| offer.withhold_but(is_named));
        }
        lock(&shared.changes).system_prompt.clone_from(&kind.prompt);
        if let Some(model) = &kind.model {
            *lock(&shared.model) = model_named(model);
        }
    }

    fn description(&self, has_hooks: bool) -> Value {
        let offer = self.shared.offer.get();
        let mut commands: Vec<Value> = COMMANDS
            .iter()
            .map(|(name, about, hint)| {
                json!({"name": name, "description": about, "argumentHint": hint, "builtin": true})
            })
            .collect();
        commands.extend(offer.skills.iter().map(
            |skill| json!({"name": skill.name, "description": skill.about, "argumentHint": skill.hint}),
        ));
        commands.extend(
            self.shared.servers.prompts().into_iter().map(
                |(name, about)| json!({"name": name, "description": about, "argumentHint": ""}),
            ),
        );
        let agents: Vec<Value> = offer
            .agents
            .iter()
            .map(|kind| {
                let mut agent = json!({"name": kind.name, "description": kind.about});
                if let Some(model) = &kind.model {
                    agent["model"] = model.as_str().into();
                }
                agent
            })
            .collect();
        let models: Vec<Value> = MODELS
            .iter()
            .map(|(name, about)| {
                let model = model_named(name);
                json!({
                    "value": name,
                    "resolvedModel": model,
                    "displayName": display_name(&model),
                    "description": about,
                    "supportsAdaptiveThinking": true,
                    "supportsEffort": true,
                    "supportedEffortLevels": ["low", "medium", "high", "xhigh", "max"],
                })
            })
            .collect();
        let state = match self.shared.control.is_running() {
            true => "running",
            false => "idle",
        };
        let mut answer = json!({
            "commands": commands,
            "agents": agents,
            "output_style": self.shared.output_style.name,
            "available_output_styles": OutputStyle::names(&[self.user_folder()]),
            "user_output_styles_dir": self.user_folder().join("output-styles"),
            "models": models,
            "account": {
                "tokenSource": "none",
                "apiKeySource": self.facts.key_source,
                "apiProvider": "firstParty",
            },
            "pid": std::process::id(),
            "claude_code_version": self.facts.version,
            "current_permission_mode": self.shared.mode(),
            "hook_on_failure_supported": true,
            "session_state": state,
            "capabilities": [],
        });
        if has_hooks {
            answer["hooks_applied"] = true.into();
        }
        answer
    }
}

/// Commands that a prompt may name: name, what it does, what it takes.
const COMMANDS: [(&str, &str, &str); 3] = [
    ("clear", "Start a new session without this one's context", ""),
    ("compact", "Replace the conversation with a summary", "[what the summary must keep]"),
    ("model", "Switch to another model", "<model>"),
];
