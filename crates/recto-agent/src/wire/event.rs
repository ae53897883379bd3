//! Events of a streamed answer.

use std::borrow::Cow;

use bytes::Bytes;
use recto_log::json::SyntaxError;

use super::Block;
use super::Json;

/// One event. [`StreamEvent::Unknown`] keeps what the API adds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamEvent {
    /// The answer begins: a message without content.
    MessageStart {
        /// The message.
        message: Json,
    },
    /// A block begins.
    BlockStart {
        /// The number of the block.
        index: u64,
        /// The block, mostly without content.
        block: Block,
    },
    /// A block grows.
    BlockDelta {
        /// The number of the block.
        index: u64,
        /// What is added.
        delta: Delta,
    },
    /// A block is whole.
    BlockStop {
        /// The number of the block.
        index: u64,
    },
    /// Stop reason and usage: the whole event.
    MessageDelta {
        /// The event.
        event: Json,
    },
    /// The answer is whole.
    MessageStop,
    /// A sign of life.
    Ping,
    /// The endpoint failed after it had begun to answer.
    Error(ErrorBody),
    /// An event that is not known here. It is passed over.
    Unknown {
        /// The event.
        event: Json,
    },
}

/// What is added to a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delta(Json);

impl Delta {
    /// The delta as it was sent.
    pub fn json(&self) -> &Json {
        &self.0
    }

    /// The `type`, such as `text_delta`.
    pub fn kind(&self) -> Cow<'_, str> {
        self.0.str("type").unwrap_or_default()
    }

    /// The text that a person reads, of a `text_delta`.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        self.0.str("text").filter(|_| self.kind() == "text_delta")
    }

    /// The thinking that a person reads, of a `thinking_delta`.
    pub fn thinking(&self) -> Option<Cow<'_, str>> {
        self.0.str("thinking").filter(|_| self.kind() == "thinking_delta")
    }

    /// A piece of a tool's input, of an `input_json_delta`.
    pub fn partial_json(&self) -> Option<Cow<'_, str>> {
        self.0.str("partial_json").filter(|_| self.kind() == "input_json_delta")
    }
}

impl From<Json> for Delta {
    fn from(json: Json) -> Delta {
        Delta(json)
    }
}

/// The `error` of an error response or event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ErrorBody {
    /// Such as `overloaded_error`; empty if the endpoint named none.
    pub kind: String,
    /// The words of the endpoint.
    pub message: String,
    /// The id by which the endpoint knows the request.
    pub request_id: Option<String>,
}

impl ErrorBody {
    /// Reads `{"type":"error","error":{"type","message"},"request_id"}`, and the shapes of other
    /// endpoints: `{"error":"words"}`, `{"message":"words"}`, `{"detail":"words"}`.
    pub fn of(json: &Json) -> ErrorBody {
        let value = json.value();
        let error = value.get("error").unwrap_or(value);
        let words = ["message", "detail", "error"].iter().find_map(|name| error.str(name));
        let text = |name: &str| error.str(name).map(Cow::into_owned);
        ErrorBody {
            kind: text("type").or_else(|| text("code")).unwrap_or_default(),
            message: words.or_else(|| error.as_str()).unwrap_or_default().into_owned(),
            request_id: value.str("request_id").map(Cow::into_owned),
        }
    }
}

impl StreamEvent {
    /// Reads the data of one server-sent event.
    pub fn parse(data: &[u8]) -> Result<StreamEvent, SyntaxError> {
        let event = Json::parse(Bytes::copy_from_slice(data))?;
        Ok(StreamEvent::of(event))
    }

