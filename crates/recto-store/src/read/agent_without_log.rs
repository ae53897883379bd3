//! Subagents whose logs are gone, as the log of their parent tells them.
//!
//! The result of their call names them and says what they answered. Clients 2.1.0 to
//! 2.1.99 also wrote their lines into progress lines.

use std::collections::HashMap;
use std::collections::HashSet;
use std::path::PathBuf;

use recto_log::AgentId;
use recto_log::Block;
use recto_log::Entry;
use recto_session::AgentRun;
use recto_session::Session;
use recto_session::ToldAgent;
use recto_session::told_agents;
use recto_session::with_call;

use crate::Agent;
use crate::AgentLink;
use crate::AgentSource;
use crate::FileKind;
use crate::Loaded;
use crate::read::agent_tree::tokens_of;

/// What the log of its parent says of a subagent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Told {
    /// The log that tells of it.
    pub log: PathBuf,
    /// The line of that log with its call, or the first one that tells of it.
    pub line: u64,
    /// Its type, by its call.
    pub agent_type: Option<String>,
    /// What it is for, in a few words, by its call.
    pub description: Option<String>,
    /// What it was asked; empty if that is not said.
    pub task: String,
    /// What it answered; empty if that is not said.
    pub answer: String,
    /// How many tokens its last request and answer had.
    pub tokens: Option<u64>,
    /// How many tools it used.
    pub tools: Option<u64>,
    /// How long it worked, in milliseconds.
    pub milliseconds: Option<u64>,
}

/// The subagents that logs tell of and that are not among those with a log of their own.
pub(super) fn agents_without_log<'l>(
    logs: impl Iterator<Item = &'l Loaded>,
    mut known: HashSet<AgentId>,
) -> Vec<Agent> {
    let mut found = Vec::new();
    for log in logs {
        let lines = told_agents(&log.session, log, &|agent| !known.contains(agent));
        let mut runs: HashMap<&AgentId, &AgentRun> = HashMap::new();
        for run in &log.session.facts().agents {
            if let Some(agent) = run.agent.as_ref().filter(|agent| !known.contains(*agent)) {
                // Who is asked to go on answers again; the last result says most.
                runs.insert(agent, run);
            }
        }
        for agent in lines {
            let run = runs.remove(&agent.id);
            found.push(from_progress(log, agent, run));
        }
        found.extend(runs.into_iter().map(|(id, run)| from_result(log, id, run)));
        known.extend(found.iter().map(|agent: &Agent| agent.id.clone()));
    }
    found
}

fn from_progress(log: &Loaded, told: ToldAgent, run: Option<&AgentRun>) -> Agent {
    let ToldAgent { id, call, session, .. } = told;
    let first = session.nodes().next().map_or(0, |node| node.line);
    let said = said(log, call.as_deref(), run, first);
    let times = || session.nodes().filter_map(|node| node.time());
    Agent {
        kind: kind_of(&id),
        id,
        meta: None,
        parent: None,
        depth: 0,
        link: AgentLink::Session,
        is_background: run.is_some_and(|run| run.is_background),
        tokens: tokens_of(&session),
        started: times().min(),
        ended: times().max(),
        source: AgentSource::Progress(said),
        loaded: log.inside(session),
        call,
    }
}

fn from_result(log: &Loaded, id: &AgentId, run: &AgentRun) -> Agent {
    let session = &log.session;
    let call = run.call.map(|call| session.name(call).to_owned());
    let fact = run.call.and_then(|call| session.facts().call(call));
    let first = session.node(run.node).line;
    Agent {
        id: id.clone(),
        kind: kind_of(id),
        meta: None,
        parent: None,
        depth: 0,
        link: AgentLink::Session,
        is_background: run.is_background,
        tokens: recto_session::Tokens::default(),
        started: fact.and_then(|call| call.called()),
        // What works in the background has not ended when its call has.
        ended: fact.filter(|_| !run.is_background).and_then(|call| call.ended()),
        source: AgentSource::Result(said(log, call.as_deref(), Some(run), first)),
        loaded: log.inside(Session::new()),
        call,
    }
}

fn kind_of(id: &AgentId) -> FileKind {
    if id.is_prompt_suggestion() || id.is_compaction() { FileKind::Helper } else { FileKind::Agent }
}

/// What a call and its result say of a subagent.
fn said(log: &Loaded, call: Option<&str>, run: Option<&AgentRun>, first: u64) -> Told {
    let session = &log.session;
    let fact = call.and_then(|call| session.facts().call(session.names().find(call)?));
    let mut told = Told {
        log: log.path().to_owned(),
        line: fact.and_then(|call| call.call).map_or(first, |id| session.node(id).line),
        tokens: run.and_then(|run| run.tokens),
        tools: run.and_then(|run| run.tools),
        milliseconds: run.and_then(|run| run.milliseconds),
        ..Told::default()
    };
    let (Some(fact), Some(call)) = (fact, call) else { return told };
    let asked = |entry: &Entry<'_>| {
        with_call(entry, call, |input| {
            let text = |name| input.str(name).map(|text| text.into_owned());
            (text("prompt"), text("description"), text("subagent_type"))
        })
    };
    if let Some((task, description, agent_type)) =
        fact.call.and_then(|id| log.with_entry(id, asked).flatten())
    {
        told.task = task.unwrap_or_default();
        (told.description, told.agent_type) = (description, agent_type);
    }
    let is_background = run.is_some_and(|run| run.is_background);
    let answered = |entry: &Entry<'_>| {
        let message = entry.message()?;
        message.content().blocks().find_map(|block| match block {
            Block::ToolResult { content, .. } if block.id().as_deref() == Some(call) => {
                Some(content.text().into_owned())
            }
            _ => None,
        })
    };
    // Of what works in the background the result says only that it was begun.
    if let Some(id) = fact.result.filter(|_| !is_background) {
        told.answer = log.with_entry(id, answered).flatten().unwrap_or_default();
    }
    told
}
