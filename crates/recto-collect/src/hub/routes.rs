//! Requests in, answers out.
//!
//! | address | who | what |
//! |---|---|---|
//! | `PUT /v1/segments/KEY` | the machine | stores a segment or an event under its name |
//! | `HEAD /v1/segments/KEY` | the machine | whether it is there, its digest and policy |
//! | `GET /v1/segments` | the machine | names of its own segments, in pages |
//! | `GET /v1/forgotten` | the machine | files that must not be sent again |
//! | `PUT /v1/machine` | the machine | what it says of itself |
//! | `PUT /v1/ledger` | the machine | names that it has written, for who builds on the store |
//! | `POST /v1/join` | who has a code | a token |
//! | `GET /health` | everybody | whether the store answers |
//! | `GET /metrics` | this machine, or who has the token for it | counters |
//!
//! No address gives content back.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::HeaderValue;
use axum::http::Method;
use axum::http::Request;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::Uri;
use axum::http::header;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use recto_store::keep::SegmentKey;
use recto_store::keep::forgotten_file;
use recto_store::keep::forgotten_prefix;
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::beat::Beat;
use crate::error::CollectError;
use crate::hub::answer::Refusal;
use crate::hub::answer::content;
use crate::hub::answer::json;
use crate::hub::book::Book;
use crate::hub::book::Deed;
use crate::hub::book::day;
use crate::hub::gate::Gate;
use crate::hub::gate::Visitor;
use crate::hub::gate::is_secret;
use crate::hub::limits::Buckets;
use crate::hub::limits::HubLimits;
use crate::hub::metrics::Metrics;
use crate::hub::receive;
use crate::hub::receive::Announced;
use crate::hub::roster::Candidate;
use crate::hub::roster::Joining;
use crate::hub::roster::Roster;
use crate::hub::secret::Code;
use crate::hub::secret::is_equal;
use crate::store::Put;
use crate::store::Store;

/// How many names are in a page.
const PAGE: usize = 1000;
/// Bodies that are JSON are small.
const LARGEST_JSON: usize = 512 * 1024;

/// Where a request comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// What answers are made of.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) store: Store,
    pub(crate) roster: Roster,
    pub(crate) gate: Gate,
    pub(crate) book: Book,
    pub(crate) limits: HubLimits,
    pub(crate) metrics: Metrics,
    pub(crate) requests: Buckets<String>,
    pub(crate) uploads: Semaphore,
    /// Who has it may read the counters from elsewhere.
    pub(crate) metrics_token: Option<String>,
    /// Whether a proxy names who sends.
    pub(crate) behind_proxy: bool,
    pub(crate) clock: fn() -> Timestamp,
}

#[derive(Debug, Deserialize)]
struct JoinBody {
    code: String,
    machine: String,
    secret: String,
    user: Option<String>,
    host: Option<String>,
}

#[derive(Debug, Deserialize)]
struct LedgerBody {
    keys: Vec<String>,
}

impl Desk {
    /// Answers a request. `knows` is told when it has shown a token.
    pub(crate) async fn answer(
        self: &Arc<Desk>,
        request: Request<Body>,
        peer: Peer,
        knows: impl Fn(),
    ) -> Response<Body> {
        let route = route(request.uri().path());
        let answer = match self.dispatch(route, request, peer, knows).await {
            Ok(answer) => answer,
            Err(refusal) => refusal.answer(),
        };
        self.metrics.answered(route, answer.status().as_u16());
        answer
    }

