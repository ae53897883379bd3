//! The pages, made on the server. They use the same data as the API.

mod figures;
pub(crate) mod format;
mod heat;
mod home;
pub(crate) mod layout;
mod reader;
pub(crate) mod sessions;
pub(crate) mod text;

use axum::Router;
use axum::routing::get;

use crate::context::Context;

pub(crate) fn routes() -> Router<Context> {
    Router::new()
        .route("/", get(home::home))
        .route("/live", get(home::live))
        .route("/sessions", get(sessions::sessions))
        .route("/sessions/list", get(sessions::list))
        .nest("/session", reader::routes())
        .merge(figures::routes())
}
