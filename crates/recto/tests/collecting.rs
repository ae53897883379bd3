//! `recto collect` and `restore`.

use std::fs;
use std::fs::File;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::edition::recorded;
use crate::edition::tree;
use crate::support::FIX;
use crate::support::OLD;
use crate::support::TestHome;

/// The command that brings everything back.
const RESTORE: [&str; 3] = ["restore", "--all", "--json"];

#[test]
fn what_was_collected_and_deleted_comes_back_byte_for_byte() {
    for scenario in ["2.1.325/S3", "2.1.325/S9", "2.1.29/S4", "2.0.50/S3", "2.0.36/S4"] {
        let test = recorded(scenario);
        let mut before = tree(test.home.path());
        // Old clients leave empty logs behind; they have no byte to keep.
        before.retain(|_, content| !content.is_empty());
        let collected = test.run(&["collect", "--json"]);
        assert_eq!(collected.code, 0, "{scenario}: {}", collected.shown());
        assert_eq!(test.run(&["collect", "verify"]).code, 0, "{scenario}");
        let request = |test: &TestHome| test.run(&["request", "latest", "--json"]).stdout;
        let sent = request(&test);
        for entry in fs::read_dir(test.home.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            }
        }
        assert_eq!(request(&test), sent, "{scenario}");
        let without = test.run(&["request", "latest", "--json", "--no-archive"]);
        assert_eq!(without.code, 1, "{scenario}: {}", without.shown());
        let deleted = test.run(&["collect", "--json"]).json().remove(0);
        assert!(deleted["deleted"].as_u64().unwrap() > 0, "{scenario}");
        let restored = test.run(&RESTORE);
        assert_eq!(restored.code, 0, "{scenario}: {}", restored.shown());
        assert_eq!(tree(test.home.path()), before, "{scenario}");
        assert_eq!(request(&test), sent, "{scenario}");
        assert_eq!(test.run(&["undo"]).code, 0, "{scenario}");
        assert!(tree(test.home.path()).len() < before.len(), "{scenario}");
    }
}

#[test]
fn one_session_is_named_by_the_beginning_of_its_id() {
    let test = TestHome::with_sessions();
    test.run(&["collect"]);
    let there = test.run(&["restore", &FIX[..8], "--dry-run"]);
    assert!(there.stdout.ends_with("would restore 0 files\n"), "{}", there.shown());
    let missing = test.run(&["restore", "ffffffff"]);
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.starts_with("error: no archived session matches `ffffffff`\nhint: "));
}

#[test]
fn a_place_that_is_not_an_archive_is_named() {
    let test = TestHome::with_sessions();
    for command in [
        &["restore", "--all"][..],
        &["collect", "status"],
        &["collect", "verify"],
        &["collect", "prune"],
    ] {
        let run = test.run(command);
        assert_eq!(run.code, 2, "{command:?}");
        assert!(run.stderr.contains("no archive at"), "{}", run.shown());
        assert!(run.stderr.contains("hint: run `recto collect`"), "{}", run.shown());
    }
    let scheme = test.run(&["collect", "prune", "--to", "s3://bucket"]);
    assert!(scheme.stderr.starts_with("error: --to: unsupported scheme `s3`\n"));
}

#[test]
fn sessions_at_risk_are_named_until_they_are_collected() {
    let test = TestHome::with_sessions();
    let elsewhere = test.work.path().join("elsewhere");
    let elsewhere = elsewhere.to_str().unwrap();
    test.run(&["collect"]);
    // Another archive has nothing of this home yet.
    let empty = TestHome::empty();
    empty.run(&["collect", "--to", elsewhere]);
    let status = test.run(&["collect", "status", "--json", "--to", elsewhere]).json().remove(0);
    assert!(status["behind"].as_u64().unwrap() > 0);
    let status = test.run(&["collect", "status", "--json"]).json().remove(0);
    assert_eq!(status["at_risk"].as_array().unwrap().len(), 0);
}

#[test]
fn only_copies_are_not_pruned_by_accident() {
    let test = TestHome::with_sessions();
    test.run(&["collect"]);
    fs::remove_dir_all(test.home.path().join("projects")).unwrap();
    let prune = ["collect", "prune", "--older-than", "2099-01-01", "--yes"];
    let refused = test.run(&prune);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("exist only in the archive"), "{}", refused.shown());
    let forced = test.run(&[&prune[..], &["--force", "--json"]].concat());
    assert_eq!(forced.json()[0]["done"], true, "{}", forced.shown());
    assert_eq!(test.run(&RESTORE).json()[0]["files"].as_array().unwrap().len(), 0);
}

