use recto_log::Lines;
use recto_log::decode;

use super::*;
use crate::TurnCounter;

fn session(lines: &[String]) -> Session {
    let log = lines.join("\n");
    let mut session = Session::new();
    for line in Lines::new(log.as_bytes()) {
        session.push(&decode(line).0);
    }
    session
}

fn user(uuid: &str, parent: &str, content: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{uuid}\",\"parentUuid\":{parent},\"message\":{{\"content\":{content}}}}}"
    )
}

fn answer(uuid: &str, parent: &str, message: &str, output: u64, block: &str) -> String {
    format!(
        "{{\"type\":\"assistant\",\"uuid\":\"{uuid}\",\"parentUuid\":\"{parent}\",\"message\":{{\"id\":\"{message}\",\"model\":\"m\",\"content\":[{block}],\"stop_reason\":null,\"usage\":{{\"output_tokens\":{output}}}}}}}"
    )
}

const TEXT: &str = r#"{"type":"text","text":"ok"}"#;

fn shown(session: &Session) -> Vec<String> {
    turns(session)
        .iter(session)
        .map(|turn| {
            let nodes: Vec<String> =
                turn.nodes.iter().map(|id| session.node(*id).uuid().to_string()).collect();
            format!(
                "{} {} [{}] {} messages, {} calls, {} failed, {} tokens",
                turn.number,
                turn.kind.name(),
                nodes.join(" "),
                turn.messages,
                turn.calls,
                turn.failed_calls,
                turn.tokens.output
            )
        })
        .collect()
}

#[test]
fn a_turn_holds_calls_results_and_tokens_once() {
    let session = session(&[
        user("p1", "", "\"do it\""),
        answer("a1", "p1", "m1", 3, r#"{"type":"tool_use","id":"t1","name":"Bash","input":{}}"#),
        answer("a2", "a1", "m1", 9, r#"{"type":"tool_use","id":"t2","name":"Bash","input":{}}"#),
        user(
            "r1",
            "a1",
            r#"[{"type":"tool_result","tool_use_id":"t1","content":"x","is_error":true}]"#,
        ),
        user("r2", "a2", r#"[{"type":"tool_result","tool_use_id":"t2","content":"y"}]"#),
        answer("a3", "r2", "m2", 5, TEXT),
        user("p2", "a3", "\"more\""),
        answer("a4", "p2", "m3", 7, TEXT),
    ]);
    assert_eq!(
        shown(&session),
        [
            "1 prompt [p1 a1 a2 r1 r2 a3] 2 messages, 2 calls, 1 failed, 14 tokens",
            "2 prompt [p2 a4] 1 messages, 0 calls, 0 failed, 7 tokens",
        ]
    );
    let calls = &session.facts().calls;
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call.call.is_some() && call.result.is_some()));
}

#[test]
fn a_rewound_branch_keeps_its_lines_apart() {
    let session = session(&[
        user("p1", "", "\"one\""),
        answer("a1", "p1", "m1", 1, TEXT),
        user("p2", "a1", "\"two\""),
        user("p3", "a1", "\"instead\""),
        answer("a3", "p3", "m3", 1, TEXT),
        answer("a2", "p2", "m2", 1, TEXT),
    ]);
    assert_eq!(
        shown(&session),
        [
            "1 prompt [p1 a1] 1 messages, 0 calls, 0 failed, 1 tokens",
            "2 prompt [p2 a2] 1 messages, 0 calls, 0 failed, 1 tokens",
            "3 prompt [p3 a3] 1 messages, 0 calls, 0 failed, 1 tokens",
        ]
    );
}

#[test]
fn lines_before_their_prompt_and_broken_chains_find_a_turn() {
    let session = session(&[
        answer("early", "p1", "m1", 1, TEXT),
        user("p1", "", "\"one\""),
        answer("lost", "gone", "m2", 1, TEXT),
        answer("cycle1", "cycle2", "m3", 1, TEXT),
        answer("cycle2", "cycle1", "m4", 1, TEXT),
    ]);
    assert_eq!(
        shown(&session),
        ["1 prompt [early p1 lost cycle1 cycle2] 4 messages, 0 calls, 0 failed, 4 tokens"]
    );
}

#[test]
fn commands_tasks_and_lines_without_a_prompt_are_turns_too() {
    let session = session(&[
        answer("a0", "gone", "m0", 1, TEXT),
        user("c", "a0", "\"<command-name>/cost</command-name>\""),
        user("o", "c", "\"<local-command-stdout>x</local-command-stdout>\""),
        user("t", "o", "\"<task-notification><task-id>a</task-id>\""),
        user("i", "t", r#"[{"type":"text","text":"[Request interrupted by user]"}]"#),
    ]);
    let kinds: Vec<&str> = turns(&session).iter(&session).map(|turn| turn.kind.name()).collect();
    assert_eq!(kinds, ["start", "command", "task"]);
    assert!(turns(&session).get(&session, 2).unwrap().is_interrupted);
}

#[test]
fn the_counter_gives_the_same_numbers() {
    let lines = [
        r#"{"type":"attachment","uuid":"h","parentUuid":null,"attachment":{"type":"date"}}"#
            .to_owned(),
        user("p1", "h", "\"one\""),
        answer("a1", "p1", "m1", 1, TEXT),
        user("c", "a1", "\"<command-name>/cost</command-name>\""),
        user("p2", "c", "\"two\""),
        answer("a2", "p2", "m2", 1, TEXT),
    ];
    let session = session(&lines);
    let mut counter = TurnCounter::default();
    let counted: Vec<u32> = lines
        .iter()
        .map(|line| counter.next(&decode(recto_log::RawLine::alone(line.as_bytes())).0))
        .collect();
    let mut numbers = vec![0; lines.len()];
    for turn in turns(&session).iter(&session) {
        for id in turn.nodes {
            numbers[id.index()] = turn.number;
        }
    }
    assert_eq!(counted, numbers);
    assert_eq!(counted, [1, 1, 1, 2, 3, 3]);
}

#[test]
fn no_lines_no_turns() {
    assert!(turns(&Session::new()).is_empty());
}
