//! Collecting as soon as something is written.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use crate::Home;
use crate::StoreError;
use crate::follow::Change;
use crate::follow::FollowOptions;
use crate::follow::Follower;
use crate::follow::Waker;
use crate::keep::CollectReport;
use crate::keep::Collector;

/// The whole home is looked at this often, for what the system did not tell.
const LOOK: Duration = Duration::from_secs(120);
/// Or less often, so that looking takes no more than one part in so many of the time.
const SHARE: u32 = 1000;
/// What is written in so short a time goes into one segment.
const GATHER: Duration = Duration::from_millis(500);

/// Keeps what is written while it runs.
#[derive(Debug)]
pub struct KeepWatch {
    collector: Collector,
    follower: Follower,
    next_look: Instant,
}

impl KeepWatch {
    /// Begins to watch. Everything that is new already is kept first.
    pub fn new(home: &Home, collector: Collector) -> Result<KeepWatch, StoreError> {
        let options =
            FollowOptions { also: collector.kinds().to_vec(), ..FollowOptions::default() };
        let follower = Follower::new(home, options)?;
        Ok(KeepWatch { collector, follower, next_look: Instant::now() })
    }

    /// Wakes or stops it from elsewhere.
    pub fn waker(&self) -> Waker {
        self.follower.waker()
    }

    /// Waits until something is written, or for a while, and keeps it.
    pub fn step(&mut self, timeout: Duration) -> Result<CollectReport, StoreError> {
        if Instant::now() >= self.next_look {
            return self.look();
        }
        let until = self.next_look.saturating_duration_since(Instant::now());
        let mut paths = BTreeSet::new();
        gather(self.follower.next(timeout.min(until)), &mut paths);
        if paths.is_empty() {
            return Ok(CollectReport::default());
        }
        // Clients write many lines at once; one segment for each would be small.
        std::thread::sleep(GATHER);
        loop {
            let changes = self.follower.next(Duration::ZERO);
            if changes.is_empty() {
                break;
            }
            gather(changes, &mut paths);
        }
        self.collector.collect_files(&paths.into_iter().collect::<Vec<_>>())
    }

    fn look(&mut self) -> Result<CollectReport, StoreError> {
        let start = Instant::now();
        let report = self.collector.collect(&mut |_| {});
        self.next_look = Instant::now() + LOOK.max(start.elapsed() * SHARE);
        report
    }
}

/// The files that changed.
fn gather(changes: Vec<Change>, paths: &mut BTreeSet<PathBuf>) {
    for change in changes {
        match change {
            Change::Appeared(file) | Change::Restarted(file) | Change::Removed(file) => {
                paths.insert(file.path.clone());
            }
            Change::Lines { batch, .. } | Change::LongLine { batch, .. } => {
                paths.insert(batch.file.path.clone());
            }
            Change::Moved { from, to } => {
                paths.insert(from.path.clone());
                paths.insert(to.path.clone());
            }
            Change::File(file) | Change::FileRemoved(file) => {
                paths.insert(file.path);
            }
            Change::Announcements => {}
        }
    }
}
