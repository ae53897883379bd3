//! What a hub answers.

use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::header;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It has no token, or one that does not work.
    Token,
    /// The token is another machine's.
    NotYours,
    /// The name is not that of a segment.
    Key,
    /// It comes from a web page.
    Browser,
    /// It does not say how long it is.
    Length,
    /// It is too long, or contains too much.
    TooLarge,
    /// It has no digest, or another one.
    Digest,
    /// It came too slowly.
    Slow,
    /// It is not what its name says.
    Segment,
    /// Something else has the name.
    Conflict,
    /// Too many requests, or too many bytes today.
    Often(Duration),
    /// The store does not answer.
    Store,
    /// The body is not what it should be.
    Body,
    /// The code is wrong or too old.
    Code,
    /// The code was used.
    Used,
    /// The machine belongs to another token.
    Taken,
    /// There is nothing at this address.
    Nothing,
    /// The address knows other methods.
    Method,
}

impl Refusal {
    fn parts(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Refusal::Token => (
                StatusCode::UNAUTHORIZED,
                "token",
                "the token is missing, unknown, expired or revoked",
            ),
            Refusal::NotYours => {
                (StatusCode::FORBIDDEN, "not-yours", "the token is not for this machine's prefix")
            }
            Refusal::Key => (StatusCode::BAD_REQUEST, "bad-key", "this is not a segment name"),
            Refusal::Browser => (StatusCode::FORBIDDEN, "browser", "web pages cannot use a hub"),
            Refusal::Length => {
                (StatusCode::LENGTH_REQUIRED, "no-length", "Content-Length is required")
            }
            Refusal::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "too-large", "the segment is too large")
            }
            Refusal::Digest => (
                StatusCode::BAD_REQUEST,
                "bad-digest",
                "Content-Digest is missing or does not match the body",
            ),
            Refusal::Slow => {
                (StatusCode::REQUEST_TIMEOUT, "too-slow", "the body arrived too slowly")
            }
            Refusal::Segment => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "bad-segment",
                "the body is not the segment that its name says",
            ),
            Refusal::Conflict => {
                (StatusCode::CONFLICT, "conflict", "another segment has this name")
            }
            Refusal::Often(_) => {
                (StatusCode::TOO_MANY_REQUESTS, "too-often", "too many requests or bytes")
            }
            Refusal::Store => {
                (StatusCode::SERVICE_UNAVAILABLE, "store", "the store does not answer")
            }
            Refusal::Body => (StatusCode::BAD_REQUEST, "bad-body", "the body is invalid"),
            Refusal::Code => {
                (StatusCode::FORBIDDEN, "bad-code", "the code is wrong, expired or revoked")
            }
            Refusal::Used => (StatusCode::GONE, "used-code", "the code was already used"),
            Refusal::Taken => (
                StatusCode::CONFLICT,
                "machine-taken",
                "this machine is enrolled, or has sent to the store before",
            ),
            Refusal::Nothing => (StatusCode::NOT_FOUND, "not-found", "nothing is here"),
            Refusal::Method => {
                (StatusCode::METHOD_NOT_ALLOWED, "bad-method", "this method is not used here")
            }
        }
    }

    /// A stable name.
    pub(crate) fn kind(self) -> &'static str {
        self.parts().1
    }

    pub(crate) fn answer(self) -> Response<Body> {
        let (status, kind, message) = self.parts();
        let body = serde_json::json!({ "error": kind, "message": message });
        let mut response = json(status, &body);
        let headers = response.headers_mut();
        match self {
            Refusal::Token => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Refusal::Often(wait) => {
                let seconds = wait.as_secs_f64().ceil() as u64;
                headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
            }
            Refusal::Store => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(5));
            }
            _ => {}
        }
        response
    }
}

/// An answer in JSON.
pub(crate) fn json(status: StatusCode, body: &serde_json::Value) -> Response<Body> {
    content(status, "application/json", body.to_string())
}

/// An answer that no cache keeps and no browser interprets.
pub(crate) fn content(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Body>,
) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
