//! From changes of files to events.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use jiff::Timestamp;
use recto_log::LineReader;
use recto_log::SessionId;
use recto_log::decode;
use recto_session::TurnCounter;
use recto_session::status::PendingCall;
use recto_session::status::StatusKind;
use recto_store::StoreError;
use recto_store::follow::Batch;
use recto_store::follow::Change;
use recto_store::follow::FollowOptions;
use recto_store::follow::FollowedFile;
use recto_store::follow::Follower;
use recto_store::follow::Waker;
use recto_store::open_file;
use serde::Serialize;

use crate::context::Context;
use recto_view::StatusRow;

/// How long the thread waits at once: statuses change with time too.
const WAIT: Duration = Duration::from_secs(2);

/// How often statuses are looked at, at most. Lines are told first.
const STATUS_PAUSE: Duration = Duration::from_millis(250);

/// A log that is longer is not read from its beginning to know its numbers.
const LONGEST_READ: u64 = 64 * 1024 * 1024;

/// The thread that follows the logs.
#[derive(Debug)]
pub(crate) struct FollowThread {
    waker: Waker,
    thread: Mutex<Option<JoinHandle<()>>>,
    stop: Arc<AtomicBool>,
}

impl FollowThread {
    /// Ends the thread, and waits for it.
    pub(crate) fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// Begins to follow the logs of the home.
pub(crate) fn follow(context: &Context) -> Result<FollowThread, StoreError> {
    let mut follower = Follower::new(context.library.home(), FollowOptions::default())?;
    let waker = follower.waker();
    let stop = Arc::new(AtomicBool::new(false));
    let (context, is_over) = (context.clone(), Arc::clone(&stop));
    let thread = std::thread::Builder::new().name("recto-follow".to_owned()).spawn(move || {
        let mut teller = Teller::new(context);
        while !is_over.load(Ordering::Relaxed) {
            let changes = follower.next(teller.wait());
            if !changes.is_empty() {
                // Who is told asks at once, and must find what is new.
                teller.context.library.forget_list();
            }
            for change in &changes {
                teller.tell(change);
            }
            teller.tell_statuses(!changes.is_empty());
        }
    })?;
    Ok(FollowThread { waker, thread: Mutex::new(Some(thread)), stop })
}

/// Makes events of changes.
struct Teller {
    context: Context,
    logs: HashMap<PathBuf, Numbers>,
    /// The statuses that were told, each without its texts.
    told: HashMap<SessionId, StatusMark>,
    /// When statuses were looked at last.
    looked: Option<Instant>,
    /// Whether something has changed since.
    is_stale: bool,
}

/// What makes a status another one.
#[derive(Debug, PartialEq, Eq)]
struct StatusMark {
    kind: StatusKind,
    since: Option<Timestamp>,
    pending: Option<String>,
    current: Option<String>,
    is_live: bool,
}

/// How far a log has been counted.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    lines: u64,
    turns: TurnCounter,
}

/// Which log an event is about.
#[derive(Debug, Serialize)]
struct LogName<'a> {
    session: String,
    agent: Option<&'a str>,
    project: &'a str,
}

impl<'a> LogName<'a> {
    fn of(file: &'a FollowedFile) -> LogName<'a> {
        LogName {
            session: file.session.to_string(),
            agent: file.agent.as_ref().map(|agent| agent.as_str()),
            project: &file.project,
        }
    }
}

/// Lines that were added.
#[derive(Debug, Serialize)]
struct Appended<'a> {
    #[serde(flatten)]
    log: LogName<'a>,
    generation: String,
    offset: u64,
    bytes: u64,
    lines: u64,
    /// The number of the first new line; none if the log is too long to count.
    first_line: Option<u64>,
    /// The number of the last turn; none if the log is too long to count.
    turn: Option<u32>,
}

impl<'a> Appended<'a> {
    /// With the numbers of the first line and the last turn, where they are known.
    fn of(batch: &'a Batch, lines: u64, numbers: Option<(u64, u32)>) -> Appended<'a> {
        Appended {
            log: LogName::of(&batch.file),
            generation: batch.generation.to_string(),
            offset: batch.range.start,
            bytes: batch.range.end - batch.range.start,
            lines,
            first_line: numbers.map(|(first, _)| first),
            turn: numbers.map(|(_, turn)| turn),
        }
    }
}

#[derive(Debug, Serialize)]
struct Moved<'a> {
    #[serde(flatten)]
    log: LogName<'a>,
    from_session: String,
    from_project: &'a str,
}

