//! Telling somebody: the bell, the desktop, a command, an address.
//!
//! Text of a log is an argument, a variable or a JSON string; it is never part of what a
//! shell reads. All but the bell is done on a thread of its own, so that nobody who is
//! slow keeps the board waiting.

use std::io;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use serde_json::json;

use super::transition::Event;
use super::webhook::Webhook;
use crate::error::CommandError;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;

/// How many events may wait for somebody who is slow.
const MOST_WAITING: usize = 64;
/// How long a command may run.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest text in a variable or on the desktop.
const MOST: usize = 500;

/// A way to tell somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    Bell,
    Desktop,
    Command(String),
    Webhook(Target),
}

/// An address that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target(Webhook);

impl Notice {
    /// `bell`, `desktop`, `command:CMD` or `webhook:URL`.
    pub(crate) fn parse(text: &str) -> Result<Notice, CommandError> {
        let bad = |message: &str| {
            CommandError::user("bad-notify", format!("--notify `{}`: {message}", fit(text, 60)))
                .with_hint("use bell, desktop, command:CMD or webhook:http://HOST/PATH")
        };
        match text.split_once(':') {
            None if text == "bell" => Ok(Notice::Bell),
            None if text == "desktop" => Ok(Notice::Desktop),
            Some(("command", command)) if !command.trim().is_empty() => {
                Ok(Notice::Command(command.to_owned()))
            }
            Some(("webhook", url)) => {
                Webhook::parse(url).map(|hook| Notice::Webhook(Target(hook))).map_err(bad)
            }
            _ => Err(bad("unknown notifier")),
        }
    }

    fn tell(&self, message: &Message) -> Result<(), String> {
        match self {
            Notice::Bell => Ok(()),
            Notice::Desktop => desktop(message),
            Notice::Command(command) => run(command, message),
            Notice::Webhook(target) => {
                target.0.post(&message.json).map_err(|error| format!("webhook failed: {error}"))
            }
        }
    }
}

/// What somebody is told, as texts without characters that act.
struct Message {
    variables: Vec<(&'static str, String)>,
    heading: String,
    body: String,
    json: Vec<u8>,
}

impl Message {
    fn of(event: &Event) -> Message {
        let status = &event.session.status;
        let text = |text: &str| fit(&one_line(text), MOST);
        let optional = |value: &Option<String>| text(value.as_deref().unwrap_or_default());
        let title =
            if status.title.is_some() { &status.title } else { &event.session.first_prompt };
        let (title, project) = (optional(title), optional(&status.cwd));
        let why = text(&status.why.join("; "));
        let from = event.from.map_or("", |from| from.name());
        let since = status.since.map_or_else(String::new, |since| format!("{since:.3}"));
        let variables = vec![
            ("RECTO_EVENT_SESSION", event.session.id.to_string()),
            ("RECTO_EVENT_FROM", from.to_owned()),
            ("RECTO_EVENT_TO", event.to().name().to_owned()),
            ("RECTO_EVENT_SINCE", since),
            ("RECTO_EVENT_TITLE", title.clone()),
            ("RECTO_EVENT_PROJECT", project.clone()),
            ("RECTO_EVENT_WHY", why.clone()),
        ];
        let heading = format!("{}: {title}", event.to().label());
        let body = format!("{project}\n{why}");
        Message { variables, heading, body, json: json!(event.row()).to_string().into_bytes() }
    }
}

/// A command of the user's. The event comes in variables.
fn run(command: &str, message: &Message) -> Result<(), String> {
    let mut program = if cfg!(unix) {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        shell
    } else {
        // Other shells put variables into a command before they read it.
        let mut words = command.split_whitespace();
        let mut program = Command::new(words.next().unwrap_or_default());
        program.args(words);
        program
    };
    program.envs(message.variables.iter().map(|(name, value)| (name, value)));
    finish(program).map_err(|error| format!("notify command failed: {error}"))
}

fn desktop(message: &Message) -> Result<(), String> {
    // The body may have marks of its own.
    let body = message.body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut program = Command::new("notify-send");
    program.args(["--app-name=recto", "--", &message.heading, &body]);
    match finish(program) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other.map_err(|error| format!("desktop notification failed: {error}")),
    }
    let script = "on run texts\ndisplay notification (item 2 of texts) with title (item 1 of texts)\nend run";
    let mut program = Command::new("osascript");
    program.args(["-e", script, "--", &message.heading, &message.body]);
    finish(program).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            "desktop notification failed: cannot find notify-send".to_owned()
        }
        _ => format!("desktop notification failed: {error}"),
    })
}

