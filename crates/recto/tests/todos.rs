//! `recto todos`.

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

/// A session with a list that is written whole, one with tasks.
fn with_todos() -> TestHome {
    let test = TestHome::empty();
    let written = |first: &str, second: &str| {
        format!(
            r#"{{"todos":[{{"content":"Find the bug","status":"{first}","activeForm":"Finding"}},{{"content":"{second}","status":"pending","activeForm":"Testing"}}]}}"#
        )
    };
    let fix = SessionBuilder::new(FIX, Client::V2_1_29)
        .prompt("Repair the parser")
        .tool("TodoWrite", &written("in_progress", "Test"), "ok")
        .failed_tool("TodoWrite", &written("pending", "Nothing"), "no")
        .prompt("Go on")
        .tool("TodoWrite", &written("completed", "Test it \\u001b[2Jwell"), "ok");
    test.home.add(&fix, hours_ago(2));
    let docs = SessionBuilder::new(DOCS, Client::V2_1_325)
        .at(hours_ago(26))
        .prompt("Write the docs")
        .tool_with_detail(
            "TaskCreate",
            r#"{"subject":"Write a guide","description":"x"}"#,
            "Task #1 created",
            r#"{"task":{"id":"1","subject":"Write a guide"}}"#,
        )
        .tool_with_detail(
            "TaskUpdate",
            r#"{"taskId":"1","status":"in_progress"}"#,
            "Updated task #1 status",
            r#"{"success":true,"taskId":"1","updatedFields":["status"],"statusChange":{"from":"pending","to":"in_progress"}}"#,
        );
    test.home.add(&docs, hours_ago(26));
    test
}

#[test]
fn the_list_is_shown_as_it_was_at_the_end() {
    let test = with_todos();
    assert_snapshot!(test.run(&["todos"]).shown(), @"
    completed	Find the bug
    pending	Test it ␛[2Jwell
    --- exit 0
    ");
    assert_snapshot!(test.run(&["todos", "3f2b", "--json"]).shown(), @r#"
    {"id":"1","status":"in_progress","text":"Write a guide"}
    --- exit 0
    "#);
}

#[test]
fn each_change_is_shown_with_its_turn() {
    let test = with_todos();
    assert_snapshot!(test.run(&["todos", "--history"]).shown(), @"
    2026-11-16 08:00:02	turn 1	in progress	Find the bug
    2026-11-16 08:00:02	turn 1	pending	Test
    2026-11-16 08:00:07	turn 2	completed	Find the bug
    2026-11-16 08:00:07	turn 2	pending	Test it ␛[2Jwell
    2026-11-16 08:00:07	turn 2	removed	Test
    --- exit 0
    ");
    assert_snapshot!(test.run(&["todos", "3f2b", "--history"]).shown(), @"
    2026-11-15 10:00:03	turn 1	pending	#1 Write a guide
    2026-11-15 10:00:05	turn 1	in progress	#1 Write a guide
    --- exit 0
    ");
    let page = std::fs::read_to_string(repository().join("docs/reference/json.md")).unwrap();
    let section = page.split_once("\n## recto todos\n").unwrap().1.split("\n## ").next().unwrap();
    for change in test.run(&["todos", "--history", "--json"]).json() {
        for name in change.as_object().unwrap().keys() {
            assert!(section.contains(&format!("\n| `{name}` |")), "json.md has no `{name}`");
        }
    }
}

#[test]
fn a_session_without_a_list_is_said() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["todos"]).shown(), @"
    --- stderr
    no to-dos in this session
    --- exit 1
    ");
}
