//! What changes something, if the user has allowed it, and what was changed.
//!
//! What changes something is sent by POST, and nothing else is: [`is_edit`] names
//! the addresses to the guard.

use std::pin::Pin;

use axum::body::Body;
use axum::extract::Path;
use axum::extract::State;
use axum::http::StatusCode;
use http_body::Body as _;
use recto_store::publish::OperationId;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::session_id;
use crate::answer::Failure;
use crate::answer::Json;
use crate::context::Context;
use crate::parameters::Parameters;
use recto_view::ForkedView;
use recto_view::OperationRow;
use recto_view::RenamedView;
use recto_view::RestoredView;
use recto_view::UndoneView;

/// How long a body may be.
const LONGEST_BODY: usize = 64 * 1024;

/// How much of one that is too long is read and thrown away: a client that still
/// sends does not listen.
const LONGEST_IGNORED: usize = 1024 * 1024;

/// Whether something can be changed at an address.
pub(crate) fn is_edit(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("/api/v1/") else { return false };
    let parts: Vec<&str> = rest.split('/').collect();
    matches!(
        parts[..],
        ["undo" | "searches"] | ["sessions", _, "title" | "restore" | "fork" | "marks"]
    )
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTitle {
    title: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Restore {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fork {
    turn: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Undo {
    operation: Option<u64>,
}

pub(super) async fn operations(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<Vec<OperationRow>>, Failure> {
    let count = parameters.value("count")?.unwrap_or(50).min(500);
    parameters.finish()?;
    context.answer(move |library| library.operations(count)).await.map(Json)
}

pub(super) async fn rename(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
    body: Body,
) -> Result<Json<RenamedView>, Failure> {
    context.check_edits()?;
    parameters.finish()?;
    let id = session_id(&session)?;
    let NewTitle { title } = parse(&read(body).await?)?;
    context.answer(move |library| library.rename(id, &title)).await.map(Json)
}

pub(super) async fn restore(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
    body: Body,
) -> Result<Json<RestoredView>, Failure> {
    context.check_edits()?;
    parameters.finish()?;
    let id = session_id(&session)?;
    let Restore {} = parse(&read(body).await?)?;
    context.answer(move |library| library.restore(id.id)).await.map(Json)
}

pub(super) async fn fork(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
    body: Body,
) -> Result<Json<ForkedView>, Failure> {
    context.check_edits()?;
    parameters.finish()?;
    let id = session_id(&session)?;
    let Fork { turn } = parse(&read(body).await?)?;
    context.answer(move |library| library.fork(id, turn)).await.map(Json)
}

pub(super) async fn undo(
    State(context): State<Context>,
    parameters: Parameters,
    body: Body,
) -> Result<Json<UndoneView>, Failure> {
    context.check_edits()?;
    parameters.finish()?;
    let Undo { operation } = parse(&read(body).await?)?;
    let which = operation.map(OperationId::from);
    context.answer(move |library| library.undo(which)).await.map(Json)
}

/// The body of a request, all of it or nothing.
pub(super) async fn read(mut body: Body) -> Result<Vec<u8>, Failure> {
    let too_large = || {
        let message = "the request body is larger than 64 KB";
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", message)
    };
    // Who says that it is far too much is answered at once.
    if body.size_hint().lower() > LONGEST_IGNORED as u64 {
        return Err(too_large());
    }
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(frame) = std::future::poll_fn(|task| Pin::new(&mut body).poll_frame(task)).await
    {
        let broken = |_| Failure::bad_request("bad-body", "the request body is incomplete");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        length += data.len();
        if length > LONGEST_IGNORED {
            break;
        }
        if length <= LONGEST_BODY {
            bytes.extend_from_slice(&data);
        }
    }
    if length > LONGEST_BODY {
        return Err(too_large());
    }
    Ok(bytes)
}

pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes).map_err(|_| {
        Failure::bad_request("bad-body", "the request body is invalid")
            .with_hint("/api/openapi.json describes it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_addresses_change_something() {
        assert!(is_edit("/api/v1/undo") && is_edit("/api/v1/sessions/x/title"));
        assert!(is_edit("/api/v1/sessions/x/restore") && is_edit("/api/v1/sessions/x/fork"));
        assert!(is_edit("/api/v1/sessions/x/marks") && is_edit("/api/v1/searches"));
        for other in [
            "/",
            "/api/v1/undo/",
            "/api/v1/sessions/x",
            "/api/v1/sessions/x/y/title",
            "/api/v1/sessions/title",
            "/api/v1/operations",
            "//api/v1/undo",
        ] {
            assert!(!is_edit(other), "{other}");
        }
    }
}
