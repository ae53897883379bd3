//! What a content block says, as text.

use std::borrow::Cow;

use recto_log::Block;
use recto_log::Content;
use recto_log::json::Value;

/// Longer texts are cut.
const LONGEST_TEXT: usize = 1024 * 1024;

pub(crate) fn kind_of(block: &Block<'_>) -> &'static str {
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

/// Writes the text of a block, and says how long it is. Without texts only the length is told.
pub(crate) fn text_of(block: &Block<'_>, wanted: bool, out: &mut String) -> usize {
    let push = |text: &str, out: &mut String| {
        // A little more than is kept, so that it is known to be cut.
        if wanted && out.len() <= LONGEST_TEXT {
            out.push_str(text);
        }
        text.len()
    };
    match block {
        Block::Text { .. } | Block::Thinking { .. } => {
            block.text().map_or(0, |text| push(&text, out))
        }
        Block::ToolUse { input: Some(input), .. }
        | Block::ServerToolUse { input: Some(input), .. } => {
            push(&String::from_utf8_lossy(input.bytes()), out)
        }
        Block::ToolResult { content, .. } | Block::WebSearchToolResult { content, .. } => {
            content_text(*content, &push, out)
        }
        Block::Image { .. }
        | Block::Document { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolUse { .. }
        | Block::ServerToolUse { .. }
        | Block::Unknown { .. } => 0,
    }
}

fn content_text(
    content: Content<'_>,
    push: &dyn Fn(&str, &mut String) -> usize,
    out: &mut String,
) -> usize {
    let mut length = 0;
    for block in content.blocks() {
        let Some(text) = block.text() else { continue };
        if length > 0 {
            length += push("\n", out);
        }
        length += push(&text, out);
    }
    length
}

/// Cuts a text that is too long, between two characters. Says whether it was.
pub(crate) fn cut(text: &mut String) -> bool {
    let is_long = text.len() > LONGEST_TEXT;
    if is_long {
        let end = (0..=LONGEST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
    is_long
}

/// The file that the arguments of a call name.
pub(crate) fn file_of(input: Value<'_>) -> Option<Cow<'_, str>> {
    ["file_path", "notebook_path", "path"].into_iter().find_map(|name| input.str(name))
}
