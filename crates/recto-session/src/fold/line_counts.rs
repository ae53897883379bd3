//! What the lines of a log are, in counts.

use recto_log::Block;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::Message;

use crate::fold::hash::Shortcut;

/// How many lines there are of each kind, and what they are made of. Lists are in the order of
/// appearance: there are few names, and the first ones are the most frequent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines by kind.
    pub kinds: Vec<(Kind, u64)>,
    /// Lines by the version of the client that wrote them, where they name it.
    pub versions: Vec<(String, u64)>,
    /// Lines of answers by why the message ended; `None` where the line does not say it.
    pub stop_reasons: Vec<(Option<String>, u64)>,
    /// Content blocks by their type.
    pub blocks: Vec<(&'static str, u64)>,
    by_version: Shortcut,
    by_reason: Shortcut,
}

impl LineCounts {
    pub(crate) fn add(&mut self, entry: &Entry<'_>) {
        let kind = entry.kind();
        count(&mut self.kinds, |known| *known == kind, || kind);
        if let Some(version) = entry.version() {
            match self.by_version.find(&self.versions, &&*version, |(known, _)| known.as_str()) {
                Some(known) => self.versions[known].1 += 1,
                None => self.versions.push((version.into_owned(), 1)),
            }
        }
    }

    pub(crate) fn add_answer(&mut self, message: &Message<'_>) {
        let reason = message.stop_reason();
        let key = reason.as_deref();
        match self.by_reason.find(&self.stop_reasons, &key, |(known, _)| known.as_deref()) {
            Some(known) => self.stop_reasons[known].1 += 1,
            None => self.stop_reasons.push((key.map(str::to_owned), 1)),
        }
    }

    pub(crate) fn add_block(&mut self, block: &Block<'_>) {
        let name = block_name(block);
        count(&mut self.blocks, |known| *known == name, || name);
    }

    /// How many lines are of a kind.
    pub fn of_kind(&self, kind: Kind) -> u64 {
        self.kinds.iter().find(|(known, _)| *known == kind).map_or(0, |(_, lines)| *lines)
    }
}

fn count<N>(counts: &mut Vec<(N, u64)>, is_it: impl Fn(&N) -> bool, name: impl FnOnce() -> N) {
    match counts.iter_mut().find(|(known, _)| is_it(known)) {
        Some((_, number)) => *number += 1,
        None => counts.push((name(), 1)),
    }
}

/// The type of a block, as a log spells it.
fn block_name(block: &Block<'_>) -> &'static str {
    match block {
        Block::Text { .. } => "text",
        Block::Thinking { .. } => "thinking",
        Block::RedactedThinking { .. } => "redacted_thinking",
        Block::ToolUse { .. } => "tool_use",
        Block::ToolResult { .. } => "tool_result",
        Block::Image { .. } => "image",
        Block::Document { .. } => "document",
        Block::ServerToolUse { .. } => "server_tool_use",
        Block::WebSearchToolResult { .. } => "web_search_tool_result",
        Block::Unknown { .. } => "unknown",
    }
}
