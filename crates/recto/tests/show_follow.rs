//! `recto show --follow`.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Lines;
use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::process::ChildStdout;
use std::process::Stdio;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use serde_json::Value;

use crate::hostile::assert_no_control;
use crate::hostile::texts;
use crate::hostile::turn;
use crate::hostile::without_own_colours;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// A program that follows a log.
struct Following {
    child: Child,
    shown: Lines<BufReader<ChildStdout>>,
}

impl Following {
    fn start(test: &TestHome, arguments: &[&str]) -> Following {
        let mut child = test.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let shown = BufReader::new(child.stdout.take().unwrap()).lines();
        Following { child, shown }
    }

    /// What is shown up to a line that holds the words.
    fn until(&mut self, wanted: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for line in &mut self.shown {
            lines.push(line.unwrap());
            if lines.last().is_some_and(|line| line.contains(wanted)) {
                return lines;
            }
        }
        panic!("{wanted} was not shown: {lines:#?}");
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn append(path: &Path, bytes: &[u8]) {
    fs::File::options().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// A log, and the same with more in it.
fn begun() -> (SessionBuilder, SessionBuilder) {
    let begun = SessionBuilder::new(FIX, Client::V2_1_325).prompt("Hello");
    (begun.clone(), begun.answer("Hello to you."))
}

fn added(begun: &SessionBuilder, whole: &SessionBuilder) -> Vec<u8> {
    whole.bytes()[begun.bytes().len()..].to_vec()
}

#[test]
fn a_log_is_followed_line_by_line() {
    let test = TestHome::empty();
    let (begun, whole) = begun();
    let path = test.home.add(&begun, hours_ago(1));
    let mut following = Following::start(&test, &["show", "--follow"]);
    following.until("  Hello");
    // The line is written in two pieces, and shown when it is whole.
    let added = added(&begun, &whole);
    append(&path, &added[..20]);
    append(&path, &added[20..]);
    following.until("  Hello to you.");
}

#[test]
fn a_log_that_is_rewritten_is_read_again_and_one_that_moves_is_followed() {
    let test = TestHome::empty();
    let (begun, whole) = begun();
    let path = test.home.add(&begun, hours_ago(1));
    let mut following = Following::start(&test, &["show", "--follow"]);
    following.until("  Hello");
    let other = SessionBuilder::new(FIX, Client::V2_1_325).prompt("Something else");
    fs::write(&path, other.bytes()).unwrap();
    following.until("(the log was rewritten; reading it again)");
    following.until("  Something else");
    let project = path.parent().unwrap().with_file_name("-elsewhere");
    fs::create_dir(&project).unwrap();
    let moved = project.join(path.file_name().unwrap());
    fs::rename(&path, &moved).unwrap();
    append(&moved, &added(&begun, &whole));
    let shown = following.until("  Hello to you.");
    assert!(!shown.iter().any(|line| line.contains("Something else")), "{shown:#?}");
}

#[test]
fn a_session_that_is_moved_by_recto_is_followed_there_and_nothing_is_shown_twice() {
    let test = TestHome::empty();
    let (begun, whole) = begun();
    let path = test.home.add(&begun, hours_ago(1));
    let mut following = Following::start(&test, &["show", "--follow", "--json"]);
    following.until("Hello");
    let place = test.work.path().join("elsewhere");
    fs::create_dir(&place).unwrap();
    let run = test.run(&["move", FIX, place.to_str().unwrap(), "--json"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(!path.exists());
    let key = recto_log::ProjectKey::of_path(fs::canonicalize(&place).unwrap().to_str().unwrap());
    let moved =
        test.home.path().join("projects").join(key.as_str()).join(path.file_name().unwrap());
    append(&moved, &added(&begun, &whole));
    let shown = following.until("Hello to you.");
    assert_eq!(shown.len(), 1, "{shown:#?}");
    // It can be moved again.
    let again = path.parent().unwrap().with_file_name("-again");
    fs::create_dir(&again).unwrap();
    let copy = again.join(path.file_name().unwrap());
    fs::copy(&moved, &copy).unwrap();
    fs::remove_file(&moved).unwrap();
    append(&copy, &added(&whole, &whole.clone().prompt("Hello again.")));
    let shown = following.until("Hello again.");
    // That it was gone for a moment may be told.
    let is_shown_twice = |line: &String| line.contains("Hello to you.");
    assert!(!shown.iter().any(is_shown_twice), "{shown:#?}");
}

#[test]
fn another_log_in_place_of_the_one_that_is_gone_is_read_from_its_beginning() {
    let test = TestHome::empty();
    let path = test.home.add(&begun().0, hours_ago(1));
    let mut following = Following::start(&test, &["show", "--follow"]);
    following.until("  Hello");
    let other = SessionBuilder::new(FIX, Client::V2_1_325).prompt("Something else");
    let other = String::from_utf8(other.bytes().to_vec()).unwrap();
    let project = path.parent().unwrap().with_file_name("-elsewhere");
    fs::create_dir(&project).unwrap();
    // Its lines are others.
    let uuids = other.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        Some(line["uuid"].as_str()?.to_owned())
    });
    let other = uuids.fold(other.clone(), |other, uuid| {
        other.replace(&uuid, &format!("{}{}", &uuid[..35], if uuid.ends_with('7') { 8 } else { 7 }))
    });
    fs::write(project.join(path.file_name().unwrap()), other).unwrap();
    fs::remove_file(&path).unwrap();
    following.until("(another log replaced it; reading it from the start)");
    following.until("  Something else");
}

#[test]
fn items_are_followed_as_json() {
    let test = TestHome::empty();
    let (begun, whole) = begun();
    let path = test.home.add(&begun, hours_ago(1));
    let mut following = Following::start(&test, &["show", "--follow", "--json"]);
    let last =
        |lines: Vec<String>| -> Value { serde_json::from_str(lines.last().unwrap()).unwrap() };
    let prompt = last(following.until("Hello"));
    assert_eq!(prompt["item"], "prompt");
    append(&path, &added(&begun, &whole));
    let answer = last(following.until("Hello to you."));
    // The items are those of the whole log.
    assert_eq!([prompt.clone(), answer], *test.run(&["show", "--json"]).json());
    fs::write(&path, begun.bytes()).unwrap();
    let note = last(following.until("restart"));
    assert_eq!((&note["item"], &note["kind"]), (&"note".into(), &"restart".into()));
    let again = last(following.until("Hello"));
    assert_eq!(again, prompt);
    fs::remove_file(&path).unwrap();
    assert_eq!(last(following.until("removed"))["kind"], "removed");
}

#[test]
fn a_file_outside_the_home_and_a_subagent_are_followed() {
    let test = TestHome::empty();
    let (begun, whole) = begun();
    let path = test.home.add(&begun, hours_ago(1));
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.jsonl");
    let agent = path.with_extension("").join("subagents/agent-a1b2.jsonl");
    fs::create_dir_all(agent.parent().unwrap()).unwrap();
    for path in [&copy, &agent] {
        fs::write(path, begun.bytes()).unwrap();
        let mut following = Following::start(&test, &["show", "--follow", path.to_str().unwrap()]);
        following.until("  Hello");
        append(path, &added(&begun, &whole));
        following.until("  Hello to you.");
    }
}

#[cfg(unix)]
#[test]
fn it_ends_when_nobody_reads() {
    let test = TestHome::empty();
    test.home.add(&begun().0, hours_ago(1));
    let mut following = Following::start(&test, &["show", "--follow"]);
    following.until("  Hello");
    let Following { child, shown } = &mut following;
    // Nothing is written to the log, so that only the closed pipe can tell.
    let nothing = BufReader::new(spare_output()).lines();
    drop(std::mem::replace(shown, nothing));
    assert!(child.wait().unwrap().success());
}

/// The output of a program that has ended.
#[cfg(unix)]
fn spare_output() -> ChildStdout {
    let mut child = std::process::Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    let output = child.stdout.take().unwrap();
    child.wait().unwrap();
    output
}

#[test]
fn hostile_text_that_is_followed_is_harmless() {
    for colour in ["never", "always"] {
        let test = TestHome::empty();
        let begun = SessionBuilder::new(FIX, Client::V2_1_325).prompt("Hello");
        let path = test.home.add(&begun, hours_ago(1));
        let arguments =
            ["show", "--follow", "--thinking", "--tools", "full", "--meta", "--color", colour];
        let mut following = Following::start(&test, &arguments);
        following.until("Hello");
        let mut whole = begun.clone();
        for text in texts() {
            whole = turn(whole, &text);
        }
        let whole = whole.prompt("w-the-end");
        // Pieces that end in the middle of a character.
        for piece in added(&begun, &whole).chunks(777_777) {
            append(&path, piece);
        }
        let shown = following.until("w-the-end").join("\n");
        for word in ["w-prompt", "w-thinking", "w-tool", "w-result", "w-answer", "w-output"] {
            assert!(shown.contains(word), "{word} is not shown");
        }
        let shown = if colour == "always" { without_own_colours(&shown) } else { shown };
        assert_no_control(&shown, &format!("{arguments:?}"));
    }
}
