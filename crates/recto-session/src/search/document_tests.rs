//! Which texts of a log are given, and as what.

use recto_log::Lines;
use recto_log::RawLine;
use recto_log::decode;

use super::*;

/// `role tool! @path: text`, one for each document.
fn shown(log: &str) -> Vec<String> {
    let mut extractor = Extractor::default();
    let mut all = Vec::new();
    let mut see = |document: &Document<'_>| all.push(one(document));
    for line in Lines::new(log.as_bytes()) {
        extractor.next(&decode(line).0, &mut see);
    }
    extractor.rest(&mut see);
    all
}

fn one(document: &Document<'_>) -> String {
    let tool = document.tool.map_or(String::new(), |tool| format!(" {tool}"));
    let error = if document.is_error { "!" } else { "" };
    let path =
        if document.path.is_empty() { String::new() } else { format!(" @{}", document.path) };
    let text = document.text().replace('\n', "|");
    format!("{} {}{tool}{error}{path}: {text}", document.line, document.role.name())
}

const CALL: &str = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/a/b.rs","old_string":"one\ntwo","new_string":"three","count":7}}]}}"#;
const RESULT: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"it \"failed\""}],"is_error":true}]},"toolUseResult":"it failed again"}"#;

#[test]
fn inputs_and_results_know_their_tool_and_file() {
    assert_eq!(
        shown(&format!("{CALL}\n{RESULT}\n{RESULT}")),
        [
            "1 tool-input Edit @/a/b.rs: /a/b.rs|one|two|three",
            "2 tool-result Edit! @/a/b.rs: it \"failed\"",
            // Nobody knows which call a second result is of.
            "3 tool-result!: it \"failed\"",
        ]
    );
}

#[test]
fn the_conversation_is_given_with_its_roles() {
    let log = r#"{"type":"user","message":{"content":"fix it"}}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"done"},{"type":"tool_use","id":"p","name":"ExitPlanMode","input":{"plan":"first this"}}]}}
{"type":"user","message":{"content":"<command-name>/fix</command-name><command-args>bug</command-args>"}}
{"type":"user","message":{"content":"<local-command-stdout>printed</local-command-stdout>"}}
{"type":"user","isCompactSummary":true,"message":{"content":"so far"}}
{"type":"user","isMeta":true,"message":{"content":"a caveat"}}
{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"API Error 529"}]}}
{"type":"system","subtype":"informational","content":"a remark"}
{"type":"assistant","message":{"content":[{"type":"server_tool_use","id":"w","name":"web_search","input":{"query":"tides"}},{"type":"web_search_tool_result","tool_use_id":"w","content":[{"type":"web_search_result","title":"A page","url":"https://x.y"}]}]}}"#;
    assert_eq!(
        shown(log),
        [
            "1 user: fix it",
            "2 thinking: hm",
            "2 assistant: done",
            "2 plan ExitPlanMode: first this",
            "3 user: /fix bug",
            "4 system: printed",
            "5 summary: so far",
            "6 system: a caveat",
            "7 system!: API Error 529",
            "8 system: a remark",
            "9 tool-input web_search: tides",
            "9 tool-result web_search: web_search_result|A page|https://x.y",
        ]
    );
}

#[test]
fn what_is_told_twice_is_given_once() {
    let log = r#"{"type":"ai-title","aiTitle":"A title"}
{"type":"ai-title","aiTitle":"A title"}
{"type":"custom-title","customTitle":"Mine"}
{"type":"summary","summary":"Short"}
{"type":"ai-title","aiTitle":"Another"}
{"type":"ai-title","aiTitle":"A title"}
{"type":"last-prompt","lastPrompt":"p"}
{"type":"queue-operation","operation":"enqueue","content":"from the queue"}
{"type":"queue-operation","operation":"dequeue"}
{"type":"user","message":{"content":"from the queue"}}
{"type":"queue-operation","operation":"enqueue","content":"waits"}
{"type":"progress","data":{"type":"agent_progress","message":{"type":"user","message":{"content":"copy"}}}}"#;
    assert_eq!(
        shown(log),
        [
            "1 title: A title",
            "3 title: Mine",
            "4 summary: Short",
            "5 title: Another",
            "6 title: A title",
            "10 user: from the queue",
            "11 user: waits",
        ]
    );
}

#[test]
fn attachments_are_given_as_they_were_sent() {
    let log = r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"and this"}}
{"type":"attachment","attachment":{"type":"file","filename":"/a","content":{"type":"text","file":{"content":"inside"}}}}
{"type":"attachment","attachment":{"type":"file","filename":"/a"},"rendered":[{"content":"as sent"}]}
{"type":"attachment","attachment":{"type":"hook_success","hookName":"Stop","command":"x"}}
{"type":"attachment","attachment":{"type":"hook_blocking_error","hookName":"Stop","blockingError":{"blockingError":"no tests"}}}"#;
    assert_eq!(
        shown(log),
        [
            "1 user: and this",
            "2 system: file|/a|text|inside",
            "3 system: as sent",
            "5 system: hook Stop blocked: no tests",
        ]
    );
}

#[test]
fn a_log_may_be_gone_on_with_after_every_line() {
    let queued = r#"{"type":"queue-operation","operation":"enqueue","content":"typed meanwhile"}"#;
    let removed = r#"{"type":"queue-operation","operation":"remove"}"#;
    let title = r#"{"type":"ai-title","aiTitle":"A title"}"#;
    let log = [title, CALL, queued, title, RESULT, removed, CALL, RESULT, title].join("\n") + "\n";
    let whole = shown(&log);
    assert_eq!(whole.len(), 6, "{whole:?}");
    let lines: Vec<RawLine<'_>> = Lines::new(log.as_bytes()).collect();
    for stop in 0..=lines.len() {
        let mut all = Vec::new();
        let mut extractor = Extractor::default();
        for line in &lines[..stop] {
            extractor.next(&decode(*line).0, &mut |document| all.push(one(document)));
        }
        let state = State::decode(&extractor.state().encode());
        let mut extractor = Extractor::resume(state, &log.as_bytes());
        for line in &lines[stop..] {
            extractor.next(&decode(*line).0, &mut |document| all.push(one(document)));
        }
        extractor.rest(&mut |document| all.push(one(document)));
        assert_eq!(all, whole, "stopped after {stop} lines");
    }
}
