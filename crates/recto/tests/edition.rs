//! `recto clone`, `fork` and what all edits share.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

pub(crate) use recto_testkit::contents as tree;
use serde_json::Value;

use crate::support::FIX;
use crate::support::TestHome;
use crate::support::repository;

/// A home with what a client recorded.
pub(crate) fn recorded(scenario: &str) -> TestHome {
    let test = TestHome::empty();
    let source = repository().join("fixtures/corpus").join(scenario).join("home/.claude");
    for (path, content) in tree(&source) {
        let to = test.home.path().join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(&to, content).unwrap();
        set_back(&to);
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
    let other = test.home.path().join("other project");
    fs::create_dir_all(&other).unwrap();
    let told = edited(&test, &["clone", "latest", "--to", other.to_str().unwrap(), "--json"]);
    let new = told["result"]["id"].as_str().unwrap();
    let listed = test.run(&["ls", "--json"]).json();
    let row = listed.iter().find(|row| row["id"] == *new).unwrap();
    assert!(row["cwd"].as_str().unwrap().ends_with("/other project"), "{row}");
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
        (["compress", FIX, "--before", "99"], "no-turn"),
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

/// What a fixture of the edited logs becomes: the only session of a home.
fn damaged(version: &str, variant: &str) -> (TestHome, String) {
    let test = TestHome::empty();
    let folder = repository().join("fixtures/corpus/edit").join(version);
    let id = "7c1d5a52-0d3b-4c59-8a75-3f6c4b9f0e21";
    let path = test.home.path().join(format!("projects/-home-dev-app/{id}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(folder.join(format!("{variant}.jsonl")), &path).unwrap();
    set_back(&path);
    (test, id.to_owned())
}

fn set_back(path: &Path) {
    let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().write(true).open(path).unwrap().set_modified(hour).unwrap();
}

#[test]
fn every_edit_has_a_preview_a_result_and_a_way_back() {
    let edits: [&[&'static str]; 8] = [
        &["trim", "{}", "--tool-results", "larger-than", "1", "--drop"],
        &["trim", "{}", "--attachments"],
        &["trim", "{}", "--to-tokens", "300"],
        &["strip", "{}", "--tools"],
        &["strip", "{}", "--turns", "1"],
        &["compress", "{}", "--before", "2"],
        &["compress", "{}", "--before", "2", "--drop-old"],
        &["repair", "{}", "--all-clients"],
    ];
    let test = recorded("2.1.325/S2par");
    let source = test.run(&["ls", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let before = tree(test.home.path());
    for words in edits {
        let name = |word: &&'static str| if *word == "{}" { source.as_str() } else { *word };
        let words: Vec<&str> = words.iter().map(name).collect();
        let preview = edited(&test, &[&words[..], &["--dry-run", "--json"]].concat());
        assert!(tree(test.home.path()) == before, "{words:?}");
        let told = edited(&test, &[&words[..], &["--json"]].concat());
        for field in ["removed", "changed", "added", "tokens", "reach"] {
            // A title is added to the new session only.
            assert_eq!(preview[field], told[field], "{words:?} {field}");
        }
        assert_eq!(told["reach"]["after"], 100.0, "{words:?}");
        let new = told["result"]["id"].as_str().unwrap();
        assert_eq!(test.run(&["check", new]).code, 0, "{words:?}");
        assert_eq!(test.run(&["undo"]).code, 0, "{words:?}");
        assert!(tree(test.home.path()) == before, "{words:?}");
        let told = edited(&test, &[&words[..], &["--in-place", "--json"]].concat());
        assert_eq!(told["result"]["id"], *source, "{words:?}");
        assert!(tree(test.home.path()) != before, "{words:?}");
        assert_eq!(test.run(&["undo"]).code, 0, "{words:?}");
        assert!(tree(test.home.path()) == before, "{words:?}");
    }
}

#[test]
fn a_damaged_session_is_mended_and_a_whole_one_is_left_alone() {
    let (test, id) = damaged("2.1.325", "prompt_bad_parent_late");
    let told = edited(&test, &["repair", &id, "--json"]);
    assert!(told["reach"]["before"].as_f64() < told["reach"]["after"].as_f64(), "{told}");
    assert_eq!(told["reach"]["after"], 100.0);
    assert!(!told["fixes"].as_array().unwrap().is_empty());
    let new = told["result"]["id"].as_str().unwrap();
    assert_eq!(edited(&test, &["repair", new, "--json"])["fixes"], serde_json::json!([]));
    let run = test.run(&["repair", "--all"]);
    assert_eq!(run.code, 1, "something can be repaired: {}", run.shown());
    assert!(run.stdout.contains("100.0 %\t1 fix"), "{}", run.stdout);
    assert_eq!(test.run(&["repair", "--all", "--in-place"]).code, 0);
    assert_eq!(test.run(&["repair", "--all"]).code, 0);
}

#[test]
fn conditions_that_are_not_understood_are_told() {
    let test = TestHome::with_sessions();
    for (arguments, kind) in [
        (&["trim", FIX][..], "nothing-asked"),
        (&["trim", FIX, "--tool-results", "newer-than", "3"], "bad-condition"),
        (&["strip", FIX], "nothing-asked"),
        (&["redact", FIX, "--pattern", "x=("], "bad-pattern"),
    ] {
        let run = test.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(
            run.stderr.contains(&format!("\"kind\":\"{kind}\"")),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn secrets_go_from_the_log_and_from_what_belongs_to_it() {
    let test = recorded("2.1.325/S3");
    let listed = test.run(&["ls", "--json"]).json();
    let id = listed[0]["id"].as_str().unwrap();
    let inside =
        tree(test.home.path()).into_keys().find(|path| path.ends_with(format!("{id}.jsonl")));
    let path = test.home.path().join(inside.unwrap());
    // Made here, so that no secret stands in this file.
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text = fs::read_to_string(&path).unwrap();
    let said = text.replacen("LAB:", &format!("token {secret} LAB:"), 1);
    assert_ne!(text, said);
    fs::write(&path, said).unwrap();
    set_back(&path);
    let folder = path.with_extension("");
    fs::create_dir_all(folder.join("tool-results")).unwrap();
    let overflow = folder.join("tool-results/long.txt");
    fs::write(&overflow, format!("first\n{secret}\nlast\n")).unwrap();
    let check = test.run(&["redact", id, "--check"]);
    assert_eq!(check.code, 1, "{}", check.shown());
    assert!(check.stdout.contains("[REDACTED:github-pat:"), "{}", check.stdout);
    assert!(!check.stdout.contains(&secret));
    assert!(check.stdout.contains("long.txt, line 2"), "{}", check.stdout);
    let before = tree(test.home.path());
    let told = edited(&test, &["redact", id, "--json"]);
    let new = told["result"]["id"].as_str().unwrap();
    let holds = |files: &BTreeMap<PathBuf, Vec<u8>>, name: &str| {
        let fits = |(path, content): (&PathBuf, &Vec<u8>)| {
            path.to_string_lossy().contains(name)
                && String::from_utf8_lossy(content).contains(&secret)
        };
        files.iter().any(fits)
    };
    let after = tree(test.home.path());
    assert!(holds(&after, id) && !holds(&after, new));
    assert!(after.keys().any(|path| path.ends_with(format!("{new}/tool-results/long.txt"))));
    assert_eq!(test.run(&["undo"]).code, 0);
    assert_eq!(edited(&test, &["redact", id, "--in-place", "--json"])["reach"]["after"], 100.0);
    assert!(!holds(&tree(test.home.path()), ""));
    assert_eq!(test.run(&["undo"]).code, 0);
    assert!(tree(test.home.path()) == before);
}

#[test]
fn a_log_without_content_is_sent_in_the_same_shape() {
    let test = recorded("2.1.325/S2");
    let out = test.home.path().join("report.jsonl");
    let words = ["anonymize", "latest", "--output", out.to_str().unwrap()];
    assert_eq!(test.run(&words).code, 0);
    let text = fs::read_to_string(&out).unwrap();
    assert!(!text.contains("LAB:") && !text.contains("/home/dev"), "{}", &text[..200]);
    let shape = |session: &str| {
        let run = test.run(&["request", session, "--json"]);
        let messages = run.json()[0]["messages"].as_array().unwrap().clone();
        messages.iter().map(|message| message["role"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(shape("latest"), shape(out.to_str().unwrap()));
    assert_eq!(test.run(&words).code, 2, "a file is never replaced");
}
