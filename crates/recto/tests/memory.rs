//! Memory stays bounded whatever a log contains: commands run under a limit of the system.
//!
//! The sizes are the smallest that break a command which holds a long line several times;
//! `cargo xtask attack --only bombs` tries the full ones.

use std::fs::File;
use std::io::BufWriter;
use std::io::Write as _;
use std::process::Command;
use std::time::Duration;
use std::time::SystemTime;

use crate::support::FIX;
use crate::support::Run;
use crate::support::TestHome;

/// What a command may take for what it reads.
const MOST: u64 = 256 * 1024 * 1024;

/// Runs the program with so much address space.
fn run_within(test: &TestHome, bytes: u64, arguments: &[&str]) -> Run {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("ulimit -v {} && exec \"$@\"", bytes / 1024), "sh"]);
    command.arg(env!("CARGO_BIN_EXE_recto")).args(arguments);
    test.set_environment(&mut command);
    // Each thread reserves some memory for itself, which says nothing about the log.
    command.env("MALLOC_ARENA_MAX", "1").env("RAYON_NUM_THREADS", "2");
    test.finish(&mut command)
}

/// The address space that the program takes with nothing to do, by halves.
fn floor() -> u64 {
    let test = TestHome::with_sessions();
    let (mut low, mut high) = (0, 2 * 1024 * 1024 * 1024);
    while high - low > 8 * 1024 * 1024 {
        let middle = low + (high - low) / 2;
        match run_within(&test, middle, &["redact", FIX, "--check"]).code {
            0 => high = middle,
            _ => low = middle,
        }
    }
    assert!(high < 1024 * 1024 * 1024, "the program takes {high} bytes with nothing to do");
    high
}

/// A home with a session whose first line has so many bytes.
fn with_long_line(bytes: usize) -> TestHome {
    let test = TestHome::empty();
    let path = test.home.write(&format!("projects/-home-dev-app/{FIX}.jsonl"), "");
    let mut file = BufWriter::new(File::options().append(true).open(path).unwrap());
    let uuid = |number: u32| format!("00000000-0000-4000-8000-{number:012x}");
    let head = format!(
        r#"{{"type":"user","uuid":"{}","parentUuid":null,"message":{{"role":"user","content":""#,
        uuid(1)
    );
    file.write_all(head.as_bytes()).unwrap();
    let piece = "word ".repeat(20_000);
    for _ in 0..bytes / piece.len() {
        file.write_all(piece.as_bytes()).unwrap();
    }
    let tail = format!(
        "\"}}}}\n{{\"type\":\"user\",\"uuid\":\"{}\",\"parentUuid\":\"{}\",\"message\":{{\"role\":\"user\",\"content\":\"the end\"}}}}\n",
        uuid(2),
        uuid(1)
    );
    file.write_all(tail.as_bytes()).unwrap();
    let hour = SystemTime::now() - Duration::from_secs(3600);
    file.into_inner().unwrap().set_modified(hour).unwrap();
    test
}

fn assert_within(test: &TestHome, floor: u64, arguments: &[&str]) -> Run {
    let run = run_within(test, floor + MOST, arguments);
    let end: String = run.stderr.chars().take(500).collect();
    assert!((0..=1).contains(&run.code), "{arguments:?}: {} {end}", run.code);
    run
}

#[test]
fn a_line_below_the_cap_is_shown_without_being_held_many_times() {
    let test = with_long_line(62_000_000);
    let floor = floor();
    for arguments in [&["show", FIX][..], &["show", FIX, "--json"]] {
        let run = assert_within(&test, floor, arguments);
        assert!(run.raw.stdout.len() > 61_000_000, "{}", run.raw.stdout.len());
        assert!(run.stdout.contains("the end"));
    }
    // Every word of the line is a place of this one, and only some are marked.
    for word in ["word", "end"] {
        let run = assert_within(&test, floor, &["search", word]);
        assert_eq!(run.code, 0, "{word}");
    }
}

