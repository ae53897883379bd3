//! `recto ls`.

use insta::assert_snapshot;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::OLD;
use crate::support::TestHome;

/// The ids that a listing gives.
fn ids(test: &TestHome, arguments: &[&str]) -> Vec<String> {
    let mut words = vec!["ls", "--json"];
    words.extend(arguments);
    let run = test.run(&words);
    assert_eq!(run.stderr, "");
    run.json().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn sessions_are_listed_newest_first() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["ls"]).shown(), @"
    3f2a1b4c	2h	9.5 kB	Repair the parser	/home/dev/app	fix/parser	opus-5-5
    3f2b77aa	1d	1.1 kB	Parser docs	/home/dev/docs	main	sonnet-4-5
    c81d4e2e	3w	1.2 kB	What does this project do?	/home/dev/app		sonnet-4-5
    --- exit 0
    ");
}

#[test]
fn subagents_and_files_without_a_conversation_are_listed_when_asked_for() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["ls", "--all", "--agents"]).shown(), @"
    dddddddd	1h	72 B	(stub)	?
    eeeeeeee	1h	0 B	(empty)	?
    3f2a1b4c	2h	9.5 kB	Repair the parser	/home/dev/app	fix/parser	opus-5-5
    agent-a1b2c3d4e5f60718	3h	1.1 kB	Find all callers of parse().	/home/dev/app	main	opus-5-5
    3f2b77aa	1d	1.1 kB	Parser docs	/home/dev/docs	main	sonnet-4-5
    c81d4e2e	3w	1.2 kB	What does this project do?	/home/dev/app		sonnet-4-5
    agent-1f2e3d4c	3w	1.0 kB	(warmup)	/home/dev/app	main	sonnet-4-5
    --- exit 0
    ");
}

#[test]
fn a_line_of_json_has_every_field() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["ls", "--json", "-n", "1"]).shown(), @r#"
    {"id":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","kind":"session","session":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","project":"-home-dev-app","project_name":"app","subagent":false,"path":"[claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl","cwd":"/home/dev/app","title":"Repair the parser","title_source":"ai","goal":"The parser fails on empty lines. Please repair it.","first_prompt":"The parser fails on empty lines. Please repair it.","last_prompt":"Thanks!","started":"2026-11-16T08:00:00.000Z","updated":"2026-11-16T10:00:00.000Z","ended":"2026-11-16T08:00:19.000Z","bytes":9503,"version":"2.1.325","branch":"fix/parser","model":"claude-opus-5-5","live":null,"archived":false}
    --- exit 0
    "#);
}

#[test]
fn live_sessions_are_marked_and_can_be_listed_alone() {
    let test = TestHome::with_sessions();
    let file = test.home.announce(DOCS, "busy");
    assert_snapshot!(test.run(&["ls", "--live"]).shown(), @"
    3f2b77aa	1d	1.1 kB	Parser docs	/home/dev/docs	main	sonnet-4-5	● working
    --- exit 0
    ");
    assert_eq!(ids(&test, &["--live"]), [DOCS]);
    // The same pid, but another process: the client is gone.
    let text = std::fs::read_to_string(&file).unwrap();
    let other = text.replace("\"procStart\":\"", "\"procStart\":\"9");
    assert_ne!(text, other, "this system does not tell when a process started");
    std::fs::write(&file, other).unwrap();
    assert_eq!(ids(&test, &["--live"]), [""; 0]);
    let told = "no session is running; `recto ls` lists all, `recto resume` resumes one\n";
    assert_eq!(test.run(&["ls", "--live"]).stderr, told);
    test.home.announce(DOCS, "busy");
    let told = "no running session matches\n";
    assert_eq!(test.run(&["ls", "--live", "--project", "nowhere"]).stderr, told);
}

#[test]
fn a_running_session_has_the_status_that_status_says() {
    let test = TestHome::with_sessions();
    for announced in ["busy", "idle", "waiting"] {
        test.home.announce(FIX, announced);
        let status = test.run(&["status", FIX]).stdout;
        let words = status.split('\t').nth(1).unwrap_or_default().to_owned();
        let listed = test.run(&["ls", "--live"]).stdout;
        assert!(!words.is_empty() && listed.ends_with(&format!("● {words}\n")), "{status}{listed}");
    }
}

#[test]
fn on_a_very_narrow_terminal_titles_take_the_room_of_paths() {
    let test = TestHome::with_sessions();
    let narrow = |columns: &str| {
        let mut command = test.command(&["ls", "-n", "1"]);
        test.finish(command.env("RECTO_COLUMNS", columns)).stdout
    };
    assert_eq!(narrow("60"), "3f2a1b4c  2h  9.5 kB  Repair the parser  /home/dev/app\n");
    assert_eq!(narrow("42"), "3f2a1b4c  2h  9.5 kB  Repair the parser\n");
}

#[test]
fn filters_choose_by_project_time_model_and_branch() {
    let test = TestHome::with_sessions();
    assert_eq!(ids(&test, &[]), [FIX, DOCS, OLD]);
    assert_eq!(ids(&test, &["--project", "DOCS"]), [DOCS]);
    assert_eq!(ids(&test, &["--project", "/home/dev/app"]), [FIX, OLD]);
    assert_eq!(ids(&test, &["--project", "-home-dev-docs"]), [DOCS]);
    assert_eq!(ids(&test, &["--since", "2d"]), [FIX, DOCS]);
    assert_eq!(ids(&test, &["--until", "2026-11-16"]), [DOCS, OLD]);
    assert_eq!(ids(&test, &["--since", "2026-11-15T00:00:00Z", "--until", "today"]), [DOCS]);
    assert_eq!(ids(&test, &["--model", "opus"]), [FIX]);
    assert_eq!(ids(&test, &["--branch", "main"]), [DOCS]);
    assert_eq!(ids(&test, &["-n", "2"]), [FIX, DOCS]);
}

#[test]
fn a_filter_that_nothing_fits_is_exit_code_1() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["ls", "--project", "nowhere"]).shown(), @"
    --- stderr
    none of 5 logs matches; `--all` includes logs without a conversation
    --- exit 1
    ");
    let run = test.run(&["ls", "--project", "nowhere", "--json"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, "", ""));
}
