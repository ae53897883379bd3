//! What trimming, stripping and compressing write, on small logs.

use std::fmt::Write;

use recto_session::edit::CompressOptions;
use recto_session::edit::EditError;
use recto_session::edit::OldLines;
use recto_session::edit::PlanKind;
use recto_session::edit::ResultAction;
use recto_session::edit::ResultPolicy;
use recto_session::edit::Rewrite;
use recto_session::edit::StripOptions;
use recto_session::edit::SummaryText;
use recto_session::edit::ToolDetail;
use recto_session::edit::TrimOptions;
use recto_session::edit::compress;
use recto_session::edit::strip;
use recto_session::edit::trim;
use recto_session::request::Generation;
use recto_session::request::Sent;
use recto_session::request::reach;
use serde_json::Value;
use serde_json::json;

use crate::edit::manuscript;
use crate::edit::written;

/// A log that is written line by line, each after the one before.
#[derive(Default)]
struct Log {
    text: String,
    count: usize,
}

impl Log {
    fn line(&mut self, kind: &str, mut more: Value) -> &mut Log {
        let parent = self.count.checked_sub(1).map_or(Value::Null, |before| json!(uuid(before)));
        let second = self.count;
        let own = json!({
            "type": kind, "uuid": uuid(self.count), "parentUuid": parent,
            "timestamp": format!("2026-11-16T00:{:02}:{:02}.000Z", second / 60, second % 60),
            "isSidechain": false, "sessionId": "5e551011-0000-4000-8000-000000000000",
        });
        more.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let _ = writeln!(self.text, "{more}");
        self.count += 1;
        self
    }

    fn prompt(&mut self, text: &str) -> &mut Log {
        self.line("user", json!({"message": {"role": "user", "content": text}}))
    }

    fn answer(&mut self, message: &str, block: Value) -> &mut Log {
        let message = json!({"id": message, "role": "assistant", "model": "m", "content": [block]});
        self.line("assistant", json!({"message": message}))
    }

    fn says(&mut self, message: &str, text: &str) -> &mut Log {
        self.answer(message, json!({"type": "text", "text": text}))
    }

    fn thinks(&mut self, message: &str) -> &mut Log {
        self.answer(message, json!({"type": "thinking", "thinking": "hm", "signature": "s"}))
    }

    fn calls(&mut self, message: &str, tool: &str, id: &str) -> &mut Log {
        let input = json!({"command": "make"});
        self.answer(message, json!({"type": "tool_use", "id": id, "name": tool, "input": input}))
    }

    fn result(&mut self, id: &str, content: Value) -> &mut Log {
        let block =
            json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": true});
        let message = json!({"role": "user", "content": [block]});
        self.line("user", json!({"message": message, "toolUseResult": {"stdout": "bulky"}}))
    }
}

fn uuid(place: usize) -> String {
    format!("00000000-0000-4000-8000-{place:012}")
}

/// Two turns with a tool each, and a third one without.
fn three_turns() -> Log {
    let mut log = Log::default();
    log.prompt("build it").thinks("m1").calls("m1", "Bash", "t1");
    log.result("t1", json!("x".repeat(2000))).says("m2", "It is built.");
    log.prompt("read it").calls("m3", "Read", "t2").result("t2", json!("y".repeat(900)));
    log.says("m4", "It is read.").prompt("thanks").says("m5", "Bye.");
    log
}

