//! Blocks and lines that go, and what must go with them.
//!
//! A line without blocks goes. What is left of an API message after some of it
//! was taken out, and says nothing by itself (thinking, white space), goes too:
//! clients would leave it out.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::Block;
use recto_log::Kind;
use recto_log::RawLine;
use recto_log::decode;
use recto_log::json::Value;

use crate::BlockFact;
use crate::LineSource;
use crate::NameId;
use crate::Node;
use crate::NodeId;
use crate::edit::Change;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Manuscript;
use crate::edit::plan::PlanKind;
use crate::edit::plan::Sizes;
use crate::edit::plan::Tally;
use crate::edit::plan::read_line;

/// What goes. Lines of subagents are never touched.
pub(super) struct Cut<'m> {
    manuscript: &'m Manuscript,
    /// Places among the blocks of a line.
    blocks: BTreeMap<NodeId, BTreeSet<usize>>,
    lines: Vec<bool>,
}

impl<'m> Cut<'m> {
    pub(super) fn new(manuscript: &'m Manuscript) -> Cut<'m> {
        let lines = vec![false; manuscript.session.node_count()];
        Cut { manuscript, blocks: BTreeMap::new(), lines }
    }

    pub(super) fn remove_line(&mut self, id: NodeId) {
        self.lines[id.index()] = true;
    }

    pub(super) fn remove_block(&mut self, id: NodeId, block: usize) {
        self.blocks.entry(id).or_default().insert(block);
    }

    /// Whether the whole line goes.
    pub(super) fn takes_line(&self, id: NodeId) -> bool {
        self.lines[id.index()]
    }

    /// Takes out calls with their results, wherever they are.
    pub(super) fn remove_calls(&mut self, calls: &HashSet<NameId>) {
        self.remove_blocks(|block| match block {
            BlockFact::ToolUse { id, .. } | BlockFact::ToolResult { id, .. } => calls.contains(id),
            BlockFact::Text { .. }
            | BlockFact::Thinking { .. }
            | BlockFact::Media
            | BlockFact::Other => false,
        });
    }

    /// Takes out all blocks of which `is_gone` holds.
    pub(super) fn remove_blocks(&mut self, is_gone: impl Fn(&BlockFact) -> bool) {
        let session = &self.manuscript.session;
        for id in session.ids() {
            let node = session.node(id);
            if node.flags.is_sidechain {
                continue;
            }
            for (place, _) in node.blocks.iter().enumerate().filter(|(_, block)| is_gone(block)) {
                self.blocks.entry(id).or_default().insert(place);
            }
        }
    }

    fn keeps_block(&self, id: NodeId, place: usize) -> bool {
        !self.blocks.get(&id).is_some_and(|gone| gone.contains(&place))
    }

    /// Adds what must go with the rest.
    pub(super) fn close(&mut self) {
        let session = &self.manuscript.session;
        let mut messages: HashSet<NameId> = HashSet::new();
        for (id, gone) in &self.blocks {
            let node = session.node(*id);
            self.lines[id.index()] |= gone.len() == node.blocks.len();
            if node.kind != Kind::Assistant {
                continue;
            }
            match node.message {
                Some(message) => {
                    messages.insert(message);
                }
                // A line that names no message is one by itself.
                None => self.lines[id.index()] |= self.is_hollow(*id, node),
            }
        }
        let mut lines: HashMap<NameId, Vec<NodeId>> = HashMap::new();
        for id in session.ids() {
            let node = session.node(id);
            if let Some(message) = node.message.filter(|message| messages.contains(message))
                && node.kind == Kind::Assistant
                && !node.flags.is_sidechain
            {
                lines.entry(message).or_default().push(id);
            }
        }
        for lines in lines.into_values() {
            let says_something =
                |id: &NodeId| !self.takes_line(*id) && !self.is_hollow(*id, session.node(*id));
            if !lines.iter().any(says_something) {
                for id in lines {
                    self.remove_line(id);
                }
            }
        }
    }

    /// Whether what is left of a line would not be sent by itself.
    fn is_hollow(&self, id: NodeId, node: Node<'_>) -> bool {
        let mut left =
            node.blocks.iter().enumerate().filter(|(place, _)| self.keeps_block(id, *place));
        !node.flags.is_string
            && left.all(|(_, block)| {
                matches!(block, BlockFact::Thinking { .. } | BlockFact::Text { is_blank: true })
            })
    }

    /// Takes everything out of a draft and counts it.
    pub(super) fn finish(
        &self,
        draft: &mut Draft<'m>,
        sizes: &mut Sizes,
        tally: &mut Tally,
        log: &dyn LineSource,
    ) -> Result<(), EditError> {
        let session = &self.manuscript.session;
        for id in session.ids().filter(|id| self.takes_line(*id)) {
            let node = session.node(id);
            // The bytes of a line count once, for the first of its blocks.
            let mut bytes = u64::from(node.content_bytes);
            for block in &node.blocks {
                self.count(block, std::mem::take(&mut bytes), tally);
            }
        }
        // A uuid may occur twice; the older line must not come back to life.
        for (place, line) in self.manuscript.lines().iter().enumerate() {
            if line.node.is_some_and(|id| self.takes_line(id)) {
                draft.remove_line(place);
            }
        }
        for (id, gone) in self.blocks.iter().filter(|(id, _)| !self.takes_line(**id)) {
            self.cut_blocks(*id, gone, draft, sizes, tally, log)?;
        }
        Ok(())
    }

    fn count(&self, block: &BlockFact, bytes: u64, tally: &mut Tally) {
        let session = &self.manuscript.session;
        match block {
            BlockFact::ToolUse { name, .. } => {
                tally.add(PlanKind::Call, session.name(*name), bytes);
            }
            BlockFact::ToolResult { id, .. } => {
                let call = session.facts().call(*id).and_then(|call| call.name);
                let name = call.map_or("", |name| session.name(name));
                tally.add_bytes(PlanKind::Call, name, bytes);
            }
            BlockFact::Thinking { .. } => tally.add(PlanKind::Thinking, "", bytes),
            BlockFact::Text { .. } => tally.add(PlanKind::Blank, "", bytes),
            BlockFact::Media => tally.add(PlanKind::Image, "", bytes),
            BlockFact::Other => tally.add(PlanKind::Call, "server", bytes),
        }
    }

    fn cut_blocks(
        &self,
        id: NodeId,
        gone: &BTreeSet<usize>,
        draft: &mut Draft<'m>,
        sizes: &mut Sizes,
        tally: &mut Tally,
        log: &dyn LineSource,
    ) -> Result<(), EditError> {
        let node = self.manuscript.session.node(id);
        let bytes = read_line(self.manuscript, self.manuscript.place(id), log)?;
        let elements = block_places(&bytes);
        // From the end, so that places before stay as they are.
        for place in gone.iter().rev() {
            let changed = EditError::SourceChanged { line: node.line };
            let (element, length) = *elements.get(*place).ok_or(changed)?;
            draft.change(id, Change::remove_block(element));
            let length = sizes.left_of(id, *place, length);
            // A comma goes with the block.
            sizes.shrink(self.manuscript, id, *place, length + 1);
            self.count(&node.blocks[*place], length, tally);
        }
        let is_result = |place: &usize| matches!(node.blocks[*place], BlockFact::ToolResult { .. });
        let mut results = (0..node.blocks.len()).filter(is_result).peekable();
        if results.peek().is_some() && results.all(|place| gone.contains(&place)) {
            draft.change(id, Change::remove(["toolUseResult".into()]));
            draft.change(id, Change::remove(["sourceToolAssistantUUID".into()]));
        }
        Ok(())
    }
}

/// Where each block of a line's content is in the array, which may hold what is
/// no block, and how long it is.
fn block_places(bytes: &[u8]) -> Vec<(usize, u64)> {
    elements(bytes, |_, element, value| (element, value.bytes().len() as u64))
}

/// What is made of the blocks of a line's content: of the place among the
/// blocks, the place in the array, and the block.
pub(super) fn elements<T>(bytes: &[u8], map: impl Fn(usize, usize, Value<'_>) -> T) -> Vec<T> {
    let (entry, _) = decode(RawLine::alone(bytes));
    let content = entry.get("message").and_then(|message| message.get("content"));
    let elements = content.into_iter().flat_map(Value::elements).enumerate();
    let blocks = elements.filter(|(_, value)| value.is_object());
    let blocks = blocks.enumerate();
    blocks.map(|(place, (element, value))| map(place, element, value)).collect()
}

/// The call of the server that a block is or answers, and the tool.
pub(super) fn server_call(block: Value<'_>) -> Option<(String, Option<String>)> {
    let text = |value: Option<Value<'_>>| value?.as_str().map(|text| text.into_owned());
    match Block::of(block) {
        Block::ServerToolUse { id, name, .. } => Some((text(id)?, text(name))),
        Block::WebSearchToolResult { tool_use_id, .. } => Some((text(tool_use_id)?, None)),
        // Other tools of the server follow the same form.
        Block::Unknown { value } => {
            let kind = text(value.get("type"))?;
            if kind.ends_with("_tool_use") {
                Some((text(value.get("id"))?, text(value.get("name"))))
            } else if kind.ends_with("_tool_result") {
                Some((text(value.get("tool_use_id"))?, None))
            } else {
                None
            }
        }
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolUse { .. }
        | Block::ToolResult { .. }
        | Block::Image { .. }
        | Block::Document { .. } => None,
    }
}
