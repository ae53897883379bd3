//! Cache marks: turn n + 1 reads what turn n wrote.
//!
//! The API keeps the prefix that ends at a mark: tools, then system, then messages. Four marks
//! are allowed. One ends the tools, one the system prompt; they live as long as those stay. Two
//! are in the messages: at the end of the last message, which writes this turn, and at the end
//! of the last message of the user before it, which reads the turn before, however many blocks
//! have come since.

use recto_log::Role;

use super::adapt::remove_marks;
use crate::wire::Block;
use crate::wire::Json;
use crate::wire::Request;

/// How long what is written lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheTime {
    /// Five minutes.
    #[default]
    Minutes,
    /// An hour.
    Hour,
}

/// Sets the marks of a request; marks that it had are gone.
pub fn set_marks(request: &mut Request, time: CacheTime) {
    remove_marks(request);
    let mark: &[u8] = match time {
        CacheTime::Minutes => br#"{"type":"ephemeral"}"#,
        CacheTime::Hour => br#"{"type":"ephemeral","ttl":"1h"}"#,
    };
    // A tool that is loaded later is no part of the prefix.
    let is_loaded = |tool: &&mut Json| {
        tool.value().get("defer_loading").and_then(|value| value.as_bool()) != Some(true)
    };
    if let Some(tool) = request.tools.iter_mut().rev().find(is_loaded) {
        *tool = tool.with("cache_control", mark);
    }
    if let Some(block) = request.system.iter_mut().rev().find(|block| takes_mark(block)) {
        *block = block.json().with("cache_control", mark).into();
    }
    let mut left = 2;
    for at in (0..request.messages.len()).rev() {
        let message = &request.messages[at];
        let is_end = left == 2;
        if left == 0 || (!is_end && message.role() != Some(Role::User)) {
            continue;
        }
        let mut blocks = message.blocks();
        let Some(place) = blocks.iter().rposition(takes_mark) else { continue };
        blocks[place] = blocks[place].json().with("cache_control", mark).into();
        request.messages[at] = message.with_blocks(&blocks);
        left -= 1;
    }
}

/// Whether a block may carry a mark: thinking may not, nor empty text.
fn takes_mark(block: &Block) -> bool {
    match block.view() {
        recto_log::Block::Text { text } => text.as_str().is_some_and(|text| !text.is_empty()),
        _ => !block.is_thinking(),
    }
}
