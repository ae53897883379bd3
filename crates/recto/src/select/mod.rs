//! Which session, file or project is meant.

pub(crate) mod file_path;
pub(crate) mod filter;
pub(crate) mod session_context;
pub(crate) mod target;
