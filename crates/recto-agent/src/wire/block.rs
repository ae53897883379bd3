//! One content block, owned.

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;

use super::Json;

/// The kinds of blocks that endpoints know.
pub(crate) const KINDS: [&str; 24] = [
    "text",
    "image",
    "document",
    "search_result",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "advisor_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "mcp_tool_listing",
    "container_upload",
    "compaction",
    "tool_addition",
    "tool_removal",
    "fallback",
];

/// A content block as it was sent or received. [`Block::view`] reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block(Json);

impl Block {
    /// A text block.
    pub fn text(text: &str) -> Block {
        Block::written(ObjectWriter::new().string("type", "text").string("text", text))
    }

    /// What a tool gave, as text.
    pub fn tool_result(id: &str, text: &str, is_error: bool) -> Block {
        let start = ObjectWriter::new()
            .string("tool_use_id", id)
            .string("type", "tool_result")
            .string("content", text);
        Block::written(start.true_if("is_error", is_error))
    }

    /// What a tool gave, as blocks.
    pub fn tool_result_blocks(id: &str, blocks: &[Block], is_error: bool) -> Block {
        let start = ObjectWriter::new()
            .string("tool_use_id", id)
            .string("type", "tool_result")
            .json("content", &array(blocks));
        Block::written(start.true_if("is_error", is_error))
    }

    /// A picture in the message itself.
    pub fn image(media_type: &str, base64: &str) -> Block {
        let source = ObjectWriter::new()
            .string("type", "base64")
            .string("media_type", media_type)
            .string("data", base64)
            .finish();
        Block::written(ObjectWriter::new().string("type", "image").json("source", &source))
    }

    /// A call of a tool.
    pub fn tool_use(id: &str, name: &str, input: &Json) -> Block {
        let start = ObjectWriter::new().string("type", "tool_use").string("id", id);
        Block::written(start.string("name", name).json("input", input.bytes()))
    }

    fn written(object: ObjectWriter) -> Block {
        Block(Json::written(object.finish()))
    }

    /// The text of the block.
    pub fn json(&self) -> &Json {
        &self.0
    }

    /// What the block is. Kinds that are unknown are [`recto_log::Block::Unknown`].
    pub fn view(&self) -> recto_log::Block<'_> {
        recto_log::Block::of(self.0.value())
    }

    /// The `type`, empty if the block has none.
    pub fn kind(&self) -> String {
        self.0.str("type").unwrap_or_default().into_owned()
    }

    /// Whether this is thinking, readable or encrypted.
    pub fn is_thinking(&self) -> bool {
        matches!(
            self.view(),
            recto_log::Block::Thinking { .. } | recto_log::Block::RedactedThinking { .. }
        )
    }
}

impl From<Json> for Block {
    fn from(json: Json) -> Block {
        Block(json)
    }
}

/// Blocks as a JSON array.
pub(crate) fn array(blocks: &[Block]) -> Vec<u8> {
    blocks.iter().fold(ArrayWriter::new(), |array, block| array.json(block.0.bytes())).finish()
}
