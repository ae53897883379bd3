//! `recto mcp`: a client talks to the program over standard input and output.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Lines;
use std::io::Write;
use std::process::Child;
use std::process::ChildStdin;
use std::process::ChildStdout;
use std::process::Stdio;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use serde_json::Value;
use serde_json::json;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// The most that an answer may have.
const MOST: usize = 64 * 1024;

/// A program, and a client that talks to it.
pub(crate) struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    next: u64,
}

impl Talk {
    pub(crate) fn start(test: &TestHome, arguments: &[&str]) -> Talk {
        let mut command = test.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut talk = Talk { child, input, output, next: 1 };
        let hello = talk.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "recto");
        assert!(hello["result"]["capabilities"]["tools"].is_object(), "{hello}");
        talk.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        talk
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// Asks, and gives the answer.
    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters});
        self.send(&request.to_string());
        for line in &mut self.output {
            let line = line.unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                assert!(line.len() < 3 * MOST, "escaped, {} bytes", line.len());
                return answer;
            }
        }
        panic!("no answer to {request}");
    }

    /// Calls a tool. Gives whether it failed, and the text.
    fn call(&mut self, tool: &str, arguments: Value) -> (bool, String) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(text.len() <= MOST, "{tool} says {} bytes", text.len());
        (result["isError"].as_bool().unwrap_or(false), text.to_owned())
    }

    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let (is_error, text) = self.call(tool, arguments);
        assert!(!is_error, "{text}");
        text
    }

    pub(crate) fn json(&mut self, tool: &str, arguments: Value) -> Value {
        let text = self.text(tool, arguments);
        serde_json::from_str(&text).unwrap()
    }

    fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let (is_error, text) = self.call(tool, arguments);
        assert!(is_error, "{text}");
        text
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.input = None;
        if !std::thread::panicking() {
            // It ends by itself when the client is gone.
            assert!(self.child.wait().unwrap().success());
        } else {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[test]
fn the_tools_are_listed_with_what_they_take() {
    let test = TestHome::with_sessions();
    let mut talk = Talk::start(&test, &["mcp"]);
    let answer = talk.ask("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "search_sessions",
        "list_sessions",
        "read_session",
        "usage",
        "status",
        "stats",
        "plans",
        "file_history",
        "insights",
    ];
    assert_eq!(names, expected);
    for tool in tools {
        let is_text = tool["name"] == "read_session";
        assert_eq!(tool["outputSchema"]["type"] == "object", !is_text, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert!(tool["description"].as_str().unwrap().len() > 40);
        // Every argument that is told of is read.
        let name = tool["name"].as_str().unwrap();
        for argument in tool["inputSchema"]["properties"].as_object().unwrap().keys() {
            let mut arguments = json!({});
            for required in tool["inputSchema"]["required"].as_array().unwrap() {
                arguments[required.as_str().unwrap()] = json!("x");
            }
            arguments[argument.as_str()] = json!([]);
            let refusal = talk.refusal(name, arguments);
            assert!(refusal.contains(&format!("`{argument}` takes")), "{name}: {refusal}");
        }
    }
}

#[test]
fn each_tool_answers() {
    let test = TestHome::with_sessions();
    let mut talk = Talk::start(&test, &["mcp"]);
    let listed = talk.json("list_sessions", json!({}));
    assert_eq!(listed["total"], 3);
    assert_eq!(listed["items"][0]["session"], FIX);
    assert_eq!(listed["items"][0]["title"], "Repair the parser");
    let second = talk.json("list_sessions", json!({"limit": 1, "offset": 1}));
    assert_eq!(second["items"][0]["session"], DOCS);
    assert_eq!(second["next_offset"], 2);
    let docs = talk.json("list_sessions", json!({"project": "/home/dev/docs"}));
    assert_eq!((&docs["total"], &docs["items"][0]["session"]), (&1.into(), &DOCS.into()));

    let found = talk.json("search_sessions", json!({"query": "role:user parser docs"}));
    assert_eq!(found["items"][0]["session"], DOCS, "{found}");
    assert_eq!(found["items"][0]["turn"], 1);
    assert!(found["items"][0]["text"].as_str().unwrap().contains("Write the parser docs"));
    let none = talk.json("search_sessions", json!({"query": "parser project:nowhere"}));
    assert_eq!(none["total"], 0);

    let read = talk.text("read_session", json!({"session": "3f2b"}));
    assert!(read.starts_with(DOCS), "{read}");
    assert!(read.contains("USER: Write the parser docs"), "{read}");
    assert!(read.contains("ASSISTANT: Written."), "{read}");
    assert!(read.ends_with("[end of the session, 1 turns]\n"), "{read}");
    let turn = talk.text("read_session", json!({"session": FIX, "turn": 1}));
    assert!(turn.contains("The parser fails on empty lines."), "{turn}");
    assert!(turn.contains("CALL ") && turn.contains("RESULT"), "{turn}");
    assert!(turn.ends_with("[end of turn 1]\n"), "{turn}");

    let usage = talk.json("usage", json!({"by": "session"}));
    assert!(usage["sum"]["messages"].as_u64().is_some_and(|sum| sum > 0), "{usage}");
    assert!(usage["items"].as_array().unwrap().iter().any(|row| row["session"] == FIX), "{usage}");
    let one = talk.json("usage", json!({"session": FIX}));
    assert!(one["items"][0]["output_tokens"].as_u64().unwrap() > 0, "{one}");

    let status = talk.json("status", json!({"session": FIX}));
    assert_eq!(status["items"][0]["id"], FIX);
    assert!(!status["items"][0]["why"].as_array().unwrap().is_empty(), "{status}");

    let plan = r##"{"plan":"# Do it\n\nFirst this."}"##;
    let log = SessionBuilder::new(DOCS, Client::V2_1_325).prompt("Plan").tool(
        "ExitPlanMode",
        plan,
        "User has approved your plan.",
    );
    test.home.add(&log, hours_ago(1));
    let answer = talk.ask("tools/call", json!({"name": "plans", "arguments": {}}));
    assert!(answer["result"]["structuredContent"]["total"].is_number(), "{answer}");
    assert!(answer["result"]["structuredContent"]["next"].is_null(), "{answer}");
    let plans = talk.json("plans", json!({}));
    assert_eq!(plans["items"][0]["agreed"], true, "{plans}");
    assert!(plans["items"][0]["text"].as_str().unwrap().contains("First this."), "{plans}");
}

#[test]
fn bad_input_is_refused_and_the_next_call_is_answered() {
    let test = TestHome::with_sessions();
    let mut talk = Talk::start(&test, &["mcp"]);
    let outside = test.home.path().join("projects");
    for (tool, arguments, why) in [
        ("search_sessions", json!({}), "`query` is missing"),
        ("search_sessions", json!({"query": 7}), "`query` takes a string"),
        ("search_sessions", json!({"query": "\"open"}), ""),
        ("search_sessions", json!({"query": "x", "limit": -1}), "`limit` takes a number"),
        ("search_sessions", json!({"query": "x", "limit": 1e30}), "`limit` takes a number"),
        ("search_sessions", json!({"query": "x".repeat(10_000)}), "`query` is too long"),
        ("list_sessions", json!({"since": "soon"}), "`since` takes a date"),
        (
            "list_sessions",
            json!({"projekt": "x"}),
            "there is no argument `projekt`; this tool takes",
        ),
        ("read_session", json!({"session": "nothing like it"}), "no session matches"),
        ("read_session", json!({"session": "../../etc/passwd"}), "no path"),
        ("read_session", json!({"session": outside.to_str().unwrap()}), "no path"),
        ("read_session", json!({"session": FIX, "turn": 1, "from_turn": 1}), "not both"),
        ("read_session", json!({"session": FIX, "from_item": 3}), "needs `turn` or `from_turn`"),
        ("read_session", json!({"session": FIX, "turn": 4_000_000}), "there is no turn 4000000"),
        ("read_session", json!({"session": FIX, "turn": 0}), "there is no turn 0"),
        ("usage", json!({"by": "mood"}), "`by` takes one of"),
        ("status", json!({"session": "\u{0}"}), "no session matches"),
        ("plans", json!({"session": []}), "`session` takes a string"),
    ] {
        let refusal = talk.refusal(tool, arguments);
        assert!(refusal.contains(why), "{tool}: {refusal}");
    }
    let unknown = talk.ask("tools/call", json!({"name": "rm", "arguments": {}}));
    assert!(unknown["error"]["code"].is_number(), "{unknown}");
    let odd = talk.ask("tools/call", json!({"name": "usage", "arguments": "x"}));
    assert!(odd["error"]["code"].is_number(), "{odd}");
    assert!(talk.ask("no/such/method", json!({}))["error"]["code"].is_number());
    assert_eq!(talk.json("list_sessions", json!({}))["total"], 3);
}

#[test]
fn secrets_are_replaced_unless_that_is_turned_off() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let test = TestHome::empty();
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt(&format!("use {token} for the upload"))
        .answer("done")
        // What a status tells of a prompt and of a call is cut before it comes here.
        .prompt(&format!("upload {} {token} again", "y".repeat(170)))
        .tool(
            "Bash",
            &format!(r#"{{"command":"GH_TOKEN={token} upload"}}"#),
            &format!("ok {token}"),
        )
        // Where a text is cut, no half of it may be left.
        .answer(&format!("{} {token}", "x".repeat(16 * 1024 - 20)))
        .tool(
            "ExitPlanMode",
            &format!(r#"{{"plan":"send {token}"}}"#),
            "User has approved your plan.",
        )
        .custom_title(&format!("upload with {token}"));
    test.home.add(&log, hours_ago(1));
    let calls = [
        ("search_sessions", json!({"query": "upload"})),
        ("list_sessions", json!({})),
        ("read_session", json!({"session": FIX})),
        ("read_session", json!({"session": FIX, "turn": 1})),
        ("status", json!({"session": FIX})),
        ("plans", json!({})),
    ];
    let mut talk = Talk::start(&test, &["mcp"]);
    for (tool, arguments) in &calls {
        let text = talk.text(tool, arguments.clone());
        assert!(!text.contains("ghp_a1B2"), "{tool} {arguments}: {text}");
    }
    drop(talk);
    let mut talk = Talk::start(&test, &["mcp", "--no-redact"]);
    for (tool, arguments) in &calls {
        let text = talk.text(tool, arguments.clone());
        assert!(text.contains("ghp_a1B2"), "{tool} {arguments}: {text}");
    }
}

#[test]
fn an_agent_reads_no_character_that_people_do_not_see() {
    let test = TestHome::empty();
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("pro\u{e0100}mpt")
        .answer("ans\u{e0041}wer")
        .custom_title("tit\u{202e}le");
    test.home.add(&log, hours_ago(1));
    for options in [&["mcp"][..], &["mcp", "--no-redact"]] {
        let mut talk = Talk::start(&test, options);
        let text = talk.text("read_session", json!({"session": FIX}));
        for word in ["prompt", "answer", "title"] {
            assert!(text.contains(word), "{word}: {text:?}");
        }
    }
}

#[test]
fn a_large_session_is_read_in_parts_and_nothing_is_left_out() {
    let test = TestHome::empty();
    let mut log = SessionBuilder::new(FIX, Client::V2_1_325);
    for number in 0..40 {
        log = log.prompt(&format!("prompt-{number}."));
        for part in 0..5 {
            log = log.answer(&format!("answer-{number}-{part}. {}", "é\"".repeat(700)));
        }
        log = log.tool("Bash", r#"{"command":"x"}"#, &"y".repeat(100_000));
    }
    test.home.add(&log, hours_ago(1));
    let mut talk = Talk::start(&test, &["mcp"]);
    let mut all = String::new();
    let mut arguments = json!({"session": FIX});
    let mut parts = 0;
    loop {
        let text = talk.text("read_session", arguments);
        all.push_str(&text);
        parts += 1;
        let Some((_, next)) = text.rsplit_once("continue with read_session ") else { break };
        arguments = serde_json::from_str(next.trim_end().trim_end_matches(']')).unwrap();
    }
    assert!(parts > 5, "{parts}");
    for number in 0..40 {
        assert_eq!(all.matches(&format!("USER: prompt-{number}.")).count(), 1, "{number}");
        for part in 0..5 {
            let answer = format!("answer-{number}-{part}.");
            assert_eq!(all.matches(&answer).count(), 1, "{answer}");
        }
    }
    assert!(all.contains("(cut, 100000 bytes in total)"));
}
