//! `recto blame`.

use std::fs;

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use serde_json::json;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// A file that one session made, a subagent of it and a later session edited,
/// and somebody changed after that.
fn with_file() -> TestHome {
    let test = TestHome::empty();
    let path = test.work.path().canonicalize().unwrap().join("main.rs");
    let made = "fn main() {\n    one();\n}\n";
    let second = "fn main() {\n    one();\n    two();\n}\n";
    let created = json!({"type": "create", "filePath": path, "content": made,
        "structuredPatch": [], "originalFile": null});
    let fix = SessionBuilder::new(FIX, Client::V2_1_325)
        .at(hours_ago(5))
        .prompt("Start a program.")
        .tool_with_detail("Write", "{}", "created", &created.to_string())
        .answer("Started.");
    test.home.add(&fix, hours_ago(4));
    let edited = json!({"filePath": path, "oldString": "}\n", "newString": "    two();\n}\n",
        "originalFile": made, "replaceAll": false, "structuredPatch": []});
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4", Client::V2_1_325)
        .at(hours_ago(4))
        .prompt("Add the second step.")
        .tool_with_detail("Edit", "{}", "edited", &edited.to_string());
    test.home.add(&agent, hours_ago(4));
    let edited = json!({"filePath": path, "oldString": "one();", "newString": "first();",
        "originalFile": second, "replaceAll": false, "structuredPatch": []});
    let docs = SessionBuilder::new(DOCS, Client::V2_1_29)
        .at(hours_ago(3))
        .prompt("Hello")
        .answer("Hello.")
        .prompt("Rename the first step.")
        .tool_with_detail("Edit", "{}", "edited", &edited.to_string())
        .failed_tool("Edit", "{}", "String to replace not found.");
    test.home.add(&docs, hours_ago(3));
    fs::write(&path, "fn main() {\n    first();\n    two();\n    three();\n}\n").unwrap();
    test
}

#[test]
fn each_line_has_its_session_and_turn() {
    let test = with_file();
    assert_snapshot!(test.run(&["blame", "main.rs"]).shown(), @"
    3f2a1b4c       turn 1 2026-11-16 07:00:03 | 1 | fn main() {
    3f2b77aa       turn 2 2026-11-16 09:00:04 | 2 |     first();
    agent-a1b2c3d4 turn 1 2026-11-16 08:00:02 | 3 |     two();
    unknown                                   | 4 |     three();
    3f2a1b4c       turn 1 2026-11-16 07:00:03 | 5 | }
    --- exit 0
    ");
    assert_snapshot!(test.run(&["blame", "./main.rs:2"]).shown(), @"
    3f2b77aa turn 2 2026-11-16 09:00:04 | 2 |     first();
    --- exit 0
    ");
    assert_snapshot!(test.run(&["blame", "main.rs:3-9", "--json"]).shown(), @r#"
    {"line":3,"session":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","agent":"a1b2c3d4","turn":1,"time":"2026-11-16T08:00:02.000Z","text":"    two();"}
    {"line":4,"session":null,"agent":null,"turn":null,"time":null,"text":"    three();"}
    {"line":5,"session":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","agent":null,"turn":1,"time":"2026-11-16T07:00:03.000Z","text":"}"}
    --- exit 0
    "#);
}

#[test]
fn a_file_that_no_session_wrote_is_unknown() {
    let test = with_file();
    fs::write(test.work.path().join("other.rs"), "x\n").unwrap();
    assert_snapshot!(test.run(&["blame", "other.rs"]).shown(), @"
    unknown | 1 | x
    --- stderr
    no session wrote this file
    --- exit 1
    ");
    fs::create_dir(test.work.path().join("below")).unwrap();
    fs::write(test.work.path().join("below/main.rs"), "fn main() {\n").unwrap();
    assert_snapshot!(test.run(&["blame", "below/main.rs"]).shown(), @"
    unknown | 1 | fn main() {
    --- stderr
    no session wrote this file
    --- exit 1
    ");
}

#[test]
fn what_cannot_be_blamed_is_told() {
    let test = with_file();
    assert_snapshot!(test.run(&["blame", "gone.rs:3"]).shown(), @"
    --- stderr
    error: there is no file [work]/gone.rs
    hint: `recto files PATH` also finds deleted files
    --- exit 1
    ");
    assert_snapshot!(test.run(&["blame", "main.rs:6"]).shown(), @"
    --- stderr
    error: the file has no lines 6 to 6
    hint: lines are counted from 1; the file has 5
    --- exit 2
    ");
    assert_snapshot!(test.run(&["blame", "main.rs:3-2"]).shown(), @"
    --- stderr
    error: the file has no lines 3 to 2
    hint: lines are counted from 1; the file has 5
    --- exit 2
    ");
    assert_eq!(test.run(&["blame", "."]).code, 2);
    fs::write(test.work.path().join("name:3"), "x\n").unwrap();
    assert_eq!(test.run(&["blame", "name:3"]).stdout, "unknown | 1 | x\n");
}

#[test]
fn characters_of_the_file_do_not_act_on_the_terminal() {
    let test = with_file();
    fs::write(test.work.path().join("main.rs"), "\u{1b}[2J\u{202e}a\rb\n\ttab\n").unwrap();
    let run = test.run(&["blame", "main.rs"]);
    assert!(!run.stdout.contains(['\u{1b}', '\u{202e}', '\r', '\t']), "{:?}", run.stdout);
}
