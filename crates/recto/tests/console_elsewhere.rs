//! A conversation in the console, as other commands and surfaces see it at the same time.

use std::fs;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use crate::browse::Seat;
use crate::console::leave;
use crate::console::sit;
use crate::console::wait_until;
use crate::run::Bench;
use crate::run::call;
use crate::serve;

/// What `recto status` says of the only session.
fn status(bench: &Bench) -> Value {
    let mut command = bench.command(&["status", "--json"]);
    let run = bench.test.finish(command.env_remove("RECTO_NOW"));
    run.json().into_iter().next().unwrap_or_default()
}

/// Waits until a surface says something; what it said at last.
fn comes(what: &str, said: impl Fn() -> Value, wanted: &str) {
    let begin = Instant::now();
    loop {
        let found = said();
        if found["status"] == wanted {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}: {wanted}: {found}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn status_page_watch_and_browser_see_it_at_once() {
    let bench = Bench::new(&[
        json!({"last": "go", "blocks": [call("t1", "Bash", json!({"command": "touch made"}))]}),
        json!({"last": "slow", "text": "word ".repeat(4000), "event_delay_ms": 5}),
        json!({"text": "all-done"}),
    ]);
    let mut command = bench.command(&["serve", "--port", "0", "--json"]);
    command.env_remove("RECTO_NOW");
    let (_served, line) = serve::started(command);
    let served: Value = serde_json::from_str(&line).unwrap();
    let answer = serve::get(served["url"].as_str().unwrap(), "");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    let base = served["base"].as_str().unwrap().to_owned();
    let page = || {
        let answer = serve::get(&format!("{base}/api/v1/status"), &cookie);
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let parsed: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
        let rows = parsed.as_array().or_else(|| parsed["sessions"].as_array());
        rows.and_then(|rows| rows.first().cloned()).unwrap_or(parsed)
    };
    let mut watch = bench.command(&["watch"]);
    watch.env_remove("NO_COLOR").env_remove("RECTO_NOW").env("TERM", "xterm-256color");
    let mut board = Seat::of(watch);
    let mut seat = sit(&bench, &[]);
    // It asks.
    seat.type_keys("go\r");
    seat.wait_for("Allow", 1);
    comes("status", || status(&bench), "waiting_for_approval");
    comes("page", page, "waiting_for_approval");
    board.wait_for("approval", 1);
    let found = status(&bench);
    assert_eq!(found["pid"], seat.child.id());
    assert_eq!(found["pending"]["tool"], "Bash");
    // It works.
    seat.type_keys("1");
    seat.wait_for("all-done", 1);
    comes("status", || status(&bench), "waiting_for_input");
    comes("page", page, "waiting_for_input");
    seat.type_keys("slow\r");
    seat.wait_for("word", 3);
    comes("status", || status(&bench), "working");
    comes("page", page, "working");
    board.wait_for("working", 1);
    seat.type_keys("\u{1b}");
    seat.wait_for("interrupted", 1);
    comes("status", || status(&bench), "waiting_for_input");
    // The browser has it, too, with its status.
    let mut browse = bench.command(&["browse"]);
    browse.env_remove("NO_COLOR").env_remove("RECTO_NOW").env("TERM", "xterm-256color");
    let mut browser = Seat::of(browse);
    browser.wait_for("needs input", 1);
    browser.type_keys("\u{3}");
    browser.end();
    board.type_keys("q");
    board.end();
    leave(seat);
    comes("status", || status(&bench), "ended");
    comes("page", page, "ended");
}

#[test]
fn a_session_is_resumed_by_the_program_that_the_settings_name() {
    let bench = Bench::new(&[
        json!({"last": "first", "text": "first-answer"}),
        json!({"text": "second-answer"}),
    ]);
    bench.run(&["run", "-p", "first"]);
    let session = bench.logs()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let config = bench.test.user.path().join(".config/recto/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "resume_with = \"recto\"\n").unwrap();
    for words in [&["resume", &session[..8]][..], &["run", "--on", &session[..8]]] {
        let mut command = bench.command(words);
        command.env_remove("NO_COLOR").env_remove("RECTO_NOW").env("TERM", "xterm-256color");
        let mut seat = Seat::of(command);
        seat.wait_for("/help", 1);
        seat.type_keys("more\r");
        seat.wait_for("second-answer", 1);
        leave(seat);
    }
    // From the browser.
    let mut browse = bench.command(&[]);
    browse.env_remove("NO_COLOR").env_remove("RECTO_NOW").env("TERM", "xterm-256color");
    let mut browser = Seat::of(browse);
    browser.wait_for("second-answer", 1);
    browser.type_keys("\u{12}");
    browser.wait_for("/help", 1);
    browser.type_keys("again\r");
    let asked = || bench.mock.asked().len();
    wait_until("it asks", || asked() == 4);
    browser.wait_for("second-answer", 3);
    browser.type_keys("\u{4}");
    browser.wait_for("\u{1b}[?1049h", 2);
    browser.type_keys("\u{3}");
    let (_, shown) = browser.end();
    assert_eq!(bench.logs().len(), 1, "{shown:?}");
    let last = bench.mock.asked().last().unwrap().body["messages"].to_string();
    assert!(last.contains("first-answer") && last.contains("again"), "{last}");
    // Other values are rejected, and the other program is the client.
    fs::write(&config, "resume_with = \"emacs\"\n").unwrap();
    let run = bench.run(&["resume", &session]);
    assert!(run.stderr.contains("resume_with") && run.code == 2, "{}", run.shown());
    fs::write(&config, "resume_with = \"claude\"\n").unwrap();
    let run = bench.run(&["resume", &session, "--print"]);
    assert!(run.stdout.contains(&format!("claude --resume {session}")), "{}", run.shown());
}

#[test]
fn a_refused_access_becomes_a_question() {
    if recto_testkit::Jail::new(env!("CARGO_BIN_EXE_recto").as_ref()).is_none() {
        return;
    }
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = outside.path().join("x");
    let command = format!("touch {}", target.display());
    let bench = Bench::new(&[
        json!({"contains": "go", "blocks": [{"type": "tool_use", "name": "Bash", "input": {"command": command}}]}),
        json!({"text": "all-done"}),
    ]);
    // Refused, then left so.
    let mut seat = sit(&bench, &[crate::console::FREE]);
    seat.type_keys("go\r");
    seat.wait_for("outside?", 1);
    assert!(!target.exists());
    seat.type_keys("2\r");
    seat.wait_for("all-done", 1);
    assert!(!target.exists());
    // Refused, then allowed for this one time.
    seat.type_keys("go again\r");
    seat.wait_for("outside?", 2);
    seat.type_keys("1");
    seat.wait_for("all-done", 2);
    assert!(target.exists());
    leave(seat);
    assert_eq!(bench.refusals(), Vec::<String>::new());
}
