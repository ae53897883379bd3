//! The console on a real terminal: conversations, interrupts, signals, hostile output. What keys
//! do and what screens look like is tested beside the code.
//!
//! Interrupts of a test run are few. All of them:
//!
//! ```sh
//! RECTO_INTERRUPTS=1000 cargo test -p recto --test runner interrupted_at_random
//! ```

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use recto_testkit::fuzz::Random;
use recto_testkit::fuzz::variable;
use serde_json::Value;
use serde_json::json;

use crate::browse::Seat;
use crate::run::Bench;
use crate::run::call;

pub(crate) const FREE: &str = "--dangerously-skip-permissions";

pub(crate) fn sit(bench: &Bench, arguments: &[&str]) -> Seat {
    let arguments: Vec<&str> = ["run"].iter().chain(arguments).copied().collect();
    let mut command = bench.command(&arguments);
    command.env_remove("NO_COLOR").env_remove("RECTO_NOW").env("TERM", "xterm-256color");
    let seat = Seat::of(command);
    seat.wait_for("/help", 1);
    seat
}

/// Leaves, and sees that the terminal is as it was.
pub(crate) fn leave(mut seat: Seat) -> String {
    seat.type_keys("\u{4}");
    let (status, shown) = seat.end_inline();
    assert_eq!(status.code(), Some(0), "{shown:?}");
    shown
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_conversation_is_held_and_resumed() {
    let bench = Bench::new(&[
        json!({"last": "first", "text": "The **first** answer."}),
        json!({"last": "second", "text": "The second answer."}),
    ]);
    let mut seat = sit(&bench, &[]);
    seat.type_keys("first\r");
    seat.wait_for("answer.", 1);
    let shown = leave(seat);
    assert!(shown.contains("continue with: recto run --resume"), "{shown:?}");
    assert!(!shown.contains("\u{1b}[?1049h"), "the scrollback is the terminal's own: {shown:?}");
    let mut seat = sit(&bench, &["--continue"]);
    seat.type_keys("second\r");
    seat.wait_for("second", 2);
    leave(seat);
    let logs = bench.logs();
    assert_eq!(logs.len(), 1);
    let log = fs::read_to_string(&logs[0]).unwrap();
    assert!(log.contains("The **first** answer.") && log.contains("The second answer."));
    assert_eq!(bench.refusals(), Vec::<String>::new());
    let history = fs::read_to_string(bench.test.home.path().join("history.jsonl")).unwrap();
    assert!(history.contains(r#""display":"first""#), "{history}");
}

#[test]
fn a_question_is_answered_and_a_rule_is_kept() {
    let command = "make --version";
    let bench = Bench::new(&[
        json!({"last": "go", "times": 2, "blocks": [call("t1", "Bash", json!({"command": command}))]}),
        json!({"text": "all-done"}),
    ]);
    let mut seat = sit(&bench, &[]);
    seat.type_keys("go\r");
    seat.wait_for("settings.local.json", 1);
    seat.type_keys("2");
    seat.wait_for("all-done", 1);
    leave(seat);
    let file = bench.test.work.path().join(".claude/settings.local.json");
    let settings = fs::read_to_string(file).unwrap();
    assert!(settings.contains("Bash(make"), "{settings}");
}

#[test]
fn interrupted_at_random_moments_it_stops_and_nothing_runs_on() {
    let stubborn = "(trap '' TERM; exec sleep 6000) & sleep 6000";
    let bench = Bench::new(&[
        json!({"contains": "go", "event_delay_ms": 5, "blocks": [
            {"type": "text", "text": "word ".repeat(30)},
            {"type": "tool_use", "name": "Bash", "input": {"command": stubborn}},
        ]}),
        json!({"text": "fine"}),
    ]);
    let rounds = variable("RECTO_INTERRUPTS", 4);
    let mut random = Random::new(7);
    let mut seat = sit(&bench, &[FREE]);
    for round in 1..=rounds {
        seat.type_keys("go\r");
        wait_until("it works", || bench.mock.asked().len() as u64 >= round);
        std::thread::sleep(Duration::from_millis(random.below(700) as u64));
        seat.type_keys("\u{1b}");
        seat.wait_for("interrupted", usize::try_from(round).unwrap());
    }
    leave(seat);
    let marker = bench.test.work.path().to_string_lossy().into_owned();
    let is_left = |entry: &Path| {
        let cwd = fs::read_link(entry.join("cwd")).unwrap_or_default();
        let name = fs::read_to_string(entry.join("comm")).unwrap_or_default();
        cwd.to_string_lossy() == marker && name.trim() == "sleep"
    };
    wait_until("no process is left", || {
        let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        !all.map(|entry| entry.path()).any(|path| is_left(&path))
    });
    assert_eq!(bench.refusals(), Vec::<String>::new());
    let log = fs::read_to_string(&bench.logs()[0]).unwrap();
    let lines: Vec<Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let blocks = |name: &str| {
        let content = |line: &Value| line["message"]["content"].as_array().cloned();
        let all = lines.iter().filter_map(content).flatten();
        all.filter(|block| block["type"] == name).count()
    };
    assert_eq!(blocks("tool_use"), blocks("tool_result"));
}

#[test]
fn a_paste_of_a_megabyte_is_a_chip_and_is_sent_whole() {
    let bench = Bench::new(&[json!({"text": "got-it"})]);
    let mut seat = sit(&bench, &[]);
    let text = "a line of text\n".repeat(70_000);
    seat.type_keys(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    seat.wait_for("lines]", 1);
    seat.type_keys("\r");
    seat.wait_for("got-it", 1);
    let shown = leave(seat);
    assert!(shown.len() < 200_000, "{}", shown.len());
    let log = fs::read_to_string(&bench.logs()[0]).unwrap();
    assert!(log.len() > 1_000_000);
}

#[test]
fn hostile_output_acts_on_nothing() {
    let evil = "\u{1b}]0;PWNED\u{7}\u{1b}[2J\u{1b}[?1049h\u{9b}5n\u{1b}P+q544e\u{1b}\\";
    let bench = Bench::new(&[
        json!({"last": "go", "blocks": [
            {"type": "text", "text": evil},
            call("t1", "Bash", json!({"command": "printf '\\033]0;PWNED\\007\\033[2J\\033[?1049h'", "description": evil})),
        ]}),
        json!({"text": format!("{evil} finished")}),
    ]);
    let mut seat = sit(&bench, &[FREE]);
    seat.type_keys("go\r");
    seat.wait_for("finished", 1);
    let shown = leave(seat);
    for bad in ["\u{1b}]0;", "\u{1b}[?1049h", "\u{9b}", "\u{1b}P", "\u{1b}[2J"] {
        assert!(!shown.contains(bad), "{bad:?}: {shown:?}");
    }
}

#[test]
fn a_screen_reader_gets_lines_and_nothing_is_drawn() {
    let bench = Bench::new(&[
        json!({"last": "go", "blocks": [call("t1", "Bash", json!({"command": "touch made"}))]}),
        json!({"text": "all **done**"}),
    ]);
    let mut command = bench.command(&["run", "--plain"]);
    let run = {
        use std::io::Write as _;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"go\ny\n").unwrap();
        child.wait_with_output().unwrap()
    };
    let shown = String::from_utf8_lossy(&run.stdout);
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert!(shown.contains("Allow Bash?") && shown.contains("all done"), "{shown}");
    assert!(bench.test.work.path().join("made").exists(), "{shown}");
}
