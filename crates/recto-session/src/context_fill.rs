//! What fills the context of a session, turn by turn.
//!
//! The lines that the newest clients send are added up by what they are: prompts,
//! answers, results of each tool, and so on. Tokens are estimated from the bytes of
//! the text, as everywhere; beside them stands what the API counted, where the log
//! has it. The difference is what the log does not hold: the system prompt, the
//! descriptions of tools, and what the estimate misses.
//!
//! One pass over the lines, whatever the number of turns.

use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::Source;
use recto_log::UserText;
use recto_log::json::Value;

use crate::LineSource;
use crate::NameId;
use crate::NodeId;
use crate::Session;
use crate::Turns;
use crate::fold::hash::IdMap;
use crate::fold::hash::IdSet;
use crate::health::estimated_tokens;
use crate::request::UnreadableLine;
use crate::request::told::Teller;
use crate::request::told::sent_to;
use crate::with_line;

/// What a picture counts for: what the API takes for a large one at most.
const PICTURE_BYTES: u64 = 1600 * 4;

/// What something in the context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Filler {
    /// What the user typed, or what a subagent was asked.
    Prompt,
    /// Text of answers.
    Answer,
    /// Thinking.
    Thinking,
    /// Calls of tools, with their arguments.
    Call,
    /// Results of tools.
    Result,
    /// What the client attached: files, listings, reminders.
    Attachment,
    /// Memory files, such as CLAUDE.md.
    Memory,
    /// Summaries of compactions.
    Summary,
    /// Pictures and documents.
    Media,
    /// Commands and their output, notices, and blocks that are not known.
    Other,
}

impl Filler {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Filler; 10] = [
        Filler::Prompt,
        Filler::Answer,
        Filler::Thinking,
        Filler::Call,
        Filler::Result,
        Filler::Attachment,
        Filler::Memory,
        Filler::Summary,
        Filler::Media,
        Filler::Other,
    ];

    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            Filler::Prompt => "prompts",
            Filler::Answer => "answers",
            Filler::Thinking => "thinking",
            Filler::Call => "calls",
            Filler::Result => "results",
            Filler::Attachment => "attachments",
            Filler::Memory => "memory",
            Filler::Summary => "summaries",
            Filler::Media => "media",
            Filler::Other => "other",
        }
    }
}

/// A part of the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledPart {
    /// What it is.
    pub filler: Filler,
    /// The tool, or the type of the attachment; empty for all else.
    pub name: String,
    /// How many there are.
    pub count: u64,
    /// Their tokens, estimated.
    pub tokens: u64,
}

/// The context at the last request of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnFill {
    /// The number of the turn.
    pub turn: u32,
    /// The line with the answer to the request.
    pub line: u64,
    /// Whether a compaction came before it and after the turn before.
    pub is_compacted: bool,
    /// The tokens of each of [`Filler::ALL`], estimated.
    pub tokens: [u64; Filler::ALL.len()],
    /// What the API counted, where the log says it.
    pub measured: Option<u64>,
}

impl TurnFill {
    /// All tokens, estimated.
    pub fn estimated(&self) -> u64 {
        self.tokens.iter().sum()
    }
}

/// What fills the context, turn by turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ContextFill {
    /// The turns in which a model was asked, in order.
    pub turns: Vec<TurnFill>,
    /// The parts at the wanted turn, the largest first; empty if there is no such
    /// turn on the way.
    pub parts: Vec<FilledPart>,
    /// Lines whose text could not be had.
    pub unreadable: Vec<UnreadableLine>,
}

/// What fills the context on the way to a line. The parts are those of the wanted
/// turn, or of the last one.
pub fn context_fill(
    session: &Session,
    turns: &Turns,
    leaf: NodeId,
    wanted: Option<u32>,
    log: &dyn LineSource,
) -> ContextFill {
    let parts = sent_to(session, leaf);
    let lasts = LastRequests::new(session, turns, &parts);
    let wanted = wanted.or(lasts.turn_of_last);
    let mut walk = Walk {
        session,
        log,
        teller: Teller::new(session),
        compactions: Compactions::new(session),
        remembered: IdMap::default(),
        window: Window::default(),
        is_compacted: false,
        fill: ContextFill::default(),
    };
    for id in parts.iter().flatten() {
        walk.pass_boundary(*id);
        if let Some(turn) = lasts.by_line.get(id) {
            walk.note_request(*turn, *id, wanted);
        }
        walk.add_line(*id);
        walk.add_kept(*id);
    }
    walk.fill
}

/// The first line of the last API message of each turn, on a way.
struct LastRequests {
    by_line: IdMap<NodeId, u32>,
    turn_of_last: Option<u32>,
}

impl LastRequests {
    fn new(session: &Session, turns: &Turns, parts: &[Vec<NodeId>]) -> LastRequests {
        let turn_of = turns.places(session);
        let mut seen: IdSet<NameId> = IdSet::default();
        let mut lasts: IdMap<u32, NodeId> = IdMap::default();
        let mut turn_of_last = None;
        for id in parts.iter().flatten() {
            let node = session.node(*id);
            let is_new = node.message.is_none_or(|message| seen.insert(message));
            if node.kind == Kind::Assistant && !node.flags.is_synthetic && is_new {
                lasts.insert(turn_of[id.index()] + 1, *id);
                turn_of_last = Some(turn_of[id.index()] + 1);
            }
        }
        let by_line = lasts.into_iter().map(|(turn, id)| (id, turn)).collect();
        LastRequests { by_line, turn_of_last }
    }
}

