//! Turns, tool pairs and messages of generated homes, against their truth.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::Session;
use recto_session::Tokens;
use recto_session::TurnKind;
use recto_session::statistics::LogRole;
use recto_session::statistics::LogStatistics;
use recto_session::statistics::Tally;
use recto_session::turns;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::Usage;
use recto_testkit::generate::generate;

fn read(path: &Path) -> Session {
    let mut session = Session::new();
    let mut lines = LineReader::new(std::fs::File::open(path).unwrap());
    while let Some(line) = lines.next_line().unwrap() {
        session.push(&decode(line).0);
    }
    session
}

#[test]
fn every_session_agrees_with_the_truth() {
    for (seed, shape) in [(1, Shape::Old), (2, Shape::New), (3, Shape::Mixed)] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { megabytes: 6, seed, shape };
        let truth = generate(&options, directory.path(), &mut |_| {}).unwrap();
        assert!(truth.sessions.len() > 3);
        for row in &truth.sessions {
            let session = read(&directory.path().join(".claude/projects").join(&row.path));
            let human =
                turns(&session).iter(&session).filter(|turn| turn.kind == TurnKind::Human).count()
                    as u64;
            let calls = session.facts().calls.iter();
            let pairs =
                calls.filter(|call| call.call.is_some() && call.result.is_some()).count() as u64;
            let messages = session.facts().messages.iter();
            let messages = messages.filter(|message| !message.is_synthetic).count() as u64;
            assert_eq!(
                (session.lines, session.node_count() as u64, human, pairs, messages),
                (
                    row.lines,
                    row.chain_lines,
                    row.human_turns,
                    row.tool_pairs,
                    row.assistant_messages
                ),
                "{} of seed {seed}",
                row.path
            );
        }
    }
}

/// All logs below a directory, those of subagents last.
fn logs(directory: &Path) -> Vec<(PathBuf, LogRole)> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                waiting.push(path);
            } else if name.ends_with(".jsonl") {
                let is_agent = name.starts_with("agent-");
                found.push((path, if is_agent { LogRole::Agent } else { LogRole::Session }));
            }
        }
    }
    found.sort_by_key(|(path, role)| (*role == LogRole::Agent, path.clone()));
    found
}

#[test]
fn statistics_of_a_home_agree_with_the_truth() {
    for (seed, shape) in [(1, Shape::Old), (2, Shape::New), (3, Shape::Mixed)] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { megabytes: 6, seed, shape };
        let truth = generate(&options, directory.path(), &mut |_| {}).unwrap();
        let mut tally = Tally::new(TimeZone::UTC);
        for (path, role) in logs(&directory.path().join(".claude/projects")) {
            let session = read(&path);
            tally.add(&LogStatistics::of(&session, &turns(&session), role));
        }
        let statistics = tally.finish();
        assert!(truth.files.main_fork > 0, "there is a copy to count once");
        let tools: BTreeMap<String, u64> =
            statistics.tools.iter().map(|tool| (tool.name.clone(), tool.calls)).collect();
        assert_eq!(tools, truth.tool_calls.unique_by_name, "seed {seed}");
        assert_eq!(statistics.prompts, truth.human_turns.unique, "seed {seed}");
        let models = statistics.models.iter().map(|model| {
            let Tokens { input, output, cache_creation, cache_read, .. } = model.tokens;
            let tokens = [input, output, cache_creation, cache_read];
            (model.name.clone(), (model.messages, tokens))
        });
        let models: BTreeMap<String, (u64, [u64; 4])> = models.collect();
        let expected = truth.tokens.iter().map(|(name, model)| {
            let Usage { input, output, cache_create, cache_read } = model.last;
            (name.clone(), (model.messages, [input, output, cache_create, cache_read]))
        });
        assert_eq!(models, expected.collect(), "seed {seed}");
    }
}
