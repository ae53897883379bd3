//! Long work that ends when nobody waits for it any more.

use recto_view::Asker;
use tokio::task::JoinError;

/// Says that the asker has left when it is dropped.
struct Ending(Asker);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Does what reads files or computes where it keeps nobody waiting. Whoever drops the
/// future asks no more; the server does when its client has gone.
pub(crate) async fn ask<T: Send + 'static>(
    work: impl FnOnce(Asker) -> T + Send + 'static,
) -> Result<T, JoinError> {
    let asker = Asker::default();
    let _ending = Ending(asker.clone());
    tokio::task::spawn_blocking(move || work(asker)).await
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
        let task = runtime.spawn(ask(move |asker| {
            begin.send(asker.is_waiting()).unwrap();
            while asker.is_waiting() {
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
        assert!(runtime().block_on(ask(|asker| asker.is_waiting())).unwrap());
        assert!(Asker::default().is_waiting());
    }
}