/// Where compactions are, and what they kept.
#[derive(Default)]
struct Compactions {
    boundaries: IdSet<NodeId>,
    /// The lines that follow a line, because a compaction put them there.
    kept_after: IdMap<NodeId, Vec<NodeId>>,
    kept: IdSet<NodeId>,
}

impl Compactions {
    fn new(session: &Session) -> Compactions {
        let mut compactions = Compactions::default();
        for compaction in &session.facts().compactions {
            compactions.boundaries.insert(compaction.boundary);
            let anchor = compaction.metadata.anchor.as_ref().and_then(|uuid| session.find(uuid));
            let Some(anchor) = anchor else { continue };
            let kept = compaction.metadata.preserved.iter().filter_map(|uuid| session.find(uuid));
            let kept: Vec<NodeId> = kept.collect();
            compactions.kept.extend(&kept);
            compactions.kept_after.insert(anchor, kept);
        }
        compactions
    }
}

/// A part of a line: what it is, the name that tells it from others, its bytes.
type Piece = (Filler, Option<NameId>, u64);

/// What is in the context.
#[derive(Default)]
struct Window {
    bytes: [u64; Filler::ALL.len()],
    parts: IdMap<(u8, Option<NameId>), (u64, u64)>,
}

impl Window {
    fn add(&mut self, (filler, name, bytes): Piece) {
        let sum = &mut self.bytes[filler as usize];
        *sum = sum.saturating_add(bytes);
        let (count, sum) = self.parts.entry((filler as u8, name)).or_default();
        *count += 1;
        *sum = sum.saturating_add(bytes);
    }

    fn parts(&self, session: &Session) -> Vec<FilledPart> {
        let part =
            |((filler, name), (count, bytes)): (&(u8, Option<NameId>), &(u64, u64))| FilledPart {
                filler: Filler::ALL[*filler as usize],
                name: name.map_or_else(String::new, |name| session.name(name).to_owned()),
                count: *count,
                tokens: estimated_tokens(*bytes),
            };
        let mut parts: Vec<FilledPart> = self.parts.iter().map(part).collect();
        parts.sort_by(|a, b| {
            let order = |part: &FilledPart| (part.filler, part.name.clone());
            b.tokens.cmp(&a.tokens).then_with(|| order(a).cmp(&order(b)))
        });
        parts
    }
}

struct Walk<'s, 'f> {
    session: &'s Session,
    log: &'f dyn LineSource,
    teller: Teller,
    compactions: Compactions,
    /// What kept lines hold, which a compaction brings back.
    remembered: IdMap<NodeId, Vec<Piece>>,
    window: Window,
    is_compacted: bool,
    fill: ContextFill,
}

impl Walk<'_, '_> {
    /// A compaction empties the context.
    fn pass_boundary(&mut self, id: NodeId) {
        if self.compactions.boundaries.contains(&id) {
            self.window = Window::default();
            self.is_compacted = true;
        }
    }

    /// What a compaction kept follows its summary.
    fn add_kept(&mut self, id: NodeId) {
        for kept in self.compactions.kept_after.get(&id).cloned().unwrap_or_default() {
            self.add_line(kept);
        }
    }

    fn note_request(&mut self, turn: u32, id: NodeId, wanted: Option<u32>) {
        let node = self.session.node(id);
        let message = node.message.and_then(|message| self.session.facts().message(message));
        let measured = message.map(|message| message.tokens.context()).filter(|sent| *sent > 0);
        self.fill.turns.push(TurnFill {
            turn,
            line: node.line,
            is_compacted: std::mem::take(&mut self.is_compacted),
            tokens: self.window.bytes.map(estimated_tokens),
            measured,
        });
        if wanted == Some(turn) {
            self.fill.parts = self.window.parts(self.session);
        }
    }

    fn add_line(&mut self, id: NodeId) {
        for piece in self.pieces(id) {
            self.window.add(piece);
        }
    }

    fn pieces(&mut self, id: NodeId) -> Vec<Piece> {
        if let Some(known) = self.remembered.get(&id) {
            return known.clone();
        }
        let node = self.session.node(id);
        let is_for_model = match node.kind {
            Kind::User | Kind::Assistant | Kind::Attachment => true,
            Kind::System => {
                let is = |name| self.session.name(name) == "local_command";
                node.subtype.is_some_and(is) && !node.flags.is_display_only
            }
            _ => false,
        };
        if !is_for_model {
            return Vec::new();
        }
        let read = with_line(self.log, node.span(), node.line, |entry| {
            pieces_of(self.session, &self.teller, id, entry)
        });
        let pieces = match read {
            Ok(pieces) => pieces,
            Err(error) => {
                let error = error.to_string();
                self.fill.unreadable.push(UnreadableLine { line: node.line, error });
                return Vec::new();
            }
        };
        if self.compactions.kept.contains(&id) {
            self.remembered.insert(id, pieces.clone());
        }
        pieces
    }
}

