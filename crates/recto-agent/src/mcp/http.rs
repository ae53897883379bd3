//! A server at an address: each message is posted, and answered as JSON or as a stream.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderName;
use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use serde_json::Value;

use super::connection::PROTOCOL;
use super::process::is_list_changed;
use crate::wire::SseParser;

/// The most bytes of an answer.
const MOST_BYTES: usize = 64 << 20;

/// A server.
#[derive(Debug)]
pub(super) struct Http {
    client: reqwest::Client,
    url: reqwest::Url,
    headers: HeaderMap,
    session: Mutex<Option<HeaderValue>>,
    version: Mutex<HeaderValue>,
    changed: AtomicBool,
}

impl Http {
    pub(super) fn new(url: &str, headers: &BTreeMap<String, String>) -> Result<Http, String> {
        let url = reqwest::Url::parse(url).map_err(|error| format!("{url}: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("invalid server address {url}"));
        }
        let mut given = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(name).map_err(|_| format!("bad header {name}"))?;
            let value = HeaderValue::try_from(value).map_err(|_| format!("bad header {name}"))?;
            given.insert(name, value);
        }
        let mut builder = reqwest::Client::builder()
            .redirect(Policy::none())
            .user_agent(concat!("recto/", env!("CARGO_PKG_VERSION")));
        if matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| error.to_string())?;
        Ok(Http {
            client,
            url,
            headers: given,
            session: Mutex::default(),
            version: Mutex::new(HeaderValue::from_static(PROTOCOL)),
            changed: AtomicBool::new(false),
        })
    }

    /// The version of the protocol that the server chose.
    pub(super) fn set_version(&self, version: &str) {
        if let Ok(version) = HeaderValue::try_from(version) {
            *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
        }
    }

    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    async fn post(&self, message: &Value) -> Result<Response, String> {
        let version = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", version)
            .body(message.to_string());
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        let response = request.send().await.map_err(|error| error.without_url().to_string())?;
        if let Some(session) = response.headers().get("mcp-session-id") {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
        }
        match response.status().as_u16() {
            200..=299 => Ok(response),
            401 => Err("the server requires authorization; set it in headers".to_owned()),
            status => Err(format!("the server answered with status {status}")),
        }
    }

    /// Sends a message that has no answer.
    pub(super) async fn notify(&self, message: &Value) -> Result<(), String> {
        self.post(message).await.map(|_| ())
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask(&self, id: u64, message: &Value) -> Result<Value, String> {
        let mut response = self.post(message).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_stream = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
        let mut parser = SseParser::default();
        let mut body = Vec::new();
        let mut found = None;
        let mut length = 0;
        while let Some(bytes) =
            response.chunk().await.map_err(|error| error.without_url().to_string())?
        {
            length += bytes.len();
            if length > MOST_BYTES {
                return Err("the answer is too large".to_owned());
            }
            if !is_stream {
                body.extend_from_slice(&bytes);
                continue;
            }
            let take = |frame: crate::wire::Frame<'_>| self.take(frame.data, id, &mut found);
            parser.push(&bytes, take).map_err(|error| error.to_string())?;
            if found.is_some() {
                break;
            }
        }
        if !is_stream {
            self.take(&body, id, &mut found);
        }
        found.ok_or_else(|| "the server did not answer".to_owned())
    }

    fn take(&self, bytes: &[u8], id: u64, found: &mut Option<Value>) {
        let Ok(message) = serde_json::from_slice::<Value>(bytes) else { return };
        if message["method"].as_str().is_some_and(is_list_changed) {
            self.changed.store(true, Ordering::Relaxed);
        }
        if message.get("method").is_none() && message["id"].as_u64() == Some(id) {
            *found = Some(message);
        }
    }
}
