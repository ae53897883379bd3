//! `recto statusline`.

use std::process::Stdio;

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::hostile;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// What the client says, with a log that the home has.
fn input(test: &TestHome) -> String {
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .branch("fix/parser")
        .prompt("Repair the parser")
        .answer("Repaired.");
    let path = test.home.add(&log, hours_ago(1));
    let path = serde_json::to_string(&path).unwrap();
    format!(
        r#"{{"hook_event_name":"Status","session_id":"{FIX}","transcript_path":{path},"cwd":"/home/dev/app","model":{{"id":"claude-opus-5-5","display_name":"Opus 5.5"}},"workspace":{{"current_dir":"/home/dev/app","project_dir":"/home/dev/app"}},"version":"2.1.325","cost":{{"total_cost_usd":1.2345,"total_duration_ms":754000}},"context_window":{{"context_window_size":20000}}}}"#
    )
}

#[test]
fn all_that_is_known_is_on_one_line() {
    let test = TestHome::empty();
    let input = input(&test);
    assert_snapshot!(test.run_with_input(&["statusline"], &input).shown(), @"
    Opus 5.5 · /home/dev/app · fix/parser · 9.1k of 20.0k (45 %) · $1.23 · 12m 34s
    --- exit 0
    ");
    assert_snapshot!(test.run_with_input(&["statusline", "--json"], &input).shown(), @r#"
    {"session":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","model":"Opus 5.5","directory":"/home/dev/app","branch":"fix/parser","version":"2.1.325","context_tokens":9128,"window_tokens":20000,"context_percent":45,"duration_ms":754000,"cost_usd":1.2345}
    --- exit 0
    "#);
    let format = "{model} [{percent} of {window}][ and {typo}] {session}";
    assert_snapshot!(test.run_with_input(&["statusline", "--format", format], &input).shown(), @"
    Opus 5.5 45 % of 20.0k and {typo} 3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718
    --- exit 0
    ");
    let coloured = test.run_with_input(&["statusline", "--color", "always"], &input);
    assert!(coloured.stdout.contains("\u{1b}[35m") || coloured.stdout.contains("\u{1b}[1m"));
}

#[test]
fn what_is_missing_is_left_out_and_nothing_is_an_error() {
    let test = TestHome::empty();
    for (given, line) in [
        ("", "\n"),
        ("garbage", "\n"),
        ("{", "\n"),
        ("[1,2]", "\n"),
        (r#"{"model":{"display_name":"Opus"}}"#, "Opus\n"),
        (r#"{"model":{"display_name":"Opus"},"transcript_path":"/nowhere.jsonl","#, "Opus\n"),
        (r#"{"transcript_path":"/","cwd":"/w","cost":{"total_cost_usd":0}}"#, "/w · $0.00\n"),
    ] {
        let run = test.run_with_input(&["statusline"], given);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, line, ""), "{given}");
    }
    // No home is needed.
    let run = test.run_with_input(&["statusline", "--home", "/nowhere"], r#"{"cwd":"/w"}"#);
    assert_eq!((run.code, run.stdout.as_str()), (0, "/w\n"));
}

#[test]
fn a_pipe_that_stays_open_does_not_make_it_wait() {
    use std::io::Read as _;
    use std::io::Write as _;
    let test = TestHome::empty();
    let mut command = test.command(&["statusline"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(br#"{"cwd":"/w"}"#).unwrap();
    pipe.flush().unwrap();
    // The pipe is still open when the line has come and the program has gone.
    let mut line = String::new();
    child.stdout.take().unwrap().read_to_string(&mut line).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(line, "/w\n");
    drop(pipe);
}

#[test]
fn hostile_words_do_not_act_on_the_terminal() {
    let test = TestHome::empty();
    for (number, text) in hostile::texts().iter().enumerate() {
        // Every run is a process; a part of the texts says enough.
        if number % 16 != 0 {
            continue;
        }
        let log = SessionBuilder::new(FIX, Client::V2_1_325)
            .branch(&format!("w-branch{text}"))
            .prompt("x")
            .answer("x");
        let path = test.home.add(&log, hours_ago(1));
        let input = serde_json::json!({
            "transcript_path": path,
            "cwd": format!("/w-directory{text}"),
            "model": {"display_name": format!("w-model{text}")},
        });
        for arguments in [&["statusline"][..], &["statusline", "--format", "{model} {branch}"]] {
            let run = test.run_with_input(arguments, &input.to_string());
            hostile::assert_no_control(&run.stdout, "the line");
            assert_eq!(run.stdout.lines().count(), 1, "{:?}", run.stdout);
            assert!(run.stdout.contains("w-model") && run.stdout.contains("w-branch"));
        }
    }
}
