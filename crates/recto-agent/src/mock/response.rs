//! Responses of the API: their shapes, and what is read of a request before there is one.

use std::future::poll_fn;
use std::pin::Pin;

use http_body::Body as _;
use hyper::HeaderMap;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Incoming;
use serde_json::Value;
use serde_json::json;

use super::body::Sent;
use super::strict::Headers;
use super::strict::MOST_BYTES;
use super::strict::Refusal;

/// How much of a body that is too large is read, so that the client reads the refusal.
const MOST_DRAINED: usize = 512 << 20;

/// The list of models.
pub(super) fn models(ids: &[String]) -> Value {
    let data: Vec<Value> = ids.iter().map(|model| model_json(model)).collect();
    let edge = |id: Option<&String>| id.map_or(Value::Null, |id| Value::from(id.as_str()));
    json!({
        "data": data, "has_more": false,
        "first_id": edge(ids.first()), "last_id": edge(ids.last()),
    })
}

pub(super) fn model_json(id: &str) -> Value {
    json!({
        "type": "model", "id": id, "display_name": id, "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    })
}

/// Whether a request of a kind has a body.
#[derive(PartialEq, Eq)]
pub(super) enum Body {
    Present,
    Absent,
}

/// Headers that passed.
pub(super) struct Checked {
    pub(super) known: Headers,
    pub(super) agent: String,
}

pub(super) fn checked(headers: &HeaderMap, body: Body) -> Result<Checked, Refusal> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let has = |name: &str| text(name).is_some_and(|value| !value.trim().is_empty());
    let betas = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    let betas = betas.flat_map(|value| value.split(','));
    let kind = text("content-type")
        .map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    let known = Headers {
        has_key: has("x-api-key") || has("authorization"),
        version: text("anthropic-version").map(str::to_owned),
        betas: betas.map(|beta| beta.trim().to_owned()).filter(|beta| !beta.is_empty()).collect(),
        content_type: (body == Body::Present).then(|| kind.unwrap_or_default()),
    };
    match known.check() {
        Some(refusal) => Err(refusal),
        None => Ok(Checked { known, agent: text("user-agent").unwrap_or_default().to_owned() }),
    }
}

/// Reads a body as far as it may be long.
pub(super) async fn read(mut body: Incoming) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let mut drained = 0;
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(frame) = frame else {
            return Err(Refusal::invalid("The request body could not be read"));
        };
        let Ok(data) = frame.into_data() else { continue };
        drained += data.len();
        if drained <= MOST_BYTES {
            bytes.extend_from_slice(&data);
        } else {
            bytes = Vec::new();
        }
        if drained > MOST_DRAINED {
            break;
        }
    }
    if drained > MOST_BYTES { Err(Refusal::too_large()) } else { Ok(bytes) }
}
pub(super) fn refused(refusal: &Refusal, number: u64) -> Response<Sent> {
    let mut response = json_response(&error_json(refusal, number), number);
    *response.status_mut() = StatusCode::from_u16(refusal.status).unwrap_or_default();
    response
}

pub(super) fn error_json(refusal: &Refusal, number: u64) -> Value {
    json!({
        "type": "error",
        "error": {"type": refusal.kind, "message": refusal.message},
        "request_id": request_id(number),
    })
}

fn request_id(number: u64) -> String {
    format!("req_{number:024}")
}

pub(super) fn json_response(body: &Value, number: u64) -> Response<Sent> {
    let mut response = response(200, number, Sent::whole(body.to_string()));
    response
        .headers_mut()
        .insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
    response
}

pub(super) fn response(status: u16, number: u64, sent: Sent) -> Response<Sent> {
    let mut response = Response::new(sent);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    if let Ok(id) = request_id(number).parse() {
        response.headers_mut().insert("request-id", id);
    }
    response
}
