//! A recorded run, made again.

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use serde_json::json;

use super::Case;
use super::endpoint::Endpoint;
use super::endpoint::Scripted;
use super::host::Host;
use super::host::Input;

pub(super) const APP: &str = "/home/dev/app";
const PROGRAM: &str = "/opt/client/claude";

/// The settings of the user of all recordings, which `get_settings` tells.
const SETTINGS: &str =
    r#"{"env":{"DISABLE_AUTOUPDATER":"1"},"skipDangerousModePermissionPrompt":true}"#;

/// The longest that a run may take.
const LONGEST: Duration = Duration::from_secs(9);

/// How long nothing comes from a run that never ends.
const HANGS: Duration = Duration::from_secs(8);

/// What came of it.
pub(super) struct Played {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) log: Option<String>,
    /// After how many lines of output its input was closed.
    pub(super) closed_after: Option<usize>,
    /// Other logs, in the order of the recording.
    pub(super) others: Vec<Option<String>>,
}

pub(super) fn play(case: &Case) -> anyhow::Result<Played> {
    prepare(&case.command)?;
    let endpoint = Endpoint::start()?;
    let mut first = None;
    for before in case.command["before"].as_array().into_iter().flatten() {
        endpoint.set(scripted(&case.command["script"], before));
        first = Some(run(before, &endpoint, None)?);
    }
    endpoint.set(case.answers.clone());
    let mut played = run(&case.command, &endpoint, first.as_ref())?;
    let wanted = case.exit["logs"]["log.jsonl"].as_str();
    let log = wanted.and_then(|wanted| find_log(wanted, &[]));
    let mut found: Vec<PathBuf> = log.iter().cloned().collect();
    played.log = log.and_then(|log| fs::read_to_string(log).ok());
    for (recorded, _) in &case.others {
        let other = find_log(recorded, &found);
        found.extend(other.clone());
        played.others.push(other.and_then(|log| fs::read_to_string(log).ok()));
    }
    Ok(played)
}

/// A log of the run: under its recorded name, or the newest one in its place that is not found
/// yet.
fn find_log(recorded: &str, found: &[PathBuf]) -> Option<PathBuf> {
    let path = Path::new("/home/dev/.claude").join(recorded);
    if path.is_file() {
        return Some(path);
    }
    let logs_in = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
    };
    let folder = path.parent()?;
    let mut logs = match folder.ends_with("subagents") {
        // Beside the log of a session whose name is of this run.
        true => {
            let sessions = fs::read_dir(folder.parent()?.parent()?).ok()?.flatten();
            sessions.flat_map(|session| logs_in(&session.path().join("subagents"))).collect()
        }
        false => logs_in(folder),
    };
    logs.retain(|log| !found.contains(log));
    logs.sort_by_key(|path| fs::metadata(path).and_then(|file| file.modified()).ok());
    logs.pop()
}

pub(super) fn prepare(command: &Value) -> anyhow::Result<()> {
    for folder in [APP, "/home/dev/.claude", "/tmp/extra"] {
        fs::remove_dir_all(folder).ok();
    }
    for entry in fs::read_dir("/tmp").into_iter().flatten().flatten() {
        fs::remove_dir_all(entry.path()).ok();
        fs::remove_file(entry.path()).ok();
    }
    fs::create_dir_all(APP)?;
    fs::create_dir_all("/home/dev/.claude")?;
    fs::write(Path::new(APP).join("a.txt"), "alpha line 1\nbeta line 2\n")?;
    fs::write(Path::new(APP).join("b.txt"), "bravo\n")?;
    // What the recorded client said about its settings.
    fs::write("/home/dev/.claude/settings.json", SETTINGS)?;
    for (name, content) in command["files"].as_object().into_iter().flatten() {
        let path = Path::new(APP).join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let text = content.as_str().unwrap_or_default();
        match text.strip_prefix("base64:") {
            Some(data) => fs::write(&path, BASE64_STANDARD.decode(data)?)?,
            None => fs::write(&path, text)?,
        }
    }
    Ok(())
}

/// Answers of the recording's script, for runs before the one that was recorded.
fn scripted(script: &Value, run: &Value) -> Vec<Scripted> {
    let words = run["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let steps = run["steps"].to_string();
    let prompts = words.map(str::to_owned).chain([steps]);
    let names = prompts.flat_map(|text| {
        let named = text.split("LAB:").skip(1);
        let name =
            |rest: &str| rest.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned);
        named.filter_map(name).collect::<Vec<_>>()
    });
    let turns = names.flat_map(|name| script[&name].as_array().cloned().unwrap_or_default());
    turns.zip(1..).map(|(turn, number)| Scripted::any(answer(&turn, number))).collect()
}

