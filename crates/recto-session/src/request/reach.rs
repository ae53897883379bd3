//! What of a session a client would send, as places in the log.

use std::fmt;

use recto_log::Entry;
use recto_log::Kind;
use recto_log::decode;

use super::Generation;
use super::compaction::cut_at_boundary;
use super::leaf::choose_leaf;
use super::lines;
use super::siblings::recover_siblings;
use super::thin_list::ThinList;
use super::view::View;
use super::walk::mark_history;
use super::walk::walk;
use crate::NameId;
use crate::NodeId;
use crate::Session;
use crate::fold::bits::Bits;

/// What a client would do with a session on resume.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reach {
    /// The generation of the client.
    pub generation: Generation,
    /// How it would end.
    pub outcome: Outcome,
    /// The line that it goes on from.
    pub leaf: Option<NodeId>,
    /// The lines from the beginning to the leaf, as they hang together, before
    /// anything is left out.
    pub chain: Vec<NodeId>,
    /// What goes into the request, in order.
    pub sent: Vec<Sent>,
    /// The lines that do not, in the order of the log.
    pub dropped: Vec<Dropped>,
}

/// How a resume would end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The conversation goes on.
    Resumed,
    /// The client gives up.
    Refused {
        /// What it stumbles over.
        why: Refusal,
    },
    /// The client never comes back.
    Hangs {
        /// What it stumbles over.
        why: Hang,
    },
}

/// Why a client refuses a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is no line to go on from.
    NoConversation,
    /// A line is `null`.
    NullLine {
        /// The line.
        line: u64,
    },
    /// A user or assistant line has no message, or one without content.
    NoContent {
        /// The line.
        line: u64,
    },
    /// The content of an answer is a string.
    TextAnswer {
        /// The line.
        line: u64,
    },
    /// The name of the log is no uuid.
    NotNamedByUuid,
    /// The log is in the directory of another project.
    OtherProject,
}

/// Why a client hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hang {
    /// The parents of a line lead back to it.
    Cycle {
        /// A line of the cycle.
        line: u64,
    },
    /// The last answer does not say which model gave it.
    NoModel {
        /// The line.
        line: u64,
    },
}

/// Where a log is, as far as clients care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where the client looks for it, with a uuid for a name.
    Own,
    /// In the directory of another project.
    OtherProject,
    /// Under a name that is no uuid.
    NotNamedByUuid,
}

/// One part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// A line of the log.
    Line(SentLine),
    /// Something that the client makes up.
    Added(Addition),
}

/// A line that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentLine {
    /// The line.
    pub node: NodeId,
    /// Its blocks that are left out, by place.
    pub left_out: ThinList<u32>,
    /// Whether its content goes on that of the line before, as if they were one.
    pub joins_previous: bool,
}

/// What a client makes up so that a conversation is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addition {
    /// Error results for calls that were cut off.
    Interrupted {
        /// The calls.
        calls: ThinList<NameId>,
    },
    /// A prompt to go on.
    Continue,
    /// The answer "No response requested.".
    NoResponse,
}

impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Addition::Interrupted { calls } => {
                write!(
                    f,
                    "an error result for {} cut off",
                    match calls.len() {
                        1 => "the call that was".to_owned(),
                        calls => format!("{calls} calls that were"),
                    }
                )
            }
            Addition::Continue => f.write_str("a prompt to go on"),
            Addition::NoResponse => f.write_str("the answer \"No response requested.\""),
        }
    }
}

/// A line that is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The line's number.
    pub line: u64,
    /// Why.
    pub reason: DropReason,
}

