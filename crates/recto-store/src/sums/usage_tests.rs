//! Usage of generated and recorded homes, against the generator's word, the full
//! decoder, and what clients counted themselves.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::Session;
use recto_session::usage::Dimension;
use recto_session::usage::Grouping;
use recto_session::usage::Ledger;
use recto_session::usage::PriceTable;
use recto_session::usage::Report;
use recto_session::usage::Selection;
use recto_session::usage::helpers;
use recto_session::usage::report;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

use super::*;

fn usage_of(home: &Path) -> Usage {
    let home = Home::open(home).unwrap();
    home.usage(&home.inventory(), &UsageScan::default(), None, &|_, _| {})
}

fn by(ledger: &Ledger, dimension: Dimension, selection: &Selection) -> Report {
    let grouping = Grouping { dimensions: vec![dimension], zone: TimeZone::UTC };
    let prices = PriceTable::built_in().unwrap();
    report(ledger, &prices, &grouping, selection, Timestamp::UNIX_EPOCH)
}

#[test]
fn totals_by_model_are_the_generators_to_the_token() {
    for (seed, shape) in [(1, Shape::Old), (2, Shape::New), (3, Shape::Mixed)] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { megabytes: 8, seed, shape };
        let truth = generate(&options, directory.path(), &mut |_| {}).unwrap();
        let usage = usage_of(&directory.path().join(".claude"));
        assert!(usage.skipped.is_empty());
        let found = by(&usage.ledger, Dimension::Model, &Selection::default());
        let found: BTreeMap<&str, [u64; 5]> = found
            .rows
            .iter()
            .map(|row| {
                let total = &row.total;
                let numbers = [
                    total.messages,
                    total.tokens.input,
                    total.tokens.output,
                    total.tokens.cache_creation,
                    total.tokens.cache_read,
                ];
                (row.keys[0].as_str(), numbers)
            })
            .collect();
        let expected: BTreeMap<&str, [u64; 5]> = truth
            .tokens
            .iter()
            .map(|(model, tokens)| {
                let last = &tokens.last;
                let numbers =
                    [tokens.messages, last.input, last.output, last.cache_create, last.cache_read];
                (model.as_str(), numbers)
            })
            .collect();
        assert_eq!(found, expected, "seed {seed}");
        assert!(usage.ledger.copies > 0, "forks of seed {seed}");
    }
}

#[test]
fn what_the_client_counted_itself_is_what_the_logs_tell() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { megabytes: 8, seed: 4, shape: Shape::New };
    let truth = generate(&options, directory.path(), &mut |_| {}).unwrap();
    let usage = usage_of(&directory.path().join(".claude"));
    let helpers = helpers(&usage.ledger, &Selection::default()).unwrap();
    assert_eq!(helpers.tokens.all(), 0, "the generator has no helper calls");
    // A damaged line can be the last count, or one of its messages.
    let damaged: u64 = truth.lines.malformed_by_kind.values().sum();
    assert!(helpers.agreeing > 3 && helpers.sessions - helpers.agreeing <= damaged);
}

#[test]
fn recorded_clients_count_what_the_logs_tell_and_what_they_do_not() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus/2.1.325");
    for (name, expected) in [
        ("S2", (1, 1, 0, 0)),
        ("I6", (2, 2, 0, 0)), // The count of the fork has the copied messages.
        ("I7", (1, 0, 0, 10_492)), // Two answers were broken off.
        ("I13", (1, 0, 2_077, 0)), // A title.
        ("S17", (5, 3, 18_848, 0)), // Tries that failed; an answer that was never written.
    ] {
        let home = corpus.join(name).join("home/.claude");
        let helpers = helpers(&usage_of(&home).ledger, &Selection::default()).unwrap();
        let found = (helpers.sessions, helpers.agreeing, helpers.tokens.all(), helpers.uncounted);
        assert_eq!(found, expected, "{name}");
    }
}

/// All files of a kind below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
}

type Numbers = (String, bool, u64, u64, u64, u64);

/// A log whose answers all have a uuid: the fold has no place for others, but they were paid, too.
fn with_uuids(log: &[u8]) -> Vec<u8> {
    let mut named = Vec::with_capacity(log.len());
    for (number, line) in log.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let has = |word: &str| line.windows(word.len()).any(|part| part == word.as_bytes());
        if line.starts_with(b"{") && has("\"type\":\"assistant\"") && !has("\"uuid\":") {
            named.extend_from_slice(format!("{{\"uuid\":\"nameless-{number}\",").as_bytes());
            named.extend_from_slice(&line[1..]);
        } else {
            named.extend_from_slice(line);
        }
    }
    named
}

/// The messages of a log by the fold of whole sessions, which shares nothing but
/// the rule which line is final.
fn by_the_full_decoder(path: &Path) -> Vec<Numbers> {
    let mut session = Session::new();
    let named = with_uuids(&fs::read(path).unwrap());
    let mut lines = LineReader::new(named.as_slice());
    while let Some(line) = lines.next_line().unwrap() {
        session.push(&decode(line).0);
    }
    let messages = session.facts().messages.iter();
    let real = messages.filter(|message| !message.is_synthetic && !message.is_api_error);
    let mut found: Vec<Numbers> = real
        .map(|message| {
            let tokens = &message.tokens;
            let model = message.model.map_or("", |model| session.name(model)).to_owned();
            let stop = message.stop_reason.is_some();
            (model, stop, tokens.input, tokens.output, tokens.cache_creation, tokens.cache_read)
        })
        .collect();
    found.sort();
    found
}

