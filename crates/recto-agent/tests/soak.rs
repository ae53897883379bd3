//! Sessions of many turns with tasks and subagents: nothing may pile up. `cargo xtask bench soak`
//! measures memory and open files over 2,000 turns.

use std::fs;
use std::path::Path;

use recto_agent::mock::MockOptions;
use recto_agent::turn::Prompt;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use recto_agent::turn::With;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::script;
use crate::support::wait;

/// The window of these sessions, in tokens.
const WINDOW: u64 = 12_000;

/// What a session left.
#[derive(Default)]
struct Soaked {
    failed: usize,
    ended: usize,
    notified: usize,
    boundaries: usize,
}

fn prompt(number: usize) -> String {
    match number % 20 {
        5 => "start a command".to_owned(),
        10 => "start a subagent".to_owned(),
        15 => "wait for a subagent".to_owned(),
        _ => format!("prompt {number} {}", "lorem ipsum dolor ".repeat(20)),
    }
}

fn soak(turns: usize) -> Soaked {
    let agent = |is_background: bool| {
        json!({"type": "tool_use", "name": "Agent", "input": {
            "description": "work", "prompt": "sub work", "run_in_background": is_background,
        }})
    };
    let command = "mkdir -p pids; echo $$ > pids/$$; echo out";
    let bash = json!({"command": command, "run_in_background": true});
    let options = MockOptions { keep: 4, ..MockOptions::default() };
    let rules = script(&[
        json!({"contains": "write a summary", "text": "SUMMARY"}),
        json!({"contains": "task-notification", "text": "I was told"}),
        json!({"last": "start a command", "blocks": [
            {"type": "tool_use", "name": "Bash", "input": bash},
        ]}),
        json!({"last": "start a subagent", "blocks": [agent(true)]}),
        json!({"last": "wait for a subagent", "blocks": [agent(false)]}),
        json!({"last": "sub work", "blocks": [
            {"type": "tool_use", "name": "Bash", "input": {"command": command}},
        ]}),
        json!({"text": "an answer of some length ".repeat(20)}),
    ]);
    let bench = Bench::with(&rules, options);
    let with = With { own_window: Some(WINDOW), ..With::default() };
    let setup = Setup { with, ..bench.setup() };
    let mut soaked = Soaked::default();
    wait(async {
        let (runner, control, mut events) = setup.start();
        let mut given = 0;
        control.prompt(Prompt::text(prompt(given)));
        let mut running = tokio::spawn(runner.run());
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => match event {
                    TurnEvent::Ended(ended) => {
                        soaked.ended += 1;
                        soaked.failed += usize::from(ended.is_error());
                        // What wakes the session ends turns, too.
                        if ended.origin.is_some() {
                            soaked.notified += 1;
                            continue;
                        }
                        given += 1;
                        match given < turns {
                            true => control.prompt(Prompt::text(prompt(given))),
                            false => control.close(),
                        }
                    }
                    TurnEvent::System(line) if line["subtype"] == "compact_boundary" => {
                        soaked.boundaries += 1;
                    }
                    _ => {}
                },
                end = &mut running => {
                    end.unwrap();
                    break;
                }
            }
        }
    });
    assert_no_process(&bench.app().join("pids"));
    assert_only_output(&bench.folder.path().join("temporary"));
    soaked
}

/// No command is left, neither at work nor as a zombie.
fn assert_no_process(pids: &Path) {
    let own = std::process::id();
    for entry in fs::read_dir(pids).unwrap() {
        let pid = entry.unwrap().file_name().to_string_lossy().into_owned();
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let parent = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap();
        assert_ne!(parent, own.to_string(), "process {pid} is left: {stat}");
    }
}

/// Nothing but the output of tasks is left of them.
fn assert_only_output(folder: &Path) {
    for path in crate::support::files(folder, "") {
        let name = path.to_string_lossy();
        assert!(name.ends_with(".output"), "{name} is left");
    }
}

#[test]
fn a_session_with_tasks_and_subagents_leaves_nothing_behind() {
    let soaked = soak(60);
    assert_eq!(soaked.failed, 0);
    assert!(soaked.ended >= 60 && soaked.notified > 0);
    assert!(soaked.boundaries > 0);
}
