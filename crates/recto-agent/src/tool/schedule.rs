//! The order in which the calls of one message run.
//!
//! Calls that change nothing overlap; any other waits for those before it, and those behind
//! it wait for it. Outcomes are told in the order in which calls end. A failure stops nothing.

use std::future::Future;
use std::pin::Pin;

use tokio::task::JoinSet;

/// A call and how it may run.
pub struct Job<T> {
    /// Whether it may run beside its neighbours of the same kind.
    pub may_overlap: bool,
    /// The call.
    pub run: Pin<Box<dyn Future<Output = T> + Send>>,
}

impl<T> std::fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("may_overlap", &self.may_overlap).finish_non_exhaustive()
    }
}

impl<T> Job<T> {
    /// A job of a future.
    pub fn new(may_overlap: bool, run: impl Future<Output = T> + Send + 'static) -> Job<T> {
        Job { may_overlap, run: Box::pin(run) }
    }
}

/// Runs all jobs, and tells each outcome as it comes, with the job's position.
pub async fn run_all<T: Send + 'static>(jobs: Vec<Job<T>>, mut told: impl FnMut(usize, T)) {
    let mut running: JoinSet<(usize, T)> = JoinSet::new();
    for (at, job) in jobs.into_iter().enumerate() {
        if job.may_overlap {
            let run = job.run;
            running.spawn(async move { (at, run.await) });
            continue;
        }
        drain(&mut running, &mut told).await;
        told(at, job.run.await);
    }
    drain(&mut running, &mut told).await;
}

async fn drain<T: Send + 'static>(
    running: &mut JoinSet<(usize, T)>,
    told: &mut impl FnMut(usize, T),
) {
    while let Some(ended) = running.join_next().await {
        match ended {
            Ok((at, outcome)) => told(at, outcome),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::Mutex;

    use tokio::sync::Barrier;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn calls_that_change_nothing_run_at_the_same_time() {
        // Each waits for the other, so one after the other would never end.
        let meet = Arc::new(Barrier::new(2));
        let job = |name: &'static str| {
            let meet = Arc::clone(&meet);
            Job::new(true, async move {
                meet.wait().await;
                name
            })
        };
        let mut seen = Vec::new();
        run_all(vec![job("a"), job("b")], |_, name| seen.push(name)).await;
        seen.sort_unstable();
        assert_eq!(seen, ["a", "b"]);
    }

    #[tokio::test]
    async fn outcomes_come_in_the_order_in_which_calls_end() {
        let (first_may_end, wait) = oneshot::channel::<()>();
        let slow = Job::new(true, async move {
            wait.await.ok();
            "slow"
        });
        let fast = Job::new(true, async move {
            first_may_end.send(()).ok();
            "fast"
        });
        let mut seen = Vec::new();
        // The slow one ends after the fast one has: its own wait depends on it.
        run_all(vec![slow, fast], |at, name| seen.push((at, name))).await;
        assert_eq!(seen.len(), 2);
        assert!(seen.contains(&(0, "slow")) && seen.contains(&(1, "fast")));
    }

    #[tokio::test]
    async fn a_call_that_changes_something_is_alone() {
        let log = Arc::new(Mutex::new(Vec::new()));
        let job = |name: &'static str, may_overlap| {
            let log = Arc::clone(&log);
            Job::new(may_overlap, async move {
                log.lock().unwrap().push(format!("{name} begins"));
                tokio::task::yield_now().await;
                log.lock().unwrap().push(format!("{name} ends"));
            })
        };
        let jobs = vec![job("read", true), job("write", false), job("read again", true)];
        run_all(jobs, |_, ()| {}).await;
        let log = log.lock().unwrap();
        let place = |text: &str| log.iter().position(|line| line == text).unwrap();
        assert!(place("read ends") < place("write begins"));
        assert!(place("write ends") < place("read again begins"));
    }
}