/// Runs a program to its end, or until nobody waits any more.
fn finish(mut program: Command) -> io::Result<()> {
    program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    in_own_group(&mut program);
    let mut child = program.spawn()?;
    let begin = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(format!("it ended with {status}"))),
            None if begin.elapsed() > PATIENCE => {
                stop(&mut child)?;
                return Err(io::Error::other("it timed out"));
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// What a program starts is in a group with it, so that all of it can be ended.
fn in_own_group(program: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(program, 0);
    #[cfg(not(unix))]
    let _ = program;
}

/// Ends a program and all that it has started.
fn stop(child: &mut Child) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::Pid;
        use rustix::process::Signal;
        rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL)?;
    }
    #[cfg(not(unix))]
    child.kill()?;
    child.wait().map(drop)
}

/// Tells events on a thread of its own.
pub(super) struct Notifier {
    events: SyncSender<Event>,
    failures: Receiver<String>,
    has_bell: bool,
}

impl Notifier {
    pub(super) fn start(notices: Vec<Notice>) -> io::Result<Notifier> {
        let (events, waiting) = mpsc::sync_channel::<Event>(MOST_WAITING);
        let (failed, failures) = mpsc::channel();
        let has_bell = notices.contains(&Notice::Bell);
        thread::Builder::new().name("notify".into()).spawn(move || {
            for event in waiting {
                let message = Message::of(&event);
                for failure in notices.iter().filter_map(|notice| notice.tell(&message).err()) {
                    if failed.send(failure).is_err() {
                        return;
                    }
                }
            }
        })?;
        Ok(Notifier { events, failures, has_bell })
    }

    pub(super) fn wants_bell(&self) -> bool {
        self.has_bell
    }

    /// Whether an event will be told: who is too slow for so many misses some.
    pub(super) fn tell(&self, event: &Event) -> bool {
        self.events.try_send(event.clone()).is_ok()
    }

    /// What went wrong since the last time.
    pub(super) fn failures(&self) -> Vec<String> {
        self.failures.try_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_told_apart() {
        assert_eq!(Notice::parse("bell").unwrap(), Notice::Bell);
        assert_eq!(Notice::parse("desktop").unwrap(), Notice::Desktop);
        assert_eq!(Notice::parse("command:a: b").unwrap(), Notice::Command("a: b".into()));
        assert!(matches!(Notice::parse("webhook:http://h/x"), Ok(Notice::Webhook(_))));
        for bad in ["", "mail", "bell:", "command:", "command: ", "webhook:https://h", "webhook:"] {
            assert_eq!(Notice::parse(bad).unwrap_err().kind(), "bad-notify", "{bad}");
        }
    }

    #[test]
    fn the_title_of_an_event_is_that_of_the_session_and_never_its_last_prompt() {
        use recto_store::Home;
        use recto_testkit::Client;
        use recto_testkit::FakeHome;
        use recto_testkit::SessionBuilder;

        let (home, now) = (FakeHome::new(), jiff::Timestamp::UNIX_EPOCH);
        let id = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
        let log = SessionBuilder::new(id, Client::V2_1_29).at(now);
        home.add(&log.prompt("Repair it").answer("Done.").prompt("Thanks").answer("…"), now);
        let mut session = Home::open(home.path()).unwrap().statuses(now).remove(0);
        let title = |session: &recto_store::SessionStatus| {
            let event = Event { sequence: 1, time: now, from: None, session: session.clone() };
            let row = serde_json::json!(event.row());
            let variables = Message::of(&event).variables;
            let variable = variables.iter().find(|(name, _)| *name == "RECTO_EVENT_TITLE");
            (variable.unwrap().1.clone(), row["title"].as_str().map(str::to_owned))
        };
        let repaired = || ("Repair it".to_owned(), Some("Repair it".to_owned()));
        assert_eq!(title(&session), repaired());
        session.status.title = None;
        assert_eq!(title(&session), repaired());
    }

    #[test]
    #[cfg(unix)]
    fn a_command_gets_texts_as_variables_and_runs_none_of_them() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("out");
        let message = Message {
            variables: vec![("RECTO_EVENT_TITLE", "$(touch pwned); `touch pwned` \" ' \\".into())],
            heading: String::new(),
            body: String::new(),
            json: Vec::new(),
        };
        let command = format!("printf %s \"$RECTO_EVENT_TITLE\" > '{}'", out.display());
        run(&command, &message).unwrap();
        assert_eq!(fs_err::read_to_string(out).unwrap(), message.variables[0].1);
        assert!(!std::path::Path::new("pwned").exists());
        assert!(run("exit 3", &message).unwrap_err().contains("exit status: 3"));
    }

    #[test]
    #[cfg(unix)]
    fn a_command_is_stopped_with_all_that_it_has_started() {
        use std::io::Read as _;
        let mut program = Command::new("sh");
        program.args(["-c", "sleep 600 & echo $!; wait"]).stdout(Stdio::piped());
        in_own_group(&mut program);
        let mut child = program.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        stop(&mut child).unwrap();
        // The output is closed only when nobody has it any more: not the shell, and not
        // what it has started.
        output.read_to_end(&mut Vec::new()).unwrap();
    }
}
