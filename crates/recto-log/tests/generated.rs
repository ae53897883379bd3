//! Generated homes: every line comes back, and every count is the generator's.
//!
//! The generator knows what it wrote and shares no code with the reader, so
//! that one can be checked against the other.

use std::collections::BTreeMap;

use recto_log::Block;
use recto_log::Drift;
use recto_log::Entry;
use recto_log::FindingKind;
use recto_log::Kind;
use recto_log::Lines;
use recto_log::Problem;
use recto_log::ProblemKind;
use recto_log::Severity;
use recto_log::System;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::decode;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::Truth;
use recto_testkit::generate::Usage;
use recto_testkit::generate::generate;

use crate::corpus::Log;
use crate::corpus::logs_below;
use crate::random::seed;
use crate::round_trip::assert_round_trip;

const MEGABYTES: u64 = 12;

fn home(shape: Shape) -> (Truth, Vec<Log>) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { megabytes: MEGABYTES, seed: seed(), shape };
    let truth = generate(&options, folder.path(), &mut |_| {}).unwrap();
    (truth, logs_below(&folder.path().join(".claude/projects")))
}

#[test]
fn an_old_home_is_read_as_it_was_written() {
    check(Shape::Old);
}

#[test]
fn a_new_home_is_read_as_it_was_written() {
    check(Shape::New);
}

#[test]
fn a_mixed_home_is_read_as_it_was_written() {
    check(Shape::Mixed);
}

fn check(shape: Shape) {
    let (truth, logs) = home(shape);
    assert!(
        truth.lines.total > 1000 && truth.lines.malformed_by_kind.len() > 3,
        "too small a home"
    );
    let mut count = Count::default();
    for log in &logs {
        assert_round_trip(&log.path.display().to_string(), &log.bytes);
        // What came of other files says nothing about who wrote this one.
        let before = std::mem::take(&mut count.drift);
        for line in Lines::new(&log.bytes) {
            let (entry, problems) = decode(line);
            count.add(&entry, &problems);
        }
        count.drift.merge(before);
    }
    assert_eq!(count.lines, truth.lines.total);
    assert_eq!(count.blank, truth.lines.blank);
    assert_eq!(count.by_type, truth.lines.by_type);
    assert_eq!(count.damage, expected_damage(&truth));
    assert_eq!(count.prompts, truth.human_turns.lines);
    assert_eq!(count.compactions, truth.compactions);
    assert_eq!(count.tool_calls, truth.tool_calls.lines_by_name);
    assert_eq!(count.tokens(), truth.all_tokens().last);
    assert_unknown_types_only(&count.drift, &truth);
}

/// What the reader calls the damage that the generator made.
fn expected_damage(truth: &Truth) -> BTreeMap<ProblemKind, u64> {
    let mut damage = BTreeMap::new();
    for (name, count) in &truth.lines.malformed_by_kind {
        let kind = match name.as_str() {
            "truncated" => ProblemKind::NotJson,
            "glued" => ProblemKind::GluedLine,
            "nul_run" => ProblemKind::NulBytes,
            "invalid_utf8" => ProblemKind::InvalidUtf8,
            "truncated_eof" => ProblemKind::TornLine,
            other => panic!("what is {other}?"),
        };
        *damage.entry(kind).or_default() += count;
    }
    damage
}

/// The generator makes up some types, and everything else as the client does.
fn assert_unknown_types_only(drift: &Drift, truth: &Truth) {
    let mut made_up = BTreeMap::new();
    for (finding, count) in drift.findings() {
        assert_eq!(finding.kind, FindingKind::Type, "{finding:?}");
        *made_up.entry(finding.name.clone()).or_default() += count;
    }
    let mut expected = truth.lines.by_type.clone();
    expected.retain(|name, _| Kind::from_type(name) == Kind::Unknown);
    assert_eq!(made_up, expected);
}

/// What the reader found in a home.
#[derive(Default)]
struct Count {
    lines: u64,
    blank: u64,
    by_type: BTreeMap<String, u64>,
    damage: BTreeMap<ProblemKind, u64>,
    prompts: u64,
    compactions: u64,
    tool_calls: BTreeMap<String, u64>,
    /// The largest usage of each message.
    messages: BTreeMap<String, Usage>,
    drift: Drift,
}

impl Count {
    fn add(&mut self, entry: &Entry<'_>, problems: &[Problem]) {
        self.lines += 1;
        self.blank += u64::from(entry.kind() == Kind::Blank);
        let damage = problems.iter().find(|found| found.kind.severity() == Severity::Damage);
        if let Some(damage) = damage {
            *self.damage.entry(damage.kind).or_default() += 1;
            return;
        }
        if let Some(name) = entry.type_name() {
            *self.by_type.entry(name.into_owned()).or_default() += 1;
        }
        self.drift.add(entry);
        self.prompts += u64::from(classify_user(entry) == UserText::Human);
        self.compactions += u64::from(matches!(entry.system(), Some(System::CompactBoundary(_))));
        if entry.kind() == Kind::Assistant {
            self.add_message(entry);
        }
    }

    fn add_message(&mut self, entry: &Entry<'_>) {
        let message = entry.message().unwrap();
        for block in message.content().blocks() {
            if let Block::ToolUse { name: Some(name), .. } = block {
                *self.tool_calls.entry(name.as_str().unwrap().into_owned()).or_default() += 1;
            }
        }
        if message.is_synthetic() {
            return;
        }
        let usage = message.usage().unwrap();
        let usage = Usage {
            input: usage.input_tokens.unwrap(),
            output: usage.output_tokens.unwrap(),
            cache_create: usage.cache_creation_input_tokens.unwrap(),
            cache_read: usage.cache_read_input_tokens.unwrap(),
        };
        let known = self.messages.entry(message.id().unwrap().to_string()).or_default();
        if usage.output >= known.output {
            *known = usage;
        }
    }

    fn tokens(&self) -> Usage {
        let mut all = Usage::default();
        self.messages.values().for_each(|usage| all.add(usage));
        all
    }
}
