//! The conversation in a Claude Code session log.
//!
//! One fold makes a [`Session`] of the entries of a log, whether they come from
//! a finished file or from a tail that grows: [`Session::push`]. Everything else
//! is a pure function of it. The session keeps facts about lines (ids, parents,
//! times, which blocks are in them) and not their text: what needs text asks for
//! a line again by its place, so that a log of any size fits in memory.
//!
//! ```
//! use recto_log::{Lines, decode};
//! use recto_session::{Session, turns};
//!
//! let log: &[u8] = br#"{"type":"user","uuid":"p","message":{"content":"list the files"}}
//! {"type":"assistant","uuid":"a","parentUuid":"p","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}
//! {"type":"user","uuid":"r","parentUuid":"a","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"no such directory"}]}}
//! "#;
//! let mut session = Session::new();
//! for line in Lines::new(log) {
//!     session.push(&decode(line).0);
//! }
//! assert_eq!(turns(&session).len(), 1);
//! let call = &session.facts().calls[0];
//! assert!(call.is_error);
//! let command = session.with_input(call, &log, |input| input.str("command").unwrap().into_owned())?;
//! assert_eq!(command.as_deref(), Some("ls"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The features `search`, `redact` and `export` (all on by default) add the modules of these
//! names, and the crates that only they need.

#![warn(missing_docs)]

pub mod ansi;
pub mod context_fill;
pub mod edit;
#[cfg(feature = "export")]
pub mod export;
mod fold;
pub mod health;
pub mod hostile;
mod line_source;
mod number;
#[cfg(feature = "redact")]
pub mod redact;
pub mod request;
#[cfg(feature = "search")]
pub mod search;
mod show;
pub mod statistics;
pub mod status;
pub mod usage;

pub use fold::by_line::ByLine;
pub use fold::facts::AgentRun;
pub use fold::facts::Compaction;
pub use fold::facts::Facts;
pub use fold::facts::FileAction;
pub use fold::facts::FileTouch;
pub use fold::facts::MessageFact;
pub use fold::facts::ToolCall;
pub use fold::hooks::TurnHook;
pub use fold::intern::NameId;
pub use fold::intern::Names;
pub use fold::line_counts::LineCounts;
pub use fold::node::BlockFact;
pub use fold::node::BlockFacts;
pub use fold::node::Flags;
pub use fold::node::Node;
pub use fold::node::NodeId;
pub use fold::node::Parent;
pub use fold::node::Span;
pub use fold::packed;
pub use fold::queue::PromptQueue;
pub use fold::queue::QueuedPrompt;
pub use fold::record::BlobFact;
pub use fold::record::Hash;
pub use fold::record::Records;
pub use fold::record::RequestFact;
pub use fold::record::ShapeFact;
pub use fold::record::UnknownLine;
pub use fold::session::Meta;
pub use fold::session::QueuedLine;
pub use fold::session::Session;
pub use fold::todos::TODO_TOOLS;
pub use fold::todos::Todo;
pub use fold::todos::TodoChange;
pub use fold::todos::TodoList;
pub use fold::told::ToldAgent;
pub use fold::told::told_agents;
pub use line_source::LineSource;
pub use line_source::SeekLines;
pub use line_source::with_line;
pub use number::duration;
pub use number::plural;
pub use number::with_marks;
pub use recto_log::command_text;
#[cfg(feature = "redact")]
pub use redact::anonymize::Anonymizer;
pub use show::blame::Blame;
pub use show::blame::FileChange;
pub use show::blame::Hunk;
pub use show::branches::Branch;
pub use show::branches::TOLD;
pub use show::branches::branches;
pub use show::branches::on_current_branch;
pub use show::feed::Feed;
pub use show::feed::Shown;
pub use show::file_use::FileFate;
pub use show::file_use::FileUse;
pub use show::file_use::file_uses;
pub use show::items::Diff;
pub use show::items::Item;
pub use show::items::NoteKind;
pub use show::items::Origin;
pub use show::items::call_about;
pub use show::items::items;
pub use show::items::task_text;
pub use show::media::Media;
pub use show::media::MediaKind;
pub use show::media::media;
pub use show::media::media_bytes;
pub use show::overflow::Overflow;
pub use show::spoken::spoken_text;
pub use show::spoken::with_call;
pub use show::turn_counter::TurnCounter;
pub use show::turns::Turn;
pub use show::turns::TurnKind;
pub use show::turns::Turns;
pub use show::turns::turns;
pub use usage::Tokens;
