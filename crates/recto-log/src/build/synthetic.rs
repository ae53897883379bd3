//! Assistant lines that the client makes up, without a call to a model.

use std::borrow::Cow;

use crate::Generation;
use crate::Kind;
use crate::MessageId;
use crate::RequestId;
use crate::json::ArrayWriter;
use crate::json::ObjectWriter;

use super::Envelope;
use super::Position;
use super::blocks::text_block;
use super::envelope::Head;

/// The facts of an assistant line that the client wrote, such as the report of
/// a failed API call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntheticLine<'a> {
    /// The id of the message, which no API gave.
    pub id: MessageId,
    /// What is said.
    pub text: Cow<'a, str>,
    /// Why the message ends.
    pub stop_reason: Cow<'a, str>,
    /// The API call that failed.
    pub request: Option<RequestId>,
    /// The kind of error, such as `server_error`.
    pub error: Option<Cow<'a, str>>,
    /// What 2.1.29 calls the error where no call failed.
    pub api_error: Option<Cow<'a, str>>,
    /// What the API said.
    pub error_details: Option<Cow<'a, str>>,
    /// Whether the line stands for a failed call.
    pub is_api_error: bool,
    /// The HTTP status.
    pub status: Option<u64>,
    /// The API's name of the error.
    pub error_type: Option<Cow<'a, str>>,
    /// The effort of this turn.
    pub turn_effort: Option<Cow<'a, str>>,
    /// Whether the failed answer had no call of a tool.
    pub had_no_tool_call: bool,
    /// Who made the line (2.1.325).
    pub made_by: Option<Cow<'a, str>>,
}

impl<'a> SyntheticLine<'a> {
    /// A text in the model's place.
    pub fn new(id: MessageId, text: impl Into<Cow<'a, str>>) -> SyntheticLine<'a> {
        SyntheticLine {
            id,
            text: text.into(),
            stop_reason: "stop_sequence".into(),
            request: None,
            error: None,
            api_error: None,
            error_details: None,
            is_api_error: false,
            status: None,
            error_type: None,
            turn_effort: None,
            had_no_tool_call: false,
            made_by: None,
        }
    }

    fn message(&self, generation: Generation) -> Vec<u8> {
        let null = |message: ObjectWriter, key, since| match generation >= since {
            true => message.json(key, b"null"),
            false => message,
        };
        let message = null(ObjectWriter::new(), "diagnostics", Generation::V2_1_300)
            .id("id", &self.id)
            .json("container", b"null")
            .string("model", "<synthetic>")
            .string("role", "assistant");
        let content = ArrayWriter::new().json(&text_block(&self.text)).finish();
        null(message, "stop_details", Generation::V2_1_200)
            .string("stop_reason", &self.stop_reason)
            .string("stop_sequence", "")
            .string("type", "message")
            .json("usage", &no_usage(generation))
            .json("content", &content)
            .json("context_management", b"null")
            .finish()
    }

    fn write(
        &self,
        line: ObjectWriter,
        position: &Position,
        generation: Generation,
    ) -> ObjectWriter {
        line.string("type", Kind::Assistant.name())
            .id("uuid", &position.uuid)
            .time("timestamp", position.time)
            .json("message", &self.message(generation))
            .id_if_any("requestId", self.request.as_ref())
            .string_if_any("error", self.error.as_deref())
            .string_if_any("apiError", self.api_error.as_deref())
            .string_if_any("errorDetails", self.error_details.as_deref())
            .boolean("isApiErrorMessage", self.is_api_error)
            .number_if_any("apiErrorStatus", self.status)
            .string_if_any("apiErrorType", self.error_type.as_deref())
            .string_if_any("perTurnEffort", self.turn_effort.as_deref())
            .true_if("failedResponseHadNoToolCall", self.had_no_tool_call)
            .string_if_any("madeBy", self.made_by.as_deref())
    }
}

/// The usage of a message that cost nothing, as each generation spells it.
fn no_usage(generation: Generation) -> Vec<u8> {
    let usage = ObjectWriter::new();
    let usage = match generation >= Generation::V2_1_300 {
        true => usage.json("output_tokens_details", b"null"),
        false => usage,
    };
    let usage = usage
        .number("input_tokens", 0)
        .number("output_tokens", 0)
        .number("cache_creation_input_tokens", 0)
        .number("cache_read_input_tokens", 0)
        .json("server_tool_use", br#"{"web_search_requests":0,"web_fetch_requests":0}"#)
        .json("service_tier", b"null")
        .json(
            "cache_creation",
            br#"{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0}"#,
        );
    let later: &[&str] = match generation {
        Generation::V2_0_0 | Generation::V2_0_76 | Generation::V2_1_0 | Generation::V2_1_100 => &[],
        Generation::V2_1_200 => &["inference_geo", "iterations", "speed"],
        Generation::V2_1_300 => &["inference_geo", "iterations", "speed", "fallback_credit"],
    };
    later.iter().fold(usage, |usage, key| usage.json(key, b"null")).finish()
}

impl Envelope {
    /// An assistant line that the client made up, without a line end.
    pub fn synthetic(&self, position: &Position, synthetic: &SyntheticLine<'_>) -> Vec<u8> {
        self.chained(Head::of(position), |line| synthetic.write(line, position, self.generation))
    }
}
