use super::*;
use crate::fold::session::tests::session;
use crate::request::reach;

/// A log of prompts and answers; each line is `uuid parent`, answers begin with `a`.
fn log(lines: &[&str]) -> Session {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let (uuid, parent) = line.split_once(' ').unwrap();
        let parent = if parent == "-" { "null".into() } else { format!("\"{parent}\"") };
        let kind = if uuid.starts_with('a') { "assistant" } else { "user" };
        // Far apart, so that no client hangs an orphan on another line.
        text += &format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"{uuid}\",\"parentUuid\":{parent},\"timestamp\":\"2026-01-01T{:02}:00:00.000Z\",\"message\":{{\"id\":\"m{uuid}\",\"model\":\"x\",\"content\":[{{\"type\":\"text\",\"text\":\"{uuid}\"}}]}}}}\n",
            at
        );
    }
    session(&text)
}

fn found(session: &Session) -> (ReachSummary, Vec<(&'static str, u64, String)>) {
    let health = health(session, &[Generation::latest()], &|_| Some("elsewhere".into()));
    let problems = health.problems.into_iter();
    let problems = problems.map(|found| (found.class.name(), found.line, found.consequence));
    (health.reaches[0], problems.collect())
}

#[test]
fn a_whole_session_has_no_problems() {
    let (reach, problems) = found(&log(&["p1 -", "a1 p1", "p2 a1", "a2 p2"]));
    assert_eq!((reach.sent.lines, reach.lost.lines), (4, 0));
    assert_eq!(problems, []);
    assert!(reach.is_whole());
}

#[test]
fn a_missing_parent_loses_what_is_before() {
    let (reach, problems) = found(&log(&["p1 -", "a1 p1", "p2 gone", "a2 p2"]));
    assert_eq!((reach.sent.lines, reach.lost.lines), (2, 2));
    let text =
        "a resume would lose 2 messages before line 3: parent gone is missing; found in elsewhere";
    assert_eq!(problems, [("missing-parent", 3, text.to_owned())]);
    assert_eq!(reach.percent_kept().0, 50.0);
}

#[test]
fn a_branch_is_not_lost() {
    let (reach, problems) = found(&log(&["p1 -", "a1 p1", "p2 a1", "a2 p2", "p3 a1", "a3 p3"]));
    assert_eq!((reach.sent.lines, reach.branches.lines, reach.lost.lines), (4, 2, 0));
    assert_eq!(problems, []);
}

#[test]
fn an_orphan_beside_the_conversation_is_lost() {
    let (reach, problems) = found(&log(&["p1 -", "p2 gone", "a2 p2", "a1 p1"]));
    assert_eq!((reach.sent.lines, reach.lost.lines), (2, 2));
    assert_eq!(problems[0].0, "missing-parent");
    assert!(problems[0].2.starts_with("a resume would lose 2 messages from line 2 on"));
}

#[test]
fn another_beginning_is_told_apart() {
    let (reach, problems) = found(&log(&["p1 -", "a1 p1", "p2 -", "a2 p2"]));
    assert_eq!((reach.sent.lines, reach.other_beginnings.lines, reach.lost.lines), (2, 2, 0));
    assert_eq!((problems[0].0, problems[0].1), ("several-roots", 3));
    // An answer cannot begin a conversation: its link was lost.
    let (reach, problems) = found(&log(&["p1 -", "a1 p1", "p2 a1", "a2 -"]));
    assert_eq!((reach.sent.lines, reach.lost.lines), (1, 3));
    assert_eq!((problems[0].0, problems[0].1), ("no-parent", 4));
}

#[test]
fn a_cycle_is_found_once() {
    let (_, problems) = found(&log(&["p1 a2", "a1 p1", "p2 a1", "a2 p2"]));
    let classes: Vec<&str> = problems.iter().map(|problem| problem.0).collect();
    assert_eq!(classes, ["cycle"]);
}

#[test]
fn two_objects_on_a_line_are_told() {
    let line = |uuid: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{uuid}\",\"parentUuid\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"content\":\"x\"}}}}"
        )
    };
    let session = session(&format!("{}\n{}{}\n", line("p1"), line("p2"), line("p3")));
    let (_, problems) = found(&session);
    let text = "two objects on one line: clients before 2.1.200 lose both, newer ones the second";
    assert_eq!(problems, [("damaged-line", 2, text.to_owned())]);
}

/// How a conversation of the given lines is made to end.
fn ending(generation: Generation, lines: &[&str]) -> Vec<crate::request::Sent> {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let parent = if at == 0 { "null".into() } else { format!("\"l{}\"", at - 1) };
        text += &format!(
            "{{{line},\"uuid\":\"l{at}\",\"parentUuid\":{parent},\"timestamp\":\"2026-01-01T00:00:0{at}.000Z\"}}\n"
        );
    }
    let sent = reach(&session(&text), generation).sent.into_iter();
    sent.filter(|sent| matches!(sent, crate::request::Sent::Added(_))).collect()
}

#[test]
fn what_a_failed_call_was_to_answer_is_open() {
    const PROMPT: &str = r#""type":"user","message":{"content":"go"}"#;
    const LISTING: &str =
        r#""type":"attachment","attachment":{"type":"skill_listing","content":"x"}"#;
    const ANSWER: &str = r#""type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"ok"}]}"#;
    const FAILURE: &str = r#""type":"assistant","isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"no"}]}"#;
    let added = |generation, lines: &[&str]| ending(generation, lines).len();
    let (fourth, fifth) = (Generation::V2_1_100, Generation::V2_1_200);
    // The prompt to continue, and an answer to it.
    assert_eq!(added(fifth, &[PROMPT, LISTING, FAILURE]), 2);
    assert_eq!(added(fifth, &[PROMPT, LISTING, ANSWER, FAILURE]), 0);
    assert_eq!(added(fifth, &[PROMPT, ANSWER, LISTING]), 0);
    assert_eq!(added(fourth, &[PROMPT, ANSWER, LISTING]), 2);
    assert_eq!(added(fourth, &[PROMPT, LISTING, ANSWER]), 0);
}
