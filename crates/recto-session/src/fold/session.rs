//! The fold: entries in, session out.

use std::borrow::Cow;
use std::io;

use jiff::Timestamp;
use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::EntryUuid;
use recto_log::Generation;
use recto_log::Kind;
use recto_log::Message;
use recto_log::OpaqueReason;
use recto_log::UserBlocks;
use recto_log::UserText;
use recto_log::classify_blocks;
use recto_log::json::Value;
use recto_log::parse_time;

use crate::BlockFact;
use crate::ByLine;
use crate::Facts;
use crate::Flags;
use crate::LineSource;
use crate::NameId;
use crate::Names;
use crate::Node;
use crate::NodeId;
use crate::Parent;
use crate::PromptQueue;
use crate::Span;
use crate::ToolCall;
use crate::fold::client_text::has_lone_surrogate;
use crate::fold::client_text::is_blank_value;
use crate::fold::line_counts::LineCounts;
use crate::fold::missing::Missing;
use crate::fold::node::Few;
use crate::fold::node::Moment;
use crate::fold::nodes::NewNode;
use crate::fold::nodes::Nodes;
use crate::fold::record::Records;
use crate::with_call;
use crate::with_line;

/// What lines outside the chain say; of each kind the last one counts.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Meta {
    /// The title given by the user.
    pub custom_title: Option<String>,
    /// The title given by a model.
    pub ai_title: Option<String>,
    /// The titles of old clients, each with the line that it names.
    pub summaries: Vec<(String, EntryUuid)>,
    /// The line to resume from, by the last `last-prompt` line that names one.
    pub leaf: Option<EntryUuid>,
    /// The last prompt.
    pub last_prompt: Option<String>,
    /// The permission mode.
    pub permission_mode: Option<String>,
}

/// What lines without a uuid are called where they are taken into the chain.
const NAMELESS: &str = "undefined";

/// A session: the chain of its lines, and what stands beside.
///
/// A session of a log that grows is pushed to in place: each line costs what it is long,
/// whatever came before. A line that is still being written is pushed to a clone, which is
/// thrown away when the line is whole. Readers share a session in an `Arc`; the one who
/// pushes takes it by `Arc::make_mut`, which clones only while somebody still reads the old
/// one. A clone takes about half a millisecond for a log of 67 MB.
#[derive(Debug, Clone, Default)]
pub struct Session {
    nodes: Nodes,
    /// Parents that are not there (yet), and the lines that wait for them.
    missing: Missing,
    names: Names,
    facts: Facts,
    /// What lines outside the chain say.
    pub meta: Meta,
    /// Lines read so far, of all kinds.
    pub lines: u64,
    /// Lines that are no JSON object, with their number.
    pub damaged: Vec<u64>,
    /// Of these, the lines with two objects, of which some clients read the first.
    pub glued: Vec<u64>,
    /// The first line that is `null`: some clients stop, or refuse, there.
    pub first_null_line: Option<u64>,
    /// Lines of the chain without a uuid, which no client can reach.
    pub without_uuid: Vec<u64>,
    /// Whether such lines are taken into the chain.
    takes_nameless: bool,
    /// Lines whose uuid came again later; the later line counts.
    pub repeated: Vec<u64>,
    /// What its lines are, in counts.
    pub counts: LineCounts,
    /// What the log says of requests, compactions and its own lines.
    pub records: Records,
    queue: PromptQueue,
    queued: Vec<QueuedLine>,
}

/// A prompt that only the queue tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedLine {
    /// The line that put it into the queue.
    pub line: u64,
    /// Where that line is.
    pub span: Span,
    /// The line of the chain after which the model got it.
    pub after: Option<NodeId>,
}

impl Session {
    /// A session without lines.
    pub fn new() -> Session {
        Session::default()
    }

    /// Takes in the next line of the log.
    pub fn push(&mut self, entry: &Entry<'_>) {
        self.lines += 1;
        self.counts.add(entry);
        self.records.note_session(entry);
        for prompt in self.queue.next(entry) {
            let after = self.last_node();
            self.queued.push(QueuedLine { line: prompt.line, span: prompt.span, after });
        }
        match entry.kind() {
            Kind::Opaque => self.push_opaque(entry),
            kind if kind.in_chain() => self.push_chain(entry),
            _ => self.push_meta(entry),
        }
    }

