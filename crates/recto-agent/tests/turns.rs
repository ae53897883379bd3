//! Whole turns against the strict mock.

use std::fs;

use recto_agent::permission::CommandLine;
use recto_agent::turn::End;
use recto_agent::turn::Prompt;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::ID;
use crate::bench::call;
use crate::bench::calls_and_results;
use crate::bench::hook;
use crate::bench::script;

#[test]
fn what_is_sent_is_what_the_log_says() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [
            {"type": "text", "text": "Three at once."},
            call("toolu_a", "Read", json!({"file_path": "a.txt"})),
            call("toolu_b", "Bash", json!({"command": "cd .. && pwd; exit 3"})),
            call("toolu_c", "NoSuchTool", json!({})),
        ]}),
        json!({"nth": 2, "blocks": [call("toolu_d", "Edit", json!({"file_path": "a.txt", "old_string": "alpha", "new_string": "ALPHA"}))]}),
        json!({"nth": 3, "text": "cut", "stop_reason": "max_tokens"}),
        json!({"nth": 4, "text": "done"}),
        json!({"nth": 5, "text": "second turn"}),
        json!({"nth": 6, "text": "after resume"}),
    ]));
    let ran = bench.run(bench.setup(), &["first", "second"]);
    let ends: Vec<&End> = ran.ends().iter().map(|ended| &ended.end).collect();
    assert_eq!(ends, [&End::Completed, &End::Completed]);
    assert_eq!(ran.ends()[0].num_turns, 6);
    assert_eq!(fs::read_to_string(bench.app().join("a.txt")).unwrap(), "ALPHA\nbeta\n");
    bench.run(bench.resumed(), &["third"]);
    bench.is_sound().unwrap();
    let sent = bench.messages();
    assert_eq!(sent.len(), 6);
    // Each request begins with the one before.
    for (number, pair) in sent.windows(2).enumerate() {
        assert_eq!(pair[0], pair[1][..pair[0].len()], "request {}", number + 2);
    }
    let (calls, results) = calls_and_results(&bench.lines());
    assert_eq!(calls.len(), 4);
    let mut sorted = (calls.clone(), results);
    sorted.0.sort();
    sorted.1.sort();
    assert_eq!(sorted.0, sorted.1);
    // The file as it was is kept, and a line says where.
    let delta =
        bench.lines().into_iter().find(|line| line["type"] == "file-history-delta").unwrap();
    let name = delta["backup"]["backupFileName"].as_str().unwrap();
    let kept = bench.home().file_history().join(ID).join(name);
    assert_eq!(fs::read_to_string(kept).unwrap(), "alpha\nbeta\n");
    // Lines of the chain hang together.
    let lines = bench.lines();
    let uuids: Vec<&str> = lines.iter().filter_map(|line| line["uuid"].as_str()).collect();
    let roots =
        lines.iter().filter(|line| line["uuid"].is_string() && line["parentUuid"].is_null());
    assert_eq!(roots.count(), 1);
    assert!(
        lines
            .iter()
            .filter_map(|line| line["parentUuid"].as_str())
            .all(|parent| uuids.contains(&parent))
    );
}

#[test]
fn the_log_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new(&script(&[json!({"text": "hello"})]));
    bench.run(bench.setup(), &["hi"]);
    assert_eq!(fs::metadata(bench.log()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_dir(bench.home().live_sessions()).unwrap().next().is_none());
    let first = &bench.lines()[3];
    assert_eq!(first["entrypoint"], "recto");
    assert!(first["version"].as_str().unwrap().contains("recto"));
    let quiet = Setup { keeps_log: false, ..bench.setup() };
    fs::remove_file(bench.log()).unwrap();
    bench.run(quiet, &["hi"]);
    assert!(!bench.log().exists());
}

#[test]
fn a_subagent_has_a_log_of_its_own_and_its_end_wakes_the_session() {
    let bench = Bench::new(&script(&[
        json!({"contains": "start two", "blocks": [
            call("toolu_a", "Agent", json!({"description": "wait for it", "prompt": "sub work one", "run_in_background": false})),
            call("toolu_b", "Agent", json!({"description": "leave it", "prompt": "sub work two"})),
        ]}),
        json!({"contains": "sub work two", "delay_ms": 700, "text": "the late subagent is done"}),
        json!({"contains": "sub work one", "text": "the subagent is done"}),
        json!({"contains": "task-notification", "text": "I was told"}),
        json!({"text": "both run"}),
    ]));
    let ran = bench.run(bench.setup(), &["start two"]);
    bench.is_sound().unwrap();
    let texts: Vec<&str> = ran.ends().iter().map(|ended| ended.text.as_str()).collect();
    assert_eq!(texts, ["both run", "I was told"]);
    let folder = bench.log().with_extension("").join("subagents");
    let names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.iter().filter(|name| name.ends_with(".jsonl")).count(), 2);
    assert_eq!(names.iter().filter(|name| name.ends_with(".meta.json")).count(), 2);
    bench.run(bench.resumed(), &["and now?"]);
    bench.is_sound().unwrap();
}

