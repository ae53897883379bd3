//! What cannot be done gets a clear message, and nothing is lost.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::set_mode;

const GIANT: &str = "aaaaaaaa-0000-4000-8000-000000000001";

#[test]
fn a_home_that_is_missing_or_a_file_is_told() {
    let test = TestHome::empty();
    let file = test.home.write("file", "x");
    let missing = test.home.path().join("missing");
    assert_snapshot!(test.run(&["ls", "--home", missing.to_str().unwrap()]).shown(), @"
    --- stderr
    error: there is no Claude Code home at [claude]/missing
    hint: name it with --home DIR or CLAUDE_CONFIG_DIR; `recto demo` shows a sample
    --- exit 2
    ");
    assert_snapshot!(test.run(&["ls", "--home", file.to_str().unwrap()]).shown(), @"
    --- stderr
    error: [claude]/file is not a directory
    hint: name the directory that contains `projects/`
    --- exit 2
    ");
    assert_snapshot!(test.run(&["ls", "--json", "--home", missing.to_str().unwrap()]).shown(), @r#"
    --- stderr
    {"error":"there is no Claude Code home at [claude]/missing","kind":"no-home","hints":["name it with --home DIR or CLAUDE_CONFIG_DIR; `recto demo` shows a sample"]}
    --- exit 2
    "#);
}

#[test]
fn a_test_that_names_no_home_is_refused() {
    let test = TestHome::with_sessions();
    let mut command = test.command(&["ls"]);
    // Without the guard, the program would look here.
    fs::create_dir(test.user.path().join(".claude")).unwrap();
    let run = test.finish(command.env_remove("CLAUDE_CONFIG_DIR"));
    assert_snapshot!(run.shown(), @"
    --- stderr
    error: a test asked for a home without naming one
    hint: set CLAUDE_CONFIG_DIR to a directory of the test's own
    --- exit 2
    ");
    let mut command = test.command(&["ls"]);
    command.env_remove("CLAUDE_CONFIG_DIR").env_remove("RECTO_TEST_HOME_GUARD").env_remove("HOME");
    assert_snapshot!(test.finish(&mut command).shown(), @"
    --- stderr
    error: no home directory is set
    hint: set HOME, or use --home DIR
    --- exit 2
    ");
}

#[test]
fn an_unknown_session_gets_the_nearest_ones() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["show", "3f2c"]).shown(), @"
    --- stderr
    error: no session matches `3f2c`; did you mean:
      3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 Repair the parser
      3f2b77aa-51c7-4d02-b8f4-93ad17c2e680 Parser docs
    hint: `recto ls` lists the sessions
    --- exit 1
    ");
    assert_snapshot!(test.run(&["show", "pasrer"]).shown(), @"
    --- stderr
    error: no session matches `pasrer`; did you mean:
      3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 Repair the parser
      3f2b77aa-51c7-4d02-b8f4-93ad17c2e680 Parser docs
    hint: `recto ls` lists the sessions
    --- exit 1
    ");
    assert_snapshot!(test.run(&["check", "zzzzzzzzzz", "--json"]).shown(), @r#"
    --- stderr
    {"error":"no session matches `zzzzzzzzzz`","kind":"not-found","hints":["`recto ls` lists the sessions"]}
    --- exit 1
    "#);
    assert_snapshot!(test.run(&["show", ""]).shown(), @"
    --- stderr
    error: no session matches ``
    hint: `recto ls` lists the sessions
    --- exit 1
    ");
    assert_snapshot!(test.run(&["show", "agent-nobody"]).shown(), @"
    --- stderr
    error: no session matches `agent-nobody`
    hint: `recto ls` lists the sessions
    --- exit 1
    ");
    assert_snapshot!(TestHome::empty().run(&["show"]).shown(), @"
    --- stderr
    error: this home has no sessions yet
    hint: `recto demo` shows recto on a sample
    --- exit 1
    ");
}

#[test]
fn an_unclear_session_gets_its_candidates() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["show", "3f2"]).shown(), @"
    --- stderr
    error: `3f2` matches more than one session:
      3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 Repair the parser
      3f2b77aa-51c7-4d02-b8f4-93ad17c2e680 Parser docs
    hint: type more of the id
    --- exit 2
    ");
    assert_snapshot!(test.run(&["drift", "parser"]).shown(), @"
    --- stderr
    error: `parser` matches more than one session:
      3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 Repair the parser
      3f2b77aa-51c7-4d02-b8f4-93ad17c2e680 Parser docs
    hint: type more of the id
    --- exit 2
    ");
    assert_snapshot!(test.run(&["show", "parser", "--json"]).shown(), @r#"
    --- stderr
    {"error":"`parser` matches more than one session:","kind":"ambiguous","hints":["3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718  Repair the parser","3f2b77aa-51c7-4d02-b8f4-93ad17c2e680  Parser docs","type more of the id"]}
    --- exit 2
    "#);
}

#[test]
fn selectors_that_name_nothing_are_told() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["show", "current"]).shown(), @"
    --- stderr
    error: SESSION_CONTEXT names no session
    hint: in a hook, give its JSON on standard input: `recto show -`
    --- exit 2
    ");
    assert_snapshot!(test.run(&["show", "-"]).shown(), @"
    --- stderr
    error: standard input names no session
    --- exit 2
    ");
    assert_snapshot!(test.run_with_input(&["show", "-"], r#"{"id":"nope"}"#).shown(), @"
    --- stderr
    error: no session matches `nope`
    hint: `recto ls` lists the sessions
    --- exit 1
    ");
    assert_snapshot!(test.run(&["show", "./nowhere.jsonl"]).shown(), @"
    --- stderr
    error: there is no file ./nowhere.jsonl
    --- exit 1
    ");
    assert_snapshot!(test.run(&["show", "../"]).shown(), @"
    --- stderr
    error: ../ is not a regular file
    --- exit 2
    ");
    let secret = test.home.write("projects/-home-dev-app/.credentials.json", "secret");
    assert_snapshot!(test.run(&["show", secret.to_str().unwrap()]).shown(), @"
    --- stderr
    error: [claude]/projects/-home-dev-app/.credentials.json can contain a secret and is never opened
    --- exit 2
    ");
}

#[test]
fn what_was_typed_wrong_is_told() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["ls", "--since", "7 parsecs"]).shown(), @"
    --- stderr
    error: invalid value `7 parsecs` for --since
    hint: use a date (2026-11-16), a time (2026-11-16T09:30), or a span (3mo, 7d, 12h, 30m)
    --- exit 2
    ");
    assert_snapshot!(test.run(&["show", "3f2a", "--turn", "99"]).shown(), @"
    --- stderr
    error: there is no turn 99
    hint: the session has 4 turns
    --- exit 1
    ");
    assert_snapshot!(test.run(&["agents", "3f2a", "zz"]).shown(), @"
    --- stderr
    error: no subagent matches `zz`
    hint: a1b2c3d4e5f60718
    --- exit 1
    ");
    assert_snapshot!(test.run(&["agents", "agent-a1b2c3d4e5f60718"]).shown(), @"
    --- stderr
    error: only a session of the home has subagents
    --- exit 2
    ");
    assert_snapshot!(test.run(&["agents", "3f2b"]).shown(), @"
    --- stderr
    no subagents in this session
    --- exit 1
    ");
    assert_snapshot!(test.run(&["history", "--text", "no such prompt"]).shown(), @"
    --- stderr
    no prompts found
    --- exit 1
    ");
    assert_snapshot!(test.run(&["man", "nothing"]).shown(), @"
    --- stderr
    error: unknown command `nothing`
    hint: `recto help --all` lists the commands
    --- exit 2
    ");
    assert_eq!(test.run(&["check", "3f2a", "--all"]).code, 2);
    assert_eq!(test.run(&["lst"]).code, 2);
    assert_eq!(test.run(&["show", "3f2a", "--raw", "--thinking"]).code, 2);
}

#[test]
fn a_binary_file_is_damage_and_not_the_end() {
    let test = TestHome::empty();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let log = SessionBuilder::new(GIANT, Client::V2_1_325).raw(bytes);
    test.home.add(&log, hours_ago(1));
    assert_snapshot!(test.run(&["ls", "--all"]).shown(), @"
    aaaaaaaa	1h	100 kB	(stub)	?
    --- exit 0
    ");
    assert_snapshot!(test.run(&["check", "--all"]).shown(), @"
    	damaged	2.0.50	2.1.29	latest
    aaaaaaaa-0000-4000-8000-000000000001	392 of 392 lines				1 torn-line, 391 nul-bytes
    392 lines in 1 log: 392 damaged
    --- exit 1
    ");
    let shown = test.run(&["show", "aaaa"]);
    assert_eq!(shown.code, 0);
    assert!(shown.stdout.contains("(damaged line, line 1, 10 bytes)"), "{}", shown.stdout);
}

#[test]
fn an_empty_file_is_a_log_without_lines() {
    let test = TestHome::empty();
    test.home.add(&SessionBuilder::new(GIANT, Client::V2_0_50), hours_ago(1));
    assert_snapshot!(test.run(&["show", "aaaa"]).shown(), @"
    (no title)
    aaaaaaaa-0000-4000-8000-000000000001 · 0 B

    (no conversation in this log)
    --- exit 0
    ");
    assert_snapshot!(test.run(&["check", "aaaa"]).shown(), @"
    0 lines in 1 log: no damage
    --- exit 0
    ");
    assert_eq!(test.run(&["show", "aaaa", "--raw"]).raw.stdout, b"");
}

/// The limit is on what the process may write to, so the test fails if a line
/// is held as a whole.
#[cfg(target_os = "linux")]
#[test]
fn a_line_of_a_gigabyte_takes_little_memory() {
    let test = TestHome::empty();
    let log = SessionBuilder::new(GIANT, Client::V2_1_325).prompt("Hello").answer("Hi");
    let path = test.home.add(&log, hours_ago(1));
    let whole = log.bytes().len() as u64;
    // A hole of zeros takes no room on the disk.
    fs::File::options().write(true).open(&path).unwrap().set_len(whole + (1 << 30)).unwrap();
    let limited = |arguments: &str| {
        let mut command = Command::new("/bin/sh");
        let program = env!("CARGO_BIN_EXE_recto");
        command.args(["-c", &format!("ulimit -d 262144 && exec '{program}' {arguments}")]);
        test.set_environment(&mut command);
        // Each thread has a stack, and the machine may have many cores.
        test.finish(command.env("RAYON_NUM_THREADS", "2"))
    };
    let check = limited("check aaaa");
    assert_eq!(check.code, 1, "{}", check.shown());
    assert!(check.stdout.contains("line 6, byte "), "{}", check.stdout);
    assert!(check.stdout.contains("line-too-long"), "{}", check.stdout);
    let show = limited("show aaaa");
    assert_eq!(show.code, 0, "{}", show.shown());
    assert!(show.stdout.contains("(damaged line, line 6, 1073741824 bytes)"), "{}", show.stdout);
    let list = limited("ls --json");
    assert_eq!(list.json()[0]["first_prompt"], "Hello", "{}", list.shown());
    assert_eq!(limited("drift").code, 0);
    assert_eq!(limited("home").code, 0);
}

#[test]
fn odd_files_and_links_are_passed_over() {
    let test = TestHome::with_sessions();
    let project = test.home.path().join("projects/-home-dev-app");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("log"), "{}\n").unwrap();
    link(&outside.path().join("log"), &project.join("bbbbbbbb-0000-4000-8000-000000000000.jsonl"));
    link(outside.path(), &test.home.path().join("projects/-outside"));
    fs::create_dir(project.join("cccccccc-0000-4000-8000-000000000000.jsonl")).unwrap();
    let pipe = project.join("ffffffff-0000-4000-8000-000000000000.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let shown = test.run(&["ls", "--all", "--json"]);
    let ids: Vec<String> =
        shown.json().iter().map(|row| row["id"].to_string()[1..5].to_owned()).collect();
    assert_eq!(ids, ["dddd", "eeee", "3f2a", "3f2b", "c81d"]);
    let mut remarks: Vec<&str> = shown.stderr.lines().collect();
    remarks.sort_unstable();
    assert_snapshot!(remarks.join("\n"), @"
    skipped: [claude]/projects/-home-dev-app/bbbbbbbb-0000-4000-8000-000000000000.jsonl is a symbolic link that leads out of the home
    skipped: [claude]/projects/-outside is a symbolic link that leads out of the home
    ");
    assert_snapshot!(test.run(&["show", pipe.to_str().unwrap()]).shown(), @"
    --- stderr
    error: [claude]/projects/-home-dev-app/ffffffff-0000-4000-8000-000000000000.jsonl is not a regular file
    --- exit 2
    ");
    assert_eq!(test.run(&["check", "--all"]).code, 0);
}

fn link(to: &Path, from: &Path) {
    std::os::unix::fs::symlink(to, from).unwrap();
}

#[test]
fn a_log_that_vanished_is_told() {
    let test = TestHome::with_sessions();
    let path = test.home.path().join(format!("projects/-home-dev-docs/{DOCS}.jsonl"));
    // A link inside its folder whose end is gone: there by name, not to be opened.
    let moved = path.with_file_name("moved.jsonl");
    fs::rename(&path, &moved).unwrap();
    link(&moved, &path);
    assert_eq!(test.run(&["show", "3f2b"]).code, 0);
    fs::remove_file(&moved).unwrap();
    assert_snapshot!(test.run(&["show", path.to_str().unwrap()]).shown(), @"
    --- stderr
    error: there is no file [claude]/projects/-home-dev-docs/3f2b77aa-51c7-4d02-b8f4-93ad17c2e680.jsonl
    --- exit 1
    ");
    assert_eq!(test.run(&["check", "--all"]).code, 0);
    assert_eq!(test.run(&["ls"]).stdout.lines().count(), 2);
}

#[test]
fn what_may_not_be_read_is_told() {
    let test = TestHome::with_sessions();
    let run = |arguments: &[&str]| test.run_as_nobody(arguments);
    let set = set_mode;
    let log = test.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"));
    let project = test.home.path().join("projects/-home-dev-docs");
    set(&log, 0o000);
    set(&project, 0o000);
    assert_snapshot!(run(&["ls"]).shown(), @"
    3f2a1b4c	2h	9.5 kB	(unreadable)	?
    c81d4e2e	3w	1.2 kB	What does this project do?	/home/dev/app		sonnet-4-5
    --- stderr
    skipped: [claude]/projects/-home-dev-docs may not be read
    --- exit 0
    ");
    assert_snapshot!(run(&["show", "3f2a"]).shown(), @"
    --- stderr
    error: [claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl: permission denied
    hint: check the permissions of the file
    --- exit 2
    ");
    assert_snapshot!(run(&["check", "3f2a", "--json"]).shown(), @r#"
    {"log":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","path":"[claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl","line":null,"offset":null,"kind":"unreadable","severity":"damage","detail":"[claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl: Permission denied (os error 13)"}
    --- exit 1
    "#);
    assert_snapshot!(run(&["check", "--all"]).shown(), @"
    	damaged	2.0.50	2.1.29	latest
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718	0 of 0 lines				[claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl: Permission denied (os error 13)
    8 lines in 5 logs: 0 damaged, 1 log could not be read
    --- stderr
    skipped: [claude]/projects/-home-dev-docs may not be read
    --- exit 1
    ");
    assert_snapshot!(run(&["drift"]).shown(), @"
    recto 0.2.0, 8 lines
    client versions: 2.0.50 (4), 2.1.325 (2)
    No unknown fields.
    --- stderr
    skipped: [claude]/projects/-home-dev-docs may not be read
    skipped: [claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl: Permission denied (os error 13)
    --- exit 0
    ");
    assert_snapshot!(run(&[]).shown(), @"
    [claude]  3 session logs in 2 projects, 11 kB

    Newest
    3f2a1b4c	2h	9.5 kB	(unreadable)	?
    c81d4e2e	3w	1.2 kB	What does this project do?	/home/dev/app		sonnet-4-5

      recto show 3f2a1b4c         read a session
      recto ls                    all sessions; --since 7d, --project NAME
      recto home                  disk usage and upcoming deletions
      recto check --all           check for damage
    --- stderr
    skipped: [claude]/projects/-home-dev-docs may not be read
    --- exit 0
    ");
    set(&project, 0o755);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let test = TestHome::empty();
    let mut log = SessionBuilder::new(FIX, Client::V2_1_325);
    for _ in 0..20_000 {
        log = log.prompt("Hello").answer("Hi");
    }
    test.home.add(&log, hours_ago(1));
    for arguments in [&["show"][..], &["show", "--raw"]] {
        let mut command = test.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The pipe is closed before everything fits into it.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn an_export_replaces_nothing_unless_told_to() {
    let test = TestHome::with_sessions();
    let out = test.work.path().join("session.md");
    let out = out.to_str().unwrap();
    assert_snapshot!(test.run(&["export", "3f2b", "--output", out]).shown(), @"
    --- stderr
    wrote [work]/session.md: 281 B from a log of 1.1 kB (25 %)
    --- exit 0
    ");
    fs::write(out, "mine").unwrap();
    assert_snapshot!(test.run(&["export", "3f2b", "--output", out]).shown(), @"
    --- stderr
    error: [work]/session.md exists
    hint: --force replaces it
    --- exit 2
    ");
    assert_eq!(fs::read_to_string(out).unwrap(), "mine");
    assert_eq!(test.run(&["export", "3f2b", "--output", out, "--force"]).code, 0);
    assert!(fs::read_to_string(out).unwrap().contains("Written."));
    let folder = test.work.path().to_str().unwrap();
    assert_snapshot!(test.run(&["export", "3f2b", "--output", folder]).shown(), @"
    --- stderr
    error: [work] is a directory
    hint: name a file, or use --all
    --- exit 2
    ");
    assert_eq!(fs::read_dir(test.work.path()).unwrap().count(), 1, "a file was left behind");
}
