//! Blocks on their way into a request: JSON text, and what must be known of it.

use std::borrow::Cow;

use recto_log::Block;
use recto_log::json::ObjectWriter;
use recto_log::json::Patch;
use recto_log::json::Step;
use recto_log::json::Value;
use recto_log::json::compact;

use super::client_text::INTERRUPTED;
use super::client_text::MISSING;
use crate::fold::client_text::is_blank;

/// A content block.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    pub(super) json: Vec<u8>,
    /// The content of its line is a string.
    pub(super) is_string: bool,
    /// It named tools, before all but texts was taken out of it.
    pub(super) named_tools: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PieceKind {
    Text { is_blank: bool },
    Thinking,
    ToolUse { id: String },
    ToolResult { id: String },
    Other,
}

impl Piece {
    /// A block of a line, byte for byte unless there is white space in it.
    pub(super) fn read(value: Value<'_>) -> Piece {
        let block = Block::of(value);
        let id = || block.id().unwrap_or_default().into_owned();
        let kind = match block {
            Block::Text { .. } => {
                PieceKind::Text { is_blank: block.text().is_none_or(|text| is_blank(&text)) }
            }
            Block::Thinking { .. } | Block::RedactedThinking { .. } => PieceKind::Thinking,
            Block::ToolUse { .. } => PieceKind::ToolUse { id: id() },
            Block::ToolResult { .. } => PieceKind::ToolResult { id: id() },
            Block::Image { .. }
            | Block::Document { .. }
            | Block::ServerToolUse { .. }
            | Block::WebSearchToolResult { .. }
            | Block::Unknown { .. } => PieceKind::Other,
        };
        Piece { kind, json: compact(value), is_string: false, named_tools: false }
    }

    /// A text block around a string of a line, whose spelling is kept.
    pub(super) fn around(text: Value<'_>) -> Piece {
        let is_blank = text.as_str().is_none_or(|text| is_blank(&text));
        let json = ObjectWriter::new().string("type", "text").json("text", text.bytes()).finish();
        Piece { kind: PieceKind::Text { is_blank }, json, is_string: true, named_tools: false }
    }

    pub(super) fn text(text: &str) -> Piece {
        let json = ObjectWriter::new().string("type", "text").string("text", text).finish();
        Piece {
            kind: PieceKind::Text { is_blank: is_blank(text) },
            json,
            is_string: false,
            named_tools: false,
        }
    }

    /// The answer that stands for a message which became empty.
    pub(super) fn empty_answer(text: &str) -> Piece {
        let json = ObjectWriter::new().string("type", "text").string("text", text);
        Piece {
            kind: PieceKind::Text { is_blank: false },
            json: json.json("citations", b"[]").finish(),
            is_string: false,
            named_tools: false,
        }
    }

    /// The result of a call whose result is lost.
    pub(super) fn missing(id: &str) -> Piece {
        Piece::error_result(id, MISSING)
    }

    /// The result of a call that was cut off.
    pub(super) fn interrupted(id: &str) -> Piece {
        Piece::error_result(id, INTERRUPTED)
    }

    fn error_result(id: &str, text: &str) -> Piece {
        let json = ObjectWriter::new()
            .string("type", "tool_result")
            .string("tool_use_id", id)
            .string("content", text)
            .boolean("is_error", true)
            .finish();
        Piece {
            kind: PieceKind::ToolResult { id: id.to_owned() },
            json,
            is_string: false,
            named_tools: false,
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, PieceKind::Text { .. })
    }

    /// Thinking that only the model which signed it takes back.
    pub(super) fn is_signed_thinking(&self) -> bool {
        let signature = self.get("signature").and_then(Value::as_str);
        self.kind == PieceKind::Thinking
            && (self.get("thinking").is_none() || signature.is_some_and(|text| !text.is_empty()))
    }

    /// Whether a result names tools that were loaded.
    pub(super) fn has_reference(&self) -> bool {
        self.is_result()
            && self.get("content").is_some_and(|content| content.elements().any(is_reference))
    }

    pub(super) fn is_result(&self) -> bool {
        matches!(self.kind, PieceKind::ToolResult { .. })
    }

    /// A field of the block.
    pub(super) fn get(&self, name: &str) -> Option<Value<'_>> {
        Value::parse(&self.json).ok()?.get(name)
    }

    /// The text of a text block.
    pub(super) fn text_inside(&self) -> Cow<'_, str> {
        self.get("text").and_then(Value::as_str).unwrap_or_default()
    }

    /// Puts a line end after the text of a text block.
    pub(super) fn end_line(&mut self) {
        if let Some(longer) = self.get("text").and_then(with_line_end) {
            self.set("text", &longer);
        }
    }

    /// Replaces a field of the block.
    pub(super) fn set(&mut self, name: &str, json: &[u8]) {
        // The block is JSON and so is the value: this cannot be refused.
        if let Ok(mut patch) = Patch::new(&self.json)
            && patch.set(&[name.into()], json).is_ok()
        {
            self.json = patch.finish();
        }
    }

    /// Takes a field of the block away, if it is there.
    pub(super) fn remove(&mut self, path: &[&str]) {
        let path: Vec<Step<'_>> = path.iter().map(|name| (*name).into()).collect();
        if let Ok(mut patch) = Patch::new(&self.json)
            && patch.remove(&path).is_ok()
        {
            self.json = patch.finish();
        }
    }
}

/// Whether a block of a result names a tool.
pub(super) fn is_reference(block: Value<'_>) -> bool {
    block.str("type").is_some_and(|kind| kind == "tool_reference")
}

/// A string with a line end after it, its spelling kept.
pub(super) fn with_line_end(text: Value<'_>) -> Option<Vec<u8>> {
    let inside = text.string_inside()?;
    Some([b"\"", inside, b"\\n\""].concat())
}
