//! Content blocks, as JSON text.

use crate::ToolUseId;
use crate::json::ObjectWriter;
use crate::json::Value;

/// A block of text.
pub fn text_block(text: &str) -> Vec<u8> {
    ObjectWriter::new().string("type", "text").string("text", text).finish()
}

/// What a model thought, with the signature that the API verifies.
pub fn thinking_block(thinking: &str, signature: &str) -> Vec<u8> {
    ObjectWriter::new()
        .string("type", "thinking")
        .string("thinking", thinking)
        .string("signature", signature)
        .finish()
}

/// A call of a tool.
pub fn tool_use_block(id: &ToolUseId, name: &str, input: Value<'_>) -> Vec<u8> {
    ObjectWriter::new()
        .string("type", "tool_use")
        .id("id", id)
        .string("name", name)
        .value("input", input)
        .finish()
}

/// The result of a call: a text or blocks. Clients leave `is_error` out of most
/// results of tools that cannot fail.
pub fn tool_result_block(id: &ToolUseId, content: Value<'_>, is_error: Option<bool>) -> Vec<u8> {
    let block = ObjectWriter::new()
        .id("tool_use_id", id)
        .string("type", "tool_result")
        .value("content", content);
    match is_error {
        Some(is_error) => block.boolean("is_error", is_error).finish(),
        None => block.finish(),
    }
}