/// Why a line is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// It is no JSON object.
    Damaged,
    /// The client does not read it: it comes after a `null` line, is of a kind
    /// that the client does not know, or has a byte order mark.
    NotRead,
    /// It has no uuid.
    NoUuid,
    /// A later line has its uuid.
    RepeatedUuid,
    /// The way from the leaf up does not pass it.
    NotReached,
    /// A summary stands for it.
    BeforeCompaction,
    /// It has no message.
    NoContent,
    /// Its call has no result.
    CallWithoutResult,
    /// It is thinking, and the rest of its message is not there.
    OrphanThinking,
    /// It is thinking that another model signed.
    ForeignThinking,
    /// It is an answer without text.
    BlankAnswer,
    /// It stands for a failed API call.
    ApiError,
    /// Lines of its kind are for the client, not for the model.
    NotForModel,
}

impl DropReason {
    /// A stable name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::Damaged => "damaged",
            DropReason::NotRead => "not-read",
            DropReason::NoUuid => "no-uuid",
            DropReason::RepeatedUuid => "repeated-uuid",
            DropReason::NotReached => "not-reached",
            DropReason::BeforeCompaction => "before-compaction",
            DropReason::NoContent => "no-content",
            DropReason::CallWithoutResult => "call-without-result",
            DropReason::OrphanThinking => "orphan-thinking",
            DropReason::ForeignThinking => "foreign-thinking",
            DropReason::BlankAnswer => "blank-answer",
            DropReason::ApiError => "api-error",
            DropReason::NotForModel => "not-for-model",
        }
    }

    /// The reason in words.
    pub fn about(self) -> &'static str {
        match self {
            DropReason::Damaged => "no JSON object",
            DropReason::NotRead => "Claude Code does not read it",
            DropReason::NoUuid => "no uuid",
            DropReason::RepeatedUuid => "a later line has the same uuid",
            DropReason::NotReached => "not on the way from the leaf to the beginning",
            DropReason::BeforeCompaction => "replaced by the summary of a compaction",
            DropReason::NoContent => "no message in it",
            DropReason::CallWithoutResult => "a tool call without a result",
            DropReason::OrphanThinking => "thinking without the rest of its message",
            DropReason::ForeignThinking => "thinking that another model signed",
            DropReason::BlankAnswer => "an answer without text",
            DropReason::ApiError => "marks a failed API call",
            DropReason::NotForModel => "for Claude Code, not for the model",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoConversation => f.write_str("there is no conversation in the log"),
            Refusal::NullLine { line } => write!(f, "line {line} is null"),
            Refusal::NoContent { line } => write!(f, "line {line} has no message"),
            Refusal::TextAnswer { line } => {
                write!(f, "the answer in line {line} is a string, not a list of blocks")
            }
            Refusal::NotNamedByUuid => f.write_str("the name of the log is not a uuid"),
            Refusal::OtherProject => f.write_str("the log is in another project's directory"),
        }
    }
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hang::Cycle { line } => write!(f, "the parents of line {line} lead back to it"),
            Hang::NoModel { line } => {
                write!(f, "the last answer, line {line}, names no model")
            }
        }
    }
}

impl Outcome {
    /// A stable name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Resumed => "resumed",
            Outcome::Refused { .. } => "refused",
            Outcome::Hangs { .. } => "hangs",
        }
    }

    /// Why it does not go on.
    pub fn why(self) -> Option<String> {
        match self {
            Outcome::Resumed => None,
            Outcome::Refused { why } => Some(why.to_string()),
            Outcome::Hangs { why } => Some(why.to_string()),
        }
    }
}

