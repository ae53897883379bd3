//! What the pages about many sessions show: usage, tools, files, health.

mod index_build;
mod period;
mod survey;
mod totals;
mod usage_page;
mod work;

pub use index_build::IndexBuild;
pub use index_build::IndexState;
pub use period::Choice;
pub use period::Period;
pub use survey::FailedCall;
pub use survey::Looked;
pub use survey::Progress;
pub use survey::Survey;
pub use survey::Surveyed;
pub use totals::Totals;
pub use usage_page::Before;
pub use usage_page::Bucket;
pub use usage_page::Metric;
pub use usage_page::Slice;
pub use usage_page::UsageFigures;
pub use usage_page::UsageQuestion;
pub use work::ToolWork;
pub use work::TurnWork;
pub use work::Work;

use crate::plans::KnownPlans;

/// What is kept between requests.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// What was seen in logs.
    pub(crate) survey: Survey,
    /// An index that is being made.
    pub(crate) index: IndexBuild,
    /// Plans that were found in logs.
    pub(crate) plans: KnownPlans,
}
