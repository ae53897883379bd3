use recto_log::Lines;
use recto_log::decode;

use super::*;
use crate::turns;

fn session(lines: &[String]) -> Session {
    let log = lines.join("\n");
    let mut session = Session::new();
    for line in Lines::new(log.as_bytes()) {
        session.push(&decode(line).0);
    }
    session
}

fn line(kind: &str, uuid: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    // The number in a uuid is the second at which it was written.
    let second: u32 = uuid[1..].parse().unwrap();
    format!(
        "{{\"type\":\"{kind}\",\"uuid\":\"{uuid}\",\"parentUuid\":{parent},\"timestamp\":\"2026-11-16T08:00:{second:02}Z\",{rest}}}"
    )
}

fn user(uuid: &str, parent: &str, content: &str) -> String {
    line("user", uuid, parent, &format!("\"message\":{{\"role\":\"user\",\"content\":{content}}}"))
}

fn prompt(uuid: &str, parent: &str) -> String {
    user(uuid, parent, "\"do it\"")
}

fn result(uuid: &str, parent: &str, call: &str) -> String {
    let block = format!(r#"[{{"type":"tool_result","tool_use_id":"{call}","content":"x"}}]"#);
    user(uuid, parent, &block)
}

fn answer(uuid: &str, parent: &str, message: &str, call: &str) -> String {
    let block = match call {
        "" => r#"{"type":"text","text":"ok"}"#.to_owned(),
        call => format!(r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{}}}}"#),
    };
    let message = format!(
        "\"message\":{{\"id\":\"{message}\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{block}]}}"
    );
    line("assistant", uuid, parent, &message)
}

fn shown(session: &Session) -> Vec<String> {
    let uuid = |id: NodeId| session.node(id).uuid().to_string();
    let shown = |branch: Branch| {
        let clients: Vec<&str> = branch.generations.iter().map(|it| it.observed()).collect();
        format!(
            "{} from {} ({} turns, {} messages, last {}) [{}]",
            uuid(branch.tip),
            branch.fork.map_or("nothing".into(), uuid),
            branch.turns,
            branch.messages,
            branch.last_prompt.map_or("none".into(), uuid),
            clients.join(" ")
        )
    };
    branches(session).into_iter().map(shown).collect()
}

fn current(session: &Session) -> Vec<bool> {
    on_current_branch(session, &turns(session))
}

#[test]
fn a_session_that_went_one_way_has_one_branch() {
    let session = session(&[
        prompt("p01", ""),
        answer("a02", "p01", "m1", ""),
        prompt("p03", "a02"),
        answer("a04", "p03", "m2", ""),
        line("system", "s05", "a04", "\"subtype\":\"turn_duration\",\"durationMs\":1"),
    ]);
    assert_eq!(
        shown(&session),
        ["a04 from nothing (2 turns, 2 messages, last p03) [2.0.50 2.1.29 2.1.325]"]
    );
    assert_eq!(current(&session), [true, true]);
    assert_eq!(branches(&Session::new()), []);
}

#[test]
fn a_rewind_makes_a_branch() {
    let session = session(&[
        prompt("p01", ""),
        answer("a02", "p01", "m1", ""),
        prompt("p03", "a02"),
        answer("a04", "p03", "m2", ""),
        prompt("p05", "a02"),
        answer("a06", "p05", "m3", ""),
    ]);
    assert_eq!(
        shown(&session),
        [
            "a04 from a02 (1 turns, 1 messages, last p03) []",
            "a06 from a02 (1 turns, 1 messages, last p05) [2.0.50 2.1.29 2.1.325]",
        ]
    );
    assert_eq!(current(&session), [true, false, true]);
}

#[test]
fn a_leaf_that_the_log_names_is_a_branch_though_nothing_was_said() {
    let session = session(&[
        prompt("p01", ""),
        answer("a02", "p01", "m1", ""),
        prompt("p03", "a02"),
        answer("a04", "p03", "m2", ""),
        prompt("p05", "p01"),
        r#"{"type":"last-prompt","lastPrompt":"do it","leafUuid":"a02"}"#.into(),
    ]);
    assert_eq!(
        shown(&session),
        [
            "a02 from a02 (0 turns, 0 messages, last p01) [2.1.325]",
            "a04 from a02 (1 turns, 1 messages, last p03) []",
            "p05 from p01 (1 turns, 0 messages, last p05) [2.0.50 2.1.29]",
        ]
    );
    assert_eq!(current(&session), [true, false, false]);
}

#[test]
fn parallel_results_and_what_hangs_on_them_are_no_branches() {
    let session = session(&[
        prompt("p01", ""),
        answer("a02", "p01", "m1", "t1"),
        answer("a03", "a02", "m1", "t2"),
        result("r04", "a02", "t1"),
        line(
            "user",
            "x05",
            "r04",
            "\"isMeta\":true,\"message\":{\"role\":\"user\",\"content\":\"skill\"}",
        ),
        result("r06", "a03", "t2"),
        answer("a07", "r06", "m2", ""),
    ]);
    assert_eq!(
        shown(&session),
        ["a07 from nothing (1 turns, 2 messages, last p01) [2.0.50 2.1.29 2.1.325]"]
    );
}

#[test]
fn a_compaction_is_no_branch_and_a_cycle_ends() {
    let compacted = session(&[
        prompt("p01", ""),
        answer("a02", "p01", "m1", ""),
        line("system", "s03", "", "\"subtype\":\"compact_boundary\",\"logicalParentUuid\":\"a02\""),
        line(
            "user",
            "c04",
            "s03",
            "\"isCompactSummary\":true,\"message\":{\"role\":\"user\",\"content\":\"sum\"}",
        ),
        answer("a05", "c04", "m2", ""),
    ]);
    assert_eq!(
        shown(&compacted),
        ["a05 from nothing (2 turns, 2 messages, last p01) [2.0.50 2.1.29 2.1.325]"]
    );
    assert_eq!(current(&compacted), [true, true]);
    let cycle = session(&[prompt("p01", "p02"), prompt("p02", "p01"), prompt("p03", "p02")]);
    assert_eq!(shown(&cycle).len(), 1, "{:?}", shown(&cycle));
    assert_eq!(current(&cycle).len(), 3);
    let remarks = |uuid: &str, parent: &str| line("system", uuid, parent, "\"subtype\":\"x\"");
    let cycle = session(&[remarks("s01", "s02"), remarks("s02", "s01"), prompt("p03", "s02")]);
    assert_eq!(shown(&cycle).len(), 1, "{:?}", shown(&cycle));
}

#[test]
fn a_line_that_was_lost_makes_no_branch() {
    let session = session(&[
        prompt("p01", ""),
        answer("a02", "p01", "m1", ""),
        prompt("p03", "gone"),
        answer("a04", "p03", "m2", ""),
    ]);
    assert_eq!(
        shown(&session),
        ["a04 from nothing (2 turns, 2 messages, last p03) [2.0.50 2.1.29 2.1.325]"]
    );
    assert_eq!(current(&session), [true, true]);
}
