//! Many sessions in numbers.
//!
//! A log gives a [`LogStatistics`], which is small, holds no text but names, and
//! can be made on any thread. A [`Tally`] takes them in one after the other and
//! counts what several logs share once: a session that goes on from another one
//! begins with a copy of its lines. The first log that has something counts, so
//! logs are to be given in the order in which they were begun.

mod log;
mod packed;
mod spread;
mod tally;

pub use log::LogRole;
pub use log::LogStatistics;
pub use spread::Spread;
pub use tally::Activity;
pub use tally::ContextPoint;
pub use tally::FileStatistics;
pub use tally::LengthRange;
pub use tally::ModelStatistics;
pub use tally::Statistics;
pub use tally::Tally;
pub use tally::ToolStatistics;

#[cfg(test)]
mod tests;
