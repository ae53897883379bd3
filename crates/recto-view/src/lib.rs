//! Questions about a home, answered with plain rows.
//!
//! [`Library`] is the only thing to ask. Its answers are plain values with [`serde::Serialize`]:
//! `--json`, the HTTP API, pages and the MCP server show the same values, so they cannot
//! disagree. This crate knows neither HTTP nor a terminal.
//!
//! A question may wait for files and compute. Texts of logs are in the answers as they are: who
//! shows them makes them harmless.

mod activity;
mod agents;
mod body;
mod error;
pub mod figures;
mod files;
mod health;
mod hint;
mod items;
mod library;
mod moment;
mod operations;
mod overview;
mod plans;
mod profile;
mod reading;
mod search;
mod session;
mod sessions;
mod status;
mod turns;
mod usage;

pub use activity::Activity;
pub use activity::ActivityQuestion;
pub use activity::Amounts;
pub use activity::Measure;
pub use activity::TopSession;
pub use activity::WEEKS;
pub use agents::AgentView;
pub use body::line_body;
pub use error::ViewError;
pub use files::FileView;
pub use files::files;
pub use health::HealthView;
pub use health::ProblemView;
pub use health::ReachView;
pub use hint::hint;
pub use items::DiffView;
pub use items::ItemKind;
pub use items::ItemView;
pub use items::OverflowView;
pub use items::ResultView;
pub use items::Text;
pub use items::encoded;
pub use library::Asker;
pub use library::Library;
pub use library::LibraryOptions;
pub use moment::Moment;
pub use moment::cut;
pub use moment::dollars;
pub use operations::ChangeView;
pub use operations::OperationView;
pub use operations::RenamedView;
pub use operations::UndoneView;
pub use overview::Overview;
pub use plans::PlanView;
pub use profile::Profile;
pub use reading::Found;
pub use reading::Reading;
pub use search::HitView;
pub use search::Part;
pub use search::SearchAnswer;
pub use search::SearchQuery;
pub use session::AgentRunView;
pub use session::BranchView;
pub use session::CompactionView;
pub use session::Counts;
pub use session::OutlineTurn;
pub use session::SessionHead;
pub use session::TokenCounts;
pub use session::outline;
pub use sessions::Choices;
pub use sessions::Order;
pub use sessions::SessionList;
pub use sessions::SessionQuery;
pub use sessions::SessionRow;
pub use status::CallRow;
pub use status::StatusRow;
pub use status::TaskRow;
pub use turns::MOST_TURNS;
pub use turns::Next;
pub use turns::TurnPage;
pub use turns::TurnQuery;
pub use turns::TurnView;
pub use usage::UsageReport;
pub use usage::UsageRow;
pub use usage::UsageTotal;
pub use usage::dimensions;
