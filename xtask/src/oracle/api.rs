//! A Messages API on loopback: keeps every request, refuses what the real API is
//! known to refuse, and answers the rest with one sentence.
//!
//! Owns: as much of HTTP/1.1 and of server-sent events as clients use. Does not
//! own: what is refused; see `strict.rs`.

use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;

use anyhow::Context as _;
use serde_json::Value;
use serde_json::json;

use super::strict::Refusal;
use super::strict::judge;

/// What the model says, always.
const ANSWER: &str = "Resumed answer.";

/// A request to the model, and what the API had against it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) body: Value,
    pub(crate) refusal: Option<String>,
}

/// The API, which lives as long as the process.
pub(crate) struct FakeApi {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl FakeApi {
    /// Listens on a free port of loopback.
    pub(crate) fn start() -> anyhow::Result<FakeApi> {
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on loopback")?;
        let port = listener.local_addr()?.port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                // A client that goes away in the middle is nothing to report.
                thread::spawn(move || serve(&stream, &kept).ok());
            }
        });
        Ok(FakeApi { port, asked })
    }

    /// The requests so far, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Answers the requests of one connection, one after the other.
fn serve(stream: &TcpStream, asked: &Mutex<Vec<Asked>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(request) = read_request(&mut reader, &mut writer)? {
        writer.write_all(&answer(&request, asked))?;
        writer.flush()?;
    }
    Ok(())
}

struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

/// The next request of a connection; none at its end.
fn read_request(reader: &mut impl BufRead, writer: &mut impl Write) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim().to_ascii_lowercase();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(io::Error::other)?,
            "transfer-encoding" => is_chunked = value == "chunked",
            "expect" => writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        read_chunks(reader, &mut body)?;
    } else {
        reader.take(length).read_to_end(&mut body)?;
    }
    Ok(Some(Request { method, path, body }))
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
        reader.by_ref().take(size).read_to_end(body)?;
        reader.read_line(&mut line)?;
        if size == 0 {
            return Ok(());
        }
    }
}

/// The bytes that answer a request.
fn answer(request: &Request, asked: &Mutex<Vec<Asked>>) -> Vec<u8> {
    match (request.method.as_str(), request.path.as_str()) {
        ("HEAD", _) => whole(200, "application/json", ""),
        ("POST", "/v1/messages/count_tokens") => {
            let tokens = request.body.len() / 4;
            whole(200, "application/json", &json!({"input_tokens": tokens}).to_string())
        }
        ("POST", "/v1/messages") => {
            let (body, refusal) = judge(&request.body);
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            let said = refusal.as_ref().map(|refusal| refusal.message.clone());
            asked.push(Asked { body: body.clone(), refusal: said });
            let number = asked.len();
            match refusal {
                Some(refusal) => refuse(&refusal, number),
                None => speak(&body, request.body.len(), number),
            }
        }
        _ => {
            let message = format!("there is no {} {} here", request.method, request.path);
            refuse(&Refusal { status: 404, kind: "not_found_error", message }, 0)
        }
    }
}

fn refuse(refusal: &Refusal, number: usize) -> Vec<u8> {
    let error = json!({
        "type": "error",
        "error": {"type": refusal.kind, "message": refusal.message},
        "request_id": format!("req_{number:024}"),
    });
    whole(refusal.status, "application/json", &error.to_string())
}

/// The answer of the model, as one object or as events.
fn speak(body: &Value, bytes: usize, number: usize) -> Vec<u8> {
    let usage = json!({
        "input_tokens": bytes / 4, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "output_tokens": 4,
    });
    let mut message = json!({
        "id": format!("msg_{number:024}"), "type": "message", "role": "assistant",
        "model": body["model"], "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": usage,
    });
    if body["stream"] != true {
        message["content"] = json!([{"type": "text", "text": ANSWER}]);
        message["stop_reason"] = "end_turn".into();
        return whole(200, "application/json", &message.to_string());
    }
    let block = json!({"type": "text", "text": ""});
    let delta = json!({"type": "text_delta", "text": ANSWER});
    let end = json!({"stop_reason": "end_turn", "stop_sequence": null});
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": end, "usage": usage}),
        json!({"type": "message_stop"}),
    ];
    let line = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    whole(200, "text/event-stream", &events.iter().map(line).collect::<String>())
}

fn whole(status: u16, kind: &str, body: &str) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        404 => "Not Found",
        413 => "Payload Too Large",
        _ => "Bad Request",
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends bytes on one connection and reads until the API closes it.
    fn talk(api: &FakeApi, bytes: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", api.port)).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    #[test]
    fn requests_on_one_connection_are_kept_and_answered() {
        let api = FakeApi::start().unwrap();
        let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}"#;
        let bad = r#"{"messages":[]}"#;
        let said = talk(
            &api,
            &format!(
                "POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}\
                 POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{bad}\r\n0\r\n\r\n\
                 GET /other HTTP/1.1\r\n\r\n",
                body.len(),
                bad.len()
            ),
        );
        assert!(said.contains("event: message_stop\n"), "{said}");
        assert!(said.contains("HTTP/1.1 400 Bad Request"), "{said}");
        assert!(said.contains("HTTP/1.1 404 Not Found"), "{said}");
        let asked = api.asked();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].body["messages"][0]["content"], "a");
        assert_eq!(asked[0].refusal, None);
        assert_eq!(asked[1].refusal.as_deref(), Some("messages: at least one message is required"));
    }
}
