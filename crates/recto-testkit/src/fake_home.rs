//! A home of the client's in a temporary directory.
//!
//! Owns: where a log goes and which time its file has. Does not own: what is in
//! a log; see [`SessionBuilder`].

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use jiff::Timestamp;
use recto_log::ProjectKey;
use tempfile::TempDir;

use crate::SessionBuilder;

/// A home that is gone when this is dropped.
///
/// ```
/// use recto_testkit::{Client, FakeHome, SessionBuilder};
///
/// let home = FakeHome::new();
/// let session = SessionBuilder::new("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", Client::V2_1_325)
///     .prompt("Hello")
///     .answer("Hello to you");
/// let path = home.add(&session, "2026-11-16T09:00:00Z".parse().unwrap());
/// assert!(path.starts_with(home.path().join("projects/-home-dev-app")));
/// ```
#[derive(Debug)]
pub struct FakeHome {
    folder: TempDir,
}

impl Default for FakeHome {
    fn default() -> FakeHome {
        FakeHome::new()
    }
}

#[expect(clippy::expect_used, reason = "a test that cannot write its data has failed")]
impl FakeHome {
    /// An empty home.
    pub fn new() -> FakeHome {
        FakeHome { folder: TempDir::with_prefix("recto-home-").expect("a temporary directory") }
    }

    /// The home.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, and the directories above it.
    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(relative);
        let parent = path.parent().expect("a file in the home");
        fs::create_dir_all(parent).expect("a directory in the home");
        fs::write(&path, content).expect("a file in the home");
        path
    }

    /// Writes the log of a session or subagent where its client would, and sets
    /// the time of the file.
    pub fn add(&self, session: &SessionBuilder, modified: Timestamp) -> PathBuf {
        let key = ProjectKey::of_path(session.working_directory());
        let path = self.write(&format!("projects/{key}/{}", session.file_name()), session.bytes());
        set_modified(&path, modified);
        path
    }

    /// Copies a directory of recorded files into the home. All of them get the
    /// same time, because Git does not keep times.
    pub fn copy(&self, recorded: &Path, modified: Timestamp) {
        let mut waiting = vec![recorded.to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).expect("a directory of recorded files") {
                let path = entry.expect("a recorded file").path();
                if path.is_dir() {
                    waiting.push(path);
                    continue;
                }
                let relative = path.strip_prefix(recorded).expect("a path below");
                let content = fs::read(&path).expect("a recorded file");
                set_modified(&self.write(&relative.to_string_lossy(), content), modified);
            }
        }
    }

    /// Writes the file by which a running client announces itself. The process
    /// is that of the test itself, so it is alive.
    pub fn announce(&self, session: &str, status: &str) -> PathBuf {
        self.announce_process(std::process::id(), session, status)
    }

    /// The same for another process, which runs.
    pub fn announce_process(&self, pid: u32, session: &str, status: &str) -> PathBuf {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name of the program is in brackets and may hold some itself.
        let start = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19));
        let start = start.map_or(String::new(), |start| format!(r#","procStart":"{start}""#));
        let json = format!(
            r#"{{"pid":{pid},"sessionId":"{session}","cwd":"/home/dev/app","version":"2.1.325","kind":"interactive","status":"{status}"{start}}}"#
        );
        self.write(&format!("sessions/{pid}.json"), json)
    }
}

#[expect(clippy::expect_used, reason = "a test that cannot write its data has failed")]
fn set_modified(path: &Path, time: Timestamp) {
    let file = fs::File::options().write(true).open(path).expect("a file that was just written");
    file.set_modified(SystemTime::from(time)).expect("a file that takes a time");
}
