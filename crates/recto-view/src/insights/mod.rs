//! Questions about how work goes: activity, quality, the cache, and the context.
//!
//! Each answer names the rule by which it counts, and where the evidence is.

mod activity;
mod cache;
mod context;
mod quality;

pub use activity::ACTIVITY_RULES;
pub use activity::ActivityInsight;
pub use activity::HourActivity;
pub use activity::SessionActivity;
pub use cache::CacheInsight;
pub use cache::CacheRow;
pub use context::CONTEXT_RULE;
pub use context::ContextInsight;
pub use context::ContextSession;
pub use context::ContextStep;
pub use quality::QUALITY_RULES;
pub use quality::QualityBy;
pub use quality::QualityInsight;
pub use quality::QualityRow;

use jiff::Timestamp;

/// A span of time; what is not said has no end there.
pub type TimeSpan = (Option<Timestamp>, Option<Timestamp>);

/// Whether a time is in a span. What has no time is in none that has an end.
fn is_in(span: TimeSpan, time: Option<Timestamp>) -> bool {
    match (span, time) {
        ((None, None), _) => true,
        (_, None) => false,
        ((since, until), Some(time)) => {
            since.is_none_or(|since| time >= since) && until.is_none_or(|until| time < until)
        }
    }
}

/// The value that a share of all (in tenths) is below or at.
fn at_share(sorted: &[u64], tenths: usize) -> Option<u64> {
    sorted.get((sorted.len() * tenths).div_ceil(10).saturating_sub(1)).copied()
}
