//! `recto collect --otlp`: what a collector of telemetry is sent.
//!
//! `RECTO_TEST_OTLP` names a folder with the Python package `opentelemetry-proto`, whose
//! definitions decode it. `cargo xtask test` installs it where it can.

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;

use crate::structure::collect_names;
use crate::structure::page;
use crate::support::Run;
use crate::support::TestHome;

/// A request: its path, its headers, its body.
type Posted = (String, String, Vec<u8>);

/// A collector that takes everything, or fails so often.
#[derive(Clone)]
struct Collector {
    address: String,
    posted: Arc<Mutex<Vec<Posted>>>,
    failing: Arc<Mutex<u32>>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = Collector {
            address: listener.local_addr().unwrap().to_string(),
            posted: Arc::default(),
            failing: Arc::default(),
        };
        let server = collector.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut stream = stream;
                while let Some((path, head, body)) = request(&mut reader) {
                    let mut failing = server.failing.lock().unwrap();
                    let status = if *failing > 0 { "400 No" } else { "200 OK" };
                    if *failing > 0 {
                        *failing -= 1;
                    } else {
                        server.posted.lock().unwrap().push((path, head, body));
                    }
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                    if stream.write_all(answer.as_bytes()).is_err() {
                        break;
                    }
                }
            }
        });
        collector
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn bodies(&self, path: &str) -> Vec<Vec<u8>> {
        let posted = self.posted.lock().unwrap();
        posted.iter().filter(|one| one.0 == path).map(|one| one.2.clone()).collect()
    }
}

fn request(reader: &mut BufReader<std::net::TcpStream>) -> Option<Posted> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&lower);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, head, body))
}

fn run(test: &TestHome, arguments: &[&str]) -> Run {
    let mut command = test.command(arguments);
    command.env_remove("RECTO_NOW").env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc, x-team=t");
    test.finish(&mut command)
}

#[test]
fn turns_are_sent_once_and_sums_are_sent_again() {
    let (collector, test) = (Collector::start(), TestHome::with_sessions());
    *collector.failing.lock().unwrap() = 1;
    let failed = run(&test, &["collect", "--otlp", &collector.url()]);
    assert_eq!(failed.code, 2, "{}", failed.shown());
    let sent = run(&test, &["collect", "--otlp", &collector.url(), "--json"]);
    assert_eq!(sent.code, 0, "{}", sent.shown());
    let row = sent.json().remove(0);
    assert!(row["turns"].as_u64().unwrap() >= 3, "{row}");
    let again = run(&test, &["collect", "--otlp", &collector.url(), "--json"]);
    assert_eq!(again.json().remove(0)["turns"], 0, "{}", again.shown());
    assert_eq!(collector.bodies("/v1/traces").len(), 1);
    assert_eq!(collector.bodies("/v1/metrics").len(), 2);
    let head = collector.posted.lock().unwrap()[0].1.clone();
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    assert!(head.contains("x-key: abc") && head.contains("x-team: t"), "{head}");
    // No text of a conversation goes.
    let text = String::from_utf8_lossy(&collector.bodies("/v1/traces")[0]).into_owned();
    assert!(text.contains("execute_tool") && !text.contains("parser fails"), "{text}");
    let far = run(&test, &["collect", "--otlp", "http://telemetry.example.com"]);
    assert_eq!(far.code, 2, "{}", far.shown());
    let page = page("json.md");
    let section = page.split_once("\n## recto collect --otlp\n").unwrap().1;
    let mut names = Vec::new();
    collect_names(&row, "", &mut names);
    for name in names {
        assert!(section.contains(&format!("\n| `{name}` |")), "json.md has no `{name}`");
    }
}

#[test]
#[ignore = "needs OpenTelemetry's definitions"]
fn the_official_definitions_decode_it_and_the_sums_are_those_of_usage() {
    let (collector, test) = (Collector::start(), TestHome::with_sessions());
    let sent = run(&test, &["collect", "--otlp", &collector.url(), "--json"]).json().remove(0);
    let usage = run(&test, &["usage", "--json", "--by", "model"]).json().remove(0);
    let usage = &usage["total"];
    let metrics = test.work.path().join("metrics.bin");
    let traces = test.work.path().join("traces.bin");
    fs::write(&metrics, &collector.bodies("/v1/metrics")[0]).unwrap();
    fs::write(&traces, &collector.bodies("/v1/traces")[0]).unwrap();
    let judge = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/otlp/judge.py");
    let output = Command::new("python3")
        .arg(judge)
        .args([&metrics, &traces])
        .env("PYTHONPATH", recto_testkit::tool("RECTO_TEST_OTLP"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let judged: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let total = |name: &str| usage[name].as_u64().unwrap();
    for (kind, name) in [
        ("input", "input_tokens"),
        ("output", "output_tokens"),
        ("cache_read", "cache_read_input_tokens"),
        ("cache_creation", "cache_creation_input_tokens"),
    ] {
        assert_eq!(judged["tokens"][kind].as_u64().unwrap(), total(name), "{kind}");
    }
    assert!(total("output_tokens") > 0);
    let cost = usage["known_cost_usd"].as_f64().unwrap();
    assert!((judged["cost"].as_f64().unwrap() - cost).abs() < 1e-9, "{cost}");
    let spans = judged["spans"].as_array().unwrap();
    let named = |beginning: &str| {
        let is_named =
            |span: &&serde_json::Value| span["name"].as_str().unwrap().starts_with(beginning);
        spans.iter().filter(is_named).count() as u64
    };
    assert_eq!(named("invoke_agent "), sent["turns"].as_u64().unwrap());
    assert_eq!(named("execute_tool "), sent["tool_calls"].as_u64().unwrap());
    for span in spans.iter().filter(|span| span["parent"] != "") {
        let is_parent =
            |one: &serde_json::Value| one["id"] == span["parent"] && one["trace"] == span["trace"];
        assert!(spans.iter().any(is_parent), "{span}");
    }
}
