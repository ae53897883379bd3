//! Long work that ends when nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use tokio::task::JoinError;

/// Whether somebody waits for what is being done. What is nobody's is always wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asking {
    is_over: Arc<AtomicBool>,
}

impl Asking {
    /// Long work asks now and then.
    pub(crate) fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
}

/// Ends an asking when it is dropped.
struct Ending(Asking);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Does what reads files or computes where it keeps nobody waiting. Whoever drops the
/// future asks no more; the server does when its client has gone.
pub(crate) async fn ask<T: Send + 'static>(
    work: impl FnOnce(Asking) -> T + Send + 'static,
) -> Result<T, JoinError> {
    let asking = Asking::default();
    let _ending = Ending(asking.clone());
    tokio::task::spawn_blocking(move || work(asking)).await
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap()
    }

    #[test]
    fn work_is_told_that_nobody_waits_for_it() {
        let runtime = runtime();
        let (begin, has_begun) = channel();
        let (end, has_ended) = channel();
        let task = runtime.spawn(ask(move |asking| {
            begin.send(asking.goes_on()).unwrap();
            while asking.goes_on() {
                std::thread::sleep(Duration::from_millis(1));
            }
            end.send(()).unwrap();
        }));
        assert_eq!(has_begun.recv_timeout(Duration::from_secs(20)), Ok(true));
        task.abort();
        assert_eq!(has_ended.recv_timeout(Duration::from_secs(20)), Ok(()));
    }

    #[test]
    fn work_that_is_waited_for_is_wanted_to_its_end() {
        assert!(runtime().block_on(ask(|asking| asking.goes_on())).unwrap());
        assert!(Asking::default().goes_on());
    }
}
