//! The fold: entries in, session out.

use std::collections::HashMap;

use jiff::Timestamp;
use memchr::memmem;
use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::OpaqueReason;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::json::Value;

use crate::BlockFact;
use crate::Facts;
use crate::Flags;
use crate::NameId;
use crate::Names;
use crate::Node;
use crate::NodeId;
use crate::Parent;
use crate::record::Records;

/// What lines outside the chain say; of each kind the last one counts.
#[derive(Debug, Clone, Default, PartialEq)]
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

/// A session: the chain of its lines, and what stands beside.
#[derive(Debug, Clone, Default)]
pub struct Session {
    nodes: Vec<Node>,
    by_uuid: HashMap<EntryUuid, NodeId>,
    /// Parents that are not there (yet), and the lines that wait for them.
    missing: Vec<EntryUuid>,
    missing_by_uuid: HashMap<EntryUuid, u32>,
    waiting: HashMap<u32, Vec<NodeId>>,
    names: Names,
    facts: Facts,
    /// What lines outside the chain say.
    pub meta: Meta,
    /// Lines read so far, of all kinds.
    pub lines: u64,
    /// Lines that are no JSON object, with their number.
    pub damaged: Vec<u64>,
    /// The first line that is `null`: some clients stop, or refuse, there.
    pub first_null_line: Option<u64>,
    /// Lines of the chain without a uuid, which no client can reach.
    pub without_uuid: Vec<u64>,
    /// Lines whose uuid came again later; the later line counts.
    pub repeated: Vec<u64>,
    /// The versions of the client that wrote the log, in order of appearance.
    pub versions: Vec<String>,
    /// What the log says of requests, compactions and its own lines.
    pub records: Records,
}

impl Session {
    /// A session without lines.
    pub fn new() -> Session {
        Session::default()
    }

    /// Takes in the next line of the log.
    pub fn push(&mut self, entry: &Entry<'_>) {
        self.lines += 1;
        if let Some(version) = entry.version()
            && self.versions.last().is_none_or(|last| *last != *version)
            && !self.versions.iter().any(|known| *known == *version)
        {
            self.versions.push(version.into_owned());
        }
        self.records.note_session(entry);
        match entry.kind() {
            Kind::Opaque => self.push_opaque(entry),
            kind if kind.in_chain() => self.push_chain(entry),
            _ => self.push_meta(entry),
        }
    }

