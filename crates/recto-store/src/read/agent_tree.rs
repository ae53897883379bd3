//! Subagents of a session, each tied to the call that started it.

use jiff::Timestamp;
use recto_log::AgentId;
use recto_log::Kind;
use recto_session::Session;
use recto_session::Tokens;

use crate::AgentMeta;
use crate::Digest;
use crate::FileKind;
use crate::Home;
use crate::Inventory;
use crate::Loaded;
use crate::LogFile;
use crate::SessionFile;

/// How it is known which call started a subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentLink {
    /// The call's result names the subagent.
    Result,
    /// The file beside the subagent's log names the call.
    Meta,
    /// A call was made within a second of the log's first line.
    Time,
    /// Not known; the lines only name the session.
    Session,
}

impl AgentLink {
    /// The name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            AgentLink::Result => "result",
            AgentLink::Meta => "meta",
            AgentLink::Time => "time",
            AgentLink::Session => "session",
        }
    }
}

/// A subagent.
#[derive(Debug)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// Its log.
    pub file: LogFile,
    /// What the file beside the log says.
    pub meta: Option<AgentMeta>,
    /// What the log is; helpers and warm-ups are no work of the user's.
    pub kind: FileKind,
    /// The subagent that started it, as a place in the list; none for the session itself.
    pub parent: Option<usize>,
    /// How deep it stands.
    pub depth: usize,
    /// How it was tied.
    pub link: AgentLink,
    /// The call that started it.
    pub call: Option<String>,
    /// Whether it worked in the background.
    pub is_background: bool,
    /// Its log, read.
    pub loaded: Loaded,
    /// Its tokens.
    pub tokens: Tokens,
    /// When its first and last lines were written.
    pub started: Option<Timestamp>,
    /// See `started`.
    pub ended: Option<Timestamp>,
}

impl Agent {
    /// Its tool calls, and how many failed.
    pub fn calls(&self) -> (usize, usize) {
        let calls = &self.loaded.session.facts().calls;
        (calls.len(), calls.iter().filter(|call| call.is_error).count())
    }
}

impl Home {
    /// The subagents of a session as a tree: children follow their parent.
    /// Logs that cannot be read are left out.
    pub fn agent_tree(
        &self,
        inventory: &Inventory,
        file: &SessionFile,
        session: &Session,
    ) -> Vec<Agent> {
        let mut agents: Vec<Agent> =
            self.agents_of(inventory, file).into_iter().filter_map(read_agent).collect();
        agents.sort_by(|a, b| a.started.cmp(&b.started).then_with(|| a.id.cmp(&b.id)));
        let links: Vec<Link> =
            (0..agents.len()).map(|at| find_link(session, &agents, at)).collect();
        for (agent, link) in agents.iter_mut().zip(links) {
            agent.link = link.kind;
            agent.call = link.call;
            agent.parent = link.parent;
            agent.is_background = link.is_background;
        }
        in_tree_order(agents)
    }
}

fn read_agent(file: LogFile) -> Option<Agent> {
    let id = file.agent.clone()?;
    let loaded = Loaded::read(&file.path).ok()?;
    let digest = Digest::read(&file.path, true).ok()?;
    let is_helper = id.is_prompt_suggestion() || id.is_compaction();
    let mut tokens = Tokens::default();
    for message in loaded.session.facts().messages.iter().filter(|message| !message.is_synthetic) {
        tokens.add(message.tokens);
    }
    let times = || loaded.session.nodes().iter().filter_map(|node| node.time());
    Some(Agent {
        id,
        meta: file.meta(),
        kind: if is_helper { FileKind::Helper } else { digest.kind },
        parent: None,
        depth: 0,
        link: AgentLink::Session,
        call: None,
        is_background: false,
        tokens,
        started: times().min(),
        ended: times().max(),
        loaded,
        file,
    })
}

/// What ties a subagent.
struct Link {
    kind: AgentLink,
    parent: Option<usize>,
    call: Option<String>,
    is_background: bool,
}

