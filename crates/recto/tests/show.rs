//! `recto show`.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

#[test]
fn a_session_reads_as_a_conversation() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["show", "3f2a"]).shown(), @r#"
    Repair the parser
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 · /home/dev/app · fix/parser · 2026-11-16 08:00:00 · claude-opus-5-5 · client 2.1.325 · 9.5 kB

    You  1  2026-11-16 08:00:01
      The parser fails on empty lines.
      Please repair it.

    Claude
      ⏺ Bash cargo test
      ⎿ line 1
        line 2
        line 3
        line 4
        … 2 more lines
      ⏺ Read /home/dev/app/gone.rs
      ⎿ File does not exist.

      Repaired: empty lines are skipped now.

    You
      /cost today
      ⎿ Total: $0.12

      [Request interrupted by user]
      ── conversation compacted (manual), 150,000 tokens before ──
      summary of the conversation so far

    You  4  2026-11-16 08:00:18
      Thanks!

    Claude
      You are welcome.
    --- exit 0
    "#);
}

#[test]
fn everything_is_shown_when_asked_for() {
    let test = TestHome::with_sessions();
    let arguments = ["show", "3f2a", "--thinking", "--tools", "full", "--meta", "--agents"];
    assert_snapshot!(test.run(&arguments).shown(), @r#"
    Repair the parser
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 · /home/dev/app · fix/parser · 2026-11-16 08:00:00 · claude-opus-5-5 · client 2.1.325 · 9.5 kB

    You  1  2026-11-16 08:00:01
      The parser fails on empty lines.
      Please repair it.

      attachment: date

    Claude
      An empty line is no JSON.
      ⏺ Bash
        command: cargo test
        description: Run the tests
      ⎿ line 1
        line 2
        line 3
        line 4
        line 5
        line 6
      ⏺ Read
        file_path: /home/dev/app/gone.rs
      ⎿ File does not exist.

      Repaired: empty lines are skipped now.

    You
      /cost today
      ⎿ Total: $0.12

      <system-reminder>Be brief.</system-reminder>
      [Request interrupted by user]
      ── conversation compacted (manual), 150,000 tokens before ──
      summary of the conversation so far
      We repaired the parser.

    You  4  2026-11-16 08:00:18
      Thanks!

    Claude
      You are welcome.

      │ Find all callers of parse().
      │ agent-a1b2c3d4e5f60718 · /home/dev/app · main · 2026-11-16 08:00:00 · claude-opus-5-5 · client 2.1.325

      │ Task  1  2026-11-16 08:00:00
      │   Find all callers of parse().

      │ Claude
      │   There are two callers.
    --- exit 0
    "#);
}

#[test]
fn tools_can_be_left_out() {
    let test = TestHome::with_sessions();
    let shown = test.run(&["show", "3f2a", "--tools", "none"]).stdout;
    assert!(!shown.contains("cargo test") && !shown.contains("line 1"), "{shown}");
    assert!(shown.contains("Repaired: empty lines"), "{shown}");
}

#[test]
fn a_session_is_named_in_many_ways() {
    let test = TestHome::with_sessions();
    let path = test.home.path().join(format!("projects/-home-dev-docs/{DOCS}.jsonl"));
    let around = test.home.path().join(format!("projects/../projects/-home-dev-docs/{DOCS}.jsonl"));
    for name in [DOCS, "3F2B", "parser DOCS", path.to_str().unwrap(), around.to_str().unwrap()] {
        let run = test.run(&["show", name]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name}");
        assert!(
            run.stdout.starts_with(&format!("Parser docs\n{DOCS} · ")),
            "{name}: {}",
            run.stdout
        );
    }
    for arguments in [&["show"][..], &["show", "latest"]] {
        assert!(test.run(arguments).stdout.starts_with(&format!("Repair the parser\n{FIX} · ")));
    }
    let agent = test.run(&["show", "agent-a1b2c3d4e5f60718"]).stdout;
    assert!(agent.contains("There are two callers."), "{agent}");
}

#[test]
fn the_current_session_comes_from_the_environment_or_standard_input() {
    let test = TestHome::with_sessions();
    let mut command = test.command(&["show", "current"]);
    let run = test.finish(command.env("SESSION_CONTEXT", format!("session_id={DOCS}")));
    assert!(run.stdout.starts_with("Parser docs\n"), "{}", run.shown());
    let hook = format!(r#"{{"session_id":"{DOCS}","hook_event_name":"Stop"}}"#);
    let listed = test.run(&["ls", "--json", "--project", "docs"]).stdout;
    for input in [hook.as_str(), listed.as_str(), "3f2b\n", "parser docs"] {
        let run = test.run_with_input(&["show", "-"], input);
        assert!(run.stdout.starts_with("Parser docs\n"), "{input}: {}", run.shown());
    }
    let listed = test.run(&["ls", "--json", "--agents"]).stdout;
    let agent = listed.lines().find(|line| line.contains("\"agent\"")).unwrap();
    let run = test.run_with_input(&["show", "-"], agent);
    assert!(run.stdout.contains("There are two callers."), "{}", run.shown());
}

#[test]
fn raw_gives_the_bytes_of_every_recorded_log() {
    let test = TestHome::empty();
    let logs = logs_below(&repository().join("fixtures/corpus"));
    assert!(logs.len() > 200, "only {} recorded logs", logs.len());
    for log in logs {
        let run = test.run(&["show", "--raw", log.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{}: {}", log.display(), run.stderr);
        assert!(run.raw.stdout == fs::read(&log).unwrap(), "{} differs", log.display());
    }
}

#[test]
fn raw_gives_the_bytes_of_a_large_log() {
    let test = TestHome::empty();
    let mut log = SessionBuilder::new(FIX, Client::V2_1_325);
    for number in 0..3000 {
        log = log.prompt(&format!("{number} {}", "x".repeat(500)));
    }
    test.home.add(&log.clone().raw("{torn"), hours_ago(1));
    let run = test.run(&["show", "--raw"]);
    assert!(run.raw.stdout.len() > 1_000_000);
    assert!(run.raw.stdout == [log.bytes(), b"{torn"].concat(), "the bytes differ");
}

/// Every log below a directory.
fn logs_below(directory: &Path) -> Vec<PathBuf> {
    let mut logs = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                logs.push(path);
            }
        }
    }
    logs
}
