//! When and how things are sent, and what came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::policy::Withheld;

/// When and how things are sent.
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// New bytes of a file are sent as soon as there are so many.
    pub at_least: u64,
    /// Fewer bytes are sent when they are this old, or when their session has ended.
    pub every: Duration,
    /// Everything is sent, however little it is.
    pub all: bool,
    /// The most bytes in a second, on average.
    pub bytes_per_second: Option<u64>,
    /// The clock.
    pub clock: fn() -> Timestamp,
}

impl Default for SendOptions {
    fn default() -> SendOptions {
        SendOptions {
            at_least: 256 * 1024,
            every: Duration::from_secs(3600),
            all: true,
            bytes_per_second: None,
            clock: Timestamp::now,
        }
    }
}

/// What a round came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SendReport {
    /// Files in the archive.
    pub files: u64,
    /// Files of which something was sent.
    pub changed: u64,
    /// Objects that were sent.
    pub objects: u64,
    /// Bytes of files that are in the store now.
    pub bytes: u64,
    /// Compressed bytes that were sent.
    pub sent_bytes: u64,
    /// Bytes that wait for more, or for their time.
    pub waiting_bytes: u64,
    /// When the oldest of them were archived.
    pub waiting_since: Option<Timestamp>,
    /// Names under which the store had something else.
    pub conflicts: u64,
    /// Files that stay on this machine, by the reason.
    pub withheld: BTreeMap<&'static str, u64>,
    /// Files that could not be read, and why.
    pub troubles: Vec<(String, String)>,
}

impl SendReport {
    pub(crate) fn add(&mut self, other: SendReport) {
        self.files += other.files;
        self.changed += u64::from(other.objects > 0);
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.sent_bytes += other.sent_bytes;
        self.waiting_bytes += other.waiting_bytes;
        self.waiting_since = match (self.waiting_since, other.waiting_since) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        self.conflicts += other.conflicts;
        for (reason, count) in other.withheld {
            *self.withheld.entry(reason).or_default() += count;
        }
        self.troubles.extend(other.troubles);
    }

    pub(crate) fn withhold(&mut self, reason: Withheld) {
        *self.withheld.entry(reason.name()).or_default() += 1;
    }
}
