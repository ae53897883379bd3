//! How fast streams are read, and what the mock takes. `cargo xtask bench endpoint` runs this.
//!
//! Prints one JSON object. Started with `mock`, it is the mock whose memory is measured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::io::BufRead;
use std::io::BufReader;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use recto_agent::api::ApiEvent;
use recto_agent::api::Client;
use recto_agent::api::Credential;
use recto_agent::api::Endpoint;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Script;
use recto_agent::wire::Accumulator;
use recto_agent::wire::Block;
use recto_agent::wire::Message;
use recto_agent::wire::Request;
use recto_agent::wire::SseParser;
use recto_agent::wire::StreamEvent;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;

const STREAMS: usize = 1000;
const ROUNDS: usize = 5;
const CHUNK: usize = 16 << 10;

fn main() {
    if std::env::args().any(|word| word == "mock") {
        run_mock();
        return;
    }
    let (frames, events) = parser();
    let (direct, client) = first_event();
    let (idle, busy) = streams();
    println!(
        "{}",
        json!({
            "parser_mb_per_s": frames, "events_mb_per_s": events,
            "first_byte_us": direct, "first_event_us": client,
            "streams": STREAMS, "idle_mb": idle, "streams_mb": busy,
        })
    );
}

/// A stream of about this many bytes, as an answer with a long text is.
fn long_stream(bytes: usize) -> Vec<u8> {
    let line = |event: serde_json::Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
    };
    let mut stream = line(json!({"type": "message_start", "message": {"id": "m", "content": []}}));
    stream += &line(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "some words of it \n"}});
    let delta = line(delta);
    while stream.len() < bytes {
        stream += &delta;
    }
    stream += &line(json!({"type": "content_block_stop", "index": 0}));
    stream +=
        &line(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}));
    stream += &line(json!({"type": "message_stop"}));
    stream.into_bytes()
}

/// Megabytes a second: of the parser alone, and with events put together to an answer.
fn parser() -> (u64, u64) {
    let stream = long_stream(64 << 20);
    let speed = |work: &dyn Fn(&[u8])| {
        let rounds = (0..ROUNDS).map(|_| {
            let start = Instant::now();
            work(&stream);
            stream.len() as f64 / 1e6 / start.elapsed().as_secs_f64()
        });
        rounds.fold(0.0, f64::max) as u64
    };
    let frames = speed(&|stream| {
        let mut parser = SseParser::default();
        let mut count = 0_usize;
        for chunk in stream.chunks(CHUNK) {
            parser.push(chunk, |frame| count += frame.data.len()).unwrap();
        }
        assert!(count > stream.len() / 2);
    });
    let events = speed(&|stream| {
        let mut parser = SseParser::default();
        let mut accumulator = Accumulator::default();
        for chunk in stream.chunks(CHUNK) {
            let push = |frame: recto_agent::wire::Frame<'_>| {
                accumulator.push(&StreamEvent::parse(frame.data).unwrap()).unwrap();
            };
            parser.push(chunk, push).unwrap();
        }
    });
    (frames, events)
}

fn request() -> Request {
    let mut request = Request::new("m", 100);
    request.messages.push(Message::user([Block::text("hello")]));
    request
}

/// Microseconds from the request to the first byte on a bare connection, and to the first event
/// of the client: medians.
fn first_event() -> (u64, u64) {
    let mock = Mock::start(MockOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let endpoint = Endpoint::new(&mock.base_url(), Credential::api_key("x").unwrap()).unwrap();
    let client = Client::new(endpoint).unwrap();
    runtime.block_on(async {
        let (mut direct, mut through) = (Vec::new(), Vec::new());
        let mut connection = connect(mock.port()).await;
        for _ in 0..500 {
            let start = Instant::now();
            connection.write_all(head().as_bytes()).await.unwrap();
            connection.write_all(&request().body()).await.unwrap();
            let mut buffer = vec![0; 1 << 16];
            let mut seen = connection.read(&mut buffer).await.unwrap();
            direct.push(start.elapsed());
            // The end of the chunked body.
            while !buffer[..seen].ends_with(b"0\r\n\r\n") {
                seen += connection.read(&mut buffer[seen..]).await.unwrap();
            }
            let start = Instant::now();
            let mut exchange = client.send(request());
            let mut first = None;
            while let Some(event) = exchange.next().await {
                if first.is_none() && matches!(event, Ok(ApiEvent::Stream(_))) {
                    first = Some(start.elapsed());
                }
            }
            through.push(first.unwrap());
        }
        (median(direct), median(through))
    })
}

fn median(mut times: Vec<Duration>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2].as_micros() as u64
}

fn head() -> String {
    format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: x\r\nanthropic-version: 2023-06-01\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        request().body().len()
    )
}

async fn connect(port: u16) -> tokio::net::TcpStream {
    let connection = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    connection.set_nodelay(true).unwrap();
    connection
}

fn run_mock() {
    let text = "words ".repeat(2000);
    let script = format!("[[rule]]\nevent_delay_ms = 50\ntext = \"{text}\"\n");
    let script = Some(Script::parse(&script).unwrap());
    let mock = Mock::start(MockOptions { script, ..MockOptions::default() }).unwrap();
    println!("{}", mock.port());
    std::io::stdin().lines().for_each(drop);
}

/// Megabytes of a mock without streams, and its most with all streams open.
fn streams() -> (u64, u64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("mock")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.trim().parse().unwrap();
    let idle = memory(child.id(), "VmRSS:");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let busy = runtime.block_on(async {
        let mut open = Vec::new();
        for _ in 0..STREAMS {
            let mut connection = connect(port).await;
            connection.write_all(head().as_bytes()).await.unwrap();
            connection.write_all(&request().body()).await.unwrap();
            open.push(connection);
        }
        // All have begun, and none has ended.
        for connection in &mut open {
            let mut buffer = [0; 1024];
            assert!(connection.read(&mut buffer).await.unwrap() > 0);
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        for connection in &mut open {
            let mut buffer = [0; 1024];
            assert!(connection.read(&mut buffer).await.unwrap() > 0);
        }
        memory(child.id(), "VmHWM:")
    });
    drop(child.stdin.take());
    child.wait().unwrap();
    (idle, busy)
}

fn memory(process: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    let kilobytes: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
    kilobytes.div_ceil(1000)
}
