//! The program is killed, or fails, at every system call that changes
//! something. The session is the old one or the new one, never anything else,
//! and the next command puts right what was left.
//!
//! `RECTO_TEST_STRACE` names the `strace`. `cargo xtask test` runs these tests where it
//! finds or can install one, and counts them as skipped where not.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use recto_testkit::Tree;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;

/// The calls that change something, and those that open what is changed.
const CALLS: [&str; 19] = [
    "openat",
    "openat2",
    "write",
    "pwrite64",
    "ftruncate",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "fchmod",
    "utimensat",
    "rmdir",
];

/// What happens at a call.
pub(crate) const FATES: [&str; 3] = ["signal=KILL", "error=EIO", "error=ENOSPC"];

pub(crate) fn strace() -> String {
    recto_testkit::tool("RECTO_TEST_STRACE")
}

/// All files of the home but for the session that the next command works on.
fn tree(root: &Path) -> Tree {
    let mut found = recto_testkit::tree(root);
    found.retain(|path, _| !path.to_str().unwrap().contains(DOCS));
    found
}

/// The same without what was staged, which no client looks at.
fn published(root: &Path) -> Tree {
    let mut found = tree(root);
    found.retain(|path, _| !path.file_name().unwrap().to_string_lossy().starts_with(".recto-"));
    found
}

/// A home in which `before` commands have run, to run one more.
fn prepare(before: &[&[&str]]) -> TestHome {
    let test = TestHome::with_sessions();
    let place = format!("projects/-home-dev-app/{FIX}/custom-title.json");
    test.home.write(&place, r#"{"customTitle":"x"}"#);
    for arguments in before {
        let run = test.run(arguments);
        assert_eq!(run.code, 0, "{}", run.shown());
    }
    test
}

pub(crate) fn traced(
    test: &TestHome,
    strace: &str,
    options: &[String],
    arguments: &[&str],
) -> Command {
    let mut command = Command::new(strace);
    command.args(["-f", "-qq", "-o"]).arg(test.work.path().join("trace")).args(options);
    command.arg(env!("CARGO_BIN_EXE_recto")).args(arguments);
    test.set_environment(&mut command);
    command
}

/// The calls that the command makes, with their places among the calls of their
/// name. Files of the system and of the loader are left out.
pub(crate) fn calls_of(test: &TestHome, arguments: &[&str], strace: &str) -> Vec<Call> {
    let options = ["-y".to_owned(), "-e".to_owned(), format!("trace={}", CALLS.join(","))];
    assert!(traced(test, strace, &options, arguments).output().unwrap().status.success());
    let trace = fs::read_to_string(test.work.path().join("trace")).unwrap();
    let own = [test.home.path(), test.user.path()].map(|path| path.to_str().unwrap().to_owned());
    let mut calls = Vec::new();
    for call in CALLS {
        let lines = trace.lines().filter(|line| line.contains(&format!(" {call}(")));
        for (at, line) in lines.enumerate() {
            if own.iter().any(|folder| line.contains(folder)) {
                let name = call;
                // A full disk is met only by what needs room.
                let needs_room = match name {
                    "openat" => line.contains("O_CREAT"),
                    "write" | "pwrite64" | "ftruncate" | "fsync" | "rename" | "renameat2"
                    | "mkdir" | "mkdirat" => true,
                    _ => false,
                };
                calls.push(Call { name, when: at + 1, needs_room });
            }
        }
    }
    calls
}

/// One call to the system.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    /// Its place among the calls of this name.
    pub(crate) when: usize,
    pub(crate) needs_room: bool,
}

impl Call {
    /// What makes a run meet its fate at this call.
    pub(crate) fn inject(&self, fate: &str) -> String {
        format!("inject={}:{fate}:when={}", self.name, self.when)
    }
}

