//! The subagents of a session.

use recto_log::Entry;
use recto_session::NodeId;
use recto_store::Agent;
use serde::Serialize;

use crate::Moment;
use crate::Reading;
use crate::SessionName;
use crate::TokenColumns;
use crate::error::ViewError;
use crate::library::Library;

/// A subagent. Children follow their parent.
#[derive(Debug, Serialize)]
pub struct AgentRow {
    /// Its id.
    pub id: String,
    /// `agent`, `warmup` or `helper`.
    pub kind: &'static str,
    /// Where this is from: `log`; where that is gone, `progress` lines of the parent's log,
    /// or only the `result` of the call.
    pub source: &'static str,
    /// Its log; none if that is gone.
    pub path: Option<String>,
    /// Its type, such as `Explore`.
    #[serde(rename = "type")]
    pub agent_type: Option<String>,
    /// What it is for, in the words of the call.
    pub description: Option<String>,
    /// The call that started it.
    pub call: Option<String>,
    /// How that is known.
    pub link: &'static str,
    /// The turn of the session that started it; 0 if that is not known.
    pub turn: u32,
    /// How many subagents are above it.
    pub depth: usize,
    /// Whether the session went on while it worked.
    pub background: bool,
    /// The size of its log.
    pub bytes: Option<u64>,
    /// Its calls of tools.
    pub tool_calls: usize,
    /// Those that failed.
    pub failed_tool_calls: usize,
    /// Tokens of its messages, each counted once.
    #[serde(flatten)]
    pub tokens: TokenColumns,
    /// The tokens of its last request and answer, by the result of its call.
    pub told_tokens: Option<u64>,
    /// The time of its first line.
    pub started: Option<Moment>,
    /// The time of its last line.
    pub ended: Option<Moment>,
    /// How long it worked.
    pub duration_ms: Option<u64>,
    /// What it was asked.
    pub task: String,
    /// What it answered last.
    pub answer: String,
}

impl Library {
    /// The subagents of a session, as a tree in a list.
    pub fn agents(&self, name: impl Into<SessionName>) -> Result<Vec<AgentRow>, ViewError> {
        let found = self.find(name)?;
        let reading = self.read(&found.file)?;
        let tree = self.home().agent_tree(&found.inventory, &found.file, &reading.loaded);
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
        AgentRow {
            id: agent.id.as_str().to_owned(),
            kind: agent.kind.name(),
            source: agent.source.name(),
            path: agent.file().map(|file| file.path.to_string_lossy().into_owned()),
            agent_type: agent.agent_type().map(str::to_owned),
            description: agent.description().map(str::to_owned),
            call: agent.call.clone(),
            link: agent.link.name(),
            turn: call.map_or(0, |id| reading.turn_number(id)),
            depth: agent.depth,
            background: agent.is_background,
            bytes: agent.file().map(|file| file.bytes()),
            tool_calls,
            failed_tool_calls,
            tokens: agent.tokens.into(),
            told_tokens: agent.told().and_then(|told| told.tokens),
            duration_ms: agent.milliseconds(),
            started: agent.started.map(Moment),
            ended: agent.ended.map(Moment),
            task,
            answer,
        }
    }
}

/// What a subagent was asked, and what it answered; empty where no log says it.
pub fn agent_texts(agent: &Agent) -> (String, String) {
    let (task, answer) = agent.task_and_answer();
    let text = |id: Option<NodeId>| {
        let text = |entry: &Entry<'_>| Some(entry.message()?.content().text().into_owned());
        id.and_then(|id| agent.loaded.with_entry(id, text).flatten()).unwrap_or_default()
    };
    let (mut task, mut answer) = (text(task), text(answer));
    if let Some(told) = agent.told() {
        // The call has the whole task, and its result the whole answer.
        for (text, told) in [(&mut task, &told.task), (&mut answer, &told.answer)] {
            if !told.is_empty() {
                text.clone_from(told);
            }
        }
    }
    (task, answer)
}
