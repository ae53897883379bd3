//! The subagents of a session.

use recto_log::SessionId;
use recto_store::Agent;
use serde::Serialize;

use crate::Moment;
use crate::TokenCounts;
use crate::cut;
use crate::error::ViewError;
use crate::library::Library;

/// How long a task or an answer is at most, in bytes.
const MOST_TEXT: usize = 2000;

/// A subagent. Children follow their parent.
#[derive(Debug, Serialize)]
pub struct AgentView {
    pub id: String,
    pub kind: &'static str,
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
    pub tokens: TokenCounts,
    pub started: Option<Moment>,
    pub ended: Option<Moment>,
    pub task: String,
    pub answer: String,
}

impl Library {
    /// The subagents of a session, as a tree in a list.
    pub fn agents(&self, id: SessionId) -> Result<Vec<AgentView>, ViewError> {
        let found = self.find(id)?;
        let reading = self.read(&found.file)?;
        let session = reading.session();
        let turn_of = |call: &str| {
            let call = session.names().find(call).and_then(|name| session.facts().call(name));
            call.and_then(|call| call.call).map_or(0, |id| reading.turn_number(id))
        };
        let tree = self.home().agent_tree(&found.inventory, &found.file, session);
        Ok(tree.iter().map(|agent| view(agent, agent.call.as_deref().map_or(0, turn_of))).collect())
    }
}

fn view(agent: &Agent, turn: u32) -> AgentView {
    let (tool_calls, failed_tool_calls) = agent.calls();
    let (task, answer) = agent.task_and_answer();
    let text = |id: Option<recto_session::NodeId>| {
        let text = id.and_then(|id| agent.loaded.with_entry(id, recto_session::spoken_text));
        cut(text.unwrap_or_default().trim(), MOST_TEXT).0
    };
    let meta = agent.meta.as_ref();
    AgentView {
        id: agent.id.as_str().to_owned(),
        kind: agent.kind.name(),
        agent_type: meta.and_then(|meta| meta.agent_type.clone()),
        description: meta.and_then(|meta| meta.description.clone()),
        call: agent.call.clone(),
        link: agent.link.name(),
        turn,
        depth: agent.depth,
        background: agent.is_background,
        bytes: agent.file.bytes(),
        tool_calls,
        failed_tool_calls,
        tokens: agent.tokens.into(),
        started: agent.started.map(Moment),
        ended: agent.ended.map(Moment),
        task: text(task),
        answer: text(answer),
    }
}
