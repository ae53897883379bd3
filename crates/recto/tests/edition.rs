//! `recto clone`, `fork` and what all edits share.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::FIX;
use crate::support::TestHome;
use crate::support::repository;

/// Contents of all files of a folder, by their path in it.
pub(crate) fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let inside = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(inside, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A home with what a client recorded.
pub(crate) fn recorded(scenario: &str) -> TestHome {
    let test = TestHome::empty();
    let source = repository().join("fixtures/corpus").join(scenario).join("home/.claude");
    for (path, content) in tree(&source) {
        let to = test.home.path().join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(&to, content).unwrap();
        let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        fs::File::options().write(true).open(&to).unwrap().set_modified(hour).unwrap();
    }
    test
}

pub(crate) fn edited(test: &TestHome, arguments: &[&str]) -> Value {
    let run = test.run(arguments);
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.shown());
    run.json().remove(0)
}

pub(crate) fn messages(test: &TestHome, session: &str, version: &str) -> String {
    let run = test.run(&["request", session, "--as", version, "--json"]);
    run.json()[0]["messages"].to_string()
}

#[test]
fn a_clone_has_all_that_belongs_to_it_and_nothing_of_the_source_changes() {
    for scenario in ["2.1.325/S3", "2.1.325/I11", "2.1.29/S3", "2.0.50/S3", "2.1.325/S16t"] {
        let test = recorded(scenario);
        let before = tree(test.home.path());
        let source = test.run(&["ls", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
        let told = edited(&test, &["clone", &source, "--json"]);
        let new = told["result"]["id"].as_str().unwrap().to_owned();
        let after = tree(test.home.path());
        for (path, content) in &before {
            assert!(after[path] == *content, "{scenario}: {}", path.display());
        }
        let added: Vec<&PathBuf> =
            after.keys().filter(|path| !before.contains_key(*path)).collect();
        assert_eq!(added.len() as u64, 1 + told["copied_files"].as_u64().unwrap(), "{scenario}");
        for version in ["2.0.50", "2.1.29", "2.1.325"] {
            let (old, new) = (messages(&test, &source, version), messages(&test, &new, version));
            assert!(
                old.replace(&source, "")
                    == new.replace(&source, "").replace(told["result"]["id"].as_str().unwrap(), ""),
                "{scenario} {version}"
            );
        }
        let agents = |session: &str| {
            let run = test.run(&["agents", session, "--json"]);
            run.json().iter().map(|agent| agent["link"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(agents(&source), agents(&new), "{scenario}");
        assert_eq!(test.run(&["undo"]).code, 0, "{scenario}");
        assert!(tree(test.home.path()) == before, "{scenario}: undone");
    }
}

#[test]
fn a_clone_goes_to_another_project() {
    let test = recorded("2.1.325/S2");
    let other = test.home.path().parent().unwrap().join("other project");
    fs::create_dir_all(&other).unwrap();
    let told = edited(&test, &["clone", "latest", "--to", other.to_str().unwrap(), "--json"]);
    let new = told["result"]["id"].as_str().unwrap();
    let listed = test.run(&["ls", "--json"]).json();
    let row = listed.iter().find(|row| row["id"] == *new).unwrap();
    assert_eq!(row["cwd"].as_str().unwrap(), fs::canonicalize(&other).unwrap().to_str().unwrap());
    assert!(row["project"].as_str().unwrap().ends_with("-other-project"), "{row}");
    assert!(row["title"].as_str().unwrap().ends_with("(clone)"), "{row}");
}

#[test]
fn a_fork_holds_the_turns_up_to_its_end() {
    let test = TestHome::with_sessions();
    let turns = |session: &str| test.run(&["turns", session, "--json"]).json().len();
    assert!(turns(FIX) > 1);
    let told = edited(&test, &["fork", FIX, "--at", "1", "--title", "First", "--json"]);
    let new = told["result"]["id"].as_str().unwrap();
    assert_eq!(turns(new), 1);
    assert_eq!(told["source"], FIX);
    assert_eq!(told["operation"], "fork");
    assert_eq!(told["op"], 1);
    assert!(told["removed"].as_u64().unwrap() > 0);
    assert!(told["tokens"]["after"].is_u64() && told["reach"]["after"].is_number());
    // A session that recto wrote a moment ago can be worked on.
    edited(&test, &["clone", new, "--json"]);
}

#[test]
fn nothing_happens_without_a_result() {
    let test = TestHome::with_sessions();
    let before = tree(test.home.path());
    let told = edited(&test, &["fork", FIX, "--at", "1", "--dry-run", "--json"]);
    assert_eq!(told["result"], Value::Null);
    assert_eq!(told["op"], Value::Null);
    for (arguments, kind) in [
        (["fork", FIX, "--at", "99"], "no-turn"),
        (["fork", FIX, "--at", "nowhere"], "no-line"),
        (["clone", FIX, "--to", "/no/such/directory"], "not-found"),
    ] {
        let run = test.run(&[&arguments[..], &["--json"]].concat());
        assert_ne!(run.code, 0, "{arguments:?}");
        assert!(run.stderr.contains(&format!("\"kind\":\"{kind}\"")), "{}", run.stderr);
    }
    assert!(tree(test.home.path()) == before);
    test.home.announce(FIX, "busy");
    let before = tree(test.home.path());
    assert_eq!(test.run(&["clone", FIX]).code, 2);
    assert!(tree(test.home.path()) == before);
}
