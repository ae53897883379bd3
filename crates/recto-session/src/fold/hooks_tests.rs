use recto_log::Lines;
use recto_log::decode;

use crate::Item;
use crate::NoteKind;
use crate::Session;
use crate::items;
use crate::turns;

const PROMPT: &str = r#"{"type":"user","uuid":"p","parentUuid":null,"message":{"content":"go"}}"#;

/// The hooks of all turns, and the notes that are shown.
fn told(lines: &[&str]) -> (Vec<String>, Vec<(NoteKind, String)>) {
    let log = [&[PROMPT], lines].concat().join("\n");
    let mut session = Session::new();
    let mut notes = Vec::new();
    for line in Lines::new(log.as_bytes()) {
        let (entry, _) = decode(line);
        session.push(&entry);
        notes.extend(items(&entry).into_iter().filter_map(|item| match item {
            Item::Note { kind, text } => Some((kind, text)),
            _ => None,
        }));
    }
    let turns = turns(&session);
    let hooks = turns.iter(&session).flat_map(|turn| turn.hooks);
    let hooks = hooks.map(|hook| {
        let name = session.name(hook.name);
        format!("{name}: {} ran, {} failed, {} blocked", hook.runs, hook.failed, hook.blocked)
    });
    (hooks.collect(), notes)
}

const SUMMARY: &str = r#"{"type":"system","subtype":"stop_hook_summary","uuid":"s","parentUuid":"p","hookCount":2,"hookErrors":[],"toolUseID":"o1"}"#;

#[test]
fn a_summary_alone_tells_the_runs() {
    let (hooks, notes) = told(&[SUMMARY]);
    assert_eq!(hooks, ["Stop: 2 ran, 0 failed, 0 blocked"]);
    assert_eq!(notes, [(NoteKind::Meta, "hook Stop ran".to_owned())]);
}

#[test]
fn a_run_that_is_told_twice_counts_once() {
    let start = |number: u32, occasion: &str| {
        format!(
            r#"{{"type":"progress","uuid":"g{number}","parentUuid":"p","data":{{"type":"hook_progress","hookEvent":"Stop","hookName":"Stop","command":"echo"}},"toolUseID":"{occasion}"}}"#
        )
    };
    let (first, second, third) = (start(1, "o1"), start(2, "o1"), start(3, "o2"));
    let (hooks, _) = told(&[&first, &second, SUMMARY, &third]);
    assert_eq!(hooks, ["Stop: 3 ran, 0 failed, 0 blocked"]);
    let end = r#"{"type":"attachment","uuid":"e","parentUuid":"p","attachment":{"type":"hook_success","hookName":"Stop","toolUseID":"o1","exitCode":0,"command":"echo"}}"#;
    let context = r#"{"type":"attachment","uuid":"c","parentUuid":"p","attachment":{"type":"hook_additional_context","hookName":"Stop","toolUseID":"o1","content":["x"]}}"#;
    let (hooks, notes) = told(&[end, context, SUMMARY]);
    assert_eq!(hooks, ["Stop: 2 ran, 0 failed, 0 blocked"]);
    assert_eq!(notes[0], (NoteKind::Meta, "hook Stop ran: echo".to_owned()));
    assert_eq!(notes[1], (NoteKind::Meta, "hook Stop added a text".to_owned()));
}

#[test]
fn what_was_blocked_is_shown_and_counts_once() {
    let blocked = r#"{"type":"attachment","uuid":"b","parentUuid":"p","attachment":{"type":"hook_blocking_error","hookName":"Stop","toolUseID":"o1","blockingError":{"blockingError":"go on","command":"x"}}}"#;
    let feedback = r#"{"type":"user","uuid":"f","parentUuid":"p","isMeta":true,"message":{"content":"Stop hook feedback:\ngo on"}}"#;
    let summary = r#"{"type":"system","subtype":"stop_hook_summary","uuid":"s","parentUuid":"p","hookCount":1,"hookErrors":["go on"],"hookAdditionalContext":[],"toolUseID":"o1"}"#;
    let (hooks, notes) = told(&[feedback, blocked, summary]);
    assert_eq!(hooks, ["Stop: 1 ran, 0 failed, 1 blocked"]);
    let shown: Vec<&String> =
        notes.iter().filter(|(kind, _)| *kind == NoteKind::Hook).map(|(_, text)| text).collect();
    assert_eq!(shown, ["hook Stop blocked: go on"]);
    // Old clients tell it in the feedback only, and do not mark that as their own.
    let old = feedback.replace(r#""isMeta":true,"#, "");
    let (hooks, notes) = told(&[&old]);
    assert_eq!(hooks, ["Stop: 1 ran, 0 failed, 1 blocked"]);
    assert_eq!(notes[0].0, NoteKind::Meta);
}

#[test]
fn a_call_that_was_blocked_and_a_hook_that_failed_are_told_apart() {
    let call = r#"{"type":"user","uuid":"r","parentUuid":"p","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"PreToolUse:Bash hook error: [exit 2]: not here\n"}]}}"#;
    let failed = r#"{"type":"attachment","uuid":"e","parentUuid":"p","attachment":{"type":"hook_success","hookName":"PostToolUse:Bash","toolUseID":"t1","exitCode":1,"stderr":"oh","command":"x"}}"#;
    let other = r#"{"type":"user","uuid":"o","parentUuid":"p","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"grep: a hook error: [x]: y"}]}}"#;
    let (hooks, notes) = told(&[call, failed, other]);
    assert_eq!(
        hooks,
        [
            "PreToolUse:Bash: 1 ran, 0 failed, 1 blocked",
            "PostToolUse:Bash: 1 ran, 1 failed, 0 blocked"
        ]
    );
    assert_eq!(notes, [(NoteKind::Hook, "hook PostToolUse:Bash failed: oh".to_owned())]);
}
