//! Running clients, as they announce themselves in `sessions/<pid>.json`.
//!
//! A client writes its file in place, so that it may be caught empty or half. That is
//! no proof that nobody runs: it is read again, and if it stays so, it is told.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use recto_log::SessionId;
use recto_log::json::Value;

use crate::Home;
use crate::StoreError;
use crate::log::file_state::FileState;
use crate::place::platform::is_other_pid_domain;
use crate::process_is_alive;
use crate::read_small;

/// A client that says it runs, and whether it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    /// Its process.
    pub pid: u32,
    /// Its session.
    pub session: SessionId,
    /// Whether the process is the one that wrote the file.
    pub alive: bool,
    /// Whether its process cannot be seen from here: it is in another container, or
    /// on another machine that shares the home. Then nobody knows whether it runs.
    pub elsewhere: bool,
    /// Its working directory.
    pub cwd: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// `idle`, `busy`, `waiting` or `shell`. Clients started by the SDK, and
    /// those before 2.1.139, do not say it.
    pub status: Option<String>,
    /// What it waits for, such as `permission prompt`.
    pub waiting_for: Option<String>,
    /// Such as `interactive`.
    pub kind: Option<String>,
    /// How it was started: `cli` by a person, `sdk-cli` for one prompt.
    pub entrypoint: Option<String>,
    /// When the status changed. Its age proves nothing: the file is not
    /// written again during a long turn.
    pub status_since: Option<Timestamp>,
    /// When the client started.
    pub started: Option<Timestamp>,
}

/// A process that lives, and whose file cannot be understood: it may be a client that
/// works on any session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableClient {
    /// The process, by the name of the file.
    pub pid: u32,
    /// The file.
    pub path: PathBuf,
}

/// All that is announced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Announcements {
    /// The clients that could be understood, by their numbers.
    pub clients: Vec<LiveSession>,
    /// Those that could not, and whose process lives.
    pub unreadable: Vec<UnreadableClient>,
}

/// How long to wait before a file that was caught half written is read again, and how
/// often.
const WRITING: Duration = Duration::from_millis(4);
const TRIES: usize = 5;

impl Home {
    /// All clients that have announced themselves, as far as that can be understood.
    pub fn live_sessions_now(&self) -> Vec<LiveSession> {
        self.announcements().clients
    }

    /// All that is announced now. The key files beside are secrets and are not touched.
    pub fn announcements(&self) -> Announcements {
        KnownClients::default().look(self)
    }
}

/// What was read of announcements so far, so that only those that have changed are read.
#[derive(Debug, Default)]
pub(crate) struct KnownClients {
    files: HashMap<PathBuf, (FileState, Box<Client>)>,
}

/// A client, and what its process must be.
#[derive(Debug, Clone)]
struct Client {
    live: LiveSession,
    /// When its process started, as the system says it.
    start: Option<String>,
}

impl KnownClients {
    /// All that is announced now.
    pub(crate) fn look(&mut self, home: &Home) -> Announcements {
        let mut found = Announcements::default();
        let mut before = std::mem::take(&mut self.files);
        let files = home.list(&home.live_sessions(), &mut Vec::new()).into_iter();
        for file in files.filter(|file| !file.is_directory && is_pid_file(&file.name)) {
            let state = std::fs::symlink_metadata(&file.path);
            let state = state.map_or_else(|_| FileState::default(), |data| FileState::now(&data));
            let reading = match before.remove(&file.path) {
                Some((known, client)) if known == state && state.is_certain() => {
                    Reading::Client(client)
                }
                _ => read(&file.path),
            };
            match reading {
                Reading::Client(client) => {
                    found.clients.push(client.now());
                    self.files.insert(file.path, (state, client));
                }
                Reading::Gone => {}
                Reading::Unreadable => {
                    let pid = pid_of(&file.name).filter(|pid| process_is_alive(*pid, None));
                    found
                        .unreadable
                        .extend(pid.map(|pid| UnreadableClient { pid, path: file.path }));
                }
            }
        }
        for _ in 0..TRIES {
            if found.unreadable.is_empty() {
                break;
            }
            thread::sleep(WRITING);
            found.read_again();
        }
        found.clients.sort_by_key(|client| client.pid);
        found
    }
}

impl Announcements {
    fn read_again(&mut self) {
        self.unreadable.retain(|one| match read(&one.path) {
            Reading::Client(client) => {
                self.clients.push(client.now());
                false
            }
            Reading::Gone => false,
            Reading::Unreadable => process_is_alive(one.pid, None),
        });
    }
}

/// What one file says.
enum Reading {
    Client(Box<Client>),
    /// Its client has taken it away.
    Gone,
    Unreadable,
}