#[test]
fn prompts_that_come_meanwhile_are_part_of_the_turn() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Bash", json!({"command": "sleep 0.3"}))]}),
        json!({"nth": 2, "text": "both heard"}),
    ]));
    let mut is_told = false;
    let ran = bench.steer(bench.setup(), &["first"], |event, control| {
        if let (TurnEvent::Said(_), false) = (event, is_told) {
            is_told = true;
            control.prompt(Prompt::text("and this too"));
        }
    });
    assert_eq!(ran.ends().len(), 1);
    let sent = bench.messages();
    assert_eq!(sent.len(), 2);
    assert!(sent[1].last().unwrap().to_string().contains("and this too"));
    assert!(bench.lines().iter().any(|line| line["attachment"]["type"] == "queued_command"));
    bench.is_sound().unwrap();
}

#[test]
fn limits_and_failures_end_a_turn() {
    let turns = Bench::new(&script(&[
        json!({"blocks": [call("toolu_a", "Bash", json!({"command": "true"}))]}),
    ]));
    let setup = Setup { max_turns: Some(1), ..turns.setup() };
    let ran = turns.run(setup, &["go"]);
    assert_eq!((&ran.ends()[0].end, ran.ends()[0].num_turns), (&End::MaxTurns(1), 2));
    let money = Bench::new(&script(&[
        json!({"blocks": [call("toolu_a", "Bash", json!({"command": "true"}))]}),
    ]));
    let setup = Setup { budget: Some(0.000_001), ..money.setup() };
    assert!(matches!(money.run(setup, &["go"]).ends()[0].end, End::Budget(_)));
    let broken = Bench::new(&script(&[json!({"fault": "400"})]));
    let ran = broken.run(broken.setup(), &["go"]);
    assert!(
        matches!(&ran.ends()[0].end, End::ApiError(text, _) if text.starts_with("API Error: 400"))
    );
    assert!(ran.ends()[0].is_error());
}

#[test]
fn hooks_see_a_turn_and_steer_it() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Bash", json!({"command": "touch ran"}))]}),
        json!({"nth": 2, "text": "first end"}),
        json!({"nth": 3, "text": "second end"}),
    ]));
    let once = "test -e stopped || { touch stopped; echo not yet >&2; exit 2; }";
    let setup = bench.with_hooks(&json!({
        "SessionStart": hook("echo welcome"),
        "UserPromptSubmit": hook("grep -q forbidden && { echo no >&2; exit 2; } || true"),
        "PreToolUse": hook("echo not this one >&2; exit 2"),
        "Stop": hook(once),
    }));
    let ran = bench.run(setup, &["go", "forbidden words"]);
    let [first, second] = ran.ends()[..] else { panic!("{}", ran.ends().len()) };
    assert_eq!((&first.end, first.text.as_str()), (&End::Completed, "second end"));
    assert_eq!(first.denials.len(), 1);
    assert!(matches!(&second.end, End::PromptBlocked(text) if text.contains("forbidden words")));
    assert!(!bench.app().join("ran").exists());
    let sent = bench.messages();
    assert_eq!(sent.len(), 3);
    let text = json!(sent[2]).to_string();
    assert!(text.contains("PreToolUse:Bash hook error") && text.contains("Stop hook feedback"));
    assert!(json!(sent[0]).to_string().contains("SessionStart:startup hook success: welcome"));
    assert!(bench.lines().iter().any(|line| line["subtype"] == "stop_hook_summary"));
    bench.is_sound().unwrap();
}

#[test]
fn an_output_of_the_wrong_shape_is_sent_back() {
    let output = |id: &str, input: Value| json!([call(id, "StructuredOutput", input)]);
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": output("toolu_a", json!({"color": "red"}))}),
        json!({"nth": 2, "blocks": output("toolu_b", json!({"color": "red", "n": 3}))}),
    ]));
    let schema = json!({"type": "object", "required": ["color", "n"]});
    let schema = recto_agent::turn::OutputSchema::new(schema);
    let ran = bench.run(Setup { schema, ..bench.setup() }, &["go"]);
    assert_eq!(ran.ends()[0].structured_output, Some(json!({"color": "red", "n": 3})));
    assert_eq!(bench.messages().len(), 2);
    bench.is_sound().unwrap();
}

#[test]
fn who_is_asked_decides() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [
            call("toolu_a", "Write", json!({"file_path": "yes.txt", "content": "x"})),
            call("toolu_b", "Write", json!({"file_path": "no.txt", "content": "x"})),
        ]}),
        json!({"text": "done"}),
    ]));
    let (asker, mut questions) = tokio::sync::mpsc::channel(4);
    let setup = Setup { asker: Some(asker), permissions: CommandLine::default(), ..bench.setup() };
    let answering = std::thread::spawn(move || {
        let mut asked = Vec::new();
        while let Some(question) = questions.blocking_recv() {
            let path = question.input["file_path"].as_str().unwrap().to_owned();
            let reply = match path.starts_with("yes") {
                true => recto_agent::turn::Reply::Allow {
                    updated_input: None,
                    updated_permissions: Vec::new(),
                },
                false => recto_agent::turn::Reply::Deny {
                    message: "better not".into(),
                    interrupt: false,
                },
            };
            asked.push(path);
            question.answer.send(reply).unwrap();
            if asked.len() == 2 {
                break;
            }
        }
        asked
    });
    let ran = bench.run(setup, &["go"]);
    assert_eq!(answering.join().unwrap(), ["yes.txt", "no.txt"]);
    assert!(bench.app().join("yes.txt").exists() && !bench.app().join("no.txt").exists());
    assert_eq!(ran.ends()[0].denials.len(), 1);
    assert!(json!(bench.messages()[1]).to_string().contains("better not"));
    bench.is_sound().unwrap();
}
