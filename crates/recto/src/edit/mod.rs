//! What commands that change sessions share.

pub(crate) mod editor;
pub(crate) mod journal;
pub(crate) mod redaction;
