//! Facts that are gathered while lines are taken in: API messages, tool calls,
//! compactions, files, subagents.
//!
//! Kept apart from the graph, because each of them has its own key: lines of
//! one message can be anywhere in the log, and so can a call and its result.

use std::sync::LazyLock;

use jiff::Timestamp;
use memchr::memmem::Finder;
use recto_log::AgentId;
use recto_log::Block;
use recto_log::CompactMetadata;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::StructuredPatch;
use recto_log::System;
use recto_log::ToolResult;
use recto_log::json::Value;
use recto_log::overflow_path;

use crate::BlockFact;
use crate::NameId;
use crate::Names;
use crate::Node;
use crate::NodeId;
use crate::fold::hash::IdMap;
use crate::fold::hooks::HookFact;
use crate::fold::node::Moment;
use crate::usage::Seen;
use crate::usage::Tokens;

/// An API message: the lines that share a `message.id`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageFact {
    /// The id.
    pub id: NameId,
    /// The API call, where the line says it.
    pub request: Option<NameId>,
    /// Its lines, in the order of the log.
    pub nodes: Vec<NodeId>,
    /// The model that answered.
    pub model: Option<NameId>,
    /// Why it ended. Clients 2.0.50 to 2.1.29 often write the line before they know.
    pub stop_reason: Option<NameId>,
    /// The tokens: of the line that has a stop reason, else of the one with the
    /// most output, because early lines have placeholders.
    pub tokens: Tokens,
    /// Whether the client made it up.
    pub is_synthetic: bool,
    /// Whether it stands for a failed call.
    pub is_api_error: bool,
}

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The id that ties both.
    pub id: NameId,
    /// The tool; unknown where only the result is there.
    pub name: Option<NameId>,
    /// The line with the call.
    pub call: Option<NodeId>,
    /// The line with the result.
    pub result: Option<NodeId>,
    /// Whether it failed.
    pub is_error: bool,
    called: Moment,
    ended: Moment,
    /// More results or calls with the same id, which clients drop.
    pub repeated: u32,
    /// Whether the result is in a file, because it was too long for the log.
    pub has_overflow: bool,
}

impl ToolCall {
    /// When it was called, by the time of the line.
    pub fn called(&self) -> Option<Timestamp> {
        self.called.get()
    }

    /// When it ended, by the time of the line.
    pub fn ended(&self) -> Option<Timestamp> {
        self.ended.get()
    }

    /// How long it took, where both times are known, in milliseconds.
    pub fn milliseconds(&self) -> Option<i64> {
        let span = self.ended()?.duration_since(self.called()?);
        i64::try_from(span.as_millis()).ok().filter(|span| *span >= 0)
    }
}

/// A compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compaction {
    /// The line of the boundary.
    pub boundary: NodeId,
    /// What is known of it.
    pub metadata: CompactMetadata,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileAction {
    /// It was read.
    Read,
    /// It was made.
    Created,
    /// It was written anew.
    Written,
    /// A part of it was replaced.
    Edited,
}

impl FileAction {
    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            FileAction::Read => "read",
            FileAction::Created => "created",
            FileAction::Written => "written",
            FileAction::Edited => "edited",
        }
    }
}

/// One use of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileTouch {
    /// The line with the tool's result.
    pub node: NodeId,
    /// The file.
    pub path: NameId,
    /// What was done.
    pub action: FileAction,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// A subagent, as the log of its parent tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentRun {
    /// The line with the tool's result.
    pub node: NodeId,
    /// The call that started it.
    pub call: Option<NameId>,
    /// Its id.
    pub agent: Option<AgentId>,
    /// Whether it worked in the background, so that its answer came later.
    pub is_background: bool,
    /// Its tokens, where the result says them.
    pub tokens: Option<u64>,
    /// How many tools it used.
    pub tools: Option<u64>,
    /// How long it took, in milliseconds.
    pub milliseconds: Option<u64>,
}

/// Everything that is gathered beside the graph.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The API messages, in the order of their first lines.
    pub messages: Vec<MessageFact>,
    by_message: IdMap<NameId, u32>,
    /// The tool calls, in the order in which call or result first came.
    pub calls: Vec<ToolCall>,
    by_call: IdMap<NameId, u32>,
    /// The compactions.
    pub compactions: Vec<Compaction>,
    /// The files that were read or changed.
    pub files: Vec<FileTouch>,
    /// The subagents.
    pub agents: Vec<AgentRun>,
    /// How long turns took by the client's own word, in milliseconds.
    pub turn_durations: Vec<(NodeId, u64)>,
    /// What lines tell of hooks.
    pub(crate) hooks: Vec<HookFact>,
}

impl Facts {
    /// Takes in a line that has become a node. A line that repeats a uuid is
    /// not taken in again.
    pub(crate) fn add(
        &mut self,
        entry: &Entry<'_>,
        message: Option<&recto_log::Message<'_>>,
        id: NodeId,
        node: &Node<'_>,
        names: &mut Names,
    ) {
        match node.kind {
            Kind::Assistant => {
                if let (Some(key), Some(message)) = (node.message, message) {
                    self.add_answer(entry, (key, message), id, node, names);
                }
            }
            Kind::System => self.add_system(entry, id),
            _ => {}
        }
        self.hooks.extend(HookFact::of(entry, id, names));
        for block in &node.blocks {
            match *block {
                BlockFact::ToolUse { id: call, name } => self.add_call(call, name, id, node),
                BlockFact::ToolResult { id: call, is_error } => {
                    self.add_result(call, is_error, id, node);
                    self.add_structured(entry, id, call, names);
                    self.call_at(call).has_overflow |= has_overflow(entry, names.text(call));
                }
                _ => {}
            }
        }
    }

