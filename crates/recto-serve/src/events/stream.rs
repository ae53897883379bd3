//! Events over HTTP (`text/event-stream`).

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::Response;
use axum::http::StatusCode;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::answer::Failure;
use crate::answer::Piped;
use crate::answer::content;
use crate::context::Context;
use crate::events::hub::Taken;
use crate::parameters::Parameters;

/// After how long a silence the client is told that the server is there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Events from now on, or from where the client has been.
pub(crate) async fn events(
    State(context): State<Context>,
    headers: HeaderMap,
    parameters: Parameters,
) -> Result<Response<Body>, Failure> {
    parameters.finish()?;
    if !context.hub.enter() {
        let message = "too many listeners";
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-clients", message));
    }
    let hub = &context.hub;
    let seen = headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default());
    let last = hub.last();
    let (first, after) = match seen.map(|id| hub.resume(id)) {
        // What was missed of another start cannot be known.
        Some(None) => (hub.gap(None, last), last),
        Some(Some(seen)) => (ready(&context, seen), seen),
        None => (ready(&context, last), last),
    };
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        send(&context, &sender, first, after).await;
        context.hub.leave();
    });
    Ok(content(StatusCode::OK, "text/event-stream", Body::new(Piped::new(receiver))))
}

/// The first event, so that the client knows its place from the beginning.
fn ready(context: &Context, after: u64) -> String {
    context.hub.event("ready", Some(after), &format!(r#"{{"sequence":{after}}}"#))
}

/// Sends until the client goes. The channel holds one piece: what the client has
/// not taken stays in the ring, and may be gone when it comes back.
async fn send(
    context: &Context,
    sender: &mpsc::Sender<Result<Bytes, std::io::Error>>,
    first: String,
    mut after: u64,
) {
    let hub = &context.hub;
    let mut watch = hub.watch();
    if sender.send(Ok(Bytes::from(first))).await.is_err() {
        return;
    }
    loop {
        watch.mark_unchanged();
        if hub.is_over() {
            return;
        }
        let piece = match hub.take(after) {
            Taken::Events(piece, number) | Taken::Gap(piece, number) => {
                after = number;
                piece
            }
            Taken::Nothing => {
                let changed = tokio::select! {
                    changed = tokio::time::timeout(HEARTBEAT, watch.changed()) => changed,
                    () = sender.closed() => return,
                };
                match changed {
                    Ok(Ok(())) => continue,
                    Ok(Err(_)) => return,
                    Err(_) => {
                        let data = format!(r#"{{"sequence":{after}}}"#);
                        Bytes::from(hub.event("heartbeat", None, &data))
                    }
                }
            }
        };
        if sender.send(Ok(piece)).await.is_err() {
            return;
        }
    }
}
