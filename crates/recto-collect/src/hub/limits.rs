//! How often and how much a machine may send.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

/// What one machine, one address and all together may do.
#[derive(Debug, Clone)]
pub struct HubLimits {
    /// The largest body of a segment.
    pub body_bytes: u64,
    /// The most bytes that a segment may contain.
    pub content_bytes: u64,
    /// What a machine may store in a day; a day is one of UTC.
    pub daily_bytes: u64,
    /// How many objects a machine may store in a day.
    pub daily_objects: u64,
    /// How many requests a machine may make in a second, on average.
    pub requests_per_second: u32,
    /// How many connections there may be.
    pub connections: usize,
    /// How many bodies are received at the same time.
    pub uploads: usize,
    /// A body has this long, and longer by its length at `slowest`.
    pub body_time: Duration,
    /// The slowest that a body may come, in bytes a second.
    pub slowest: u64,
    /// How long a token is believed before its record is read again.
    pub believed: Duration,
}

impl Default for HubLimits {
    fn default() -> HubLimits {
        HubLimits {
            body_bytes: 64 * 1024 * 1024,
            content_bytes: 1024 * 1024 * 1024,
            daily_bytes: 10 * 1024 * 1024 * 1024,
            daily_objects: 100_000,
            requests_per_second: 50,
            connections: 2048,
            uploads: 32,
            body_time: Duration::from_secs(30),
            slowest: 16 * 1024,
            believed: Duration::from_secs(30),
        }
    }
}

/// So many entries are kept; those that are full again are forgotten first.
const MOST: usize = 100_000;

/// Buckets that fill at a rate, one for each key.
#[derive(Debug)]
pub(crate) struct Buckets<K> {
    rate: f64,
    size: f64,
    levels: Mutex<HashMap<K, (f64, Instant)>>,
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    pub(crate) fn new(per_second: f64, size: f64) -> Buckets<K> {
        Buckets { rate: per_second, size, levels: Mutex::new(HashMap::new()) }
    }

    /// Takes one; otherwise says how long to wait.
    pub(crate) fn take(&self, key: &K) -> Result<(), Duration> {
        self.take_at(key, Instant::now(), 1.0)
    }

    /// Whether there is one left, without taking it.
    pub(crate) fn has(&self, key: &K) -> Result<(), Duration> {
        self.take_at(key, Instant::now(), 0.0)
    }

    fn take_at(&self, key: &K, now: Instant, amount: f64) -> Result<(), Duration> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if levels.len() >= MOST && !levels.contains_key(key) {
            self.make_room(&mut levels, now);
        }
        let filled = |(level, since): (f64, Instant)| {
            (level + now.saturating_duration_since(since).as_secs_f64() * self.rate).min(self.size)
        };
        let level = levels.get(key).copied().map_or(self.size, filled);
        if level < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - level) / self.rate.max(0.001)));
        }
        if amount > 0.0 {
            levels.insert(key.clone(), (level - amount, now));
        }
        Ok(())
    }

    fn make_room(&self, levels: &mut HashMap<K, (f64, Instant)>, now: Instant) {
        let (rate, size) = (self.rate, self.size);
        levels.retain(|_, (level, since)| {
            *level + now.saturating_duration_since(*since).as_secs_f64() * rate < size
        });
        if levels.len() >= MOST {
            // All are in use: whoever attacks with so many addresses is let through once more.
            levels.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_emptied_and_fills_again() {
        let buckets = Buckets::new(2.0, 3.0);
        let start = Instant::now();
        for _ in 0..3 {
            assert!(buckets.take_at(&"a", start, 1.0).is_ok());
        }
        let wait = buckets.take_at(&"a", start, 1.0).unwrap_err();
        assert_eq!(wait, Duration::from_millis(500));
        assert!(buckets.take_at(&"b", start, 1.0).is_ok());
        assert!(buckets.take_at(&"a", start + wait, 1.0).is_ok());
        assert!(buckets.take_at(&"a", start + wait, 0.0).is_err());
    }

    #[test]
    fn any_number_of_keys_takes_bounded_memory() {
        let buckets = Buckets::new(1.0, 1.0);
        let now = Instant::now();
        for key in 0..MOST as u64 * 2 + 5 {
            assert!(buckets.take_at(&key, now, 1.0).is_ok());
        }
        assert!(buckets.levels.lock().unwrap().len() <= MOST);
    }
}
