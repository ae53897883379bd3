//! Turns: a prompt and everything that came of it.
//!
//! A line belongs to the turn of the nearest prompt above it in the chain, not
//! to the prompt before it in the file: after a rewind, and where lines were
//! written out of order, these differ. Only where the chain is broken does the
//! file's order decide.

use std::hash::BuildHasher;

use jiff::Timestamp;
use recto_log::Entry;
use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::UserText;
use recto_log::classify_user;

use crate::BlockFact;
use crate::Node;
use crate::NodeId;
use crate::QueuedLine;
use crate::Session;
use crate::Tokens;
use crate::TurnHook;
use crate::fold::hooks::HookFact;
use crate::fold::hooks::hooks_of;

/// What began a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TurnKind {
    /// A prompt.
    Human,
    /// A slash command.
    Command,
    /// A shell command typed with `!`.
    Bash,
    /// A background task that ended.
    Task,
    /// The task of a subagent.
    Agent,
    /// The summary of a compaction.
    Summary,
    /// Lines before any prompt.
    Start,
}

impl TurnKind {
    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            TurnKind::Human => "prompt",
            TurnKind::Command => "command",
            TurnKind::Bash => "bash",
            TurnKind::Task => "task",
            TurnKind::Agent => "agent",
            TurnKind::Summary => "summary",
            TurnKind::Start => "start",
        }
    }
}

/// A prompt and everything that came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// The turn's number, from 1, in the order of the log.
    pub number: u32,
    /// What began it.
    pub kind: TurnKind,
    /// The line that began it.
    pub prompt: Option<NodeId>,
    /// All its lines, in the order of the log. What stands before the first
    /// prompt of a session belongs to it.
    pub nodes: Vec<NodeId>,
    /// Prompts that were typed while it went on, and that the chain tells.
    pub queued: Vec<NodeId>,
    /// Prompts that were typed while it went on, and that only the queue tells.
    pub queued_lines: Vec<QueuedLine>,
    /// The hooks that ran.
    pub hooks: Vec<TurnHook>,
    /// When its first line was written.
    pub started: Option<Timestamp>,
    /// When its last line was written.
    pub ended: Option<Timestamp>,
    /// How long it took by the client's own word, in milliseconds.
    pub milliseconds: Option<u64>,
    /// API messages in it.
    pub messages: u32,
    /// Tool calls in it, and how many of them failed.
    pub calls: u32,
    /// See `calls`.
    pub failed_calls: u32,
    /// Failed API calls in it.
    pub api_errors: u32,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
    /// The tokens of its messages, each counted once.
    pub tokens: Tokens,
}

impl Turn {
    fn new(number: u32, kind: TurnKind, prompt: Option<NodeId>) -> Turn {
        Turn {
            number,
            kind,
            prompt,
            nodes: Vec::new(),
            queued: Vec::new(),
            queued_lines: Vec::new(),
            hooks: Vec::new(),
            started: None,
            ended: None,
            milliseconds: None,
            messages: 0,
            calls: 0,
            failed_calls: 0,
            api_errors: 0,
            is_interrupted: false,
            tokens: Tokens::default(),
        }
    }

    /// How long it took, in milliseconds: the client's own word, else the span of
    /// its lines.
    pub fn length(&self) -> Option<u64> {
        self.milliseconds.or_else(|| {
            let span = self.ended?.duration_since(self.started?);
            u64::try_from(span.as_millis()).ok()
        })
    }
}

/// The turns of a session, in the order of the log.
pub fn turns(session: &Session) -> Vec<Turn> {
    let owner = owners(session);
    let mut order: Vec<NodeId> = session.ids().collect();
    order.sort_by_key(|id| session.node(*id).line);
    let mut turns: Vec<Turn> = Vec::new();
    // The place of each turn by the line that began it.
    let mut places: Vec<Option<usize>> = vec![None; session.nodes().len()];
    let mut current = None;
    // Attachments and remarks before the first prompt, which belong to it.
    let mut early: Vec<NodeId> = Vec::new();
    for id in order {
        let begun = kind_of(session, id);
        let key = owner[id.index()].or(current);
        let node = session.node(id);
        if key.is_none() && !is_work(node.kind, node.user) {
            early.push(id);
            continue;
        }
        let place = match key.and_then(|key| places[key.index()]) {
            Some(place) => place,
            None => {
                let number = u32::try_from(turns.len() + 1).unwrap_or(u32::MAX);
                let prompt = key.filter(|key| kind_of(session, *key).is_some());
                let kind = prompt.and_then(|prompt| kind_of(session, prompt));
                turns.push(Turn::new(number, kind.unwrap_or(TurnKind::Start), prompt));
                if let Some(key) = key {
                    places[key.index()] = Some(turns.len() - 1);
                }
                turns.len() - 1
            }
        };
        if begun.is_some() {
            current = Some(id);
        } else if current.is_none() {
            current = key.or(Some(id));
            places[id.index()] = Some(place);
        }
        for early in early.drain(..) {
            add_line(session, &mut turns[place], early);
        }
        add_line(session, &mut turns[place], id);
    }
    if !early.is_empty() {
        let mut turn = Turn::new(1, TurnKind::Start, None);
        for early in early {
            add_line(session, &mut turn, early);
        }
        turns.push(turn);
    }
    add_facts(session, &mut turns);
    turns
}

