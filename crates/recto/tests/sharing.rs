//! What is given away has no secrets at either level; what edits say that find nothing to
//! do; what needs no home.

use std::fs;
use std::process::Command;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use serde_json::Value;

use crate::edition::tree;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// A password that is known by its name only, and a token of a known form.
const WEAK: &str = "Falcon-Harbor7";

fn token() -> String {
    format!("ghp_{}", "x9Kq2LmZ7vR4tW8yB3nH6cJ1fD5gS0aPuEoi")
}

fn with_secrets() -> TestHome {
    let test = TestHome::empty();
    let session = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt(&format!("Use {} here.", token()))
        .tool("Bash", r#"{"command":"printenv"}"#, &format!("PGPASSWORD={WEAK}\nLANG=C"))
        .answer("Done.");
    test.home.add(&session, hours_ago(2));
    test
}

/// Which of the two secrets are left in a text: the weak one, the token.
fn left(text: &str) -> (bool, bool) {
    (text.contains(WEAK), text.contains(&token()))
}

#[test]
fn commands_that_share_have_the_same_levels() {
    let test = with_secrets();
    let export = |options: &[&str]| left(&test.run(&[&["export", FIX], options].concat()).stdout);
    assert_eq!(export(&[]), (true, true));
    assert_eq!(export(&["--redact"]), (false, false));
    assert_eq!(export(&["--strict"]), (false, false));
    assert_eq!(export(&["--plain"]), (true, false));
    let found = |options: &[&str]| {
        test.run(&[&["redact", FIX, "--check", "--json"], options].concat()).json().len()
    };
    assert_eq!(
        (found(&[]) > found(&["--plain"]), found(&["--strict"]) == found(&[])),
        (true, true)
    );
    assert_eq!(test.run(&["redact", FIX, "--strict", "--plain"]).code, 2);
    assert_eq!(test.run(&["mcp", "--no-redact", "--plain"]).code, 2);
}

#[test]
fn an_archive_without_secrets_is_unpacked_without_them() {
    let test = with_secrets();
    let history = test.home.path().join(format!("file-history/{FIX}"));
    fs::create_dir_all(&history).unwrap();
    fs::write(history.join("a@v1"), WEAK).unwrap();
    for (options, expected) in
        [(&[][..], (true, true)), (&["--redact"], (false, false)), (&["--plain"], (true, false))]
    {
        let archive =
            test.work.path().join(format!("{}.recto", options.len() + expected.0 as usize * 2));
        let archive = archive.to_str().unwrap();
        let packed = test.run(&[&["pack", FIX, "--output", archive, "--json"], options].concat());
        assert_eq!(packed.code, 0, "{}", packed.shown());
        assert_eq!(packed.json()[0]["left_out"].as_array().unwrap().len(), options.len());
        let other = TestHome::empty();
        assert_eq!(other.run(&["unpack", archive]).code, 0);
        let all: Vec<u8> = tree(other.home.path()).into_values().flatten().collect();
        assert_eq!(left(&String::from_utf8_lossy(&all)), expected, "{options:?}");
        assert_eq!(other.run(&["check", FIX]).code, 0);
    }
}

#[test]
fn all_sessions_are_packed_with_stubs_and_what_stays_is_told() {
    let test = TestHome::with_sessions();
    let folder = test.home.path().join("projects/-home-dev-app/memory");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("MEMORY.md"), "notes").unwrap();
    let packed = test.run(&["pack", "--all", "--output", "all.recto", "--json"]).json().remove(0);
    assert_eq!(packed["memory_left_out"], 1, "{packed}");
    let ids: Vec<&str> =
        packed["sessions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(ids.contains(&"dddddddd-0000-4000-8000-000000000000"), "{ids:?}");
    let told = test.run(&["pack", "--all", "--output", "again.recto"]);
    assert!(told.stderr.contains("not packed: 1 memory file"), "{}", told.shown());
}

#[test]
fn an_edit_that_finds_nothing_to_do_says_so_and_ends_well() {
    let test = TestHome::empty();
    test.home.add(
        &SessionBuilder::new(FIX, Client::V2_1_325).prompt("Hi").answer("Hello."),
        hours_ago(2),
    );
    let before = tree(test.home.path());
    for words in [
        &["trim", FIX, "--images"][..],
        &["strip", FIX, "--thinking"],
        &["redact", FIX],
        &["repair", FIX],
        &["merge", FIX, FIX],
    ] {
        let run = test.run(&[words, &["--json"]].concat());
        assert_eq!(run.code, 0, "{words:?}: {}", run.shown());
        let told = run.json().remove(0);
        assert_eq!(told["operation"], words[0], "{told}");
        assert!(told["result"].is_null() && told["reason"].is_string(), "{told}");
        let run = test.run(words);
        assert!(run.code == 0 && !run.stdout.is_empty(), "{words:?}: {}", run.shown());
    }
    assert!(tree(test.home.path()) == before);
}

/// The program where there is no home.
fn without_home(test: &TestHome, words: &[&str]) -> Command {
    let mut command = test.command(words);
    command.env("CLAUDE_CONFIG_DIR", test.work.path().join("nowhere"));
    command
}

#[test]
fn what_needs_no_home_works_without_one() {
    let test = with_secrets();
    let output = without_home(&test, &["repair", "--list"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = test.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"));
    fs::copy(log, test.work.path().join("report.txt.log")).unwrap();
    for name in ["report.txt.log", "./report.txt.log"] {
        let output = without_home(&test, &["anonymize", name]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("{\"type\""));
    }
}

#[test]
fn the_name_of_a_file_is_not_a_part_of_a_title() {
    let test = TestHome::empty();
    let session =
        SessionBuilder::new(FIX, Client::V2_1_325).prompt("x").custom_title("Read notes.md");
    test.home.add(&session, hours_ago(2));
    assert!(test.run(&["show", "notes.md"]).stdout.contains("Read notes.md"));
    fs::write(test.work.path().join("notes.md"), "no log").unwrap();
    assert!(!test.run(&["show", "notes.md"]).stdout.contains("Read notes.md"));
    assert_eq!(test.run(&["show", "gone/notes.md"]).code, 1);
}

#[test]
fn files_of_windows_are_found_by_their_paths() {
    let detail = r#"{"type":"text","file":{"filePath":"C:\\Users\\dev\\app\\src\\main.rs","content":"x","numLines":1,"startLine":1,"totalLines":1}}"#;
    let test = TestHome::empty();
    let session = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("Read it")
        .tool_with_detail("Read", "{}", "x", detail);
    test.home.add(&session, hours_ago(2));
    for path in
        ["src\\main.rs", "C:\\Users\\dev\\app\\src\\main.rs", "src/main.rs", "app/src\\main.rs"]
    {
        let run = test.run(&["files", path, "--json"]);
        assert_eq!(run.json().len(), 1, "{path}: {}", run.shown());
        assert_eq!(run.json()[0]["path"], r"C:\Users\dev\app\src\main.rs");
    }
}
