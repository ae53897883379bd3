//! What goes into a tool and what comes out of it.
//!
//! Owns: the shapes of a call and of its outcome, and how errors are worded. An outcome holds
//! what the model is sent (`content`, `is_error`), what the log line keeps besides
//! (`structured` is `toolUseResult`, `line` are its other fields) and what follows the results
//! in the same request (`notes`).

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// A call of a tool, as the model made it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The id of the `tool_use` block.
    pub id: String,
    /// The name that the model called, known or not.
    pub name: String,
    /// Whatever it gave.
    pub input: Value,
}

/// The `content` of a `tool_result` block.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A string.
    Text(String),
    /// Content blocks, as the API spells them.
    Blocks(Vec<Value>),
}

impl Content {
    /// As the API spells it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Content::Text(text) => Value::String(text.clone()),
            Content::Blocks(blocks) => Value::Array(blocks.clone()),
        }
    }

    /// The text, with the texts of blocks on lines of their own.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Blocks(blocks) => {
                let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// A block that follows the results in the same request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Text of the client to the model, in the role `system`.
    System(String),
    /// Text in the role `user`: reminders, bodies of skills.
    User(String),
    /// An attachment of the log, and what the model reads of it in which role.
    Attached(Value, Option<(String, &'static str)>),
}

/// Who said no to a call. The log keeps it as `toolDenialKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// A rule, a hook, a mode, or the host.
    Rule,
    /// It had to be asked, and nobody agreed.
    User,
    /// The check of auto mode is not available.
    AutoMode,
}

impl Denial {
    /// As the log spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Denial::Rule => "permission-rule",
            Denial::User => "user-rejected",
            Denial::AutoMode => "automode-unavailable",
        }
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// What the model is sent.
    pub content: Content,
    /// Whether that is an error.
    pub is_error: bool,
    /// `toolUseResult` of the log line.
    pub structured: Value,
    /// Other fields of the log line, such as `toolDenialKind` and `mcpMeta`.
    pub line: Map<String, Value>,
    /// Blocks that follow the results.
    pub notes: Vec<Note>,
}

impl ToolOutcome {
    /// A result in text.
    pub fn text(text: impl Into<String>, structured: Value) -> ToolOutcome {
        ToolOutcome {
            content: Content::Text(text.into()),
            is_error: false,
            structured,
            line: Map::new(),
            notes: Vec::new(),
        }
    }

    /// A result in blocks.
    #[must_use]
    pub fn blocks(blocks: Vec<Value>, structured: Value) -> ToolOutcome {
        ToolOutcome { content: Content::Blocks(blocks), ..ToolOutcome::text("", structured) }
    }

    /// An error while the tool ran: plain text.
    pub fn failed(text: impl Into<String>) -> ToolOutcome {
        let text = text.into();
        let structured = Value::String(format!("Error: {text}"));
        ToolOutcome { is_error: true, ..ToolOutcome::text(text, structured) }
    }

    /// An error that was found before the tool ran: the model sees it in tags.
    pub fn refused(text: impl AsRef<str>) -> ToolOutcome {
        let text = text.as_ref();
        ToolOutcome::tagged(text, format!("Error: {text}"))
    }

    /// An error in tags whose log text is another one.
    pub fn tagged(text: &str, structured: impl Into<String>) -> ToolOutcome {
        let structured = Value::String(structured.into());
        let text = format!("<tool_use_error>{text}</tool_use_error>");
        ToolOutcome { is_error: true, ..ToolOutcome::text(text, structured) }
    }

    /// A refusal by the user or by a rule: plain text, and the log says who refused.
    pub fn denied(text: impl Into<String>, by: Denial) -> ToolOutcome {
        let mut outcome = ToolOutcome::failed(text);
        outcome.line.insert("toolDenialKind".into(), json!(by.as_str()));
        outcome
    }

    /// Whether the call named a tool that is not there.
    #[must_use]
    pub fn is_of_no_tool(&self) -> bool {
        let no_tool = format!("<tool_use_error>{}", super::offer::NO_TOOL);
        self.is_error && self.content.text().starts_with(&no_tool)
    }

    /// The same error with more in its tags.
    #[must_use]
    pub(super) fn with_error_note(mut self, note: &str) -> ToolOutcome {
        const END: &str = "</tool_use_error>";
        if let Content::Text(text) = &mut self.content
            && let Some(inside) = text.strip_suffix(END)
        {
            *text = format!("{inside}{note}{END}");
        }
        self
    }

    /// The same with a note behind the results.
    #[must_use]
    pub fn with_note(mut self, note: Note) -> ToolOutcome {
        self.notes.push(note);
        self
    }

    /// The same, with a sentence in place of empty content, which the API rejects.
    #[must_use]
    pub fn never_empty(mut self, tool: &str) -> ToolOutcome {
        let is_empty = match &self.content {
            Content::Text(text) => text.is_empty(),
            Content::Blocks(blocks) => blocks.iter().all(is_blank),
        };
        if is_empty {
            self.content = Content::Text(format!("({tool} completed with no output)"));
        }
        self
    }
}

/// Whether a block has nothing but blanks to say.
fn is_blank(block: &Value) -> bool {
    let text = block.get("text").and_then(Value::as_str);
    text.is_some_and(|text| text.trim().is_empty())
}
