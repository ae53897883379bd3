//! From a request to its response.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use hyper::HeaderMap;
use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::body::Incoming;
use recto_session::usage::PriceTable;
use serde_json::Value;
use serde_json::json;

use super::Fault;
use super::body::End;
use super::body::Sent;
use super::cache;
use super::cache::Cache;
use super::fault::error_of;
use super::personality::Personality;
use super::response::Body;
use super::response::Checked;
use super::response::checked;
use super::response::error_json;
use super::response::json_response;
use super::response::model_json;
use super::response::models;
use super::response::read;
use super::response::refused;
use super::response::response;
use super::script::Reply;
use super::script::Script;
use super::server::MockOptions;
use super::speak::Speaker;
use super::speak::frame;
use super::strict::Judge;
use super::strict::Purpose;
use super::strict::Refusal;
use super::view::Asking;
use crate::replay::Replay;
use crate::wire::Json;

/// A request to the model, and what the API had against it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The body, as far as it could be read.
    pub body: Value,
    /// The names in `anthropic-beta`.
    pub betas: Vec<String>,
    /// `user-agent`.
    pub agent: String,
    /// Why it was refused.
    pub refusal: Option<Refusal>,
}

/// What happened to a request.
#[derive(Clone, Debug)]
pub struct MockEvent {
    /// The number of the request, from 1.
    pub number: u64,
    /// Method and path.
    pub what: String,
    /// The status of the response; none if the connection was reset.
    pub status: Option<u16>,
    /// Why it was refused, and the type of the error.
    pub refusal: Option<(String, String)>,
    /// The fault that it got.
    pub fault: Option<String>,
    /// Where it first differs from the recorded request.
    pub difference: Option<String>,
}

/// Told of every request.
pub type Listener = Box<dyn Fn(&MockEvent) + Send + Sync>;

/// What all connections share.
pub(super) struct Shared {
    personality: Personality,
    seed: u64,
    exact: bool,
    keep: usize,
    judge: Judge,
    models: Vec<String>,
    listener: Option<Listener>,
    state: Mutex<State>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("personality", &self.personality).finish_non_exhaustive()
    }
}

struct State {
    script: Option<Script>,
    replay: Option<Replay>,
    faults: Vec<Fault>,
    record: Option<Box<dyn io::Write + Send>>,
    cache: Cache,
    asked: Vec<Asked>,
    /// All requests, of any kind.
    requests: u64,
    /// Requests to the model that passed the rules.
    valid: u64,
    differences: u64,
}

