//! A hub, as a machine sees it: segments in, names out, nothing else.

use std::io::Read as _;
use std::io::Seek as _;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use futures_util::stream::BoxStream;
use jiff::Timestamp;
use recto_store::keep::SegmentKey;
use reqwest::Method;
use reqwest::RequestBuilder;
use reqwest::StatusCode;
use serde::Deserialize;
use sha2::Digest as _;
use sha2::Sha256;

use crate::error::CollectError;
use crate::hub_token::HubToken;
use crate::hub_token::client;
use crate::hub_token::said;
use crate::hub_token::words;
use crate::store::Listed;
use crate::store::Put;
use crate::store::Said;

/// How often a request is tried before the hub counts as unreachable.
const TRIES: u32 = 5;
/// The longest that a hub may make a request wait; beyond that the next round comes earlier.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How much of a large file is read at once.
const PIECE: usize = 256 * 1024;

/// A hub and the token for it.
#[derive(Debug)]
pub(crate) struct HubClient {
    http: reqwest::Client,
    token: HubToken,
}

#[derive(Deserialize)]
struct Names {
    names: Vec<String>,
    is_all: bool,
}

#[derive(Deserialize)]
struct Files {
    files: Vec<String>,
}

/// An answer, with its body for small ones.
struct Answer {
    status: StatusCode,
    headers: reqwest::header::HeaderMap,
    body: String,
}

impl HubClient {
    pub(crate) fn new(token: &HubToken) -> Result<HubClient, CollectError> {
        let http = client(token.url()).map_err(|error| CollectError::Unreachable {
            url: token.url().to_owned(),
            reason: words(&error),
        })?;
        Ok(HubClient { http, token: token.clone() })
    }