/// A home with a session of so many lines, each of which follows what `parent` says.
fn with_lines(count: u32, parent: fn(u32, u32) -> Option<u32>) -> TestHome {
    let test = TestHome::empty();
    let path = test.home.write(&format!("projects/-home-dev-app/{FIX}.jsonl"), "");
    let mut file = BufWriter::new(File::options().append(true).open(path).unwrap());
    let uuid = |number: u32| format!("\"00000000-0000-4000-8000-{number:012x}\"");
    for number in 0..count {
        let parent = parent(number, count).map_or("null".into(), uuid);
        writeln!(
            file,
            r#"{{"type":"user","uuid":{},"parentUuid":{parent},"timestamp":"2026-11-{:02}T{:02}:{:02}:{:02}Z","message":{{"role":"user","content":"x"}}}}"#,
            uuid(number),
            1 + number / 86_400,
            number / 3600 % 24,
            number / 60 % 60,
            number % 60,
        )
        .unwrap();
    }
    let hour = SystemTime::now() - Duration::from_secs(3600);
    file.into_inner().unwrap().set_modified(hour).unwrap();
    test
}

/// What a command may take for each line, beyond what it takes with nothing to do.
fn assert_a_line(test: &TestHome, limit: u64, arguments: &[&str]) {
    let run = run_within(test, limit, arguments);
    let end: String = run.stderr.chars().take(500).collect();
    assert!((0..=1).contains(&run.code), "{arguments:?}: {} {end}", run.code);
}

/// What asks for the graph of a session takes at most this for each of its lines.
const A_LINE: u64 = 64;

#[test]
fn a_line_of_the_chain_takes_little_memory() {
    const LINES: u32 = 300_000;
    let floor = floor();
    let limit = |a_line: u64| floor + 8 * 1024 * 1024 + u64::from(LINES) * a_line;
    let chain = with_lines(LINES, |number, _| number.checked_sub(1));
    for arguments in [
        &["turns", FIX][..],
        &["branches", FIX],
        &["stats", FIX],
        &["check", FIX],
        &["context", FIX],
        &["tools", FIX],
        &["redact", FIX, "--check"],
        &["repair", FIX, "--dry-run"],
    ] {
        assert_a_line(&chain, limit(A_LINE), arguments);
    }
    // Its text is put together, several times what the lines take.
    assert_a_line(&chain, floor + MOST, &["request", FIX]);
    let children = with_lines(LINES, |number, _| (number > 0).then_some(0));
    for command in ["turns", "stats", "check", "context", "request"] {
        assert_a_line(&children, limit(A_LINE), &[command, FIX]);
    }
    // Each line is a branch, and each branch is shown.
    assert_a_line(&children, limit(192), &["branches", FIX]);
    // Each line waits for the next one, by its name.
    let circle = with_lines(LINES, |number, count| Some((number + 1) % count));
    for command in ["turns", "stats", "check", "context", "branches"] {
        assert_a_line(&circle, limit(96), &[command, FIX]);
    }
    assert_a_line(&circle, floor + MOST, &["request", FIX]);
}

#[test]
fn a_request_that_no_endpoint_takes_is_not_put_together() {
    let test = with_lines(450_000, |number, _| number.checked_sub(1));
    let run = run_within(&test, floor() + 450_000 * A_LINE + 8 * 1024 * 1024, &["request", FIX]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("resume"), "{}", run.stdout);
    assert!(run.stderr.contains("the request has 450000 lines"), "{}", run.stderr);
}

#[test]
fn a_line_above_the_cap_is_never_held_as_a_whole() {
    let test = with_long_line(300_000_000);
    let floor = floor();
    for arguments in [
        &["redact", FIX, "--check"][..],
        &["repair", FIX, "--dry-run"],
        &["check", FIX],
        &["show", FIX],
        &["ls"],
        &["status", "--all"],
        &["usage"],
    ] {
        assert_within(&test, floor, arguments);
    }
}
