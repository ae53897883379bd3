//! What is read of a log: a listing's digest, a session as a whole, its state; and which
//! logs are meant, by what was read.

pub(crate) mod agent_tree;
pub(crate) mod agent_without_log;
pub(crate) mod digest;
pub(crate) mod filter;
pub(crate) mod history;
pub(crate) mod last_state;
pub(crate) mod lines_back;
pub(crate) mod live;
pub(crate) mod load;
pub(crate) mod log_statistics;
pub(crate) mod missing;
pub(crate) mod select;
pub(crate) mod status;

#[cfg(test)]
#[cfg(unix)]
mod growth_tests;
