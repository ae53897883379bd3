//! The endpoint of a recording: it answers what was answered, in order.
//!
//! While a dialogue is recorded it answers what the script of the case says, and keeps both.

use std::io::BufReader;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use super::script::Model;
use crate::parity::request::next_request;

/// How long an answer waits for those before it, which may never be asked for.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How long an answer to another conversation comes later, at most.
const LONGEST_GAP: Duration = Duration::from_millis(500);

/// An answer, and whose it is: a session and its subagents ask at the same time.
#[derive(Debug, Clone)]
pub(super) struct Scripted {
    /// Its place among all answers of the recording.
    place: usize,
    /// When it was asked for, in milliseconds.
    time: u64,
    /// The first prompt of the conversation.
    conversation: Option<String>,
    answer: Value,
}

impl Scripted {
    /// Of a recorded exchange.
    pub(super) fn of(exchange: &Value) -> Scripted {
        let conversation = conversation(&exchange["request"]["messages"]);
        let place = exchange["n"].as_u64().unwrap_or_default() as usize;
        let time = exchange["ms"].as_u64().unwrap_or_default();
        Scripted { place, time, conversation, answer: exchange["answer"].clone() }
    }

    /// For whoever asks.
    pub(super) fn any(answer: Value) -> Scripted {
        Scripted { place: 0, time: 0, conversation: None, answer }
    }
}

/// Prompts of recordings name their scripts: `LAB:x`.
fn conversation(messages: &Value) -> Option<String> {
    let text = messages.to_string();
    let (_, rest) = text.split_once("LAB:")?;
    rest.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned)
}

/// Answers that are left, and those that are being given, by their places.
#[derive(Debug, Default)]
struct Answers {
    left: Vec<Scripted>,
    given: Vec<usize>,
    /// Whose the last one was, and when that was asked for.
    last: Option<(Option<String>, u64)>,
}

impl Answers {
    /// Whether one that came before is not through: what a subagent was told stands between
    /// two answers to the session, and so it shall again.
    fn are_before(&self, place: usize, asks: Option<&String>) -> bool {
        let is_before = |one: &Scripted| one.place < place && one.conversation.as_ref() != asks;
        self.left.iter().any(is_before) || self.given.iter().any(|given| *given < place)
    }
}

#[derive(Debug, Default)]
struct Book {
    answers: Mutex<Answers>,
    changed: Condvar,
}

impl Book {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next answer to a conversation, when its turn has come.
    fn take(&self, asks: Option<&String>) -> Option<Scripted> {
        let is_meant =
            |one: &Scripted| one.conversation.is_none() || one.conversation.as_ref() == asks;
        let mut answers = self.answers();
        let at = answers.left.iter().position(is_meant).unwrap_or(0);
        let place = answers.left.get(at)?.place;
        let until = Instant::now() + LONGEST_WAIT;
        while answers.are_before(place, asks) {
            let Some(rest) = until.checked_duration_since(Instant::now()) else { break };
            let waited = self.changed.wait_timeout(answers, rest);
            answers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        // Others may have taken theirs meanwhile.
        let at = answers.left.iter().position(|one| one.place == place).unwrap_or(0);
        // The last error is given again and again.
        let taken = match answers.left.len() {
            0 => None,
            1 if answers.left.iter().all(|one| one.answer["status"] != 200) => {
                answers.left.first().cloned()
            }
            _ => Some(answers.left.remove(at)),
        };
        let taken = taken?;
        answers.given.push(taken.place);
        let last = answers.last.replace((taken.conversation.clone(), taken.time));
        drop(answers);
        // Two conversations keep the distance that they had.
        if let Some((of, time)) = last
            && of != taken.conversation
        {
            let gap = Duration::from_millis(taken.time.saturating_sub(time));
            std::thread::sleep(gap.min(LONGEST_GAP));
        }
        Some(taken)
    }

    /// An answer is through.
    fn end(&self, place: usize) {
        self.answers().given.retain(|given| *given != place);
        self.changed.notify_all();
    }
}

/// What was asked and answered while a dialogue is recorded.
#[derive(Debug)]
struct Recording {
    model: Model,
    begun: Instant,
    exchanges: Vec<Value>,
}

/// Where answers come from.
#[derive(Debug, Default)]
struct Source {
    book: Book,
    recording: Mutex<Option<Recording>>,
}

impl Source {
    fn recording(&self) -> MutexGuard<'_, Option<Recording>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An endpoint on a port of its own. It lives as long as this program.
pub(super) struct Endpoint {
    pub(super) port: u16,
    source: Arc<Source>,
}

impl Endpoint {
    pub(super) fn start() -> anyhow::Result<Endpoint> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let source: Arc<Source> = Arc::default();
        let shared = Arc::clone(&source);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let source = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &source));
            }
        });
        Ok(Endpoint { port, source })
    }

    /// What is answered from now on.
    pub(super) fn set(&self, answers: Vec<Scripted>) {
        *self.source.book.answers() = Answers { left: answers, ..Answers::default() };
    }

    /// From now on a model answers, and what is asked is kept.
    pub(super) fn record(&self, model: Model) {
        let recording = Recording { model, begun: Instant::now(), exchanges: Vec::new() };
        *self.source.recording() = Some(recording);
    }

    /// What was asked and answered since then.
    pub(super) fn recorded(&self) -> Vec<Value> {
        self.source.recording().as_ref().map(|it| it.exchanges.clone()).unwrap_or_default()
    }
}

