//! `recto run` as scripts start it, against the strict mock.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Script;
use serde_json::Value;
use serde_json::json;

use crate::support::Run;
use crate::support::TestHome;
use crate::support::repository;

pub(crate) const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

pub(crate) struct Bench {
    pub(crate) test: TestHome,
    pub(crate) mock: Mock,
}

impl Bench {
    pub(crate) fn new(rules: &[Value]) -> Bench {
        let script: String = rules.iter().map(|rule| format!("{rule}\n")).collect();
        let script = Script::parse(&script).unwrap();
        let options = MockOptions { script: Some(script), keep: 10_000, ..MockOptions::default() };
        Bench { test: TestHome::empty(), mock: Mock::start(options).unwrap() }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.test.command(arguments);
        self.set_endpoint(&mut command);
        command
    }

    pub(crate) fn set_endpoint(&self, command: &mut Command) {
        command.env("ANTHROPIC_BASE_URL", self.mock.base_url());
        command.env("ANTHROPIC_API_KEY", "sk-ant-secret-of-the-test");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.test.finish(&mut self.command(arguments))
    }

    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let projects = fs::read_dir(self.test.home.path().join("projects"));
        let folders = projects.into_iter().flatten().map(|entry| entry.unwrap().path());
        let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
        let paths = files.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
    }

    pub(crate) fn refusals(&self) -> Vec<String> {
        let asked = self.mock.asked();
        asked.into_iter().filter_map(|asked| asked.refusal).map(|refusal| refusal.message).collect()
    }
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

#[test]
fn a_prompt_is_answered_as_text_as_json_and_as_a_stream() {
    let bench = Bench::new(&[json!({"text": "hello there"})]);
    let text = bench.run(&["run", "-p", "hi"]);
    assert_eq!((text.stdout.as_str(), text.stderr.as_str(), text.code), ("hello there\n", "", 0));
    let result = &bench.run(&["run", "-p", "hi", "--output-format", "json"]).json()[0];
    assert_eq!((&result["type"], &result["result"]), (&json!("result"), &json!("hello there")));
    let stream = bench.run(&["run", "-p", "--output-format", "stream-json", "--verbose", "hi"]);
    let kinds: Vec<String> =
        stream.json().iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["system", "assistant", "result"]);
    let piped = bench.test.finish(bench.command(&["run", "-p"]).stdin(Stdio::null()));
    assert_eq!(piped.code, 1);
    assert!(piped.stderr.starts_with("Error: Input must be provided"));
    assert_eq!(bench.refusals(), [""; 0]);
}

#[test]
fn what_is_not_allowed_is_refused_and_listed() {
    let bench = Bench::new(&[
        json!({"nth": 1, "blocks": [call("toolu_1", "Write", json!({"file_path": "x.txt", "content": "x"}))]}),
        json!({"text": "I may not"}),
    ]);
    let result = &bench.run(&["run", "-p", "write", "--output-format", "json"]).json()[0];
    assert_eq!(result["permission_denials"][0]["tool_name"], "Write");
    assert!(!bench.test.work.path().join("x.txt").exists());
}

