//! Random dialogues: tools, subagents, errors, interrupts, compacted and damaged histories. The
//! strict mock refuses none of the requests that come of them.
//!
//! ```sh
//! RECTO_FUZZ_ITERATIONS=10000 cargo test -p recto-agent --test runner --release random_dialogues
//! ```
//!
//! A failure names the seed that repeats it.

use std::fs;
use std::path::Path;

use recto_agent::turn::Control;
use recto_agent::turn::Cut;
use recto_agent::turn::LogStyle;
use recto_agent::turn::Resumed;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use recto_testkit::fuzz::Random;
use recto_testkit::fuzz::variable;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::ID;
use crate::bench::call;
use crate::bench::script;

fn block(random: &mut Random, number: &mut u64) -> Value {
    *number += 1;
    let id = format!("toolu_{number}");
    match random.below(16) {
        0 => json!({"type": "text", "text": ""}),
        1 | 2 => json!({"type": "text", "text": format!("text {number}")}),
        3 | 4 => call(&id, "Read", json!({"file_path": "a.txt"})),
        5 => call(&id, "Bash", json!({"command": "echo x; exit 1"})),
        6 => call(&id, "Write", json!({"file_path": "b.txt", "content": number.to_string()})),
        7 => call(&id, "Nothing", json!([])),
        8 => call(&id, "Bash", json!({"command": 3})),
        9 => call(&id, "Bash", json!({"command": "cd /; true", "run_in_background": true})),
        10 | 11 => json!({"type": "thinking", "thinking": format!("thought {number}")}),
        12 => {
            let is_waited_for = random.below(2) == 0;
            let prompt = format!("sub work {number}");
            let mut input = json!({"description": "work", "prompt": prompt});
            if is_waited_for {
                input["run_in_background"] = json!(false);
            }
            call(&id, "Agent", input)
        }
        13 => call(&id, "MultiEdit", json!({"file_path": "a.txt", "edits": []})),
        _ => json!({"type": "text", "text": "\u{fffd} \" \\ \n"}),
    }
}

fn rule(random: &mut Random, nth: u64, number: &mut u64) -> Value {
    let blocks: Vec<Value> = (0..=random.below(4)).map(|_| block(random, number)).collect();
    let mut rule = json!({"nth": nth, "blocks": blocks});
    match random.below(16) {
        0 => rule["stop_reason"] = json!("max_tokens"),
        1 => rule["stop_reason"] = json!("refusal"),
        2 => rule["stop_reason"] = json!("pause_turn"),
        3 => rule["fault"] = json!("529"),
        4 => rule["fault"] = json!(format!("cut-event:{}", 1 + random.below(8))),
        5 => rule["fault"] = json!(format!("error-event:{}", 1 + random.below(8))),
        6 => rule["fault"] = json!("500"),
        7 => rule["fault"] = json!(format!("cut-byte:{}", random.below(600))),
        8 => rule["stop_reason"] = json!("model_context_window_exceeded"),
        _ => {}
    }
    rule
}