    fn push_opaque(&mut self, entry: &Entry<'_>) {
        let number = entry.line().number;
        self.damaged.push(number);
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
                let prompt = last.prompt.and_then(Value::as_str);
                self.meta.last_prompt =
                    prompt.map(|text| text.into_owned()).or(self.meta.last_prompt.take());
                // An empty name names nothing, so the one before stands.
                let leaf = last.leaf.filter(|leaf| *leaf != EntryUuid::new(""));
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

    fn push_chain(&mut self, entry: &Entry<'_>) {
        let Some(uuid) = entry.uuid() else {
            self.without_uuid.push(entry.line().number);
            return;
        };
        let node = self.node_of(entry, uuid);
        match self.by_uuid.get(&node.uuid) {
            // The last line with a uuid counts, at the place of the first.
            Some(&known) => {
                self.repeated.push(self.nodes[known.index()].line);
                self.wait_for_parent(known, node.parent);
                self.nodes[known.index()] = node;
            }
            None => {
                let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
                self.facts.add(entry, id, &node, &mut self.names);
                self.add_node(id, node);
            }
        }
    }

    fn add_node(&mut self, id: NodeId, node: Node) {
        let (uuid, parent) = (node.uuid.clone(), node.parent);
        self.nodes.push(node);
        self.wait_for_parent(id, parent);
        // Lines that came before their parent find it now; a line may be its own.
        if let Some(missing) = self.missing_by_uuid.get(&uuid)
            && let Some(children) = self.waiting.remove(missing)
        {
            for child in children {
                if self.nodes[child.index()].parent == Parent::Missing(*missing) {
                    self.nodes[child.index()].parent = Parent::Node(id);
                }
            }
        }
        self.by_uuid.insert(uuid, id);
    }

    fn wait_for_parent(&mut self, child: NodeId, parent: Parent) {
        if let Parent::Missing(missing) = parent {
            self.waiting.entry(missing).or_default().push(child);
        }
    }

    fn node_of(&mut self, entry: &Entry<'_>, uuid: EntryUuid) -> Node {
        let line = entry.line();
        // An empty name names nothing.
        let parent = entry.parent_uuid().filter(|parent| *parent != EntryUuid::new(""));
        let parent = parent.map_or(Parent::Root, |parent| self.parent_of(parent));
        let message = entry.message();
        let content = message.as_ref().map_or(Content::Missing, |message| message.content());
        let blocks = match content {
            // What is no object is no block: clients pass over it.
            Content::Blocks(array) => array
                .elements()
                .filter(|element| element.is_object())
                .map(|element| self.block_fact(Block::of(element)))
                .collect(),
            Content::Text(_) | Content::Missing | Content::Other(_) => Box::default(),
        };
        let is = |name: &str| entry.object().is_true(name);
        let flags = Flags {
            is_sidechain: entry.is_sidechain(),
            is_meta: entry.is_meta(),
            is_compact_summary: entry.is_compact_summary(),
            is_api_error: entry.is_api_error(),
            is_synthetic: message.as_ref().is_some_and(|message| message.is_synthetic()),
            is_aborted: is("isAbortedMidStream"),
            is_string: matches!(content, Content::Text(_)),
            has_message: message.is_some(),
            has_content: matches!(content, Content::Text(_) | Content::Blocks(_)),
            is_display_only: is("isDisplayOnly"),
            has_byte_order_mark: entry.bytes().starts_with(b"\xef\xbb\xbf"),
            is_broken_text: !entry.is_utf8() || has_lone_surrogate(entry.bytes()),
        };
        let model = message.as_ref().and_then(|message| message.model());
        Node {
            uuid,
            parent,
            logical_parent: entry.uuid_field("logicalParentUuid"),
            source: entry.uuid_field("sourceToolAssistantUUID"),
            line: line.number,
            offset: line.offset,
            length: line.length,
            kind: entry.kind(),
            subtype: entry.subtype().map(|name| self.names.add(&name)),
            user: if entry.kind() == Kind::User { classify_user(entry) } else { UserText::Nothing },
            time: timestamp(entry),
            message: message.and_then(|message| message.id()).map(|id| self.names.add(id.as_str())),
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
        if let Some(&node) = self.by_uuid.get(&uuid) {
            return Parent::Node(node);
        }
        if let Some(&missing) = self.missing_by_uuid.get(&uuid) {
            return Parent::Missing(missing);
        }
        let missing = u32::try_from(self.missing.len()).unwrap_or(u32::MAX);
        self.missing.push(uuid.clone());
        self.missing_by_uuid.insert(uuid, missing);
        Parent::Missing(missing)
    }

    fn block_fact(&mut self, block: Block<'_>) -> BlockFact {
        let mut name = |value: Option<Value<'_>>| {
            let text = value.and_then(Value::as_str).unwrap_or_default();
            self.names.add(&text)
        };
        match block {
            Block::Text { text } => {
                BlockFact::Text { is_blank: text.as_str().is_none_or(|text| is_blank(&text)) }
            }
            Block::Thinking { signature, .. } => BlockFact::Thinking {
                is_signed: signature.and_then(Value::as_str).is_some_and(|text| !text.is_empty()),
            },
            Block::RedactedThinking { .. } => BlockFact::Thinking { is_signed: true },
            Block::ToolUse { id, name: tool, .. } => {
                BlockFact::ToolUse { id: name(id), name: name(tool) }
            }
            Block::ToolResult { tool_use_id, is_error, .. } => {
                BlockFact::ToolResult { id: name(tool_use_id), is_error }
            }
            Block::Image { .. } | Block::Document { .. } => BlockFact::Media,
            Block::ServerToolUse { .. }
            | Block::WebSearchToolResult { .. }
            | Block::Unknown { .. } => BlockFact::Other,
        }
    }

    /// The lines of the chain, in the order in which their uuids first came.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One line of the chain.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The line with a uuid.
    pub fn find(&self, uuid: &EntryUuid) -> Option<NodeId> {
        self.by_uuid.get(uuid).copied()
    }

    /// All lines with their ids.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// The uuid of a parent that is not there.
    pub fn missing_uuid(&self, missing: u32) -> Option<&EntryUuid> {
        self.missing.get(missing as usize)
    }

    /// The parent of a line, if it is there.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        match self.node(id).parent {
            Parent::Node(parent) => Some(parent),
            Parent::Root | Parent::Missing(_) => None,
        }
    }

    /// The children of each line, in the order of the lines.
    pub fn children(&self) -> Vec<Vec<NodeId>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for id in self.ids() {
            if let Some(parent) = self.parent(id) {
                children[parent.index()].push(id);
            }
        }
        children
    }

    /// What was gathered beside the graph: messages, tool calls, files, subagents.
    pub fn facts(&self) -> &Facts {
        &self.facts
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

/// Whether a client would trim a text to nothing.
pub(crate) fn is_blank(text: &str) -> bool {
    trim(text).is_empty()
}

/// A text without the white space around it, as JavaScript sees white space.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}

/// The time of a chain line. Only an own `timestamp` that is a string counts
/// for the client.
fn timestamp(entry: &Entry<'_>) -> Option<Timestamp> {
    entry.str("timestamp")?.parse().ok()
}

/// Whether a line holds the escape of a lone surrogate, which the API refuses.
fn has_lone_surrogate(bytes: &[u8]) -> bool {
    // Most lines hold no such escape at all, and finding that out is cheap.
    if ![&b"\\ud"[..], b"\\uD"].iter().any(|start| memmem::find(bytes, start).is_some()) {
        return false;
    }
    let mut rest = bytes;
    while let Some(at) = find_surrogate(rest) {
        let low = rest.get(at + 6..at + 12).is_some_and(is_low_surrogate);
        let is_high = matches!(rest[at + 3], b'8' | b'9' | b'a' | b'b' | b'A' | b'B');
        if !(is_high && low) {
            return true;
        }
        rest = &rest[at + 12..];
    }
    false
}

/// The next `\uD…` escape of a surrogate.
fn find_surrogate(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = bytes.get(at..)?.iter().position(|byte| *byte == b'\\') {
        let start = at + found;
        match bytes.get(start + 1..start + 4) {
            Some([b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F']) => {
                return Some(start);
            }
            // Any other escape is at least two bytes, so `\\u` is not taken for one.
            _ => at = start + 2,
        }
    }
    None
}

fn is_low_surrogate(bytes: &[u8]) -> bool {
    matches!(bytes, [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', ..])
}

#[cfg(test)]
#[path = "session_tests.rs"]
pub(crate) mod tests;
