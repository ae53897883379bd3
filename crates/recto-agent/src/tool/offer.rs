//! Which tools a session has.
//!
//! Owns: what is offered, what is switched off, what is deferred, and the answer to a call of
//! a tool that is not there.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::RwLock;

use serde_json::Value;

use super::Tool;
use super::outcome::ToolOutcome;

/// A tool that the model finds by `ToolSearch` and that is not declared until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferred {
    /// Its name.
    pub name: String,
    /// A line that words are looked for in.
    pub about: String,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// The server's name in the settings.
    pub server: String,
    /// The tool's name at the server.
    pub tool: String,
    /// What the server says about it.
    pub about: String,
    /// What it takes.
    pub schema: Value,
    /// Whether the server says that it changes nothing.
    pub is_read_only: bool,
}

impl McpTool {
    /// The name under which models call it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("mcp__{}__{}", plain_name(&self.server), plain_name(&self.tool))
    }
}

/// A name of a server, or of what it has, as a part of the names that models and users call.
#[must_use]
pub fn plain_name(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// A kind of subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentType {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub about: String,
    /// Its system prompt; built-in kinds have none here.
    pub prompt: Option<String>,
    /// The tools that it has, all if `None`.
    pub tools: Option<Vec<String>>,
    /// The model that it runs on, the session's if `None`.
    pub model: Option<String>,
}

/// A skill: instructions in a file that the model launches by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub about: String,
    /// The directory that holds `SKILL.md`.
    pub directory: PathBuf,
    /// The text behind the front matter.
    pub body: String,
    /// `allowed-tools`: rules that hold while it is followed.
    pub allowed: Vec<String>,
    /// Whether it has `hooks`.
    pub has_hooks: bool,
    /// `model`: who follows it, if not the model of the session.
    pub model: Option<String>,
    /// `argument-hint`: what it takes.
    pub hint: String,
    /// `disable-model-invocation`: only users launch it.
    pub is_for_users: bool,
}

impl Skill {
    /// Whether it takes more than instructions: then somebody must agree that it is followed.
    pub fn needs_consent(&self) -> bool {
        self.has_hooks || !self.allowed.is_empty()
    }
}

/// The tools of a session while it runs: servers and hosts change them. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Shelf(Arc<RwLock<Arc<Offer>>>);

impl From<Offer> for Shelf {
    fn from(offer: Offer) -> Shelf {
        Shelf(Arc::new(RwLock::new(Arc::new(offer))))
    }
}

impl Shelf {
    /// What is offered now.
    #[must_use]
    pub fn get(&self) -> Arc<Offer> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes what is offered from now on.
    pub fn change(&self, change: impl FnOnce(&mut Offer)) {
        let mut offer = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut offer));
    }
}

/// What a call of a tool gets that is not there, before its name.
pub(super) const NO_TOOL: &str = "Error: No such tool available: ";

/// Tools that models know of and that no session has here.
const ELSEWHERE: [&str; 12] = [
    "Artifact",
    "CronCreate",
    "CronDelete",
    "CronList",
    "LSP",
    "Monitor",
    "PushNotification",
    "RemoteTrigger",
    "ReportFindings",
    "ScheduleWakeup",
    "SendUserFile",
    "Workflow",
];

/// The tools of a session.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// The tools that calls may name.
    pub tools: BTreeSet<Tool>,
    /// Tools that rules, options or the surface switched off.
    pub disabled: BTreeSet<String>,
    /// Tools that the session has and this subagent does not.
    pub withheld: BTreeSet<String>,
    /// Tools that `ToolSearch` finds.
    pub deferred: Vec<Deferred>,
    /// Tools of MCP servers.
    pub mcp: Vec<McpTool>,
    /// Kinds of subagents.
    pub agents: Vec<AgentType>,
    /// Skills.
    pub skills: Vec<Skill>,
}

impl Offer {
    /// What a session without anybody to ask has.
    #[must_use]
    pub fn headless() -> Offer {
        let absent = [
            Tool::Glob,
            Tool::Grep,
            Tool::TodoWrite,
            Tool::ListMcpResources,
            Tool::ReadMcpResource,
        ];
        let is_there = |tool: &Tool| !tool.is_older() && !tool.asks() && !absent.contains(tool);
        let tools = Tool::ALL.into_iter().filter(is_there).collect();
        let is_off = |tool: &Tool| tool.asks() || *tool == Tool::TodoWrite;
        let disabled = Tool::ALL.into_iter().filter(is_off).map(Tool::name).chain(ELSEWHERE);
        let disabled = disabled.map(str::to_owned).collect();
        Offer { tools, disabled, ..Offer::default() }
    }

    /// What a session has whose user can be asked.
    #[must_use]
    pub fn attended() -> Offer {
        let mut offer = Offer::headless();
        Tool::ALL.into_iter().filter(|tool| tool.asks()).for_each(|tool| offer.add(tool));
        offer
    }

    /// Adds a tool.
    pub fn add(&mut self, tool: Tool) {
        self.tools.insert(tool);
        self.disabled.remove(tool.name());
    }

    /// Switches a tool off.
    pub fn disable(&mut self, name: &str) {
        self.tools.retain(|tool| tool.name() != name);
        self.mcp.retain(|tool| tool.name() != name);
        self.disabled.insert(name.to_owned());
    }

    /// Keeps the tools of which something holds, for a subagent.
    pub fn withhold_but(&mut self, is_kept: impl Fn(Tool) -> bool) {
        let gone = self.tools.iter().filter(|tool| !is_kept(**tool));
        self.withheld.extend(gone.map(|tool| tool.name().to_owned()));
        self.tools.retain(|tool| is_kept(*tool));
    }

    /// The tool that a name means here.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<Tool> {
        Tool::named(name).filter(|tool| self.tools.contains(tool))
    }

    /// The MCP tool of a name.
    #[must_use]
    pub fn mcp_tool(&self, name: &str) -> Option<&McpTool> {
        self.mcp.iter().find(|tool| tool.name() == name)
    }

    /// What a call of a tool gets that is not there.
    pub(super) fn missing(&self, name: &str) -> ToolOutcome {
        let mut text = format!("{NO_TOOL}{name}");
        let other_case = self.tools.iter().find(|tool| tool.name().eq_ignore_ascii_case(name));
        // They are there while a server has resources.
        let is_of_servers = [Tool::ListMcpResources, Tool::ReadMcpResource]
            .iter()
            .any(|tool| tool.name() == name && !self.disabled.contains(name));
        if self.withheld.contains(name) || is_of_servers {
            text += &format!(
                ". {name} is not among the tools available here. Continue with the tools you have."
            );
        } else if self.disabled.contains(name) {
            text +=
                &format!(". {name} is disabled for this session, in subagents as well as here.");
        } else if let Some(tool) = other_case {
            text += &format!(". Tool names are case-sensitive: call {} instead.", tool.name());
        } else if name == Tool::SendMessage.name() {
            text += ". SendMessage is not among the tools available here. An agent cannot be \
                     continued from this context. To message another session, use your host \
                     application's own messaging tool if it provides one; otherwise that is not \
                     possible from here. To follow up on an agent's work, start a new Agent call \
                     with everything it needs in its prompt.";
        } else if name == Tool::Glob.name() {
            text += ". Glob is not available in this session — find files with `find` via the \
                     Bash tool instead.";
        } else if name == Tool::Grep.name() {
            text += ". Grep is not available in this session — search file contents with `grep` \
                     via the Bash tool instead.";
        }
        ToolOutcome::tagged(&text, text.clone())
    }
}
