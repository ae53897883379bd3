//! The endpoint of a recording: it answers what was answered, in order.

use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

/// An answer, and whose it is: a session and its subagents ask at the same time.
#[derive(Debug, Clone)]
pub(super) struct Scripted {
    /// The first prompt of the conversation.
    conversation: Option<String>,
    answer: Value,
}

impl Scripted {
    /// Of a recorded exchange.
    pub(super) fn of(exchange: &Value) -> Scripted {
        let conversation = conversation(&exchange["request"]["messages"]);
        Scripted { conversation, answer: exchange["answer"].clone() }
    }

    /// For whoever asks.
    pub(super) fn any(answer: Value) -> Scripted {
        Scripted { conversation: None, answer }
    }
}

/// Prompts of recordings name their scripts: `LAB:x`.
fn conversation(messages: &Value) -> Option<String> {
    let text = messages.to_string();
    let (_, rest) = text.split_once("LAB:")?;
    rest.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned)
}

/// An endpoint on a port of its own. It lives as long as this program.
pub(super) struct Endpoint {
    pub(super) port: u16,
    answers: Arc<Mutex<Vec<Scripted>>>,
}

impl Endpoint {
    pub(super) fn start() -> anyhow::Result<Endpoint> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let answers: Arc<Mutex<Vec<Scripted>>> = Arc::default();
        let shared = Arc::clone(&answers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answers = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &answers));
            }
        });
        Ok(Endpoint { port, answers })
    }

    /// What is answered from now on.
    pub(super) fn set(&self, answers: Vec<Scripted>) {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = answers;
    }
}

fn serve(stream: TcpStream, answers: &Mutex<Vec<Scripted>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).ok()? == 0 {
            return None;
        }
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        if first.contains("count_tokens") {
            respond(&mut stream, 200, &[], &json!({"input_tokens": length / 4}))?;
            continue;
        }
        let answer = {
            let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let asks = conversation(&body["messages"]);
            let is_meant = |one: &Scripted| one.conversation.is_none() || one.conversation == asks;
            let at = answers.iter().position(is_meant).unwrap_or(0);
            // The last error is given again and again.
            let answer = match answers.len() {
                0 => None,
                1 => answers.first().cloned(),
                _ => Some(answers.remove(at)),
            };
            answer.map(|scripted| with_plan(&scripted.answer, &body))
        };
        give(&mut stream, &answer?)?;
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

fn give(stream: &mut TcpStream, answer: &Value) -> Option<()> {
    let headers = answer["headers"].as_object().into_iter().flatten();
    let headers: Vec<String> = headers
        .map(|(name, value)| format!("{name}: {}\r\n", value.as_str().unwrap_or_default()))
        .collect();
    let status = answer["status"].as_u64().unwrap_or(200);
    let Some(events) = answer["events"].as_array() else {
        return respond(stream, status, &headers, &answer["body"]);
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{}transfer-encoding: chunked\r\n\r\n",
        headers.concat()
    );
    stream.write_all(head.as_bytes()).ok()?;
    let delay = Duration::from_millis(answer["delay_ms"].as_u64().unwrap_or(0));
    for event in events {
        std::thread::sleep(delay);
        let text =
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
        stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).ok()?;
    }
    match answer["end"].as_str() {
        None => stream.write_all(b"0\r\n\r\n").ok(),
        // It was the client who went away.
        Some("client closed") => {
            std::thread::sleep(Duration::from_secs(20));
            None
        }
        Some(_) => {
            stream.shutdown(std::net::Shutdown::Both).ok();
            None
        }
    }
}
