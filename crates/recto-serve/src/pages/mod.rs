//! The pages, made on the server. They use the same data as the API.

mod ansi;
mod card;
mod figures;
pub(crate) mod format;
mod heat;
mod home;
mod home_figures;
pub(crate) mod layout;
mod reader;
pub(crate) mod sessions;
pub(crate) mod text;

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::get;
use layout::page;
use maud::html;
use text::shown;

use crate::answer::Failure;
use crate::context::Context;

/// Why there is no page, as a page.
pub(crate) fn failure(failure: &Failure) -> Response<Body> {
    let title = match failure.status {
        StatusCode::NOT_FOUND => "Not found",
        status if status.is_client_error() => "Invalid request",
        _ => "Something went wrong",
    };
    let body = html! {
        div.panel {
            div.empty {
                strong { (title) }
                p { (shown(&failure.message)) "." }
                @if let Some(hint) = &failure.hint { p.faint { (shown(hint)) } }
                p.failure-ways { a.button href="/" { "Home" } a.button href="/sessions" { "All sessions" } }
            }
        }
    };
    let mut response = page(title, None, &body).into_response();
    *response.status_mut() = failure.status;
    response
}

pub(crate) fn routes() -> Router<Context> {
    Router::new()
        .route("/", get(home::home))
        .route("/live", get(home::live))
        .route("/sessions", get(sessions::sessions))
        .route("/sessions/list", get(sessions::list))
        .nest("/session", reader::routes())
        .merge(figures::routes())
}
