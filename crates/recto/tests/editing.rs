//! `recto rename`, `rm`, `undo`, `redo` and `log`.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::SystemTime;

use insta::assert_snapshot;
use recto_testkit::Tree;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// Contents and times of all files of the home.
fn tree(test: &TestHome) -> Tree {
    recto_testkit::tree(test.home.path())
}

fn log(test: &TestHome, id: &str) -> PathBuf {
    let found = tree(test).into_keys().find(|path| path.ends_with(format!("{id}.jsonl")));
    test.home.path().join(found.unwrap())
}

fn append(path: &PathBuf, text: &str) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut file = fs::File::options().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.set_modified(modified).unwrap();
}

#[test]
fn a_session_is_renamed_as_the_client_does_it_and_back() {
    let test = TestHome::with_sessions();
    let before = tree(&test);
    let path = log(&test, FIX);
    assert_snapshot!(test.run(&["rename", "3f2a", "Mend \"it\" ✓"]).shown(), @r#"
    renamed 3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 to `Mend "it" ✓` (operation 1)
    --- exit 0
    "#);
    let lines = format!(
        "{{\"type\":\"custom-title\",\"customTitle\":\"Mend \\\"it\\\" ✓\",\"sessionId\":\"{FIX}\"}}\n\
         {{\"type\":\"agent-name\",\"agentName\":\"Mend \\\"it\\\" ✓\",\"sessionId\":\"{FIX}\"}}\n"
    );
    let inside = path.strip_prefix(test.home.path()).unwrap();
    let (content, time) = &tree(&test)[inside];
    assert_eq!(*content, [&before[inside].0[..], lines.as_bytes()].concat());
    assert_eq!(*time, before[inside].1, "the client continues the newest log");
    assert!(test.run(&["ls"]).stdout.contains("Mend \"it\" ✓"));
    assert_snapshot!(test.run(&["undo"]).shown(), @r#"
    undid operation 1: rename 3f2a "Mend "it" ✓"
      replace  projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl  9.5 kB
    --- exit 0
    "#);
    assert_eq!(tree(&test), before);
    assert_snapshot!(test.run(&["redo", "--dry-run"]).shown(), @r#"
    would redo operation 1: rename 3f2a "Mend "it" ✓"
      replace  projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl  9.7 kB
    --- exit 0
    "#);
    assert_eq!(tree(&test), before);
}

#[test]
fn clients_that_know_no_agent_name_get_none() {
    let test = TestHome::with_sessions();
    assert_eq!(test.run(&["rename", DOCS, "New"]).code, 0);
    let place = format!("projects/-home-dev-docs/{DOCS}.jsonl");
    let text = fs::read_to_string(test.home.path().join(place)).unwrap();
    assert!(text.ends_with(&format!(
        "{{\"type\":\"custom-title\",\"customTitle\":\"New\",\"sessionId\":\"{DOCS}\"}}\n"
    )));
}

#[test]
fn a_torn_line_at_the_end_stays_a_line_of_its_own() {
    let test = TestHome::with_sessions();
    let path = log(&test, FIX);
    append(&path, "{\"type\":\"user\",\"torn");
    assert_eq!(test.run(&["rename", FIX, "New"]).code, 0);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"torn\n{\"type\":\"custom-title\",\"customTitle\":\"New\""), "{text}");
}

#[test]
fn the_second_place_of_the_title_follows() {
    let test = TestHome::with_sessions();
    let place = format!("projects/-home-dev-app/{FIX}/custom-title.json");
    let path = test.home.write(&place, r#"{"customTitle":"x"}"#);
    assert_eq!(test.run(&["rename", FIX, "New"]).code, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), r#"{"customTitle":"New"}"#);
    assert_eq!(test.run(&["undo"]).code, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), r#"{"customTitle":"x"}"#);
}

#[test]
fn a_session_in_use_is_refused() {
    let test = TestHome::with_sessions();
    test.home.announce(FIX, "idle");
    let before = tree(&test);
    let pid = std::process::id().to_string();
    assert_snapshot!(test.run(&["rename", FIX, "New"]).shown().replace(&pid, "[pid]"), @"
    --- stderr
    error: session 3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 is open (process [pid])
    hint: close the session there first
    --- exit 2
    ");
    assert_eq!(test.run(&["rm", FIX, "--yes"]).code, 2);
    assert_eq!(tree(&test), before);
    let path = log(&test, DOCS);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::from(hours_ago(0))).unwrap();
    let name = path.display().to_string();
    let run = test.run(&["rename", DOCS, "New"]);
    let shown = run.shown();
    assert!(shown.contains("was modified a moment ago"), "{name}: {shown}");
    assert_eq!(run.code, 2);
}

#[test]
fn an_undo_waits_for_the_client_too() {
    let test = TestHome::with_sessions();
    assert_eq!(test.run(&["rename", FIX, "New"]).code, 0);
    test.home.announce(FIX, "idle");
    let run = test.run(&["undo", "--json"]);
    assert!(run.stderr.contains("\"kind\":\"live-session\""), "{}", run.shown());
}

#[test]
fn a_session_goes_with_all_that_belongs_to_it_and_comes_back() {
    let test = TestHome::with_sessions();
    test.home.write(&format!("tasks/{FIX}/1.json"), "{}");
    test.home.write(&format!("file-history/{FIX}/abc@v1"), "old");
    test.home.write(&format!("projects/-home-dev-app/{FIX}/tool-results/b1.txt"), "long");
    let before = tree(&test);
    assert_snapshot!(test.run(&["rm", "3f2a", "--dry-run"]).shown(), @"
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718  Repair the parser
      projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl  9.5 kB
      projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/subagents/agent-a1b2c3d4e5f60718.jsonl  1.1 kB
      projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/tool-results/b1.txt  4 B
      tasks/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/1.json  2 B
      file-history/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/abc@v1  3 B
    would remove 1 session (5 files, 11 kB)
    --- exit 0
    ");
    let run = test.run(&["rm", "3f2a"]);
    assert_eq!(run.code, 2);
    assert_snapshot!(run.stderr, @"
    error: cannot ask for confirmation: standard input is not a terminal
    hint: use --yes to skip the question, or --dry-run to see what would be done
    ");
    assert_eq!(tree(&test), before);
    assert_snapshot!(test.run(&["rm", "3f2a", DOCS, "3f2a", "--yes"]).shown(), @"
    removed 2 sessions (6 files, 12 kB); `recto undo 1` brings it back
    --- exit 0
    ");
    assert_eq!(tree(&test).len(), before.len() - 6);
    assert!(!test.home.path().join("tasks").join(FIX).exists());
    assert!(!test.home.path().join("projects/-home-dev-app").join(FIX).exists());
    assert_eq!(test.run(&["undo"]).code, 0);
    assert_eq!(tree(&test), before);
}

#[test]
fn an_undo_of_a_session_that_was_resumed_is_refused_or_keeps_both() {
    let test = TestHome::with_sessions();
    let path = log(&test, FIX);
    let before = fs::read(&path).unwrap();
    assert_eq!(test.run(&["rename", FIX, "New"]).code, 0);
    append(&path, "{\"type\":\"mode\"}\n");
    let resumed = fs::read(&path).unwrap();
    assert_snapshot!(test.run(&["undo"]).shown(), @"
    --- stderr
    error: [claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl has grown by 16 bytes since operation 1
    hint: undo the later changes first, or use --force, which backs up the current version
    --- exit 2
    ");
    assert_eq!(fs::read(&path).unwrap(), resumed);
    let run = test.run(&["undo", "--force"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let backup = run.stdout.rsplit(" backed up that version in ").next().unwrap().trim();
    let backup = backup.replace("[user]", test.user.path().to_str().unwrap());
    assert!(PathBuf::from(backup).is_file(), "{}", run.shown());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(test.run(&["redo"]).code, 0);
    assert_eq!(fs::read(&path).unwrap(), resumed);
}

#[test]
fn operations_are_listed_and_forgotten() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["log"]).shown(), @"
    --- stderr
    no operations recorded for this home
    --- exit 1
    ");
    assert!(!test.user.path().join(".local").exists(), "looking makes nothing");
    assert_eq!(test.run(&["rename", "3f2a", "One"]).code, 0);
    assert_eq!(test.run(&["rm", "3f2b", "--yes"]).code, 0);
    assert_eq!(test.run(&["undo", "1"]).code, 0);
    assert_snapshot!(test.run(&["log"]).shown(), @"
    2	2026-11-16 12:00:00	done	3f2b77aa	Parser docs	rm 3f2b
    1	2026-11-16 12:00:00	undone	3f2a1b4c	One	rename 3f2a One
    --- exit 0
    ");
    assert_eq!(test.run(&["log", "--json", "-n", "1"]).json().len(), 1);
    let other = tempfile::tempdir().unwrap();
    let elsewhere = test.run(&["log", "--home", other.path().to_str().unwrap()]);
    assert_eq!((elsewhere.code, elsewhere.stdout.as_str()), (1, ""));
    assert_snapshot!(test.run(&["log", "prune"]).code, @"2");
    assert_snapshot!(test.run(&["log", "prune", "--larger-than", "much"]).shown(), @"
    --- stderr
    error: invalid value `much` for --larger-than
    hint: use a size such as 500MB or 1GB
    --- exit 2
    ");
    let kept = test.run(&["log", "prune", "--older-than", "30d"]).stdout;
    assert!(kept.starts_with("removed 0 operations and 0 B of backups;"), "{kept}");
    let all = test.run(&["log", "prune", "--larger-than", "0"]).stdout;
    assert!(
        all.starts_with("removed 2 operations") && all.ends_with("; 0 B of backups left\n"),
        "{all}"
    );
    assert_snapshot!(test.run(&["undo"]).shown(), @"
    --- stderr
    error: there is nothing to undo
    hint: `recto log` lists the operations
    --- exit 2
    ");
    assert_snapshot!(test.run(&["undo", "7"]).shown(), @"
    --- stderr
    error: there is no operation 7
    hint: `recto log` lists the operations
    --- exit 2
    ");
}

#[test]
fn an_interrupted_operation_is_told_when_it_is_put_right() {
    let test = TestHome::with_sessions();
    let path = log(&test, FIX);
    let before = fs::read(&path).unwrap();
    assert_eq!(test.run(&["rename", FIX, "New"]).code, 0);
    let after = fs::read(&path).unwrap();
    // As if the machine had stopped before the file took its name.
    let record = test.user.path().join(".local/share/recto/operations/000001.json");
    let text = fs::read_to_string(&record).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let change = &value["changes"][0];
    let temporary = path.with_file_name(".recto-1-0-1.tmp");
    let steps = serde_json::json!([{
        "path": change["path"], "from": change["before"], "to": change["after"],
        "temporary": temporary.to_str().unwrap(),
    }]);
    let pending = serde_json::json!({"steps": steps, "previous": null});
    let mut unfinished = value.clone();
    unfinished["pending"] = pending;
    let interrupt = || {
        fs::write(&record, unfinished.to_string()).unwrap();
        fs::write(&path, &before).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(hours_ago(2).into()).unwrap();
    };
    interrupt();
    fs::write(&temporary, &after).unwrap();
    assert!(test.run(&["log"]).stdout.contains("interrupted"));
    let run = test.run(&["rename", DOCS, "Other", "--dry-run"]);
    assert_snapshot!(run.stderr, @"operation 1 (rename) had been interrupted: it was finished");
    assert_eq!(fs::read(&path).unwrap(), after);
    // Without the new content it can only be taken back.
    interrupt();
    let run = test.run(&["rename", DOCS, "Other", "--dry-run"]);
    assert_snapshot!(run.stderr, @"operation 1 (rename) had been interrupted: it was undone");
    assert_eq!(fs::read(&path).unwrap(), before);
    // What another program wrote meanwhile is left alone.
    interrupt();
    append(&path, "{\"type\":\"mode\"}\n");
    let run = test.run(&["rename", DOCS, "Other", "--dry-run"]);
    assert_snapshot!(run.stderr, @"
    operation 1 (rename) had been interrupted: it was undone
    unchanged, because another program wrote to it: [claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl
    ");
    assert_eq!(fs::read(&path).unwrap(), [&before[..], b"{\"type\":\"mode\"}\n"].concat());
}

#[test]
fn what_is_no_session_and_what_is_no_title_are_refused() {
    let test = TestHome::with_sessions();
    let run = test.run(&["rename", "agent-a1b2c3d4e5f60718", "New"]);
    assert_eq!(run.stderr, "error: `agent-a1b2c3d4e5f60718` is not a session of this home\n");
    let run = test.run(&["rename", FIX, "two\nlines"]);
    assert_eq!(run.stderr, "error: a title is one line of text, of at most 400 bytes\n");
    assert_eq!(test.run(&["rename", "zzzzzz", "New"]).code, 1);
    assert_eq!(test.run(&["rm", "zzzzzz", "--yes"]).code, 1);
}