impl Shared {
    pub(super) fn new(options: MockOptions) -> Shared {
        let table = PriceTable::built_in().unwrap_or_default();
        let mut models: Vec<String> =
            table.rows().iter().map(|row| row.model.clone()).rev().collect();
        models.dedup();
        let mut faults = options.faults;
        faults.reverse();
        Shared {
            personality: options.personality,
            seed: options.seed,
            exact: options.exact,
            keep: options.keep,
            judge: Judge,
            models,
            listener: options.listener,
            state: Mutex::new(State {
                script: options.script,
                replay: options.replay,
                faults,
                record: options.record,
                cache: Cache::default(),
                asked: Vec::new(),
                requests: 0,
                valid: 0,
                differences: 0,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    pub(super) fn differences(&self) -> u64 {
        self.state().differences
    }
}

/// What is known of an exchange before it is answered.
struct Exchange {
    number: u64,
    what: String,
    difference: Option<String>,
    fault: Option<String>,
}

/// Answers one request. An error resets the connection.
pub(super) async fn respond(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    reset: Arc<AtomicBool>,
) -> Result<Response<Sent>, io::Error> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_end_matches('/').to_owned();
    let number = {
        let mut state = shared.state();
        state.requests += 1;
        state.requests
    };
    let mut exchange =
        Exchange { number, what: format!("{} {path}", head.method), difference: None, fault: None };
    let answered = route(&shared, &mut exchange, &head.method, &path, &head.headers, body).await;
    let (response, status, refusal) = match answered {
        Ok(Some(response)) => (Some(response), None, None),
        Ok(None) => (None, None, None),
        Err(refusal) => {
            let told = Some((refusal.kind.to_owned(), refusal.message.clone()));
            (Some(refused(&refusal, number)), Some(refusal.status), told)
        }
    };
    let status = status.or_else(|| response.as_ref().map(|response| response.status().as_u16()));
    if let Some(listener) = &shared.listener {
        let Exchange { number, what, difference, fault } = exchange;
        listener(&MockEvent { number, what, status, refusal, fault, difference });
    }
    response.ok_or_else(|| {
        reset.store(true, Ordering::Relaxed);
        io::Error::from(io::ErrorKind::ConnectionReset)
    })
}

/// The response; none if the connection is to be reset.
async fn route(
    shared: &Shared,
    exchange: &mut Exchange,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Option<Response<Sent>>, Refusal> {
    // Whoever is refused reads why only if what it sent was read.
    let bytes = read(body).await;
    let purpose = match (method, path) {
        (&Method::HEAD, _) => return Ok(Some(response(200, exchange.number, Sent::events([])))),
        (&Method::GET, "/v1/models") => {
            checked(headers, Body::Absent)?;
            return Ok(Some(json_response(&models(&shared.models), exchange.number)));
        }
        (&Method::GET, _) if path.starts_with("/v1/models/") => {
            checked(headers, Body::Absent)?;
            let name = path.trim_start_matches("/v1/models/");
            let known = shared.models.iter().find(|model| *model == name);
            let model = known.ok_or_else(|| Refusal::not_found(format!("model: {name}")))?;
            return Ok(Some(json_response(&model_json(model), exchange.number)));
        }
        (&Method::POST, "/v1/messages") => Purpose::Answer,
        (&Method::POST, "/v1/messages/count_tokens") => Purpose::Count,
        (_, "/v1/messages" | "/v1/messages/count_tokens" | "/v1/models") => {
            let message = "Method Not Allowed".into();
            return Err(Refusal { status: 405, kind: "invalid_request_error", message });
        }
        _ => return Err(Refusal::not_found(format!("there is no {method} {path} here"))),
    };
    let headers = checked(headers, Body::Present)?;
    let bytes = bytes?;
    let (body, refusal) = shared.judge.judge(&bytes, &headers.known.betas, purpose);
    if purpose == Purpose::Count {
        return match refusal {
            Some(refusal) => Err(refusal),
            None => {
                let tokens = cache::tokens(&body);
                Ok(Some(json_response(&json!({"input_tokens": tokens}), exchange.number)))
            }
        };
    }
    keep(shared, &body, &headers, refusal.as_ref());
    match refusal {
        Some(refusal) => {
            let error = error_json(&refusal, exchange.number);
            record(shared, &body, &headers, refusal.status, &error, None);
            Err(refusal)
        }
        None => answer(shared, exchange, &body, &headers).await,
    }
}

fn keep(shared: &Shared, body: &Value, headers: &Checked, refusal: Option<&Refusal>) {
    let mut state = shared.state();
    if state.asked.len() < shared.keep {
        state.asked.push(Asked {
            body: body.clone(),
            betas: headers.known.betas.clone(),
            agent: headers.agent.clone(),
            refusal: refusal.cloned(),
        });
    }
}

async fn answer(
    shared: &Shared,
    exchange: &mut Exchange,
    body: &Value,
    headers: &Checked,
) -> Result<Option<Response<Sent>>, Refusal> {
    let asking = Asking { body };
    let (mut reply, asked, nth) = {
        let mut state = shared.state();
        state.valid += 1;
        let nth = state.valid;
        let mut reply = match &mut state.replay {
            Some(replay) => {
                let found = replay.reply(body);
                exchange.difference = found.difference;
                found.reply
            }
            None => {
                let by_rule = state.script.as_mut().and_then(|script| script.reply(&asking, nth));
                by_rule.unwrap_or_else(|| shared.personality.reply(&asking, shared.seed, nth))
            }
        };
        if exchange.difference.is_some() {
            state.differences += 1;
        }
        if let Some(fault) = state.faults.pop() {
            reply.fault = Some(fault);
        }
        (reply, state.cache.usage(body), nth)
    };
    if let Some(difference) = exchange.difference.as_ref().filter(|_| shared.exact) {
        return Err(Refusal::invalid(difference.clone()));
    }
    exchange.fault = reply.fault.as_ref().map(ToString::to_string);
    let fault = reply.fault.take();
    let speaker = Speaker { reply: &reply, model: asking.model(), asked, seed: shared.seed, nth };
    let response = spoken(&speaker, asking.is_stream(), &reply, fault.as_ref(), exchange.number);
    let said = speaker.message();
    let (status, answered) = match &fault {
        Some(Fault::Status { status, .. }) => {
            let (kind, message) = error_of(*status);
            let refusal = Refusal { status: *status, kind, message: message.into() };
            (*status, error_json(&refusal, exchange.number))
        }
        _ => (200, said),
    };
    record(shared, body, headers, status, &answered, exchange.fault.as_deref());
    let wait = match fault {
        Some(Fault::SlowStart(wait)) => reply.delay + wait,
        _ => reply.delay,
    };
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    Ok(response)
}

/// The response to a valid request, with what is to go wrong; none if the connection is reset.
fn spoken(
    speaker: &Speaker<'_>,
    is_stream: bool,
    reply: &Reply,
    fault: Option<&Fault>,
    number: u64,
) -> Option<Response<Sent>> {
    match fault {
        Some(Fault::Reset) => return None,
        Some(Fault::Status { status, retry_after, retry_after_ms, should_retry }) => {
            let (kind, message) = error_of(*status);
            let refusal = Refusal { status: *status, kind, message: message.into() };
            let mut response = refused(&refusal, number);
            let mut set = |name: &'static str, value: Option<String>| {
                if let Some(value) = value.and_then(|value| value.parse().ok()) {
                    response.headers_mut().insert(name, value);
                }
            };
            set("retry-after", retry_after.map(|seconds| seconds.to_string()));
            set("retry-after-ms", retry_after_ms.map(|number| number.to_string()));
            set("x-should-retry", should_retry.map(|should| should.to_string()));
            return Some(response);
        }
        _ => {}
    }
    let mut sent = if is_stream {
        let mut events: Vec<bytes::Bytes> = speaker.events().iter().map(frame).collect();
        if let Some(Fault::ErrorEvent { after, kind }) = fault {
            events.truncate(*after);
            let error =
                json!({"type": kind, "message": "This failure was requested from the mock."});
            events.push(frame(&Json::from(json!({"type": "error", "error": error}))));
        }
        Sent::events(events)
    } else {
        Sent::whole(speaker.message().to_string())
    };
    if let Some(bytes) = reply.chunk_bytes {
        sent = sent.with_chunks(bytes);
    }
    sent = sent.with_pause(reply.event_delay);
    let kind = match (fault, is_stream) {
        (Some(Fault::WrongType), _) => "text/html; charset=utf-8",
        (_, true) => "text/event-stream; charset=utf-8",
        (_, false) => "application/json",
    };
    sent = match fault {
        Some(Fault::WrongType) => Sent::whole("<!doctype html><title>Welcome</title>\n"),
        Some(Fault::Garbage) => {
            Sent::whole(&b"event: message_start\ndata: {\"type\":\xff\xfe\x00]\n\n"[..])
        }
        Some(Fault::SlowBytes(pause)) => sent.with_chunks(16).with_pause(*pause),
        Some(Fault::Chunks(bytes)) => sent.with_chunks(*bytes),
        Some(Fault::CutByte(bytes)) => sent.cut_at(*bytes),
        Some(Fault::CutEvent(events)) => sent.ends_after(*events, End::Cut),
        Some(Fault::Hang(events)) => sent.ends_after(*events, End::Hang),
        _ => sent,
    };
    let mut response = response(200, number, sent);
    if let Ok(kind) = kind.parse() {
        response.headers_mut().insert("content-type", kind);
    }
    Some(response)
}

/// Writes an exchange down, without its headers: a key could be in them.
fn record(
    shared: &Shared,
    body: &Value,
    headers: &Checked,
    status: u16,
    answered: &Value,
    fault: Option<&str>,
) {
    let mut state = shared.state();
    let Some(file) = &mut state.record else { return };
    let request = json!({"betas": headers.known.betas, "body": body, "status": status});
    let mut line = json!({"hash": Asking { body }.hash(), "times": 1, "request": request});
    if let Some(fault) = fault {
        line["fault"] = fault.into();
    } else if status != 200 {
        line["fault"] = status.to_string().into();
    }
    if status == 200 {
        line["blocks"] = answered["content"].clone();
        line["stop_reason"] = answered["stop_reason"].clone();
    } else {
        line["about"] = answered["error"]["message"].clone();
    }
    let mut text = line.to_string();
    text.push('\n');
    // One write for each line. A full disk must not end the answers.
    let _ = file.write_all(text.as_bytes()).and_then(|()| file.flush());
}