    fn away(&self, reason: String) -> CollectError {
        CollectError::Unreachable { url: self.token.url().to_owned(), reason }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.token.url());
        self.http.request(method, url).header("authorization", self.token.bearer())
    }

    /// Asks until there is an answer that stays, or patience ends.
    async fn ask(
        &self,
        request: impl Fn() -> Result<RequestBuilder, CollectError>,
    ) -> Result<Answer, CollectError> {
        let mut last = String::new();
        for attempt in 0..TRIES {
            let mut wait = jittered(attempt);
            match request()?.send().await {
                Ok(answer) => {
                    let (status, headers) = (answer.status(), answer.headers().clone());
                    let body = answer.text().await.unwrap_or_default();
                    let is_passing =
                        status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
                    if !is_passing {
                        return Ok(Answer { status, headers, body });
                    }
                    last = said(&body).unwrap_or_else(|| format!("it answered {status}"));
                    let asked = headers.get("retry-after").and_then(|value| value.to_str().ok());
                    let asked = asked.and_then(|text| text.parse().ok()).map(Duration::from_secs);
                    if asked.is_some_and(|asked| asked > LONGEST_WAIT) {
                        break;
                    }
                    wait = wait.max(asked.unwrap_or_default());
                }
                Err(error) => last = words(&error),
            }
            if attempt + 1 < TRIES {
                tokio::time::sleep(wait).await;
            }
        }
        Err(self.away(last))
    }

    /// What an answer that is no success means.
    fn failed(&self, key: &str, answer: &Answer) -> CollectError {
        let url = self.token.url().to_owned();
        let reason = said(&answer.body).unwrap_or_else(|| format!("it answered {}", answer.status));
        match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                CollectError::Denied { url, reason }
            }
            StatusCode::NOT_FOUND => CollectError::Absent { url, reason },
            status if status.is_client_error() => {
                CollectError::Refused { url, key: key.to_owned(), reason }
            }
            _ => CollectError::Unreachable { url, reason },
        }
    }

    /// Writes an object. What a hub takes is segments, hints and what a machine says of itself.
    pub(crate) async fn put(&self, key: &str, bytes: Bytes) -> Result<Put, CollectError> {
        let path = address(key);
        let digest = digest(&Sha256::digest(&bytes).into());
        let answer = self.ask(|| {
            let request = self.request(Method::PUT, &path).header("content-digest", &digest);
            Ok(request.body(bytes.clone()))
        });
        self.stored(key, answer.await?)
    }

    /// The same with a file that is too large to be held.
    pub(crate) async fn put_large(
        &self,
        key: &str,
        mut file: std::fs::File,
        bytes: u64,
    ) -> Result<Put, CollectError> {
        let path = address(key);
        let mut hash = Sha256::new();
        let mut buffer = vec![0; PIECE];
        file.rewind()?;
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => hash.update(&buffer[..read]),
            }
        }
        let digest = digest(&hash.finalize().into());
        let answer = self.ask(|| {
            let mut file = file.try_clone()?;
            file.rewind()?;
            let pieces = stream::try_unfold(file, |mut file| async move {
                let mut piece = vec![0; PIECE];
                let read = file.read(&mut piece)?;
                piece.truncate(read);
                let next = (read > 0).then_some((piece, file));
                Ok::<_, std::io::Error>(next)
            });
            let request = self.request(Method::PUT, &path).header("content-digest", &digest);
            let request = request.header("content-length", bytes);
            Ok(request.body(reqwest::Body::wrap_stream(pieces)))
        });
        self.stored(key, answer.await?)
    }

    fn stored(&self, key: &str, answer: Answer) -> Result<Put, CollectError> {
        match answer.status {
            StatusCode::CREATED => Ok(Put::New),
            // What has the name is compared by who asks.
            StatusCode::OK | StatusCode::CONFLICT => Ok(Put::Taken),
            _ => Err(self.failed(key, &answer)),
        }
    }

    /// What the hub says of a segment of this machine.
    pub(crate) async fn said(&self, key: &SegmentKey) -> Result<Said, CollectError> {
        let name = key.to_string();
        let path = address(&name);
        let answer = self.ask(|| Ok(self.request(Method::HEAD, &path))).await?;
        if answer.status != StatusCode::OK {
            return Err(self.failed(&name, &answer));
        }
        let text = |name: &str| {
            answer.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let sha256 = text("x-recto-sha256").and_then(|text| hex(&text));
        match (sha256, text("x-recto-policy")) {
            (Some(sha256), Some(policy)) => Ok(Said { sha256, policy }),
            _ => Err(self.away("it is not a hub".to_owned())),
        }
    }

    /// Names of this machine's segments, or of files that must not be sent again.
    pub(crate) fn list(
        client: Arc<HubClient>,
        prefix: String,
    ) -> BoxStream<'static, Result<Listed, CollectError>> {
        if prefix.starts_with("forgotten/") {
            let files = stream::once(async move { client.forgotten(&prefix).await });
            return files.flat_map(spread).boxed();
        }
        let pages = stream::try_unfold(Some(String::new()), move |after| {
            let client = Arc::clone(&client);
            async move {
                let Some(after) = after else { return Ok(None) };
                let page = client.names(&after).await?;
                let next = page.names.last().filter(|_| !page.is_all).cloned();
                Ok(Some((page.names, next)))
            }
        });
        pages.flat_map(spread).boxed()
    }

    async fn names(&self, after: &str) -> Result<Names, CollectError> {
        let path = match after {
            "" => "/v1/segments".to_owned(),
            after => format!("/v1/segments?after={after}"),
        };
        let answer = self.ask(|| Ok(self.request(Method::GET, &path))).await?;
        match answer.status {
            StatusCode::OK => serde_json::from_str(&answer.body)
                .map_err(|_| self.away("it is not a hub".to_owned())),
            _ => Err(self.failed("", &answer)),
        }
    }

    async fn forgotten(&self, prefix: &str) -> Result<Vec<String>, CollectError> {
        let answer = self.ask(|| Ok(self.request(Method::GET, "/v1/forgotten"))).await?;
        if answer.status != StatusCode::OK {
            return Err(self.failed("", &answer));
        }
        let files: Files = serde_json::from_str(&answer.body)
            .map_err(|_| self.away("it is not a hub".to_owned()))?;
        Ok(files.files.iter().map(|file| format!("{prefix}/file={file}.json")).collect())
    }
}

fn spread(
    names: Result<Vec<String>, CollectError>,
) -> BoxStream<'static, Result<Listed, CollectError>> {
    let listed = |key| Ok(Listed { key, bytes: 0, modified: Timestamp::UNIX_EPOCH });
    match names {
        Ok(names) => stream::iter(names).map(listed).boxed(),
        Err(error) => stream::iter([Err(error)]).boxed(),
    }
}

/// Where a hub takes what a store would have under a name.
fn address(key: &str) -> String {
    match key {
        key if key.starts_with("machines/") => "/v1/machine".to_owned(),
        key if key.starts_with("ledger/") => "/v1/ledger".to_owned(),
        key => format!("/v1/segments/{key}"),
    }
}

fn digest(sha256: &[u8; 32]) -> String {
    format!("sha-256=:{}:", BASE64_STANDARD.encode(sha256))
}

fn hex(text: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u8>> = (0..text.len() / 2)
        .map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok())
        .collect();
    digits?.try_into().ok()
}

/// Longer each time, and never for all machines the same.
fn jittered(attempt: u32) -> Duration {
    crate::pace::backoff(attempt + 1) / 20
}
