//! `sessions/<pid>.json`: this process works on a session.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use jiff::Timestamp;
use recto_log::SessionId;
use recto_log::json::ObjectWriter;

use crate::Home;
use crate::append::AppendError;
use crate::append::place::prepared;
use crate::place::platform;

/// What a client does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// Nothing: it waits for a prompt.
    Idle,
    /// A turn.
    Busy,
    /// It waits for the user, for something such as `permission prompt`.
    Waiting(String),
    /// A command that the user typed.
    Shell,
}

impl Activity {
    fn name(&self) -> &'static str {
        match self {
            Activity::Idle => "idle",
            Activity::Busy => "busy",
            Activity::Waiting(_) => "waiting",
            Activity::Shell => "shell",
        }
    }
}

/// What a client says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientState {
    /// Its session.
    pub session: SessionId,
    /// Its working directory.
    pub cwd: String,
    /// Its version.
    pub version: String,
    /// Such as `interactive`.
    pub kind: String,
    /// How it was started, such as `cli`.
    pub entrypoint: String,
    /// When it started.
    pub started: Timestamp,
    /// What it does.
    pub activity: Activity,
    /// Since when.
    pub since: Timestamp,
}

impl ClientState {
    /// The fields that 2.1.325 writes, in its order, except those that
    /// clients send each other messages with: recto does not answer them.
    fn to_json(&self) -> Vec<u8> {
        let milliseconds = |time: Timestamp| time.as_millisecond().unsigned_abs();
        let object = ObjectWriter::new()
            .number("pid", u64::from(std::process::id()))
            .id("sessionId", &self.session)
            .string("cwd", &self.cwd)
            .number("startedAt", milliseconds(self.started))
            .string_if_any("procStart", platform::own_start().as_deref())
            .string("version", &self.version)
            .string("kind", &self.kind)
            .string("entrypoint", &self.entrypoint)
            .string_if_any("pidDomain", platform::own_pid_domain().as_deref())
            .string("status", self.activity.name())
            .number("updatedAt", milliseconds(self.since))
            .number("statusUpdatedAt", milliseconds(self.since));
        match &self.activity {
            Activity::Waiting(what) => object.string("waitingFor", what),
            Activity::Idle | Activity::Busy | Activity::Shell => object,
        }
        .finish()
    }
}

/// An announcement of this process. It is taken back when it is dropped; what a
/// killed process leaves is known to be stale by the start time in it.
#[derive(Debug)]
pub struct Announcement {
    path: PathBuf,
    /// The file that this process wrote last.
    number: (u64, u64),
}

impl Announcement {
    /// Announces this process in a home.
    pub fn new(home: &Home, state: &ClientState) -> Result<Announcement, AppendError> {
        let path = home.live_sessions().join(format!("{}.json", std::process::id()));
        let path = prepared(home, &path)?;
        let number = replace(&path, &state.to_json()).map_err(AppendError::of(&path))?;
        Ok(Announcement { path, number })
    }

    /// Says what the process does now.
    pub fn update(&mut self, state: &ClientState) -> Result<(), AppendError> {
        self.number = replace(&self.path, &state.to_json()).map_err(AppendError::of(&self.path))?;
        Ok(())
    }

    /// Takes the announcement back, and says if that failed.
    pub fn finish(mut self) -> Result<(), AppendError> {
        self.remove().map_err(AppendError::of(&self.path))
    }

    fn remove(&mut self) -> std::io::Result<()> {
        // Another process in another container may have the same number.
        let is_own = std::fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| platform::file_number(&metadata) == self.number);
        match is_own {
            true => fs::remove_file(&self.path),
            false => Ok(()),
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // No caller is left to report to.
        let _ = self.remove();
    }
}

/// Puts a file in place of another, in one step: readers see either. It is not
/// synced, because after a crash it must not be believed anyway.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<(u64, u64)> {
    let new = path.with_extension("json.new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = platform::create_private_file(&new)?;
    file.write_all(content)?;
    let number = platform::file_number(&file.metadata()?);
    fs::rename(&new, path)?;
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(activity: Activity) -> ClientState {
        ClientState {
            session: "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718".parse().unwrap(),
            cwd: "/home/dev/app".to_owned(),
            version: "2.1.325".to_owned(),
            kind: "interactive".to_owned(),
            entrypoint: "cli".to_owned(),
            started: Timestamp::from_millisecond(1_794_788_487_090).unwrap(),
            activity,
            since: Timestamp::from_millisecond(1_794_788_490_000).unwrap(),
        }
    }

    #[test]
    fn what_is_announced_is_read_and_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::open(directory.path()).unwrap();
        let mut announcement = Announcement::new(&home, &state(Activity::Busy)).unwrap();
        let [client] = &home.live_sessions_now()[..] else { panic!("one client") };
        assert!(client.alive && !client.elsewhere);
        assert_eq!(client.pid, std::process::id());
        assert_eq!(client.session, state(Activity::Idle).session);
        assert_eq!(client.status.as_deref(), Some("busy"));
        assert_eq!(client.status_since, Some(state(Activity::Idle).since));
        assert_eq!(client.started, Some(state(Activity::Idle).started));
        let words = [&client.cwd, &client.version, &client.kind, &client.entrypoint];
        let expected = ["/home/dev/app", "2.1.325", "interactive", "cli"];
        assert_eq!(words.map(|word| word.as_deref().unwrap()), expected);

        let waiting = state(Activity::Waiting("permission prompt".to_owned()));
        announcement.update(&waiting).unwrap();
        let [client] = &home.live_sessions_now()[..] else { panic!("one client") };
        assert_eq!(client.status.as_deref(), Some("waiting"));
        assert_eq!(client.waiting_for.as_deref(), Some("permission prompt"));

        announcement.finish().unwrap();
        assert_eq!(home.announcements(), crate::Announcements::default());
        drop(Announcement::new(&home, &waiting).unwrap());
        assert_eq!(std::fs::read_dir(home.live_sessions()).unwrap().count(), 0);
    }

    #[test]
    fn the_file_of_another_process_stays() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::open(directory.path()).unwrap();
        let announcement = Announcement::new(&home, &state(Activity::Idle)).unwrap();
        let path = announcement.path.clone();
        let other = path.with_extension("other");
        fs::write(&other, "{}").unwrap();
        fs::rename(&other, &path).unwrap();
        drop(announcement);
        assert!(path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let home = Home::open(directory.path()).unwrap();
        let announcement = Announcement::new(&home, &state(Activity::Idle)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&announcement.path), 0o600);
        assert_eq!(mode(&home.live_sessions()), 0o700);
    }
}
