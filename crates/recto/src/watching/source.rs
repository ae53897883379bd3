//! When to look at the home again, and what is found then.

use std::time::Duration;

use jiff::Timestamp;
use recto_store::Home;
use recto_store::RECENT;
use recto_store::SessionStatus;
use recto_store::StatusScope;
use recto_store::Statuses;
use recto_store::StoreError;
use recto_store::follow::Change;

use crate::home_watch::HomeWatch;

/// The death of a process is told by nobody, so it is looked for this often.
const LONGEST: Duration = Duration::from_secs(1);
/// A log that is written all the time is looked at no more often than this.
const SHORTEST: Duration = Duration::from_millis(50);

/// What the sessions of a home do, again and again.
pub(super) struct Source {
    watch: HomeWatch,
    statuses: Statuses,
    found: Vec<SessionStatus>,
}

impl Source {
    pub(super) fn new(home: Home) -> Result<Source, StoreError> {
        let watch = HomeWatch::new(home)?;
        Ok(Source { watch, statuses: Statuses::default(), found: Vec::new() })
    }

    /// What the sessions do now.
    pub(super) fn look(&mut self, now: Timestamp) -> Vec<SessionStatus> {
        let scope = StatusScope::Recent(RECENT);
        self.found = self.statuses.look(&self.watch.home, &self.watch.inventory, &scope, now);
        self.found.clone()
    }

    /// Waits until something has changed, or a timer has run out.
    pub(super) fn wait(&mut self, now: Timestamp) {
        let until = self.found.iter().filter_map(|one| one.status.changes_at).min();
        let until = until.and_then(|time| Duration::try_from(time.duration_since(now)).ok());
        let wait = until.map_or(LONGEST, |until| until.clamp(SHORTEST, LONGEST));
        let found = &self.found;
        // The files are listed anew if others are to be looked at than before.
        self.watch.wait((SHORTEST, wait), |change| match change {
            Change::Lines { file, .. } | Change::LongLine { file, .. } => {
                found.iter().any(|one| one.id == file.session)
            }
            Change::Announcements => true,
            Change::Appeared(_)
            | Change::Restarted { .. }
            | Change::Moved { .. }
            | Change::Removed(_) => false,
        });
    }
}
