//! Content blocks: what a message says, piece by piece.

use std::borrow::Cow;

use crate::json::Elements;
use crate::json::Member;
use crate::json::Value;

/// The `content` of a message or of a tool's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// One string.
    Text(Value<'a>),
    /// An array of blocks.
    Blocks(Value<'a>),
    /// Nothing: the field is missing or `null`.
    Missing,
    /// Something else.
    Other(Value<'a>),
}

impl<'a> Content<'a> {
    /// Sorts a `content` field by its shape.
    pub fn of(value: Option<Value<'a>>) -> Content<'a> {
        match value {
            None => Content::Missing,
            Some(value) if value.is_null() => Content::Missing,
            Some(value) if value.is_string() => Content::Text(value),
            Some(value) if value.is_array() => Content::Blocks(value),
            Some(value) => Content::Other(value),
        }
    }

    /// The blocks; a string counts as one text block.
    pub fn blocks(self) -> Blocks<'a> {
        match self {
            Content::Text(text) => Blocks { text: Some(text), elements: text.elements() },
            Content::Blocks(value) | Content::Other(value) => {
                Blocks { text: None, elements: value.elements() }
            }
            Content::Missing => Blocks { text: None, elements: Elements::default() },
        }
    }

    /// All text blocks, joined by line ends.
    pub fn text(self) -> Cow<'a, str> {
        let mut joined: Option<Cow<'a, str>> = None;
        for block in self.blocks() {
            let Block::Text { text } = block else { continue };
            let Some(text) = text.as_str() else { continue };
            match &mut joined {
                None => joined = Some(text),
                // In place, because a message may have a million blocks.
                Some(before) => {
                    let before = before.to_mut();
                    before.push('\n');
                    before.push_str(&text);
                }
            }
        }
        joined.unwrap_or_default()
    }
}

/// The blocks of a content field.
#[derive(Debug, Clone)]
pub struct Blocks<'a> {
    text: Option<Value<'a>>,
    elements: Elements<'a>,
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Block<'a>;

    fn next(&mut self) -> Option<Block<'a>> {
        match self.text.take() {
            Some(text) => Some(Block::Text { text }),
            None => {
                let mut fields = Fields::default();
                let value = self.elements.next_seen(|member| fields.take(member))?;
                Some(Block::from_fields(value, fields))
            }
        }
    }
}

/// One content block. Values are read on demand.
///
/// The list is closed on purpose: what edits, counts or sends blocks must say
/// what it does with each. A block that the API adds is [`Block::Unknown`] until
/// a breaking release names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block<'a> {
    /// Text.
    Text {
        /// The text.
        text: Value<'a>,
    },
    /// Thinking of the model.
    Thinking {
        /// The text; empty where the model keeps it to itself.
        thinking: Option<Value<'a>>,
        /// The proof that the text was not changed.
        signature: Option<Value<'a>>,
    },
    /// Thinking that is encrypted.
    RedactedThinking {
        /// The encrypted text.
        data: Option<Value<'a>>,
    },
    /// The model calls a tool.
    ToolUse {
        /// Ties the call to its result.
        id: Option<Value<'a>>,
        /// The tool.
        name: Option<Value<'a>>,
        /// The arguments.
        input: Option<Value<'a>>,
    },
    /// What a tool gave.
    ToolResult {
        /// The call that it answers.
        tool_use_id: Option<Value<'a>>,
        /// The result as the model sees it.
        content: Content<'a>,
        /// Whether the call failed.
        is_error: bool,
    },
    /// A picture.
    Image {
        /// Where the picture is.
        source: Source<'a>,
    },
    /// A document, such as a PDF.
    Document {
        /// Where the document is.
        source: Source<'a>,
    },
    /// The model calls a tool of the server.
    ServerToolUse {
        /// Ties the call to its result.
        id: Option<Value<'a>>,
        /// The tool.
        name: Option<Value<'a>>,
        /// The arguments.
        input: Option<Value<'a>>,
    },
    /// What a search of the server gave.
    WebSearchToolResult {
        /// The call that it answers.
        tool_use_id: Option<Value<'a>>,
        /// The hits, or an error.
        content: Content<'a>,
    },
    /// A block that is not known here.
    Unknown {
        /// The whole block.
        value: Value<'a>,
    },
}

impl<'a> Block<'a> {
    /// Reads one element of a content array.
    pub fn of(value: Value<'a>) -> Block<'a> {
        let mut fields = Fields::default();
        value.members().for_each(|member| fields.take(member));
        Block::from_fields(value, fields)
    }

    fn from_fields(value: Value<'a>, fields: Fields<'a>) -> Block<'a> {
        match fields.kind.and_then(Value::as_str).as_deref() {
            Some("text") => match fields.text {
                Some(text) => Block::Text { text },
                None => Block::Unknown { value },
            },
            Some("thinking") => {
                Block::Thinking { thinking: fields.thinking, signature: fields.signature }
            }
            Some("redacted_thinking") => Block::RedactedThinking { data: fields.data },
            Some("tool_use") => {
                Block::ToolUse { id: fields.id, name: fields.name, input: fields.input }
            }
            Some("tool_result") => Block::ToolResult {
                tool_use_id: fields.tool_use_id,
                content: Content::of(fields.content),
                is_error: fields.is_error.and_then(Value::as_bool) == Some(true),
            },
            Some("image") => Block::Image { source: Source::of(fields.source) },
            Some("document") => Block::Document { source: Source::of(fields.source) },
            Some("server_tool_use") => {
                Block::ServerToolUse { id: fields.id, name: fields.name, input: fields.input }
            }
            Some("web_search_tool_result") => Block::WebSearchToolResult {
                tool_use_id: fields.tool_use_id,
                content: Content::of(fields.content),
            },
            _ => Block::Unknown { value },
        }
    }

