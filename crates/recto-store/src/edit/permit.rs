//! Whether a session may be edited now, and what belongs to it if it goes.

use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::SessionId;

use crate::DataDirectory;
use crate::Home;
use crate::Inventory;
use crate::LiveSession;
use crate::SessionFile;
use crate::StoreError;
use crate::UnreadableClient;
use crate::edit::error::EditError;
use crate::place::error::PlaceError;
use crate::publish::Change;
use crate::publish::FileIdentity;
use crate::publish::Operation;
use crate::publish::State;
use crate::publish::list_operations;

/// A log that was written within this time may be in use by a client that has
/// not announced itself.
const RECENT: SignedDuration = SignedDuration::from_secs(10);

/// All files of a session, and the directories that hold nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionParts {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The directories, inner ones first.
    pub directories: Vec<PathBuf>,
}

impl Home {
    /// Refuses if a client works on the session, or may: one that writes while
    /// the log is replaced would lose what it writes.
    pub fn editing_allowed(&self, session: &SessionFile, now: Timestamp) -> Result<(), StoreError> {
        self.clients_allow(|other| other == session.id)?;
        let modified = FileIdentity::of(&fs::canonicalize(&session.path)?)?.modified;
        if now.duration_since(modified).abs() < RECENT {
            return Err(EditError::Recent { path: session.path.clone() }.into());
        }
        Ok(())
    }

    /// The rule of all edits: refuses if a client works on the session, or may, but
    /// for a log that was written a moment ago by recto itself.
    pub fn may_edit(
        &self,
        data: &DataDirectory,
        session: &SessionFile,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match self.editing_allowed(session, now) {
            Err(StoreError::Edit(EditError::Recent { .. })) if is_as_published(data, session)? => {
                Ok(())
            }
            other => other,
        }
    }

    /// Refuses if a client works on one of the sessions that an operation changed.
    pub(crate) fn may_reverse(&self, operation: &Operation) -> Result<(), StoreError> {
        let sessions = operation.sessions();
        self.clients_allow(|session| sessions.contains(&session))
    }

    /// Refuses if a client works on one of the sessions, or may: one that cannot be
    /// seen from here is taken for one that runs, and one whose file cannot be understood
    /// for one that runs this session.
    fn clients_allow(&self, is_wanted: impl Fn(SessionId) -> bool) -> Result<(), StoreError> {
        let announced = self.announcements();
        let mut live = announced.clients.into_iter();
        match live.find(|live| (live.alive || live.elsewhere) && is_wanted(live.session)) {
            Some(LiveSession { session, pid, elsewhere: true, .. }) => {
                Err(EditError::Elsewhere { session, pid }.into())
            }
            Some(LiveSession { session, pid, .. }) => Err(EditError::Live { session, pid }.into()),
            None => match announced.unreadable.into_iter().next() {
                Some(UnreadableClient { pid, path }) => {
                    Err(EditError::UnreadableClient { pid, path }.into())
                }
                None => Ok(()),
            },
        }
    }

    /// Everything that belongs to a session and to no other: its log, those of
    /// its subagents, long results, tasks, lists of things to do, files as they
    /// were before an edit.
    pub fn parts_of(
        &self,
        inventory: &Inventory,
        session: &SessionFile,
    ) -> Result<SessionParts, StoreError> {
        let mut parts = SessionParts { files: vec![session.path.clone()], directories: Vec::new() };
        let id = session.id.to_string();
        for agent in self.agents_of(inventory, session) {
            let folder = session.folder();
            if !agent.path.starts_with(&folder) {
                parts.files.push(agent.path);
            }
        }
        parts.files.extend(self.sidecars_of(session).todos);
        for directory in [session.folder(), self.tasks().join(&id), self.file_history().join(&id)] {
            if self.contains(&directory) && directory.is_dir() {
                collect(&directory, &mut parts)?;
            }
        }
        Ok(parts)
    }
}

/// Whether a log is as an operation left it.
fn is_as_published(data: &DataDirectory, session: &SessionFile) -> Result<bool, StoreError> {
    let path = fs::canonicalize(&session.path)?;
    let identity = FileIdentity::of(&path)?;
    let is_it = |change: &Change| {
        let file = change.after.as_ref().and_then(State::file);
        change.path == path
            && file.is_some_and(|file| {
                file.bytes == identity.bytes && file.modified == identity.modified
            })
    };
    let operations = list_operations(data)?;
    Ok(operations.iter().flat_map(|operation| &operation.changes).any(is_it))
}