/// Numbers turns while a log is read, line by line.
///
/// Gives the numbers of [`turns`] without a second pass; they differ only in
/// lines that stand before their own prompt, or after the prompt of another
/// branch.
#[derive(Debug, Clone, Copy, Default)]
pub struct TurnCounter {
    number: u32,
    /// The prompt that was last, as [`mark`] numbers it.
    prompt: Option<u64>,
}

impl TurnCounter {
    /// Goes on after a line of which only the number is known.
    #[cfg(feature = "search")]
    pub(crate) fn after(number: u32) -> TurnCounter {
        TurnCounter { number, prompt: None }
    }

    /// How many turns have begun.
    #[cfg(feature = "search")]
    pub(crate) fn begun(self) -> u32 {
        self.number
    }

    /// The number of the turn of the line before.
    pub fn current(&self) -> u32 {
        self.number.max(1)
    }

    /// The number of the turn that the next line belongs to.
    pub fn next(&mut self, entry: &Entry<'_>) -> u32 {
        let text = classify_user(entry);
        let begins = entry.kind() == Kind::User && kind_of_text(text).is_some();
        let is_more = begins && text == UserText::Human && self.continues(entry);
        if begins {
            self.prompt = (text == UserText::Human).then(|| mark(entry.uuid(), entry)).flatten();
        }
        if begins && !is_more {
            self.number += 1;
        } else if self.number == 0 && entry.get("uuid").is_some() && is_work(entry.kind(), text) {
            self.number = 1;
        }
        // What stands before the first prompt belongs to it.
        self.current()
    }

    /// Whether a line is another part of the prompt before it.
    fn continues(&self, entry: &Entry<'_>) -> bool {
        self.prompt.is_some() && self.prompt == mark(entry.parent_uuid(), entry)
    }
}

/// A number for a line with a uuid and the time of an entry.
fn mark(uuid: Option<EntryUuid>, entry: &Entry<'_>) -> Option<u64> {
    let (uuid, time) = (uuid?, entry.timestamp()?);
    Some(foldhash::fast::FixedState::default().hash_one((uuid, time.as_nanosecond())))
}

/// Whether a line is work of the model's, which is a turn even without a prompt.
fn is_work(kind: Kind, text: UserText) -> bool {
    kind == Kind::Assistant || text == UserText::ToolResult
}

/// What a line begins, if it begins a turn. A prompt that was written as several lines, all
/// at the same time, begins one.
fn kind_of(session: &Session, id: NodeId) -> Option<TurnKind> {
    let node = session.node(id);
    let is_more = node.user == UserText::Human
        && session.parent(id).is_some_and(|parent| {
            let above = session.node(parent);
            above.user == UserText::Human && node.time().is_some() && above.time() == node.time()
        });
    if is_more { None } else { kind_of_text(node.user) }
}

/// Whether a line is a note of the editor or a picture, which clients up to 2.1.29 write
/// before the words of the prompt, as a line of its own.
fn is_beside_prompt(node: &Node) -> bool {
    node.user == UserText::Picture || (node.user == UserText::Meta && !node.flags.is_meta)
}

/// Whether a line begins a turn.
pub(crate) fn begins_turn(session: &Session, id: NodeId) -> bool {
    kind_of(session, id).is_some()
}

pub(crate) fn kind_of_text(text: UserText) -> Option<TurnKind> {
    match text {
        UserText::Human => Some(TurnKind::Human),
        UserText::AgentTask => Some(TurnKind::Agent),
        UserText::Command => Some(TurnKind::Command),
        UserText::BashInput => Some(TurnKind::Bash),
        UserText::TaskNotification => Some(TurnKind::Task),
        UserText::CompactSummary => Some(TurnKind::Summary),
        UserText::ToolResult
        | UserText::Interrupt
        | UserText::CommandOutput
        | UserText::BashOutput
        | UserText::Meta
        | UserText::Picture
        | UserText::Nothing => None,
    }
}

