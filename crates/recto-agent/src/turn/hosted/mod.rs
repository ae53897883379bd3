//! Sessions that another program started: what an SDK asks of them, and what they ask of it.
//!
//! ```text
//! stdin ─► Desk::take ─► prompts ─► Control          answers ─► HostLink
//!                    └─► requests: answered at once, in their order
//! ```

mod ask;
mod callback;
mod context;
mod desk;
mod initialize;
mod look;

pub use ask::tool_title;
pub use desk::Desk;
pub use desk::DeskFacts;

pub(super) use ask::serve_host;
pub(super) use ask::serve_tool;
pub(super) use desk::Changes;
pub(super) use desk::lifecycle;