    fn push_opaque(&mut self, entry: &Entry<'_>) {
        let number = entry.line().number;
        self.damaged.push(number);
        if entry.is_glued() {
            self.glued.push(number);
        }
        let is_null = entry.opaque_reason() == Some(OpaqueReason::NotObject)
            && entry.bytes().trim_ascii() == b"null";
        if is_null && self.first_null_line.is_none() {
            self.first_null_line = Some(number);
        }
    }

    fn push_meta(&mut self, entry: &Entry<'_>) {
        let title = entry.title().map(|title| title.into_owned());
        match entry.kind() {
            Kind::CustomTitle => self.meta.custom_title = title,
            Kind::AiTitle => self.meta.ai_title = title,
            Kind::Summary => {
                if let (Some(title), Some(leaf)) = (title, entry.uuid_field("leafUuid")) {
                    self.meta.summaries.push((title, leaf));
                }
            }
            Kind::LastPrompt => {
                let Some(last) = entry.last_prompt() else { return };
                let prompt = last.prompt.map(Cow::into_owned);
                self.meta.last_prompt = prompt.or(self.meta.last_prompt.take());
                // An empty name names nothing, so the one before stands.
                let leaf = last.leaf.filter(|leaf| !leaf.is_empty());
                self.meta.leaf = leaf.or(self.meta.leaf.take());
            }
            Kind::PermissionMode => {
                self.meta.permission_mode =
                    entry.str("permissionMode").map(|mode| mode.into_owned());
            }
            Kind::ApiRequest | Kind::ApiRequestBlob => {
                self.records.note_request(entry, &mut self.names);
            }
            Kind::Unknown => self.records.note_unknown(entry),
            _ => {}
        }
    }

    /// Takes lines without a uuid as clients of a generation do, from now on: the newest ones
    /// take them under one name, which no line can name as its parent.
    pub fn read_as(&mut self, generation: Generation) {
        self.takes_nameless = generation >= Generation::V2_1_300;
    }

    fn push_chain(&mut self, entry: &Entry<'_>) {
        let nameless = || self.takes_nameless.then(|| EntryUuid::new(NAMELESS));
        let Some(uuid) = entry.uuid().or_else(nameless) else {
            self.without_uuid.push(entry.line().number);
            return;
        };
        let message = entry.message();
        if let (Kind::Assistant, Some(message)) = (entry.kind(), &message) {
            self.counts.add_answer(message);
        }
        let known = self.find(&uuid);
        let node = self.node_of(entry, uuid, message.as_ref());
        let parent = node.parent;
        match known {
            // The last line with a uuid counts, at the place of the first.
            Some(known) => {
                self.repeated.push(self.node(known).line);
                self.nodes.replace(known, node);
                self.missing.wait(known, parent);
            }
            None => {
                let uuid = node.uuid.clone();
                let id = self.nodes.add(node);
                let node = self.nodes.get(id);
                self.facts.add(entry, message.as_ref(), id, &node, &mut self.names);
                self.missing.wait(id, parent);
                // Lines that came before their parent find it now; a line may be its own.
                self.missing.found(&uuid, id, &mut self.nodes);
            }
        }
    }

