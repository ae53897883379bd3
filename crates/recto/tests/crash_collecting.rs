//! A collector is killed, or fails, at every system call of one look at the home. Nothing is lost,
//! nothing is there twice, and the next look puts everything right.

use std::fs;
use std::fs::File;
use std::io::Write as _;

use recto_testkit::contents;

use crate::crash::Call;
use crate::crash::calls_of;
use crate::crash::each_case;
use crate::crash::strace;
use crate::crash::traced;
use crate::support::TestHome;

const GROWS: &str = "projects/-w/11111111-0000-4000-8000-000000000000.jsonl";
const REWRITTEN: &str = "projects/-w/22222222-0000-4000-8000-000000000000.jsonl";
const DELETED: &str = "projects/-w/33333333-0000-4000-8000-000000000000.jsonl";
const MOVES: &str = "projects/-w/44444444-0000-4000-8000-000000000000.jsonl";
const MOVED: &str = "projects/-v/44444444-0000-4000-8000-000000000000.jsonl";
const NEW: &str = "projects/-w/55555555-0000-4000-8000-000000000000.jsonl";
const TITLE: &str = "projects/-w/11111111-0000-4000-8000-000000000000/custom-title.json";

fn lines(word: &str, count: usize) -> String {
    (0..count).map(|number| format!("{{\"{word}\":{number}}}\n")).collect()
}

/// A home that was collected once, and in which everything has happened since that can.
fn prepare() -> TestHome {
    let test = TestHome::empty();
    for (path, word) in
        [(GROWS, "grows"), (REWRITTEN, "old"), (DELETED, "deleted"), (MOVES, "moves")]
    {
        test.home.write(path, lines(word, 40));
    }
    test.home.write(TITLE, r#"{"customTitle":"one"}"#);
    assert_eq!(test.run(&["collect"]).code, 0);
    let mut log = File::options().append(true).open(test.home.path().join(GROWS)).unwrap();
    log.write_all(lines("grown", 40).as_bytes()).unwrap();
    test.home.write(REWRITTEN, lines("new", 50));
    fs::remove_file(test.home.path().join(DELETED)).unwrap();
    fs::create_dir(test.home.path().join("projects/-v")).unwrap();
    fs::rename(test.home.path().join(MOVES), test.home.path().join(MOVED)).unwrap();
    test.home.write(NEW, lines("new", 40));
    test.home.write(TITLE, r#"{"customTitle":"two"}"#);
    test
}

/// All bytes that were ever seen, each once.
fn all_bytes() -> u64 {
    let logs = [
        ("grows", 40),
        ("grown", 40),
        ("old", 40),
        ("new", 50),
        ("deleted", 40),
        ("moves", 40),
        ("new", 40),
    ];
    let logs: usize = logs.into_iter().map(|(word, count)| lines(word, count).len()).sum();
    (logs + 2 * r#"{"customTitle":"one"}"#.len()) as u64
}

fn assert_all_is_kept(test: &TestHome, what: &str) {
    let verified = test.run(&["collect", "verify", "--json"]);
    assert_eq!(verified.code, 0, "{what}: {}", verified.shown());
    assert_eq!(verified.json()[0]["bytes"], all_bytes(), "{what}: {}", verified.shown());
}

fn try_one(strace: &str, call: &Call, fate: &str) {
    let what = format!("{fate} at call {} of {}", call.when, call.name);
    let test = prepare();
    let options = ["-e".to_owned(), call.inject(fate)];
    let output = traced(&test, strace, &options, &["collect", "--json"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked"), "{what}: {said}");
    if output.status.success() {
        assert_all_is_kept(&test, &format!("{what}, said to be done"));
    }
    let again = test.run(&["collect"]);
    assert_eq!(again.code, 0, "{what}: {}", again.shown());
    assert_all_is_kept(&test, &what);
    let leftover = fs::read_dir(test.user.path().join(".local/share/recto/archive/tmp")).unwrap();
    assert_eq!(leftover.count(), 0, "{what}");
    // What the archive gives back is the home, and the log that was deleted.
    let back = test.work.path().join("back");
    let restored = test.run(&["restore", "--all", "--to", back.to_str().unwrap()]);
    assert_eq!(restored.code, 0, "{what}: {}", restored.shown());
    let mut expected = contents(test.home.path());
    expected.retain(|path, _| path.starts_with("projects"));
    expected.insert(DELETED.into(), lines("deleted", 40).into_bytes());
    let found = contents(&back);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{what}");
    assert!(found == expected, "{what}: bytes differ");
}

#[test]
#[ignore = "needs strace"]
fn a_look_at_the_home_is_whole_whatever_happens() {
    let strace = strace();
    let calls = calls_of(&prepare(), &["collect", "--json"], &strace);
    let cases = each_case(&calls, &|call, fate| try_one(&strace, call, fate));
    assert!(cases > 200, "only {cases} cases");
}

#[test]
#[ignore = "needs strace"]
fn an_archive_that_cannot_be_written_is_named() {
    let strace = strace();
    for (fate, hint) in [
        ("error=EROFS", "make the archive writable"),
        ("error=EACCES", "make the archive writable"),
        ("error=EDQUOT", "free disk space"),
    ] {
        let test = prepare();
        // What is put into an archive gets its name with this call.
        let options = ["-e".to_owned(), format!("inject=renameat2,linkat:{fate}")];
        let output = traced(&test, &strace, &options, &["collect"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{fate}: {said}");
        assert!(said.starts_with("error: ") && said.contains(hint), "{fate}: {said}");
        assert_eq!(test.run(&["collect"]).code, 0, "{fate}");
        assert_all_is_kept(&test, fate);
    }
}