/// The long form is `cargo xtask bench collect --kills 1000`.
#[test]
fn killed_at_random_while_logs_are_written_it_loses_and_doubles_nothing() {
    let test = TestHome::empty();
    let project = test.home.path().join("projects/-w");
    fs::create_dir_all(&project).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .map(|number| {
            let path = project.join(format!("0000000{number}-0000-4000-8000-000000000000.jsonl"));
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                let mut written = Vec::new();
                let mut file = File::options().append(true).create(true).open(path).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    let count = written.len();
                    let line =
                        format!("{{\"n\":{count},\"text\":\"{}\"}}\n", "x".repeat(count % 999));
                    // In two pieces, so that some look at it finds a torn end.
                    let (first, second) = line.split_at(line.len() / 2);
                    file.write_all(first.as_bytes()).unwrap();
                    thread::sleep(Duration::from_micros(300));
                    file.write_all(second.as_bytes()).unwrap();
                    written.extend_from_slice(line.as_bytes());
                }
                written
            })
        })
        .collect();
    for kill in 0..12 {
        let mut command = test.command(&["collect"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(5 * kill));
        // It may have ended by itself.
        let _ = child.kill();
        child.wait().unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    let written: Vec<Vec<u8>> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    let collected = test.run(&["collect"]);
    assert_eq!(collected.code, 0, "{}", collected.shown());
    let verified = test.run(&["collect", "verify", "--json"]).json().remove(0);
    assert_eq!(verified["problems"].as_array().unwrap().len(), 0, "{verified}");
    // Torn ends that were kept, if any, are the only bytes that are there twice.
    let sum: u64 = written.iter().map(|bytes| bytes.len() as u64).sum();
    assert_eq!(verified["bytes"].as_u64().unwrap(), sum);
    let back = test.work.path().join("back");
    let restored = test.run(&["restore", "--all", "--to", back.to_str().unwrap()]);
    assert_eq!(restored.code, 0, "{}", restored.shown());
    for (number, written) in written.iter().enumerate() {
        let name = format!("projects/-w/0000000{number}-0000-4000-8000-000000000000.jsonl");
        assert!(fs::read(back.join(&name)).unwrap() == *written, "{name}");
    }
}

/// As on a full disk, which a test cannot have: no file may be larger than a few blocks.
#[cfg(unix)]
#[test]
fn without_room_it_says_so_and_nothing_is_lost() {
    let test = TestHome::with_sessions();
    let project = test.home.path().join("projects/-w");
    fs::create_dir_all(&project).unwrap();
    // It does not compress.
    let mut word = 1_u64;
    let mut text = String::new();
    while text.len() < 400_000 {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push_str(&format!("{{\"random\":{word}}}\n"));
    }
    fs::write(project.join("00000000-0000-4000-8000-000000000000.jsonl"), &text).unwrap();
    // There is no room for what the collector remembers; then for that, but not for the log.
    for (blocks, file) in [(50, "state.sqlite"), (200, "archive")] {
        let mut command = std::process::Command::new("sh");
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" collect");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_recto")]);
        test.set_environment(&mut command);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: ") && said.contains("hint: free disk space"), "{said}");
        assert!(said.contains(file), "{said}");
    }
    assert_eq!(test.run(&["collect"]).code, 0);
    assert_eq!(test.run(&["collect", "verify"]).code, 0);
}

#[test]
fn a_restored_session_that_would_be_deleted_again_is_told() {
    let test = TestHome::with_sessions();
    test.run(&["collect"]);
    fs::remove_dir_all(test.home.path().join("projects")).unwrap();
    // The oldest one was written 27 days ago.
    let restored = test.run(&["restore", OLD]);
    assert!(!restored.stderr.contains("again"), "{}", restored.shown());
    test.run(&["undo"]);
    test.home.write("settings.json", "{\"cleanupPeriodDays\": 20}");
    let restored = test.run(&["restore", OLD]);
    let told = "Claude Code deletes 1 session again at its next start, after 20 days; \
                `recto home --keep 365` prevents that";
    assert!(restored.stderr.contains(told), "{}", restored.shown());
    let kept = test.run(&["home", "--keep", "365"]);
    assert!(kept.stdout.starts_with("Claude Code keeps logs for 365 days"), "{}", kept.shown());
    let settings = fs::read_to_string(test.home.path().join("settings.json")).unwrap();
    assert_eq!(settings, "{\"cleanupPeriodDays\": 365}");
    assert_eq!(test.run(&["undo"]).code, 0);
    let settings = fs::read_to_string(test.home.path().join("settings.json")).unwrap();
    assert_eq!(settings, "{\"cleanupPeriodDays\": 20}");
}

#[test]
fn what_is_due_is_safe_once_it_is_archived() {
    let test = TestHome::with_sessions();
    let due = |test: &TestHome| test.run(&["home", "--json"]).json().remove(0)["due"][0].clone();
    assert_eq!((due(&test)["id"].as_str(), &due(&test)["archived"]), (Some(OLD), &false.into()));
    test.run(&["collect"]);
    assert_eq!(due(&test)["archived"], true);
    let told = test.run(&["home"]).stdout;
    assert!(!told.contains("recto collect"), "{told}");
}

/// The archive grows while the server runs.
#[test]
fn a_server_collects_if_it_is_told_to() {
    let test = TestHome::with_sessions();
    let (_served, _) = crate::serve::start(&test, &["--collect"]);
    let log = test.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"));
    let is_kept = || test.run(&["collect", "verify"]).code == 0;
    while !is_kept() {
        thread::sleep(Duration::from_millis(100));
    }
    let mut file = File::options().append(true).open(log).unwrap();
    file.write_all(b"{\"type\":\"progress\"}\n").unwrap();
    while !is_kept() {
        thread::sleep(Duration::from_millis(100));
    }
}
