//! What the API and the pages show, as plain values. Nothing else of this crate
//! asks the store, so both always say the same.
//!
//! Everything here may wait for files and compute: it is called through
//! `Context::work`. Texts of logs are in it as they are; JSON and maud make
//! them harmless.

mod activity;
mod agents;
mod body;
pub(crate) mod figures;
mod files;
mod health;
mod items;
mod moment;
mod operations;
mod overview;
mod plans;
mod reading;
mod search;
mod session;
mod sessions;
mod status;
mod turns;
mod usage;

pub(crate) use activity::*;
pub(crate) use agents::*;
pub(crate) use body::*;
pub(crate) use files::*;
pub(crate) use health::*;
pub(crate) use items::*;
pub(crate) use moment::*;
pub(crate) use operations::*;
pub(crate) use overview::*;
pub(crate) use plans::*;
pub(crate) use reading::*;
pub(crate) use search::*;
pub(crate) use session::*;
pub(crate) use sessions::*;
pub(crate) use status::*;
pub(crate) use turns::*;
pub(crate) use usage::*;