/// Runs a test for every fate at every call, on two threads. Says how many there were.
pub(crate) fn each_case(calls: &[Call], case: &(dyn Fn(&Call, &str) + Sync)) -> usize {
    let cases: Vec<(&Call, &str)> = calls
        .iter()
        .flat_map(|call| FATES.map(|fate| (call, fate)))
        .filter(|(call, fate)| *fate != "error=ENOSPC" || call.needs_room)
        .collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((call, fate)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    case(call, fate);
                }
            });
        }
    });
    cases.len()
}

/// Runs the command with every fate at every call.
fn try_everything(
    before: &[&[&str]],
    arguments: &[&str],
    opposite: &[&str],
    strace: &str,
) -> usize {
    let calls = calls_of(&prepare(before), arguments, strace);
    each_case(&calls, &|call, fate| try_one(before, arguments, opposite, strace, call, fate))
}

fn try_one(
    before: &[&[&str]],
    arguments: &[&str],
    opposite: &[&str],
    strace: &str,
    call: &Call,
    fate: &str,
) {
    let what = format!("{fate} at call {} of {}, {arguments:?}", call.when, call.name);
    let test = prepare(before);
    let root = test.home.path();
    let old = tree(root);
    let options = ["-e".to_owned(), call.inject(fate)];
    let output = traced(&test, strace, &options, arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked"), "{what}: {said}");
    let after = published(root);
    // There is a log at any time, wherever it goes.
    let log = format!("{FIX}.jsonl");
    assert!(after.keys().any(|path| path.ends_with(&log)), "{what}: the session is gone");
    // The next command finishes it or takes it back.
    let next = test.run(&["rename", DOCS, "Something else"]);
    assert_eq!(next.code, 0, "{what}: {}", next.shown());
    let settled = tree(root);
    let is_staged = |path: &&PathBuf| path.to_str().unwrap().contains(".recto-");
    assert_eq!(settled.keys().find(is_staged), None, "{what}: left over");
    // Each file by itself was the old one or the new one.
    for path in old.keys().chain(after.keys()).chain(settled.keys()) {
        let file = after.get(path);
        let is_either = file == old.get(path) || file == settled.get(path);
        assert!(is_either, "{what}: {} is torn", path.display());
    }
    // A command that says that it worked, or was killed after it had, has worked.
    let is_new = settled != old;
    assert!(is_new || !output.status.success(), "{what}: said to be done and is not");
    if is_new {
        // It is whole, and can be taken back.
        let run = test.run(opposite);
        assert_eq!(run.code, 0, "{what}: {}", run.shown());
        assert!(tree(root) == old, "{what}: it is not as it was before");
    } else {
        let run = test.run(arguments);
        assert_eq!(run.code, 0, "{what}: {}", run.shown());
        assert!(tree(root) != old, "{what}: it did nothing the second time");
    }
}

#[test]
#[ignore = "needs strace"]
fn an_edit_is_whole_whatever_happens() {
    let strace = strace();
    let cases = try_everything(&[], &["rename", FIX, "Another title"], &["undo", "1"], &strace);
    assert!(cases > 100, "only {cases} cases");
}

#[test]
#[ignore = "needs strace"]
fn an_undo_is_whole_whatever_happens() {
    let strace = strace();
    let rename = ["rename", FIX, "Another title"];
    let cases = try_everything(&[&rename], &["undo", "1"], &["redo", "1"], &strace);
    assert!(cases > 100, "only {cases} cases");
}

#[test]
#[ignore = "needs strace"]
fn a_move_is_whole_whatever_happens() {
    let strace = strace();
    let arguments = ["move", FIX, "/home/dev/moved", "--even-if-missing"];
    let cases = try_everything(&[], &arguments, &["undo", "1"], &strace);
    assert!(cases > 100, "only {cases} cases");
}

#[test]
#[ignore = "needs strace"]
fn a_redaction_is_whole_whatever_happens() {
    let strace = strace();
    // The log of the session, and that of its subagent.
    let arguments = ["redact", FIX, "--pattern", "word=parse[a-z]*", "--in-place"];
    let cases = try_everything(&[], &arguments, &["undo", "1"], &strace);
    assert!(cases > 100, "only {cases} cases");
}
