//! `recto plans`.

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// Plans of two sessions and a subagent: refused, agreed to and changed, left
/// open; and a file that no log names.
fn with_plans() -> TestHome {
    let test = TestHome::empty();
    let fix = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("Plan the repair.")
        .failed_tool(
            "ExitPlanMode",
            r##"{"plan":"# Rewrite all\n\n1. delete\n"}"##,
            "The user doesn't want to proceed with this tool use.",
        )
        .prompt("Smaller, please.")
        .tool_with_detail(
            "ExitPlanMode",
            r##"{"plan":"# Repair one function\n"}"##,
            "User has approved your plan.",
            r##"{"plan":"# Repair one function\n\n1. skip empty lines\n2. test\n","isAgent":false,"filePath":"/home/dev/.claude/plans/calm-river.md","planWasEdited":true}"##,
        )
        .answer("Repaired.");
    test.home.add(&fix, hours_ago(2));
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4", Client::V2_1_325)
        .at(hours_ago(5))
        .prompt("Plan the tests.")
        .model_block(
            r#"{"type":"tool_use","id":"toolu_1","name":"ExitPlanMode","input":{"plan":"Write tests"}}"#,
        );
    test.home.add(&agent, hours_ago(2));
    let docs = SessionBuilder::new(DOCS, Client::V2_1_29)
        .at(hours_ago(26))
        .prompt("Plan the docs")
        .tool_with_detail(
            "ExitPlanMode",
            "{}",
            "User has approved your plan.",
            r#"{"plan":null,"isAgent":false,"filePath":"/elsewhere/plans/warm-stone.md"}"#,
        );
    test.home.add(&docs, hours_ago(26));
    test.home.write("plans/calm-river.md", "# Repair one function\n\nlater text\n");
    test.home.write("plans/warm-stone.md", "\n# Write a guide\n");
    test
}

#[test]
fn plans_of_all_sessions_are_listed_newest_first() {
    let test = with_plans();
    assert_snapshot!(test.run(&["plans"]).shown(), @"
    2026-11-16 08:00:06	3f2a1b4c	turn 2	approved	Repair one function	calm-river.md
    2026-11-16 08:00:02	3f2a1b4c	turn 1	rejected	Rewrite all
    2026-11-16 07:00:01	agent-a1b2c3d4	turn 1	open	Write tests
    2026-11-15 10:00:01	3f2b77aa	turn 1	approved	Write a guide	warm-stone.md
    --- exit 0
    ");
    assert_snapshot!(test.run(&["plans", "3f2b"]).shown(), @"
    2026-11-15 10:00:01	3f2b77aa	turn 1	approved	Write a guide	warm-stone.md
    --- exit 0
    ");
    test.home.write("plans/lost-leaf.md", "# Nobody's plan\n");
    let run = test.run(&["plans", "--json"]).json();
    let file = run.iter().find(|plan| plan["session"].is_null()).unwrap();
    assert_eq!(file["file"].as_str().unwrap(), "[claude]/plans/lost-leaf.md");
    assert_eq!(run.len(), 5);
}

#[test]
fn the_newest_plan_is_printed_as_it_was_agreed_to() {
    let test = with_plans();
    assert_snapshot!(test.run(&["plans", "3f2a", "--latest"]).shown(), @"
    # Repair one function

    1. skip empty lines
    2. test
    --- exit 0
    ");
    assert_snapshot!(test.run(&["plans", "3f2a", "--latest", "--json"]).shown(), @r##"
    {"session":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","agent":null,"turn":2,"time":"2026-11-16T08:00:06.000Z","agreed":true,"file":"/home/dev/.claude/plans/calm-river.md","text":"# Repair one function\n\n1. skip empty lines\n2. test\n"}
    --- exit 0
    "##);
}

#[test]
fn a_home_without_plans_is_said() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["plans"]).shown(), @"
    --- stderr
    no plans
    --- exit 1
    ");
    assert_snapshot!(test.run(&["plans", "--json"]).shown(), @"
    --- exit 1
    ");
}

#[test]
fn characters_of_a_plan_do_not_act_on_the_terminal() {
    let test = TestHome::empty();
    let plan =
        "{\"plan\":\"# \\u001b[2J\\u202eplan\\r\",\"planFilePath\":\"/x/\\u001b]0;t\\u0007.md\"}";
    let session =
        SessionBuilder::new(FIX, Client::V2_1_325).prompt("Plan.").tool("ExitPlanMode", plan, "ok");
    test.home.add(&session, hours_ago(2));
    for arguments in [&["plans"][..], &["plans", "--latest"], &["plans", "--json"]] {
        let run = test.run(arguments);
        assert_eq!(run.code, 0);
        let acts = ['\u{1b}', '\u{7}', '\u{202e}', '\r'];
        assert!(!run.stdout.contains(acts), "{arguments:?} {:?}", run.stdout);
    }
}
