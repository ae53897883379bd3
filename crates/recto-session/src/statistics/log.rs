//! What one log adds to the statistics of many.

use jiff::Timestamp;
use recto_log::AgentId;
use sha2::Digest as _;
use sha2::Sha256;

use crate::BlockFact;
use crate::FileAction;
use crate::NameId;
use crate::NodeId;
use crate::Session;
use crate::Tokens;
use crate::ToldAgent;
use crate::ToolCall;
use crate::Turn;
use crate::TurnKind;
use crate::Turns;
use crate::fold::hash::IdMap;

/// Whose log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogRole {
    /// A session's own: its turns are the user's.
    Session,
    /// A subagent's: its messages and tools count, its turns do not.
    Agent,
}

/// What one log adds: facts of a few bytes each, with a key by which a copy in
/// another log is known.
#[derive(Debug, Clone)]
pub struct LogStatistics {
    pub(super) role: LogRole,
    pub(super) names: Vec<String>,
    pub(super) messages: Vec<MessageFact>,
    pub(super) calls: Vec<CallFact>,
    pub(super) turns: Vec<TurnFact>,
    /// The subagent whose log it is, or those that the log names.
    pub(super) agents: Vec<u64>,
}

#[derive(Debug, Clone)]
pub(super) struct MessageFact {
    pub(super) key: u64,
    /// None where the line does not say it.
    pub(super) model: Option<u32>,
    pub(super) time: Option<Timestamp>,
    pub(super) tokens: Tokens,
    /// Only progress lines tell of it here: a log that has it counts first.
    pub(super) is_told: bool,
}

#[derive(Debug, Clone)]
pub(super) struct CallFact {
    pub(super) key: u64,
    pub(super) tool: u32,
    pub(super) end: CallEnd,
    pub(super) milliseconds: Option<u64>,
    pub(super) edit: Option<EditFact>,
    /// See [`MessageFact::is_told`].
    pub(super) is_told: bool,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    Done,
    Failed,
    Open,
}

#[derive(Debug, Clone)]
pub(super) struct EditFact {
    pub(super) path: u32,
    pub(super) added: u64,
    pub(super) removed: u64,
}

#[derive(Debug, Clone)]
pub(super) struct TurnFact {
    pub(super) key: u64,
    pub(super) kind: TurnKind,
    pub(super) started: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    /// How long it took, if a model worked in it.
    pub(super) milliseconds: Option<u64>,
    /// Its number among the turns in which a model worked, from 1, and what its
    /// first message was sent.
    pub(super) context: Option<(u32, u64)>,
}

impl LogStatistics {
    /// Looks at a log and its turns.
    pub fn of(session: &Session, turns: &Turns, role: LogRole) -> LogStatistics {
        let mut names = LocalNames { session, places: IdMap::default(), names: Vec::new() };
        let messages = messages(session, &mut names);
        let calls = calls(session, &mut names);
        let turns = match role {
            LogRole::Session => turn_facts(session, turns),
            LogRole::Agent => Vec::new(),
        };
        let runs = session.facts().agents.iter().filter_map(|run| run.agent.as_ref());
        let agents = match role {
            LogRole::Session => runs.map(agent_key).collect(),
            LogRole::Agent => Vec::new(),
        };
        LogStatistics { role, names: names.names, messages, calls, turns, agents }
    }

    /// Says whose log it is, so that a log that names the subagent does not count it again.
    pub fn of_agent(mut self, agent: &AgentId) -> LogStatistics {
        self.agents = vec![agent_key(agent)];
        self
    }

    /// Adds what progress lines of the log tell of subagents.
    pub fn with_told(mut self, told: &[ToldAgent]) -> LogStatistics {
        for agent in told {
            let mut names = LocalNames {
                session: &agent.session,
                places: IdMap::default(),
                names: std::mem::take(&mut self.names),
            };
            let messages = messages(&agent.session, &mut names).into_iter();
            self.messages.extend(messages.map(|fact| MessageFact { is_told: true, ..fact }));
            let calls = calls(&agent.session, &mut names).into_iter();
            self.calls.extend(calls.map(|fact| CallFact { is_told: true, ..fact }));
            self.names = names.names;
            self.agents.push(agent_key(&agent.id));
        }
        self
    }

    pub(super) fn has_told(&self) -> bool {
        self.messages.iter().any(|fact| fact.is_told) || self.calls.iter().any(|fact| fact.is_told)
    }

    /// Only what progress lines tell.
    pub(super) fn only_told(&self) -> LogStatistics {
        LogStatistics {
            role: self.role,
            names: self.names.clone(),
            messages: self.messages.iter().filter(|fact| fact.is_told).cloned().collect(),
            calls: self.calls.iter().filter(|fact| fact.is_told).cloned().collect(),
            turns: Vec::new(),
            agents: Vec::new(),
        }
    }

    /// Whose log it is.
    pub fn role(&self) -> LogRole {
        self.role
    }

    /// How many turns it has.
    pub fn turns(&self) -> u64 {
        self.turns.len() as u64
    }

    /// How long its turns took together, in milliseconds.
    pub fn working_milliseconds(&self) -> u64 {
        let lengths = self.turns.iter().filter_map(|turn| turn.milliseconds);
        lengths.fold(0, u64::saturating_add)
    }