/// The lines of a log as values.
fn values(log: &[u8]) -> Vec<Value> {
    let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn trimmed(log: &Log, options: &TrimOptions) -> Vec<Value> {
    let source = manuscript(log.text.as_bytes());
    let plan = trim(&source, options, &log.text.as_bytes()).unwrap();
    values(&written(&plan.draft, &Rewrite::none(), log.text.as_bytes()))
}

fn results(policy: ResultPolicy) -> TrimOptions {
    TrimOptions { results: Some(policy), source: "abc".into(), ..TrimOptions::default() }
}

/// The places of the lines whose results are notes.
fn noted(lines: &[Value]) -> Vec<usize> {
    let is_note = |line: &Value| line.to_string().contains("removed by recto");
    (0..lines.len()).filter(|at| is_note(&lines[*at])).collect()
}

#[test]
fn a_note_says_what_was_there_and_where_it_is() {
    let lines = trimmed(&three_turns(), &results(ResultPolicy::default()));
    let line = &lines[3];
    assert_eq!(
        line["message"]["content"][0],
        json!({"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content":
            "[2.0 kB of Bash output removed by recto; recto show abc --turn 1 --tools, call t1]"})
    );
    assert_eq!(line.get("toolUseResult"), None);
    assert_eq!(noted(&lines), [3, 7]);
}

#[test]
fn the_path_of_a_result_that_was_put_aside_stays() {
    let mut log = Log::default();
    let text = format!(
        "<persisted-output>\nOutput too large. Full output saved to: /p/a.txt\n\n{}\n</persisted-output>",
        "z".repeat(500)
    );
    log.prompt("go").calls("m1", "Bash", "t1").result("t1", json!(text)).says("m2", "Done.");
    let lines = trimmed(&log, &results(ResultPolicy::default()));
    let content = lines[2]["message"]["content"][0]["content"].as_str().unwrap();
    assert!(
        content
            .ends_with("<persisted-output>\nFull output saved to: /p/a.txt\n</persisted-output>"),
        "{content}"
    );
}

#[test]
fn conditions_on_results_combine() {
    let log = three_turns();
    let only = |policy: ResultPolicy| noted(&trimmed(&log, &results(policy)));
    assert_eq!(only(ResultPolicy { older_than: Some(2), ..ResultPolicy::default() }), [3]);
    assert_eq!(only(ResultPolicy { larger_than: Some(1000), ..ResultPolicy::default() }), [3]);
    assert_eq!(only(ResultPolicy { tools: vec!["Read".into()], ..ResultPolicy::default() }), [7]);
    let keep = TrimOptions { keep_last: 2, ..results(ResultPolicy::default()) };
    assert_eq!(noted(&trimmed(&log, &keep)), [3]);
    let none = ResultPolicy {
        larger_than: Some(1000),
        tools: vec!["Read".into()],
        ..ResultPolicy::default()
    };
    let source = manuscript(log.text.as_bytes());
    let plan = trim(&source, &results(none), &log.text.as_bytes());
    assert_eq!(plan.unwrap_err(), EditError::NothingToDo);
}

#[test]
fn a_dropped_pair_takes_its_thinking_along() {
    let policy = ResultPolicy {
        tools: vec!["Bash".into()],
        action: ResultAction::DropPair,
        ..ResultPolicy::default()
    };
    let lines = trimmed(&three_turns(), &results(policy));
    let left: Vec<&str> = lines.iter().map(|line| line["uuid"].as_str().unwrap()).collect();
    let expected: Vec<String> = [0, 4, 5, 6, 7, 8, 9, 10].map(uuid).into();
    assert_eq!(left, expected);
    assert_eq!(lines[1]["parentUuid"], uuid(0));
}

#[test]
fn pictures_become_notes_in_prompts_and_results() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(4000)}});
    let mut log = Log::default();
    let content = json!([image, {"type": "text", "text": "look"}]);
    log.line("user", json!({"message": {"role": "user", "content": content}}));
    log.calls("m1", "Read", "t1").result("t1", json!([image])).says("m2", "Seen.");
    let options = TrimOptions { images: true, ..TrimOptions::default() };
    let lines = trimmed(&log, &options);
    let note = json!({"type": "text", "text": "[image removed by recto: 3.0 kB png]"});
    assert_eq!(lines[0]["message"]["content"][0], note);
    assert_eq!(lines[2]["message"]["content"][0]["content"][0], note);
    assert_eq!(lines[2].get("toolUseResult"), None);
}

#[test]
fn tokens_are_saved_on_old_and_large_results_first() {
    let log = three_turns();
    let source = manuscript(log.text.as_bytes());
    let all = TrimOptions { to_tokens: Some(u64::MAX), ..TrimOptions::default() };
    let plan = trim(&source, &all, &log.text.as_bytes());
    assert_eq!(plan.unwrap_err(), EditError::NothingToDo);
    let some = TrimOptions { to_tokens: Some(600), ..TrimOptions::default() };
    assert_eq!(noted(&trimmed(&log, &some)), [3]);
    let most = TrimOptions { to_tokens: Some(1), ..TrimOptions::default() };
    let plan = trim(&source, &most, &log.text.as_bytes()).unwrap();
    assert!(!plan.is_reached);
    assert_eq!(plan.notes.len(), 1);
    assert!(plan.rows.iter().any(|row| row.kind == PlanKind::Call && row.name == "Bash"));
}

