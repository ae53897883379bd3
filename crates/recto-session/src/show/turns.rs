//! Turns: a prompt and everything that came of it.
//!
//! A line belongs to the turn of the nearest prompt above it in the chain, not
//! to the prompt before it in the file: after a rewind, and where lines were
//! written out of order, these differ. Only where the chain is broken does the
//! file's order decide.

use jiff::Timestamp;
use recto_log::Kind;
use recto_log::UserText;

use crate::BlockFact;
use crate::ByLine;
use crate::Node;
use crate::NodeId;
use crate::QueuedLine;
use crate::Session;
use crate::Tokens;
use crate::TurnHook;
use crate::fold::bits::Bits;
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
pub struct Turn<'t> {
    /// The turn's number, from 1, in the order of the log.
    pub number: u32,
    /// What began it.
    pub kind: TurnKind,
    /// The line that began it.
    pub prompt: Option<NodeId>,
    /// All its lines, in the order of the log. What stands before the first
    /// prompt of a session belongs to it.
    pub nodes: &'t [NodeId],
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

impl<'t> Turn<'t> {
    fn new(number: u32, kind: TurnKind, prompt: Option<NodeId>, nodes: &'t [NodeId]) -> Turn<'t> {
        Turn {
            number,
            kind,
            prompt,
            nodes,
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
///
/// A log may have millions, so only which lines are whose is kept. A turn is counted up when
/// it is asked for, with the session that it was found in.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    /// The lines of the first turn, of the second, and so on.
    nodes: Vec<NodeId>,
    turns: Vec<Begun>,
    /// Facts of hooks, as places in those of the session, by turn.
    hooks: Vec<(u32, u32)>,
    /// Prompts that only the queue tells, by turn.
    queued: Vec<(u32, QueuedLine)>,
    /// How long turns took by the client's own word.
    milliseconds: Vec<(u32, u64)>,
}

/// Where the lines of a turn end, and what began it.
#[derive(Debug, Clone, Copy)]
struct Begun {
    end: u32,
    prompt: u32,
}

/// No line, or no turn.
const NONE: u32 = u32::MAX;

impl Turns {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The lines of a turn.
    pub fn nodes(&self, at: usize) -> &[NodeId] {
        let end = |at: usize| self.turns.get(at).map_or(0, |turn| turn.end as usize);
        let start = at.checked_sub(1).map_or(0, end);
        self.nodes.get(start..end(at)).unwrap_or_default()
    }

    /// The line that began a turn.
    pub fn prompt(&self, at: usize) -> Option<NodeId> {
        let prompt = self.turns.get(at)?.prompt;
        (prompt != NONE).then_some(NodeId(prompt))
    }

    /// What began a turn.
    pub fn kind(&self, session: &Session, at: usize) -> TurnKind {
        self.prompt(at).and_then(|id| kind_of(session, id)).unwrap_or(TurnKind::Start)
    }

    /// A turn by its place, from 0.
    pub fn get<'t>(&'t self, session: &Session, at: usize) -> Option<Turn<'t>> {
        if at >= self.turns.len() {
            return None;
        }
        let place = at as u32;
        let kind = self.kind(session, at);
        let mut turn = Turn::new(place + 1, kind, self.prompt(at), self.nodes(at));
        for id in turn.nodes {
            add_line(session, &mut turn, *id);
        }
        let facts = session.facts();
        let hooks = of_turn(&self.hooks, place);
        let hooks: Vec<HookFact> =
            hooks.filter_map(|fact| facts.hooks.get(*fact as usize).copied()).collect();
        if !hooks.is_empty() {
            turn.hooks = hooks_of(&hooks);
        }
        turn.queued_lines = of_turn(&self.queued, place).copied().collect();
        for milliseconds in of_turn(&self.milliseconds, place) {
            let before = turn.milliseconds.unwrap_or(0);
            turn.milliseconds = Some(before.saturating_add(*milliseconds));
        }
        Some(turn)
    }

    /// A turn by its number, from 1.
    pub fn numbered<'t>(&'t self, session: &Session, number: u32) -> Option<Turn<'t>> {
        self.get(session, (number as usize).checked_sub(1)?)
    }

    /// All turns, in order.
    pub fn iter<'t>(
        &'t self,
        session: &'t Session,
    ) -> impl DoubleEndedIterator<Item = Turn<'t>> + ExactSizeIterator + Clone {
        let all = 0..self.turns.len();
        // Each place up to the length has a turn.
        all.map(|at| {
            let nothing = || Turn::new(0, TurnKind::Start, None, &[]);
            self.get(session, at).unwrap_or_else(nothing)
        })
    }

    /// The turn of each line, as its place.
    pub fn places(&self, session: &Session) -> Vec<u32> {
        let mut places = vec![0; session.node_count()];
        for at in 0..self.turns.len() {
            for id in self.nodes(at) {
                places[id.index()] = at as u32;
            }
        }
        places
    }
}

/// What is noted of a turn, in a list that is sorted by turns.
fn of_turn<T>(notes: &[(u32, T)], turn: u32) -> impl Iterator<Item = &T> {
    let start = notes.partition_point(|(other, _)| *other < turn);
    notes[start..].iter().take_while(move |(other, _)| *other == turn).map(|(_, note)| note)
}

