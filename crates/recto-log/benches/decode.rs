//! How fast lines are decoded, on one thread.
//!
//! The bytes are held in memory, so that no disk is measured. `lines` finds the
//! line ends only: it is what `slice` and `reader` cost without the decoder.

// Clippy takes a benchmark for ordinary code.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::hint::black_box;
use std::path::Path;

use criterion::BenchmarkId;
use criterion::Criterion;
use criterion::Throughput;
use criterion::criterion_group;
use criterion::criterion_main;
use recto_log::LineReader;
use recto_log::Lines;
use recto_log::decode;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

/// More than any cache holds.
const MEGABYTES: u64 = 64;

fn generated(shape: Shape) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { megabytes: MEGABYTES, seed: 1, shape };
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

/// A way to go through all bytes.
type Way = fn(&[u8]);

fn decode_slice(bytes: &[u8]) {
    for line in Lines::new(bytes) {
        black_box(decode(line));
    }
}

fn decode_reader(bytes: &[u8]) {
    let mut reader = LineReader::new(bytes);
    while let Some(line) = reader.next_line().unwrap() {
        black_box(decode(line));
    }
}

fn find_lines(bytes: &[u8]) {
    for line in Lines::new(bytes) {
        black_box(line);
    }
}

fn benchmark(criterion: &mut Criterion) {
    let corpora =
        [("old", generated(Shape::Old)), ("new", generated(Shape::New)), ("recorded", recorded())];
    let ways: [(&str, Way); 3] =
        [("slice", decode_slice), ("reader", decode_reader), ("lines", find_lines)];
    let mut group = criterion.benchmark_group("decode");
    group.sample_size(10);
    for (name, bytes) in &corpora {
        group.throughput(Throughput::BytesDecimal(bytes.len() as u64));
        for (way, run) in ways {
            group.bench_with_input(BenchmarkId::new(way, name), bytes, |bencher, bytes| {
                bencher.iter(|| run(bytes));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
