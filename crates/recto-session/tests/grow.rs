//! A log that grows: what is folded from its beginning and then from what was appended says
//! the same as what is folded from the whole log, however the log is cut.
//!
//! A line that is still being written is folded into a copy, which is thrown away.

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_log::LineReader;
use recto_log::RawLine;
use recto_log::decode;
use recto_session::Feed;
use recto_session::Session;
use recto_session::branches;
use recto_session::context_fill::context_fill;
use recto_session::health::health;
use recto_session::on_current_branch;
use recto_session::request::Generation;
use recto_session::request::RequestOptions;
use recto_session::request::reach;
use recto_session::request::request;
use recto_session::statistics::LogRole;
use recto_session::statistics::LogStatistics;
use recto_session::statistics::Tally;
use recto_session::status::Announcement;
use recto_session::status::StatusFold;
use recto_session::status::status;
use recto_session::turns;
use recto_session::usage::Dimension;
use recto_session::usage::Grouping;
use recto_session::usage::Ledger;
use recto_session::usage::LogFile;
use recto_session::usage::LogUsage;
use recto_session::usage::PriceTable;
use recto_session::usage::Selection;
use recto_session::usage::Wanted;
use recto_session::usage::report;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

use crate::cases::corpora;
use crate::graphs::random_log;
use crate::samples::Random;

/// Everything that is folded from lines.
#[derive(Clone)]
struct Folds {
    session: Session,
    usage: LogUsage,
    status: StatusFold,
    feed: Feed,
    /// What the feed has given out.
    shown: Vec<String>,
}

impl Folds {
    fn new() -> Folds {
        Folds {
            session: Session::new(),
            usage: LogUsage::new(Wanted { tools: true }),
            status: StatusFold::default(),
            feed: Feed::default(),
            shown: Vec::new(),
        }
    }

    fn push(&mut self, line: RawLine<'_>) {
        let (entry, _) = decode(line);
        self.session.push(&entry);
        self.usage.push(&entry, None);
        self.status.push(&entry);
        self.shown.extend(self.feed.next(&entry).iter().map(|shown| format!("{shown:?}")));
    }

    fn of(log: &[u8]) -> Folds {
        let mut folds = Folds::new();
        let mut lines = LineReader::new(log);
        while let Some(line) = lines.next_line().unwrap() {
            folds.push(line);
        }
        folds
    }
}

/// A log that is read as it grows.
struct Growing {
    folds: Folds,
    /// The end of the last line that is whole.
    offset: u64,
    /// The number of the next line.
    number: u64,
}

impl Growing {
    fn new() -> Growing {
        Growing { folds: Folds::new(), offset: 0, number: 1 }
    }

    /// Takes in what was appended, and gives what the log says now.
    fn advance(&mut self, log: &[u8]) -> Folds {
        let appended = &log[usize::try_from(self.offset).unwrap()..];
        let mut lines = LineReader::new(appended).starting_at(self.offset, self.number);
        while let Some(line) = lines.next_line().unwrap() {
            if !line.terminated {
                let mut now = self.folds.clone();
                now.push(line);
                return now;
            }
            self.folds.push(line);
            self.offset = line.end();
            self.number += 1;
        }
        self.folds.clone()
    }
}

/// Everything that is answered from what was folded, each under its name.
fn answers(folds: &Folds, log: &[u8]) -> Vec<(&'static str, String)> {
    let session = &folds.session;
    let facts = session.facts();
    let turns = turns(session);
    let mut answers = vec![
        ("nodes", format!("{:?}", session.nodes().collect::<Vec<_>>())),
        (
            "names",
            format!(
                "{:?}",
                session.nodes().map(|n| n.message.map(|id| session.name(id))).collect::<Vec<_>>()
            ),
        ),
        ("meta", format!("{:?}", session.meta)),
        ("counts", format!("{} {:?}", session.lines, session.counts)),
        (
            "damage",
            format!("{:?} {:?} {:?}", session.damaged, session.glued, session.first_null_line),
        ),
        ("uuids", format!("{:?} {:?}", session.without_uuid, session.repeated)),
        ("records", format!("{:?}", session.records)),
        ("queue", format!("{:?}", session.queued_lines())),
        ("messages", format!("{:?}", facts.messages)),
        ("calls", format!("{:?}", facts.calls)),
        ("compactions", format!("{:?} {:?}", facts.compactions, facts.turn_durations)),
        ("files", format!("{:?} {:?}", facts.files, facts.agents)),
        ("turn places", format!("{:?}", turns.places(session))),
        ("current branch", format!("{:?}", on_current_branch(session, &turns))),
        ("branches", format!("{:?}", branches(session))),
        ("health", format!("{:?}", health(session, &Generation::ALL, &|_| None))),
        ("status", told_status(&folds.status)),
        ("usage", told_usage(&folds.usage)),
        ("feed", format!("{:?} {:?}", folds.shown, folds.feed.rest())),
    ];
    let statistics = LogStatistics::of(session, &turns, LogRole::Session);
    let mut tally = Tally::new(TimeZone::UTC);
    tally.add(&statistics);
    answers.push(("statistics", format!("{:?} {:?}", statistics.encode(), tally.finish())));
    for generation in Generation::ALL {
        let reach = reach(session, generation);
        let request = request(session, &reach, &log, &RequestOptions::default());
        answers.push(("request", format!("{reach:?} {request:?}")));
        if let Some(leaf) = reach.leaf {
            let fill = context_fill(session, &turns, leaf, None, &log);
            answers.push(("context", format!("{fill:?}")));
        }
    }
    answers.push(("turns", format!("{turns:?}")));
    answers
}