fn read(path: &Path) -> Reading {
    match read_small(path) {
        Ok(bytes) => {
            parse(&bytes).map_or(Reading::Unreadable, |one| Reading::Client(Box::new(one)))
        }
        Err(StoreError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Reading::Gone,
        Err(_) => Reading::Unreadable,
    }
}

/// `123.json`, or `pid-123.json` as some versions wrote it.
pub(crate) fn is_pid_file(name: &str) -> bool {
    digits_of(name).is_some()
}

fn pid_of(name: &str) -> Option<u32> {
    digits_of(name)?.parse().ok()
}

fn digits_of(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".json")?;
    let digits = stem.strip_prefix("pid-").unwrap_or(stem);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

impl Client {
    /// The client, and whether its process lives now.
    fn now(&self) -> LiveSession {
        let mut live = self.live.clone();
        live.alive = !live.elsewhere && process_is_alive(live.pid, self.start.as_deref());
        live
    }
}

fn parse(bytes: &[u8]) -> Option<Client> {
    let value = Value::parse(bytes).ok()?;
    let text = |name| value.str(name).map(|text| text.into_owned());
    let time = |name: &str| {
        let milliseconds = value.get(name)?.as_u64()?;
        Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok()
    };
    let pid = u32::try_from(value.get("pid")?.as_u64()?).ok()?;
    let start = text("procStart")
        .or_else(|| value.get("procStart")?.as_u64().map(|start| start.to_string()));
    let elsewhere = value.str("pidDomain").is_some_and(|domain| is_other_pid_domain(&domain));
    let live = LiveSession {
        pid,
        session: value.str("sessionId")?.parse().ok()?,
        alive: false,
        elsewhere,
        cwd: text("cwd"),
        version: text("version"),
        status: text("status"),
        waiting_for: text("waitingFor"),
        kind: text("kind"),
        entrypoint: text("entrypoint"),
        status_since: time("statusUpdatedAt").or_else(|| time("updatedAt")),
        started: time("startedAt"),
    };
    Some(Client { live, start })
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn only_pid_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let sessions = directory.path().join("sessions");
        fs::create_dir(&sessions).unwrap();
        let json = r#"{"pid":4000000000,"sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","procStart":"5","status":"waiting","waitingFor":"permission prompt","statusUpdatedAt":1794788485636}"#;
        fs::write(sessions.join("4000000000.json"), json).unwrap();
        fs::write(sessions.join("4000000000.ab12.key"), json).unwrap();
        fs::write(sessions.join("notes.json"), json).unwrap();
        fs::write(sessions.join("4000000001.json"), "{broken").unwrap();
        let live = Home::open(directory.path()).unwrap().live_sessions_now();
        assert_eq!(live.len(), 1);
        assert!(!live[0].alive);
        assert_eq!(live[0].status.as_deref(), Some("waiting"));
        assert_eq!(live[0].status_since.unwrap().to_string(), "2026-11-16T00:21:25.636Z");
    }

    #[test]
    fn a_file_that_is_half_written_is_told_if_its_process_lives() {
        let directory = tempfile::tempdir().unwrap();
        let sessions = directory.path().join("sessions");
        fs::create_dir(&sessions).unwrap();
        let pid = std::process::id();
        let path = sessions.join(format!("{pid}.json"));
        let home = Home::open(directory.path()).unwrap();
        for half in ["", "{", r#"{"pid":7}"#] {
            fs::write(&path, half).unwrap();
            let found = home.announcements();
            assert_eq!(found.clients, [], "{half}");
            assert_eq!(found.unreadable, [UnreadableClient { pid, path: path.clone() }], "{half}");
        }
        // Nobody writes the file of a process that is gone.
        #[cfg(target_os = "linux")]
        {
            fs::rename(&path, sessions.join("4000000000.json")).unwrap();
            assert_eq!(home.announcements(), Announcements::default());
        }
    }

    #[test]
    fn what_is_announced_anew_is_read_anew_and_death_is_seen_without_reading() {
        let directory = tempfile::tempdir().unwrap();
        let sessions = directory.path().join("sessions");
        fs::create_dir(&sessions).unwrap();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let path = sessions.join(format!("{}.json", child.id()));
        let home = Home::open(directory.path()).unwrap();
        let mut known = KnownClients::default();
        for status in ["busy", "idle", "busy"] {
            let json = format!(
                r#"{{"pid":{},"sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","status":"{status}"}}"#,
                child.id()
            );
            // In place, and no longer than before.
            fs::write(&path, json).unwrap();
            let clients = known.look(&home).clients;
            assert_eq!(clients[0].status.as_deref(), Some(status));
            assert!(clients[0].alive);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        #[cfg(target_os = "linux")]
        assert!(!known.look(&home).clients[0].alive);
        fs::remove_file(&path).unwrap();
        assert_eq!(known.look(&home), Announcements::default());
    }

    #[test]
    fn a_file_that_is_whole_when_it_is_read_again_is_a_client() {
        let directory = tempfile::tempdir().unwrap();
        let (pid, path) = (std::process::id(), directory.path().join("1.json"));
        fs::write(&path, "").unwrap();
        let one = UnreadableClient { pid, path: path.clone() };
        let mut found = Announcements { clients: Vec::new(), unreadable: vec![one] };
        found.read_again();
        assert_eq!((found.clients.len(), found.unreadable.len()), (0, 1));
        let json = format!(r#"{{"pid":{pid},"sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718"}}"#);
        fs::write(&path, json).unwrap();
        found.read_again();
        assert_eq!((found.clients.len(), found.unreadable.len()), (1, 0));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_number_of_another_container_says_nothing() {
        let own = fs::read_link("/proc/self/ns/pid").unwrap();
        let of = |domain: &str| {
            let json = format!(
                r#"{{"pid":{},"sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","pidDomain":"{domain}"}}"#,
                std::process::id()
            );
            let live = parse(json.as_bytes()).unwrap().now();
            (live.alive, live.elsewhere)
        };
        assert_eq!(of(&format!("linux::{}", own.display())), (true, false));
        assert_eq!(of("linux::pid:[1]"), (false, true));
        assert_eq!(of("darwin::"), (false, true));
        // What is not known is no reason to look away.
        assert_eq!(of("linux::something"), (true, false));
        assert_eq!(of(""), (true, false));
    }

    #[test]
    fn pid_files_are_told_by_their_name() {
        assert!(is_pid_file("12.json") && is_pid_file("pid-12.json"));
        assert!(!is_pid_file(".json") && !is_pid_file("12.key") && !is_pid_file("a.json"));
    }
}
