//! `recto watch`: events on a pipe, the board on a real terminal.
//!
//! What keys do and what the board looks like is tested beside the code.

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::ChildStdout;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::kill_process;
use rustix::termios;

use crate::browse::Seat;
use crate::browse::without_places_and_colours;
use crate::hostile;
use crate::status::busy_home;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::OLD;
use crate::support::TestHome;
use crate::support::hours_ago;

/// A stream of events, which ends with the test.
struct Stream {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Stream {
    fn start(test: &TestHome, arguments: &[&str], has_clock: bool) -> Stream {
        let mut command = test.command(arguments);
        if has_clock {
            command.env_remove("RECTO_NOW");
        }
        Stream::of(command)
    }

    fn of(mut command: Command) -> Stream {
        command.stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Stream { child, lines }
    }

    fn next(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Number, session, status before and now.
    fn next_change(&mut self) -> (u64, String, String) {
        let event = self.next();
        let text = |name: &str| event[name].as_str().unwrap_or("nothing").to_owned();
        assert_eq!(event["to"], event["status"]);
        let change = format!("{} -> {}", text("from"), text("to"));
        (event["sequence"].as_u64().unwrap(), text("id"), change)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_change_is_a_line() {
    let test = busy_home();
    let mut stream = Stream::start(&test, &["watch", "--events"], false);
    let first = stream.next();
    assert_eq!((&first["sequence"], &first["from"]), (&1.into(), &().into()));
    assert_eq!((&first["id"], &first["to"]), (&FIX.into(), &"waiting_for_approval".into()));
    assert!(first["why"][0].as_str().unwrap().starts_with("Bash was called"), "{first}");
    let fresh = |id: &str, to: &str| (id.to_owned(), format!("nothing -> {to}"));
    for (number, (id, change)) in [(2, fresh(DOCS, "waiting_for_input")), (3, fresh(OLD, "ended"))]
    {
        assert_eq!(stream.next_change(), (number, id, change));
    }
    let announcement = test.home.announce(FIX, "busy");
    let changed = |number, change: &str| (number, FIX.to_owned(), change.to_owned());
    assert_eq!(stream.next_change(), changed(4, "waiting_for_approval -> working"));
    fs::remove_file(announcement).unwrap();
    assert_eq!(stream.next_change(), changed(5, "working -> waiting_for_approval"));
    // A line that is appended counts at once.
    let log = test.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"));
    let result = r#"{"type":"user","uuid":"r","timestamp":"2026-11-16T11:59:55Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}]}}"#;
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str(result);
    text.push('\n');
    fs::write(&log, text).unwrap();
    assert_eq!(stream.next_change(), changed(6, "waiting_for_approval -> working"));
}

/// Nobody tells that a process has died.
#[test]
fn the_death_of_a_client_is_seen() {
    let test = busy_home();
    let mut client = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = client.id();
    let json = format!(r#"{{"pid":{pid},"sessionId":"{FIX}","status":"busy"}}"#);
    test.home.write(&format!("sessions/{pid}.json"), json);
    let mut stream = Stream::start(&test, &["watch", "--events"], false);
    let first = stream.next();
    assert_eq!((&first["id"], &first["to"]), (&FIX.into(), &"working".into()), "{first}");
    stream.next();
    stream.next();
    client.kill().unwrap();
    client.wait().unwrap();
    assert_eq!(stream.next_change(), (4, FIX.to_owned(), "working -> ended".to_owned()));
}

#[test]
fn it_ends_when_nobody_reads_the_events() {
    let test = busy_home();
    let mut stream = Stream::start(&test, &["watch", "--events"], false);
    stream.next();
    let Stream { child, lines } = &mut stream;
    // No event follows, so that only the closed pipe can tell.
    let mut other = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    drop(std::mem::replace(lines, BufReader::new(other.stdout.take().unwrap())));
    other.wait().unwrap();
    assert!(child.wait().unwrap().success());
}

/// Waits for a file that is made by whoever is told.
fn wait_for(path: &Path) {
    let begin = Instant::now();
    while !path.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "nobody was told");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A session that works now; gives the file by which its client says so.
fn working(log: SessionBuilder) -> (TestHome, PathBuf) {
    let test = TestHome::empty();
    let now = jiff::Timestamp::now();
    test.home.add(&log.at(now).prompt("Go"), now);
    let announcement = test.home.announce(FIX, "busy");
    (test, announcement)
}

/// The client asks for something.
fn ask(stream: &mut Stream, announcement: &Path) {
    assert_eq!(stream.next_change().2, "nothing -> working");
    let text = fs::read_to_string(announcement).unwrap();
    fs::write(announcement, text.replace("busy", "waiting")).unwrap();
    assert_eq!(stream.next_change().2, "working -> waiting_for_approval");
}

#[test]
fn who_wants_to_know_is_told_by_a_command() {
    let title = "Title $(touch pwned) `touch pwned`";
    let (test, announcement) =
        working(SessionBuilder::new(FIX, Client::V2_1_325).custom_title(title));
    let command = "command:printf '%s|%s|%s' \"$RECTO_EVENT_FROM\" \"$RECTO_EVENT_TO\" \"$RECTO_EVENT_TITLE\" > new && mv new told";
    let mut stream = Stream::start(&test, &["watch", "--json", "--notify", command], true);
    ask(&mut stream, &announcement);
    let told = test.work.path().join("told");
    wait_for(&told);
    let told = fs::read_to_string(told).unwrap();
    assert_eq!(told, format!("working|waiting_for_approval|{title}"));
    assert!(!test.work.path().join("pwned").exists());
}

/// A stream that tells the desktop by a program of ours; what it says goes to `remarks`.
fn start_with_desktop(test: &TestHome, program: &str) -> Stream {
    let folder = test.work.path().join("bin");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("notify-send");
    fs::write(&path, program).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = test.command(&["watch", "--json", "--notify", "desktop"]);
    command.env_remove("RECTO_NOW").env("PATH", folder);
    command.stderr(fs::File::create(test.work.path().join("remarks")).unwrap());
    Stream::of(command)
}

#[test]
fn the_desktop_is_told_with_harmless_arguments() {
    let acts = "$(touch pwned) `touch pwned`; touch pwned & <b>bold</b> --help \"'\\";
    let title = format!("{acts} {}", hostile::texts().concat());
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .cwd(&format!("--icon={acts}\u{1b}[2J\n--urgency=critical"))
        .custom_title(&title);
    let (test, announcement) = working(log);
    // Each argument ends with a null character, which none can hold.
    let program = "#!/bin/sh\nprintf '%s\\0' \"$@\" > new && /bin/mv new told\n";
    let mut stream = start_with_desktop(&test, program);
    ask(&mut stream, &announcement);
    let told = test.work.path().join("told");
    wait_for(&told);
    let told = fs::read_to_string(told).unwrap();
    let arguments: Vec<&str> = told.trim_end_matches('\0').split('\0').collect();
    let [name, end_of_options, heading, body] = arguments[..] else { panic!("{arguments:?}") };
    assert_eq!((name, end_of_options), ("--app-name=recto", "--"));
    assert!(heading.starts_with(&format!("needs approval: {acts}")), "{heading:?}");
    hostile::assert_no_control(heading, "the heading");
    assert!(heading.chars().count() < 600, "{}", heading.len());
    let (project, why) = body.split_once('\n').unwrap();
    let marked = acts.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    assert_eq!(project, format!("--icon={marked}␛[2J --urgency=critical"));
    assert!(!why.is_empty() && !why.contains(['\n', '<']), "{why:?}");
    hostile::assert_no_control(body, "the body");
    assert!(!test.work.path().join("pwned").exists());
    assert_eq!(fs::read_to_string(test.work.path().join("remarks")).unwrap(), "");
}

#[test]
fn a_desktop_that_cannot_be_told_is_told_of() {
    for (program, remark) in [
        ("#!/bin/sh\nexit 3\n", "desktop notification failed: it ended with exit status: 3\n"),
        // Its interpreter is not there, and neither is the other program.
        ("#!/no/such/shell\n", "desktop notification failed: cannot find notify-send\n"),
    ] {
        let (test, announcement) = working(SessionBuilder::new(FIX, Client::V2_1_325));
        let mut stream = start_with_desktop(&test, program);
        ask(&mut stream, &announcement);
        let remarks = test.work.path().join("remarks");
        let begin = Instant::now();
        while fs::read_to_string(&remarks).unwrap() != remark {
            let said = fs::read_to_string(&remarks).unwrap();
            assert!(begin.elapsed() < Duration::from_secs(60), "{said:?}, not {remark:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn the_board_opens_and_leaves_a_clean_terminal() {
    let test = busy_home();
    let mut seat = Seat::at(&test, &["watch"], &[]);
    seat.wait_for("Parser", 1);
    seat.wait_for("approval", 1);
    let size = termios::Winsize { ws_row: 30, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    termios::tcsetwinsize(&seat.terminal, size).unwrap();
    // On a wider screen there is room for the call.
    seat.wait_for("make", 2);
    seat.type_keys("q");
    let (status, shown) = seat.end();
    assert_eq!(status.code(), Some(0), "{shown:?}");
    let after = shown.rsplit("\u{1b}[?1049l").next().unwrap();
    // The cursor is shown again, once or twice, and nothing is left behind.
    assert_eq!(after.replace("\u{1b}[?25h", ""), "", "{after:?}");
}

#[test]
fn a_session_is_read_from_the_board_which_comes_back() {
    let test = busy_home();
    let mut seat = Seat::at(&test, &["watch"], &[]);
    seat.wait_for("Parser", 1);
    seat.wait_for("approval", 1);
    seat.type_keys("\r");
    // Only the reader counts turns, and the terminal was taken once more.
    seat.wait_for("1/1", 1);
    seat.type_keys("q");
    seat.wait_for("choose", 2);
    seat.type_keys("\r");
    seat.wait_for("1/1", 2);
    seat.type_keys("\u{3}");
    seat.wait_for("choose", 3);
    seat.type_keys("q");
    let (status, shown) = seat.end();
    assert_eq!(status.code(), Some(0), "{shown:?}");
    assert!(!shown.contains("type to filter"), "the list was never seen: {shown:?}");
}

#[test]
fn a_signal_to_end_leaves_a_clean_terminal() {
    let test = busy_home();
    let seat = Seat::at(&test, &["watch", "--notify", "bell"], &[]);
    seat.wait_for("Parser", 1);
    let pid = Pid::from_raw(i32::try_from(seat.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let (status, shown) = seat.end();
    assert_eq!(status.signal(), Some(15), "{status} {shown:?}");
}

#[test]
fn hostile_text_is_harmless_on_the_board() {
    let test = TestHome::empty();
    let all = hostile::texts().concat();
    let log = SessionBuilder::new(FIX, Client::V2_1_29)
        .cwd(&format!("/w-cwd{all}"))
        .branch(&format!("w-branch{all}"))
        .prompt(&format!("w-prompt{all}"))
        .answer(&format!("w-answer{all}"));
    test.home.add(&log, hours_ago(0));
    let mut seat = Seat::at(&test, &["watch"], &[]);
    seat.wait_for("w-prompt", 1);
    seat.wait_for("w-answer", 1);
    seat.type_keys("q");
    let (_, shown) = seat.end();
    hostile::assert_no_control(&without_places_and_colours(&shown), "the board");
}

#[test]
fn what_cannot_be_done_is_told() {
    let test = busy_home();
    let kind = |arguments: &[&str]| {
        let run = test.run(arguments);
        assert_eq!(run.code, 2, "{}", run.shown());
        run.stderr.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(kind(&["watch"]), "error: the board needs a terminal");
    assert_eq!(
        kind(&["watch", "--events", "--notify", "mail"]),
        "error: --notify `mail`: unknown notifier"
    );
    assert_eq!(
        kind(&["watch", "--events", "--notify", "webhook:https://example.com/"]),
        "error: --notify `webhook:https://example.com/`: only http:// addresses work; for https, use a command such as curl"
    );
    assert_eq!(
        kind(&["watch", "--events", "--notify", "bell", "--on", "busy"]),
        "error: invalid status `busy` for --on"
    );
    assert_eq!(
        kind(&["watch", "--events", "--notify", "webhook:http://localhost:99999/"]),
        "error: --notify `webhook:http://localhost:99999/`: invalid host or port"
    );
    // Without somebody who is told, nobody would see what it is good for.
    let run = test.run(&["watch", "--events", "--on", "ended"]);
    assert_eq!(run.code, 2, "{}", run.shown());
    assert!(run.stderr.contains("needs --notify"), "{}", run.shown());
}