    fn node_of(
        &mut self,
        entry: &Entry<'_>,
        uuid: EntryUuid,
        message: Option<&Message<'_>>,
    ) -> NewNode {
        let line = entry.line();
        // An empty name names nothing.
        let parent = entry.parent_uuid().filter(|parent| !parent.is_empty());
        let parent = parent.map_or(Parent::Root, |parent| self.parent_of(parent));
        let content = message.map_or(Content::Missing, |message| message.content());
        let mut seen = UserBlocks::default();
        let seen_blocks = content.blocks().inspect(|block| seen.see(block));
        let blocks = match content {
            // What is no object is no block: clients pass over it.
            Content::Blocks(_) => seen_blocks
                .filter(|block| !matches!(block, Block::Unknown { value } if !value.is_object()))
                .map(|block| self.block_fact(block))
                .collect(),
            Content::Text(_) | Content::Missing | Content::Other(_) => {
                seen_blocks.for_each(drop);
                Few::default()
            }
        };
        let user = match (entry.kind(), message) {
            (Kind::User, Some(_)) => classify_blocks(entry, &seen),
            _ => UserText::Nothing,
        };
        let is = |name: &str| entry.object().is_true(name);
        let above = match parent {
            Parent::Node(above) => Some(self.node(above).flags),
            Parent::Root | Parent::Missing(_) => None,
        };
        // A caveat, the command after it, and what the command said.
        let follows_row = above.is_some_and(|above| above.asks_nothing);
        let follows_caveat = follows_row && above.is_some_and(|above| above.is_meta);
        let flags = Flags {
            is_sidechain: entry.is_sidechain(),
            is_meta: entry.is_meta(),
            is_compact_summary: entry.is_compact_summary(),
            is_api_error: entry.is_api_error(),
            is_synthetic: message.is_some_and(|message| message.is_synthetic()),
            is_aborted: is("isAbortedMidStream"),
            is_string: matches!(content, Content::Text(_)),
            has_message: message.is_some(),
            has_content: matches!(content, Content::Text(_) | Content::Blocks(_)),
            is_display_only: is("isDisplayOnly"),
            has_byte_order_mark: entry.bytes().starts_with(b"\xef\xbb\xbf"),
            is_broken_text: !entry.is_utf8() || has_lone_surrogate(entry.bytes()),
            asks_nothing: (entry.kind() == Kind::Assistant
                && matches!(content, Content::Text(text) if is_blank_value(text)))
                || (entry.is_meta() && seen.begins_with("<local-command-caveat>"))
                || (follows_caveat && seen.begins_with("<command-name>"))
                || (follows_row && seen.begins_with("<local-command-std")),
        };
        let model = message.and_then(|message| message.model());
        NewNode {
            uuid,
            parent,
            logical_parent: entry.uuid_field("logicalParentUuid"),
            line: line.number,
            offset: line.offset,
            length: u32::try_from(line.length).unwrap_or(u32::MAX),
            kind: entry.kind(),
            subtype: entry.subtype().map(|name| self.names.add(&name)),
            user,
            time: Moment::of(timestamp(entry)),
            message: message
                .and_then(|message| message.object().str("id"))
                .map(|id| self.names.add(&id)),
            model: model.map(|model| self.names.add(&model)),
            flags,
            content_bytes: match content {
                Content::Text(value) | Content::Blocks(value) | Content::Other(value) => {
                    u32::try_from(value.bytes().len()).unwrap_or(u32::MAX)
                }
                Content::Missing => attached_bytes(entry),
            },
            blocks,
        }
    }

    fn parent_of(&mut self, uuid: EntryUuid) -> Parent {
        // Most lines follow the one before.
        match self.nodes.last_is(&uuid).or_else(|| self.find(&uuid)) {
            Some(node) => Parent::Node(node),
            None => Parent::Missing(self.missing.place(uuid)),
        }
    }

    fn block_fact(&mut self, block: Block<'_>) -> BlockFact {
        self.counts.add_block(&block);
        let mut name = |text: Option<Cow<'_, str>>| self.names.add(&text.unwrap_or_default());
        match block {
            Block::Text { text } => BlockFact::Text { is_blank: is_blank_value(text) },
            Block::Thinking { signature, .. } => BlockFact::Thinking {
                is_signed: signature
                    .and_then(Value::string_inside)
                    .is_some_and(|text| !text.is_empty()),
            },
            Block::RedactedThinking { .. } => BlockFact::Thinking { is_signed: true },
            Block::ToolUse { .. } => {
                BlockFact::ToolUse { id: name(block.id()), name: name(block.name()) }
            }
            Block::ToolResult { is_error, .. } => {
                BlockFact::ToolResult { id: name(block.id()), is_error }
            }
            Block::Image { .. } | Block::Document { .. } => BlockFact::Media,
            Block::ServerToolUse { .. }
            | Block::WebSearchToolResult { .. }
            | Block::Unknown { .. } => BlockFact::Other,
        }
    }

