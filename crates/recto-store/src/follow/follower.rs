//! The follower: waits, looks, and hands out what is new.

use std::time::Duration;
use std::time::Instant;

use super::Change;
use super::Checkpoint;
use super::FollowOptions;
use super::FollowedFile;
use super::discovery::Finding;
use super::schedule::Schedule;
use super::tree::Tree;
use super::watches::Waker;
use super::watches::Watching;
use crate::Home;
use crate::Skipped;
use crate::StoreError;

/// Hands out what is written to logs. See the [module](super).
#[derive(Debug)]
pub struct Follower {
    pub(super) tree: Tree,
    pub(super) schedule: Schedule,
    /// Where the follower was before it found what is not handed out yet.
    before: Option<Checkpoint>,
}

impl Follower {
    /// Begins to follow.
    pub fn new(home: &Home, options: FollowOptions) -> Result<Follower, StoreError> {
        let start = options.start;
        let mut tree = Tree::new(home, options);
        tree.discover(Finding::First(start));
        let schedule = Schedule::new(&tree);
        let before = (!tree.changes.is_empty()).then(|| Checkpoint::beginning(home));
        Ok(Follower { tree, schedule, before })
    }

    /// Goes on where a follower before has been. Logs that it did not know are read from
    /// their beginning, whatever the options say.
    pub fn resume(
        home: &Home,
        options: FollowOptions,
        checkpoint: &Checkpoint,
    ) -> Result<Follower, StoreError> {
        let mut tree = Tree::new(home, options);
        checkpoint.restore(&mut tree);
        tree.discover(Finding::Later);
        let mut schedule = Schedule::new(&tree);
        schedule.look_at_all(&mut tree);
        Ok(Follower { tree, schedule, before: Some(checkpoint.clone()) })
    }

    /// Waits until something has changed, and gives it; nothing if the time is over, or
    /// somebody woke the follower.
    pub fn next(&mut self, timeout: Duration) -> Vec<Change> {
        // A time that cannot be added is for ever; a day is as good, because the loop
        // goes round.
        const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);
        let deadline = Instant::now() + timeout.min(LONGEST_WAIT);
        loop {
            let inbox = self.tree.watches.take();
            let now = Instant::now();
            if inbox.is_incomplete {
                self.schedule.look_at_all(&mut self.tree);
            }
            self.tree.look_at_paths(inbox.paths);
            if now >= self.schedule.next() {
                self.schedule.look(&mut self.tree, now);
            }
            self.tree.settle(now);
            let changes = self.hand_out();
            if !changes.is_empty() || inbox.is_woken || inbox.is_stopped || now >= deadline {
                return changes;
            }
            let mut until = deadline.min(self.schedule.next());
            until = self.tree.next_settling().map_or(until, |settling| until.min(settling));
            self.tree.watches.wait(until);
        }
    }

    /// Looks at everything at once, and gives the first of what has changed. All has been
    /// given when nothing is.
    pub fn look(&mut self) -> Vec<Change> {
        self.schedule.look_at_all(&mut self.tree);
        self.hand_out()
    }

    /// Where everything is that was handed out up to now, to go on from there.
    pub fn checkpoint(&self) -> Checkpoint {
        self.before.clone().unwrap_or_else(|| Checkpoint::of(&self.tree))
    }

    /// Wakes or stops the follower from elsewhere.
    pub fn waker(&self) -> Waker {
        self.tree.watches.waker()
    }

    /// The logs that are followed now.
    pub fn files(&self) -> impl Iterator<Item = &FollowedFile> {
        self.tree.files.values().map(|tail| &*tail.file)
    }

    /// Up to where a log has been handed out.
    pub fn offset(&self, path: &std::path::Path) -> Option<u64> {
        self.tree.files.get(path).map(|tail| tail.cursor.offset())
    }

    /// What is not followed though its name says it is a log, and why.
    pub fn skipped(&self) -> Vec<Skipped> {
        let skipped = self.tree.skipped.iter();
        skipped
            .map(|(path, reason)| Skipped { path: path.clone(), reason: reason.clone() })
            .collect()
    }

    /// Whether the system tells what changes.
    pub fn watching(&self) -> Watching {
        self.tree.watches.watching()
    }

    pub(super) fn hand_out(&mut self) -> Vec<Change> {
        let changes = self.tree.hand_out();
        self.before = None;
        for change in &changes {
            if let Change::Lines { batch, .. } = change {
                self.schedule.note_active(&batch.file.path);
            }
        }
        changes
    }
}
