//! A home that is looked at again and again: when, and which files it has then.

use std::thread;
use std::time::Duration;
use std::time::Instant;

use recto_store::Home;
use recto_store::Inventory;
use recto_store::StoreError;
use recto_store::follow::Change;
use recto_store::follow::FollowOptions;
use recto_store::follow::Follower;
use recto_store::follow::Waker;

/// The files are listed anew at least this often, because their times change.
const LISTING: Duration = Duration::from_secs(60);

/// A home, with a follower that tells when to look at it again.
pub(crate) struct HomeWatch {
    pub(crate) home: Home,
    /// The files as they were listed last.
    pub(crate) inventory: Inventory,
    follower: Follower,
    listed: Instant,
}

impl HomeWatch {
    pub(crate) fn new(home: Home) -> Result<HomeWatch, StoreError> {
        // What happens between the follower's look and ours is told twice, not missed.
        let follower = Follower::new(&home, FollowOptions::default())?;
        let inventory = home.inventory();
        Ok(HomeWatch { home, inventory, follower, listed: Instant::now() })
    }

    /// Ends [`HomeWatch::wait`] from elsewhere.
    pub(crate) fn waker(&self) -> Waker {
        self.follower.waker()
    }

    /// Waits until something has changed, at least as long and at most as long as is said.
    /// The files are listed anew if there is a change of which the old list does not know.
    pub(crate) fn wait(
        &mut self,
        (shortest, longest): (Duration, Duration),
        is_listed: impl Fn(&Change) -> bool,
    ) {
        thread::sleep(shortest);
        let changes = self.follower.next(longest);
        if !changes.iter().all(is_listed) || self.listed.elapsed() >= LISTING {
            self.list();
        }
    }

    /// Lists the files anew.
    pub(crate) fn list(&mut self) {
        self.inventory = self.home.inventory();
        self.listed = Instant::now();
    }
}
