//! Where Claude Code keeps its files, and how recto searchs and reads them.
//!
//! Every rule about a path is in this crate and nowhere else: which directory
//! is the home, what a file's name says, which files belong to a session, and
//! which are never opened. It changes files only through [`publish`], so that
//! everything can be undone, and adds to logs through [`append`]. It prints nothing
//! and takes what the environment says as arguments.
//!
//! ```no_run
//! use recto_store::Home;
//!
//! let home = Home::open("/home/dev/.claude")?;
//! let inventory = home.inventory();
//! for session in &inventory.sessions {
//!     println!("{} {}", session.id, session.bytes());
//! }
//! # Ok::<(), recto_store::StoreError>(())
//! ```

#![warn(missing_docs)]

pub mod append;
mod edit;
mod error;
pub mod follow;
pub mod keep;
mod log;
pub mod pack;
mod place;
pub mod publish;
mod read;
pub mod rewind;
mod search;
mod sums;

pub use edit::copy::Prefer;
pub use edit::copy::Uuids;
pub use edit::error::EditError;
pub use edit::mended::Mended;
pub use edit::opened_log::OpenedLog;
pub use edit::relocation::MovedFile;
pub use edit::relocation::MovedSession;
pub use edit::relocation::Relocation;
pub use edit::removal::Removal;
pub use edit::renaming::Renamed;
pub use edit::renaming::Renaming;
pub use edit::renaming::Title;
pub use edit::session_edit::Destination;
pub use edit::session_edit::Edit;
pub use edit::session_edit::NewSession;
pub use edit::session_edit::new_session_id;
pub use edit::session_parts::SessionParts;
pub use error::StoreError;
pub use log::agents::AgentMeta;
pub use log::chain::BLOCK as CHAIN_BLOCK;
pub use log::chain::ChainHash;
pub use log::chain::GenerationId;
pub use log::cursor::Advance;
pub use log::cursor::Cursor;
pub use log::cursor::Growth;
pub use log::cursor::ReadLimits;
pub use log::file_state::FileState;
pub use log::inventory::Inventory;
pub use log::inventory::Skipped;
pub use log::log_file::LogFile;
pub use log::log_file::Project;
pub use log::log_file::SessionFile;
pub use log::log_file::agent_log_beside;
pub use log::log_file::project_directory;
pub use log::log_file::session_folder_above;
pub use log::logs::PlanFile;
pub use log::overflow_files::OverflowFiles;
pub use log::overflow_files::OverflowWanted;
pub use log::overflow_files::text_beginning;
pub use log::parallel::each_alone;
pub use log::parallel::in_order;
pub use log::sidecar::OverflowFile;
pub use log::sidecar::Sidecars;
pub use place::cache_directory::CacheDirectory;
pub use place::cache_directory::CacheSource;
pub use place::data_directory::DataDirectory;
pub use place::data_directory::DataSource;
pub use place::durable::host_name;
pub use place::durable::make_directory;
pub use place::durable::remove_database;
pub use place::durable::sync_below;
pub use place::error::PlaceError;
pub use place::git::git_remote;
pub use place::home::Home;
pub use place::home::HomeSource;
pub use place::home::make_home;
pub use place::locking::lock_file;
pub use place::open::open_file;
pub use place::open::read_chosen;
pub use place::open::read_small;
pub use place::open::without_dots;
pub use place::platform::give_memory_back;
pub use place::platform::process_is_alive;
pub use place::private::read_credentials;
pub use place::private::read_private;
pub use place::private::write_private;
pub use place::retention::Retention;
pub use place::scratch::scratch_folder;
pub use place::secret_name::can_be_secret;
#[cfg(unix)]
pub use place::serving::LoginPage;
pub use place::serving::bind_socket;
pub use place::serving::read_token_file;
pub use place::serving::remove_socket;
pub use place::settings::CleanupSetting;
pub use place::settings::Scope;
pub use place::space::Area;
pub use read::agent_tree::Agent;
pub use read::agent_tree::AgentLink;
pub use read::agent_tree::AgentSource;
pub use read::agent_without_log::Told;
pub use read::digest::Digest;
pub use read::digest::FileKind;
pub use read::digest::TitleSource;
pub use read::filter::Filter;
pub use read::filter::parse_time;
pub use read::history::HistoryEntry;
pub use read::history::HistoryReader;
pub use read::last_state::LastState;
pub use read::live::Announcements;
pub use read::live::LiveSession;
pub use read::live::UnreadableClient;
pub use read::load::Loaded;
pub use read::load::Refresh;
pub use read::log_statistics::statistics_of;
pub use read::select::Choice;
pub use read::select::Selector;
pub use read::select::distance;
pub use read::status::RECENT;
pub use read::status::SessionStatus;
pub use read::status::StatusScope;
pub use read::status::Statuses;
pub use search::grep::GrepRequest;
pub use search::index;
pub use sums::digests::Digests;
pub use sums::kept_lines::KeptLines;
pub use sums::kept_lines::Worked;
pub use sums::kept_lines::each_line_at;
pub use sums::usage::Usage;
pub use sums::usage::UsageScan;