/// A session that some client wrote, with compactions.
fn history(random: &mut Random) -> Vec<u8> {
    let client = *random.pick(&[Client::V2_0_50, Client::V2_1_29, Client::V2_1_325]);
    let mut built = SessionBuilder::new(ID, client).prompt("the first prompt");
    for number in 0..random.below(14) {
        let read = r#"{"file_path":"a.txt"}"#;
        built = match random.below(12) {
            0 | 1 => built.prompt(&format!("prompt {number}")),
            2 => built.thinking("I think"),
            3 => built.tool("Read", read, "alpha"),
            4 => built.tool("LS", r#"{"path":"."}"#, "- a.txt"),
            5 => built.failed_tool("Bash", r#"{"command":"false"}"#, "Exit code 1"),
            6 => built.compaction("What happened so far."),
            7 => built.meta_text("<system-reminder>Be brief.</system-reminder>"),
            8 => built.user_text("[Request interrupted by user]"),
            9 => built.model_block(
                r#"{"type":"tool_use","id":"toolu_open","name":"Read","input":{"file_path":"a.txt"}}"#,
            ),
            10 => built.attachment("date", ("date", "2026-11-16")),
            _ => built.answer(&format!("answer {number}")),
        };
    }
    built.bytes().to_vec()
}

/// A log as an accident leaves it.
fn damage(path: &Path, random: &mut Random) {
    let Ok(bytes) = fs::read(path) else { return };
    let mut lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    for _ in 0..random.below(4) {
        let at = random.below(lines.len());
        match random.below(9) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
            // Two writers, one line.
            3 => drop(lines[at].pop()),
            4 => lines.insert(at, b"null\n".to_vec()),
            5 => {
                let half = lines[at].len() / 2;
                lines[at].truncate(half);
            }
            6 => lines.insert(at, b"{\"type\":\"user\",\"mess\n".to_vec()),
            // A signature that no longer fits cannot be seen here: endpoints check it.
            7 if !lines[at].windows(8).any(|part| part == b"thinking") => {
                random.damage(&mut lines[at], &["null", "\"uuid\":\"x\"", "[]", "\\ud83d"]);
            }
            8 => lines.truncate(at + 1),
            _ => {}
        }
        if lines.is_empty() {
            break;
        }
    }
    fs::write(path, lines.concat()).unwrap();
}

/// The session again, in some way; nothing if nothing is left to go on from.
fn again(bench: &Bench, random: &mut Random) -> Option<Setup> {
    let model = *random.pick(&[None, None, Some("claude-opus-5-5"), Some("claude-haiku-4-5")]);
    let at = match random.below(5) {
        0 => some_uuid(&bench.log(), random).map(|at| Cut { at, drops: None }),
        _ => None,
    };
    let mut resumed = Resumed::read(&bench.log(), model, at.as_ref()).ok()?;
    if random.below(5) == 0 {
        resumed.fit(random.below(400) as u64);
    }
    let style = if random.below(6) == 0 { LogStyle::V2_1_29 } else { LogStyle::Newest };
    let model = model.map(str::to_owned);
    let log = Some(bench.log());
    Some(Setup { resumed: Some(resumed), log, model, style, ..bench.setup() })
}

/// A line of the conversation.
fn some_uuid(log: &Path, random: &mut Random) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(log).ok()?).into_owned();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_said = |line: &Value| line["type"] == "user" || line["type"] == "assistant";
    let lines: Vec<Value> = lines.filter(is_said).collect();
    if lines.is_empty() {
        return None;
    }
    random.pick(&lines)["uuid"].as_str().map(str::to_owned)
}

fn dialogue(random: &mut Random) -> Result<(), String> {
    let mut calls = 0;
    let mut rules: Vec<Value> = (1..40).map(|nth| rule(random, nth, &mut calls)).collect();
    rules.push(json!({"text": "done"}));
    let bench = Bench::new(&script(&rules));
    if random.below(3) == 0 {
        fs::create_dir_all(bench.log().parent().unwrap()).unwrap();
        fs::write(bench.log(), history(random)).unwrap();
    } else {
        talk(&bench, bench.setup(), random)?;
    }
    for _ in 0..=random.below(3) {
        damage(&bench.log(), random);
        let Some(setup) = again(&bench, random) else { continue };
        talk(&bench, setup, random)?;
    }
    Ok(())
}

/// Two turns, one of which may be interrupted.
fn talk(bench: &Bench, setup: Setup, random: &mut Random) -> Result<(), String> {
    let at = random.below(80);
    let stops = random.below(4) == 0;
    let mut seen = 0;
    bench.steer(setup, &["one", "two"], |_: &TurnEvent, control: &Control| {
        seen += 1;
        match (seen == at, stops) {
            (true, true) => control.stop(),
            (true, false) => drop(control.interrupt()),
            (false, _) => {}
        }
    });
    bench.is_sound()
}

#[test]
fn random_dialogues_are_never_refused() {
    let start = variable("RECTO_FUZZ_SEED", 1);
    for seed in start..start + variable("RECTO_FUZZ_ITERATIONS", 16) {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let problem = dialogue(&mut random);
        assert_eq!(problem, Ok(()), "RECTO_FUZZ_SEED={seed} RECTO_FUZZ_ITERATIONS=1");
    }
}