/// Finds the turns of a session.
pub fn turns(session: &Session) -> Turns {
    let owner = owners(session);
    let order = session.by_line();
    let mut found = Turns::default();
    // The place of each turn by the line that began it, and by all its lines.
    let mut places = vec![NONE; session.node_count()];
    let mut turn_of = vec![0; session.node_count()];
    let mut current = NONE;
    for id in order.iter() {
        let own = owner[id.index()];
        let key = if own == NONE { current } else { own };
        let node = session.node(id);
        // Attachments and remarks before the first prompt belong to it.
        if key == NONE && !is_work(node.kind, node.user) {
            continue;
        }
        let known = places.get(key as usize).copied().unwrap_or(NONE);
        let place = if known == NONE {
            let is_prompt = key != NONE && kind_of(session, NodeId(key)).is_some();
            found.turns.push(Begun { end: 0, prompt: if is_prompt { key } else { NONE } });
            let place = found.turns.len() as u32 - 1;
            if let Some(known) = places.get_mut(key as usize) {
                *known = place;
            }
            place
        } else {
            known
        };
        if kind_of(session, id).is_some() {
            current = id.0;
        } else if current == NONE {
            current = if key == NONE { id.0 } else { key };
            places[id.index()] = place;
        }
        turn_of[id.index()] = place;
    }
    if found.turns.is_empty() && session.node_count() > 0 {
        found.turns.push(Begun { end: 0, prompt: NONE });
    }
    drop((owner, places));
    found.take_lines(&turn_of, &order);
    found.take_facts(session, &turn_of);
    found
}

impl Turns {
    /// Puts the lines of each turn together, in the order of the log.
    fn take_lines(&mut self, turn_of: &[u32], order: &ByLine) {
        for turn in turn_of {
            self.turns[*turn as usize].end += 1;
        }
        // First where the lines of a turn begin, then, as they are put there, where they end.
        let mut start = 0;
        for turn in &mut self.turns {
            start += std::mem::replace(&mut turn.end, start);
        }
        self.nodes = vec![NodeId(0); turn_of.len()];
        for id in order.iter() {
            let turn = &mut self.turns[turn_of[id.index()] as usize];
            self.nodes[turn.end as usize] = id;
            turn.end += 1;
        }
    }

    /// What stands beside the chain.
    fn take_facts(&mut self, session: &Session, turn_of: &[u32]) {
        let turn = |id: NodeId| turn_of[id.index()];
        let facts = session.facts();
        self.hooks = facts.hooks.iter().zip(0..).map(|(fact, at)| (turn(fact.node), at)).collect();
        self.hooks.sort_by_key(|(turn, _)| *turn);
        let queued = session.queued_lines().into_iter();
        self.queued = queued.filter_map(|line| Some((turn(line.after?), line))).collect();
        self.queued.sort_by_key(|(turn, _)| *turn);
        let lengths = facts.turn_durations.iter();
        self.milliseconds = lengths.map(|(id, length)| (turn(*id), *length)).collect();
        self.milliseconds.sort_by_key(|(turn, _)| *turn);
    }
}

/// Whether a line is work of the model's, which is a turn even without a prompt.
pub(super) fn is_work(kind: Kind, text: UserText) -> bool {
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
fn is_beside_prompt(node: Node<'_>) -> bool {
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
fn owners(session: &Session) -> Vec<u32> {
    const UNKNOWN: u32 = NONE - 1;
    const ON_THE_WAY: u32 = NONE - 2;
    let mut owner = vec![UNKNOWN; session.node_count()];
    let mut way = Vec::new();
    for start in session.ids() {
        let mut at = Some(start);
        let mut found = NONE;
        while let Some(id) = at {
            match owner[id.index()] {
                UNKNOWN => {}
                // A cycle has no prompt above it.
                ON_THE_WAY => break,
                known => {
                    found = known;
                    break;
                }
            }
            owner[id.index()] = ON_THE_WAY;
            way.push(id);
            if kind_of(session, id).is_some() {
                found = id.0;
                break;
            }
            at = session.parent(id);
        }
        for id in way.drain(..) {
            owner[id.index()] = found;
        }
    }
    take_what_is_before(session, &mut owner);
    owner
}

/// Gives notes and pictures that were written with a prompt, and before it, to that prompt.
fn take_what_is_before(session: &Session, owner: &mut [u32]) {
    // The last prompt takes what several could. So it goes first, and others end where it was:
    // what is above that is the last one's too.
    let mut is_taken = Bits::new(session.node_count());
    for prompt in session.ids().rev().filter(|id| session.node(*id).user == UserText::Human) {
        let time = session.node(prompt).time();
        let mut above = session.parent(prompt);
        // Lines that lead back to themselves are passed once.
        for _ in session.nodes() {
            let Some(id) = above else { break };
            let node = session.node(id);
            if !is_beside_prompt(node) || time.is_none() || node.time() != time {
                break;
            }
            if owner[id.index()] == prompt.0 || !is_taken.add(id) {
                break;
            }
            owner[id.index()] = prompt.0;
            above = session.parent(id);
        }
    }
}

fn add_line(session: &Session, turn: &mut Turn<'_>, id: NodeId) {
    let node = session.node(id);
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
    // Each API message counts once, in the turn of its first line.
    let message = node.message.filter(|_| node.kind == Kind::Assistant);
    if let Some(message) = message.and_then(|message| session.facts().message(message))
        && message.nodes.first() == Some(&id)
        && !message.is_synthetic
    {
        turn.messages += 1;
        turn.tokens.add(message.tokens);
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
