//! Whether a session may be edited now.

use fs_err as fs;
use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::SessionId;

use crate::DataDirectory;
use crate::Home;
use crate::LiveSession;
use crate::SessionFile;
use crate::StoreError;
use crate::UnreadableClient;
use crate::edit::error::EditError;
use crate::publish::Change;
use crate::publish::FileIdentity;
use crate::publish::Operation;
use crate::publish::State;
use crate::publish::list_operations;

/// A log that was written within this time may be in use by a client that has
/// not announced itself.
const RECENT: SignedDuration = SignedDuration::from_secs(10);

impl Home {
    /// Refuses if a client works on the session, or may: one that writes while
    /// the log is replaced would lose what it writes.
    pub fn editing_allowed(&self, session: &SessionFile, now: Timestamp) -> Result<(), StoreError> {
        if session.is_archived() {
            return Err(EditError::Archived { session: session.id }.into());
        }
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
    let operations = list_operations(data)?.operations;
    Ok(operations.iter().flat_map(|operation| &operation.changes).any(is_it))
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
}
