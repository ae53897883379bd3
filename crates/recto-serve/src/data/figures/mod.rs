//! What the pages about many sessions show: usage, tools, files, health.

mod explain;
mod file_uses;
mod index_build;
mod period;
mod survey;
mod totals;
mod usage_page;
mod wanted_file;

pub(crate) use explain::Explained;
pub(crate) use explain::Explanation;
pub(crate) use explain::explain;
pub(crate) use file_uses::FileHistory;
pub(crate) use file_uses::FileUseRow;
pub(crate) use file_uses::file_history;
pub(crate) use index_build::IndexBuild;
pub(crate) use index_build::IndexState;
pub(crate) use index_build::index_state;
pub(crate) use period::Choice;
pub(crate) use period::Period;
pub(crate) use survey::FailedCall;
pub(crate) use survey::Looked;
pub(crate) use survey::Progress;
pub(crate) use survey::Survey;
pub(crate) use survey::Surveyed;
pub(crate) use survey::survey;
pub(crate) use totals::Totals;
pub(crate) use totals::title_of;
pub(crate) use totals::totals;
pub(crate) use usage_page::Before;
pub(crate) use usage_page::Bucket;
pub(crate) use usage_page::Metric;
pub(crate) use usage_page::Slice;
pub(crate) use usage_page::UsageFigures;
pub(crate) use usage_page::UsageQuestion;
pub(crate) use usage_page::usage_figures;
pub(crate) use usage_page::usage_rows;

use crate::data::KnownPlans;

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
