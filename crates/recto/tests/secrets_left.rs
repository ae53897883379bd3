//! What a redaction in place leaves behind: nothing in files of recto's own, and the rest
//! is named.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

const SECRET: &str = "zebrasecret4711";
const PATTERN: &str = "word=zebrasecret[0-9]+";

fn test_home() -> TestHome {
    let test = TestHome::with_sessions();
    let session = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt(&format!("The password is {SECRET}, keep it."))
        .answer("Kept.");
    test.home.add(&session, hours_ago(2));
    let typed = format!("{{\"display\":\"it is {SECRET}\",\"sessionId\":\"{FIX}\"}}\n");
    test.home.write("history.jsonl", typed);
    test.home.write(&format!("file-history/{FIX}/abc@v1"), "old version\n");
    test
}

/// The files below some directories that hold the secret.
fn with_secret(test: &TestHome) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![test.home.path().to_owned(), test.user.path().to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let bytes = fs::read(&path).unwrap();
            if bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn backups(test: &TestHome) -> usize {
    let folder = test.user.path().join(".local/share/recto/backups");
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.is_dir()).map(|path| fs::read_dir(path).unwrap().count()).sum()
}

fn is_in(path: &Path, found: &[PathBuf]) -> bool {
    found.iter().any(|one| one.starts_with(path))
}

#[test]
fn the_index_forgets_what_was_redacted_and_the_rest_is_named() {
    let test = test_home();
    assert_eq!(test.run(&["search", SECRET]).code, 0);
    let cache = test.user.path().join(".cache");
    assert!(is_in(&cache, &with_secret(&test)), "the index has the word");
    assert_eq!(test.run(&["query", "SELECT text FROM blocks"]).code, 0);
    assert!(is_in(&cache.join("recto/query"), &with_secret(&test)), "the tables have the word");
    let run = test.run(&["redact", FIX, "--pattern", PATTERN, "--in-place"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let found = with_secret(&test);
    assert_eq!(found, [test.home.path().join("history.jsonl")], "{}", run.shown());
    for place in
        ["recto's backups", "history.jsonl (1 line with secrets)", "file-history (1 version"]
    {
        assert!(run.stderr.contains(place), "{}", run.shown());
    }
    // It can be searched, and undone.
    assert_eq!(test.run(&["search", SECRET]).code, 1);
    assert_eq!(test.run(&["undo"]).code, 0);
    assert_eq!(test.run(&["search", SECRET]).code, 0);
}

#[test]
fn no_index_has_what_was_redacted_and_the_archive_is_named() {
    let test = test_home();
    test.run(&["collect"]);
    for arguments in [&["search", SECRET] as &[&str], &["search", SECRET, "--no-archive"]] {
        assert_eq!(test.run(arguments).code, 0);
    }
    let run = test.run(&["redact", FIX, "--pattern", PATTERN, "--in-place"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let mut found = with_secret(&test);
    found.retain(|path| !path.starts_with(test.user.path().join(".local/share/recto/archive")));
    assert_eq!(found, [test.home.path().join("history.jsonl")], "{}", run.shown());
    assert!(run.stderr.contains("the archive of `recto collect`"), "{}", run.shown());
}

#[test]
fn what_was_purged_is_not_said_to_be_undone() {
    let test = test_home();
    let redact = ["redact", FIX, "--pattern", PATTERN, "--in-place", "--purge", "--yes"];
    let run = test.run(&redact);
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(run.stdout.contains("it is final"), "{}", run.shown());
    assert!(!run.stdout.contains("recto undo"), "{}", run.shown());
}

#[test]
fn history_and_backups_go_if_that_is_asked_for_twice() {
    let test = test_home();
    let redact = ["redact", FIX, "--pattern", PATTERN, "--in-place", "--history", "--purge"];
    let refused = test.run(&redact);
    assert_eq!(refused.code, 2, "nobody can be asked: {}", refused.shown());
    assert!(!with_secret(&test).is_empty());
    assert_eq!(test.run(&["rename", FIX, "A title"]).code, 0);
    let run = test.run(&[&redact[..], &["--yes", "--json"]].concat());
    assert_eq!(run.code, 0, "{}", run.shown());
    assert_eq!(with_secret(&test), [] as [PathBuf; 0], "{}", run.shown());
    assert_eq!(backups(&test), 0, "{}", run.shown());
    assert!(!run.stderr.contains("recto's backups"), "{}", run.shown());
    assert!(run.stdout.contains("\"copies\":["), "{}", run.shown());
    assert_ne!(test.run(&["undo"]).code, 0, "there is nothing to undo");
    // Without --in-place there is nothing that these could be about.
    for option in ["--history", "--purge"] {
        assert_eq!(test.run(&["redact", FIX, option]).code, 2);
    }
}
