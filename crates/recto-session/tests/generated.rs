//! Turns, tool pairs and messages of generated homes, against their truth.

use recto_log::LineReader;
use recto_log::decode;
use recto_session::Session;
use recto_session::TurnKind;
use recto_session::turns;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

fn read(path: &std::path::Path) -> Session {
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
                turns(&session).iter().filter(|turn| turn.kind == TurnKind::Human).count() as u64;
            let calls = session.facts().calls.iter();
            let pairs =
                calls.filter(|call| call.call.is_some() && call.result.is_some()).count() as u64;
            let messages = session.facts().messages.iter();
            let messages = messages.filter(|message| !message.is_synthetic).count() as u64;
            assert_eq!(
                (session.lines, session.nodes().len() as u64, human, pairs, messages),
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
