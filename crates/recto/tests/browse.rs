//! The browser on a real terminal: it starts, ends and gives the terminal back.
//!
//! What keys do and what screens look like is tested beside the code, without a
//! terminal and without threads.

use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;
use std::process::Command;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::kill_process;
use rustix::pty;
use rustix::termios;

use crate::hostile::assert_no_control;
use crate::hostile::texts;
use crate::hostile::turn;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// What takes the terminal, and what gives it back.
const MODES: [&str; 5] = ["?1049", "?1000", "?1003", "?1006", "?2004"];

/// The program on a terminal that a test types at.
pub(crate) struct Seat {
    pub(crate) child: Child,
    keys: File,
    pub(crate) terminal: File,
    before: String,
    got: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Seat {
    pub(crate) fn at(test: &TestHome, arguments: &[&str], variables: &[(&str, &str)]) -> Seat {
        let mut command = test.command(arguments);
        command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
        command.envs(variables.iter().copied());
        Seat::of(command)
    }

    /// The same with a program of any kind.
    pub(crate) fn of(mut command: Command) -> Seat {
        let (mut ours, terminal) = terminal();
        let size = termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        termios::tcsetwinsize(&terminal, size).unwrap();
        let before = modes(&terminal);
        command.stdin(terminal.try_clone().unwrap());
        command.stdout(terminal.try_clone().unwrap()).stderr(terminal.try_clone().unwrap());
        let child = command.spawn().unwrap();
        let keys = ours.try_clone().unwrap();
        let got = Arc::new(Mutex::new(Vec::new()));
        let gotten = got.clone();
        let reader = thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = ours.read(&mut piece) {
                gotten.lock().unwrap().extend_from_slice(&piece[..read]);
            }
        });
        Seat { child, keys, terminal, before, got, reader }
    }

    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.got.lock().unwrap()).into_owned()
    }

    /// Waits until the terminal got a text, so many times in all. A screen is written
    /// word by word where it changes, so the text must be one word.
    pub(crate) fn wait_for(&self, word: &str, times: usize) {
        let begin = Instant::now();
        while self.shown().matches(word).count() < times {
            let shown = self.shown();
            assert!(begin.elapsed() < Duration::from_secs(60), "no {word:?} in {shown:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end. Sees that the terminal was taken, and is as it was before.
    pub(crate) fn end(self) -> (ExitStatus, String) {
        let (status, shown) = self.end_of_anything();
        for mode in MODES {
            let taken = shown.rfind(&format!("\u{1b}[{mode}h"));
            let given = shown.rfind(&format!("\u{1b}[{mode}l"));
            assert!(taken.is_some() && taken < given, "{mode}: {shown:?}");
        }
        assert!(shown.rfind("\u{1b}[?25l") < shown.rfind("\u{1b}[?25h"), "{shown:?}");
        (status, shown)
    }

    /// The same where only the last lines of the terminal were taken.
    pub(crate) fn end_inline(self) -> (ExitStatus, String) {
        let (status, shown) = self.end_of_anything();
        let (taken, given) = (shown.rfind("\u{1b}[?2004h"), shown.rfind("\u{1b}[?2004l"));
        assert!(taken.is_some() && taken < given, "{shown:?}");
        assert!(shown.rfind("\u{1b}[?25l") < shown.rfind("\u{1b}[?25h"), "{shown:?}");
        (status, shown)
    }

    pub(crate) fn end_of_anything(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        let after = modes(&self.terminal);
        let shown = self.got.clone();
        // The reader comes to its end when nobody holds the other end.
        drop(self.terminal);
        self.reader.join().unwrap();
        let shown = String::from_utf8_lossy(&shown.lock().unwrap()).into_owned();
        assert_eq!(self.before, after, "{shown:?}");
        (status, shown)
    }
}

/// Both ends of a new terminal. The program gets only one of them.
fn terminal() -> (File, File) {
    let ours = pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY).unwrap();
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC).unwrap();
    pty::grantpt(&ours).unwrap();
    pty::unlockpt(&ours).unwrap();
    let name = pty::ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    (File::from(ours), theirs)
}