    fn add_answer(
        &mut self,
        entry: &Entry<'_>,
        (key, message): (NameId, &recto_log::Message<'_>),
        id: NodeId,
        node: &Node<'_>,
        names: &mut Names,
    ) {
        let at = *self.by_message.entry(key).or_insert(self.messages.len() as u32) as usize;
        if at == self.messages.len() {
            self.messages.push(MessageFact {
                id: key,
                request: entry.str("requestId").map(|request| names.add(&request)),
                nodes: Vec::new(),
                model: node.model,
                stop_reason: None,
                tokens: Tokens::default(),
                is_synthetic: node.flags.is_synthetic,
                is_api_error: node.flags.is_api_error,
            });
        }
        let known = &mut self.messages[at];
        known.nodes.push(id);
        let Some(usage) = message.usage_value() else { return };
        let tokens = Tokens::of(usage);
        let stop = message.stop_reason().map(|reason| names.add(&reason));
        let seen = Seen { has_stop: stop.is_some(), output: tokens.output };
        let before = Seen { has_stop: known.stop_reason.is_some(), output: known.tokens.output };
        if known.nodes.len() == 1 || seen.beats(before) {
            known.tokens = tokens;
            known.stop_reason = stop.or(known.stop_reason);
        }
    }

    fn add_system(&mut self, entry: &Entry<'_>, id: NodeId) {
        match entry.system() {
            Some(System::CompactBoundary(metadata)) => {
                self.compactions.push(Compaction { boundary: id, metadata });
            }
            Some(System::TurnDuration { milliseconds: Some(milliseconds) }) => {
                self.turn_durations.push((id, milliseconds));
            }
            _ => {}
        }
    }

    fn call_at(&mut self, id: NameId) -> &mut ToolCall {
        let at = *self.by_call.entry(id).or_insert(self.calls.len() as u32) as usize;
        if at == self.calls.len() {
            self.calls.push(ToolCall {
                id,
                name: None,
                call: None,
                result: None,
                is_error: false,
                called: Moment::NONE,
                ended: Moment::NONE,
                repeated: 0,
                has_overflow: false,
            });
        }
        &mut self.calls[at]
    }

    fn add_call(&mut self, call: NameId, name: NameId, id: NodeId, node: &Node<'_>) {
        let known = self.call_at(call);
        if known.call.is_some() {
            known.repeated += 1;
            return;
        }
        known.call = Some(id);
        known.name = Some(name);
        known.called = node.time;
    }

    fn add_result(&mut self, call: NameId, is_error: bool, id: NodeId, node: &Node<'_>) {
        let known = self.call_at(call);
        if known.result.is_some() {
            known.repeated += 1;
            return;
        }
        known.result = Some(id);
        known.is_error = is_error;
        known.ended = node.time;
    }

    /// What the client keeps of a result for itself.
    fn add_structured(&mut self, entry: &Entry<'_>, id: NodeId, call: NameId, names: &mut Names) {
        let tool = self.by_call.get(&call).and_then(|at| self.calls[*at as usize].name);
        let tool = tool.map(|name| names.text(name));
        let Some(result) = entry.tool_result(tool) else { return };
        let mut touch = |path: Option<Value<'_>>, action, patch: Option<StructuredPatch<'_>>| {
            let Some(path) = path.and_then(Value::as_str) else { return };
            let (added, removed) = patch.map_or((0, 0), StructuredPatch::line_counts);
            self.files.push(FileTouch { node: id, path: names.add(&path), action, added, removed });
        };
        match result {
            ToolResult::Read { file } => touch(file.get("filePath"), FileAction::Read, None),
            ToolResult::Edit { path, patch, .. } => touch(path, FileAction::Edited, Some(patch)),
            ToolResult::Write { path, content, created: true, .. } => {
                let text = content.and_then(Value::as_str).unwrap_or_default();
                touch(path, FileAction::Created, None);
                if let Some(last) = self.files.last_mut().filter(|last| last.node == id) {
                    last.added = text.lines().count() as u64;
                }
            }
            ToolResult::Write { path, patch, .. } => touch(path, FileAction::Written, Some(patch)),
            ToolResult::Agent { agent, milliseconds, tokens, tools, .. } => {
                self.agents.push(AgentRun {
                    node: id,
                    call: Some(call),
                    agent,
                    is_background: false,
                    tokens,
                    tools,
                    milliseconds,
                });
            }
            ToolResult::AgentLaunched { agent, .. } => self.agents.push(AgentRun {
                node: id,
                call: Some(call),
                agent,
                is_background: true,
                tokens: None,
                tools: None,
                milliseconds: None,
            }),
            _ => {}
        }
    }

    /// A tool call by its id.
    pub fn call(&self, id: NameId) -> Option<&ToolCall> {
        self.by_call.get(&id).map(|at| &self.calls[*at as usize])
    }

    /// An API message by its id.
    pub fn message(&self, id: NameId) -> Option<&MessageFact> {
        self.by_message.get(&id).map(|at| &self.messages[*at as usize])
    }
}

/// Whether the text of a result says that the rest is in a file.
fn has_overflow(entry: &Entry<'_>, call: &str) -> bool {
    // Few lines do, and to find that out is cheap.
    static MARK: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"<persisted-output>"));
    if MARK.find(entry.bytes()).is_none() {
        return false;
    }
    let Some(message) = entry.message() else { return false };
    message.content().blocks().any(|block| match block {
        Block::ToolResult { content, .. } => {
            block.id().is_some_and(|id| id == call) && overflow_path(&content.text()).is_some()
        }
        _ => false,
    })
}
