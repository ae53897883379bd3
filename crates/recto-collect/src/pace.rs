//! How fast bytes are sent, and how long to wait for a store that is away.

use std::hash::BuildHasher as _;
use std::hash::RandomState;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

/// Lets so many bytes go in a second, on average.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: Option<u64>,
    /// When the next bytes may go.
    free: Mutex<Instant>,
}

impl Pace {
    pub(crate) fn new(rate: Option<u64>) -> Pace {
        Pace { rate: rate.filter(|rate| *rate > 0), free: Mutex::new(Instant::now()) }
    }

    /// Waits until bytes may go.
    pub(crate) async fn take(&self, bytes: u64) {
        let until = self.reserve(bytes, Instant::now());
        tokio::time::sleep_until(until.into()).await;
    }

    /// When bytes may go; those that come later wait until they are through.
    fn reserve(&self, bytes: u64, now: Instant) -> Instant {
        let Some(rate) = self.rate else { return now };
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let start = (*free).max(now);
        *free = start + Duration::from_secs_f64(bytes as f64 / rate as f64);
        start
    }
}

/// How long to wait after failures in a row: longer each time, and never for all machines the same.
pub fn backoff(failures: u32) -> Duration {
    let seconds = 5.0 * f64::from(1_u32 << failures.saturating_sub(1).min(8));
    let random = RandomState::new().hash_one(failures) as f64 / u64::MAX as f64;
    Duration::from_secs_f64(seconds.min(900.0) * (0.5 + random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_one_after_the_other_at_the_rate() {
        let now = Instant::now();
        let pace = Pace::new(Some(1000));
        *pace.free.lock().unwrap() = now;
        assert_eq!(pace.reserve(500, now), now);
        assert_eq!(pace.reserve(1000, now), now + Duration::from_millis(500));
        let later = now + Duration::from_secs(60);
        assert_eq!(pace.reserve(1, later), later);
        assert_eq!(Pace::new(None).reserve(u64::MAX, now), now);
    }

    #[test]
    fn machines_wait_longer_each_time_and_not_in_step() {
        for failures in 1..40 {
            let base = (5.0 * f64::from(1_u32 << (failures - 1).min(8))).min(900.0);
            let wait = backoff(failures).as_secs_f64();
            assert!((base * 0.5..=base * 1.5).contains(&wait), "{failures}: {wait}");
        }
        let waits: std::collections::HashSet<Duration> = (0..8).map(|_| backoff(3)).collect();
        assert!(waits.len() > 1);
    }
}
