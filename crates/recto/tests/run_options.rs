//! Every option and variable with which hosts start the client, in both spellings.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use serde_json::Value;
use serde_json::json;

use crate::run::Bench;
use crate::run::ID;
use crate::support::Run;

/// A program under the name of the client, and what it starts with.
struct Shim {
    bench: Bench,
    program: PathBuf,
}

impl Shim {
    fn new() -> Shim {
        let bench = Bench::new(&[json!({"text": "hello there"})]);
        let folder = bench.test.work.path().join("bin");
        fs::create_dir(&folder).unwrap();
        assert_eq!(bench.run(&["shim", "install", folder.to_str().unwrap()]).code, 0);
        Shim { program: folder.join("claude"), bench }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::null());
        self.bench.test.set_environment(&mut command);
        self.bench.set_endpoint(&mut command);
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.bench.test.finish(&mut self.command(arguments))
    }

    /// As the SDKs do it: formats without `-p`, a prompt as a line, then the end of the input.
    fn host(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        let mut words =
            vec!["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
        words.extend(arguments);
        let mut command = self.command(&words);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let prompt = json!({"type": "user", "message": {"role": "user", "content": "hi"}, "parent_tool_use_id": null, "session_id": ""});
        // One that refuses to start does not read it.
        let _ = writeln!(child.stdin.take().unwrap(), "{prompt}");
        self.bench.test.finish_child(child)
    }

    fn last_request(&self) -> Value {
        self.bench.mock.asked().last().unwrap().body.clone()
    }

    fn path(&self, name: &str) -> String {
        self.bench.test.work.path().join(name).to_str().unwrap().to_owned()
    }
}

/// Options with a value that every run accepts.
fn with_values(shim: &Shim) -> Vec<(&'static str, String)> {
    let text = |text: &str| text.to_owned();
    let file = shim.path("words.txt");
    fs::write(&file, "words of a file").unwrap();
    fs::create_dir_all(shim.path("plugin/commands")).unwrap();
    vec![
        ("--system-prompt", text("Be brief.")),
        ("--system-prompt-file", file.clone()),
        ("--append-system-prompt", text("Be kind.")),
        ("--append-system-prompt-file", file),
        ("--tools", text("Read,Bash")),
        ("--allowedTools", text("Bash(git log:*),Read")),
        ("--allowed-tools", text("Read")),
        ("--disallowedTools", text("Write")),
        ("--disallowed-tools", text("Write")),
        ("--max-turns", text("3")),
        ("--max-budget-usd", text("1.5")),
        ("--task-budget", text("50000")),
        ("--model", text("haiku")),
        ("--fallback-model", text("sonnet")),
        ("--betas", text("context-1m-2025-08-07")),
        ("--permission-mode", text("acceptEdits")),
        ("--permission-mode", text("manual")),
        ("--permission-mode", text("dontAsk")),
        ("--permission-mode", text("plan")),
        ("--permission-prompt-tool", text("stdio")),
        ("--permission-prompts", text("none")),
        ("--settings", text("{\"env\":{\"A\":\"b\"}}")),
        ("--setting-sources", text("user,project,local")),
        ("--setting-sources", text("")),
        ("--add-dir", shim.path("bin")),
        ("--mcp-config", text("{\"mcpServers\":{}}")),
        ("--plugin-dir", shim.path("plugin")),
        ("--agents", text("{\"a\":{\"description\":\"d\",\"prompt\":\"p\"}}")),
        ("--thinking", text("adaptive")),
        ("--thinking", text("disabled")),
        ("--thinking-display", text("summarized")),
        ("--max-thinking-tokens", text("2000")),
        ("--effort", text("high")),
        ("--json-schema", text("{\"type\":\"object\"}")),
        ("--session-id", text("")),
    ]
}