    /// The lines of the chain, in the order in which their uuids first came.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node<'_>> + DoubleEndedIterator + Clone {
        (0..self.nodes.len()).map(|at| self.nodes.get(NodeId(at as u32)))
    }

    /// How many lines the chain has.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Makes a line one of a subagent that follows another.
    pub(super) fn set_told(&mut self, id: NodeId, before: Option<NodeId>) {
        if let (Parent::Root, Some(before)) = (self.nodes.parent(id), before) {
            self.nodes.set_parent(id, Parent::Node(before));
        }
        self.nodes.set_sidechain(id);
    }

    /// One line of the chain.
    #[inline]
    pub fn node(&self, id: NodeId) -> Node<'_> {
        self.nodes.get(id)
    }

    /// The number of a line, without the rest of it.
    pub(crate) fn line(&self, id: NodeId) -> u64 {
        self.nodes.line(id)
    }

    /// What a line follows, without the rest of it.
    pub(crate) fn link(&self, id: NodeId) -> Parent {
        self.nodes.parent(id)
    }

    /// What kind of line one is, without the rest of it.
    pub(crate) fn kind(&self, id: NodeId) -> Kind {
        self.nodes.kind(id)
    }

    /// The line with a uuid.
    pub fn find(&self, uuid: &EntryUuid) -> Option<NodeId> {
        self.nodes.find(uuid)
    }

    /// All lines with their ids.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// The lines of the chain in the order of the log. Only a line that repeats a uuid stands
    /// elsewhere than in [`Session::nodes`].
    pub fn by_line(&self) -> ByLine {
        if self.ids().is_sorted_by_key(|id| self.node(id).line) {
            return ByLine::Same(self.node_count() as u32);
        }
        let mut ids: Vec<NodeId> = self.ids().collect();
        ids.sort_by_key(|id| self.node(*id).line);
        ByLine::Other(ids)
    }

    /// The uuid of a parent that is not there.
    pub fn missing_uuid(&self, missing: u32) -> Option<&EntryUuid> {
        self.missing.uuid(missing)
    }

    /// The parent of a line, if it is there.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        match self.link(id) {
            Parent::Node(parent) => Some(parent),
            Parent::Root | Parent::Missing(_) => None,
        }
    }

    /// The parents that lines name and that are not there, once for each line.
    pub fn missing_parents(&self) -> impl Iterator<Item = &EntryUuid> {
        self.ids().filter_map(|id| match self.link(id) {
            Parent::Missing(missing) => self.missing_uuid(missing),
            Parent::Node(_) | Parent::Root => None,
        })
    }

    /// Reads a line of the chain again and gives it to `work`, decoded.
    pub fn with_entry<T>(
        &self,
        id: NodeId,
        log: &dyn LineSource,
        work: impl FnOnce(&Entry<'_>) -> T,
    ) -> io::Result<T> {
        let node = self.node(id);
        with_line(log, node.span(), node.line, work)
    }

    /// Reads the arguments of a tool call again and gives them to `work`. `None` if the log
    /// has only the result of the call.
    pub fn with_input<T>(
        &self,
        call: &ToolCall,
        log: &dyn LineSource,
        work: impl FnOnce(Value<'_>) -> T,
    ) -> io::Result<Option<T>> {
        let Some(line) = call.call else { return Ok(None) };
        self.with_entry(line, log, |entry| with_call(entry, self.name(call.id), work))
    }

    /// Whether the API takes the thinking of a line only with a signature. The endpoints
    /// of other vendors sign nothing and take it back as it is.
    pub fn needs_signature(&self, node: Node<'_>) -> bool {
        node.model.is_none_or(|model| {
            let model = self.name(model);
            model.is_empty() || model.contains("claude")
        })
    }

    /// What was gathered beside the graph: messages, tool calls, files, subagents.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(super) fn last_node(&self) -> Option<NodeId> {
        let last = self.nodes.len().checked_sub(1)?;
        u32::try_from(last).ok().map(NodeId)
    }

    /// The prompts that only the queue tells, those that still wait last.
    pub fn queued_lines(&self) -> Vec<QueuedLine> {
        let rest = self.queue.rest().into_iter();
        let after = self.last_node();
        let rest = rest.map(|prompt| QueuedLine { line: prompt.line, span: prompt.span, after });
        self.queued.iter().copied().chain(rest).collect()
    }

    /// The names that nodes refer to.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// A name that nodes refer to.
    pub fn name(&self, id: NameId) -> &str {
        self.names.text(id)
    }
}

/// What an attachment says takes: the texts that were sent, where the log keeps
/// them, else what they are made from.
fn attached_bytes(entry: &Entry<'_>) -> u32 {
    if entry.kind() != Kind::Attachment {
        return 0;
    }
    let said = entry.get("rendered").or_else(|| entry.get("attachment"));
    said.map_or(0, |value| u32::try_from(value.bytes().len()).unwrap_or(u32::MAX))
}

/// The time of a chain line. Only an own `timestamp` that is a string counts
/// for the client.
fn timestamp(entry: &Entry<'_>) -> Option<Timestamp> {
    parse_time(&entry.str("timestamp")?)
}

#[cfg(test)]
#[path = "session_tests.rs"]
pub(crate) mod tests;
