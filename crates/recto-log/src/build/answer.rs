//! Assistant lines: one content block of an answer each.

use std::borrow::Cow;

use crate::Kind;
use crate::MessageId;
use crate::RequestId;
use crate::json::ArrayWriter;
use crate::json::ObjectWriter;
use crate::json::Value;

use super::Envelope;
use super::Position;
use super::envelope::Head;

/// The API message of which a line holds one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerMessage<'a> {
    /// The id that all lines of the message share.
    pub id: MessageId,
    /// The model that answered.
    pub model: Cow<'a, str>,
    /// The block.
    pub block: Value<'a>,
    /// Why the model stopped, if that is known.
    pub stop_reason: Option<Cow<'a, str>>,
    /// The text that the model stopped at.
    pub stop_sequence: Option<Cow<'a, str>>,
    /// The tokens of the whole message, as the API gave them.
    pub usage: Value<'a>,
    /// What the API dropped from the context.
    pub context_management: Option<Value<'a>>,
    /// More about why the model stopped (from 2.1.200).
    pub stop_details: Option<Value<'a>>,
}

impl AnswerMessage<'_> {
    fn finish(&self) -> Vec<u8> {
        ObjectWriter::new()
            .id("id", &self.id)
            .string("type", "message")
            .string("role", "assistant")
            .string("model", &self.model)
            .json("content", &ArrayWriter::new().value(self.block).finish())
            .string_or_null("stop_reason", self.stop_reason.as_deref())
            .string_or_null("stop_sequence", self.stop_sequence.as_deref())
            .value("usage", self.usage)
            .value_if_any("context_management", self.context_management)
            .value_if_any("stop_details", self.stop_details)
            .finish()
    }
}

/// How an answer came. Old clients order the fields by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    /// Block by block.
    #[default]
    Streamed,
    /// In one piece, as when a stream broke off (up to 2.1.29).
    Whole,
}

/// The facts of an assistant line that a model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerLine<'a> {
    /// The message.
    pub message: AnswerMessage<'a>,
    /// How it came.
    pub delivery: Delivery,
    /// The API call.
    pub request: Option<RequestId>,
    /// How long the model thought, in milliseconds.
    pub thinking_milliseconds: Option<u64>,
    /// What was shown of the thinking.
    pub thinking_display: Option<Cow<'a, str>>,
    /// How long the input of a call took to arrive, in milliseconds.
    pub tool_input_milliseconds: Option<u64>,
    /// The request of the check that a call went through.
    pub classifier_request: Option<Cow<'a, str>>,
    /// The place of the block in the message.
    pub block_index: Option<u64>,
    /// The `api-request` line of the call.
    pub request_record: Option<Cow<'a, str>>,
    /// The model that was asked for.
    pub requested_model: Option<Cow<'a, str>>,
    /// How long the cache was asked to keep the prompt, such as `5m`.
    pub prompt_cache: Option<Cow<'a, str>>,
    /// The kind of the subagent that answered.
    pub agent_kind: Option<Cow<'a, str>>,
    /// The skill that the answer is part of.
    pub skill: Option<Cow<'a, str>>,
    /// Whether the user cut the answer short.
    pub is_aborted: bool,
    /// The effort that the model was asked for.
    pub effort: Option<Cow<'a, str>>,
    /// The effort of this turn: a text, or `null` for a model that knows none.
    pub turn_effort: Option<Value<'a>>,
    /// Who made the line, such as `model` (2.1.325).
    pub made_by: Option<Cow<'a, str>>,
}

impl<'a> AnswerLine<'a> {
    /// A line that holds a block, and says nothing about it.
    pub fn new(message: AnswerMessage<'a>) -> AnswerLine<'a> {
        AnswerLine {
            message,
            delivery: Delivery::Streamed,
            request: None,
            thinking_milliseconds: None,
            thinking_display: None,
            tool_input_milliseconds: None,
            classifier_request: None,
            block_index: None,
            request_record: None,
            requested_model: None,
            prompt_cache: None,
            agent_kind: None,
            skill: None,
            is_aborted: false,
            effort: None,
            turn_effort: None,
            made_by: None,
        }
    }

    fn write_whole(&self, line: ObjectWriter, position: &Position) -> ObjectWriter {
        line.string("type", Kind::Assistant.name())
            .time("timestamp", position.time)
            .json("message", &self.message.finish())
            .id_if_any("requestId", self.request.as_ref())
            .id("uuid", &position.uuid)
    }

    fn write(&self, line: ObjectWriter, position: &Position) -> ObjectWriter {
        line.json("message", &self.message.finish())
            .number_if_any("thinkingDurationMs", self.thinking_milliseconds)
            .string_if_any("thinkingDisplay", self.thinking_display.as_deref())
            .number_if_any("toolInputStreamMs", self.tool_input_milliseconds)
            .string_if_any("serverClassifierRequest", self.classifier_request.as_deref())
            .number_if_any("apiBlockIndex", self.block_index)
            .id_if_any("requestId", self.request.as_ref())
            .string_if_any("requestRef", self.request_record.as_deref())
            .string_if_any("requestedModel", self.requested_model.as_deref())
            .string_if_any("promptCacheRequested", self.prompt_cache.as_deref())
            .string_if_any("attributionAgent", self.agent_kind.as_deref())
            .string_if_any("attributionSkill", self.skill.as_deref())
            .string("type", Kind::Assistant.name())
            .id("uuid", &position.uuid)
            .time("timestamp", position.time)
            .true_if("isAbortedMidStream", self.is_aborted)
            .string_if_any("effort", self.effort.as_deref())
            .value_if_any("perTurnEffort", self.turn_effort)
            .string_if_any("madeBy", self.made_by.as_deref())
    }
}

impl Envelope {
    /// An assistant line that a model wrote, without a line end.
    pub fn answer(&self, position: &Position, answer: &AnswerLine<'_>) -> Vec<u8> {
        self.chained(Head::of(position), |line| match answer.delivery {
            Delivery::Streamed => answer.write(line, position),
            Delivery::Whole => answer.write_whole(line, position),
        })
    }
}