    async fn dispatch(
        self: &Arc<Desk>,
        route: &'static str,
        request: Request<Body>,
        peer: Peer,
        knows: impl Fn(),
    ) -> Result<Response<Body>, Refusal> {
        let (parts, body) = request.into_parts();
        let (headers, uri, method) = (&parts.headers, &parts.uri, parts.method.clone());
        // No page of any site has business here, whoever's token a browser could send.
        if headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site") {
            return Err(Refusal::Browser);
        }
        let address = self.address(headers, peer);
        match (route, &method) {
            ("health", &Method::GET) => return Ok(self.health().await),
            ("metrics", &Method::GET) => return self.counters(headers, address),
            ("join", &Method::POST) => return self.join(body, address).await,
            ("health" | "metrics" | "join", _) => return Err(Refusal::Method),
            ("none", _) => return Err(Refusal::Nothing),
            _ => {}
        }
        let now = (self.clock)();
        let visitor = self.gate.check(headers, address, now, &self.metrics).await?;
        knows();
        self.requests.take(&visitor.token).map_err(Refusal::Often)?;
        match (route, method) {
            ("segments", Method::PUT) => self.put(headers, uri, body, &visitor, address).await,
            ("segments", Method::HEAD) => self.head(uri, &visitor).await,
            ("names", Method::GET) => self.names(uri, &visitor).await,
            ("forgotten", Method::GET) => self.forgotten(&visitor).await,
            ("machine", Method::PUT) => self.beat(body, &visitor).await,
            ("ledger", Method::PUT) => self.ledger(body, &visitor, now).await,
            _ => Err(Refusal::Method),
        }
    }

    /// Who sends, as far as a proxy is believed.
    fn address(&self, headers: &HeaderMap, peer: Peer) -> IpAddr {
        let forwarded = headers.get("x-forwarded-for").filter(|_| self.behind_proxy);
        let last = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next());
        last.and_then(|text| text.trim().parse().ok()).unwrap_or(peer.0)
    }

    async fn health(&self) -> Response<Body> {
        let is_well = tokio::time::timeout(Duration::from_secs(10), self.gate.is_well()).await;
        match is_well {
            Ok(Ok(())) => json(StatusCode::OK, &serde_json::json!({ "status": "ok" })),
            _ => Refusal::Store.answer(),
        }
    }

    fn counters(&self, headers: &HeaderMap, address: IpAddr) -> Result<Response<Body>, Refusal> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|text| text.strip_prefix("Bearer "));
        let is_known = match (&self.metrics_token, given) {
            (Some(wanted), Some(given)) => is_equal(wanted.as_bytes(), given.trim().as_bytes()),
            // A proxy on this machine makes everybody look like this machine.
            (None, _) => {
                address.to_canonical().is_loopback() && !headers.contains_key("x-forwarded-for")
            }
            (Some(_), None) => false,
        };
        match is_known {
            true => Ok(content(StatusCode::OK, "text/plain; version=0.0.4", self.metrics.text())),
            false => Err(Refusal::Token),
        }
    }

    async fn join(&self, body: Body, address: IpAddr) -> Result<Response<Body>, Refusal> {
        // A body that never comes must not keep others from being let in.
        self.gate.may_try(address)?;
        let body: JoinBody = self.json_of(body).await?;
        let _place = self.gate.trying(address).await?;
        let short = |text: Option<String>| text.map(|text| text.chars().take(200).collect());
        let code = Code::read(&body.code);
        let machine = body.machine.parse().ok().filter(|_| is_secret(&body.secret));
        let (Some(code), Some(machine)) = (code, machine) else {
            self.gate.failed(address);
            return Err(Refusal::Code);
        };
        let candidate = Candidate {
            code,
            machine,
            secret: body.secret,
            user: short(body.user),
            host: short(body.host),
        };
        let now = (self.clock)();
        let joined = self.roster.join(&candidate, now).await.map_err(|_| Refusal::Store)?;
        let refusal = match &joined {
            Joining::Welcome { .. } => None,
            Joining::BadCode => Some(Refusal::Code),
            Joining::Used => Some(Refusal::Used),
            Joining::Taken => Some(Refusal::Taken),
        };
        let _ = self.book.note(&Deed {
            time: now,
            machine: &machine.to_string(),
            token: &candidate.code.id,
            peer: &address.to_string(),
            action: if refusal.is_none() { "joined" } else { "refused" },
            key: refusal.map_or("", Refusal::kind),
            bytes: 0,
        });
        match joined {
            Joining::Welcome { id, expires } => Ok(json(
                StatusCode::CREATED,
                &serde_json::json!({
                    "token": id, "machine": machine.to_string(), "expires": expires.to_string(),
                }),
            )),
            _ => {
                self.gate.failed(address);
                Err(refusal.unwrap_or(Refusal::Code))
            }
        }
    }

    /// The key that an address names, if it is this machine's.
    fn key(&self, uri: &Uri, visitor: &Visitor) -> Result<SegmentKey, Refusal> {
        let text = uri.path().strip_prefix("/v1/segments/").ok_or(Refusal::Key)?;
        // Names have no character that an address would have to escape, so there is one spelling.
        let key = SegmentKey::parse(text).filter(|key| key.to_string() == text);
        let key = key.ok_or(Refusal::Key)?;
        if key.machine == visitor.machine { Ok(key) } else { Err(Refusal::NotYours) }
    }

    async fn put(
        self: &Arc<Desk>,
        headers: &HeaderMap,
        uri: &Uri,
        body: Body,
        visitor: &Visitor,
        address: IpAddr,
    ) -> Result<Response<Body>, Refusal> {
        let key = self.key(uri, visitor)?;
        let announced = Announced::read(headers, &self.limits)?;
        self.quota(visitor, announced.bytes)?;
        let Ok(_place) = self.uploads.acquire().await else { return Err(Refusal::Store) };
        self.metrics.uploads.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        let stored = self.store(body, key, announced, visitor, address).await;
        self.metrics.uploads.fetch_sub(1, Ordering::Relaxed);
        if stored.is_ok() {
            self.metrics.took(start.elapsed());
        }
        stored
    }

    fn quota(&self, visitor: &Visitor, bytes: u64) -> Result<(), Refusal> {
        let now = (self.clock)();
        let stored = self.book.stored(&visitor.machine.to_string(), &day(now));
        let (today, objects) = stored.map_err(|_| Refusal::Store)?;
        let is_much = today.saturating_add(bytes) > self.limits.daily_bytes
            || objects >= self.limits.daily_objects;
        if !is_much {
            return Ok(());
        }
        let over = 86_400 - now.as_second().rem_euclid(86_400);
        Err(Refusal::Often(Duration::from_secs(over.unsigned_abs())))
    }

    async fn store(
        self: &Arc<Desk>,
        body: Body,
        key: SegmentKey,
        announced: Announced,
        visitor: &Visitor,
        address: IpAddr,
    ) -> Result<Response<Body>, Refusal> {
        let mut received = receive::body(body, announced, &self.limits).await?;
        let desk = Arc::clone(self);
        let named = key.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let header = receive::check(&named, &mut received, &desk.limits)?;
            Ok((header, received))
        });
        let (header, received) = checked.await.map_err(|_| Refusal::Segment)??;
        let name = key.to_string();
        let bytes = received.bytes;
        let put = self.store.put_file(&name, received.file, bytes).await;
        let put = put.map_err(|_| Refusal::Store)?;
        if let (Put::Taken, Some(header)) = (put, &header) {
            let there = self.store.header(&key).await.map_err(|_| Refusal::Store)?;
            // The same range under another policy was sent before, and is there.
            if there.sha256 != header.sha256 && there.policy == header.policy {
                return Err(Refusal::Conflict);
            }
        }
        let (status, action, count) = match put {
            Put::New => (StatusCode::CREATED, "stored", &self.metrics.stored),
            Put::Taken => (StatusCode::OK, "repeated", &self.metrics.repeated),
        };
        count.fetch_add(1, Ordering::Relaxed);
        if put == Put::New {
            self.metrics.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        self.note(visitor, address, action, name, bytes).await?;
        Ok(json(status, &serde_json::json!({ "stored": action })))
    }

    /// Notes who sent what and when, before it is acknowledged.
    async fn note(
        self: &Arc<Desk>,
        visitor: &Visitor,
        address: IpAddr,
        action: &'static str,
        key: String,
        bytes: u64,
    ) -> Result<(), Refusal> {
        let (desk, visitor, time) = (Arc::clone(self), visitor.clone(), (self.clock)());
        let noted = tokio::task::spawn_blocking(move || {
            desk.book.note(&Deed {
                time,
                machine: &visitor.machine.to_string(),
                token: &visitor.token,
                peer: &address.to_string(),
                action,
                key: &key,
                bytes,
            })
        });
        noted.await.map_err(|_| Refusal::Store)?.map_err(|_| Refusal::Store)
    }

    async fn head(&self, uri: &Uri, visitor: &Visitor) -> Result<Response<Body>, Refusal> {
        let key = self.key(uri, visitor)?;
        let header = match self.store.header(&key).await {
            Ok(header) => header,
            Err(CollectError::Absent { .. }) => return Err(Refusal::Nothing),
            Err(_) => return Err(Refusal::Store),
        };
        let mut response = content(StatusCode::OK, "application/zstd", Body::empty());
        let digest: String = header.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        for (name, value) in [("x-recto-sha256", digest), ("x-recto-policy", header.policy)] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(name, value);
            }
        }
        Ok(response)
    }

    async fn names(&self, uri: &Uri, visitor: &Visitor) -> Result<Response<Body>, Refusal> {
        let query = uri.query().unwrap_or_default();
        let after = match query.strip_prefix("after=") {
            None if query.is_empty() => None,
            Some(text) => {
                let key = SegmentKey::parse(text).ok_or(Refusal::Key)?;
                if key.machine != visitor.machine {
                    return Err(Refusal::NotYours);
                }
                Some(text)
            }
            None => return Err(Refusal::Key),
        };
        let mut listing = self.store.list_after(&SegmentKey::prefix(visitor.machine), after);
        let mut names = Vec::new();
        while let Some(listed) = listing.next().await {
            names.push(listed.map_err(|_| Refusal::Store)?.key);
            if names.len() == PAGE {
                break;
            }
        }
        let is_all = names.len() < PAGE;
        Ok(json(StatusCode::OK, &serde_json::json!({ "names": names, "is_all": is_all })))
    }

    async fn forgotten(&self, visitor: &Visitor) -> Result<Response<Body>, Refusal> {
        let mut listing = self.store.list(&forgotten_prefix(visitor.machine));
        let mut files = Vec::new();
        while let Some(listed) = listing.next().await {
            let key = listed.map_err(|_| Refusal::Store)?.key;
            files.extend(forgotten_file(&key).map(|file| file.to_string()));
        }
        Ok(json(StatusCode::OK, &serde_json::json!({ "files": files })))
    }

    async fn beat(&self, body: Body, visitor: &Visitor) -> Result<Response<Body>, Refusal> {
        let beat: Beat = self.json_of(body).await?;
        if beat.machine != visitor.machine.to_string() {
            return Err(Refusal::NotYours);
        }
        let put = self.store.put_over(&Beat::key(visitor.machine), beat.to_json().into()).await;
        put.map_err(|_| Refusal::Store)?;
        Ok(json(StatusCode::OK, &serde_json::json!({ "stored": "machine" })))
    }

    /// Writes a hint, by the clock of the hub: those of machines may be wrong.
    async fn ledger(
        &self,
        body: Body,
        visitor: &Visitor,
        now: Timestamp,
    ) -> Result<Response<Body>, Refusal> {
        let body: LedgerBody = self.json_of(body).await?;
        let is_own = |text: &String| {
            SegmentKey::parse(text).is_some_and(|key| key.machine == visitor.machine)
        };
        if body.keys.len() > PAGE || !body.keys.iter().all(is_own) {
            return Err(Refusal::NotYours);
        }
        let machine = visitor.machine;
        let (hour, time) = (now.strftime("d=%Y-%m-%d/h=%H"), now.as_millisecond());
        let one = &uuid::Uuid::new_v4().simple().to_string()[..4];
        let key = format!("ledger/v1/{hour}/{machine}-{time}-{one}.json");
        let hint = serde_json::json!({ "machine": machine.to_string(), "keys": body.keys });
        let put = self.store.put_new(&key, hint.to_string().into_bytes().into()).await;
        put.map_err(|_| Refusal::Store)?;
        Ok(json(StatusCode::CREATED, &serde_json::json!({ "stored": "ledger" })))
    }

    /// A small body in JSON.
    async fn json_of<T: serde::de::DeserializeOwned>(&self, body: Body) -> Result<T, Refusal> {
        let receiving = axum::body::to_bytes(body, LARGEST_JSON);
        let received = tokio::time::timeout(self.limits.body_time, receiving).await;
        let bytes = received.map_err(|_| Refusal::Slow)?.map_err(|_| Refusal::TooLarge)?;
        serde_json::from_slice(&bytes).map_err(|_| Refusal::Body)
    }
}

/// The name of an address, for counters too: only what is known is counted by name.
fn route(path: &str) -> &'static str {
    match path {
        "/health" => "health",
        "/metrics" => "metrics",
        "/v1/join" => "join",
        "/v1/segments" => "names",
        "/v1/forgotten" => "forgotten",
        "/v1/machine" => "machine",
        "/v1/ledger" => "ledger",
        path if path.starts_with("/v1/segments/") => "segments",
        _ => "none",
    }
}