fn by_the_fast_way(path: &Path) -> Vec<Numbers> {
    let log = LogFile::alone(path.to_owned(), None);
    let (usage, _) = read_log(&log, Wanted::default(), &may_matter(), &mut Vec::new()).unwrap();
    let mut ledger = Ledger::default();
    ledger.add(ledger_file(&Home::open(path.parent().unwrap()).unwrap(), &log), usage);
    let mut found: Vec<Numbers> = ledger
        .records()
        .iter()
        // The fold tells of these as sessions of their own.
        .filter(|record| !record.flags.has(recto_session::usage::RecordFlags::TOLD))
        .map(|record| {
            let counts = &record.counts;
            let model = record.model.map_or("", |model| ledger.name(model)).to_owned();
            let stop = record.flags.has(recto_session::usage::RecordFlags::HAS_STOP);
            let [input, output, read] =
                [counts.input, counts.output, counts.cache_read].map(u64::from);
            (model, stop, input, output, counts.writes(), read)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn the_fast_way_agrees_with_the_full_decoder_on_all_logs() {
    let mut logs = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"), &mut logs);
    let recorded = logs.len();
    let directory = tempfile::tempdir().unwrap();
    let options = Options { megabytes: 12, seed: 5, shape: Shape::Mixed };
    generate(&options, directory.path(), &mut |_| {}).unwrap();
    files(directory.path(), &mut logs);
    assert!(recorded > 100 && logs.len() > recorded + 20);
    let mut messages = 0;
    for log in &logs {
        let found = by_the_fast_way(log);
        messages += found.len();
        assert_eq!(found, by_the_full_decoder(log), "{}", log.display());
    }
    assert!(messages > 1000);
}

/// A log that was renamed is not a session to clients, but what it cost was paid.
#[test]
fn logs_not_named_by_a_uuid_count() {
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("projects/-w");
    fs::create_dir_all(&project).unwrap();
    let line = r#"{"type":"assistant","sessionId":"s1","timestamp":"2026-01-01T00:00:00Z","message":{"id":"m","model":"x","usage":{"output_tokens":7}}}"#;
    let log = project.join("2024-11-23-session.jsonl");
    fs::write(&log, format!("{line}\n")).unwrap();
    fs::write(project.join("notes.txt"), line).unwrap();
    let home = Home::open(directory.path()).unwrap();
    let inventory = home.inventory();
    let usage = home.usage(&inventory, &UsageScan::default(), None, &|_, _| {});
    assert_eq!(usage.ledger.records().len(), 1);
    let name = home.name_in_ledger(&inventory, &log).unwrap();
    let selection = Selection { log: Some(name), ..Selection::default() };
    let rows = by(&usage.ledger, Dimension::Session, &selection).rows;
    assert_eq!((rows[0].keys[0].as_str(), rows[0].total.tokens.output), ("s1", 7));
    assert_eq!(home.name_in_ledger(&inventory, &project.join("notes.txt")), None);
}

/// What progress lines tell of a subagent counts once, wherever else it stands.
#[test]
fn messages_inside_progress_count_once() {
    let id = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
    let message = |id: &str, output: u32| {
        format!(
            r#"{{"type":"assistant","requestId":"r{id}","timestamp":"2026-01-01T00:00:00Z","message":{{"id":"{id}","model":"x","usage":{{"output_tokens":{output}}}}}}}"#
        )
    };
    let told = |inner: &str| {
        format!(
            "{{\"type\":\"progress\",\"sessionId\":\"{id}\",\"data\":{{\"type\":\"agent_progress\",\"message\":{inner},\"agentId\":\"a1\"}}}}\n"
        )
    };
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("projects/-w");
    fs::create_dir_all(project.join(id).join("subagents")).unwrap();
    let main = [told(&message("m1", 3)), told(&message("m1", 5)), told(&message("m2", 7))].concat();
    fs::write(project.join(format!("{id}.jsonl")), main).unwrap();
    let read = || {
        let usage = usage_of(directory.path());
        let rows = by(&usage.ledger, Dimension::Agent, &Selection::default()).rows;
        let row = |row: &recto_session::usage::Row| (row.keys[0].clone(), row.total.tokens.output);
        (rows.iter().map(row).collect::<Vec<_>>(), usage)
    };
    let (rows, usage) = read();
    assert_eq!(rows, [("a1".to_owned(), 12)]);
    let rule = usage.ledger.records()[0].rule(1);
    assert!(rule.contains("progress line"), "{rule}");
    // With its own log back, the subagent's message counts there.
    let log = project.join(id).join("subagents/agent-a1.jsonl");
    fs::write(log, format!("{}\n", message("m1", 5))).unwrap();
    let (rows, usage) = read();
    assert_eq!(rows, [("a1".to_owned(), 12)]);
    let own =
        usage.ledger.records().iter().filter(|record| usage.ledger.file_of(record).agent.is_some());
    assert_eq!(own.count(), 1);
    assert_eq!(usage.ledger.copies, 0);
}
