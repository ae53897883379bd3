//! `recto status`.

use std::fs;

use insta::assert_snapshot;
use jiff::SignedDuration;
use jiff::Timestamp;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::hostile;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::NOW;
use crate::support::OLD;
use crate::support::TestHome;

fn seconds_ago(seconds: i64) -> Timestamp {
    NOW.parse::<Timestamp>().unwrap() - SignedDuration::from_secs(seconds)
}

/// One that waits for an answer, one that works, one whose turn is over, and one whose
/// client died.
pub(crate) fn busy_home() -> TestHome {
    let test = TestHome::empty();
    let call = r#"{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"make"}}"#;
    let fix = SessionBuilder::new(FIX, Client::V2_1_29)
        .branch("fix/parser")
        .at(seconds_ago(40))
        .prompt("Repair the parser")
        .at(seconds_ago(14))
        .model_block(call)
        .custom_title("Parser");
    test.home.add(&fix, seconds_ago(14));
    let docs = SessionBuilder::new(DOCS, Client::V2_1_29)
        .cwd("/home/dev/docs")
        .at(seconds_ago(120))
        .prompt("Write the docs")
        .at(seconds_ago(60))
        .answer("Written.");
    test.home.add(&docs, seconds_ago(60));
    let old = SessionBuilder::new(OLD, Client::V2_1_325)
        .at(seconds_ago(4000))
        .prompt("Is it done?")
        .at(seconds_ago(3990))
        .answer("Yes.");
    test.home.add(&old, seconds_ago(3990));
    let since = seconds_ago(3000).as_millisecond();
    let gone = format!(
        r#"{{"pid":4000000000,"sessionId":"{OLD}","procStart":"5","status":"busy","statusUpdatedAt":{since}}}"#
    );
    test.home.write("sessions/4000000000.json", gone);
    test
}

#[test]
fn each_session_has_a_status_and_a_reason() {
    let test = busy_home();
    assert_snapshot!(test.run(&["status"]).shown(), @"
    3f2a1b4c	needs approval	11s	Parser	/home/dev/app	Bash was called 14 s ago and has no result yet; in permission mode `default` it may have to be allowed
    3f2b77aa	needs input	50s	Write the docs	/home/dev/docs	a text was written 60 s ago and nothing followed
    c81d4e2e	ended	50m 00s	Is it done?	/home/dev/app	process 4000000000 exited without cleaning up; the turn ended 66 min ago
    --- exit 0
    ");
    let found = &test.run(&["status", "parser", "--json"]).json()[0];
    assert_eq!(found["id"], FIX);
    assert_eq!(found["status"], "waiting_for_approval");
    assert_eq!(found["since"], "2026-11-16T11:59:49.000Z");
    assert_eq!(found["confidence"], "low");
    assert_eq!(found["pending"]["tool"], "Bash");
    assert_eq!(found["pending"]["about"], "make");
    assert_eq!(found["goal"], "Repair the parser");
    assert_eq!(
        (&found["project"], &found["cwd"]),
        (&"-home-dev-app".into(), &"/home/dev/app".into())
    );
    assert_eq!((&found["current"], &found["pid"]), (&().into(), &().into()));
}

#[test]
fn a_running_client_is_first_and_its_word_counts() {
    let test = busy_home();
    let path = test.home.announce(DOCS, "busy");
    let since = seconds_ago(75).as_millisecond();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"busy\"", &format!("\"busy\",\"statusUpdatedAt\":{since}")))
        .unwrap();
    let run = test.run(&["status", "--json"]);
    let first = &run.json()[0];
    assert_eq!(first["id"], DOCS);
    assert_eq!((&first["status"], &first["live"]), (&"working".into(), &true.into()));
    assert_eq!(first["confidence"], "high");
    let why = first["why"][0].as_str().unwrap();
    assert!(why.ends_with("has reported `busy` for 75 s"), "{why}");
    // What ended long ago is told only if it is asked for.
    assert_eq!(run.json().len(), 3);
    fs::remove_file(test.home.path().join("sessions/4000000000.json")).unwrap();
    assert_eq!(test.run(&["status", "--json"]).json().len(), 2);
    assert_eq!(test.run(&["status", "--all", "--json"]).json().len(), 3);
}

