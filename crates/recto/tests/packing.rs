//! `recto pack` and `unpack`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::edition::edited;
use crate::edition::messages;
use crate::edition::recorded;
use crate::edition::tree;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;

/// What belongs to sessions that have a log.
fn parts_of_sessions(tree: BTreeMap<PathBuf, Vec<u8>>) -> BTreeMap<PathBuf, Vec<u8>> {
    let names: Vec<String> = tree
        .keys()
        .filter(|path| path.starts_with("projects") && path.components().count() == 3)
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name.len() == 36)
        .collect();
    tree.into_iter()
        .filter(|(path, content)| {
            let text = String::from_utf8_lossy(content);
            let is_agent = path.to_string_lossy().contains("/agent-");
            let is_named = |name: &String| {
                path.to_string_lossy().contains(name) || is_agent && text.contains(name)
            };
            names.iter().any(is_named)
        })
        .collect()
}

#[test]
fn what_was_packed_is_unpacked_in_another_home_byte_for_byte() {
    for scenario in ["2.1.325/S3", "2.1.325/I11", "2.1.29/S3", "2.0.50/S3", "2.1.325/S16t"] {
        let test = recorded(scenario);
        let archive = test.work.path().join("all.recto");
        let archive = archive.to_str().unwrap();
        let packed = test.run(&["pack", "--all", "--output", archive, "--json"]);
        assert_eq!(packed.code, 0, "{scenario}: {}", packed.shown());
        let packed = packed.json().remove(0);
        let other = TestHome::empty();
        let run = other.run(&["unpack", archive, "--json"]);
        assert_eq!(run.code, 0, "{scenario}: {}", run.shown());
        let told = run.json();
        assert_eq!(told.len(), packed["sessions"].as_array().unwrap().len(), "{scenario}");
        let files: u64 = told.iter().map(|told| told["copied_files"].as_u64().unwrap() + 1).sum();
        assert_eq!(files, packed["files"].as_u64().unwrap(), "{scenario}");
        // Logs without a conversation are not listed, and so not packed.
        let there = tree(other.home.path());
        let expected = parts_of_sessions(tree(test.home.path()));
        assert!(there.len() as u64 == files && files > 0, "{scenario}");
        for (path, content) in &there {
            assert!(expected[path] == *content, "{scenario}: {}", path.display());
            let time = |home: &TestHome| {
                fs::metadata(home.home.path().join(path)).unwrap().modified().unwrap()
            };
            assert_eq!(time(&test), time(&other), "{scenario}: {}", path.display());
        }
        let again = other.run(&["unpack", archive, "--json"]);
        assert!(again.json().iter().all(|told| told["notes"][0] == "already exists"));
        assert_eq!(other.run(&["undo"]).code, 0, "{scenario}");
        assert!(tree(other.home.path()).is_empty(), "{scenario}");
    }
}

#[test]
fn copies_of_packed_sessions_send_the_same() {
    let test = recorded("2.1.325/I11");
    let id = test.run(&["ls", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(test.run(&["pack", "latest"]).code, 0);
    let archive = format!("{id}.recto");
    let goal = test.work.path().join("goal");
    fs::create_dir(&goal).unwrap();
    let before = tree(test.home.path());
    let arguments = ["unpack", &archive, "--new-ids", "--to", goal.to_str().unwrap(), "--json"];
    let dry = edited(&test, &[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(dry["result"], serde_json::Value::Null);
    assert!(tree(test.home.path()) == before);
    let told = edited(&test, &arguments);
    let new = told["result"]["id"].as_str().unwrap();
    assert_ne!(new, id);
    let row = test.run(&["ls", "--json"]).json();
    let row = row.iter().find(|row| row["id"] == *new).unwrap();
    assert_eq!(row["cwd"], "[work]/goal");
    for version in ["2.0.50", "2.1.29", "2.1.325"] {
        assert!(messages(&test, &id, version) == messages(&test, new, version), "{version}");
    }
    assert_eq!(test.run(&["undo"]).code, 0);
    assert!(tree(test.home.path()) == before);
}

#[test]
fn an_archive_is_listed_and_never_replaced() {
    let test = TestHome::with_sessions();
    let run = test.run(&["pack", FIX, DOCS, FIX]);
    assert!(run.stdout.starts_with("packed 2 sessions (3 files, "), "{}", run.shown());
    insta::assert_snapshot!(test.run(&["unpack", "sessions.recto", "--list"]).shown(), @"
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718  /home/dev/app  2 files, 11 kB  Repair the parser
    3f2b77aa-51c7-4d02-b8f4-93ad17c2e680  /home/dev/docs  1 file, 1.1 kB  Parser docs
    --- exit 0
    ");
    let listed = test.run(&["unpack", "sessions.recto", "--list", "--json"]).json();
    assert_eq!(listed[0]["files"][0]["role"], "log");
    insta::assert_snapshot!(test.run(&["pack", FIX, DOCS]).shown(), @"
    --- stderr
    error: sessions.recto exists
    hint: --output names another file
    --- exit 2
    ");
    insta::assert_snapshot!(test.run(&["unpack", "sessions.recto"]).shown(), @"
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718  already exists
    3f2b77aa-51c7-4d02-b8f4-93ad17c2e680  already exists
    nothing was changed
    --- exit 0
    ");
    let log = test.home.path().join(format!("projects/-home-dev-docs/{DOCS}.jsonl"));
    let mut changed = fs::read(&log).unwrap();
    changed.extend(b"{}\n");
    fs::write(&log, changed).unwrap();
    insta::assert_snapshot!(test.run(&["unpack", "sessions.recto"]).shown(), @"
    --- stderr
    error: the home has a session 3f2b77aa-51c7-4d02-b8f4-93ad17c2e680 already, and it is not the same: [claude]/projects/-home-dev-docs/3f2b77aa-51c7-4d02-b8f4-93ad17c2e680.jsonl
    hint: use --new-ids to unpack the sessions as copies with new ids
    --- exit 2
    ");
    let run = test.run(&["pack", "--project", "/home/dev/docs", "-o", "docs.recto"]);
    assert!(run.stdout.starts_with("packed 1 session (1 file, "), "{}", run.shown());
}

#[test]
fn what_is_no_archive_changes_nothing() {
    let test = TestHome::with_sessions();
    let before = tree(test.home.path());
    let path = test.work.path().join("bad.recto");
    assert_eq!(test.run(&["pack", FIX, "-o", path.to_str().unwrap()]).code, 0);
    let good = fs::read(&path).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for bytes in [b"not an archive".to_vec(), good[..good.len() - 9].to_vec(), flipped] {
        fs::write(&path, bytes).unwrap();
        let run = test.run(&["unpack", "bad.recto", "--new-ids", "--json"]);
        assert_eq!(run.code, 2, "{}", run.shown());
        assert!(run.stderr.contains("\"kind\":\"bad-archive\""), "{}", run.stderr);
        assert!(tree(test.home.path()) == before);
        assert!(!test.user.path().join(".local/share/recto/unpacked").exists());
    }
}
