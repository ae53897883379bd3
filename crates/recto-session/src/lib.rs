//! The conversation in a Claude Code session log.
//!
//! One fold makes a [`Session`] of the entries of a log, whether they come from
//! a finished file or from a tail that grows: [`Session::push`]. Everything else
//! is a pure function of it. The session keeps facts about lines (ids, parents,
//! times, which blocks are in them) and not their text: what needs text asks for
//! a line again by its place, so that a log of any size fits in memory.

#![warn(missing_docs)]

mod anonymize;
mod blame;
mod branches;
pub mod chart;
pub mod context_fill;
pub mod edit;
pub mod export;
mod facts;
mod feed;
mod file_use;
mod hash;
pub mod health;
mod hooks;
mod intern;
mod items;
mod line_diff;
mod node;
mod number;
mod overflow;
pub mod packed;
mod queue;
mod record;
pub mod redact;
pub mod request;
mod resume;
pub mod search;
mod session;
mod spoken;
pub mod statistics;
pub mod status;
mod todos;
mod turns;
pub mod usage;

pub use anonymize::Anonymizer;
pub use blame::Blame;
pub use blame::FileChange;
pub use blame::Hunk;
pub use branches::Branch;
pub use branches::TOLD;
pub use branches::branches;
pub use branches::on_current_branch;
pub use facts::AgentRun;
pub use facts::Compaction;
pub use facts::Facts;
pub use facts::FileAction;
pub use facts::FileTouch;
pub use facts::Message;
pub use facts::Tokens;
pub use facts::ToolCall;
pub use feed::Feed;
pub use feed::Shown;
pub use file_use::FileFate;
pub use file_use::FileUse;
pub use file_use::file_uses;
pub use hooks::TurnHook;
pub use intern::NameId;
pub use intern::Names;
pub use items::Diff;
pub use items::Item;
pub use items::NoteKind;
pub use items::Origin;
pub use items::call_about;
pub use items::command_text;
pub use items::items;
pub use items::task_text;
pub use node::BlockFact;
pub use node::BlockFacts;
pub use node::Flags;
pub use node::Node;
pub use node::NodeId;
pub use node::Parent;
pub use node::Span;
pub use number::duration;
pub use number::with_marks;
pub use overflow::Overflow;
pub use queue::PromptQueue;
pub use queue::QueuedPrompt;
pub use record::BlobFact;
pub use record::Hash;
pub use record::Records;
pub use record::RequestFact;
pub use record::UnknownLine;
pub use resume::resume_command;
pub use session::Meta;
pub use session::QueuedLine;
pub use session::Session;
pub use spoken::spoken_text;
pub use spoken::turn_places;
pub use spoken::with_call;
pub use todos::TODO_TOOLS;
pub use todos::Todo;
pub use todos::TodoChange;
pub use todos::TodoList;
pub use turns::Turn;
pub use turns::TurnCounter;
pub use turns::TurnKind;
pub use turns::turns;
