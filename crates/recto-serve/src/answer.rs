//! Answers: JSON, pages, text, and failures in the same shape everywhere.

use std::pin::Pin;
use std::task::Context as TaskContext;
use std::task::Poll;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::header;
use axum::response::IntoResponse;
use bytes::Bytes;
use http_body::Frame;
use maud::Markup;
use recto_log::json::ObjectWriter;
use recto_store::EditError;
use recto_store::StoreError;
use recto_store::publish::PublishError;
use recto_view::ViewError;
use recto_view::hint;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::team::TeamState;

/// An answer with some text or bytes.
pub(crate) fn content(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Body>,
) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A value as JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response<Body> {
        match serde_json::to_vec(&self.0) {
            Ok(text) => content(StatusCode::OK, "application/json", text),
            Err(_) => Failure::internal("the answer could not be encoded").into_response(),
        }
    }
}

/// A page.
pub(crate) struct Page(pub(crate) Markup);

impl IntoResponse for Page {
    fn into_response(self) -> Response<Body> {
        content(StatusCode::OK, "text/html; charset=utf-8", self.0.into_string())
    }
}

/// Why there is no answer, for people and machines. The message never holds
/// text of a log and never a path that the client sent.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(
        status: StatusCode,
        kind: &'static str,
        message: impl Into<String>,
    ) -> Failure {
        Failure { status, kind, message: message.into(), hint: None }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    pub(crate) fn bad_request(kind: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, kind, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// Why there are no rows of a team.
    pub(crate) fn team(state: &TeamState) -> Failure {
        match &state.trouble {
            Some(trouble) => Failure {
                status: StatusCode::BAD_GATEWAY,
                kind: trouble.kind,
                message: trouble.message.clone(),
                hint: trouble.hint.clone(),
            },
            None => {
                let message = "the tables of the store are being loaded";
                Failure::new(StatusCode::SERVICE_UNAVAILABLE, "team-loading", message)
                    .with_hint("try again in a few seconds")
            }
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let status = match &error {
            StoreError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
                StatusCode::NOT_FOUND
            }
            StoreError::Publish(error) => publish_status(error),
            StoreError::Edit(error) => edit_status(error),
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let hint = hint(&error).map(str::to_owned);
        Failure { status, kind: error.kind(), message: error.to_string(), hint }
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Failure {
        match error {
            ViewError::NotFound(message) => Failure::not_found(message),
            ViewError::Refused { kind, message, hint } => {
                Failure { hint, ..Failure::bad_request(kind, message) }
            }
            ViewError::Store(error) => error.into(),
            ViewError::Internal(message) => Failure::internal(message),
        }
    }
}

/// What cannot be changed as things are is a conflict: it can be later, or once
/// something else was done.
fn publish_status(error: &PublishError) -> StatusCode {
    match error {
        PublishError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        PublishError::NoOperation { .. } => StatusCode::NOT_FOUND,
        PublishError::Exists { .. }
        | PublishError::ChangedMeanwhile { .. }
        | PublishError::InUse { .. }
        | PublishError::ChangedSince { .. }
        | PublishError::OtherHome { .. }
        | PublishError::NothingToUndo
        | PublishError::NothingToRedo => StatusCode::CONFLICT,
        PublishError::Outside { .. }
        | PublishError::NotText { .. }
        | PublishError::NoBackup { .. }
        | PublishError::BadBackup { .. }
        | PublishError::BadRecord { .. }
        | PublishError::Interrupted { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn edit_status(error: &EditError) -> StatusCode {
    match error {
        EditError::BadTitle | EditError::TitleNotReadBack => StatusCode::BAD_REQUEST,
        EditError::Archived { .. }
        | EditError::Live { .. }
        | EditError::Elsewhere { .. }
        | EditError::UnreadableClient { .. }
        | EditError::Recent { .. } => StatusCode::CONFLICT,
        EditError::Plan(_)
        | EditError::WouldLose { .. }
        | EditError::PartsDiffer { .. }
        | EditError::BadSettings { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response<Body> {
        let text = ObjectWriter::new()
            .string("error", &self.message)
            .string("kind", self.kind)
            .string_or_null("hint", self.hint.as_deref());
        let mut response = content(self.status, "application/json", text.finish());
        // Who asked for a page gets it as one.
        response.extensions_mut().insert(self);
        response
    }
}

/// A body whose pieces come from elsewhere, one by one.
pub(crate) struct Piped {
    pieces: mpsc::Receiver<Result<Bytes, std::io::Error>>,
}

impl Piped {
    pub(crate) fn new(pieces: mpsc::Receiver<Result<Bytes, std::io::Error>>) -> Piped {
        Piped { pieces }
    }
}

impl http_body::Body for Piped {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.pieces.poll_recv(task).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