fn pieces_of(session: &Session, teller: &Teller, id: NodeId, entry: &Entry<'_>) -> Vec<Piece> {
    let node = session.node(id);
    match node.kind {
        Kind::Attachment => {
            let bytes = teller.attachment_bytes(entry);
            let filler = match node.subtype.map(|name| session.name(name)) {
                Some("instructions") => Filler::Memory,
                Some("queued_command") => Filler::Prompt,
                Some(name) if name.contains("memory") => Filler::Memory,
                _ => Filler::Attachment,
            };
            let name = node.subtype.filter(|_| filler != Filler::Prompt);
            let is_told = bytes > 0;
            is_told.then_some((filler, name, bytes)).into_iter().collect()
        }
        Kind::System => vec![(Filler::Other, None, text_bytes(entry.get("content")))],
        Kind::Assistant => content_pieces(session, entry, Filler::Answer),
        _ => content_pieces(session, entry, filler_of_text(node.user)),
    }
}

/// What the text of a user line is.
fn filler_of_text(text: UserText) -> Filler {
    match text {
        UserText::Human | UserText::Picture | UserText::AgentTask => Filler::Prompt,
        UserText::CompactSummary => Filler::Summary,
        UserText::Command
        | UserText::BashInput
        | UserText::BashOutput
        | UserText::CommandOutput
        | UserText::TaskNotification
        | UserText::ToolResult
        | UserText::Interrupt
        | UserText::Meta
        | UserText::Nothing => Filler::Other,
    }
}

fn content_pieces(session: &Session, entry: &Entry<'_>, text: Filler) -> Vec<Piece> {
    let content = entry.message().map_or(Content::Missing, |message| message.content());
    let mut pieces = Vec::new();
    for block in content.blocks() {
        let piece = match block {
            Block::Text { text: said } => (text, None, text_bytes(Some(said))),
            Block::Thinking { thinking, signature } => {
                (Filler::Thinking, None, thinking_bytes(thinking, signature))
            }
            Block::RedactedThinking { data } => (Filler::Thinking, None, sealed_bytes(data)),
            Block::ToolUse { id, name, input } => {
                let tool = tool_of(session, id);
                let bytes = text_bytes(name) + input.map_or(0, |input| input.bytes().len() as u64);
                (Filler::Call, tool, bytes)
            }
            Block::ToolResult { tool_use_id, content, .. } => {
                let tool = tool_of(session, tool_use_id);
                pieces.extend(media_in(content));
                (Filler::Result, tool, content_bytes(content))
            }
            Block::Image { .. } => (Filler::Media, None, PICTURE_BYTES),
            Block::Document { source } => (Filler::Media, None, source_bytes(source)),
            Block::ServerToolUse { input, .. } => {
                (Filler::Call, None, input.map_or(0, |input| input.bytes().len() as u64))
            }
            Block::WebSearchToolResult { content, .. } => {
                (Filler::Result, None, content_bytes(content))
            }
            Block::Unknown { value } => (Filler::Other, None, value.bytes().len() as u64),
        };
        pieces.push(piece);
    }
    pieces
}

/// The tool of a call.
fn tool_of(session: &Session, call: Option<Value<'_>>) -> Option<NameId> {
    session.facts().call(session.names().find(&call?.as_str()?)?)?.name
}

fn text_bytes(text: Option<Value<'_>>) -> u64 {
    text.and_then(Value::as_str).map_or(0, |text| text.len() as u64)
}

/// The text of a result.
fn content_bytes(content: Content<'_>) -> u64 {
    let text = |block| match block {
        Block::Text { text } => text_bytes(Some(text)),
        Block::Unknown { value } => value.bytes().len() as u64,
        _ => 0,
    };
    content.blocks().map(text).sum()
}

/// The pictures and documents of a result.
fn media_in(content: Content<'_>) -> impl Iterator<Item = Piece> {
    content.blocks().filter_map(|block| match block {
        Block::Image { .. } => Some((Filler::Media, None, PICTURE_BYTES)),
        Block::Document { source } => Some((Filler::Media, None, source_bytes(source))),
        _ => None,
    })
}

fn source_bytes(source: Source<'_>) -> u64 {
    match source {
        Source::Base64 { data, .. } => sealed_bytes(data),
        Source::Url { .. } => 0,
        Source::Other(value) => value.map_or(0, |value| value.bytes().len() as u64),
    }
}

/// Thinking that the model keeps to itself is in the signature.
fn thinking_bytes(thinking: Option<Value<'_>>, signature: Option<Value<'_>>) -> u64 {
    match text_bytes(thinking) {
        0 => sealed_bytes(signature),
        bytes => bytes,
    }
}

/// What a text in base64 holds.
fn sealed_bytes(data: Option<Value<'_>>) -> u64 {
    text_bytes(data) / 4 * 3
}

#[cfg(test)]
#[path = "context_fill_tests.rs"]
mod tests;
