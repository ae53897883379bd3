//! `recto run` that is interrupted, told to end, or killed: what is left behind goes on.
//!
//! The kills of a test run are few. All of them:
//!
//! ```sh
//! RECTO_KILLS=200 cargo test -p recto --test runner killed_at_any_moment
//! ```

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use recto_testkit::fuzz::Random;
use recto_testkit::fuzz::variable;
use serde_json::Value;
use serde_json::json;

use crate::run::Bench;
use crate::run::ID;
use crate::run::call;

/// A command whose processes note themselves in `running/`. One ignores the polite signal, and
/// one leaves its group and session.
const STUBBORN: &str = r"mkdir -p running
(trap '' TERM; echo > running/$BASHPID; exec sleep 6000) &
setsid bash -c 'echo > running/$$; exec sleep 6000' &
echo > running/$$
wait; touch never";

/// Options of a session that may do anything.
const FREE: [&str; 6] = ["run", "-p", "go", "--session-id", ID, "--dangerously-skip-permissions"];

/// The processes that noted themselves.
fn noted(bench: &Bench) -> Vec<PathBuf> {
    let entries = fs::read_dir(bench.test.work.path().join("running")).into_iter().flatten();
    entries.map(|entry| Path::new("/proc").join(entry.unwrap().file_name())).collect()
}

fn is_alive(process: &Path) -> bool {
    let state = fs::read_to_string(process.join("stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn start(bench: &Bench, arguments: &[&str]) -> Child {
    let mut command = bench.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let command = format!("kill {name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
}

/// The lines of a log, each of which is whole.
fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "a torn line");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn assert_answered(bench: &Bench) {
    let log = bench.logs().pop().unwrap();
    let agents = fs::read_dir(log.with_extension("").join("subagents")).into_iter().flatten();
    let agents = agents.map(|entry| entry.unwrap().path());
    let agents = agents.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    for path in agents.chain([log]) {
        let lines = lines(&path);
        let blocks = |kind: &str, key: &str| -> Vec<String> {
            let contents = lines.iter().filter_map(|line| line["message"]["content"].as_array());
            let found = contents.flatten().filter(|block| block["type"] == kind);
            let mut ids: Vec<String> = found.map(|block| block[key].to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(blocks("tool_use", "id"), blocks("tool_result", "tool_use_id"));
    }
}

/// Everything that a session can have running: a command, one that waits, a subagent with a
/// command, and one in the background.
fn busy() -> Bench {
    let background = json!({"command": STUBBORN, "run_in_background": true});
    Bench::new(&[
        json!({"contains": "sub work", "blocks": [call("toolu_s", "Bash", json!({"command": STUBBORN}))]}),
        json!({"last": "go", "blocks": [
            call("toolu_a", "Bash", background),
            call("toolu_b", "Agent", json!({"description": "d", "prompt": "sub work"})),
            call("toolu_c", "Bash", json!({"command": STUBBORN})),
            call("toolu_d", "Bash", json!({"command": "touch never"})),
        ]}),
        json!({"text": "went on"}),
    ])
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_the_turn_and_all_processes_and_every_call_is_answered() {
    for (name, code) in [("-INT", 0), ("-TERM", 143)] {
        let bench = busy();
        let mut child = start(&bench, &FREE);
        wait_until(|| noted(&bench).len() == 9);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{name}");
        let processes = noted(&bench);
        wait_until(|| !processes.iter().any(|process| is_alive(process)));
        assert!(!bench.test.work.path().join("never").exists());
        assert_answered(&bench);
        assert!(fs::read_dir(bench.test.home.path().join("sessions")).unwrap().next().is_none());
        assert_eq!(bench.run(&["request", ID]).code, 0);
        assert_eq!(bench.run(&["run", "-p", "on", "--resume", ID]).stdout, "went on\n");
        assert_eq!(bench.refusals(), [""; 0]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_session_that_waits_for_its_tasks() {
    let background = json!({"command": STUBBORN, "run_in_background": true});
    let bench = Bench::new(&[
        json!({"last": "go", "blocks": [call("toolu_a", "Bash", background)]}),
        json!({"text": "it runs"}),
    ]);
    let options = [&FREE[..], &["--output-format", "stream-json", "--verbose"]].concat();
    let mut child = start(&bench, &options);
    let output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(output);
    // The turn is over, and the task is not.
    assert!(lines.any(|line| line.unwrap().contains(r#""type":"result""#)));
    wait_until(|| noted(&bench).len() == 3);
    signal(&child, "-INT");
    lines.for_each(drop);
    child.wait().unwrap();
    let processes = noted(&bench);
    wait_until(|| !processes.iter().any(|process| is_alive(process)));
    assert_answered(&bench);
}

/// A session with calls, calls at once, thinking, and a subagent. Each command notes that it
/// ran.
fn scripted() -> Bench {
    let note = |id: u32| {
        let command = format!("echo {id} >> ran.txt");
        call(&format!("toolu_{id}"), "Bash", json!({"command": command}))
    };
    let agent = json!({"description": "d", "prompt": "sub work", "run_in_background": false});
    Bench::new(&[
        json!({"contains": "sub work", "event_delay_ms": 2, "blocks": [note(7), note(8)]}),
        json!({"nth": 1, "event_delay_ms": 2, "blocks": [
            {"type": "thinking", "thinking": "first"},
            {"type": "text", "text": "first"},
            note(1),
            note(2),
        ]}),
        json!({"nth": 2, "event_delay_ms": 2, "blocks": [
            note(3),
            {"type": "text", "text": "and"},
            call("toolu_agent", "Agent", agent),
            note(4),
        ]}),
        json!({"nth": 5, "event_delay_ms": 2, "blocks": [note(5), note(6)]}),
        json!({"text": "done"}),
    ])
}

#[cfg(unix)]
#[test]
fn killed_at_any_moment_a_session_goes_on_and_no_tool_runs_twice() {
    // How long such a run takes here and now.
    let whole = scripted();
    let began = Instant::now();
    assert_eq!(whole.run(&FREE).stdout, "done\n");
    let longest = began.elapsed().as_micros() as usize;
    let seed = variable("RECTO_FUZZ_SEED", 1);
    let mut random = Random::new(seed);
    for _ in 0..variable("RECTO_KILLS", 12) {
        let moment = Duration::from_micros(random.below(longest) as u64);
        let bench = scripted();
        let mut child = start(&bench, &FREE);
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        let Some(log) = bench.logs().pop() else { continue };
        let before = lines(&log);
        let has_prompt = before.iter().any(|line| line["type"] == "user");
        assert_eq!(bench.run(&["request", ID]).code == 0, has_prompt, "{moment:?}");
        let options = ["run", "-p", "on", "--resume", ID, "--dangerously-skip-permissions"];
        let again = bench.run(&options);
        assert_eq!(again.code == 0, has_prompt, "{moment:?}: {}", again.stderr);
        assert_eq!(bench.refusals(), [""; 0], "{moment:?}");
        if has_prompt {
            assert_eq!(lines(&log)[..before.len()], before);
        }
        let ran = fs::read_to_string(bench.test.work.path().join("ran.txt")).unwrap_or_default();
        let mut once: Vec<&str> = ran.lines().collect();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ran.lines().count(), "{moment:?}: {ran:?}");
    }
}
