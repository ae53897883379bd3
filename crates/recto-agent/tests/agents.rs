//! Subagents, tasks in the background, and hooks, through the loop.

use std::fs;

use recto_agent::permission::CommandLine;
use recto_agent::turn::End;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::Ran;
use crate::bench::call;
use crate::bench::calls_and_results;
use crate::bench::hook;
use crate::bench::script;

fn agent(id: &str, prompt: &str, is_background: bool) -> Value {
    let input = json!({
        "description": "some work",
        "prompt": prompt,
        "run_in_background": is_background,
    });
    call(id, "Agent", input)
}

/// What the files beside the logs of subagents say.
fn metas(bench: &Bench) -> Vec<Value> {
    let folder = bench.log().with_extension("").join("subagents");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let metas = paths.filter(|path| path.to_string_lossy().ends_with(".meta.json"));
    let read = |path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut metas: Vec<Value> = metas.map(read).collect();
    metas.sort_by_key(|meta| meta["spawnDepth"].as_u64());
    metas
}

/// The `system` lines of a stream with some subtype.
fn system<'r>(ran: &'r Ran, subtype: &str) -> Vec<&'r Value> {
    let lines = ran.events.iter().filter_map(|event| match event {
        TurnEvent::System(line) if line["subtype"] == subtype => Some(line),
        _ => None,
    });
    lines.collect()
}

fn results(lines: &[Value]) -> Vec<String> {
    let contents = lines.iter().filter_map(|line| line["message"]["content"].as_array());
    let results = contents.flatten().filter(|block| block["type"] == "tool_result");
    results.map(|block| block["content"].to_string()).collect()
}

#[test]
fn a_subagent_hands_work_to_another_one_and_reports_come_back_up() {
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": [agent("toolu_a", "outer work", false)]}),
        json!({"last": "outer work", "blocks": [
            // A subagent waits for another one, unless it says otherwise.
            call("toolu_b", "Agent", json!({"description": "d", "prompt": "inner work"})),
        ]}),
        json!({"last": "inner work", "blocks": [call("toolu_c", "Bash", json!({"command": "touch made"}))]}),
        json!({"contains": "inner report", "text": "outer report"}),
        json!({"contains": "outer report", "text": "all done"}),
        json!({"text": "inner report"}),
    ]));
    let ran = bench.run(bench.setup(), &["go"]);
    assert_eq!(ran.ends()[0].text, "all done");
    assert!(bench.app().join("made").exists());
    let metas = metas(&bench);
    let of = |key: &str| -> Vec<Value> { metas.iter().map(|meta| meta[key].clone()).collect() };
    assert_eq!(of("spawnDepth"), [json!(1), json!(2)]);
    assert_eq!(of("toolUseId"), [json!("toolu_a"), json!("toolu_b")]);
    assert_eq!(of("finished"), [json!(true), json!(true)]);
    assert_eq!(metas[0].get("parentAgentId"), None);
    assert!(metas[1]["parentAgentId"].is_string(), "{}", metas[1]);
    let (calls, answered) = calls_and_results(&bench.lines());
    assert_eq!((calls, answered), (vec!["toolu_a".to_owned()], vec!["toolu_a".to_owned()]));
    let result = &results(&bench.lines())[0];
    assert!(result.contains("outer report"), "{result}");
    assert!(result.contains("<tools-used-before-summary>Agent<"), "{result}");
    bench.is_sound().unwrap();
}

#[test]
fn subagents_below_subagents_come_to_an_end() {
    // Each is asked to start another one.
    let bench = Bench::new(&script(&[
        json!({"contains": "work", "blocks": [
            {"type": "tool_use", "name": "Agent", "input": {
                "description": "d", "prompt": "more work", "run_in_background": false,
            }},
        ]}),
        json!({"text": "done"}),
    ]));
    let ran = bench.run(bench.setup(), &["work"]);
    assert_eq!(ran.ends()[0].text, "done");
    let depths: Vec<u64> =
        metas(&bench).iter().map(|meta| meta["spawnDepth"].as_u64().unwrap()).collect();
    assert_eq!(depths, [1, 2, 3]);
    let sent = json!(bench.messages()).to_string();
    let words = "No such tool available: Agent. Agent is not among the tools available here. Continue with the tools you have.";
    assert!(sent.contains(words), "{sent}");
    bench.is_sound().unwrap();
}

