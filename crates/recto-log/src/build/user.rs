//! User lines: prompts, results of tools, and text that the client adds.

use std::borrow::Cow;

use crate::EntryUuid;
use crate::Kind;
use crate::MessageId;
use crate::ToolUseId;
use crate::json::ObjectWriter;
use crate::json::Value;

use super::Envelope;
use super::Position;
use super::envelope::Head;

/// What a user line or a queued prompt says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserContent<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// An array of blocks, or a text in the spelling that it has.
    Json(Value<'a>),
}

impl UserContent<'_> {
    pub(super) fn write(&self, object: ObjectWriter) -> ObjectWriter {
        match self {
            UserContent::Text(text) => object.string("content", text),
            UserContent::Json(value) => object.value("content", *value),
        }
    }
}

/// The facts of a user line. The words in it (modes, sources, origins) are an
/// open list that grows with the clients, so they are texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserLine<'a> {
    /// What is said.
    pub content: UserContent<'a>,
    /// The prompt that the line belongs to (from 2.1.100).
    pub prompt: Option<Cow<'a, str>>,
    /// Whether the client wrote the text.
    pub is_meta: bool,
    /// Whether the text only accompanies the prompt of a turn (2.1.325).
    pub is_turn_companion: bool,
    /// Whether the text is the summary of a compaction.
    pub is_compact_summary: bool,
    /// What a tool gave, as the client keeps it for itself.
    pub tool_use_result: Option<Value<'a>>,
    /// Why a call was not allowed.
    pub tool_denial: Option<Cow<'a, str>>,
    /// Whether a command ran in the sandbox.
    pub is_sandboxed: Option<bool>,
    /// The call that made the client add the line.
    pub source_tool_use: Option<ToolUseId>,
    /// How much the model was asked to think (2.0.50, 2.1.29).
    pub thinking_metadata: Option<Value<'a>>,
    /// The to-do list at the time (2.0.50, 2.1.29).
    pub todos: Option<Value<'a>>,
    /// The images of the prompt.
    pub image_paste_ids: Option<Value<'a>>,
    /// The permission mode, such as `plan`.
    pub permission_mode: Option<Cow<'a, str>>,
    /// Who wrote a prompt.
    pub origin: Option<Value<'a>>,
    /// How the prompt came, such as `typed` or `sdk`.
    pub prompt_source: Option<Cow<'a, str>>,
    /// What started the turn.
    pub turn_origin: Option<Cow<'a, str>>,
    /// The place of the turn in the session.
    pub turn_position: Option<TurnPosition>,
    /// Whether the attachments of a queued prompt were left out.
    pub queue_skips_attachments: bool,
    /// The line with the call that the result answers (from 2.1.29).
    pub source_assistant: Option<EntryUuid>,
    /// Who allowed the call.
    pub permission_decision: Option<Value<'a>>,
    /// The message that the user interrupted.
    pub interrupted_message: Option<MessageId>,
    /// The message that the model's safeguards stopped.
    pub refused_message: Option<MessageId>,
    /// The plan that a new session starts from (2.1.29).
    pub plan: Option<Cow<'a, str>>,
}

/// The place of a turn in its session (2.1.325).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnPosition {
    /// Of prompts.
    pub prompt: u64,
    /// Of turns.
    pub turn: u64,
}

impl<'a> UserLine<'a> {
    /// A line that says something, and nothing about it.
    pub fn new(content: UserContent<'a>) -> UserLine<'a> {
        UserLine {
            content,
            prompt: None,
            is_meta: false,
            is_turn_companion: false,
            is_compact_summary: false,
            tool_use_result: None,
            tool_denial: None,
            is_sandboxed: None,
            source_tool_use: None,
            thinking_metadata: None,
            todos: None,
            image_paste_ids: None,
            permission_mode: None,
            origin: None,
            prompt_source: None,
            turn_origin: None,
            turn_position: None,
            queue_skips_attachments: false,
            source_assistant: None,
            permission_decision: None,
            interrupted_message: None,
            refused_message: None,
            plan: None,
        }
    }

    /// A prompt, or another text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> UserLine<'a> {
        UserLine::new(UserContent::Text(text.into()))
    }

    /// Text that the client adds for the model.
    pub fn meta(text: impl Into<Cow<'a, str>>) -> UserLine<'a> {
        UserLine { is_meta: true, ..UserLine::text(text) }
    }

    /// The summary after a compaction.
    pub fn compact_summary(text: impl Into<Cow<'a, str>>) -> UserLine<'a> {
        UserLine { is_compact_summary: true, ..UserLine::text(text) }
    }

    /// The result of a tool: an array with the block that goes to the model, and
    /// what the client keeps for itself.
    pub fn tool_result(blocks: Value<'a>, result: Option<Value<'a>>) -> UserLine<'a> {
        UserLine { tool_use_result: result, ..UserLine::new(UserContent::Json(blocks)) }
    }

    fn write(&self, line: ObjectWriter, position: &Position) -> ObjectWriter {
        let message = self.content.write(ObjectWriter::new().string("role", "user"));
        let line = line
            .string("type", Kind::User.name())
            .json("message", &message.finish())
            .true_if("isMeta", self.is_meta)
            .true_if("turnCompanion", self.is_turn_companion)
            .true_if("isVisibleInTranscriptOnly", self.is_compact_summary)
            .true_if("isCompactSummary", self.is_compact_summary)
            .id("uuid", &position.uuid)
            .time("timestamp", position.time)
            .value_if_any("toolUseResult", self.tool_use_result)
            .string_if_any("toolDenialKind", self.tool_denial.as_deref());
        let line = match self.is_sandboxed {
            Some(is_sandboxed) => line.boolean("sandboxed", is_sandboxed),
            None => line,
        };
        self.write_turn(line.id_if_any("sourceToolUseID", self.source_tool_use.as_ref()))
            .id_if_any("sourceToolAssistantUUID", self.source_assistant.as_ref())
            .value_if_any("permissionDecision", self.permission_decision)
            .id_if_any("interruptedMessageId", self.interrupted_message.as_ref())
            .id_if_any("refusedMessageId", self.refused_message.as_ref())
            .string_if_any("planContent", self.plan.as_deref())
    }

    /// What a prompt says of its turn.
    fn write_turn(&self, line: ObjectWriter) -> ObjectWriter {
        let line = line
            .value_if_any("thinkingMetadata", self.thinking_metadata)
            .value_if_any("todos", self.todos)
            .value_if_any("imagePasteIds", self.image_paste_ids)
            .string_if_any("permissionMode", self.permission_mode.as_deref())
            .value_if_any("origin", self.origin)
            .string_if_any("promptSource", self.prompt_source.as_deref())
            .string_if_any("turnOrigin", self.turn_origin.as_deref());
        let line = match self.turn_position {
            Some(TurnPosition { prompt, turn }) => {
                let position =
                    ObjectWriter::new().number("promptIndex", prompt).number("turnIndex", turn);
                line.json("turnPosition", &position.finish())
            }
            None => line,
        };
        line.true_if("queueSkipAttachments", self.queue_skips_attachments)
    }
}

impl Envelope {
    /// A user line, without a line end.
    pub fn user(&self, position: &Position, user: &UserLine<'_>) -> Vec<u8> {
        let head = Head { prompt: user.prompt.as_deref(), ..Head::of(position) };
        self.chained(head, |line| user.write(line, position))
    }
}
