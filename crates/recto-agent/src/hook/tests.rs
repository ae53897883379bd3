use std::time::Duration;

use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::permission::Place;
use crate::settings::Layer;
use crate::settings::Settings;
use crate::settings::Source;

fn hooks(value: Value) -> Hooks {
    let value = json!({ "hooks": value }).as_object().unwrap().clone();
    Hooks::new(&Settings::from_layers(vec![Layer { source: Source::User, path: None, value }]))
}

fn place() -> Place {
    Place::new("/home/dev/app".into(), "/home/dev".into())
}

fn run(hooks: &Hooks, event: Event) -> Vec<Ran> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let matching = hooks.matching(event, Subject::default(), &place());
    let surroundings = Surroundings { cwd: "/".into(), ..Surroundings::default() };
    runtime.block_on(run_all(&matching, &json!({"a": 1}), &surroundings, &CancellationToken::new()))
}

#[test]
fn the_same_command_runs_once_and_a_condition_is_a_permission_rule() {
    let hooks = hooks(json!({ "PreToolUse": [
        { "matcher": "Bash", "hooks": [{ "type": "command", "command": "a" }, { "type": "prompt", "prompt": "x" }] },
        { "hooks": [{ "type": "command", "command": "a" }, { "type": "command", "command": "b", "if": "Bash(git:*)" }] },
        { "matcher": "Read", "hooks": [{ "type": "command", "command": "c" }] },
    ], "NoSuchEvent": [{ "hooks": [{ "type": "command", "command": "d" }] }] }));
    let commands = |command: &str| {
        let input = json!({ "command": command });
        let subject = Subject { name: Some("Bash"), input: Some(&input) };
        let found = hooks.matching(Event::PreToolUse, subject, &place());
        found.iter().map(|hook| hook.command.clone()).collect::<Vec<_>>()
    };
    assert_eq!(commands("ls"), ["a"]);
    assert_eq!(commands("ls && git push"), ["a", "b"]);
}