#[test]
fn who_waits_is_told_by_the_exit_code() {
    let test = busy_home();
    let run = test.run(&["status", "--wait", "parser", "working,waiting_for_approval"]);
    assert_eq!((run.code, run.stdout.lines().count()), (0, 1), "{}", run.shown());
    assert_snapshot!(test.run(&["status", "--wait", "parser", "ended", "--timeout", "0s"]).shown(), @"
    --- stderr
    timed out; the session's status is `needs approval`
    --- exit 1
    ");
    assert_snapshot!(test.run(&["status", "--wait", "parser", "busy"]).shown(), @"
    --- stderr
    error: invalid status `busy` for --wait
    hint: use one of needs-approval, needs-input, working, idle, ended, unknown
    --- exit 2
    ");
    assert_eq!(test.run(&["status", "--wait", "nobody", "ended", "--timeout", "1s"]).code, 2);
    assert_eq!(test.run(&["status", "--wait", "parser", "ended", "--timeout", "soon"]).code, 2);
    assert_eq!(test.run(&["status", "--timeout", "1s"]).code, 2);
}

#[test]
fn who_waits_sees_a_change() {
    let test = busy_home();
    let mut command = test.command(&["status", "--wait", FIX, "working", "--timeout", "60s"]);
    command.stdout(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    test.home.announce(FIX, "busy");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("working"));
}

#[test]
fn who_waits_for_an_ended_session_is_told_so() {
    let test = busy_home();
    assert_snapshot!(test.run(&["status", "--wait", OLD, "waiting_for_input"]).shown(), @"
    --- stderr
    session ended before reaching `needs input`
    --- exit 1
    ");
    assert_eq!(test.run(&["status", "--wait", OLD, "idle,ended"]).code, 0);
}

#[test]
fn a_log_that_is_deleted_is_that_of_an_ended_session() {
    let test = busy_home();
    let mut command = test.command(&["status", "--json", "--wait", FIX, "ended"]);
    command.stdout(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    wait_until_it_watches(child.id());
    fs::remove_file(test.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"))).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let one: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&one["id"], &one["status"]), (&FIX.into(), &"ended".into()));
    assert_eq!(one["why"][0], "its log no longer exists, and no client is running");
}

/// Waits until a program is told by the system what changes.
fn wait_until_it_watches(pid: u32) {
    let begin = std::time::Instant::now();
    let is_watch = |link: std::io::Result<fs::DirEntry>| {
        fs::read_link(link.unwrap().path()).is_ok_and(|to| to.ends_with("anon_inode:inotify"))
    };
    while !fs::read_dir(format!("/proc/{pid}/fd")).unwrap().any(is_watch) {
        assert!(begin.elapsed().as_secs() < 60, "it does not watch");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_client_without_a_log_is_found_by_the_id_that_is_listed() {
    let test = TestHome::empty();
    test.home.announce(FIX, "idle");
    let listed = test.run(&["status"]).stdout;
    let short = listed.split_whitespace().next().unwrap();
    assert_eq!(short.len(), 8, "{listed}");
    assert_eq!(test.run(&["status", short, "--json"]).json()[0]["id"], FIX);
    assert_eq!(test.run(&["status", "3f3"]).code, 1);
}

#[test]
fn nothing_to_tell_is_the_exit_code_1() {
    let test = TestHome::empty();
    assert_snapshot!(test.run(&["status"]).shown(), @r"
    --- stderr
    no session is running, and none was active within the last hour
    --- exit 1
    ");
    assert_eq!(test.run(&["status", "--json"]).shown(), "--- exit 1\n");
}

#[test]
fn hostile_text_does_nothing_here() {
    let test = TestHome::empty();
    for (number, text) in hostile::texts().iter().enumerate() {
        let field = |word: &str| serde_json::to_string(&format!("{word}{text}")).unwrap();
        let call = format!(
            r#"{{"type":"tool_use","id":{},"name":{},"input":{{"command":{}}}}}"#,
            field("w-id"),
            field("w-tool"),
            field("w-input")
        );
        let id = format!("{number:08x}-0000-4000-8000-000000000000");
        let log = SessionBuilder::new(&id, Client::V2_1_29)
            .cwd(&format!("/w-cwd{text}"))
            .branch(&format!("w-branch{text}"))
            .version(&format!("w-version{text}"))
            .model(&format!("w-model{text}"))
            .at(seconds_ago(60))
            .prompt(&format!("w-prompt{text}"))
            .raw(format!(
                "{{\"type\":\"permission-mode\",\"permissionMode\":{}}}\n",
                field("w-mode")
            ))
            .model_block(&call);
        test.home.add(&log, seconds_ago(60));
    }
    for arguments in [&["status"][..], &["status", "--color", "always"], &["status", "--json"]] {
        let run = test.run(arguments);
        let shown = hostile::without_own_colours(&run.stdout);
        hostile::assert_no_control(&shown, &format!("{arguments:?}"));
        for word in ["w-cwd", "w-prompt", "w-tool", "w-mode"] {
            assert!(shown.contains(word), "{arguments:?} does not show {word}");
        }
    }
}
