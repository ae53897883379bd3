//! What commands that change sessions share.

pub(crate) mod copies;
pub(crate) mod editor;
pub(crate) mod journal;
pub(crate) mod nothing;
pub(crate) mod redaction;