    /// Sorts an event by its `type`.
    pub fn of(event: Json) -> StreamEvent {
        let (mut kind, mut index, mut block, mut delta, mut message) =
            (None, None, None, None, None);
        let value = event.value();
        for member in value.members() {
            match member.raw_key {
                b"type" => kind = member.value.as_str(),
                b"index" => index = member.value.as_u64(),
                b"content_block" => block = Some(member.value),
                b"delta" => delta = Some(member.value),
                b"message" => message = Some(member.value),
                _ => {}
            }
        }
        match (kind.as_deref(), index) {
            (Some("content_block_delta"), Some(index)) if delta.is_some_and(|d| d.is_object()) => {
                let delta = delta.map_or_else(|| event.clone(), |value| event.part(value));
                StreamEvent::BlockDelta { index, delta: Delta(delta) }
            }
            (Some("content_block_start"), Some(index)) if block.is_some_and(|b| b.is_object()) => {
                let block = block.map_or_else(|| event.clone(), |value| event.part(value));
                StreamEvent::BlockStart { index, block: block.into() }
            }
            (Some("content_block_stop"), Some(index)) => StreamEvent::BlockStop { index },
            (Some("message_start"), _) if message.is_some_and(|m| m.is_object()) => {
                let message = message.map_or_else(|| event.clone(), |value| event.part(value));
                StreamEvent::MessageStart { message }
            }
            (Some("message_delta"), _) => StreamEvent::MessageDelta { event: event.clone() },
            (Some("message_stop"), _) => StreamEvent::MessageStop,
            (Some("ping"), _) => StreamEvent::Ping,
            (Some("error"), _) => StreamEvent::Error(ErrorBody::of(&event)),
            _ => StreamEvent::Unknown { event: event.clone() },
        }
    }

    /// The event as data to send.
    pub fn json(&self) -> Json {
        use recto_log::json::ObjectWriter;
        let object = |kind: &str| ObjectWriter::new().string("type", kind);
        Json::written(match self {
            StreamEvent::MessageStart { message } => {
                object("message_start").json("message", message.bytes()).finish()
            }
            StreamEvent::BlockStart { index, block } => object("content_block_start")
                .number("index", *index)
                .json("content_block", block.json().bytes())
                .finish(),
            StreamEvent::BlockDelta { index, delta } => object("content_block_delta")
                .number("index", *index)
                .json("delta", delta.0.bytes())
                .finish(),
            StreamEvent::BlockStop { index } => {
                object("content_block_stop").number("index", *index).finish()
            }
            StreamEvent::MessageDelta { event } | StreamEvent::Unknown { event } => {
                event.bytes().to_vec()
            }
            StreamEvent::MessageStop => object("message_stop").finish(),
            StreamEvent::Ping => object("ping").finish(),
            StreamEvent::Error(error) => {
                let body = ObjectWriter::new().string("type", &error.kind);
                let body = body.string("message", &error.message).finish();
                let id = error.request_id.as_deref();
                object("error").json("error", &body).string_if_any("request_id", id).finish()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_told_by_its_type_and_survives_a_round_trip() {
        for text in [
            r#"{"type":"message_start","message":{"id":"m","new":[1e5 ]}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"new","x":1}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","y":"\ud83d"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}"#,
            r#"{"type":"message_stop"}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            r#"{"type":"later","index":0}"#,
            r#"{"type":"content_block_start","index":-1}"#,
            r#"[1]"#,
        ] {
            let event = StreamEvent::parse(text.as_bytes()).unwrap();
            assert_eq!(event.json().to_string(), text);
            let is_unknown = matches!(event, StreamEvent::Unknown { .. });
            let is_new = ["later", "-1", "[1]"].iter().any(|word| text.contains(word));
            assert_eq!(is_unknown, is_new, "{text}");
        }
    }

    #[test]
    fn errors_of_other_endpoints_are_read() {
        let read = |text: &str| ErrorBody::of(&Json::parse(text.as_bytes().to_vec()).unwrap());
        assert_eq!(read(r#"{"error":"no"}"#).message, "no");
        assert_eq!(read(r#"{"detail":"no"}"#).message, "no");
        assert_eq!(read(r#"{"error":{"code":"x","message":"no"}}"#).kind, "x");
        assert_eq!(read("7").message, "");
    }
}
