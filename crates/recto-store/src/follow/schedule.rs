//! When to look at what without having been told: a little at a time, all in turn.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use super::discovery::Loose;
use super::tree::Tree;
use super::watches::Watching;

/// How often to look where the system tells what changes, and where it does not.
const WATCHED: Duration = Duration::from_secs(2);
const UNWATCHED: Duration = Duration::from_millis(250);
/// How many files and directories are looked at each time. 500 take about a millisecond.
const EACH_TIME: usize = 500;
/// Logs that were written lately are looked at each time.
const MOST_ACTIVE: usize = 100;

/// What to look at next, and when.
#[derive(Debug)]
pub(super) struct Schedule {
    round: VecDeque<PathBuf>,
    /// The logs that were written last, the newest at the end.
    active: VecDeque<PathBuf>,
    next: Instant,
}

impl Schedule {
    /// The logs that were written last are those that will be written next.
    pub(super) fn new(tree: &Tree) -> Schedule {
        let mut files: Vec<_> = tree.files.values().collect();
        files.sort_by_key(|tail| tail.cursor.state().modified);
        let first = files.len().saturating_sub(MOST_ACTIVE);
        let active = files[first..].iter().map(|tail| tail.file.path.clone()).collect();
        Schedule { round: VecDeque::new(), active, next: Instant::now() }
    }

    /// When it is time to look.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// A log was written.
    pub(super) fn note_active(&mut self, path: &PathBuf) {
        if self.active.back() == Some(path) {
            return;
        }
        self.active.retain(|known| known != path);
        self.active.push_back(path.clone());
        if self.active.len() > MOST_ACTIVE {
            self.active.pop_front();
        }
    }

    /// Looks at what was written lately, and at the next few of the others.
    pub(super) fn look(&mut self, tree: &mut Tree, now: Instant) {
        self.next = now
            + match tree.watches.watching() {
                Watching::Events => WATCHED,
                Watching::Partly | Watching::Polling => UNWATCHED,
            };
        tree.look_at_announcements();
        for path in &self.active {
            tree.check_file(path);
        }
        look_at_unowned(tree);
        if self.round.is_empty() {
            self.round.extend(tree.directories.keys().cloned());
            self.round.extend(tree.files.keys().cloned());
            self.round.extend(tree.others.keys().cloned());
        }
        for path in self.round.drain(..EACH_TIME.min(self.round.len())) {
            tree.check_directory(&path);
            tree.check_file(&path);
            tree.check_other(&path);
        }
    }

    /// Looks at everything.
    pub(super) fn look_at_all(&mut self, tree: &mut Tree) {
        tree.look_at_announcements();
        look_at_unowned(tree);
        // Directories that are found meanwhile are looked at when they are found.
        let directories: Vec<PathBuf> = tree.directories.keys().cloned().collect();
        for path in directories {
            tree.check_directory(&path);
        }
        let files: Vec<PathBuf> = tree.files.keys().cloned().collect();
        for path in files {
            tree.check_file(&path);
        }
        let others: Vec<PathBuf> = tree.others.keys().cloned().collect();
        for path in others {
            tree.check_other(&path);
        }
        tree.settle_all();
    }
}

/// Logs of subagents of which it is not known yet whose they are.
fn look_at_unowned(tree: &mut Tree) {
    let unowned = tree.loose.iter().filter(|(_, loose)| **loose == Loose::NotYet);
    let unowned: Vec<PathBuf> = unowned.map(|(path, _)| path.clone()).take(EACH_TIME).collect();
    for path in unowned {
        tree.look_at_path(&path);
    }
}

#[cfg(test)]
impl Schedule {
    /// Does not look for an hour.
    pub(super) fn postpone(&mut self) {
        self.next = Instant::now() + Duration::from_secs(3600);
    }
}
