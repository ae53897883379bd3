//! `recto mock` and `recto replay`, as a user runs them.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpStream;
use std::process::Child;
use std::process::Stdio;

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use serde_json::Value;
use serde_json::json;

use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

/// A mock that runs, and ends with the test.
struct Running {
    child: Child,
    port: u16,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(test: &TestHome, arguments: &[&str]) -> Running {
    let mut command = test.command(&[&["mock", "--json", "--port", "0"], arguments].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else {
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        panic!("{said}");
    };
    let first: Value = serde_json::from_str(&first).unwrap();
    let port = first["port"].as_u64().unwrap().try_into().unwrap();
    assert_eq!(first["url"], format!("http://127.0.0.1:{port}"));
    Running { child, port, lines }
}

impl Running {
    /// The status and the body of a response.
    fn post(&self, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(
            stream,
            "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: sk-secret\r\nanthropic-version: 2023-06-01\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        // One chunk, or a body of known length.
        let start = answer.find("{\"").unwrap();
        let end = answer.rfind('}').unwrap();
        (status, serde_json::from_str(&answer[start..=end]).unwrap())
    }

    fn event(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
}

fn asking(text: &str) -> Value {
    json!({"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": text}]})
}

#[test]
fn a_mock_answers_refuses_and_records() {
    let test = TestHome::empty();
    let script = test.home.write("script.toml", "[[rule]]\nlast = \"a\"\ntext = \"b\"\n");
    let record = test.home.path().join("record.jsonl");
    let mut mock = start(
        &test,
        &[
            "--script",
            script.to_str().unwrap(),
            "--record",
            record.to_str().unwrap(),
            "--fault",
            "529",
        ],
    );
    let (status, error) = mock.post(&asking("a"));
    assert_eq!((status, error["error"]["type"].as_str()), (529, Some("overloaded_error")));
    assert_eq!(mock.event()["fault"], "529");
    let (status, answer) = mock.post(&asking("a"));
    assert_eq!((status, answer["content"][0]["text"].as_str()), (200, Some("b")));
    assert_eq!(mock.event()["status"], 200);
    let (_, echo) = mock.post(&asking("else"));
    assert_eq!(echo["content"][0]["text"], "else");
    mock.event();
    let (status, error) = mock.post(&json!({"model": "m"}));
    assert_eq!(status, 400);
    assert_eq!(error["error"]["message"], "max_tokens: Field required");
    let event = mock.event();
    assert_eq!(event["error"], "invalid_request_error");
    let written = std::fs::read_to_string(&record).unwrap();
    assert_eq!(written.lines().count(), 4);
    assert!(!written.contains("sk-secret"));
}

#[test]
fn a_session_is_replayed() {
    let test = TestHome::empty();
    let session = SessionBuilder::new(FIX, Client::V2_1_29)
        .prompt("Hello")
        .answer("First answer.")
        .prompt("More")
        .answer("Second answer.");
    test.home.add(&session, hours_ago(1));
    let mut mock = start(&test, &["--replay", FIX]);
    for expected in ["First answer.", "Second answer."] {
        let (_, answer) = mock.post(&asking("whatever"));
        assert_eq!(answer["content"][0]["text"], expected);
        assert_eq!(mock.event()["difference"], Value::Null);
    }
    mock.post(&asking("whatever"));
    let event = mock.event();
    let words = event["difference"].as_str().unwrap();
    assert_eq!(words, "request 3 is one more than the recording has: it has 2 answers");
    let run = test.run(&["replay", FIX]);
    assert_snapshot!(run.shown(), @"
    2 recorded answers in order; this client logged no hashes, so there is nothing to compare
    --- exit 0
    ");
}

fn recorded() -> String {
    let log = "fixtures/corpus/2.1.325/S2par/home/.claude/projects/-home-dev-app/9b533b54-5184-4fad-a3cb-afc8e1856bb6.jsonl";
    repository().join(log).to_str().unwrap().to_owned()
}

#[test]
fn every_request_of_a_recorded_log_is_reproduced() {
    let test = TestHome::empty();
    let run = test.run(&["replay", &recorded()]);
    assert_snapshot!(run.shown(), @"
    turn 1  line 18  2 messages  same
    turn 1  line 29  4 messages  same
    turn 2  line 38  6 messages  same
    3 of 3 requests reproduced
    --- exit 0
    ");
    let one = test.run(&["replay", &recorded(), "--at", "2", "--json"]).json();
    assert_eq!((&one[0]["requests"], &one[0]["differing"]), (&json!(1), &json!(0)));
    assert_eq!(one[0]["matched_by"], "hash");
}

#[test]
fn a_log_that_was_changed_says_where_it_differs() {
    let test = TestHome::empty();
    let log = std::fs::read_to_string(recorded()).unwrap();
    let changed = log.replace("LAB:par3 go", "LAB:par3 gone");
    let path = test.home.write("changed.jsonl", &changed);
    let run = test.run(&["replay", path.to_str().unwrap()]);
    assert_eq!(run.code, 1, "{}", run.shown());
    assert!(run.stdout.contains("differs at messages.0: the log gives"), "{}", run.stdout);
    assert!(run.stdout.contains("0 of 3 requests reproduced"), "{}", run.stdout);
    let json = test.run(&["replay", path.to_str().unwrap(), "--json"]).json();
    let difference = &json[0]["turns"][0]["differences"][0];
    assert_eq!(difference["message"], 0);
    assert!(difference["rebuilt"].as_str().unwrap().contains("LAB:par3 gone"));
}

#[test]
fn another_endpoint_is_asked_the_same_question() {
    let test = TestHome::empty();
    let mock = start(&test, &[]);
    let url = format!("http://127.0.0.1:{}", mock.port);
    let mut command =
        test.command(&["replay", &recorded(), "--at", "2", "--endpoint", &url, "--model", "other"]);
    let run = test.finish(command.env("ANTHROPIC_API_KEY", "sk-secret"));
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(run.stdout.contains("recorded: claude-opus-5-5\n"), "{}", run.stdout);
    assert!(run.stdout.contains("now: other\n"), "{}", run.stdout);
    assert!(!run.shown().contains("sk-secret"));
}

#[test]
fn calls_of_a_session_are_made_again_where_rules_allow_it() {
    let test = TestHome::empty();
    let work = test.work.path();
    std::fs::write(work.join("a.txt"), "alpha\n").unwrap();
    std::fs::write(work.join("b.txt"), "changed\n").unwrap();
    let read = |name: &str| json!({"file_path": work.join(name)}).to_string();
    let session = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("Look")
        .tool("Read", &read("a.txt"), "1\talpha\n2\t")
        .tool("Read", &read("b.txt"), "1\tbravo\n2\t")
        .failed_tool("Read", &read("gone.txt"), "File does not exist.")
        .answer("Seen.")
        .prompt("Now do it")
        .tool("Bash", r#"{"command":"touch made; echo done"}"#, "done")
        .tool("Agent", r#"{"description":"d","prompt":"p"}"#, "A report.")
        .answer("Done.");
    test.home.add(&session, hours_ago(1));
    let replay = |words: &[&str]| {
        let words = [&["replay", FIX, "--tools"], words].concat();
        test.finish(test.command(&words).env("PATH", "/usr/bin:/bin"))
    };
    assert_snapshot!(replay(&["stub", "--at", "1"]).shown(), @r"
    turn 1  Read  recorded  1 alpha 2
    turn 1  Read  recorded  1 bravo 2
    turn 1  Read  recorded  File does not exist.
    3 calls
    --- exit 0
    ");
    let run = replay(&["diff"]);
    assert_eq!(run.code, 1, "{}", run.shown());
    assert!(run.stdout.contains("turn 1  Read   same\n"), "{}", run.stdout);
    assert!(run.stdout.contains("line 1: 1 bravo became 1 changed"), "{}", run.stdout);
    assert!(run.stdout.contains("turn 2  Bash   refused"), "{}", run.stdout);
    assert!(run.stdout.contains("turn 2  Agent  skipped"), "{}", run.stdout);
    assert!(run.stderr.contains("add --allowedTools RULE"), "{}", run.stderr);
    assert!(!work.join("made").exists());
    let allowed = replay(&["run", "--at", "2", "--allowedTools", "Bash", "--json"]);
    let row = &allowed.json()[0];
    assert_eq!((&row["calls"], &row["same"], &row["skipped"]), (&json!(2), &json!(1), &json!(1)));
    assert_eq!(
        (&row["rows"][0]["state"], &row["rows"][0]["now"]),
        (&json!("same"), &json!("done"))
    );
    assert!(work.join("made").exists());
}

#[test]
fn what_cannot_be_done_is_said_with_a_hint() {
    let test = TestHome::empty();
    let script = test.home.write("bad.toml", "[[rule]]\ntext = \"a\"\n\n[[rule]]\ntxet = 1\n");
    assert_snapshot!(test.run(&["mock", "--script", script.to_str().unwrap()]).shown(), @"
    --- stderr
    error: [claude]/bad.toml: line 5: unknown key `txet` in a rule
    hint: docs/guides/mock.md lists what a rule may contain
    --- exit 2
    ");
    assert_snapshot!(test.run(&["mock", "--fault", "boom"]).shown(), @"
    --- stderr
    error: unknown fault `boom`: there is no such fault
    hint: valid faults: 400 … 599, slow-start:MS, slow-bytes:MS, chunks:N, cut-byte:N, cut-event:N, error-event:N, garbage, wrong-type, hang:N, reset
    --- exit 2
    ");
    let mock = start(&test, &[]);
    let run = test.run(&["mock", "--port", &mock.port.to_string()]);
    assert!(run.stderr.contains("is in use\nhint: use another port"), "{}", run.stderr);
    assert_snapshot!(test.run(&["replay", &recorded(), "--endpoint", "http://127.0.0.1:1"]).shown(), @"
    --- stderr
    error: no API key
    hint: set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN for a bearer token
    --- exit 2
    ");
    let ask = |url: &str| {
        let mut command = test.command(&["replay", &recorded(), "--endpoint", url]);
        test.finish(command.env("ANTHROPIC_API_KEY", "sk-secret"))
    };
    assert_snapshot!(ask("127.0.0.1").shown(), @"
    --- stderr
    error: invalid endpoint address: relative URL without a base
    hint: addresses look like https://api.anthropic.com
    --- exit 2
    ");
    let refused = ask("http://127.0.0.1:1");
    assert!(refused.stderr.ends_with("error: cannot reach 127.0.0.1:1: connection refused\nhint: start the endpoint, or check its port and the proxy settings\n"), "{}", refused.stderr);
    let plain = ask(&format!("https://127.0.0.1:{}", mock.port));
    assert!(plain.stderr.contains("it does not accept encrypted connections"), "{}", plain.stderr);
    assert_snapshot!(test.run(&["replay", &recorded(), "--at", "9"]).shown(), @"
    --- stderr
    error: the session has no turn 9
    hint: turns are 1 to 2; `recto turns` lists them
    --- exit 1
    ");
}