pub(crate) fn modes(terminal: &File) -> String {
    format!("{:?}", termios::tcgetattr(terminal).unwrap())
}

#[test]
fn it_opens_without_a_command_and_leaves_a_clean_terminal() {
    let test = TestHome::with_sessions();
    let mut seat = Seat::at(&test, &[], &[]);
    seat.wait_for("fix/parser", 1);
    seat.type_keys("\u{1b}");
    let (status, shown) = seat.end();
    assert_eq!(status.code(), Some(0), "{shown:?}");
    let after = shown.rsplit("\u{1b}[?1049l").next().unwrap();
    assert_eq!(after, "\u{1b}[?25h", "nothing is left behind on the screen");
}

#[test]
fn a_signal_to_end_leaves_a_clean_terminal() {
    let test = TestHome::with_sessions();
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1), (Signal::QUIT, 3)] {
        let seat = Seat::at(&test, &["browse"], &[]);
        seat.wait_for("fix/parser", 1);
        let pid = Pid::from_raw(i32::try_from(seat.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        let (status, shown) = seat.end();
        assert_eq!(status.signal(), Some(number), "{status} {shown:?}");
    }
}

#[test]
fn it_ends_when_the_terminal_is_gone() {
    let test = TestHome::with_sessions();
    let mut command = test.command(&["browse", "docs"]);
    command.env("TERM", "xterm");
    ends_without_its_terminal(command, "Written");
}

/// Takes the terminal away from a program that has shown a text and waits for keys.
pub(crate) fn ends_without_its_terminal(mut command: Command, sign: &str) {
    let (mut ours, theirs) = terminal();
    let size = termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    termios::tcsetwinsize(&theirs, size).unwrap();
    command.stdin(theirs.try_clone().unwrap());
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    drop(command);
    // The first screen is there, and then all is quiet: it waits for keys.
    rustix::io::ioctl_fionbio(&ours, true).unwrap();
    let (mut shown, mut piece) = (String::new(), [0; 4096]);
    let mut last = Instant::now();
    while !shown.contains(sign) || last.elapsed() < Duration::from_millis(500) {
        match ours.read(&mut piece) {
            Ok(read) => {
                shown.push_str(&String::from_utf8_lossy(&piece[..read]));
                last = Instant::now();
            }
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
        assert!(last.elapsed() < Duration::from_secs(60), "{shown:?}");
    }
    drop(ours);
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it goes on without a terminal");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_is_asked_for_on_a_pipe_is_no_browser() {
    let test = TestHome::with_sessions();
    let run = test.run(&["browse"]);
    assert_eq!(
        run.shown(),
        "--- stderr\nerror: the browser needs a terminal\n\
         hint: `recto ls` lists the sessions, `recto show` reads one\n--- exit 2\n"
    );
}

#[test]
fn the_demonstration_and_a_dumb_terminal_have_no_browser() {
    let test = TestHome::with_sessions();
    let seat = Seat::at(&test, &["demo"], &[]);
    let (status, shown) = seat.end_of_anything();
    assert!(status.success() && shown.contains("Now with your own sessions"), "{shown:?}");
    assert!(!shown.contains("\u{1b}[?"), "{shown:?}");
    let seat = Seat::at(&test, &[], &[("TERM", "dumb")]);
    let (status, shown) = seat.end_of_anything();
    assert!(status.success() && shown.contains("Newest") && !shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn the_client_gets_the_terminal_and_gives_it_back() {
    let test = TestHome::empty();
    let work = test.work.path().to_str().unwrap().to_owned();
    let log = SessionBuilder::new(FIX, Client::V2_1_325).cwd(&work).prompt("Go on").answer("Yes");
    test.home.add(&log, hours_ago(1));
    let client = test.user.path().join("client");
    let script = "#!/bin/sh\necho \"client: $1 $2 home=$CLAUDE_CONFIG_DIR\"\npwd\nexit 3\n";
    fs::write(&client, script).unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    let mut seat = Seat::at(&test, &[], &[("RECTO_CLIENT", client.to_str().unwrap())]);
    seat.wait_for("Yes", 1);
    seat.type_keys("\u{12}");
    seat.wait_for("client:", 1);
    // The screen comes back, and says how the client ended.
    seat.wait_for("\u{1b}[?1049h", 2);
    seat.wait_for("3", 2);
    seat.type_keys("\u{3}");
    let (status, shown) = seat.end();
    assert_eq!(status.code(), Some(0), "{shown:?}");
    let lent = shown.split("\u{1b}[?1049l").nth(1).unwrap();
    let lent = lent.split("\u{1b}[?1049h").next().unwrap().replace("\r\n", "\n");
    let home = test.home.path().display();
    let work = fs::canonicalize(&work).unwrap();
    let said = format!("client: --resume {FIX} home={home}\n{}\n", work.display());
    assert_eq!(lent, format!("\u{1b}[?25h{said}"));
}

#[test]
fn a_client_that_is_missing_is_told() {
    let test = TestHome::empty();
    let work = test.work.path().to_str().unwrap().to_owned();
    let log = SessionBuilder::new(FIX, Client::V2_1_325).cwd(&work).prompt("Go on").answer("Yes");
    test.home.add(&log, hours_ago(1));
    let mut seat = Seat::at(&test, &[], &[("RECTO_CLIENT", "/no/such/client")]);
    seat.wait_for("Yes", 1);
    seat.type_keys("\u{12}");
    seat.wait_for("RECTO_CLIENT", 1);
    seat.type_keys("\u{3}");
    let (status, _) = seat.end();
    assert_eq!(status.code(), Some(0));
}

/// The text without what the browser itself writes to place it.
pub(crate) fn without_places_and_colours(shown: &str) -> String {
    let mut plain = String::new();
    let mut rest = shown;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        let code = &rest[at + 2..];
        let end = code.find(|c: char| !(c.is_ascii_digit() || ";?".contains(c)));
        let end = end.unwrap_or(code.len());
        let is_own = code[end..].starts_with(['H', 'm'])
            || (code.starts_with('?') && code[end..].starts_with(['h', 'l']))
            || code.starts_with("2J");
        assert!(is_own, "a sequence that is not ours: {:?}", code.get(..20));
        rest = &code[end + 1..];
    }
    plain + rest
}

#[test]
fn hostile_text_does_nothing_to_the_terminal() {
    let test = TestHome::empty();
    let mut log = SessionBuilder::new(FIX, Client::V2_1_325).cwd("/x\u{1b}[2J\u{202e}y");
    for text in texts() {
        log = turn(log, &text);
    }
    let log = log.branch("b\u{9b}31m\u{7}").custom_title("title\u{1b}]0;pwned\u{7}\u{1b}[2J");
    test.home.add(&log, hours_ago(1));
    let mut seat = Seat::at(&test, &[], &[]);
    seat.wait_for("title", 1);
    // Read all of it, in full, screen by screen.
    seat.type_keys("\r");
    seat.wait_for("turn", 1);
    seat.type_keys("x");
    seat.wait_for("thinking", 1);
    for _ in 0..40 {
        seat.type_keys(" ");
        thread::sleep(Duration::from_millis(5));
    }
    seat.type_keys("G");
    seat.wait_for("100", 1);
    for page in ["t", "qa", "qd"] {
        seat.type_keys(page);
        thread::sleep(Duration::from_millis(100));
    }
    seat.type_keys("q?q/w-prompt\u{3}");
    let (status, shown) = seat.end();
    assert_eq!(status.code(), Some(0));
    assert!(shown.contains("w-prompt"), "{shown:?}");
    let text = without_places_and_colours(&shown);
    assert_no_control(&text, "the screen");
}
