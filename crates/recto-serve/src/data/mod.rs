//! What the API and the pages show, as plain values. Nothing else of this crate
//! asks the store, so both always say the same.

mod overview;

pub(crate) use overview::Overview;
pub(crate) use overview::overview;
