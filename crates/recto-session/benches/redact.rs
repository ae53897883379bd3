//! How fast lines are looked through for secrets, on one thread.
//!
//! The bytes are held in memory, so that no disk is measured.

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

fn redact(criterion: &mut Criterion) {
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

criterion_group!(benches, redact);
criterion_main!(benches);