impl Teller {
    fn new(context: Context) -> Teller {
        let (logs, told) = (HashMap::new(), HashMap::new());
        Teller { context, logs, told, looked: None, is_stale: true }
    }

    /// How long nothing has to be done if nothing changes.
    fn wait(&self) -> Duration {
        match self.looked {
            Some(looked) if self.is_stale && self.context.hub.has_clients() => {
                STATUS_PAUSE.saturating_sub(looked.elapsed())
            }
            _ => WAIT,
        }
    }

    /// Tells which sessions do something else now. Without somebody who listens,
    /// nobody looks.
    fn tell_statuses(&mut self, has_changed: bool) {
        self.is_stale |= has_changed;
        let pause = if self.is_stale { STATUS_PAUSE } else { WAIT };
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= pause);
        if !is_due || !self.context.hub.has_clients() {
            return;
        }
        self.is_stale = false;
        self.looked = Some(Instant::now());
        let found = self.context.library.recent_statuses();
        let mut told = HashMap::with_capacity(found.len());
        for one in &found {
            let status = &one.status;
            let id = |call: &Option<PendingCall>| call.as_ref().map(|call| call.id.clone());
            let now = StatusMark {
                kind: status.kind,
                since: status.since,
                pending: id(&status.pending),
                current: id(&status.current),
                is_live: one.is_live(),
            };
            if self.told.get(&one.id) != Some(&now) {
                self.publish("status", &StatusRow::of(one));
            }
            told.insert(one.id, now);
        }
        self.told = told;
    }

    fn tell(&mut self, change: &Change) {
        match change {
            Change::Appeared(file) => {
                self.logs.insert(file.path.clone(), Numbers::default());
                self.publish("appeared", &LogName::of(file));
            }
            Change::Lines { batch, bytes } => {
                let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
                let before = self.numbers(&batch.file.path, batch.range.start).map(|numbers| {
                    let first = numbers.lines + 1;
                    count(numbers, LineReader::new(&bytes[..]));
                    (first, numbers.turns.current())
                });
                self.publish("appended", &Appended::of(batch, lines, before));
            }
            Change::LongLine { batch, .. } => {
                let before = self.numbers(&batch.file.path, batch.range.start).map(|numbers| {
                    numbers.lines += 1;
                    (numbers.lines, numbers.turns.current())
                });
                self.publish("appended", &Appended::of(batch, 1, before));
            }
            Change::Restarted(file) => {
                self.logs.insert(file.path.clone(), Numbers::default());
                self.publish("restarted", &LogName::of(file));
            }
            Change::Moved { from, to } => {
                if let Some(numbers) = self.logs.remove(&from.path) {
                    self.logs.insert(to.path.clone(), numbers);
                }
                let event = Moved {
                    log: LogName::of(to),
                    from_session: from.session.to_string(),
                    from_project: &from.project,
                };
                self.publish("moved", &event);
            }
            Change::Removed(file) => {
                self.logs.remove(&file.path);
                self.publish("removed", &LogName::of(file));
            }
            Change::Announcements => self.publish("announcements", &serde_json::json!({})),
            // These are not asked for.
            Change::File(_) | Change::FileRemoved(_) => {}
        }
    }

    fn publish(&self, name: &str, data: &impl Serialize) {
        // Structs of texts and numbers always become JSON.
        if let Ok(data) = serde_json::to_string(data) {
            self.context.hub.publish(name, &data);
        }
    }

    /// How far a log is counted, up to an offset. What was there before is
    /// counted when it is added to for the first time.
    fn numbers(&mut self, path: &Path, offset: u64) -> Option<&mut Numbers> {
        if !self.logs.contains_key(path) {
            if offset > LONGEST_READ {
                return None;
            }
            let mut numbers = Numbers::default();
            count(&mut numbers, LineReader::new(open_file(path).ok()?.take(offset)));
            self.logs.insert(path.to_owned(), numbers);
        }
        self.logs.get_mut(path)
    }
}

fn count(numbers: &mut Numbers, mut lines: LineReader<impl Read>) {
    while let Ok(Some(line)) = lines.next_line() {
        numbers.lines += 1;
        numbers.turns.next(&decode(line).0);
    }
}
