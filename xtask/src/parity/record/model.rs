//! The scripted model: an endpoint on loopback that calls the tools of a case.
//!
//! Owns: what is answered, and what was asked. The conversation with the prompt of a case gets
//! its steps, one for each request; prompts of subagents name their own (`LAB:`, `LABJSON:`).

use std::io::BufReader;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use super::neutral::Names;
use crate::parity::request::next_request;
use crate::parity::tools::files;
use crate::parity::tools::model::output_tokens;
use crate::parity::tools::model::steps;

/// What every prompt of a case has in it.
pub(super) const MARK: &str = "WIRE";
/// What the model says when no step is left.
const LAST: &str = "All cases done.";

/// One answer of the model.
#[derive(Debug, Default, Clone)]
pub(super) struct Step {
    /// What happens outside before it.
    pub(super) outside: Vec<Value>,
    /// Calls of tools: the number of each in its case, and what is called.
    pub(super) calls: Vec<(usize, Value)>,
}

/// What is known of the run of a case.
#[derive(Debug, Default)]
pub(super) struct Run {
    steps: Vec<Step>,
    /// The ids of calls, by their numbers in the case.
    pub(super) calls: Vec<(usize, String)>,
    /// The bodies of the requests of the main conversation.
    pub(super) requests: Vec<Value>,
    /// What placeholders of inputs stand for.
    pub(super) names: Names,
    /// How many answers were given.
    answers: u64,
}

/// The endpoint.
pub(super) struct Model {
    pub(super) port: u16,
    run: Arc<Mutex<Run>>,
}

impl Model {
    pub(super) fn start() -> anyhow::Result<Model> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let run: Arc<Mutex<Run>> = Arc::default();
        let shared = Arc::clone(&run);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let run = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &run));
            }
        });
        Ok(Model { port, run })
    }

    /// Begins a run of a session: these steps from now on.
    pub(super) fn set(&self, session: &str, steps: Vec<Step>) {
        let mut names = Names::default();
        names.set_session(session);
        *lock(&self.run) = Run { steps, names, ..Run::default() };
    }

    /// Further steps of the same run, after those that were taken.
    pub(super) fn add(&self, steps: Vec<Step>) {
        let mut run = lock(&self.run);
        run.steps = steps;
        run.requests.clear();
    }

    /// What is known of the run.
    pub(super) fn run(&self) -> MutexGuard<'_, Run> {
        lock(&self.run)
    }
}

fn lock(run: &Mutex<Run>) -> MutexGuard<'_, Run> {
    run.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, run: &Mutex<Run>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let (first, body) = next_request(&mut reader)?;
        if first.contains("count_tokens") {
            respond(&mut stream, 200, &json!({"input_tokens": (body.len() / 4).max(1)}))?;
        } else if first.contains("/v1/messages") {
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            answer(&mut stream, body, run)?;
        } else if first.starts_with("POST") {
            respond(&mut stream, 200, &json!({}))?;
        } else {
            respond(&mut stream, 404, &json!({"type": "error"}))?;
        }
    }
}

/// The text that a person or another agent said in a message.
fn said(message: &Value) -> Option<String> {
    if message["role"] != "user" {
        return None;
    }
    Some(match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    })
}

/// What a request is about: the prompt, and how many answers there were to it.
fn prompt_of(body: &Value) -> Option<(String, usize)> {
    let messages = body["messages"].as_array()?;
    let at = messages.iter().rposition(|message| {
        said(message).is_some_and(|text| text.contains(MARK) || text.contains("LAB"))
    })?;
    let after = messages.iter().skip(at + 1);
    let answers = after.filter(|message| message["role"] == "assistant").count();
    Some((said(messages.get(at)?)?, answers))
}