    /// The text of a text block, or of thinking that is not encrypted.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match self {
            Block::Text { text } => text.as_str(),
            Block::Thinking { thinking, .. } => (*thinking)?.as_str(),
            _ => None,
        }
    }

    /// The id of a tool call, or of the call that a result answers.
    pub fn id(&self) -> Option<Cow<'a, str>> {
        match self {
            Block::ToolUse { id, .. } | Block::ServerToolUse { id, .. } => (*id)?.as_str(),
            Block::ToolResult { tool_use_id, .. }
            | Block::WebSearchToolResult { tool_use_id, .. } => (*tool_use_id)?.as_str(),
            _ => None,
        }
    }

    /// The tool that is called.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        match self {
            Block::ToolUse { name, .. } | Block::ServerToolUse { name, .. } => (*name)?.as_str(),
            _ => None,
        }
    }

    /// The arguments of a call.
    pub fn input(&self) -> Option<Value<'a>> {
        match self {
            Block::ToolUse { input, .. } | Block::ServerToolUse { input, .. } => *input,
            _ => None,
        }
    }
}

/// The fields of a block, found in one pass: a block can hold megabytes, and
/// asking for each field by itself would read them again.
#[derive(Default)]
struct Fields<'a> {
    kind: Option<Value<'a>>,
    text: Option<Value<'a>>,
    thinking: Option<Value<'a>>,
    signature: Option<Value<'a>>,
    data: Option<Value<'a>>,
    id: Option<Value<'a>>,
    name: Option<Value<'a>>,
    input: Option<Value<'a>>,
    tool_use_id: Option<Value<'a>>,
    content: Option<Value<'a>>,
    is_error: Option<Value<'a>>,
    source: Option<Value<'a>>,
}

impl<'a> Fields<'a> {
    fn take(&mut self, member: Member<'a>) {
        let slot = match &*member.key_bytes() {
            b"type" => &mut self.kind,
            b"text" => &mut self.text,
            b"thinking" => &mut self.thinking,
            b"signature" => &mut self.signature,
            b"data" => &mut self.data,
            b"id" => &mut self.id,
            b"name" => &mut self.name,
            b"input" => &mut self.input,
            b"tool_use_id" => &mut self.tool_use_id,
            b"content" => &mut self.content,
            b"is_error" => &mut self.is_error,
            b"source" => &mut self.source,
            _ => return,
        };
        *slot = Some(member.value);
    }
}

/// Where a picture or a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// In the line, as base64.
    Base64 {
        /// Such as `image/png`.
        media_type: Option<Value<'a>>,
        /// The base64 text.
        data: Option<Value<'a>>,
    },
    /// At an address.
    Url {
        /// The address.
        url: Option<Value<'a>>,
    },
    /// Somewhere else, or nowhere.
    Other(Option<Value<'a>>),
}

impl<'a> Source<'a> {
    fn of(value: Option<Value<'a>>) -> Source<'a> {
        let Some(source) = value else { return Source::Other(None) };
        match source.str("type").as_deref() {
            Some("base64") => {
                Source::Base64 { media_type: source.get("media_type"), data: source.get("data") }
            }
            Some("url") => Source::Url { url: source.get("url") },
            _ => Source::Other(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Content<'_> {
        Content::of(Some(Value::parse(text.as_bytes()).unwrap()))
    }

    #[test]
    fn a_string_is_one_text_block() {
        assert_eq!(content(r#""a\nb""#).text(), "a\nb");
        assert_eq!(content(r#""a""#).blocks().count(), 1);
        assert_eq!(content("null").blocks().count(), 0);
        assert_eq!(content("{}").blocks().count(), 0);
        assert_eq!(
            content(r#"[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]"#)
                .text(),
            "a\nb"
        );
    }

    #[test]
    fn every_block_is_told_by_its_type() {
        let names: Vec<&str> = content(
            r#"[{"type":"text","text":"x"},{"type":"thinking","thinking":"t","signature":"s"},
            {"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"i","name":"Bash","input":{}},
            {"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"r"}],"is_error":true},
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":""}},
            {"type":"document","source":{"type":"url","url":"u"}},
            {"type":"server_tool_use","id":"j","name":"web_search","input":{}},
            {"type":"web_search_tool_result","tool_use_id":"j","content":[]},
            {"type":"new"},{"type":"text"},7]"#,
        )
        .blocks()
        .map(|block| match block {
            Block::Text { .. } => "text",
            Block::Thinking { thinking: Some(_), signature: Some(_) } => "thinking",
            Block::RedactedThinking { data: Some(_) } => "redacted",
            Block::ToolUse { id: Some(_), name: Some(_), input: Some(_) } => "use",
            Block::ToolResult { content, is_error: true, .. } if content.text() == "r" => "result",
            Block::Image { source: Source::Base64 { .. } } => "image",
            Block::Document { source: Source::Url { .. } } => "document",
            Block::ServerToolUse { .. } => "server",
            Block::WebSearchToolResult { .. } => "search",
            Block::Unknown { .. } => "unknown",
            _ => "wrong",
        })
        .collect();
        assert_eq!(
            names,
            [
                "text", "thinking", "redacted", "use", "result", "image", "document", "server",
                "search", "unknown", "unknown", "unknown"
            ]
        );
    }
}
