//! How fast lines are looked through for secrets, on one thread.
//!
//! The bytes are held in memory, so that no disk is measured. On Linux the time is that
//! on a processor, so that other programs do not count.

// Clippy takes a benchmark for ordinary code.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use criterion::BenchmarkId;
use criterion::Criterion;
use criterion::Throughput;
use criterion::criterion_group;
use criterion::criterion_main;
use criterion::measurement::Measurement;
use criterion::measurement::ValueFormatter;
use criterion::measurement::WallTime;
use recto_log::Lines;
use recto_session::redact::Options;
use recto_session::redact::Redactor;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

/// More than any cache holds.
const MEGABYTES: u64 = 64;

fn generated() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let options =
        recto_testkit::generate::Options { megabytes: MEGABYTES, seed: 1, shape: Shape::Mixed };
    generate(&options, folder.path(), &mut |_| {}).unwrap();
    let mut bytes = Vec::new();
    append_logs(&folder.path().join(".claude/projects"), &mut bytes);
    bytes
}

fn recorded() -> Vec<u8> {
    let mut bytes = Vec::new();
    append_logs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus"), &mut bytes);
    bytes
}

/// Source code in the results of tools: the words of the rules are everywhere.
fn code() -> Vec<u8> {
    let source = include_str!("../src/redact/mod.rs").repeat(4);
    let mut text = Vec::new();
    recto_log::json::write_string(&mut text, &source);
    let line =
        [br#"{"type":"user","toolUseResult":{"stdout":"#.as_slice(), &text, b"}}\n"].concat();
    line.repeat(200)
}

/// All logs of a folder one after the other.
fn append_logs(folder: &Path, bytes: &mut Vec<u8>) {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            append_logs(&path, bytes);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            bytes.extend_from_slice(&fs::read(&path).unwrap());
            bytes.push(b'\n');
        }
    }
}

/// The time that this thread has been on a processor, where the system tells it, else
/// that of the clock.
struct CpuTime {
    start: Instant,
}

impl CpuTime {
    fn now(&self) -> Duration {
        let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
        let first = told.as_deref().and_then(|text| text.split(' ').next()?.parse().ok());
        first.map_or_else(|| self.start.elapsed(), Duration::from_nanos)
    }
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        self.now()
    }

    fn end(&self, start: Duration) -> Duration {
        // Nothing takes no time at all, or it could not be divided by.
        self.now().saturating_sub(start).max(Duration::from_nanos(1))
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn configured() -> Criterion<CpuTime> {
    Criterion::default().with_measurement(CpuTime { start: Instant::now() })
}

fn redact(criterion: &mut Criterion<CpuTime>) {
    let redactor = Redactor::new(Options::default()).unwrap();
    let mut group = criterion.benchmark_group("redact");
    group.sample_size(10);
    for (name, bytes) in [("generated", generated()), ("recorded", recorded()), ("code", code())] {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), &bytes, |bencher, bytes| {
            bencher.iter(|| {
                for line in Lines::new(bytes) {
                    black_box(redactor.line(line.bytes));
                }
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = configured();
    targets = redact
}
criterion_main!(benches);
