//! What `find`, `grep` and the browser share.

pub(crate) mod background;
pub(crate) mod hits;
pub(crate) mod query;