#[test]
fn a_subagent_is_told_of_tasks_that_it_left_in_the_background() {
    let wait = json!({"type": "tool_use", "name": "Bash", "input": {"command": "sleep 0.05"}});
    let bench = Bench::new(&script(&[
        json!({"contains": "begin here", "blocks": [agent("toolu_a", "outer work", false)]}),
        json!({"contains": "inner work", "text": "inner report"}),
        json!({"contains": "task-notification", "text": "outer report"}),
        json!({"contains": "outer work", "blocks": [agent("toolu_b", "inner work", true)]}),
        json!({"contains": "outer report", "text": "all done"}),
        json!({"blocks": [wait]}),
    ]));
    // This model reads what it is told in messages of the user.
    let setup = Setup { model: Some("claude-haiku-4-5".into()), ..bench.setup() };
    let ran = bench.run(setup, &["begin here"]);
    assert_eq!(ran.ends()[0].text, "all done");
    let depths: Vec<(&Value, &Value)> = system(&ran, "task_started")
        .into_iter()
        .map(|line| (&line["spawn_depth"], &line["is_backgrounded"]))
        .collect();
    assert_eq!(depths, [(&json!(1), &json!(false)), (&json!(2), &json!(true))]);
    let ended = system(&ran, "task_notification");
    assert!(ended.len() == 2 && ended.iter().all(|line| line["status"] == "completed"));
    bench.is_sound().unwrap();
}

#[test]
fn what_a_subagent_left_in_the_background_wakes_the_session_later() {
    let work = "while ! test -e go.txt; do sleep 0.02; done; echo over";
    let background = json!({"command": work, "run_in_background": true});
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": [agent("toolu_a", "outer work", false)]}),
        json!({"last": "outer work", "blocks": [
            agent("toolu_b", "inner work", true),
            call("toolu_c", "Bash", background),
        ]}),
        json!({"last": "inner work", "blocks": [call("toolu_d", "Bash", json!({"command": work}))]}),
        json!({"contains": "launched", "text": "outer report"}),
        json!({"contains": "outer report", "text": "all done"}),
        json!({"contains": "task-notification", "text": "I was told"}),
        json!({"text": "inner report"}),
    ]));
    let app = bench.app();
    let ran = bench.steer(bench.setup(), &["go"], |event, _| {
        if let TurnEvent::Ended(_) = event {
            fs::write(app.join("go.txt"), "").unwrap();
        }
    });
    let texts: Vec<&str> = ran.ends().iter().map(|ended| ended.text.as_str()).collect();
    assert_eq!(texts.first(), Some(&"all done"));
    assert!(texts.len() > 1 && texts[1..].iter().all(|text| *text == "I was told"), "{texts:?}");
    let sent = json!(bench.messages()).to_string();
    assert!(sent.contains("<result>inner report</result>"), "{sent}");
    assert!(sent.contains("completed (exit code 0)"), "{sent}");
    bench.is_sound().unwrap();
}

#[test]
fn the_end_of_a_command_in_the_background_wakes_the_session_once() {
    let background = json!({"command": "while ! test -e go.txt; do sleep 0.02; done; echo out; exit 3", "run_in_background": true, "description": "wait for it"});
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": [call("toolu_a", "Bash", background)]}),
        json!({"contains": "task-notification", "text": "I was told"}),
        json!({"text": "it runs"}),
    ]));
    let app = bench.app();
    let ran = bench.steer(bench.setup(), &["go"], |event, _| {
        if let TurnEvent::Ended(_) = event {
            fs::write(app.join("go.txt"), "").unwrap();
        }
    });
    let texts: Vec<&str> = ran.ends().iter().map(|ended| ended.text.as_str()).collect();
    assert_eq!(texts, ["it runs", "I was told"]);
    let lines = bench.lines();
    let notices: Vec<&Value> =
        lines.iter().filter(|line| line["origin"]["kind"] == "task-notification").collect();
    let [notice] = notices[..] else { panic!("{}", notices.len()) };
    let text = notice["message"]["content"].to_string();
    assert!(text.contains("<status>failed</status>"), "{text}");
    assert!(text.contains("failed with exit code 3"), "{text}");
    let output = text.split("<output-file>").nth(1).unwrap().split("</output-file>").next();
    let output = fs::read_to_string(output.unwrap()).unwrap();
    assert_eq!(output, "out\n\n[exited with code 3]\n");
    bench.is_sound().unwrap();
}

