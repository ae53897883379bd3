//! Older logs in newer clients: what was watched beyond the recordings, whose
//! clients read their own logs.

use recto_session::request::Generation;
use recto_session::request::RequestOptions;
use recto_session::request::reach;
use recto_session::request::request;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use serde_json::Value;

use crate::cases::session;

const OLD_MODEL: &str = "claude-sonnet-4-5-20250929";
const NEW_MODEL: &str = "claude-opus-4-8";

fn builder(model: &str) -> SessionBuilder {
    SessionBuilder::new("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", Client::V2_1_29)
        .model(model)
        .prompt("go")
}

fn messages(log: &SessionBuilder, version: &str) -> Value {
    let session = session(log.bytes());
    let reach = reach(&session, Generation::of_version(version).unwrap());
    let options = RequestOptions::default();
    let request = request(&session, &reach, &log.bytes(), &options);
    serde_json::from_slice(&request.messages).unwrap()
}

#[test]
fn tools_get_the_name_that_they_have_by_now() {
    let old = ["Task", "KillShell", "KillBash", "BashOutput", "BashOutputTool", "AgentOutputTool"];
    let log = old.iter().fold(builder(OLD_MODEL), |log, name| log.tool(name, "{}", "ok"));
    let log = log.answer("done");
    for (version, expected) in [
        ("2.1.29", old),
        ("2.1.100", ["Agent", "TaskStop", "KillBash", "BashOutput", "TaskOutput", "TaskOutput"]),
        ("2.1.200", ["Agent", "TaskStop", "TaskStop", "TaskOutput", "TaskOutput", "TaskOutput"]),
        (
            "2.1.325",
            ["Agent", "KillShell", "KillBash", "BashOutput", "BashOutputTool", "AgentOutputTool"],
        ),
    ] {
        let messages = messages(&log, version);
        let messages = messages.as_array().unwrap();
        let blocks = messages.iter().flat_map(|message| message["content"].as_array().unwrap());
        let names: Vec<&str> = blocks.filter_map(|block| block["name"].as_str()).collect();
        assert_eq!(names, expected, "{version}");
    }
}

const NOTICE: &str = "[Truncated: PARTIAL view — /home/dev/app/big.txt: showing 3168 of 6001 lines. Call Read with offset/limit to page through. Do NOT answer from this page alone if the answer may be further in the file.]";

#[test]
fn the_newest_client_says_that_a_file_was_not_read_to_its_end() {
    let detail = r#"{"type":"text","file":{"filePath":"/home/dev/app/big.txt","content":"x","numLines":3168,"startLine":1,"totalLines":6001,"truncatedByTokenCap":true}}"#;
    let log = |model| builder(model).tool_with_detail("Read", "{}", "1\tx", detail).answer("done");
    let told = messages(&log(NEW_MODEL), "2.1.325");
    assert_eq!(told[3]["role"], "system");
    assert_eq!(told[3]["content"], NOTICE);
    let told = messages(&log(OLD_MODEL), "2.1.325");
    let expected = format!("1\tx\n\n<system-reminder>\n{NOTICE}\n</system-reminder>");
    assert_eq!(told[2]["content"][0]["content"], expected);
    for version in ["2.1.100", "2.1.200"] {
        assert!(!messages(&log(NEW_MODEL), version).to_string().contains("PARTIAL"), "{version}");
    }
    // A log that tells of it is not told twice.
    let id = told[1]["content"][0]["id"].as_str().unwrap();
    let noticed = builder(NEW_MODEL).tool_with_detail("Read", "{}", "1\tx", detail);
    let noticed = noticed.attachment("read_truncation_notice", ("toolUseID", id)).answer("done");
    assert!(!messages(&noticed, "2.1.325").to_string().contains("PARTIAL"));
}

#[test]
fn the_newest_client_has_other_words_for_what_the_log_does_not_quote() {
    let log = builder(NEW_MODEL).answer("one").prompt("two");
    let with = |name: &str, field: (&str, &str), version: &str| {
        messages(&log.clone().attachment(name, field).answer("done"), version).to_string()
    };
    let edited = |version| with("edited_text_file", ("filename", "/a.txt"), version);
    assert!(edited("2.1.325").contains("/a.txt changed on disk since you last read it."));
    assert!(edited("2.1.200").contains("/a.txt was modified, either by the user or by a linter."));
    let queued = |version| with("queued_command", ("prompt", "wait"), version);
    assert!(queued("2.1.325").contains("Address the message above as you continue this turn."));
    assert!(queued("2.1.200").contains("you MUST address the user's message above."));
    let reminded = |version| with("task_reminder", ("x", "y"), version).contains("task tools");
    assert!(reminded("2.1.200"));
    assert!(!reminded("2.1.325"));
    let old =
        builder(OLD_MODEL).answer("one").prompt("two").attachment("task_reminder", ("x", "y"));
    assert!(messages(&old.answer("done"), "2.1.325").to_string().contains("task tools"));
}

#[test]
fn an_older_client_takes_a_plan_away_and_leaves_what_it_does_not_know() {
    let input = r##"{"plan":"# Plan","planFilePath":"/home/dev/.claude/plans/a.md"}"##;
    let log = builder(NEW_MODEL).tool("ExitPlanMode", input, "ok").answer("done");
    let sent = |version| messages(&log, version)[1]["content"][0]["input"].to_string();
    assert_eq!(sent("2.1.29"), r#"{"planFilePath":"/home/dev/.claude/plans/a.md"}"#);
    assert!(sent("2.0.50").contains("# Plan"), "{}", sent("2.0.50"));
    assert!(sent("2.1.325").contains("# Plan"), "{}", sent("2.1.325"));
}
