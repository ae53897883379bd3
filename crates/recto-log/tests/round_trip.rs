//! Recorded logs come back byte for byte, and nothing in them is unknown.

use recto_log::Drift;
use recto_log::LineReader;
use recto_log::Lines;
use recto_log::Patch;
use recto_log::Problem;
use recto_log::ProblemKind;
use recto_log::RawLine;
use recto_log::Severity;
use recto_log::decode;

use crate::corpus::Log;
use crate::corpus::logs;

/// Decodes a line and writes it again as an untouched line is written.
fn write_again(line: RawLine<'_>, out: &mut Vec<u8>) -> Vec<Problem> {
    let (entry, problems) = decode(line);
    out.extend_from_slice(entry.bytes());
    if entry.line().terminated {
        out.push(b'\n');
    }
    problems
}

/// Both ways to read give back `bytes`; returns what was wrong with the lines.
pub(crate) fn assert_round_trip(name: &str, bytes: &[u8]) -> Vec<Problem> {
    let mut from_slice = Vec::with_capacity(bytes.len());
    let mut problems = Vec::new();
    for line in Lines::new(bytes) {
        problems.extend(write_again(line, &mut from_slice));
    }
    assert!(from_slice == bytes, "{name} changes when it is read as a slice");
    let mut from_reader = Vec::with_capacity(bytes.len());
    let mut again = Vec::new();
    let mut reader = LineReader::new(bytes);
    while let Some(line) = reader.next_line().unwrap() {
        again.extend(write_again(line, &mut from_reader));
    }
    assert!(from_reader == bytes, "{name} changes when it is read through a reader");
    assert_eq!(problems, again, "{name}");
    problems
}

fn show(log: &Log) -> String {
    log.path.display().to_string()
}

#[test]
fn every_recorded_file_comes_back_byte_for_byte() {
    for log in logs() {
        assert_round_trip(&show(&log), &log.bytes);
    }
}

#[test]
fn a_patch_that_changes_nothing_gives_the_same_bytes() {
    let mut lines = 0;
    for log in logs() {
        for line in Lines::new(&log.bytes) {
            if let Ok(patch) = Patch::new(line.bytes) {
                assert!(patch.finish() == line.bytes, "{} line {}", show(&log), line.number);
                lines += 1;
            }
        }
    }
    assert!(lines > 3000, "only {lines} lines were tried");
}

#[test]
fn no_session_that_a_client_wrote_is_damaged() {
    for log in logs().iter().filter(|log| log.is_session()) {
        let mut problems = assert_round_trip(&show(log), &log.bytes);
        problems.retain(|problem| problem.kind.severity() == Severity::Damage);
        assert_eq!(problems, [], "{}", show(log));
    }
}

#[test]
fn nothing_that_a_client_wrote_is_unknown() {
    let mut drift = Drift::default();
    let mut lines = 0;
    for log in logs().iter().filter(|log| log.is_session()) {
        let mut of_log = Drift::default();
        for line in Lines::new(&log.bytes) {
            of_log.add(&decode(line).0);
            lines += 1;
        }
        drift.merge(of_log);
    }
    assert!(lines > 3000, "only {lines} lines were looked at");
    assert_eq!(drift.findings().collect::<Vec<_>>(), []);
}

/// What was done to the edited files is seen, in the files that are named after it.
#[test]
fn damage_made_by_hand_is_found() {
    let kinds_of = |name: &str| {
        let wanted = format!("{name}.jsonl");
        let of_this_name = |log: &Log| log.path.file_name().is_some_and(|file| *file == *wanted);
        let mut kinds = Vec::new();
        for log in logs().iter().filter(|log| of_this_name(log)) {
            kinds.extend(assert_round_trip(name, &log.bytes).iter().map(|problem| problem.kind));
        }
        kinds
    };
    let check = |name: &str, kind| assert!(kinds_of(name).contains(&kind), "{name}");
    check("garbage_lines", ProblemKind::NotJson);
    check("not_object_lines", ProblemKind::NotObject);
    check("nul_bytes", ProblemKind::NulBytes);
    check("bom", ProblemKind::ByteOrderMark);
    check("unknown_types", ProblemKind::UnknownType);
    check("unknown_in_chain", ProblemKind::UnknownType);
    for harmless in ["base", "crlf", "big_line", "empty_file"] {
        assert_eq!(kinds_of(harmless), [], "{harmless}");
    }
}
