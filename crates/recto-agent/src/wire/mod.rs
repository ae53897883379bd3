//! Messages, blocks and stream events as the API spells them.
//!
//! Owns: the text of requests and answers, the parser of server-sent events, and how deltas
//! become blocks. Does not own: connections, retries and keys; see [`crate::api`].
//!
//! Everything is kept as the JSON text that was sent or received ([`Json`]), and read on demand
//! through the views of `recto-log` ([`recto_log::Block`], [`recto_log::Usage`]). So a block or
//! a field that nobody here knows goes into the log, and back to the API, as it came.
//!
//! ```
//! use recto_agent::wire::{Block, Message, Request};
//!
//! let mut request = Request::new("claude-opus-5-5", 1024);
//! request.messages.push(Message::user([Block::text("Hello")]));
//! let body = String::from_utf8(request.body())?;
//! assert!(body.contains(r#"{"role":"user","content":[{"type":"text","text":"Hello"}]}"#));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```

mod accumulate;
mod block;
mod event;
mod json;
mod message;
mod request;
mod sse;

pub use accumulate::Accumulator;
pub use accumulate::Answer;
pub use accumulate::FinishedBlock;
pub use accumulate::MOST_ANSWER_BYTES;
pub use accumulate::Progress;
pub use accumulate::StreamError;
pub use block::Block;
pub(crate) use block::KINDS;
pub use event::Delta;
pub use event::ErrorBody;
pub use event::StreamEvent;
pub use json::Json;
pub use message::Message;
pub use request::Request;
pub use sse::EventTooLarge;
pub use sse::Frame;
pub use sse::MOST_EVENT_BYTES;
pub use sse::SseParser;