/// Looks in the log of the session and in those of the other subagents.
fn find_link(session: &Session, agents: &[Agent], at: usize) -> Link {
    let agent = &agents[at];
    let logs = std::iter::once((None, session)).chain(
        agents
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(other, agent)| (Some(other), &agent.loaded.session)),
    );
    let logs: Vec<(Option<usize>, &Session)> = logs.collect();
    for (parent, log) in &logs {
        let mut runs = log.facts().agents.iter();
        if let Some(run) = runs.find(|run| run.agent.as_ref() == Some(&agent.id)) {
            return Link {
                kind: AgentLink::Result,
                parent: *parent,
                call: run.call.map(|call| log.name(call).to_owned()),
                is_background: run.is_background,
            };
        }
    }
    if let Some(wanted) = agent.meta.as_ref().and_then(|meta| meta.tool_use_id.as_deref()) {
        for (parent, log) in &logs {
            let known = log.names().find(wanted).and_then(|name| log.facts().call(name));
            if known.is_some() {
                let (kind, call) = (AgentLink::Meta, Some(wanted.to_owned()));
                return Link { kind, parent: *parent, call, is_background: false };
            }
        }
    }
    if let Some(call) = call_at_that_time(session, agent.started) {
        return Link {
            kind: AgentLink::Time,
            parent: None,
            call: Some(call),
            is_background: false,
        };
    }
    Link { kind: AgentLink::Session, parent: None, call: None, is_background: false }
}

/// A call of the subagent tool within a second of a time, as old logs need it.
fn call_at_that_time(session: &Session, started: Option<Timestamp>) -> Option<String> {
    let started = started?;
    let calls = session.facts().calls.iter().filter(|call| {
        call.name.is_some_and(|name| matches!(session.name(name), "Task" | "Agent"))
    });
    let near = calls.filter_map(|call| {
        let apart = started.duration_since(call.called()?).abs();
        (apart.as_millis() <= 1000).then_some((apart, call.id))
    });
    near.min_by_key(|(apart, _)| *apart).map(|(_, id)| session.name(id).to_owned())
}

/// Parents before their children, each depth marked. A ring of subagents that
/// claim each other is opened at its first one.
fn in_tree_order(mut agents: Vec<Agent>) -> Vec<Agent> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); agents.len()];
    let mut roots = Vec::new();
    for at in 0..agents.len() {
        match agents[at].parent.filter(|parent| !leads_to(&agents, *parent, at)) {
            Some(parent) => children[parent].push(at),
            None => {
                agents[at].parent = None;
                roots.push(at);
            }
        }
    }
    let mut order = Vec::new();
    let mut waiting: Vec<(usize, usize)> = roots.into_iter().rev().map(|at| (at, 0)).collect();
    while let Some((at, depth)) = waiting.pop() {
        agents[at].depth = depth;
        order.push(at);
        waiting.extend(children[at].iter().rev().map(|child| (*child, depth + 1)));
    }
    let mut places = vec![0; agents.len()];
    for (place, at) in order.iter().enumerate() {
        places[*at] = place;
    }
    let mut slots: Vec<Option<Agent>> = agents.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|at| slots[at].take())
        .map(|mut agent| {
            agent.parent = agent.parent.map(|parent| places[parent]);
            agent
        })
        .collect()
}

/// Whether the parents of `from` lead to `wanted`.
fn leads_to(agents: &[Agent], from: usize, wanted: usize) -> bool {
    let mut at = Some(from);
    for _ in 0..=agents.len() {
        match at {
            Some(here) if here == wanted => return true,
            Some(here) => at = agents[here].parent,
            None => return false,
        }
    }
    true
}

impl Agent {
    /// The line with the task, and the last line with an answer.
    pub fn task_and_answer(
        &self,
    ) -> (Option<recto_session::NodeId>, Option<recto_session::NodeId>) {
        let session = &self.loaded.session;
        let task =
            session.ids().find(|id| session.node(*id).user == recto_log::UserText::AgentTask);
        let mut answers: Vec<recto_session::NodeId> = session
            .ids()
            .filter(|id| {
                let node = session.node(*id);
                let has_text = node.blocks.iter().any(|block| {
                    matches!(block, recto_session::BlockFact::Text { is_blank: false })
                });
                node.kind == Kind::Assistant && has_text
            })
            .collect();
        answers.sort_by_key(|id| session.node(*id).line);
        (task, answers.pop())
    }
}
