//! What a person reads of a session: items, turns, branches, files and who changed them.

pub(crate) mod blame;
pub(crate) mod branches;
pub(crate) mod feed;
pub(crate) mod file_use;
pub(crate) mod items;
pub(crate) mod line_diff;
pub(crate) mod media;
pub(crate) mod overflow;
pub(crate) mod spoken;
pub(crate) mod turn_counter;
pub(crate) mod turns;