    /// How many tool calls it has.
    pub fn calls(&self) -> u64 {
        self.calls.iter().filter(|call| !call.is_told).count() as u64
    }

    pub(super) fn name(&self, place: u32) -> &str {
        &self.names[place as usize]
    }
}

/// The names of a log that count, each once.
struct LocalNames<'s> {
    session: &'s Session,
    places: IdMap<NameId, u32>,
    names: Vec<String>,
}

impl LocalNames<'_> {
    fn place(&mut self, id: NameId) -> u32 {
        *self.places.entry(id).or_insert_with(|| {
            self.names.push(self.session.name(id).to_owned());
            u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// A number for something that has the same one in every copy, and in every
/// run: what is kept of a log is compared with what others say later.
fn key(what: &str, texts: &[&str], time: Option<Timestamp>) -> u64 {
    let mut hash = Sha256::new();
    for text in std::iter::once(&what).chain(texts) {
        hash.update(text.len().to_le_bytes());
        hash.update(text.as_bytes());
    }
    if let Some(time) = time {
        hash.update(time.as_millisecond().to_le_bytes());
    }
    hash.finalize().iter().take(8).fold(0, |key, byte| (key << 8) | u64::from(*byte))
}

fn agent_key(agent: &AgentId) -> u64 {
    key("agent", &[agent.as_str()], None)
}

fn message_key(session: &Session, message: &crate::MessageFact) -> u64 {
    let request = message.request.map_or("", |request| session.name(request));
    key("message", &[session.name(message.id), request], None)
}

fn messages(session: &Session, names: &mut LocalNames<'_>) -> Vec<MessageFact> {
    let real = session.facts().messages.iter().filter(|message| !message.is_synthetic);
    real.map(|message| MessageFact {
        key: message_key(session, message),
        model: message.model.map(|model| names.place(model)),
        time: message.nodes.first().and_then(|id| session.node(*id).time()),
        tokens: message.tokens,
        is_told: false,
    })
    .collect()
}

fn calls(session: &Session, names: &mut LocalNames<'_>) -> Vec<CallFact> {
    let edits = edits(session);
    let end = |call: &ToolCall| match (call.result, call.is_error) {
        (None, _) => CallEnd::Open,
        (Some(_), true) => CallEnd::Failed,
        (Some(_), false) => CallEnd::Done,
    };
    let mut facts = Vec::new();
    for call in &session.facts().calls {
        // A result whose call is not there says nothing of a tool.
        let Some(name) = call.name else { continue };
        let edit = edits.get(&call.id).map(|edit| EditFact {
            path: names.place(edit.path),
            added: edit.added,
            removed: edit.removed,
        });
        facts.push(CallFact {
            key: key("call", &[session.name(call.id)], call.called()),
            tool: names.place(name),
            end: end(call),
            milliseconds: call.milliseconds().and_then(|span| u64::try_from(span).ok()),
            edit,
            is_told: false,
        });
    }
    facts
}

/// What was changed, by the call that did it.
fn edits(session: &Session) -> IdMap<NameId, crate::FileTouch> {
    let call_of = |node: NodeId| {
        session.node(node).blocks.iter().find_map(|block| match block {
            BlockFact::ToolResult { id, .. } => Some(*id),
            _ => None,
        })
    };
    let touches = session.facts().files.iter().filter(|touch| match touch.action {
        FileAction::Read => false,
        FileAction::Created | FileAction::Written | FileAction::Edited => true,
    });
    touches.filter_map(|touch| Some((call_of(touch.node)?, *touch))).collect()
}

fn turn_facts(session: &Session, turns: &Turns) -> Vec<TurnFact> {
    // The first message of each turn, which was sent all that came before.
    let first_of = |turn: &Turn<'_>| {
        let begun = |id: &NodeId| {
            let message = session.facts().message(session.node(*id).message?)?;
            let is_first = message.nodes.first() == Some(id) && !message.is_synthetic;
            is_first.then_some(message)
        };
        turn.nodes.iter().filter_map(begun).next()
    };
    let mut number = 0;
    let fact = |turn: Turn<'_>| {
        let first = first_of(&turn);
        // Old clients write the work of subagents into the log of the session.
        let is_own = turn.kind != TurnKind::Agent;
        let first = first.filter(|_| is_own);
        number += u32::from(first.is_some());
        let sent = first.map(|message| message.tokens.context()).filter(|tokens| *tokens > 0);
        // A copy keeps the ids of messages, whoever made it.
        let key = match (first, turn.prompt) {
            (Some(first), _) => message_key(session, first) ^ 1,
            (None, Some(prompt)) => {
                let node = session.node(prompt);
                key("turn", &[&node.uuid().to_string()], node.time())
            }
            (None, None) => key("turn", &[], turn.started),
        };
        TurnFact {
            key,
            kind: turn.kind,
            started: turn.started,
            ended: turn.ended,
            milliseconds: first.and_then(|_| turn.length()),
            context: sent.map(|tokens| (number, tokens)),
        }
    };
    turns.iter(session).map(fact).collect()
}
