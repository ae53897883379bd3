//! Counters, as Prometheus reads them. Nothing in them names a machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Upper ends of the classes of durations, in seconds.
const CLASSES: [f64; 8] = [0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0];

/// Counters of a hub.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Answers, by route and status.
    answers: Mutex<BTreeMap<(&'static str, u16), u64>>,
    pub(crate) stored_bytes: AtomicU64,
    pub(crate) stored: AtomicU64,
    pub(crate) repeated: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) uploads: AtomicU64,
    pub(crate) hashes: AtomicU64,
    pub(crate) sent_away: AtomicU64,
    durations: [AtomicU64; CLASSES.len()],
    duration_count: AtomicU64,
    duration_micros: AtomicU64,
}

impl Metrics {
    pub(crate) fn answered(&self, route: &'static str, status: u16) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry((route, status)).or_default() += 1;
    }

    /// How long a segment took from its first byte until it was stored.
    pub(crate) fn took(&self, time: Duration) {
        for (class, end) in self.durations.iter().zip(CLASSES) {
            if time.as_secs_f64() <= end {
                class.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.duration_count.fetch_add(1, Ordering::Relaxed);
        self.duration_micros.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        text.push_str("# HELP recto_hub_requests_total Answers by route and status.\n");
        text.push_str("# TYPE recto_hub_requests_total counter\n");
        for ((route, status), count) in answers {
            let _ = writeln!(
                text,
                "recto_hub_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}"
            );
        }
        for (name, kind, help, value) in [
            ("stored_bytes_total", "counter", "Bytes of segments stored.", &self.stored_bytes),
            ("segments_stored_total", "counter", "Segments stored.", &self.stored),
            ("segments_repeated_total", "counter", "Segments sent again.", &self.repeated),
            ("connections", "gauge", "Open connections.", &self.connections),
            ("uploads", "gauge", "Bodies being received.", &self.uploads),
            ("token_hashes_total", "counter", "Argon2 hashes computed.", &self.hashes),
            (
                "connections_sent_away_total",
                "counter",
                "Connections without a token closed to make room.",
                &self.sent_away,
            ),
        ] {
            let value = value.load(Ordering::Relaxed);
            let _ = write!(
                text,
                "# HELP recto_hub_{name} {help}\n# TYPE recto_hub_{name} {kind}\nrecto_hub_{name} {value}\n"
            );
        }
        self.histogram(&mut text);
        text
    }

    fn histogram(&self, text: &mut String) {
        text.push_str("# HELP recto_hub_segment_seconds Time to receive and store a segment.\n");
        text.push_str("# TYPE recto_hub_segment_seconds histogram\n");
        for (class, end) in self.durations.iter().zip(CLASSES) {
            let count = class.load(Ordering::Relaxed);
            let _ = writeln!(text, "recto_hub_segment_seconds_bucket{{le=\"{end}\"}} {count}");
        }
        let count = self.duration_count.load(Ordering::Relaxed);
        let seconds = self.duration_micros.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = write!(
            text,
            "recto_hub_segment_seconds_bucket{{le=\"+Inf\"}} {count}\n\
             recto_hub_segment_seconds_sum {seconds}\nrecto_hub_segment_seconds_count {count}\n"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_text_that_prometheus_reads() {
        let metrics = Metrics::default();
        metrics.answered("segments", 201);
        metrics.answered("segments", 201);
        metrics.took(Duration::from_millis(50));
        let text = metrics.text();
        assert!(text.contains("recto_hub_requests_total{route=\"segments\",status=\"201\"} 2\n"));
        assert!(text.contains("recto_hub_segment_seconds_bucket{le=\"0.02\"} 0\n"));
        assert!(text.contains("recto_hub_segment_seconds_bucket{le=\"0.1\"} 1\n"));
        assert!(text.contains("recto_hub_segment_seconds_count 1\n"));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("recto_hub_") && value.parse::<f64>().is_ok(), "{line}");
        }
    }
}
