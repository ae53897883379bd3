//! The last events, with numbers, and who waits for the next.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use tokio::sync::watch;

/// How many events are kept, and how many bytes these may have.
const MOST_EVENTS: usize = 4096;
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// How many bytes are sent at once.
const BATCH: usize = 64 * 1024;

/// How many clients may listen at once.
const MOST_CLIENTS: usize = 128;

/// The last events.
#[derive(Debug)]
pub(crate) struct Hub {
    /// What tells this start from others: numbers begin anew with each.
    epoch: String,
    ring: Mutex<Ring>,
    last: watch::Sender<u64>,
    clients: AtomicUsize,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct Ring {
    /// Events with consecutive numbers.
    events: VecDeque<Bytes>,
    /// The number of the last event; 0 before the first.
    last: u64,
    bytes: usize,
}

impl Ring {
    /// The number of the first event that is kept.
    fn first(&self) -> u64 {
        self.last + 1 - self.events.len() as u64
    }
}

/// What a client gets next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Events as they are sent, and the number of the last of them.
    Events(Bytes, u64),
    /// Events are gone that the client has not seen; and the number to go on after.
    Gap(Bytes, u64),
    /// Nothing is new.
    Nothing,
}

impl Hub {
    pub(crate) fn new() -> Hub {
        Hub::with_epoch(&uuid::Uuid::new_v4().simple().to_string()[..12])
    }

    fn with_epoch(epoch: &str) -> Hub {
        Hub {
            epoch: epoch.to_owned(),
            ring: Mutex::default(),
            last: watch::Sender::new(0),
            clients: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Tells all clients. `data` is JSON on one line.
    pub(crate) fn publish(&self, name: &str, data: &str) {
        let mut ring = self.ring();
        ring.last += 1;
        let event = Bytes::from(self.event(name, Some(ring.last), data));
        ring.bytes += event.len();
        ring.events.push_back(event);
        while ring.events.len() > MOST_EVENTS || ring.bytes > MOST_BYTES {
            let Some(oldest) = ring.events.pop_front() else { break };
            ring.bytes -= oldest.len();
        }
        let last = ring.last;
        drop(ring);
        self.last.send_replace(last);
    }

    /// An event as it is sent. One without a number does not move the client's place.
    pub(crate) fn event(&self, name: &str, number: Option<u64>, data: &str) -> String {
        let mut text = String::with_capacity(data.len() + 64);
        if let Some(number) = number {
            let _ = writeln!(text, "id: {}-{number}", self.epoch);
        }
        let _ = write!(text, "event: {name}\ndata: {data}\n\n");
        text
    }

    /// The number of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.ring().last
    }

    /// Wakes who waits, as numbers grow.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// The number that a client has seen last, by what it says; `None` if that
    /// was another start, or is not one of our numbers.
    pub(crate) fn resume(&self, id: &str) -> Option<u64> {
        let (epoch, number) = id.split_once('-')?;
        let number: u64 = number.parse().ok()?;
        (epoch == self.epoch && number <= self.last()).then_some(number)
    }

    /// What comes after a number.
    pub(crate) fn take(&self, after: u64) -> Taken {
        let ring = self.ring();
        if after >= ring.last {
            return Taken::Nothing;
        }
        let first = ring.first();
        if after + 1 < first {
            let text = self.gap(Some(after + 1), first - 1);
            return Taken::Gap(Bytes::from(text), first - 1);
        }
        let skip = (after + 1 - first) as usize;
        let mut events = Vec::new();
        let mut number = after;
        for event in ring.events.iter().skip(skip) {
            if !events.is_empty() && events.len() + event.len() > BATCH {
                break;
            }
            events.extend_from_slice(event);
            number += 1;
        }
        Taken::Events(Bytes::from(events), number)
    }

    /// Says that events are missing: from a number, or from a start that is over.
    pub(crate) fn gap(&self, from: Option<u64>, to: u64) -> String {
        let from = from.map_or("null".to_owned(), |from| from.to_string());
        self.event("gap", Some(to), &format!(r#"{{"from":{from},"to":{to}}}"#))
    }

    /// A place for a client; none if there are too many.
    pub(crate) fn enter(&self) -> bool {
        let change = |clients| (clients < MOST_CLIENTS).then_some(clients + 1);
        self.clients.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change).is_ok()
    }

    /// Gives a client's place back.
    pub(crate) fn leave(&self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends all streams.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.last.send_modify(|_| {});
    }

    /// Whether streams are to end.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_in_order_and_once() {
        let hub = Hub::with_epoch("e");
        assert_eq!(hub.take(0), Taken::Nothing);
        hub.publish("a", "1");
        hub.publish("b", "2");
        let Taken::Events(bytes, 2) = hub.take(0) else { panic!() };
        assert_eq!(bytes, "id: e-1\nevent: a\ndata: 1\n\nid: e-2\nevent: b\ndata: 2\n\n");
        let Taken::Events(bytes, 2) = hub.take(1) else { panic!() };
        assert_eq!(bytes, "id: e-2\nevent: b\ndata: 2\n\n");
        assert_eq!(hub.take(2), Taken::Nothing);
    }

    #[test]
    fn who_falls_behind_is_told_and_goes_on() {
        let hub = Hub::with_epoch("e");
        for _ in 0..MOST_EVENTS + 10 {
            hub.publish("a", "1");
        }
        let Taken::Gap(bytes, 10) = hub.take(0) else { panic!() };
        assert_eq!(bytes, "id: e-10\nevent: gap\ndata: {\"from\":1,\"to\":10}\n\n");
        let mut after = 10;
        while let Taken::Events(_, next) = hub.take(after) {
            assert!(next > after);
            after = next;
        }
        assert_eq!(after, (MOST_EVENTS + 10) as u64);
    }

    #[test]
    fn the_ring_is_bounded_in_bytes() {
        let hub = Hub::with_epoch("e");
        let data = "x".repeat(MOST_BYTES / 4);
        for _ in 0..100 {
            hub.publish("a", &data);
        }
        let ring = hub.ring();
        assert!(ring.bytes <= MOST_BYTES && ring.events.len() == 3, "{}", ring.events.len());
    }

    #[test]
    fn numbers_of_another_start_are_not_ours() {
        let hub = Hub::with_epoch("e");
        hub.publish("a", "1");
        assert_eq!(hub.resume("e-1"), Some(1));
        assert_eq!(hub.resume("e-0"), Some(0));
        for other in ["f-1", "e-2", "e", "1", "e-x", ""] {
            assert_eq!(hub.resume(other), None, "{other}");
        }
    }

    #[test]
    fn places_are_limited_and_given_back() {
        let hub = Hub::with_epoch("e");
        for _ in 0..MOST_CLIENTS {
            assert!(hub.enter());
        }
        assert!(!hub.enter());
        hub.leave();
        assert!(hub.enter());
    }
}
