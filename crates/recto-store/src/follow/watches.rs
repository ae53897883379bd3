//! What the system tells about directories, and how a waiting follower is woken.

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Instant;

use notify::RecommendedWatcher;
use notify::RecursiveMode;
use notify::Watcher;

use super::FollowNotice;

/// More paths than these at once, and everything is looked at instead.
const MOST_PATHS: usize = 20_000;

/// Whether the system tells what changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watching {
    /// It does, in all directories.
    Events,
    /// It does in some; the limit of the system is reached.
    Partly,
    /// It does not.
    Polling,
}

/// Wakes or stops [`super::Follower::next`] from another thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<Shared>);

impl Waker {
    /// Makes `next` give what it has, which may be nothing.
    pub fn wake(&self) {
        self.0.change(|inbox| inbox.is_woken = true);
    }

    /// Makes `next` give what it has, now and ever after without waiting.
    pub fn stop(&self) {
        self.0.change(|inbox| inbox.is_stopped = true);
    }
}

/// What arrived while nobody looked.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) paths: HashSet<PathBuf>,
    /// Something may have been missed.
    pub(super) is_incomplete: bool,
    pub(super) is_woken: bool,
    pub(super) is_stopped: bool,
}

impl Inbox {
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.is_incomplete && !self.is_woken && !self.is_stopped
    }

    fn take(&mut self) -> Inbox {
        let is_stopped = self.is_stopped;
        let taken = std::mem::take(self);
        self.is_stopped = is_stopped;
        taken
    }

    fn receive(&mut self, event: notify::Result<notify::Event>) {
        let Ok(event) = event else {
            self.is_incomplete = true;
            return;
        };
        self.is_incomplete |= event.need_rescan();
        if self.paths.len() + event.paths.len() > MOST_PATHS {
            self.is_incomplete = true;
            self.paths.clear();
        }
        self.paths.extend(event.paths);
    }
}

#[derive(Debug, Default)]
struct Shared {
    inbox: Mutex<Inbox>,
    bell: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inbox> {
        // Nothing that holds the lock can leave the inbox half changed.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Inbox)) {
        change(&mut self.lock());
        self.bell.notify_all();
    }
}

/// The directories that the system watches.
#[derive(Debug)]
pub(super) struct Watches {
    /// `None` where the system does not watch at all.
    watcher: Option<RecommendedWatcher>,
    watched: HashSet<PathBuf>,
    unwatched: HashSet<PathBuf>,
    shared: Arc<Shared>,
}

impl Watches {
    pub(super) fn new(notice: FollowNotice) -> Watches {
        let shared = Arc::new(Shared::default());
        let inbox = Arc::clone(&shared);
        let receive = move |event: notify::Result<notify::Event>| {
            // Opening and reading changes nothing, and the follower does it itself.
            if event.as_ref().is_ok_and(|event| event.kind.is_access()) {
                return;
            }
            inbox.change(|inbox| inbox.receive(event));
        };
        let watcher = match notice {
            FollowNotice::Events => notify::recommended_watcher(receive).ok(),
            FollowNotice::Polling => None,
        };
        Watches { watcher, watched: HashSet::new(), unwatched: HashSet::new(), shared }
    }

    /// Asks for what happens in a directory. Before it is listed, so that nothing
    /// happens unseen in between.
    pub(super) fn add(&mut self, directory: &Path) {
        let is_watched = self
            .watcher
            .as_mut()
            .is_some_and(|watcher| watcher.watch(directory, RecursiveMode::NonRecursive).is_ok());
        self.unwatched.remove(directory);
        let set = if is_watched { &mut self.watched } else { &mut self.unwatched };
        set.insert(directory.to_owned());
    }

    pub(super) fn remove(&mut self, directory: &Path) {
        self.unwatched.remove(directory);
        if self.watched.remove(directory)
            && let Some(watcher) = &mut self.watcher
        {
            // It is gone by itself if the directory is.
            let _ = watcher.unwatch(directory);
        }
    }

    pub(super) fn watching(&self) -> Watching {
        match (&self.watcher, self.unwatched.is_empty()) {
            (None, _) => Watching::Polling,
            (Some(_), true) => Watching::Events,
            (Some(_), false) if self.watched.is_empty() => Watching::Polling,
            (Some(_), false) => Watching::Partly,
        }
    }

    pub(super) fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.shared))
    }

    /// What has arrived.
    pub(super) fn take(&self) -> Inbox {
        self.shared.lock().take()
    }

    /// Waits until something arrives, or the time has come.
    pub(super) fn wait(&self, until: Instant) {
        let inbox = self.shared.lock();
        let time = until.saturating_duration_since(Instant::now());
        let waited = self.shared.bell.wait_timeout_while(inbox, time, |inbox| inbox.is_empty());
        drop(waited);
    }
}
