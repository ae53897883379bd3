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
use crate::read::agent_without_log::Told;
use crate::read::agent_without_log::agents_without_log;

/// How it is known which call started a subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentLink {
    /// The call's result names the subagent.
    Result,
    /// Progress lines of the call tell of the subagent.
    Progress,
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
            AgentLink::Progress => "progress",
            AgentLink::Meta => "meta",
            AgentLink::Time => "time",
            AgentLink::Session => "session",
        }
    }
}

/// Where what is known of a subagent is from.
#[derive(Debug)]
pub enum AgentSource {
    /// From its own log.
    Log(LogFile),
    /// Its log is gone; progress lines of its parent's log hold its lines.
    Progress(Told),
    /// Its log is gone; only the result of its call names it.
    Result(Told),
}

impl AgentSource {
    /// The name, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            AgentSource::Log(_) => "log",
            AgentSource::Progress(_) => "progress",
            AgentSource::Result(_) => "result",
        }
    }
}

/// A subagent.
#[derive(Debug)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// Where what is known of it is from.
    pub source: AgentSource,
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
    /// Its lines, read from its own log or from that of its parent.
    pub loaded: Loaded,
    /// Its tokens.
    pub tokens: Tokens,
    /// When its first and last lines were written.
    pub started: Option<Timestamp>,
    /// See `started`.
    pub ended: Option<Timestamp>,
}

impl Agent {
    /// Its log, if that is there.
    pub fn file(&self) -> Option<&LogFile> {
        match &self.source {
            AgentSource::Log(file) => Some(file),
            AgentSource::Progress(_) | AgentSource::Result(_) => None,
        }
    }

    /// What its parent's log says of it, if its own log is gone.
    pub fn told(&self) -> Option<&Told> {
        match &self.source {
            AgentSource::Log(_) => None,
            AgentSource::Progress(told) | AgentSource::Result(told) => Some(told),
        }
    }

    /// Its type, such as `general-purpose`, by the file beside its log or by its call.
    pub fn agent_type(&self) -> Option<&str> {
        let meta = self.meta.as_ref().and_then(|meta| meta.agent_type.as_deref());
        meta.or_else(|| self.told()?.agent_type.as_deref())
    }

    /// What it is for, in a few words.
    pub fn description(&self) -> Option<&str> {
        let meta = self.meta.as_ref().and_then(|meta| meta.description.as_deref());
        meta.or_else(|| self.told()?.description.as_deref())
    }

    /// Its tool calls, and how many failed. Where none of its lines are there, the number
    /// that the result of its call names.
    pub fn calls(&self) -> (usize, usize) {
        let calls = &self.loaded.session.facts().calls;
        if let AgentSource::Result(Told { tools: Some(tools), .. }) = &self.source {
            return (usize::try_from(*tools).unwrap_or(usize::MAX), 0);
        }
        (calls.len(), calls.iter().filter(|call| call.is_error).count())
    }

    /// How long it worked, in milliseconds: by its lines, or by the result of its call.
    pub fn milliseconds(&self) -> Option<u64> {
        let told = self.told().and_then(|told| told.milliseconds);
        let span = || u64::try_from(self.ended?.duration_since(self.started?).as_millis()).ok();
        told.or_else(span)
    }
}

impl Home {
    /// The subagents of a session as a tree: children follow their parent.
    /// Logs that cannot be read are left out. Subagents without a log are there if the log
    /// of the session, or of another subagent, tells of them.
    pub fn agent_tree(
        &self,
        inventory: &Inventory,
        file: &SessionFile,
        loaded: &Loaded,
    ) -> Vec<Agent> {
        let session = &loaded.session;
        let mut agents: Vec<Agent> =
            self.agents_of(inventory, file).into_iter().filter_map(read_agent).collect();
        let logs = std::iter::once(loaded).chain(agents.iter().map(|agent| &agent.loaded));
        let known = agents.iter().map(|agent| agent.id.clone()).collect();
        let without_log = agents_without_log(logs, known);
        agents.extend(without_log);
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
    let tokens = tokens_of(&loaded.session);
    let times = || loaded.session.nodes().filter_map(|node| node.time());
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
        source: AgentSource::Log(file),
    })
}

/// The tokens of all messages.
pub(super) fn tokens_of(session: &Session) -> Tokens {
    let mut tokens = Tokens::default();
    for message in session.facts().messages.iter().filter(|message| !message.is_synthetic) {
        tokens.add(message.tokens);
    }
    tokens
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
    if let (Some(told), Some(call)) = (agent.told(), &agent.call) {
        let in_log = |(other, _): &(Option<usize>, &Session)| {
            other.is_none_or(|other| agents[other].file().is_some_and(|file| file.path == told.log))
        };
        let parent = logs.iter().filter(|log| in_log(log)).map(|(other, _)| *other).max().flatten();
        let (kind, call) = (AgentLink::Progress, Some(call.clone()));
        return Link { kind, parent, call, is_background: false };
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
