//! Changes of sessions, made with [`publish`](crate::publish): who may, what is written, where.

pub(crate) mod cleanup_days;
pub(crate) mod copy;
pub(crate) mod draft_text;
pub(crate) mod error;
pub(crate) mod joining;
pub(crate) mod mended;
pub(crate) mod opened_log;
pub(crate) mod permit;
pub(crate) mod relocation;
pub(crate) mod removal;
pub(crate) mod renaming;
pub(crate) mod session_edit;
pub(crate) mod session_parts;
