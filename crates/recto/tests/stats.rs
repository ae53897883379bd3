//! `recto stats` without a session.

use std::fs;

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::hostile;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// A session with a subagent, and one that goes on from it.
fn with_copy() -> TestHome {
    let test = TestHome::empty();
    let edited = r#"{"filePath":"/home/dev/app/src/parse.rs","oldString":"a","newString":"b","structuredPatch":[{"lines":["-a","+b","+c"]}]}"#;
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("Repair the parser")
        .tool_with_detail("Edit", r#"{"file_path":"/home/dev/app/src/parse.rs"}"#, "ok", edited)
        .failed_tool("Bash", r#"{"command":"cargo test"}"#, "1 failed")
        .answer("Repaired, but a test fails.")
        .prompt("Which one?")
        .answer("`empty_line`.")
        .custom_title("Parser");
    let copied = log.bytes().to_vec();
    test.home.add(&log, hours_ago(2));
    let copy = SessionBuilder::new(DOCS, Client::V2_1_325)
        .raw(copied)
        .prompt("And the other parser?")
        .tool("Bash", r#"{"command":"ls"}"#, "x")
        .answer("Fine.")
        .custom_title("Other parser");
    test.home.add(&copy, hours_ago(1));
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4e5f60718", Client::V2_1_325)
        .prompt("Find all callers.")
        .answer("Two.")
        .tool("Grep", "{}", "a.rs:1");
    test.home.add(&agent, hours_ago(2));
    test
}

#[test]
fn many_sessions_in_numbers() {
    let test = with_copy();
    assert_snapshot!(test.run(&["stats"]).shown(), @"
    2 sessions, 1 subagent, 3 turns, 3 prompts, 2026-11-16 to 2026-11-16
    9.0s of work, 8 messages, 98.6 % of input from the cache

    tools
            calls                        failed  median  total
      Bash      2  ████████████████████  50.0 %    1.0s   2.0s
      Edit      1  ██████████                      1.0s   1.0s
      Grep      1  ██████████                      1.0s   1.0s

    models
                       messages                        from cache
      claude-opus-5-5         8  ████████████████████      98.6 %

    turn duration (median 3.0s, p90 5.0s)
                 turns
      below 10s      3  ████████████████████

    hours, by messages (UTC)
                      ██
      0     3     6     9     12    15    18    21

    days
                 messages                        prompts
      Monday            8  ████████████████████        3
      Tuesday           0                              0
      Wednesday         0                              0
      Thursday          0                              0
      Friday            0                              0
      Saturday          0                              0
      Sunday            0                              0

    longest sessions
                work                        turns  calls
      3f2b77aa  9.0s  ████████████████████      3      3  Other parser
      3f2a1b4c  6.0s  █████████████▎            2      2  Parser

    context at the start of a turn (median)
      turn  tokens                        sessions
         1   9,128  ████████████████████         1
         2   9,128  ████████████████████         1
         3   9,128  ████████████████████         1

    files changed most
                                  edits
      /home/dev/app/src/parse.rs      1  ████████████████████  +2  -1
    --- exit 0
    ");
    let json = test.run(&["stats", "--json", "--tz", "+02:00", "-n", "1"]).json();
    assert_eq!(json.len(), 1);
    let number = |path: &str| json[0].pointer(path).unwrap().as_u64().unwrap();
    // The copy adds a turn, a call and two messages, and nothing twice.
    assert_eq!((number("/sessions"), number("/agents"), number("/turns")), (2, 1, 3));
    assert_eq!((number("/messages"), number("/files/0/edits")), (8, 1));
    assert_eq!((number("/hours/10/prompts"), number("/days/0/prompts")), (3, 3));
    assert_eq!(json[0]["longest_sessions"].as_array().unwrap().len(), 1);
    assert_eq!(json[0]["time_zone"], "+02");
}

#[test]
fn filters_choose_sessions() {
    let test = with_copy();
    let sessions = |arguments: &[&str]| {
        let mut all = vec!["stats", "--json"];
        all.extend(arguments);
        test.run(&all).json()[0]["sessions"].as_u64().unwrap()
    };
    assert_eq!(sessions(&["--since", "90m"]), 1);
    assert_eq!(sessions(&["--project", "nowhere"]), 0);
    assert_eq!(sessions(&["--model", "opus"]), 2);
    let none = test.run(&["stats", "--project", "nowhere"]);
    assert_eq!((none.code, none.stdout.as_str()), (1, ""));
}

#[test]
fn charts_are_one_file_that_is_not_replaced_unasked() {
    let test = TestHome::empty();
    let all: String = hostile::texts().concat();
    let log = SessionBuilder::new(DOCS, Client::V2_1_325)
        .model(&format!("<script>w-model{all}"))
        .prompt("x")
        .tool(&format!("</text>w-tool{all}"), "{}", "x")
        .answer("x")
        .custom_title(&format!("\"&<w-title{all}"));
    test.home.add(&log, hours_ago(1));
    let run = test.run(&["stats", "--svg", "charts.svg"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let path = test.work.path().join("charts.svg");
    let svg = fs::read_to_string(&path).unwrap();
    hostile::assert_no_control(&svg, "the charts");
    for text in ["&lt;script&gt;w-model", "&lt;/text&gt;w-tool", "&quot;&amp;&lt;w-title"] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    assert_eq!(svg.matches("<script").count() + svg.matches("href").count(), 0);
    fs::write(&path, "mine").unwrap();
    let run = test.run(&["stats", "--svg", "charts.svg"]);
    assert_eq!((run.code, fs::read_to_string(&path).unwrap().as_str()), (2, "mine"));
    assert_eq!(test.run(&["stats", "--svg", "charts.svg", "--force"]).code, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), svg);
}

#[test]
fn what_cannot_be_asked_is_said() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["stats", "--tz", "Mars/Base"]).shown(), @"
    --- stderr
    error: unknown time zone `Mars/Base` for --tz
    hint: use a name (Europe/Berlin), an offset (+02:00), or UTC
    --- exit 2
    ");
    assert_eq!(test.run(&["stats", "latest", "--project", "app"]).code, 2);
}
