//! `recto resume` with sessions that need help first.

use std::fs;

use serde_json::Value;
use serde_json::json;

use crate::run::Bench;
use crate::run::ID;
use crate::run::call;

/// The last request, as text.
fn sent(bench: &Bench) -> String {
    bench.mock.asked().last().unwrap().body["messages"].to_string()
}

fn two_turns() -> Bench {
    let shout = json!({"command": "head -c 9000 /dev/zero | tr '\\0' a"});
    let bench = Bench::new(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Bash", shout)]}),
        json!({"nth": 2, "text": "first answer"}),
        json!({"nth": 3, "text": "second answer"}),
        json!({"text": "gone on"}),
    ]);
    let first = ["run", "-p", "first prompt", "--session-id", ID, "--dangerously-skip-permissions"];
    assert_eq!(bench.run(&first).code, 0);
    assert_eq!(bench.run(&["resume", ID, "-p", "second prompt"]).code, 0);
    bench
}

#[test]
fn what_is_wrong_with_a_log_is_put_right_for_the_run_and_told_in_one_line() {
    let bench = two_turns();
    let log = bench.logs().pop().unwrap();
    let text = fs::read_to_string(&log).unwrap();
    let broken = format!("{text}{{\"type\":\"user\",\"uuid\":\n");
    fs::write(&log, &broken).unwrap();
    let run = bench.run(&["resume", ID, "-p", "third prompt"]);
    assert_eq!((run.stdout.as_str(), run.code), ("gone on\n", 0));
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("repaired for this run: 1 damaged-line"), "{}", run.stderr);
    assert!(sent(&bench).contains("first prompt") && sent(&bench).contains("second prompt"));
    assert!(fs::read_to_string(&log).unwrap().starts_with(&broken));
    let stream = bench.run(&[
        "resume",
        ID,
        "-p",
        "fourth prompt",
        "--output-format",
        "stream-json",
        "--verbose",
    ]);
    let is_told = |line: &Value| {
        line["subtype"] == "informational"
            && line["content"].as_str().unwrap().starts_with("repaired for this run")
    };
    assert!(stream.json().iter().any(is_told), "{}", stream.stdout);
    assert_eq!(bench.refusals(), [""; 0]);
}

#[test]
fn a_session_is_made_to_fit_and_goes_on_from_an_earlier_message() {
    let bench = two_turns();
    let log = bench.logs().pop().unwrap();
    let run = bench.run(&["resume", ID, "-p", "third prompt", "--fit", "1500"]);
    assert!(run.stderr.contains("results replaced with notes: 1,"), "{}", run.stderr);
    assert!(sent(&bench).contains("first prompt") && !sent(&bench).contains("aaaa"));
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("aaaa"));
    let answer = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answer = answer.filter(|line| line["type"] == "assistant").nth(1).unwrap();
    let uuid = answer["uuid"].as_str().unwrap();
    let at =
        |uuid: &str| bench.run(&["run", "-p", "on", "--resume", ID, "--resume-session-at", uuid]);
    assert_eq!(at(uuid).stdout, "gone on\n");
    assert!(sent(&bench).contains("first answer") && !sent(&bench).contains("second prompt"));
    let unknown = at(ID);
    assert_eq!(unknown.code, 1);
    assert_eq!(unknown.stderr, format!("No message found with message.uuid of: {ID}\n"));
    assert_eq!(bench.refusals(), [""; 0]);
}
