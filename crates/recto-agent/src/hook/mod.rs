//! Hooks: commands of the user that run at events.
//!
//! ```text
//! Facts ─► to_json ─► run_all: /bin/sh -c, at the same time ─► interpret: pure ─► Answer
//! ```
//!
//! An [`Answer`] has what the loop does with it: lines for the log, notes for the model, whether
//! something is blocked or the run ends. The loop writes and sends; this room does neither.

mod answer;
mod callback;
mod config;
mod context;
mod effect;
mod event;
mod input;
mod matcher;
mod output;
mod run;
mod shape;
mod summary;

pub use answer::Answer;
pub use answer::Block;
pub use answer::Label;
pub use answer::Line;
pub use answer::Ran;
pub use callback::callback_failed;
pub use callback::callback_ran;
pub use config::Callback;
pub use config::HookCommand;
pub use config::Hooks;
pub use config::Subject;
pub use context::keep_long_contexts;
pub use effect::Exit;
pub use effect::HookEffect;
pub use effect::Outcome;
pub use effect::interpret;
pub use event::Event;
pub use input::Common;
pub use input::Facts;
pub use output::Choice;
pub use output::Output;
pub use output::PermissionAnswer;
pub use run::Surroundings;
pub use run::run_all;
pub(crate) use shape::problem;
pub use summary::compaction_instructions;
pub use summary::compaction_refusal;
pub use summary::compaction_report;
pub use summary::response_line;
pub use summary::session_end_failures;
pub use summary::started_line;
pub use summary::stop_summary;

#[cfg(test)]
mod tests;
