//! An index that is made while readers look at what there is of it.

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use crate::library::Library;

/// So many bytes are folded into the index before the answer; more are read beside.
const AT_ONCE: u64 = 64 * 1024 * 1024;

/// For how long an index that could not be made is not tried again.
const GIVEN_UP_FOR: Duration = Duration::from_secs(600);

/// An index that is being made, or could not be.
#[derive(Debug, Default)]
pub struct IndexBuild(Mutex<Build>);

#[derive(Debug, Default)]
enum Build {
    #[default]
    None,
    /// The bytes that were read and those of all.
    Running(u64, u64),
    /// Since when, and why.
    Failed(Instant, String),
}

impl IndexBuild {
    fn lock(&self) -> MutexGuard<'_, Build> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be said of it, if anything.
    fn state(&self) -> Option<IndexState> {
        match &*self.lock() {
            Build::None => None,
            Build::Running(done, all) => Some(IndexState::Building(*done, *all)),
            Build::Failed(since, _) if since.elapsed() > GIVEN_UP_FOR => None,
            Build::Failed(_, why) => Some(IndexState::Failed(why.clone())),
        }
    }

    fn set(&self, build: Build) {
        *self.lock() = build;
    }

    /// Says that it is being made, unless it is already.
    fn begin(&self) -> bool {
        let mut build = self.lock();
        let is_first = !matches!(*build, Build::Running(..));
        if is_first {
            *build = Build::Running(0, 0);
        }
        is_first
    }
}

/// How far the index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexState {
    /// A search finds everything.
    Ready,
    /// It is being made here: bytes that were read, and those of all.
    Building(u64, u64),
    /// It could not be made: a search reads the logs, and says why.
    Failed(String),
}

impl Library {
    /// Looks how far the index is. Where much of it is missing, it is made beside, so
    /// that a search can answer from what there is.
    pub fn index_state(&self) -> IndexState {
        let build = &self.figures().index;
        if let Some(state) = build.state() {
            return state;
        }
        let inventory = self.inventory();
        let all: u64 = inventory.sessions.iter().map(|session| session.bytes()).sum();
        // An index that cannot be read is the search's to deal with.
        let Some(cache) = self.cache().cloned() else { return IndexState::Ready };
        let status = self.home().index_status(&inventory, &cache);
        let missing = status.map_or(0, |status| all.saturating_sub(status.log_bytes));
        if missing <= AT_ONCE || !build.begin() {
            return IndexState::Ready;
        }
        let worker = self.clone();
        let started = std::thread::Builder::new().name("index".into()).spawn(move || {
            let mut ended = Ended { library: &worker, as_what: Build::None };
            let tell = |done, all| worker.figures().index.set(Build::Running(done, all));
            let built = worker.home().build_index(&inventory, &cache, /* anew */ false, &tell);
            if let Err(error) = built {
                ended.as_what = Build::Failed(Instant::now(), error.to_string());
            }
        });
        if started.is_err() {
            build.set(Build::None);
            return IndexState::Ready;
        }
        IndexState::Building(0, all)
    }
}

/// Says that it is over, however it ends.
struct Ended<'a> {
    library: &'a Library,
    as_what: Build,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.library.figures().index.set(std::mem::take(&mut self.as_what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_that_failed_is_remembered_and_tried_again_later() {
        let build = IndexBuild::default();
        assert_eq!(build.state(), None);
        assert!(build.begin() && !build.begin());
        assert_eq!(build.state(), Some(IndexState::Building(0, 0)));
        build.set(Build::Failed(Instant::now(), "no room".into()));
        assert_eq!(build.state(), Some(IndexState::Failed("no room".into())));
        let long_ago = Instant::now().checked_sub(GIVEN_UP_FOR + Duration::from_secs(1));
        if let Some(long_ago) = long_ago {
            build.set(Build::Failed(long_ago, "no room".into()));
            assert_eq!(build.state(), None);
        }
        assert!(build.begin());
    }
}
