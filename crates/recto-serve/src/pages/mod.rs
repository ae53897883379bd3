//! The pages, made on the server. They use the same data as the API.

pub(crate) mod format;
mod home;
pub(crate) mod layout;

use axum::Router;
use axum::routing::get;

use crate::context::Context;

pub(crate) fn routes() -> Router<Context> {
    Router::new().route("/", get(home::home))
}