#[test]
fn a_forgotten_turn_at_the_end_moves_the_leaf() {
    let log = three_turns();
    let source = manuscript(log.text.as_bytes());
    let options = StripOptions { turns: Some(3..=3), ..StripOptions::default() };
    let plan = strip(&source, &options, &log.text.as_bytes()).unwrap();
    let lines = values(&written(&plan.draft, &Rewrite::none(), log.text.as_bytes()));
    let last = lines.last().unwrap();
    assert_eq!(last["leafUuid"], uuid(8));
    assert_eq!(last["lastPrompt"], "read it");
    let all = StripOptions { turns: Some(1..=3), ..StripOptions::default() };
    let error = strip(&source, &all, &log.text.as_bytes()).unwrap_err();
    assert_eq!(error, EditError::NothingLeft);
    let far = StripOptions { turns: Some(3..=4), ..StripOptions::default() };
    let error = strip(&source, &far, &log.text.as_bytes()).unwrap_err();
    assert_eq!(error, EditError::NoTurn { number: 4, last: 3 });
}

fn compressed(before: u32, summary: SummaryText) -> CompressOptions {
    CompressOptions {
        before,
        summary,
        old: OldLines::Keep,
        seed: "33333333-3333-4333-8333-333333333333".parse().unwrap(),
        source: "abc".into(),
    }
}

#[test]
fn a_summary_tells_what_was_asked_answered_and_done() {
    let log = three_turns();
    let source = manuscript(log.text.as_bytes());
    let options = compressed(3, SummaryText::Made(ToolDetail::Calls));
    let plan = compress(&source, &options, &log.text.as_bytes()).unwrap();
    let lines = values(&written(&plan.draft, &Rewrite::none(), log.text.as_bytes()));
    let (boundary, summary, kept) = (&lines[9], &lines[10], &lines[11]);
    assert_eq!(boundary["subtype"], "compact_boundary");
    assert_eq!(boundary["parentUuid"], Value::Null);
    assert_eq!(boundary["logicalParentUuid"], uuid(8));
    assert_eq!(boundary["timestamp"], "2026-11-16T00:00:08.998Z");
    assert_eq!(summary["parentUuid"], boundary["uuid"]);
    assert_eq!(summary["isCompactSummary"], true);
    assert_eq!(summary["isVisibleInTranscriptOnly"], true);
    assert_eq!(kept["parentUuid"], summary["uuid"]);
    let expected = "Earlier turns of this session, before turn 3, were replaced by this summary. recto wrote it from the session log, without a model: prompts and answers are shortened, everything else is counted. The whole text of a turn: recto show abc --turn NUMBER

## Turns

1. Prompt: build it
   Answer: It is built.

2. Prompt: read it
   Answer: It is read.

## Tools

- Bash: 1, 1 failed
- Read: 1, 1 failed

## Last tool calls

- Bash make
- Read make
";
    assert_eq!(summary["message"]["content"], expected);
}

#[test]
fn all_clients_send_the_given_summary_and_the_kept_turn() {
    let log = three_turns();
    let source = manuscript(log.text.as_bytes());
    let options = CompressOptions {
        old: OldLines::Drop,
        ..compressed(3, SummaryText::Given("what was".into()))
    };
    let plan = compress(&source, &options, &log.text.as_bytes()).unwrap();
    let copy = written(&plan.draft, &Rewrite::none(), log.text.as_bytes());
    assert_eq!(values(&copy).len(), 4);
    assert_eq!(values(&copy)[0].get("logicalParentUuid"), None);
    let result = manuscript(&copy);
    for generation in Generation::ALL {
        let sent = reach(&result.session, generation).sent;
        let line = |sent: &Sent| match sent {
            Sent::Line(line) => result.session.node(line.node).line,
            Sent::Added(_) => 0,
        };
        assert_eq!(sent.iter().map(line).collect::<Vec<_>>(), [1, 2, 3, 4], "{generation}");
    }
    let first = compress(&source, &compressed(1, options.summary), &log.text.as_bytes());
    assert_eq!(first.unwrap_err(), EditError::NothingToDo);
}