/// Adds what is below a directory. Anything else than files and directories is
/// refused: a link could lead anywhere.
pub(crate) fn collect(directory: &Path, parts: &mut SessionParts) -> Result<(), StoreError> {
    let mut directories = vec![directory.to_owned()];
    let mut at = 0;
    while let Some(directory) = directories.get(at).cloned() {
        at += 1;
        let mut entries = Vec::new();
        for entry in fs::read_dir(&directory)? {
            entries.push(entry?.path());
        }
        entries.sort();
        for path in entries {
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() {
                directories.push(path);
            } else if metadata.is_file() {
                parts.files.push(path);
            } else {
                return Err(PlaceError::NotAFile { path }.into());
            }
        }
    }
    // Those found later are inside of those found before.
    parts.directories.extend(directories.into_iter().rev());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    fn home_with_session() -> (tempfile::TempDir, Home, SessionFile) {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("projects/-w");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join(format!("{ID}.jsonl")), "{}\n").unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = home.inventory().sessions.remove(0);
        (folder, home, session)
    }

    #[test]
    fn a_log_that_was_just_written_is_not_edited() {
        let (_folder, home, session) = home_with_session();
        let after = |seconds: i64| session.modified() + SignedDuration::from_secs(seconds);
        home.editing_allowed(&session, after(10)).unwrap();
        home.editing_allowed(&session, after(-11)).unwrap();
        for seconds in [-1, 0, 9] {
            let error = home.editing_allowed(&session, after(seconds)).unwrap_err();
            assert_eq!(error.kind(), "recently-written");
        }
    }

    #[test]
    fn a_live_session_is_not_edited() {
        let (folder, home, session) = home_with_session();
        let fake = recto_testkit::FakeHome::new();
        let announced = fake.announce(ID, "idle");
        let sessions = folder.path().join("sessions");
        fs::create_dir(&sessions).unwrap();
        let place = sessions.join(announced.file_name().unwrap());
        fs::copy(&announced, &place).unwrap();
        let later = session.modified() + SignedDuration::from_hours(1);
        let error = home.editing_allowed(&session, later).unwrap_err();
        assert_eq!(error.kind(), "live-session");
        let dead =
            fs::read_to_string(&place).unwrap().replace("\"procStart\":\"", "\"procStart\":\"9");
        fs::write(&place, dead).unwrap();
        home.editing_allowed(&session, later).unwrap();
    }

    #[test]
    fn while_an_announcement_is_written_nothing_is_edited() {
        let (folder, home, session) = home_with_session();
        let sessions = folder.path().join("sessions");
        fs::create_dir(&sessions).unwrap();
        let place = sessions.join(format!("{}.json", std::process::id()));
        fs::write(&place, "").unwrap();
        let later = session.modified() + SignedDuration::from_hours(1);
        let error = home.editing_allowed(&session, later).unwrap_err();
        assert_eq!(error.kind(), "live-session");
        assert!(error.to_string().contains(&place.display().to_string()), "{error}");
        // What to do if it stays so helps.
        fs::remove_file(&place).unwrap();
        home.editing_allowed(&session, later).unwrap();
    }

    #[test]
    fn a_session_has_its_own_parts_and_no_others() {
        let (folder, home, _) = home_with_session();
        let write = |path: &str| {
            let path = folder.path().join(path.replace("ID", ID));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{{\"sessionId\":\"{ID}\"}}\n")).unwrap();
        };
        for path in [
            "projects/-w/ID/subagents/agent-a1.jsonl",
            "projects/-w/ID/subagents/agent-a1.meta.json",
            "projects/-w/ID/tool-results/x.txt",
            "projects/-w/agent-b2.jsonl",
            "todos/ID-agent-ID.json",
            "tasks/ID/1.json",
            "tasks/ID/.lock",
            "file-history/ID/abc@v1",
        ] {
            write(path);
        }
        write("todos/other.json");
        write("projects/-w/memory/MEMORY.md");
        let inventory = home.inventory();
        let parts = home.parts_of(&inventory, &inventory.sessions[0]).unwrap();
        assert_eq!(parts.files.len(), 9);
        let names = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
        let directories: Vec<PathBuf> = parts.directories.iter().map(names).collect();
        let expected = [
            "projects/-w/ID/tool-results",
            "projects/-w/ID/subagents",
            "projects/-w/ID",
            "tasks/ID",
            "file-history/ID",
        ];
        assert_eq!(directories, expected.map(|path| PathBuf::from(path.replace("ID", ID))));
    }
}
