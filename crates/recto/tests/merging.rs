//! `recto merge`.

use std::fs;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::edition::edited;
use crate::edition::messages;
use crate::edition::recorded;
use crate::edition::tree;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// Two sessions that are one conversation.
fn split() -> TestHome {
    let test = TestHome::empty();
    let add = |id: &str, number: u32, hours: i64| {
        let session = SessionBuilder::new(id, Client::V2_1_325).at(hours_ago(hours));
        let session = session.prompt(&format!("Ask {number}")).answer(&format!("Say {number}"));
        test.home.add(&session, hours_ago(hours));
        let agent = SessionBuilder::agent(id, &format!("a{number}"), Client::V2_1_325);
        test.home.add(&agent.prompt("Look").answer("Seen"), hours_ago(hours));
    };
    add(FIX, 1, 5);
    add(DOCS, 2, 3);
    test
}

#[test]
fn two_sessions_become_one_that_sends_both_in_every_client() {
    let test = split();
    let before = tree(test.home.path());
    insta::assert_snapshot!(test.run(&["merge", FIX, DOCS, "--dry-run"]).shown(), @"
    joined   5 lines of 3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718, 4 lines of 3f2b77aa-51c7-4d02-b8f4-93ad17c2e680 (1 in both)
    lines    2 removed, 1 changed, 1 added
    tokens   9 -> 18 (estimated)
    reach    100.0 % -> 100.0 %
    copied   2 files
    nothing was changed (--dry-run)
    --- exit 0
    ");
    assert!(tree(test.home.path()) == before);
    let told = edited(&test, &["merge", FIX, DOCS, "--json"]);
    assert_eq!(told["second"], DOCS);
    let new = told["result"]["id"].as_str().unwrap();
    for version in ["2.0.50", "2.0.76", "2.1.29", "2.1.100", "2.1.200", "2.1.325"] {
        let sent = messages(&test, new, version);
        for text in ["Ask 1", "Say 1", "Ask 2", "Say 2"] {
            assert!(sent.contains(text), "{version}: no {text} in {sent}");
        }
    }
    assert_eq!(test.run(&["agents", new, "--json"]).json().len(), 2);
    assert_eq!(test.run(&["turns", new, "--json"]).json().len(), 2);
    assert_eq!(test.run(&["check", new]).code, 0);
    assert_eq!(test.run(&["undo"]).code, 0);
    assert!(tree(test.home.path()) == before);
}

#[test]
fn a_fork_is_joined_with_what_it_was_forked_from() {
    let test = recorded("2.1.325/I11");
    let source = test.run(&["ls", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let forked = edited(&test, &["fork", &source, "--at", "1", "--json"]);
    let fork = forked["result"]["id"].as_str().unwrap();
    // Nothing is new in it yet.
    let run = test.run(&["merge", &source, fork, "--json"]);
    assert_eq!((run.code, &run.json()[0]["result"]), (0, &serde_json::Value::Null));
    // The source has more than its fork, which goes on from the same lines.
    let told = edited(&test, &["merge", fork, &source, "--json"]);
    let new = told["result"]["id"].as_str().unwrap();
    for version in ["2.0.50", "2.1.29", "2.1.325"] {
        let (old, new) = (messages(&test, &source, version), messages(&test, new, version));
        assert!(old == new, "{version}");
    }
}

#[test]
fn a_conversation_that_was_compacted_after_the_split_is_joined() {
    let test = recorded("2.0.50/I5");
    let sessions = test.run(&["ls", "--json"]).json();
    let source = sessions[0]["id"].as_str().unwrap().to_owned();
    let made = |arguments: &[&str]| {
        let told = edited(&test, arguments);
        told["result"]["id"].as_str().unwrap().to_owned()
    };
    let first = made(&["fork", &source, "--at", "2", "--json"]);
    let second = made(&["strip", &source, "--turns", "1..2", "--json"]);
    let new = made(&["merge", &first, &second, "--json"]);
    for version in ["2.0.50", "2.1.29", "2.1.325"] {
        assert!(messages(&test, &source, version) == messages(&test, &new, version), "{version}");
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let test = split();
    let write = |id: &str, content: &str| {
        let path = test.home.path().join(format!("file-history/{id}/f4661088e6996082@v1"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    write(FIX, "one");
    write(DOCS, "two");
    test.home.write(&format!("todos/{FIX}-agent-{FIX}.json"), "[1]");
    test.home.write(&format!("todos/{DOCS}-agent-{DOCS}.json"), "[2]");
    let before = tree(test.home.path());
    for (arguments, kind) in
        [(&["merge", DOCS, FIX][..], "out-of-order"), (&["merge", FIX, DOCS], "parts-differ")]
    {
        let run = test.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.code, 2, "{}", run.shown());
        assert!(run.stderr.contains(&format!("\"kind\":\"{kind}\"")), "{}", run.stderr);
        assert!(tree(test.home.path()) == before);
    }
    let run = test.run(&["merge", FIX, FIX, "--json"]);
    assert_eq!(
        run.shown(),
        "{\"operation\":\"merge\",\"result\":null,\"reason\":\"there is nothing to change\"}\n--- exit 0\n"
    );
    let told = edited(&test, &["merge", FIX, DOCS, "--prefer", "first", "--json"]);
    let new = told["result"]["id"].as_str().unwrap();
    let read = |place: String| fs::read_to_string(test.home.path().join(place)).unwrap();
    assert_eq!(read(format!("file-history/{new}/f4661088e6996082@v1")), "one");
    // The later list of things to do counts.
    assert_eq!(read(format!("todos/{new}-agent-{new}.json")), "[2]");
    edited(&test, &["merge", DOCS, FIX, "--force", "--prefer", "second", "--json"]);
    test.home.announce(DOCS, "busy");
    assert_eq!(test.run(&["merge", FIX, DOCS, "--prefer", "first"]).code, 2);
}