/// A line as clients of a generation read it: those since 2.1.200 read an object that
/// begins it, whatever follows.
pub fn read_by(entry: Entry<'_>, generation: Generation) -> Entry<'_> {
    match entry.first_object() {
        Some(first) if generation >= Generation::V2_1_200 => decode(first).0,
        Some(_) | None => entry,
    }
}

/// What a client of a generation would send of a session that it finds.
pub fn reach(session: &Session, generation: Generation) -> Reach {
    reach_at(session, generation, Place::Own)
}

/// The line that a client of a generation goes on from, as [`reach`] says it, without the rest.
pub fn leaf(session: &Session, generation: Generation) -> Option<NodeId> {
    find_leaf(&View::new(session, generation), Place::Own).ok()
}

/// What a client would send of a session whose log is in some place.
pub fn reach_at(session: &Session, generation: Generation, place: Place) -> Reach {
    reach_in(&View::new(session, generation), place)
}

/// The same for who asks for more of what the client has before it.
pub(crate) fn reach_in(view: &View<'_>, place: Place) -> Reach {
    reach_with(view, |reach| resume(view, find_leaf(view, place)?, reach))
}

/// What a client would send that goes on from a line, whatever came after it.
pub fn reach_from(session: &Session, generation: Generation, leaf: NodeId) -> Reach {
    let view = View::new(session, generation);
    reach_with(&view, |reach| resume(&view, leaf, reach))
}

fn reach_with(view: &View<'_>, resume: impl FnOnce(&mut Reach) -> Result<(), Outcome>) -> Reach {
    let mut reach = Reach {
        generation: view.generation,
        outcome: Outcome::Resumed,
        leaf: None,
        chain: Vec::new(),
        sent: Vec::new(),
        dropped: outside_chain(view.session),
    };
    if let Err(outcome) = resume(&mut reach) {
        reach.outcome = outcome;
    }
    reach.dropped.sort_unstable_by_key(|dropped| (dropped.line, dropped.reason));
    reach
}

/// All lines that led to a line, the oldest first, in parts that hang together:
/// a compaction begins a new part.
pub fn history_to(session: &Session, leaf: NodeId, generation: Generation) -> Vec<Vec<NodeId>> {
    history_in(&View::new(session, generation), leaf)
}

/// The same for who asks for several lines.
pub(crate) fn history_in(view: &View<'_>, leaf: NodeId) -> Vec<Vec<NodeId>> {
    let mut is_inside = Bits::new(view.session.node_count());
    let mut parts: Vec<Vec<NodeId>> = Vec::new();
    let mut at = Some(leaf);
    while let Some(end) = at {
        // A cycle stops the walk of newer clients; of older ones nothing is known.
        let Ok(chain) = walk(view, end) else { break };
        let mut chain = recover_siblings(view, chain);
        chain.retain(|id| is_inside.add(*id));
        at = chain.first().and_then(|top| view.above_in_meaning(*top));
        at = at.filter(|next| !is_inside.has(*next));
        parts.push(chain);
    }
    parts.reverse();
    parts
}

/// The lines that lead from the beginning to a line, without those that are
/// found again beside them; nothing if the client would hang.
pub(crate) fn way_to(session: &Session, leaf: NodeId, generation: Generation) -> Vec<NodeId> {
    walk(&View::new(session, generation), leaf).unwrap_or_default()
}

/// The lines that are lost before any client looks at the chain.
fn outside_chain(session: &Session) -> Vec<Dropped> {
    let because = |reason| move |line: &u64| Dropped { line: *line, reason };
    let damaged = session.damaged.iter().map(because(DropReason::Damaged));
    let without_uuid = session.without_uuid.iter().map(because(DropReason::NoUuid));
    let repeated = session.repeated.iter().map(because(DropReason::RepeatedUuid));
    damaged.chain(without_uuid).chain(repeated).collect()
}

/// The lines that clients read on the way to a leaf; parallel calls are beside it.
fn chain_to(view: &View<'_>, leaf: NodeId) -> Result<Vec<NodeId>, Outcome> {
    let mut chain = walk(view, leaf).map_err(|why| Outcome::Hangs { why })?;
    check_chain(view, &chain)?;
    chain.retain(|id| !view.lacks_content(*id));
    Ok(chain)
}

/// The leaf that clients of a generation choose, whether or not they resume from it.
pub(crate) fn leaf_now(session: &Session, generation: Generation) -> Option<NodeId> {
    choose_leaf(&View::new(session, generation))
}

/// The leaf and the chain of [`reach`] for the newest clients, without parallel calls and
/// without what is sent: a page that follows a session asks for it after every line.
pub(crate) fn chain_now(session: &Session) -> (Option<NodeId>, Vec<NodeId>) {
    chain_in(&View::new(session, Generation::latest()))
}

/// The same for clients of any generation.
pub(crate) fn chain_in(view: &View<'_>) -> (Option<NodeId>, Vec<NodeId>) {
    let leaf = choose_leaf(view);
    let chain = leaf.and_then(|leaf| chain_to(view, leaf).ok());
    (leaf, chain.unwrap_or_default())
}

/// The line that a client goes on from, if it takes the log at all.
fn find_leaf(view: &View<'_>, place: Place) -> Result<NodeId, Outcome> {
    let refused = |why| Outcome::Refused { why };
    let generation = view.generation;
    match place {
        Place::NotNamedByUuid => return Err(refused(Refusal::NotNamedByUuid)),
        Place::OtherProject if generation < Generation::V2_1_300 => {
            return Err(refused(Refusal::OtherProject));
        }
        Place::OtherProject | Place::Own => {}
    }
    if let (Generation::V2_1_200, Some(line)) = (generation, view.session.first_null_line) {
        return Err(refused(Refusal::NullLine { line }));
    }
    choose_leaf(view).ok_or(refused(Refusal::NoConversation))
}

fn resume(view: &View<'_>, leaf: NodeId, reach: &mut Reach) -> Result<(), Outcome> {
    reach.leaf = Some(leaf);
    let dropped = &mut reach.dropped;
    let chain = recover_siblings(view, chain_to(view, leaf)?);
    let kept = cut_at_boundary(view, &chain);
    note_left_out(view, &chain, &kept, dropped);
    let mut sent = lines::pass(view, &kept, dropped);
    lines::repair_end(view, leaf, &mut sent);
    lines::drop_api_errors(view, &mut sent, dropped);
    reach.chain = chain;
    reach.sent = sent;
    Ok(())
}

/// What makes a client give up: lines without content, answers that are a
/// string, a last answer without a model.
fn check_chain(view: &View<'_>, chain: &[NodeId]) -> Result<(), Outcome> {
    let refused = |why| Err(Outcome::Refused { why });
    let mut last_answer = None;
    for id in chain {
        let node = view.node(*id);
        if !node.is_spoken() {
            continue;
        }
        if view.generation < Generation::V2_1_300 {
            let line = node.line;
            if !node.flags.has_content {
                return refused(Refusal::NoContent { line });
            }
            if node.kind == Kind::Assistant && node.flags.is_string {
                return refused(Refusal::TextAnswer { line });
            }
        }
        if node.kind == Kind::Assistant {
            last_answer = Some(node);
        }
    }
    match last_answer {
        Some(node)
            if view.generation == Generation::V2_1_200
                && node.model.is_none_or(|model| view.session.name(model).is_empty()) =>
        {
            Err(Outcome::Hangs { why: Hang::NoModel { line: node.line } })
        }
        _ => Ok(()),
    }
}

/// Notes the lines that are not in the conversation.
fn note_left_out(view: &View<'_>, chain: &[NodeId], kept: &[NodeId], dropped: &mut Vec<Dropped>) {
    let count = view.session.node_count();
    let (mut is_before, is_kept) = (Bits::of(count, chain), Bits::of(count, kept));
    // A boundary begins anew, but means to follow what it replaced.
    if let Some(top) = chain.first().filter(|top| view.is_boundary(**top)) {
        mark_history(view, *top, &mut is_before);
    }
    for id in view.session.ids() {
        let node = view.node(id);
        let reason = match (is_kept.has(id), is_before.has(id), view.has(id)) {
            (true, ..) => continue,
            (false, true, _) => DropReason::BeforeCompaction,
            (false, false, false) if view.looks_through(id) => DropReason::NotForModel,
            (false, false, false) => DropReason::NotRead,
            (false, false, true) if view.lacks_content(id) => DropReason::NoContent,
            (false, false, true) => DropReason::NotReached,
        };
        dropped.push(Dropped { line: node.line, reason });
    }
}
