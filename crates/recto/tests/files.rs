//! `recto files`, of a session and of a path.

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

const CREATED: &str = r#"{"type":"create","filePath":"/home/dev/app/src/main.rs","content":"fn main() {\n}\n","structuredPatch":[],"originalFile":null}"#;
const EDITED: &str = r#"{"filePath":"/home/dev/app/src/main.rs","oldString":"}","newString":"    run();\n}","originalFile":"fn main() {\n}\n","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":3,"lines":[" fn main() {","+    run();"," }"]}],"replaceAll":false}"#;
const READ: &str = r#"{"type":"text","file":{"filePath":"/home/dev/app/src/main.rs","content":"fn main() {","numLines":1,"startLine":1,"totalLines":3}}"#;
const ELSEWHERE: &str = r#"{"type":"text","file":{"filePath":"/home/dev/docs/src/main.rs","content":"x","numLines":1,"startLine":1,"totalLines":1}}"#;

fn with_uses() -> TestHome {
    let test = TestHome::empty();
    let fix = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("Start a program.")
        .tool_with_detail("Write", "{}", "created", CREATED)
        .prompt("Make it run.")
        .tool_with_detail("Read", "{}", "fn main() {", READ)
        .tool_with_detail("Edit", "{}", "edited", EDITED)
        .answer("It runs.");
    test.home.add(&fix, hours_ago(2));
    // A session that goes on from another one begins with a copy of it.
    let fork = String::from_utf8(fix.bytes().to_vec()).unwrap();
    let fork = SessionBuilder::new("aaaaaaaa-0000-4000-8000-000000000000", Client::V2_1_325)
        .raw(fork)
        .prompt("Go on.");
    test.home.add(&fork, hours_ago(1));
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4", Client::V2_1_325)
        .at(hours_ago(3))
        .prompt("Look at the program.")
        .tool_with_detail("Read", "{}", "fn main() {", READ);
    test.home.add(&agent, hours_ago(2));
    let docs = SessionBuilder::new(DOCS, Client::V2_1_29)
        .at(hours_ago(26))
        .prompt("Read the example")
        .tool_with_detail("Read", "{}", "x", ELSEWHERE);
    test.home.add(&docs, hours_ago(26));
    test
}

#[test]
fn a_path_lists_the_turns_that_used_the_file() {
    let test = with_uses();
    assert_snapshot!(test.run(&["files", "/home/dev/app/src/main.rs"]).shown(), @"
    2026-11-16 09:00:02	agent-a1b2c3d4	turn 1	read			/home/dev/app/src/main.rs	Look at the program.
    2026-11-16 08:00:09	3f2a1b4c	turn 2	edited	+1		/home/dev/app/src/main.rs	Make it run.
    2026-11-16 08:00:03	3f2a1b4c	turn 1	created	+2		/home/dev/app/src/main.rs	Start a program.
    --- exit 0
    ");
    assert_snapshot!(test.run(&["files", "src/main.rs", "--changed", "--json"]).shown(), @r#"
    {"session":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","agent":null,"turn":2,"time":"2026-11-16T08:00:09.000Z","path":"/home/dev/app/src/main.rs","action":"edited","lines_added":1,"lines_removed":0,"prompt":"Make it run.","title":"Start a program.","tools":["Edit","Read"]}
    {"session":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","agent":null,"turn":1,"time":"2026-11-16T08:00:03.000Z","path":"/home/dev/app/src/main.rs","action":"created","lines_added":2,"lines_removed":0,"prompt":"Start a program.","title":"Start a program.","tools":["Write"]}
    --- exit 0
    "#);
    assert_snapshot!(test.run(&["files", "docs/src/main.rs"]).shown(), @"
    2026-11-15 10:00:02	3f2b77aa	turn 1	read			/home/dev/docs/src/main.rs	Read the example
    --- exit 0
    ");
    assert_snapshot!(test.run(&["files", "./src/main.rs"]).shown(), @"
    --- stderr
    no session used this file
    --- exit 1
    ");
}

#[test]
fn a_session_lists_its_files() {
    let test = with_uses();
    assert_snapshot!(test.run(&["files", "3f2a"]).shown(), @"
    created	+3		/home/dev/app/src/main.rs	turn 1, 2
    --- exit 0
    ");
    let path = test.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"));
    let by_path = test.run(&["files", path.to_str().unwrap()]);
    assert_eq!(
        by_path.stdout,
        test.run(&["files", "3f2a"]).stdout,
        "the path of a log is a session"
    );
}

#[test]
fn the_name_of_a_file_that_is_there_is_a_path() {
    let test = with_uses();
    std::fs::write(test.work.path().join("main.rs"), "x").unwrap();
    assert_eq!(test.run(&["files", "main.rs"]).stdout.lines().count(), 4);
    std::fs::remove_file(test.work.path().join("main.rs")).unwrap();
    assert_snapshot!(test.run(&["files", "main.rs"]).shown(), @"
    --- stderr
    error: no session matches `main.rs`
    hint: `recto ls` lists the sessions
    hint: for a file that does not exist here, give more of its path, such as `src/main.rs`
    --- exit 1
    ");
}