#[test]
fn hooks_change_calls_and_results_and_see_subagents() {
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": [call("toolu_a", "Bash", json!({"command": "echo asked"}))]}),
        json!({"contains": "sub work", "text": "too early"}),
        json!({"contains": "Stop hook feedback", "text": "sub report"}),
        json!({"contains": "changed result", "blocks": [agent("toolu_b", "sub work", false)]}),
        json!({"text": "all done"}),
    ]));
    let answer =
        |specific: Value| hook(&format!("echo '{}'", json!({"hookSpecificOutput": specific})));
    let note = |name: &str| hook(&format!("cat >> {name}.txt"));
    let once = "test -e once || { touch once; echo look again >&2; exit 2; }";
    let setup = bench.with_hooks(&json!({
        "UserPromptSubmit": hook("echo remember the milk"),
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command":
            format!("echo '{}'", json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "updatedInput": {"command": "touch changed.txt; echo changed"},
            }}))}]}],
        "PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command":
            format!("echo '{}'", json!({"hookSpecificOutput": {
                "hookEventName": "PostToolUse",
                "updatedToolOutput": {"stdout": "changed result", "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false},
            }}))}]}],
        "SubagentStart": answer(json!({"hookEventName": "SubagentStart", "additionalContext": "be quick"})),
        "SubagentStop": hook(once),
        "PostToolBatch": note("batches"),
        "SessionEnd": note("end"),
    }));
    let permissions = CommandLine::default();
    let ran = bench.run(Setup { permissions, ..setup }, &["go"]);
    assert_eq!((&ran.ends()[0].end, ran.ends()[0].text.as_str()), (&End::Completed, "all done"));
    assert!(bench.app().join("changed.txt").exists());
    let sent = json!(bench.messages()).to_string();
    for words in ["remember the milk", "be quick", "look again", "changed result", "sub report"] {
        assert!(sent.contains(words), "{words}: {sent}");
    }
    assert!(!results(&bench.lines())[0].contains("asked"));
    let read = |name: &str| fs::read_to_string(bench.app().join(name)).unwrap();
    let batches: Vec<Value> =
        read("batches.txt").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(batches.len(), 2);
    assert_eq!(batches[0]["tool_calls"][0]["tool_use_id"], "toolu_a");
    assert!(read("end.txt").contains(r#""reason":"other""#));
    bench.is_sound().unwrap();
}

#[test]
fn long_context_of_a_hook_is_a_file_and_its_beginning() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Bash", json!({"command": "true"}))]}),
        json!({"text": "done"}),
    ]));
    let command = r#"printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"begin %s end"}}' $(head -c 20000 /dev/zero | tr '\0' x)"#;
    bench.run(bench.with_hooks(&json!({"PreToolUse": hook(command)})), &["go"]);
    let folder = bench.log().with_extension("").join("tool-results");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("hook-toolu_a-PreToolUse-"), "{name}");
    assert!(name.ends_with("-1-additionalContext.txt"), "{name}");
    let kept = fs::read_to_string(file).unwrap();
    assert!(kept.starts_with("begin xxx") && kept.ends_with("xxx end"));
    let sent = json!(bench.messages()[1]).to_string();
    assert!(sent.contains(&format!("Full output saved to: {}", file.display())), "{sent}");
    assert!(sent.contains("begin xxx") && sent.len() < 10_000, "{}", sent.len());
    bench.is_sound().unwrap();
}

#[test]
fn hooks_answer_questions_and_end_turns() {
    let write =
        |id: &str, name: &str| call(id, "Write", json!({"file_path": name, "content": "x"}));
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [write("toolu_a", "yes.txt"), write("toolu_b", "no.txt"), write("toolu_bb", "odd.txt")]}),
        json!({"nth": 2, "blocks": [call("toolu_c", "Bash", json!({"command": "true"}))]}),
        json!({"nth": 3, "blocks": [call("toolu_d", "Read", json!({"file_path": "a.txt"}))]}),
        json!({"text": "went on"}),
    ]));
    let reply = |behavior: Value| json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": behavior}});
    let command = format!(
        "call=$(cat); case $call in *yes.txt*) echo '{}' ;; *odd.txt*) echo '{}' ;; *) echo '{}' ;; esac",
        reply(json!({"behavior": "allow"})),
        reply(json!({"behavior": "allow", "updatedInput": {"file_path": 5, "content": "x"}})),
        reply(json!({"behavior": "deny", "message": "better not"}))
    );
    let stop = r#"if grep -q toolu_c; then echo '{"decision":"block","reason":"enough"}'; fi"#;
    let defer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}});
    let setup = bench.with_hooks(&json!({
        "PermissionRequest": hook(&command),
        "PostToolBatch": hook(stop),
        "PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": format!("echo '{defer}'")}]}],
    }));
    let permissions = CommandLine::default();
    let ran = bench.run(Setup { permissions, ..setup }, &["go", "on", "and on"]);
    let ends: Vec<&End> = ran.ends().iter().map(|ended| &ended.end).collect();
    assert_eq!(ends[0], &End::HookStopped);
    assert!(matches!(ends[1], End::Deferred(id, name, _) if id == "toolu_d" && name == "Read"));
    // A call that was put off is answered before the next prompt.
    assert_eq!(ends[2], &End::Completed);
    assert!(bench.app().join("yes.txt").exists() && !bench.app().join("no.txt").exists());
    assert!(!bench.app().join("odd.txt").exists());
    let sent = json!(bench.messages()[1]).to_string();
    assert!(sent.contains("better not"), "{sent}");
    assert!(sent.contains("returned updatedInput that failed schema validation: Write"), "{sent}");
    let log = json!(bench.lines()).to_string();
    assert_eq!(log.matches(r#""decision":"deny""#).count(), 2, "{log}");
    bench.is_sound().unwrap();
    let (calls, mut answered) = calls_and_results(&bench.lines());
    answered.sort();
    assert_eq!(calls, answered);
}