#[test]
fn every_option_of_a_host_is_known_in_both_spellings() {
    let shim = Shim::new();
    for (option, value) in with_values(&shim) {
        for is_one_word in [false, true] {
            let id = recto_store::new_session_id().to_string();
            let value = if option == "--session-id" { &id } else { &value };
            let joined = format!("{option}={value}");
            let words: Vec<&str> = match is_one_word {
                true => vec![&joined],
                // An empty word is a value, too.
                false => vec![option, value],
            };
            let run = shim.host(&words, &[]);
            assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
            assert!(run.stdout.contains("\"type\":\"result\""), "{words:?}: {}", run.stdout);
            assert_eq!(run.stderr, "", "{words:?}");
        }
    }
    for flag in [
        "--include-partial-messages",
        "--include-hook-events",
        "--replay-user-messages",
        "--session-mirror",
        "--strict-mcp-config",
        "--dangerously-skip-permissions",
        "--allow-dangerously-skip-permissions",
        "--no-session-persistence",
        "--continue",
        "--fork-session",
    ] {
        let run = shim.host(&[flag], &[]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{flag}");
    }
    for flag in ["--debug", "--debug-to-stderr", "-d"] {
        let run = shim.host(&[flag], &[]);
        assert!(run.stderr.contains("[DEBUG] api: request"), "{flag}: {}", run.stderr);
        assert!(!run.stderr.contains("hello there"), "{}", run.stderr);
    }
    let run = shim.host(&["--debug=!api"], &[]);
    assert!(run.stderr.contains("[DEBUG] session") && !run.stderr.contains("DEBUG] api"));
    assert_eq!(shim.bench.refusals(), [""; 0]);
}

#[test]
fn what_options_say_is_what_is_asked_for() {
    let shim = Shim::new();
    let asked = |words: &[&str], variables: &[(&str, &str)]| {
        assert_eq!(shim.host(words, variables).code, 0, "{words:?}");
        shim.last_request()
    };
    assert_eq!(asked(&["--model=haiku"], &[])["model"], "claude-haiku-5-5");
    let tasks = asked(&["--task-budget", "9000"], &[]);
    assert_eq!(tasks["output_config"]["task_budget"], json!({"type": "tokens", "total": 9000}));
    assert_eq!(asked(&["--effort=low"], &[])["output_config"]["effort"], "low");
    // Models that decide themselves are only told to think; others get a budget.
    let old = ["--model", "claude-sonnet-4-5"];
    let budget = json!({"type": "enabled", "budget_tokens": 3000});
    let adaptive = json!({"type": "adaptive"});
    assert_eq!(asked(&["--max-thinking-tokens", "3000"], &[])["thinking"], adaptive);
    assert_eq!(
        asked(&[&old[..], &["--max-thinking-tokens=3000"]].concat(), &[])["thinking"],
        budget
    );
    assert_eq!(asked(&old, &[("MAX_THINKING_TOKENS", "3000")])["thinking"], budget);
    assert!(asked(&old, &[])["thinking"].is_null());
    let none = asked(&["--tools", ""], &[]);
    assert!(none["tools"].as_array().is_none_or(Vec::is_empty), "{}", none["tools"]);
    let system = asked(&["--system-prompt=", "--append-system-prompt", "Only this."], &[]);
    assert_eq!(system["system"].as_array().unwrap().len(), 1);
    let style = asked(&["--settings", "{\"outputStyle\":\"Learning\"}"], &[]);
    assert!(style["system"].to_string().contains("TODO(human)"));
}

#[test]
fn variables_of_a_host_are_heard() {
    let shim = Shim::new();
    let states = shim.host(&[], &[("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1")]).stdout;
    assert!(states.contains("\"sdk_host_only\":true"), "{states}");
    let states = shim.host(&[], &[("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1")]).stdout;
    assert!(states.contains("session_state_changed") && !states.contains("sdk_host_only"));
    assert!(!shim.host(&[], &[]).stdout.contains("session_state_changed"));
    shim.host(&["--session-id", ID], &[("CLAUDE_CODE_ENTRYPOINT", "sdk-py")]);
    let log = shim.bench.logs().into_iter().find(|log| log.ends_with(format!("{ID}.jsonl")));
    let log = fs::read_to_string(log.unwrap()).unwrap();
    assert!(log.contains("\"entrypoint\":\"recto-sdk-py\""), "{log}");
    let other = shim.bench.test.work.path().join("config");
    let moved = shim.host(&[], &[("CLAUDE_CONFIG_DIR", other.to_str().unwrap())]);
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    assert!(has_log(&other.join("projects")));
}

fn has_log(projects: &Path) -> bool {
    let folders = fs::read_dir(projects).into_iter().flatten().flatten();
    let mut files = folders.flat_map(|folder| fs::read_dir(folder.path()).unwrap().flatten());
    files.any(|file| file.path().extension().is_some_and(|end| end == "jsonl"))
}

#[test]
fn what_no_client_knows_ends_with_1_and_nothing_on_standard_output() {
    let shim = Shim::new();
    for (words, said) in [
        (&["-p", "hi", "--no-such-option"][..], "--no-such-option"),
        (&["-p", "hi", "--no-such-option=3"], "--no-such-option"),
        (&["-p", "hi", "--max-turns", "many"], "--max-turns"),
        (&["-p", "hi", "--output-format", "xml"], "xml"),
        (&["-p", "hi", "--settings", "no-such-file.json"], "Settings file not found"),
        (&["-p", "hi", "--permission-mode", "perhaps"], "Allowed choices are"),
        (&["-p", "hi", "--session-id=3"], "Invalid session ID"),
        (&["-p", "--allowedTools", "Write", "prompt"], "Input must be provided"),
        (&["-p", "--add-dir", "bin", "prompt"], "Input must be provided"),
        (&["-p", "   "], "Error"),
        (&["--input-format", "stream-json", "-p"], "requires output-format=stream-json"),
    ] {
        let run = shim.run(words);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{words:?}: {}", run.stderr);
    }
    assert!(shim.bench.mock.asked().is_empty());
    let unknown = shim.run(&["-p", "hi", "--no-such-option"]);
    assert!(
        unknown.stderr.starts_with("error: unknown option '--no-such-option'"),
        "{}",
        unknown.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_key_is_in_no_command_line() {
    let bench = Bench::new(&[
        json!({"nth": 1, "blocks": [crate::run::call("toolu_1", "Bash", json!({
            "command": "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' > seen.txt; echo done",
        }))]}),
        json!({"text": "looked"}),
    ]);
    let run = bench.run(&["run", "-p", "look", "--dangerously-skip-permissions", "--debug"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let seen = fs::read_to_string(bench.test.work.path().join("seen.txt")).unwrap();
    assert!(seen.contains("dangerously-skip-permissions"));
    for text in [&seen, &run.stderr, &run.stdout] {
        assert!(!text.contains("secret-of-the-test"), "{text}");
    }
}
