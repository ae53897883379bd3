//! The calls of one answer, started as they come.
//!
//! Calls that change nothing overlap; any other waits for those before it, and those behind it
//! wait for it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use tokio::task::JoinSet;

use super::call::Finished;

type Call = Pin<Box<dyn Future<Output = Finished> + Send>>;

/// How long calls have to clean up after they were cancelled.
const GRACE: Duration = Duration::from_millis(900);

/// Calls that run and calls that wait.
#[derive(Default)]
pub(super) struct Jobs {
    running: JoinSet<Finished>,
    waiting: VecDeque<(bool, Call)>,
    /// One runs that must be alone.
    is_alone: bool,
}

impl Jobs {
    /// Adds a call, and starts it if it may.
    pub(super) fn add(
        &mut self,
        may_overlap: bool,
        call: impl Future<Output = Finished> + Send + 'static,
    ) {
        self.waiting.push_back((may_overlap, Box::pin(call)));
        self.start();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    fn start(&mut self) {
        while let Some((may_overlap, _)) = self.waiting.front() {
            if self.is_alone || (!may_overlap && !self.running.is_empty()) {
                return;
            }
            self.is_alone = !may_overlap;
            if let Some((_, call)) = self.waiting.pop_front() {
                self.running.spawn(call);
            }
        }
    }

    /// The next call that is over; none if there is none.
    pub(super) async fn next(&mut self) -> Option<Finished> {
        let ended = self.running.join_next().await?;
        if self.running.is_empty() {
            self.is_alone = false;
        }
        self.start();
        match ended {
            Ok(finished) => Some(finished),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => None,
        }
    }

    /// Forgets calls that wait, and lets those that were cancelled clean up.
    pub(super) async fn settle(&mut self) {
        self.waiting.clear();
        let all = async { while self.running.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, all).await;
        self.running.abort_all();
    }
}
