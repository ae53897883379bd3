//! Commands that a prompt names, and sessions of a kind.

use std::fs;
use std::path::PathBuf;

use recto_agent::permission::CommandLine;
use recto_agent::tool::agents_of;
use recto_agent::turn::End;
use recto_agent::turn::Resumed;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use recto_agent::turn::With;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::call;
use crate::bench::hook;
use crate::bench::script;

/// The log that is not the first one.
fn other_log(bench: &Bench) -> PathBuf {
    let first = bench.log();
    let entries = fs::read_dir(first.parent().unwrap()).unwrap();
    let mut logs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|end| end == "jsonl") && *path != first);
    let [log] = &logs[..] else { panic!("{logs:?}") };
    log.clone()
}

fn kinds(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_conversation_starts_over_in_a_log_of_its_own() {
    let bench = Bench::new(&script(&[
        json!({"last": "one", "blocks": [call("toolu_a", "Read", json!({"file_path": "a.txt"}))]}),
        json!({"contains": "alpha", "text": "first answer"}),
        json!({"text": "second answer"}),
    ]));
    let setup = bench.with_hooks(&json!({
        "SessionStart": hook("cat >> starts.txt"),
        "SessionEnd": hook("cat >> ends.txt"),
    }));
    let ran = bench.run(setup, &["one", "/clear", "two"]);
    let ends = ran.ends();
    assert_eq!(ends.len(), 3);
    assert_eq!(ends[1].end, End::Local(Some("clear".into())));
    assert_eq!(ends[1].models, []);
    assert_eq!(ends[2].text, "second answer");
    let over = ran.events.iter().find_map(|event| match event {
        TurnEvent::StartedOver { session } => Some(session.clone()),
        _ => None,
    });
    let log = other_log(&bench);
    assert_eq!(log.file_stem().unwrap().to_string_lossy(), over.unwrap());
    // The model knows nothing of what was said before.
    let last = json!(bench.messages().pop().unwrap()).to_string();
    assert!(last.contains("two") && !last.contains("first answer"), "{last}");
    let first = fs::read_to_string(bench.log()).unwrap();
    assert_eq!(kinds(&first).last().unwrap(), "cost-state");
    assert!(!first.contains("second answer"));
    let second = fs::read_to_string(&log).unwrap();
    assert!(second.contains("/clear") && second.contains("second answer"));
    assert!(!second.contains("first answer"));
    let read = |name: &str| fs::read_to_string(bench.app().join(name)).unwrap();
    assert!(read("starts.txt").contains(r#""source":"clear""#));
    assert!(read("ends.txt").contains(r#""reason":"clear""#));
    // Each of the two goes on by itself.
    for (log, said) in [(bench.log(), "first answer"), (log, "second answer")] {
        let resumed = Resumed::read(&log, None, None).unwrap();
        let setup = Setup {
            session: log.file_stem().unwrap().to_string_lossy().parse().unwrap(),
            resumed: Some(resumed),
            log: Some(log),
            ..bench.setup()
        };
        bench.run(setup, &["go on"]);
        let sent = json!(bench.messages().pop().unwrap()).to_string();
        assert!(sent.contains(said), "{sent}");
    }
    bench.is_sound().unwrap();
}

#[test]
fn what_a_command_allows_and_who_follows_it_holds_for_its_turn() {
    let touch = |name: &str| call(name, "Bash", json!({"command": format!("touch {name}")}));
    let bench = Bench::new(&script(&[
        json!({"contains": "Make the file", "blocks": [touch("toolu_a")]}),
        json!({"last": "again", "blocks": [touch("toolu_b")]}),
        json!({"text": "done"}),
    ]));
    let commands = bench.app().join(".claude/commands");
    fs::create_dir_all(&commands).unwrap();
    let text = "---\nallowed-tools: Bash(touch:*)\nmodel: haiku\n---\nMake the file $ARGUMENTS\n";
    fs::write(commands.join("make.md"), text).unwrap();
    let setup = Setup { permissions: CommandLine::default(), ..bench.setup() };
    bench.run(setup, &["/make it", "again"]);
    assert!(bench.app().join("toolu_a").exists());
    assert!(!bench.app().join("toolu_b").exists());
    let asked = bench.mock.asked();
    let models: Vec<&str> =
        asked.iter().map(|asked| asked.body["model"].as_str().unwrap()).collect();
    assert_eq!(models[..2], ["claude-haiku-5-5", "claude-haiku-5-5"]);
    assert!(models[2..].iter().all(|model| *model == "claude-opus-5-5"), "{models:?}");
    bench.is_sound().unwrap();
}

#[test]
fn a_session_can_be_of_a_kind() {
    let bench = Bench::new(&script(&[json!({"text": "done"})]));
    let agents = agents_of(&json!({"reader": {
        "description": "reads", "prompt": "You only read.", "tools": ["Read"], "model": "haiku",
    }}));
    let with = With { agents, agent: Some("reader".into()), ..With::default() };
    bench.run(Setup { with, ..bench.setup() }, &["go"]);
    let body = &bench.mock.asked()[0].body;
    assert!(body["system"].to_string().contains("You only read."));
    assert_eq!(body["model"], "claude-haiku-5-5");
    let tools: Vec<&Value> =
        body["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(tools, ["Read"]);
    let with = With { agent: Some("nobody".into()), ..With::default() };
    let ran = bench.run(Setup { with, session: other_id(), ..bench.setup() }, &["go"]);
    let is_told =
        |event: &TurnEvent| matches!(event, TurnEvent::Told(text) if text.contains("nobody"));
    assert!(ran.events.iter().any(is_told));
}

fn other_id() -> recto_log::SessionId {
    "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60719".parse().unwrap()
}
