//! Where Claude Code keeps its files, and how recto finds and reads them.
//!
//! Every rule about a path is in this crate and nowhere else: which directory
//! is the home, what a file's name says, which files belong to a session, and
//! which are never opened. It changes files only through [`publish`], so that
//! everything can be undone. It prints nothing and takes what the environment
//! says as arguments.
//!
//! ```no_run
//! use recto_store::Home;
//!
//! let home = Home::open("/home/dev/.claude")?;
//! let inventory = home.inventory();
//! for session in &inventory.sessions {
//!     println!("{} {}", session.id, session.bytes);
//! }
//! # Ok::<(), recto_store::StoreError>(())
//! ```

#![warn(missing_docs)]

mod agent_tree;
mod agents;
pub mod archive;
mod cache_directory;
mod context;
mod data_directory;
mod digest;
mod digests;
mod editing;
mod edition;
mod error;
mod export_log;
mod filter;
pub mod follow;
mod grep;
mod history;
mod home;
pub mod index;
mod inventory;
mod joining;
mod last_state;
mod live;
mod load;
mod locking;
mod logs;
mod missing;
mod open;
mod overflow_files;
mod overflow_matches;
mod parallel;
mod plans;
mod platform;
mod prompts;
pub mod publish;
mod relocation;
mod renaming;
mod retention;
mod scan;
mod scratch;
mod select;
mod serving;
mod session_copy;
mod session_health;
mod session_index;
mod settings;
mod sidecar;
mod space;
mod statistics;
mod status;
mod usage;

pub use agent_tree::Agent;
pub use agent_tree::AgentLink;
pub use agents::AgentFile;
pub use agents::AgentMeta;
pub use cache_directory::CacheDirectory;
pub use cache_directory::CacheSource;
pub use context::session_from_context;
pub use context::session_from_hook;
pub use data_directory::DataDirectory;
pub use data_directory::DataSource;
pub use digest::Digest;
pub use digest::FileKind;
pub use digest::TitleSource;
pub use digests::Digests;
pub use digests::ListedLog;
pub use editing::SessionParts;
pub use edition::Destination;
pub use edition::Edit;
pub use edition::NewSession;
pub use edition::OpenedLog;
pub use edition::Uuids;
pub use edition::new_session_id;
pub use error::StoreError;
pub use export_log::ExportSource;
pub use export_log::Exported;
pub use filter::Filter;
pub use filter::parse_time;
pub use grep::GrepRequest;
pub use history::HistoryEntry;
pub use history::HistoryReader;
pub use home::Home;
pub use home::HomeSource;
pub use inventory::Inventory;
pub use inventory::LogVersion;
pub use inventory::Project;
pub use inventory::SessionFile;
pub use inventory::Skipped;
pub use joining::Prefer;
pub use last_state::LastState;
pub use live::Announcements;
pub use live::LiveSession;
pub use live::UnreadableClient;
pub use load::Loaded;
pub use logs::HomeLog;
pub use logs::PlanFile;
pub use open::open_file;
pub use open::read_small;
pub use overflow_files::OverflowFiles;
pub use overflow_files::OverflowWanted;
pub use overflow_files::text_beginning;
pub use parallel::each_alone;
pub use parallel::in_order;
pub use plans::LoggedPlan;
pub use plans::PLAN_TOOL;
pub use plans::logged_plans;
pub use plans::plan_file_named;
pub use platform::give_memory_back;
pub use platform::process_is_alive;
pub use prompts::LogPrompt;
pub use prompts::read_prompts;
pub use relocation::MovedFile;
pub use relocation::MovedSession;
pub use relocation::Relocation;
pub use renaming::Renamed;
pub use renaming::Renaming;
pub use renaming::Title;
pub use retention::Retention;
pub use scratch::scratch_folder;
pub use select::Choice;
pub use select::Selector;
#[cfg(unix)]
pub use serving::bind_socket;
pub use serving::read_token_file;
pub use serving::remove_socket;
pub use session_health::HEALTH_GENERATIONS;
pub use session_health::session_health;
pub use session_index::IndexHint;
pub use settings::CleanupSetting;
pub use settings::Scope;
pub use sidecar::OverflowFile;
pub use sidecar::Sidecars;
pub use space::Area;
pub use status::RECENT;
pub use status::SessionStatus;
pub use status::StatusScope;
pub use status::Statuses;
pub use usage::Usage;
pub use usage::UsageScan;

#[cfg(test)]
mod rollup_tests;
