//! One fold makes a session of entries: nodes, facts, names, and how they are kept.

pub(crate) mod bits;
pub(crate) mod by_line;
pub(crate) mod client_text;
pub(crate) mod facts;
pub(crate) mod hash;
pub(crate) mod hooks;
pub(crate) mod intern;
pub(crate) mod line_counts;
pub(crate) mod missing;
pub(crate) mod node;
pub(crate) mod nodes;
pub(crate) mod numbers;
pub mod packed;
pub(crate) mod queue;
pub(crate) mod record;
mod row;
pub(crate) mod session;
pub(crate) mod todos;
pub(crate) mod told;