/// For each line the nearest one above it, or itself, that begins a turn.
fn owners(session: &Session) -> Vec<Option<NodeId>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        OnTheWay,
        Yes,
    }
    let mut owner = vec![None; session.nodes().len()];
    let mut seen = vec![Seen::No; session.nodes().len()];
    let mut way = Vec::new();
    for start in session.ids() {
        let mut at = Some(start);
        let mut found = None;
        while let Some(id) = at {
            match seen[id.index()] {
                Seen::Yes => {
                    found = owner[id.index()];
                    break;
                }
                // A cycle has no prompt above it.
                Seen::OnTheWay => break,
                Seen::No => {}
            }
            seen[id.index()] = Seen::OnTheWay;
            way.push(id);
            if kind_of(session, id).is_some() {
                found = Some(id);
                break;
            }
            at = session.parent(id);
        }
        for id in way.drain(..) {
            owner[id.index()] = found;
            seen[id.index()] = Seen::Yes;
        }
    }
    take_what_is_before(session, &mut owner);
    owner
}

/// Gives notes and pictures that were written with a prompt, and before it, to that prompt.
fn take_what_is_before(session: &Session, owner: &mut [Option<NodeId>]) {
    for prompt in session.ids().filter(|id| session.node(*id).user == UserText::Human) {
        let time = session.node(prompt).time();
        let mut above = session.parent(prompt);
        // Lines that lead back to themselves are passed once.
        for _ in session.nodes() {
            let Some(id) = above else { break };
            let node = session.node(id);
            if !is_beside_prompt(node) || time.is_none() || node.time() != time {
                break;
            }
            if owner[id.index()] == Some(prompt) {
                break;
            }
            owner[id.index()] = Some(prompt);
            above = session.parent(id);
        }
    }
}

fn add_line(session: &Session, turn: &mut Turn, id: NodeId) {
    let node = session.node(id);
    turn.nodes.push(id);
    if let Some(time) = node.time() {
        turn.started = Some(turn.started.map_or(time, |started| started.min(time)));
        turn.ended = Some(turn.ended.map_or(time, |ended| ended.max(time)));
    }
    turn.is_interrupted |= node.user == UserText::Interrupt || node.flags.is_aborted;
    turn.api_errors += u32::from(node.flags.is_api_error);
    if node.kind == Kind::Attachment
        && node.subtype.is_some_and(|name| session.name(name) == "queued_command")
    {
        turn.queued.push(id);
    }
    for block in &node.blocks {
        match block {
            BlockFact::ToolUse { .. } => turn.calls += 1,
            BlockFact::ToolResult { is_error: true, .. } => turn.failed_calls += 1,
            _ => {}
        }
    }
}

/// Counts each API message once, in the turn of its first line, and adds what
/// stands beside the chain.
fn add_facts(session: &Session, turns: &mut [Turn]) {
    let mut turn_of = vec![None; session.nodes().len()];
    for (place, turn) in turns.iter().enumerate() {
        for id in &turn.nodes {
            turn_of[id.index()] = Some(place);
        }
    }
    for message in &session.facts().messages {
        let Some(place) = message.nodes.first().and_then(|id| turn_of[id.index()]) else {
            continue;
        };
        if !message.is_synthetic {
            turns[place].messages += 1;
            turns[place].tokens.add(message.tokens);
        }
    }
    for line in session.queued_lines() {
        if let Some(place) = line.after.and_then(|id| turn_of[id.index()]) {
            turns[place].queued_lines.push(line);
        }
    }
    let mut hooks: Vec<Vec<HookFact>> = vec![Vec::new(); turns.len()];
    for fact in &session.facts().hooks {
        if let Some(place) = turn_of[fact.node.index()] {
            hooks[place].push(*fact);
        }
    }
    for (turn, facts) in turns.iter_mut().zip(hooks) {
        turn.hooks = hooks_of(&facts);
    }
    for (id, milliseconds) in &session.facts().turn_durations {
        if let Some(place) = turn_of[id.index()] {
            let turn = &mut turns[place];
            turn.milliseconds = Some(turn.milliseconds.unwrap_or(0).saturating_add(*milliseconds));
        }
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
