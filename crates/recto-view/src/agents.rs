//! The subagents of a session.

use recto_log::Entry;
use recto_log::SessionId;
use recto_session::NodeId;
use recto_store::Agent;
use serde::Serialize;

use crate::Moment;
use crate::Reading;
use crate::TokenColumns;
use crate::error::ViewError;
use crate::library::Library;

/// A subagent. Children follow their parent.
#[derive(Debug, Serialize)]
pub struct AgentRow {
    pub id: String,
    pub kind: &'static str,
    /// Its log.
    pub path: String,
    #[serde(rename = "type")]
    pub agent_type: Option<String>,
    pub description: Option<String>,
    /// The call that started it.
    pub call: Option<String>,
    /// How that is known.
    pub link: &'static str,
    /// The turn of the session that started it; 0 if that is not known.
    pub turn: u32,
    pub depth: usize,
    pub background: bool,
    pub bytes: u64,
    pub tool_calls: usize,
    pub failed_tool_calls: usize,
    /// Tokens of its messages, each counted once.
    #[serde(flatten)]
    pub tokens: TokenColumns,
    pub started: Option<Moment>,
    pub ended: Option<Moment>,
    pub task: String,
    pub answer: String,
}

impl Library {
    /// The subagents of a session, as a tree in a list.
    pub fn agents(&self, id: SessionId) -> Result<Vec<AgentRow>, ViewError> {
        let found = self.find(id)?;
        let reading = self.read(&found.file)?;
        let tree = self.home().agent_tree(&found.inventory, &found.file, reading.session());
        Ok(tree.iter().map(|agent| AgentRow::of(&reading, agent)).collect())
    }
}

impl AgentRow {
    /// A subagent of the session that was read.
    pub fn of(reading: &Reading, agent: &Agent) -> AgentRow {
        let session = reading.session();
        let call = agent.call.as_deref().and_then(|call| session.names().find(call));
        let call = call.and_then(|name| session.facts().call(name)?.call);
        let (tool_calls, failed_tool_calls) = agent.calls();
        let (task, answer) = agent_texts(agent);
        let meta = agent.meta.as_ref();
        AgentRow {
            id: agent.id.as_str().to_owned(),
            kind: agent.kind.name(),
            path: agent.file.path.to_string_lossy().into_owned(),
            agent_type: meta.and_then(|meta| meta.agent_type.clone()),
            description: meta.and_then(|meta| meta.description.clone()),
            call: agent.call.clone(),
            link: agent.link.name(),
            turn: call.map_or(0, |id| reading.turn_number(id)),
            depth: agent.depth,
            background: agent.is_background,
            bytes: agent.file.bytes(),
            tool_calls,
            failed_tool_calls,
            tokens: agent.tokens.into(),
            started: agent.started.map(Moment),
            ended: agent.ended.map(Moment),
            task,
            answer,
        }
    }
}

/// What a subagent was asked, and what it answered; empty where the log does not say.
pub fn agent_texts(agent: &Agent) -> (String, String) {
    let (task, answer) = agent.task_and_answer();
    let text = |id: Option<NodeId>| {
        let text = |entry: &Entry<'_>| Some(entry.message()?.content().text().into_owned());
        id.and_then(|id| agent.loaded.with_entry(id, text).flatten()).unwrap_or_default()
    };
    (text(task), text(answer))
}
