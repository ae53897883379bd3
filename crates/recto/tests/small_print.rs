//! Small things that an attack found: what was typed in errors, files that others could read,
//! and one log that cannot be read among many.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::hostile::assert_no_control;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::set_mode;

#[test]
fn what_was_typed_does_nothing_to_the_terminal_when_it_is_wrong() {
    let test = TestHome::with_sessions();
    let evil = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\u{3164}";
    for arguments in [
        vec![evil],
        vec!["ls", evil, evil],
        vec!["ls", "--since"],
        vec!["export", FIX, "--to", evil],
        vec!["show", "--turn", evil],
    ] {
        let run = test.run(&arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.shown());
        assert!(run.stderr.starts_with("error:"), "{arguments:?}: {}", run.shown());
        assert_no_control(&run.stderr, "stderr");
    }
    let option = format!("--{evil}");
    let run = test.run(&["search", &option]);
    assert_no_control(&run.stderr, "stderr");
    assert!(run.stderr.contains("\u{fffd}2J\u{fffd}\u{fffd}"), "{}", run.shown());
}

#[test]
fn exported_files_and_their_index_are_for_the_user_alone_and_follow_no_link() {
    let test = TestHome::with_sessions();
    let out = test.work.path().join("out");
    let elsewhere = test.work.path().join("elsewhere.md");
    fs::create_dir(&out).unwrap();
    let words = ["export", "--all", "--to", "md", "--output", out.to_str().unwrap()];
    let run = test.run(&words);
    assert_eq!(run.code, 0, "{}", run.shown());
    let mut index = None;
    for item in fs::read_dir(&out).unwrap() {
        let path = item.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
        if path.file_stem().unwrap().len() < 36 {
            index = Some(path);
        }
    }
    let index = index.unwrap();
    // A link to a file that does not exist is not a way to make that file.
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &index).unwrap();
    let run = test.run(&words);
    assert_eq!(run.code, 2, "{}", run.shown());
    assert!(!elsewhere.exists());
    let run = test.run(&[&words[..], &["--force"]].concat());
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(!elsewhere.exists());
    assert!(!fs::symlink_metadata(&index).unwrap().is_symlink());
}

#[test]
fn one_log_that_cannot_be_read_does_not_stop_the_others() {
    let test = TestHome::with_sessions();
    let log = test.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"));
    set_mode(&log, 0o000);
    let work = test.work.path().to_str().unwrap().to_owned();
    let run = |words: &[&str]| test.run_as_nobody(words);
    fs::create_dir(format!("{work}/out")).unwrap();
    set_mode(format!("{work}/out").as_ref(), 0o777);
    let out = format!("{work}/out");
    let exported = run(&["export", "--all", "--output", &out]);
    assert_eq!(exported.code, 1, "{}", exported.shown());
    assert!(exported.stderr.contains("skipped: "), "{}", exported.shown());
    assert!(exported.stderr.contains("wrote 2 sessions"), "{}", exported.shown());
    // Two sessions and the index. An archive has logs without a conversation too.
    assert_eq!(fs::read_dir(&out).unwrap().count(), 3);
    let archive = format!("{out}/all.recto");
    let packed = run(&["pack", "--all", "--output", &archive]);
    assert_eq!(packed.code, 1, "{}", packed.shown());
    assert!(packed.stderr.contains("skipped: "), "{}", packed.shown());
    assert!(packed.stdout.contains("packed 4 sessions"), "{}", packed.shown());
    // What was named is wanted.
    let named = run(&["pack", FIX, "--output", &format!("{out}/one.recto")]);
    assert_eq!(named.code, 2, "{}", named.shown());
}
