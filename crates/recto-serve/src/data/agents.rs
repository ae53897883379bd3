//! The subagents of a session.

use recto_log::SessionId;
use recto_store::Agent;
use serde::Serialize;

use crate::answer::Failure;
use crate::context::Context;
use crate::data::Moment;
use crate::data::TokenCounts;
use crate::data::cut;

/// How long a task or an answer is at most, in bytes.
const MOST_TEXT: usize = 2000;

/// A subagent. Children follow their parent.
#[derive(Debug, Serialize)]
pub(crate) struct AgentView {
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    #[serde(rename = "type")]
    pub(crate) agent_type: Option<String>,
    pub(crate) description: Option<String>,
    /// The call that started it.
    pub(crate) call: Option<String>,
    /// How that is known.
    pub(crate) link: &'static str,
    /// The turn of the session that started it; 0 if that is not known.
    pub(crate) turn: u32,
    pub(crate) depth: usize,
    pub(crate) background: bool,
    pub(crate) bytes: u64,
    pub(crate) tool_calls: usize,
    pub(crate) failed_tool_calls: usize,
    pub(crate) tokens: TokenCounts,
    pub(crate) started: Option<Moment>,
    pub(crate) ended: Option<Moment>,
    pub(crate) task: String,
    pub(crate) answer: String,
}

/// The subagents of a session, as a tree in a list.
pub(crate) fn agents(context: &Context, id: SessionId) -> Result<Vec<AgentView>, Failure> {
    let found = context.find(id)?;
    let reading = context.read(&found.file)?;
    let session = reading.session();
    let turn_of = |call: &str| {
        let call = session.names().find(call).and_then(|name| session.facts().call(name));
        call.and_then(|call| call.call).map_or(0, |id| reading.turn_number(id))
    };
    let tree = context.home.agent_tree(&found.inventory, &found.file, session);
    Ok(tree.iter().map(|agent| view(agent, agent.call.as_deref().map_or(0, turn_of))).collect())
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
        id: agent.file.id.as_str().to_owned(),
        kind: agent.kind.name(),
        agent_type: meta.and_then(|meta| meta.agent_type.clone()),
        description: meta.and_then(|meta| meta.description.clone()),
        call: agent.call.clone(),
        link: agent.link.name(),
        turn,
        depth: agent.depth,
        background: agent.is_background,
        bytes: agent.file.bytes,
        tool_calls,
        failed_tool_calls,
        tokens: agent.tokens.into(),
        started: agent.started.map(Moment),
        ended: agent.ended.map(Moment),
        task: text(task),
        answer: text(answer),
    }
}
