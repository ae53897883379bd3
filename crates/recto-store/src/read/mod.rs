//! What is read of a log: a listing's digest, a session as a whole, its state, its sums.

pub(crate) mod agent_tree;
pub(crate) mod digest;
pub(crate) mod digests;
pub(crate) mod export_log;
pub(crate) mod history;
pub(crate) mod last_state;
pub(crate) mod live;
pub(crate) mod load;
pub(crate) mod missing;
pub(crate) mod plans;
pub(crate) mod prompts;
pub(crate) mod session_health;
pub(crate) mod statistics;
pub(crate) mod status;
pub(crate) mod usage;

#[cfg(test)]
mod rollup_tests;