#[test]
fn options_that_make_no_sense_end_with_1_and_the_words_that_scripts_know() {
    let bench = Bench::new(&[json!({"text": "never"})]);
    for (arguments, words) in [
        (
            &["run", "-p", "x", "--output-format", "stream-json"][..],
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        (
            &["run", "-p", "x", "--session-id", "nope"],
            "Error: Invalid session ID. Must be a valid UUID.",
        ),
        (
            &["run", "-p", "x", "--max-budget-usd", "0"],
            "error: option '--max-budget-usd <amount>' argument '0' is invalid.",
        ),
        (
            &["run", "-p", "x", "--permission-mode", "yes"],
            "error: option '--permission-mode <mode>' argument 'yes' is invalid.",
        ),
        (&["run", "-p", "x", "--json-schema", "{nope"], "Error: --json-schema is not valid JSON"),
        (
            &["run", "-p", "x", "--resume", ID],
            &format!("No conversation found with session ID: {ID}"),
        ),
        (&["run", "-p", "--allowedTools", "Write", "swallowed"], "Error: Input must be provided"),
    ] {
        let run = bench.run(arguments);
        assert!(run.stderr.starts_with(words), "{arguments:?}: {}", run.stderr);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{arguments:?}");
    }
    let console = bench.run(&["run", "hello"]);
    assert_eq!(console.code, 2);
    assert!(console.stderr.contains("hint: use -p"));
    assert!(bench.mock.asked().is_empty());
}

#[test]
fn the_key_is_in_no_file_and_in_no_output() {
    let bench = Bench::new(&[json!({"fault": "401"})]);
    let run = bench.run(&["run", "-p", "--output-format", "stream-json", "--verbose", "hi"]);
    assert_eq!(run.code, 1);
    let log = fs::read_to_string(&bench.logs()[0]).unwrap();
    for text in [&run.stdout, &run.stderr, &log] {
        assert!(!text.contains("secret-of-the-test"), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn called_by_the_name_of_the_client_it_takes_its_command_line() {
    let bench = Bench::new(&[json!({"text": "hello there"})]);
    let folder = bench.test.work.path().join("bin");
    fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    assert_eq!(bench.run(&["shim", "install", folder]).code, 0);
    let again = bench.run(&["shim", "install", folder]);
    assert_eq!(again.code, 2, "{}", again.stderr);
    let client = |arguments: &[&str]| {
        let mut command = Command::new(Path::new(folder).join("claude"));
        command.args(arguments);
        bench.test.set_environment(&mut command);
        bench.set_endpoint(&mut command);
        bench.test.finish(&mut command)
    };
    assert!(client(&["--version"]).stdout.starts_with("2.1.325 (recto "));
    assert_eq!(client(&["-p", "hi", "--model=haiku"]).stdout, "hello there\n");
    let unknown = client(&["-p", "hi", "--no-such-option"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (1, ""));
}

#[test]
fn prompts_of_a_stream_are_turns() {
    let bench = Bench::new(&[json!({"text": "yes"})]);
    let prompt = |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": null, "session_id": ""});
    let options =
        ["run", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
    let feed = |input: String| {
        let mut command = bench.command(&options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = feed(format!("{}\n\n{{\"type\":\"keep_alive\"}}\n", prompt("one")));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("\"type\":\"result\"").count(), 1, "{text}");
    assert_eq!(output.status.code(), Some(0));
    let output = feed("{broken\n".to_owned());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr).unwrap().starts_with("Error parsing streaming input line")
    );
    assert_eq!(feed(String::new()).status.code(), Some(0));
}

/// The main logs of a folder of recordings.
fn recorded() -> Vec<PathBuf> {
    let mut folders = vec![repository().join("fixtures/corpus")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let in_project = path
                .parent()
                .and_then(Path::parent)
                .is_some_and(|above| above.ends_with("projects"));
            if path.is_dir() {
                folders.push(path);
            } else if in_project && path.extension().is_some_and(|end| end == "jsonl") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn sessions_of_every_client_go_on_and_no_request_is_refused() {
    let bench = Bench::new(&[json!({"text": "gone on"})]);
    let key = recto_log::ProjectKey::of_path(
        bench.test.work.path().canonicalize().unwrap().to_str().unwrap(),
    );
    let project = bench.test.home.path().join("projects").join(key.as_str());
    fs::create_dir_all(&project).unwrap();
    let (mut resumed, mut refused) = (0, Vec::new());
    for log in recorded() {
        let name = log.file_stem().unwrap().to_str().unwrap();
        if name.parse::<recto_log::SessionId>().is_err() {
            continue;
        }
        let copy = project.join(format!("{name}.jsonl"));
        fs::copy(&log, &copy).unwrap();
        let run = bench.run(&["run", "-p", "next", "--resume", name]);
        match run.code {
            0 => {
                assert_eq!(run.stdout, "gone on\n", "{}", log.display());
                resumed += 1;
            }
            _ => refused.push(format!("{}: {}", log.display(), run.stderr)),
        }
        fs::remove_file(copy).unwrap();
    }
    assert_eq!(bench.refusals(), [""; 0]);
    assert!(resumed > 60, "{resumed}");
    // Some logs hold no conversation.
    let is_known =
        |text: &String| text.contains("no conversation") || text.contains("No conversation");
    assert!(refused.iter().all(is_known), "{refused:#?}");
}

#[test]
fn the_older_log_has_progress_lines_and_goes_on_everywhere() {
    let bench = Bench::new(&[
        json!({"contains": "look around", "text": "the subagent is done"}),
        json!({"nth": 1, "blocks": [
            call("toolu_1", "Bash", json!({"command": "echo tick; sleep 1.5; echo tock"})),
            call("toolu_2", "Agent", json!({"description": "look", "prompt": "look around", "run_in_background": false})),
        ]}),
        json!({"text": "done"}),
    ]);
    let hooks = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"}]}]}}"#;
    let run = bench.run(&[
        "run",
        "-p",
        "go",
        "--session-id",
        ID,
        "--log-style",
        "2.1.29",
        "--dangerously-skip-permissions",
        "--settings",
        hooks,
    ]);
    assert_eq!(run.stdout, "done\n");
    let text = fs::read_to_string(&bench.logs()[0]).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let progress = lines.iter().find(|line| line["data"]["type"] == "bash_progress").unwrap();
    assert_eq!(progress["type"], "progress");
    assert_eq!(progress["data"]["fullOutput"], "tick");
    assert!(lines.iter().all(|line| line["type"] != "attachment"));
    let hook = lines.iter().find(|line| line["data"]["type"] == "hook_progress").unwrap();
    assert_eq!(hook["data"]["hookName"], "PreToolUse:Bash");
    assert!(lines.iter().any(|line| line["data"]["type"] == "agent_progress"));
    assert!(lines.iter().any(|line| line["subtype"] == "turn_duration"));
    let slug = lines.iter().find_map(|line| line["slug"].as_str()).unwrap();
    assert_eq!(slug.split('-').count(), 3);
    for version in ["2.0.50", "2.1.29", "2.1.325"] {
        let request = bench.test.run(&["request", ID, "--as", version, "--json"]);
        let messages = request.json()[0]["messages"].as_array().unwrap().len();
        assert!(messages >= 4, "{version}: {messages}");
    }
    assert_eq!(bench.run(&["run", "-p", "on", "--resume", ID]).code, 0);
    assert_eq!(bench.refusals(), [""; 0]);
}
