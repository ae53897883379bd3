//! The loop: prompt, request, stream, blocks, tools, results, until a turn is over.
//!
//! ```text
//! Setup ─► Runner::run ─► TurnEvent …                    one stream for all surfaces
//!             ▲   │
//!   Control ──┘   └─ prompt ─► request ─► blocks ─► log ─► calls ─► results ─► log ─► request …
//!   (prompts, interrupt)                                    ▲
//!                                                 Asker ────┘ (a yes or a no)
//! ```
//!
//! The conversation is the log: a block is appended before anything else happens with it, and
//! what is sent is made of the lines by `recto-session` (`History`). So whatever
//! ends the process, another client goes on from the last line.

mod agent;
mod ask;
mod call;
mod checkpoint;
mod command;
mod compact;
mod control;
mod conversation;
mod event;
mod history;
mod host;
mod hosted;
mod jobs;
mod local_command;
mod mentions;
mod mirror;
mod opening;
mod output_schema;
mod presence;
mod progress;
mod prompt;
mod receiving;
mod resume;
mod runner;
mod sentence;
mod setup;
mod shared;
mod size;
mod slug;
mod sound;
mod start_over;
mod step;
mod totals;
mod transcript;
mod work;
mod world;

pub use agent::AgentStats;
pub use ask::Asker;
pub use ask::Question;
pub use ask::Reply;
pub use control::Control;
pub use control::Prompt;
pub use event::Began;
pub use event::DeniedCall;
pub use event::End;
pub use event::Ended;
pub use event::Failed;
pub use event::FailedMore;
pub use event::LocalCommand;
pub use event::Said;
pub use event::Speaker;
pub use event::State;
pub use event::TurnEvent;
pub use event::UserSaid;
pub use hosted::Desk;
pub use hosted::DeskFacts;
pub use hosted::tool_title;
pub use output_schema::OutputSchema;
pub use prompt::model_named;
pub use resume::Cut;
pub use resume::ResumeError;
pub use resume::Resumed;
pub use runner::RunEnd;
pub use runner::Runner;
pub use sentence::error_name;
pub use setup::Setup;
pub use setup::With;
pub use totals::ModelTotals;
pub use totals::Totals;
pub use totals::dollars;
pub use transcript::LogStyle;
