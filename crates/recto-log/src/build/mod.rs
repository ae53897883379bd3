//! New lines, as clients write them.
//!
//! An [`Envelope`] holds what the lines of a session repeat: session, directory,
//! version, branch. It makes one line of each kind from the facts of that line,
//! with the fields in the order in which clients of its [`Generation`] write
//! them. Ids and times are arguments: nothing here reads a clock.
//!
//! Lines of the chain ([`UserLine`], [`AnswerLine`], [`SyntheticLine`],
//! [`SystemLine`], [`AttachmentLine`], [`ProgressLine`]) need a [`Position`];
//! [`MetaLine`] is everything beside the chain.
//!
//! ```
//! use recto_log::build::{Envelope, Position, UserLine};
//! use recto_log::{EntryUuid, Generation};
//!
//! let mut envelope = Envelope::new(Generation::V2_1_300);
//! envelope.session = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718".parse().ok();
//! envelope.cwd = Some("/home/dev/app".to_owned());
//! let position = Position::root(EntryUuid::from_bits(7), "2026-11-16T08:00:00Z".parse()?);
//! let line = envelope.user(&position, &UserLine::text("Fix the parser"));
//! assert!(line.starts_with(br#"{"parentUuid":null,"isSidechain":false,"type":"user","#));
//! # Ok::<(), jiff::Error>(())
//! ```
//!
//! [`Generation`]: crate::Generation

mod answer;
mod attachment;
mod blocks;
mod cost;
mod envelope;
mod history;
mod meta;
mod synthetic;
mod system;
mod user;

pub use answer::AnswerLine;
pub use answer::AnswerMessage;
pub use answer::Delivery;
pub use attachment::AttachmentLine;
pub use attachment::ProgressLine;
pub use attachment::ProgressOf;
pub use blocks::text_block;
pub use blocks::thinking_block;
pub use blocks::tool_result_block;
pub use blocks::tool_use_block;
pub use cost::CostLine;
pub use cost::ModelCost;
pub use envelope::Envelope;
pub use envelope::Position;
pub use history::DeltaLine;
pub use history::SnapshotLine;
pub use meta::ApiRequest;
pub use meta::MetaLine;
pub use meta::QueueLine;
pub use meta::QueueStep;
pub use synthetic::SyntheticLine;
pub use system::HookSummary;
pub use system::Level;
pub use system::SystemLine;
pub use user::TurnPosition;
pub use user::UserContent;
pub use user::UserLine;
