//! An index that is made while readers look at what there is of it.

use std::sync::Mutex;
use std::sync::PoisonError;

use crate::answer::Failure;
use crate::context::Context;

/// So many bytes are folded into the index before the answer; more are read beside.
const AT_ONCE: u64 = 64 * 1024 * 1024;

/// An index that is being made.
#[derive(Debug, Default)]
pub(crate) struct IndexBuild(Mutex<Option<(u64, u64)>>);

impl IndexBuild {
    /// The bytes that were read and those of all, if it is being made.
    fn progress(&self) -> Option<(u64, u64)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, progress: Option<(u64, u64)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    /// Says that it is being made, unless it is already.
    fn begin(&self) -> bool {
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = progress.is_none();
        progress.get_or_insert((0, 0));
        is_first
    }
}

/// How far the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexState {
    /// A search finds everything.
    Ready,
    /// It is being made here: bytes that were read, and those of all.
    Building(u64, u64),
}

/// Looks how far the index is. Where much of it is missing, it is made beside, so
/// that a search can answer from what there is.
pub(crate) fn index_state(context: &Context) -> Result<IndexState, Failure> {
    let build = &context.figures.index;
    if let Some((done, all)) = build.progress() {
        return Ok(IndexState::Building(done, all));
    }
    let inventory = context.inventory();
    let all: u64 = inventory.sessions.iter().map(|session| session.bytes).sum();
    // An index that cannot be read is the search's to deal with.
    let status = context.home.index_status(&inventory, &context.cache);
    let missing = status.map_or(0, |status| all.saturating_sub(status.log_bytes));
    if missing <= AT_ONCE || !build.begin() {
        return Ok(IndexState::Ready);
    }
    let worker = context.clone();
    let started = std::thread::Builder::new().name("index".into()).spawn(move || {
        let ended = Ended(&worker);
        let tell = |done, all| ended.0.figures.index.set(Some((done, all)));
        // What goes wrong here goes wrong in the search too, which says so.
        let _ = ended.0.home.build_index(&inventory, &ended.0.cache, /* anew */ false, &tell);
    });
    if started.is_err() {
        build.set(None);
        return Ok(IndexState::Ready);
    }
    Ok(IndexState::Building(0, 0))
}

/// Says that it is over, however it ends.
struct Ended<'a>(&'a Context);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.figures.index.set(None);
    }
}
