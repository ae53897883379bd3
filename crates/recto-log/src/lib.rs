//! Lossless reading and writing of Claude Code session logs.
//!
//! A session log is a file of JSON lines that a client appends to for weeks,
//! that crashes may tear, and whose format moves every few days. This crate
//! reads it under two promises:
//!
//! * **Parsing never fails.** [`decode`] turns any bytes into an [`Entry`] and
//!   a list of [`Problem`]s. What is no JSON object is [`Kind::Opaque`]; an
//!   unknown type, block or field is kept as it is.
//! * **Byte identity.** An entry borrows its line. Writing an untouched entry
//!   gives back the same bytes; [`Patch`] replaces single values and keeps the
//!   order and spelling of everything else.
//!
//! The crate owns the *format* and nothing else: no files, no clock, no
//! environment. Finding logs is the business of `recto-store`.
//!
//! ```
//! use recto_log::{Kind, Lines, decode};
//!
//! let log = b"{\"type\":\"user\",\"uuid\":\"u1\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n{torn";
//! let mut kinds = Vec::new();
//! for line in Lines::new(log) {
//!     let (entry, problems) = decode(line);
//!     kinds.push((entry.kind(), problems.len()));
//!     assert_eq!(entry.bytes(), line.bytes);
//! }
//! assert_eq!(kinds, [(Kind::User, 0), (Kind::Opaque, 1)]);
//! ```

#![warn(missing_docs)]

// The examples of the page are tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod attachment;
mod block;
pub mod build;
mod drift;
mod entry;
mod generation;
mod ids;
pub mod json;
mod kind;
mod line;
mod message;
mod meta;
mod overflow;
mod problem;
mod progress;
mod project_key;
mod prompt;
mod schema;
mod system;
mod time;
mod tool_result;
mod usage;

pub use attachment::Attachment;
pub use attachment::Rendered;
pub use block::Block;
pub use block::Blocks;
pub use block::Content;
pub use block::Source;
pub use drift::Drift;
pub use drift::Finding;
pub use drift::FindingKind;
pub use entry::Entry;
pub use entry::OpaqueReason;
pub use entry::decode;
pub use generation::Generation;
pub use ids::AgentId;
pub use ids::EntryUuid;
pub use ids::IdError;
pub use ids::MessageId;
pub use ids::RequestId;
pub use ids::SessionId;
pub use ids::ToolUseId;
pub use ids::UUID_LENGTH;
pub use ids::uuids_in;
pub use json::Patch;
pub use kind::Kind;
pub use line::DEFAULT_LINE_CAP;
pub use line::LineReader;
pub use line::Lines;
pub use line::RawLine;
pub use message::Message;
pub use message::Role;
pub use meta::CostState;
pub use meta::FileHistory;
pub use meta::LastPrompt;
pub use meta::ModelUsage;
pub use meta::QueueOperation;
pub use meta::RequestRecord;
pub use overflow::overflow_path;
pub use problem::Problem;
pub use problem::ProblemKind;
pub use problem::Severity;
pub use progress::AgentProgress;
pub use project_key::ProjectKey;
pub use project_key::project_key_candidates;
pub use prompt::UserBlocks;
pub use prompt::UserText;
pub use prompt::classify_blocks;
pub use prompt::classify_user;
pub use prompt::command_text;
pub use prompt::said_text;
pub use prompt::typed_text;
pub use system::CompactMetadata;
pub use system::PreservedSegment;
pub use system::System;
pub use time::parse_time;
pub use time::timestamp_of;
pub use tool_result::StructuredPatch;
pub use tool_result::ToolResult;
pub use usage::Usage;