fn answer(stream: &mut TcpStream, body: Value, run: &Mutex<Run>) -> Option<()> {
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let prompt = prompt_of(&body).filter(|_| has_tools);
    let number = {
        let mut run = lock(run);
        run.answers += 1;
        run.answers
    };
    let blocks = match prompt {
        Some((text, done)) if text.contains(MARK) => main_answer(body.clone(), done, number, run),
        Some((text, done)) => {
            let script = steps(&text);
            let step = script.get(done).cloned().unwrap_or_default();
            if step.get("error").is_some() {
                let error = json!({"type": "invalid_request_error", "message": "messages.1: this request is invalid"});
                return respond(stream, 400, &json!({"type": "error", "error": error}));
            }
            match step["blocks"].as_array() {
                Some(blocks) => blocks.clone(),
                None => vec![text_block(LAST)],
            }
        }
        None => vec![text_block("Default answer.")],
    };
    give(stream, &body, &blocks, number)
}

fn text_block(text: &str) -> Value {
    json!({"t": "text", "text": text})
}

/// The answer to the conversation of the case.
fn main_answer(body: Value, done: usize, number: u64, run: &Mutex<Run>) -> Vec<Value> {
    let step = {
        let mut run = lock(run);
        let text = body["messages"].to_string();
        run.names.learn(&text);
        run.requests.push(body);
        run.steps.get(done).cloned()
    };
    let Some(step) = step else { return vec![text_block(LAST)] };
    for what in &step.outside {
        if let Some(seconds) = what["sleep"].as_f64() {
            std::thread::sleep(Duration::from_secs_f64(seconds));
        }
        files::change(what).ok();
    }
    if step.calls.is_empty() {
        return vec![text_block(LAST)];
    }
    let mut run = lock(run);
    let mut blocks = Vec::new();
    for (place, (at, call)) in step.calls.iter().enumerate() {
        let id = tool_id(number, place);
        let input = run.names.filled(&call["input"]);
        blocks.push(json!({"t": "tool", "id": id, "name": call["name"], "input": input}));
        run.calls.push((*at, id));
    }
    blocks
}

fn tool_id(number: u64, place: usize) -> String {
    format!("toolu_01{:022}", number * 100 + place as u64)
}

fn respond(stream: &mut TcpStream, status: u64, body: &Value) -> Option<()> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nrequest-id: req_1\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()
}

/// Gives an answer, as a stream if that is wanted.
fn give(stream: &mut TcpStream, body: &Value, blocks: &[Value], number: u64) -> Option<()> {
    let mut usage = json!({
        "input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 2000,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 1, "service_tier": "standard", "inference_geo": "not_available",
    });
    let mut message = json!({
        "id": format!("msg_01{number:022}"), "type": "message", "role": "assistant",
        "model": body["model"], "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": usage,
    });
    let spelled: Vec<Value> =
        blocks.iter().enumerate().map(|(at, block)| spelled(block, number, at)).collect();
    let calls = spelled.iter().any(|block| block["type"] == "tool_use");
    let stop = if calls { "tool_use" } else { "end_turn" };
    usage["output_tokens"] = json!(output_tokens(blocks));
    if body["stream"] != true {
        message["content"] = Value::from(spelled);
        message["stop_reason"] = stop.into();
        message["usage"] = usage;
        return respond(stream, 200, &message);
    }
    let mut events =
        vec![json!({"type": "message_start", "message": message}), json!({"type": "ping"})];
    for (index, block) in spelled.iter().enumerate() {
        let mut start = block.clone();
        let delta = if block["type"] == "text" {
            start["text"] = "".into();
            json!({"type": "text_delta", "text": block["text"]})
        } else {
            start["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    stream
        .write_all(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_{number}\r\ntransfer-encoding: chunked\r\n\r\n").as_bytes())
        .ok()?;
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        let text = format!("event: {kind}\ndata: {event}\n\n");
        stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).ok()?;
    }
    stream.write_all(b"0\r\n\r\n").ok()
}

fn spelled(block: &Value, number: u64, at: usize) -> Value {
    if block["t"] == "text" {
        return json!({"type": "text", "text": block["text"]});
    }
    let id = block["id"].as_str().map_or_else(|| tool_id(number, at), str::to_owned);
    json!({"type": "tool_use", "id": id, "name": block["name"], "input": block["input"]})
}
