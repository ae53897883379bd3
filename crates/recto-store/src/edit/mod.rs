//! Changes of sessions, made with [`publish`](crate::publish): who may, what is written, where.

pub(crate) mod copy;
pub(crate) mod edition;
pub(crate) mod error;
pub(crate) mod joining;
pub(crate) mod permit;
pub(crate) mod relocation;
pub(crate) mod renaming;