fn serve(stream: TcpStream, source: &Source) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let (first, body) = next_request(&mut reader)?;
        if first.contains("count_tokens") {
            respond(&mut stream, 200, &[], &json!({"input_tokens": body.len() / 4}))?;
            continue;
        }
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if let Some((place, answer)) = modelled(source, &first, &body) {
            let given = give(&mut stream, &answer);
            if !given.is_whole {
                cut_short(source, place, given.events);
            }
            given.whole()?;
            continue;
        }
        let asks = conversation(&body["messages"]);
        let Some(scripted) = source.book.take(asks.as_ref()) else {
            // It asks for more than was recorded: nothing that it would try again.
            let error = json!({"type": "permission_error", "message": "nothing was recorded"});
            respond(&mut stream, 403, &[], &json!({"type": "error", "error": error}))?;
            continue;
        };
        let given = give(&mut stream, &with_plan(&scripted.answer, &body));
        source.book.end(scripted.place);
        given.whole()?;
    }
}

/// The model's answer while a dialogue is recorded, and its place among all.
fn modelled(source: &Source, first: &str, body: &Value) -> Option<(usize, Value)> {
    let mut recording = source.recording();
    let recording = recording.as_mut()?;
    let path = first.split(' ').nth(1).unwrap_or_default();
    if !path.contains("/v1/messages") {
        let error = json!({"type": "not_found_error", "message": "not here"});
        return Some((
            usize::MAX,
            json!({"status": 404, "body": {"type": "error", "error": error}}),
        ));
    }
    let answer = recording.model.answer(body);
    let place = recording.exchanges.len();
    recording.exchanges.push(json!({
        "n": place, "ms": recording.begun.elapsed().as_millis() as u64, "path": path,
        "request": body, "answer": answer,
    }));
    Some((place, answer))
}

/// The client went away while it was answered.
fn cut_short(source: &Source, place: usize, events: usize) {
    if let Some(exchange) = source.recording().as_mut().and_then(|it| it.exchanges.get_mut(place))
        && let Some(all) = exchange["answer"]["events"].as_array_mut()
    {
        all.truncate(events);
        exchange["answer"]["end"] = json!("client closed");
    }
}

/// A plan has a name of this run.
fn with_plan(answer: &Value, body: &Value) -> Value {
    let text = body["messages"].to_string();
    let name = text.split_once("/plans/").and_then(|(_, rest)| rest.split_once(".md"));
    let Some((name, _)) = name else { return answer.clone() };
    let text = answer.to_string().replace("slug-0001", name);
    serde_json::from_str(&text).unwrap_or_else(|_| answer.clone())
}

fn respond(stream: &mut TcpStream, status: u64, headers: &[String], body: &Value) -> Option<()> {
    let body = body.to_string();
    let headers = headers.concat();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()
}

/// How much of an answer was given.
struct Given {
    events: usize,
    is_whole: bool,
    /// Whether the connection can be asked again.
    goes_on: bool,
}

impl Given {
    fn all(goes_on: bool) -> Given {
        Given { events: 0, is_whole: true, goes_on }
    }

    fn whole(&self) -> Option<()> {
        (self.is_whole && self.goes_on).then_some(())
    }
}

fn give(stream: &mut TcpStream, answer: &Value) -> Given {
    let headers = answer["headers"].as_object().into_iter().flatten();
    let headers: Vec<String> = headers
        .map(|(name, value)| format!("{name}: {}\r\n", value.as_str().unwrap_or_default()))
        .collect();
    let status = answer["status"].as_u64().unwrap_or(200);
    let Some(events) = answer["events"].as_array() else {
        return Given::all(respond(stream, status, &headers, &answer["body"]).is_some());
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{}transfer-encoding: chunked\r\n\r\n",
        headers.concat()
    );
    let mut text = head;
    let delay = Duration::from_millis(answer["delay_ms"].as_u64().unwrap_or(0));
    for (number, event) in events.iter().enumerate() {
        std::thread::sleep(delay);
        let event =
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
        text.push_str(&format!("{:x}\r\n{event}\r\n", event.len()));
        if stream.write_all(text.as_bytes()).is_err() {
            return Given { events: number, is_whole: false, goes_on: false };
        }
        text.clear();
    }
    Given::all(match answer["end"].as_str() {
        None => stream.write_all(b"0\r\n\r\n").is_ok(),
        // It was the client who went away.
        Some("client closed") => {
            std::thread::sleep(Duration::from_secs(20));
            false
        }
        Some(_) => {
            // What was sent is read before the end is seen.
            std::thread::sleep(Duration::from_millis(300));
            stream.shutdown(std::net::Shutdown::Both).ok();
            false
        }
    })
}
