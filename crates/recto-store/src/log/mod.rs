//! Logs on disk: which ones there are, which files belong to them, which are chosen.

pub(crate) mod agents;
pub(crate) mod chain;
pub(crate) mod cursor;
pub(crate) mod file_state;
pub(crate) mod inventory;
pub(crate) mod log_file;
pub(crate) mod logs;
pub(crate) mod overflow_files;
pub(crate) mod owner;
pub(crate) mod parallel;
pub(crate) mod sidecar;
