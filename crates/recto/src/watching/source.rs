//! When to look at the home again, what is found then, and what is gone.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use recto_log::SessionId;
use recto_session::status::StatusKind;
use recto_store::Home;
use recto_store::RECENT;
use recto_store::SessionStatus;
use recto_store::StatusScope;
use recto_store::Statuses;
use recto_store::StoreError;
use recto_store::follow::Change;

use crate::watching::home_watch::HomeWatch;

/// The death of a process is told by nobody, so it is looked for this often.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// A log that is written all the time is looked at no more often than this.
const SHORTEST: Duration = Duration::from_millis(50);

/// What is found at one time.
#[derive(Default)]
pub(crate) struct Sight {
    pub(crate) found: Vec<SessionStatus>,
    /// Sessions that were found before and have neither a log nor a client any more.
    pub(crate) gone: Vec<SessionId>,
}

/// What the sessions of a home do, again and again.
pub(crate) struct Source {
    watch: HomeWatch,
    /// The only session that is looked at.
    only: Option<SessionId>,
    statuses: Statuses,
    found: Vec<SessionStatus>,
    /// Those that were found so far and are not gone.
    seen: HashSet<SessionId>,
    /// Those of them that could not be found the last time.
    missing: HashSet<SessionId>,
}

impl Source {
    /// Sessions that run, or were written a short time ago.
    pub(crate) fn new(home: Home) -> Result<Source, StoreError> {
        Ok(Source {
            watch: HomeWatch::new(home)?,
            only: None,
            statuses: Statuses::default(),
            found: Vec::new(),
            seen: HashSet::new(),
            missing: HashSet::new(),
        })
    }

    /// One session.
    pub(crate) fn of(home: Home, session: SessionId) -> Result<Source, StoreError> {
        let source = Source::new(home)?;
        Ok(Source { only: Some(session), seen: HashSet::from([session]), ..source })
    }

    /// What the sessions do now.
    pub(crate) fn look(&mut self, now: Timestamp) -> Sight {
        let scope = match self.only {
            Some(session) => StatusScope::Only(vec![session]),
            None => {
                let kept = self.found.iter().filter(|one| is_kept(one)).map(|one| one.id);
                StatusScope::RecentAnd(RECENT, kept.collect())
            }
        };
        self.found = self.statuses.look(&self.watch.home, &self.watch.inventory, &scope, now);
        Sight { found: self.found.clone(), gone: self.gone() }
    }

    /// Those that are gone. A log that is not where it was may be on its way to another
    /// project while the files are listed, so that it must be missing in two lists.
    fn gone(&mut self) -> Vec<SessionId> {
        self.seen.extend(self.found.iter().map(|one| one.id));
        let mut missing = self.seen.clone();
        for one in &self.found {
            missing.remove(&one.id);
        }
        if !missing.is_empty() {
            // Those whose log has just become old are still there.
            for log in &self.watch.inventory.sessions {
                missing.remove(&log.id);
            }
        }
        let mut gone: Vec<SessionId> = missing.intersection(&self.missing).copied().collect();
        gone.sort();
        for id in &gone {
            missing.remove(id);
            self.seen.remove(id);
        }
        self.missing = missing;
        gone
    }

    /// Waits until something has changed, a timer has run out, or for so long.
    pub(crate) fn wait(&mut self, now: Timestamp, most: Option<Duration>) {
        if !self.missing.is_empty() {
            thread::sleep(SHORTEST);
            return self.watch.list();
        }
        let until = self.found.iter().filter_map(|one| one.status.changes_at).min();
        let until = until.and_then(|time| Duration::try_from(time.duration_since(now)).ok());
        let wait = until.map_or(LONGEST_WAIT, |until| until.clamp(SHORTEST, LONGEST_WAIT));
        let wait = most.map_or(wait, |most| wait.min(most));
        let (found, only) = (&self.found, self.only);
        // The files are listed anew if others are to be looked at than before.
        self.watch.wait((SHORTEST, wait), |change| match change {
            Change::Lines { batch, .. } | Change::LongLine { batch, .. } => {
                let session = batch.file.session;
                only.is_some_and(|only| only != session)
                    || found.iter().any(|one| one.id == session)
            }
            Change::Announcements => true,
            Change::Appeared(file) | Change::Restarted(file) | Change::Removed(file) => {
                only.is_some_and(|only| only != file.session)
            }
            Change::Moved { .. } | Change::File(_) | Change::FileRemoved(_) => false,
        });
    }
}