fn now() -> Timestamp {
    "2026-11-17T00:00:00Z".parse().unwrap()
}

fn told_status(fold: &StatusFold) -> String {
    let statuses =
        [Announcement::Unknown, Announcement::Absent].map(|one| status(&one, fold, now()));
    format!("{statuses:?} {:?} {:?}", fold.title(), fold.tokens())
}

fn told_usage(usage: &LogUsage) -> String {
    let packed = usage.clone().encode();
    let mut ledger = Ledger::default();
    let file = LogFile {
        path: "log".into(),
        project: "project".into(),
        session: None,
        agent: None,
        modified: now(),
    };
    ledger.add(file, usage.clone());
    let grouping =
        Grouping { dimensions: vec![Dimension::Model, Dimension::Day], zone: TimeZone::UTC };
    static PRICES: LazyLock<PriceTable> = LazyLock::new(|| PriceTable::built_in().unwrap());
    let report = report(&ledger, &PRICES, &grouping, &Selection::default(), now());
    format!("{packed:?} {:?} {report:?}", ledger.records())
}

/// Lets a log grow up to each of the places, and compares with all of it at once.
fn assert_grows(name: &str, log: &[u8], cuts: impl IntoIterator<Item = usize>) {
    let mut growing = Growing::new();
    for cut in cuts {
        let head = &log[..cut];
        let now = growing.advance(head);
        let whole = Folds::of(head);
        for ((what, grown), (_, whole)) in
            answers(&now, head).into_iter().zip(answers(&whole, head))
        {
            assert!(grown == whole, "{name} at byte {cut}, {what}:\n{grown}\nis not\n{whole}");
        }
    }
}

/// The end of every line, and a place inside it.
fn all_cuts(log: &[u8]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut start = 0;
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        cuts.extend([start + line.len() / 2, start + line.len()]);
        start += line.len();
    }
    cuts
}

/// Some places, rising.
fn some_cuts(random: &mut Random, log: &[u8], count: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = (0..count).map(|_| random.below(log.len() + 1)).collect();
    cuts.push(log.len());
    cuts.sort_unstable();
    cuts
}

fn logs_below(directory: &Path) -> Vec<PathBuf> {
    let mut logs = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                logs.push(path);
            }
        }
    }
    logs.sort();
    logs
}

#[test]
fn recorded_logs_say_the_same_however_they_are_cut() {
    let mut random = Random(1);
    let mut seen = HashSet::new();
    let mut whole = 0;
    for path in corpora().iter().flat_map(|corpus| logs_below(corpus)) {
        let log = std::fs::read(&path).unwrap();
        if !seen.insert(log.clone()) {
            continue;
        }
        let cuts = all_cuts(&log);
        let name = path.display().to_string();
        if cuts.len() * log.len() < 400_000 {
            whole += 1;
            assert_grows(&name, &log, cuts);
        } else {
            assert_grows(&name, &log, some_cuts(&mut random, &log, 3));
        }
    }
    assert!(whole >= 20, "{whole} logs were cut at every line");
}

#[test]
fn generated_logs_say_the_same_however_they_are_cut() {
    for (seed, shape) in [(11, Shape::Old), (12, Shape::New)] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { megabytes: 2, seed, shape };
        generate(&options, directory.path(), &mut |_| {}).unwrap();
        let mut random = Random(seed);
        for path in logs_below(&directory.path().join(".claude/projects")) {
            let log = std::fs::read(&path).unwrap();
            assert_grows(&path.display().to_string(), &log, some_cuts(&mut random, &log, 3));
        }
    }
}

#[test]
fn random_graphs_say_the_same_however_they_are_cut() {
    for seed in 0..150 {
        let log = random_log(seed);
        let cuts = some_cuts(&mut Random(seed), log.as_bytes(), 6);
        assert_grows(&format!("seed {seed}"), log.as_bytes(), cuts);
    }
}
