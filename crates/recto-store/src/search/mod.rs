//! Searching in all logs, with the index and without.

pub(crate) mod error;
pub(crate) mod grep;
pub mod index;
pub(crate) mod overflow_matches;
pub(crate) mod scan;
