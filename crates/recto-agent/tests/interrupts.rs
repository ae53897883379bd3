//! A turn that is interrupted: what was said stays, every call is answered, and nothing runs on.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use recto_agent::turn::Control;
use recto_agent::turn::End;
use recto_agent::turn::TurnEvent;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::call;
use crate::bench::calls_and_results;
use crate::bench::script;

/// A command whose processes note themselves in `running/` and do not want to end.
const STUBBORN: &str = r"mkdir -p running
(trap '' TERM; echo > running/$BASHPID; exec sleep 6000) &
(echo > running/$BASHPID; exec sleep 6000) &
echo > running/$$
wait; touch never";

/// The processes that noted themselves.
fn noted(app: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(app.join("running")).into_iter().flatten();
    entries.map(|entry| Path::new("/proc").join(entry.unwrap().file_name())).collect()
}

fn is_alive(process: &Path) -> bool {
    let state = fs::read_to_string(process.join("stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

/// Interrupts when so many processes run.
fn interrupt_when(app: PathBuf, count: usize, control: &Control) {
    let control = control.clone();
    std::thread::spawn(move || {
        while noted(&app).len() < count {
            std::thread::sleep(Duration::from_millis(5));
        }
        control.interrupt();
    });
}

fn assert_nothing_runs(app: &Path, count: usize) {
    let processes = noted(app);
    assert_eq!(processes.len(), count);
    // A process that was killed is gone when the system gets to it.
    while processes.iter().any(|process| is_alive(process)) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!app.join("never").exists());
}

fn assert_answered(lines: &[Value]) {
    let (mut calls, mut results) = calls_and_results(lines);
    calls.sort();
    results.sort();
    assert_eq!(calls, results);
}

/// The logs of subagents.
fn agent_logs(bench: &Bench) -> Vec<Vec<Value>> {
    let folder = bench.log().with_extension("").join("subagents");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let logs = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let lines = |path: PathBuf| -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    logs.map(lines).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_answers_every_call_and_leaves_no_process() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [
            call("toolu_a", "Bash", json!({"command": STUBBORN})),
            call("toolu_b", "Bash", json!({"command": "touch never"})),
        ]}),
        json!({"nth": 2, "text": "went on"}),
    ]));
    let ran = bench.steer(bench.setup(), &["go", "again"], |event, control| {
        if let TurnEvent::Said(said) = event
            && said.message.to_serde()["content"][0]["id"] == "toolu_b"
        {
            interrupt_when(bench.app(), 3, control);
        }
    });
    let ends: Vec<&End> = ran.ends().iter().map(|ended| &ended.end).collect();
    assert_eq!(ends, [&End::InterruptedTools, &End::Completed]);
    assert_nothing_runs(&bench.app(), 3);
    assert_answered(&bench.lines());
    bench.is_sound().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_what_subagents_of_subagents_run() {
    let agent = |id: &str, prompt: &str| {
        let input = json!({"description": "work", "prompt": prompt, "run_in_background": false});
        json!([call(id, "Agent", input)])
    };
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": agent("toolu_a", "outer work")}),
        json!({"last": "outer work", "blocks": agent("toolu_b", "inner work")}),
        json!({"last": "inner work", "blocks": [call("toolu_c", "Bash", json!({"command": STUBBORN}))]}),
        json!({"text": "went on"}),
    ]));
    let mut is_watched = false;
    let ran = bench.steer(bench.setup(), &["go", "again"], |event, control| {
        if let (TurnEvent::Said(_), false) = (event, is_watched) {
            is_watched = true;
            interrupt_when(bench.app(), 3, control);
        }
    });
    let ends: Vec<&End> = ran.ends().iter().map(|ended| &ended.end).collect();
    assert_eq!(ends, [&End::InterruptedTools, &End::Completed]);
    assert_nothing_runs(&bench.app(), 3);
    assert_answered(&bench.lines());
    let logs = agent_logs(&bench);
    assert_eq!(logs.len(), 2);
    logs.iter().for_each(|lines| assert_answered(lines));
    bench.is_sound().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_is_stopped_leaves_nothing_in_the_background() {
    let background = json!({"command": STUBBORN, "run_in_background": true});
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": [
            call("toolu_a", "Agent", json!({"description": "work", "prompt": "sub work"})),
        ]}),
        json!({"last": "sub work", "blocks": [
            call("toolu_b", "Bash", background),
            call("toolu_c", "Bash", json!({"command": STUBBORN})),
        ]}),
        json!({"text": "it runs"}),
    ]));
    let ran = bench.steer(bench.setup(), &["go", "forgotten"], |event, control| {
        if let TurnEvent::Ended(_) = event {
            let (control, app) = (control.clone(), bench.app());
            std::thread::spawn(move || {
                while noted(&app).len() < 6 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                control.stop();
            });
        }
    });
    assert!(ran.ends().len() < 3, "{}", ran.ends().len());
    assert_nothing_runs(&bench.app(), 6);
    assert_answered(&bench.lines());
    agent_logs(&bench).iter().for_each(|lines| assert_answered(lines));
    bench.run(bench.resumed(), &["and now?"]);
    bench.is_sound().unwrap();
}

#[test]
fn an_interrupt_keeps_what_was_said() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "text": "word ".repeat(400), "event_delay_ms": 30}),
        json!({"nth": 2, "text": "went on"}),
    ]));
    let mut seen = 0;
    let ran = bench.steer(bench.setup(), &["go", "again"], |event, control| {
        if let TurnEvent::Stream { .. } = event {
            seen += 1;
            if seen == 4 {
                control.interrupt();
            }
        }
    });
    let ends: Vec<&End> = ran.ends().iter().map(|ended| &ended.end).collect();
    assert_eq!(ends, [&End::InterruptedText, &End::Completed]);
    let aborted =
        bench.lines().into_iter().find(|line| line["isAbortedMidStream"] == true).unwrap();
    assert!(aborted["message"]["content"][0]["text"].as_str().unwrap().starts_with("word"));
    bench.is_sound().unwrap();
    bench.run(bench.resumed(), &["third"]);
    bench.is_sound().unwrap();
}