/// Whether a session is looked at again even if its log is old by then: something is
/// still to come of it.
fn is_kept(one: &SessionStatus) -> bool {
    match one.status.kind {
        StatusKind::WaitingForApproval | StatusKind::WaitingForInput | StatusKind::Working => true,
        // When its client leaves, that is told.
        StatusKind::Idle | StatusKind::Ended | StatusKind::Unknown => one.announced.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;
    use jiff::SignedDuration;
    use recto_testkit::Client;
    use recto_testkit::FakeHome;
    use recto_testkit::SessionBuilder;

    use super::*;

    const ONE: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
    const TWO: &str = "3f2b77aa-51c7-4d02-b8f4-93ad17c2e680";

    fn at(minutes: i64) -> Timestamp {
        let noon: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        noon.checked_add(SignedDuration::from_mins(minutes)).unwrap()
    }

    fn kinds(sight: &Sight) -> Vec<(String, &'static str)> {
        sight.found.iter().map(|one| (one.id.to_string(), one.status.kind.name())).collect()
    }

    fn add(home: &FakeHome, id: &str, client: Client) -> std::path::PathBuf {
        home.add(&SessionBuilder::new(id, client).at(at(0)).prompt("Go").answer("Gone."), at(0))
    }

    #[test]
    fn a_log_that_becomes_old_is_left_without_a_word() {
        let home = FakeHome::new();
        add(&home, ONE, Client::V2_1_29);
        let call = r#"{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}"#;
        let asking = SessionBuilder::new(TWO, Client::V2_1_29).at(at(0)).prompt("Go");
        home.add(&asking.model_block(call), at(0));
        let mut source = Source::new(Home::open(home.path()).unwrap()).unwrap();
        let waiting = (TWO.to_owned(), "waiting_for_approval");
        let idle = (ONE.to_owned(), "idle");
        assert_eq!(kinds(&source.look(at(50))), [waiting.clone(), idle]);
        // Who is waited for is not left alone, however long it takes.
        for minutes in [61, 62, 700] {
            let sight = source.look(at(minutes));
            assert_eq!((kinds(&sight), sight.gone), (vec![waiting.clone()], Vec::new()));
        }
    }

    #[test]
    fn a_client_that_leaves_an_old_log_has_ended() {
        let home = FakeHome::new();
        let path = add(&home, ONE, Client::V2_1_325);
        let by_a_person = r#"{"type":"system","subtype":"x","uuid":"e","timestamp":"2026-11-16T12:00:00Z","version":"2.1.325","entrypoint":"cli"}"#;
        let log = fs::read_to_string(&path).unwrap() + by_a_person + "\n";
        home.write(&format!("projects/-home-dev-app/{ONE}.jsonl"), log);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(at(0).into()).unwrap();
        let announcement = home.announce(ONE, "idle");
        let mut source = Source::new(Home::open(home.path()).unwrap()).unwrap();
        assert_eq!(source.look(at(600)).found.len(), 1);
        fs::remove_file(announcement).unwrap();
        assert_eq!(kinds(&source.look(at(600))), [(ONE.to_owned(), "ended")]);
        assert!(source.look(at(600)).found.is_empty());
    }

    #[test]
    fn a_log_is_gone_when_it_is_in_no_list() {
        let home = FakeHome::new();
        let path = add(&home, ONE, Client::V2_1_29);
        let mut source = Source::new(Home::open(home.path()).unwrap()).unwrap();
        let id: SessionId = ONE.parse().unwrap();
        assert_eq!(source.look(at(1)).found.len(), 1);
        // It is listed while it is nowhere, as it can seem during a move.
        let aside = home.path().join("aside");
        fs::rename(&path, &aside).unwrap();
        source.watch.list();
        assert_eq!(source.look(at(1)).gone, []);
        fs::rename(&aside, &path).unwrap();
        source.wait(at(1), None);
        let sight = source.look(at(1));
        assert_eq!((sight.found.len(), sight.gone), (1, Vec::new()));
        // It is removed, and that is told once.
        fs::remove_file(&path).unwrap();
        source.watch.list();
        assert_eq!(source.look(at(1)).gone, []);
        source.wait(at(1), None);
        assert_eq!(source.look(at(1)).gone, [id]);
        assert_eq!(source.look(at(1)).gone, []);
    }
}
