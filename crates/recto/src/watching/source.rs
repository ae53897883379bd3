//! When to look at the home again, and what is found then.

use std::time::Duration;
use std::time::Instant;

use jiff::Timestamp;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::RECENT;
use recto_store::SessionStatus;
use recto_store::StatusScope;
use recto_store::Statuses;
use recto_store::StoreError;
use recto_store::follow::Change;
use recto_store::follow::FollowOptions;
use recto_store::follow::Follower;

/// The death of a process is told by nobody, so it is looked for this often.
const LONGEST: Duration = Duration::from_secs(1);
/// A log that is written all the time is looked at no more often than this.
const SHORTEST: Duration = Duration::from_millis(50);

/// The files are listed anew at least this often, because their times change.
const LISTING: Duration = Duration::from_secs(60);

/// What the sessions of a home do, again and again.
pub(super) struct Source {
    home: Home,
    follower: Follower,
    inventory: Inventory,
    listed: Instant,
    statuses: Statuses,
    found: Vec<SessionStatus>,
}

impl Source {
    pub(super) fn new(home: Home) -> Result<Source, StoreError> {
        // What happens between the follower's look and ours is told twice, not missed.
        let follower = Follower::new(&home, FollowOptions::default())?;
        let inventory = home.inventory();
        Ok(Source {
            home,
            follower,
            inventory,
            listed: Instant::now(),
            statuses: Statuses::default(),
            found: Vec::new(),
        })
    }

    /// What the sessions do now.
    pub(super) fn look(&mut self, now: Timestamp) -> Vec<SessionStatus> {
        let scope = StatusScope::Recent(RECENT);
        self.found = self.statuses.look(&self.home, &self.inventory, &scope, now);
        self.found.clone()
    }

    /// Waits until something has changed, or a timer has run out.
    pub(super) fn wait(&mut self, now: Timestamp) {
        std::thread::sleep(SHORTEST);
        let until = self.found.iter().filter_map(|one| one.status.changes_at).min();
        let until = until.and_then(|time| Duration::try_from(time.duration_since(now)).ok());
        let wait = until.map_or(LONGEST, |until| until.clamp(SHORTEST, LONGEST));
        let changes = self.follower.next(wait);
        // The files are listed anew if others are to be looked at than before.
        let is_listed = |change: &Change| match change {
            Change::Lines { file, .. } | Change::LongLine { file, .. } => {
                self.found.iter().any(|one| one.id == file.session)
            }
            Change::Announcements => true,
            Change::Appeared(_)
            | Change::Restarted { .. }
            | Change::Moved { .. }
            | Change::Removed(_) => false,
        };
        if !changes.iter().all(is_listed) || self.listed.elapsed() >= LISTING {
            self.inventory = self.home.inventory();
            self.listed = Instant::now();
        }
    }
}