#[test]
fn exit_codes_and_objects_mean_what_they_say() {
    let effect = |event, code, stdout: &str, stderr: &str| {
        interpret(event, "cmd", Exit::Code(code), stdout, stderr)
    };
    let block = |effect: HookEffect| match effect.outcome {
        Outcome::Block { message, .. } => message,
        other => format!("{other:?}"),
    };
    assert_eq!(effect(Event::Stop, 0, "", "").outcome, Outcome::Silent);
    assert_eq!(block(effect(Event::PreToolUse, 2, "x", "no\n")), "[cmd]: no\n");
    assert_eq!(block(effect(Event::PreToolUse, 2, "", "")), "[cmd]: No stderr output");
    let deny =
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#;
    assert_eq!(block(effect(Event::PreToolUse, 1, deny, "")), "Blocked by hook");
    assert!(matches!(
        effect(Event::PostToolUse, 0, deny, "").outcome,
        Outcome::Failed { code: 1, .. }
    ));
    let json = r#"{"decision":"block","reason":"r"}"#;
    assert_eq!(block(effect(Event::PreToolUse, 2, json, "other")), "r");
    assert!(matches!(
        effect(Event::SessionStart, 2, "", "x").outcome,
        Outcome::Failed { code: 2, .. }
    ));
    let text = effect(Event::PreToolUse, 0, &format!("more\n{json}"), "");
    assert!(matches!(text.outcome, Outcome::Success { content } if content.starts_with("more")));
    let odd = effect(Event::PreToolUse, 0, r#"{"continue":"no"}"#, "");
    assert!(
        matches!(odd.outcome, Outcome::Failed { stderr, .. } if stderr.contains("continue: expected boolean, received string"))
    );
}

#[test]
fn text_in_braces_that_is_no_object_is_no_answer() {
    let effect = |code, stdout: &str| {
        interpret(Event::PreToolUse, "cmd", Exit::Code(code), stdout, "no").outcome
    };
    for text in ["{} {}", "{'a': 1}"] {
        assert!(matches!(effect(0, text), Outcome::Failed { unusable: true, .. }), "{text}");
        assert!(matches!(effect(2, text), Outcome::Block { .. }), "{text}");
    }
    assert!(matches!(effect(0, "{open"), Outcome::Success { .. }));
    // A code is an answer, unless it is the shell's own.
    assert!(matches!(effect(1, ""), Outcome::Failed { unusable: false, .. }));
    assert!(matches!(effect(127, ""), Outcome::Failed { unusable: true, .. }));
}

#[test]
fn nothing_is_kept_of_a_prompt_that_a_hook_stops() {
    let ran = |stdout: &str| Ran {
        command: "c".into(),
        stdout: stdout.to_owned(),
        stderr: String::new(),
        code: 0,
        duration: Duration::ZERO,
        effect: interpret(Event::UserPromptSubmit, "c", Exit::Code(0), stdout, ""),
        is_callback: false,
    };
    let label = Label { event: Event::UserPromptSubmit, subject: None, id: "t" };
    assert_eq!(Answer::new(label, &[ran("text")]).lines.len(), 1);
    let stopped = Answer::new(label, &[ran("text"), ran(r#"{"decision":"block","reason":"r"}"#)]);
    assert_eq!(stopped.lines, []);
}

#[test]
fn a_group_whose_matcher_is_no_text_is_for_nothing() {
    let events = json!({ "PreToolUse": [
        { "matcher": 5, "hooks": [{ "type": "command", "command": "a" }] },
        { "hooks": [{ "type": "command", "command": "b", "if": "" }] },
    ] });
    let found = |source| {
        let value = json!({ "hooks": events }).as_object().unwrap().clone();
        let settings = Settings::from_layers(vec![Layer { source, path: None, value }]);
        let subject = Subject { name: Some("Bash"), input: None };
        let hooks = Hooks::new(&settings);
        let found = hooks.matching(Event::PreToolUse, subject, &place());
        found.iter().map(|hook| hook.command.clone()).collect::<Vec<_>>()
    };
    assert_eq!(found(Source::Managed), ["b"]);
    assert!(found(Source::User).is_empty());
}

#[test]
fn the_strictest_decision_wins_and_the_first_block_is_told() {
    let ran = |json: Value| Ran {
        command: "c".into(),
        stdout: json.to_string(),
        stderr: String::new(),
        code: 0,
        duration: Duration::ZERO,
        effect: interpret(Event::PreToolUse, "c", Exit::Code(0), &json.to_string(), ""),
        is_callback: false,
    };
    let decides = |name: &str| json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": name, "permissionDecisionReason": name } });
    let label = Label { event: Event::PreToolUse, subject: Some("Bash"), id: "t" };
    let answer = Answer::new(label, &[ran(decides("allow")), ran(decides("ask"))]);
    assert_eq!(answer.choice, Some((Choice::Ask, Some("ask".into()))));
    let answer = Answer::new(label, &[ran(decides("ask")), ran(decides("deny"))]);
    assert_eq!(answer.refusal(label).as_deref(), Some("PreToolUse:Bash hook error: deny"));
}

#[cfg(unix)]
#[test]
fn hooks_read_their_input_and_run_at_the_same_time_in_order() {
    let hooks = hooks(json!({ "Stop": [{ "hooks": [
        { "type": "command", "command": "cat" },
        { "type": "command", "command": "exit 7" },
        { "type": "command", "command": "kill -9 $$" },
        { "type": "command", "command": "exec 0<&-; true" },
        { "type": "command", "command": "touch /nonexistent/x", "async": true },
    ] }] }));
    let ran = run(&hooks, Event::Stop);
    assert_eq!(ran[0].stdout, "{\"a\":1}\n");
    let codes: Vec<i32> = ran.iter().map(|ran| ran.code).collect();
    assert_eq!(codes, [0, 7, 1, 0]);
}

#[cfg(unix)]
#[test]
fn a_hook_that_takes_too_long_ends_with_all_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let command = format!("sh -c 'echo $$ > {}; exec sleep 600' & wait", file.display());
    let hooks = hooks(
        json!({ "Stop": [{ "hooks": [{ "type": "command", "command": command, "timeout": 2 }] }] }),
    );
    let ran = run(&hooks, Event::Stop);
    assert_eq!(ran[0].effect.outcome, Outcome::Cancelled { timeout: Some(Duration::from_secs(2)) });
    let pid = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    let is_there = || {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    // Killed is not yet gone; it is gone in the end.
    while cfg!(target_os = "linux") && is_there() {
        std::thread::yield_now();
    }
}

#[test]
fn what_a_hook_says_besides_ending_the_run() {
    let kinds = |event: Event| {
        let output = r#"{"continue":false,"stopReason":"enough","systemMessage":"said"}"#;
        let ran = Ran {
            command: "c".into(),
            stdout: output.into(),
            stderr: String::new(),
            code: 0,
            duration: Duration::ZERO,
            effect: interpret(event, "c", Exit::Code(0), output, ""),
            is_callback: false,
        };
        let label = Label { event, subject: Some("Bash"), id: "id" };
        let answer = Answer::new(label, &[ran]);
        let kinds = answer.lines.iter().map(|line| line.attachment["type"].to_string());
        (kinds.collect::<Vec<_>>().join(" "), answer.stream.len())
    };
    let all = r#""hook_success" "hook_system_message" "hook_stopped_continuation""#;
    assert_eq!(kinds(Event::PreToolUse), (all.to_owned(), 1));
    let only = r#""hook_stopped_continuation""#;
    assert_eq!(kinds(Event::PostToolUse), (only.to_owned(), 0));
    assert_eq!(kinds(Event::UserPromptSubmit), (String::new(), 0));
}

#[test]
fn a_line_break_inside_quotes_is_told() {
    let effect = interpret(Event::Stop, "c", Exit::Code(0), "{\"systemMessage\": \"a\nb\"}", "");
    let Outcome::Failed { stderr, .. } = effect.outcome else { panic!("{:?}", effect.outcome) };
    assert!(stderr.contains("JSON Parse error: Unterminated string."), "{stderr}");
    let effect = interpret(Event::Stop, "c", Exit::Code(0), "{no}", "");
    let Outcome::Failed { stderr, .. } = effect.outcome else { panic!("{:?}", effect.outcome) };
    assert!(stderr.contains("Unable to parse JSON string."), "{stderr}");
}

#[test]
fn a_hook_that_did_not_come_to_its_end_checked_nothing() {
    let hooks = hooks(json!({ "PreToolUse": [{ "hooks": [
        { "type": "command", "command": "kill -TERM $$" },
        { "type": "command", "command": "exit 255" },
        { "type": "command", "command": "exit 3" },
        { "type": "command", "command": "echo '{\"async\": true}'" },
    ] }] }));
    let ran = run(&hooks, Event::PreToolUse);
    let unusable = |ran: &Ran| matches!(ran.effect.outcome, Outcome::Failed { unusable: true, .. });
    assert_eq!(ran.iter().map(unusable).collect::<Vec<_>>(), [true, true, false, false]);
    assert_eq!(ran[3].effect.outcome, Outcome::Silent);
    let label = Label { event: Event::PreToolUse, subject: Some("Bash"), id: "t" };
    let answer = Answer::new(label, &ran);
    assert_eq!(answer.stream.last().unwrap()["tag"], "hook_no_verdict");
    assert_eq!(answer.lines.len(), 3);
}

#[test]
fn what_several_hooks_say_stands_in_their_order() {
    let object = |value: Value| json!({ "type": "command", "command": format!("echo '{value}'") });
    let said = |event: Event, objects: &[Value]| {
        let commands: Vec<Value> = objects.iter().map(|value| object(value.clone())).collect();
        let hooks = hooks(json!({ event.name(): [{ "hooks": commands }] }));
        let answer =
            Answer::new(Label { event, subject: Some("Bash"), id: "t" }, &run(&hooks, event));
        let kinds: Vec<String> =
            answer.notes().map(|note| note.rsplit(' ').next().unwrap().to_owned()).collect();
        (kinds, answer.stop)
    };
    let context = |event: Event, text: &str| json!({ "hookSpecificOutput": { "hookEventName": event.name(), "additionalContext": text } });
    let stop = |text: &str| json!({ "continue": false, "stopReason": text });
    for (event, notes) in [
        (Event::UserPromptSubmit, vec!["a", "b"]),
        (Event::Stop, vec!["a", "b"]),
        (Event::PreToolUse, vec!["a\nb"]),
    ] {
        assert_eq!(said(event, &[context(event, "a"), context(event, "b")]).0, notes, "{event:?}");
    }
    let event = Event::PostToolUse;
    assert_eq!(said(event, &[stop("s"), context(event, "b")]).0, ["s"]);
    assert_eq!(said(event, &[context(event, "b"), stop("s")]).0, ["b", "s"]);
    let (notes, why) = said(Event::PreToolUse, &[stop("s"), stop("t")]);
    assert_eq!((notes, why.as_deref()), (vec!["t".to_owned()], Some("t")));
    let (notes, why) = said(Event::Stop, &[json!({ "continue": false })]);
    assert_eq!((notes.len(), why.as_deref()), (1, Some("Stop hook prevented continuation")));
}

#[test]
fn what_hooks_of_compactions_and_ends_complain_about_is_told() {
    let all = |event: Event, commands: &[&str]| {
        let commands: Vec<Value> = commands
            .iter()
            .map(|command| json!({ "type": "command", "command": command, "timeout": 1 }))
            .collect();
        run(&hooks(json!({ event.name(): [{ "hooks": commands }] })), event)
    };
    let ran = all(Event::PreCompact, &["echo no >&2; exit 2", "exit 2", "echo fine"]);
    let why = "Compaction blocked by PreCompact hook: [echo no >&2; exit 2]: no\n[exit 2]";
    assert_eq!(compaction_refusal(&ran).as_deref(), Some(why));
    assert_eq!(compaction_refusal(&all(Event::PreCompact, &["exit 1"])), None);
    let label = Label { event: Event::PostCompact, subject: None, id: "" };
    let commands = ["echo a", "true", "echo b >&2", "echo c >&2; exit 1", "sleep 9"];
    let told = compaction_report(label, &all(Event::PostCompact, &commands));
    assert_eq!(
        told,
        [
            "PostCompact [echo a] completed successfully: a",
            "PostCompact [echo b >&2] completed successfully",
            "PostCompact [echo c >&2; exit 1] failed: c",
            "PostCompact [sleep 9] failed: Hook cancelled",
        ]
    );
    let ran = all(
        Event::SessionEnd,
        &["exit 2", "echo x >&2; exit 1", "echo '{\"decision\": \"block\"}'"],
    );
    assert_eq!(session_end_failures(&ran), ["SessionEnd hook [echo x >&2; exit 1] failed: x"]);
}

#[test]
fn what_hooks_say_stands_in_the_order_in_which_they_ended() {
    let context =
        json!({ "hookSpecificOutput": { "hookEventName": "Stop", "additionalContext": "a" } });
    let slow = json!({ "type": "command", "command": format!("sleep 0.5; echo '{context}'") });
    let context = context.to_string().replace("\"a\"", "\"b\"");
    let fast = json!({ "type": "command", "command": format!("echo '{context}'") });
    let ran = run(&hooks(json!({ "Stop": [{ "hooks": [slow, fast] }] })), Event::Stop);
    assert!(ran[0].command.starts_with("sleep"));
    let answer = Answer::new(Label { event: Event::Stop, subject: None, id: "t" }, &ran);
    assert_eq!(answer.contexts, ["b", "a"]);
}

#[test]
fn of_several_hooks_that_forbid_a_call_the_last_to_end_says_why() {
    let why = |commands: [&str; 2]| {
        let commands: Vec<Value> = commands
            .iter()
            .map(|command| json!({ "type": "command", "command": command }))
            .collect();
        let ran = run(&hooks(json!({ "PreToolUse": [{ "hooks": commands }] })), Event::PreToolUse);
        let label = Label { event: Event::PreToolUse, subject: Some("Bash"), id: "t" };
        Answer::new(label, &ran).block.and_then(|block| block.reason)
    };
    assert_eq!(why(["sleep 0.5; echo a >&2; exit 2", "echo b >&2; exit 2"]).as_deref(), Some("a"));
    assert_eq!(why(["echo a >&2; exit 2", "sleep 0.5; echo b >&2; exit 2"]).as_deref(), Some("b"));
}
