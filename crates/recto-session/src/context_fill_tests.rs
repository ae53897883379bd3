use super::*;
use crate::fold::session::tests::session;
use crate::turns;

/// A line of a chain in which each line follows the one before.
struct Log {
    text: String,
    last: String,
}

impl Log {
    fn new() -> Log {
        Log { text: String::new(), last: "null".into() }
    }

    fn line(mut self, uuid: &str, rest: &str) -> Log {
        let parent = &self.last;
        self.text += &format!("{{\"uuid\":\"{uuid}\",\"parentUuid\":{parent},{rest}}}\n");
        self.last = format!("\"{uuid}\"");
        self
    }

    fn user(self, uuid: &str, content: &str) -> Log {
        self.line(uuid, &format!(r#""type":"user","message":{{"content":{content}}}"#))
    }

    fn answer(self, uuid: &str, sent: u64, block: &str) -> Log {
        let usage = format!(r#"{{"input_tokens":{sent},"output_tokens":1}}"#);
        self.line(
            uuid,
            &format!(
                r#""type":"assistant","message":{{"id":"{uuid}","model":"m","content":[{block}],"usage":{usage}}}"#
            ),
        )
    }

    fn fill(&self, wanted: Option<u32>) -> ContextFill {
        let session = session(&self.text);
        let leaf = NodeId(session.node_count() as u32 - 1);
        context_fill(&session, &turns(&session), leaf, wanted, &self.text.as_bytes())
    }
}

fn text(length: usize) -> String {
    format!("\"{}\"", "x".repeat(length))
}

fn block(length: usize) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, text(length))
}

fn call(id: &str, name: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{}}}"#, text(38))
}

fn result(id: &str, length: usize) -> String {
    format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":{}}}]"#, text(length))
}

/// The turns, each with what is in its context.
fn shown(fill: &ContextFill) -> Vec<String> {
    let turn = |turn: &TurnFill| {
        let names = Filler::ALL.iter().zip(turn.tokens).filter(|(_, tokens)| *tokens > 0);
        let names: Vec<String> =
            names.map(|(filler, tokens)| format!("{} {tokens}", filler.name())).collect();
        let begins = if turn.is_compacted { " compacted" } else { "" };
        format!("{}{begins}: {} of {:?}", turn.turn, names.join(", "), turn.measured)
    };
    fill.turns.iter().map(turn).collect()
}

fn parts(fill: &ContextFill) -> Vec<String> {
    let part = |part: &FilledPart| {
        format!("{} {} {} {}", part.filler.name(), part.name, part.count, part.tokens)
    };
    fill.parts.iter().map(part).collect()
}

#[test]
fn each_turn_has_all_that_came_before_its_last_request() {
    let log = Log::new()
        .line("m", r#""type":"attachment","attachment":{"type":"instructions"},"rendered":[{"content":"1234567890123456"}]"#)
        .user("p1", &text(400))
        .answer("a1", 1000, &call("t1", "Bash"))
        .user("r1", &result("t1", 4000))
        .answer("a2", 2200, &call("t2", "Read"))
        .user("r2", &result("t2", 800))
        .answer("a3", 2500, &block(40))
        .user("p2", &text(80))
        .answer("a4", 3000, &block(4));
    let fill = log.fill(None);
    // The arguments of each call are 40 bytes, and its name is four.
    assert_eq!(
        shown(&fill),
        [
            "1: prompts 100, calls 22, results 1200, memory 4 of Some(2500)",
            "2: prompts 120, answers 10, calls 22, results 1200, memory 4 of Some(3000)",
        ]
    );
    assert_eq!(fill.turns[0].line, 7);
    assert_eq!(
        parts(&fill),
        [
            "results Bash 1 1000",
            "results Read 1 200",
            "prompts  2 120",
            "calls Bash 1 11",
            "calls Read 1 11",
            "answers  1 10",
            "memory instructions 1 4",
        ]
    );
    assert_eq!(parts(&log.fill(Some(1)))[2], "prompts  1 100");
    assert_eq!(log.fill(Some(9)).parts, []);
}

#[test]
fn a_compaction_empties_the_context_but_for_what_it_kept() {
    let boundary = r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"a2","compactMetadata":{"trigger":"auto","preservedMessages":{"anchorUuid":"s","uuids":["p2","a2"]}}"#;
    let mut log = Log::new()
        .user("p1", &text(4000))
        .answer("a1", 1500, &block(400))
        .user("p2", &text(40))
        .answer("a2", 1700, &block(80));
    log.last = "null".into();
    let log = log
        .line("b", boundary)
        .line(
            "s",
            &format!(
                r#""type":"user","isCompactSummary":true,"message":{{"content":{}}}"#,
                text(200)
            ),
        )
        .user("p3", &text(20))
        .answer("a3", 600, &block(4));
    let fill = log.fill(None);
    assert_eq!(
        shown(&fill),
        [
            "1: prompts 1000 of Some(1500)",
            "2: prompts 1010, answers 100 of Some(1700)",
            "4 compacted: prompts 15, answers 20, summaries 50 of Some(600)",
        ]
    );
}

#[test]
fn what_is_not_on_the_way_or_not_sent_does_not_count() {
    let rewound = Log::new().user("p1", &text(40)).answer("a1", 100, &block(40));
    let mut log = rewound.user("gone", &text(9999));
    log.last = "\"a1\"".into();
    let log = log
        .line("note", r#""type":"system","subtype":"informational","content":"xxxxxxxxxxxxxxxx""#)
        .line("hook", r#""type":"attachment","attachment":{"type":"hook_success","hookEvent":"Stop","content":"xxxxxxxxxxxxxxxx"}"#)
        .user("p2", &text(40))
        .answer("a2", 0, &block(4));
    assert_eq!(shown(&log.fill(None))[1], "3: prompts 20, answers 10 of None");
}

#[test]
fn thinking_pictures_and_unknown_blocks_are_told_apart() {
    let sealed = format!(r#"{{"type":"thinking","thinking":"","signature":{}}}"#, text(400));
    let open = format!(r#"{{"type":"thinking","thinking":{},"signature":"s"}}"#, text(40));
    let picture = format!(
        r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":{}}}}}"#,
        text(99_999)
    );
    let log = Log::new()
        .user("p1", &format!("[{},{picture}]", block(40)))
        .answer("a1", 5, &[sealed, open, call("t", "Read")].join(","))
        .user(
            "r1",
            &format!(r#"[{{"type":"tool_result","tool_use_id":"t","content":[{picture}]}}]"#),
        )
        .user("p2", r#"[{"type":"hologram"}]"#)
        .answer("a2", 5, &block(4));
    let fill = log.fill(None);
    let tokens = fill.turns.last().unwrap().tokens;
    let of = |filler: Filler| tokens[filler as usize];
    assert_eq!((of(Filler::Thinking), of(Filler::Media)), ((300 + 40) / 4, 3200));
    assert_eq!((of(Filler::Result), of(Filler::Other)), (0, 19 / 4));
}

#[test]
fn a_line_that_cannot_be_had_is_named() {
    let log = Log::new().user("p1", &text(40)).answer("a1", 5, &block(4));
    let session = session(&log.text);
    let cut = &log.text.as_bytes()[..10];
    let fill = context_fill(&session, &turns(&session), NodeId(1), None, &cut);
    let unreadable: Vec<u64> = fill.unreadable.iter().map(|one| one.line).collect();
    assert_eq!((unreadable, fill.turns[0].estimated()), (vec![1, 2], 0));
    assert_eq!(fill.unreadable[0].error, "unexpected end of file");
}