fn answer(turn: &Value, number: u64) -> Value {
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 2000, "output_tokens": 20, "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0}});
    let message = json!({"id": format!("msg_before{number}"), "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut events = vec![json!({"type": "message_start", "message": message})];
    let mut stop = "end_turn";
    for (index, block) in turn["blocks"].as_array().into_iter().flatten().enumerate() {
        let (start, delta) = if block["t"] == "tool" {
            stop = "tool_use";
            (
                json!({"type": "tool_use", "id": format!("toolu_before{number}{index}"), "name": block["name"], "input": {}}),
                json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
            )
        } else {
            (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": block["text"]}),
            )
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    json!({"status": 200, "headers": {"request-id": format!("req_before{number}")}, "events": events})
}

/// Runs a command line in the place of the recordings, with the host of its case.
pub(super) fn run(
    command: &Value,
    endpoint: &Endpoint,
    before: Option<&Played>,
) -> anyhow::Result<Played> {
    let words = command["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut process = Command::new(PROGRAM);
    process.args(words.map(|word| filled(word, before))).current_dir(APP);
    process.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", endpoint.port));
    process.env("ANTHROPIC_API_KEY", "sk-lab");
    for (name, value) in command["env"].as_object().into_iter().flatten() {
        process.env(name, value.as_str().unwrap_or_default());
    }
    let steps = command["steps"].as_array().cloned().unwrap_or_default();
    let has_input = command["stdin"] != "null" && !steps.is_empty();
    process.stdin(if has_input { Stdio::piped() } else { Stdio::null() });
    process.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process.spawn().context("recto cannot be started")?;
    let input = Input::new(child.stdin.take());
    let (sender, lines) = mpsc::channel();
    let stdout = child.stdout.take().context("no output")?;
    let mut host = Host::new(command, input.clone());
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            host.take(&line);
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut stderr = child.stderr.take().context("no errors")?;
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).ok();
        text
    });
    let mut seen = Vec::new();
    let mut closed_after = None;
    for step in &steps {
        if step["close"] == true {
            wait_as_recorded(command, &lines, &mut seen);
            seen.extend(lines.try_iter());
            closed_after = Some(seen.len());
        }
        take_step(step, &child, &input, &lines, &mut seen);
    }
    input.close();
    let longest = if command["case"] == "bg_ceiling" { HANGS } else { LONGEST };
    while let Ok(line) = lines.recv_timeout(longest) {
        seen.push(line);
    }
    // Nothing more comes: it has ended, or hangs.
    let mut status = child.try_wait()?;
    if status.is_none() {
        std::thread::sleep(Duration::from_millis(300));
        status = child.try_wait()?;
    }
    let code = match status {
        Some(status) => status.code(),
        None => {
            child.kill().ok();
            child.wait()?;
            Some(-9)
        }
    };
    let stdout = seen.into_iter().map(|line| line + "\n").collect();
    let stderr = errors.join().unwrap_or_default();
    Ok(Played { code, stdout, stderr, log: None, closed_after, others: Vec::new() })
}

/// With subagents at work, when the host goes away matters: not before it did in the recording,
/// as far as lines tell.
fn wait_as_recorded(command: &Value, lines: &mpsc::Receiver<String>, seen: &mut Vec<String>) {
    if !seen.iter().any(|line| line.contains("local_agent")) {
        return;
    }
    let sent = command["sent"].as_array().into_iter().flatten();
    let mut closed =
        sent.filter(|sent| sent["close"] == true).filter_map(|sent| sent["after"].as_u64());
    let after = closed.next_back().unwrap_or_default();
    while (seen.len() as u64) < after {
        match lines.recv_timeout(Duration::from_secs(2)) {
            Ok(line) => seen.push(line),
            Err(_) => break,
        }
    }
}

/// An argument with what the run before gave: `{session}`, `{assistant:0}`.
fn filled(word: &str, before: Option<&Played>) -> String {
    let Some(before) = before else { return word.to_owned() };
    let lines = before.stdout.lines();
    let lines: Vec<Value> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut filled = word.to_owned();
    if let Some(first) = lines.iter().find(|line| line["subtype"] == "init") {
        filled = filled.replace("{session}", &text(&first["session_id"]));
    }
    let answers = lines.iter().filter(|line| line["type"] == "assistant");
    for (number, line) in answers.enumerate() {
        filled = filled.replace(&format!("{{assistant:{number}}}"), &text(&line["uuid"]));
    }
    filled
}

fn take_step(
    step: &Value,
    child: &Child,
    input: &Input,
    lines: &mpsc::Receiver<String>,
    seen: &mut Vec<String>,
) {
    if let Some(line) = step.get("send") {
        input.write(with_task(line, seen).as_bytes());
        input.write(b"\n");
    }
    if let Some(text) = step["text"].as_str() {
        input.write(text.as_bytes());
    }
    if let Some(text) = step["base64"].as_str() {
        input.write(&BASE64_STANDARD.decode(text).unwrap_or_default());
    }
    if step["close"] == true {
        input.close();
    }
    if let Some(seconds) = step["sleep"].as_f64() {
        std::thread::sleep(Duration::from_secs_f64(seconds));
    }
    if let Some(wanted) = step["wait"].as_object() {
        while let Ok(line) = lines.recv_timeout(LONGEST) {
            let value: Value = serde_json::from_str(&line).unwrap_or_default();
            seen.push(line);
            let is = |(path, wanted): (&String, &Value)| {
                value.pointer(&format!("/{}", path.replace('.', "/"))) == Some(wanted)
            };
            if wanted.iter().all(is) {
                break;
            }
        }
    }
    if let Some(signal) = step["signal"].as_str() {
        let name = signal.trim_start_matches("SIG");
        Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().ok();
    }
}

/// A request about a task names the one that runs here.
fn with_task(line: &Value, seen: &[String]) -> String {
    let recorded = line["request"]["task_id"].as_str().filter(|id| *id == "{task}");
    let started = seen.iter().rev().find(|line| line.contains("task_started"));
    let (Some(recorded), Some(started)) = (recorded, started) else { return line.to_string() };
    let started: Value = serde_json::from_str(started).unwrap_or_default();
    line.to_string().replace(recorded, started["task_id"].as_str().unwrap_or_default())
}
