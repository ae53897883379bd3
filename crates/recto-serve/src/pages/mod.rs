//! The pages, made on the server. They use the same data as the API.

mod home;
mod layout;

use axum::Router;
use axum::routing::get;

use crate::context::Context;

pub(crate) fn routes() -> Router<Context> {
    Router::new().route("/", get(home::home))
}
