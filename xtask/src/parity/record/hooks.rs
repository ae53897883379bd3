//! A configuration of hooks: what they read, what the client says of them, and what it logs.

use std::fs;
use std::path::Path;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::client;
use super::client::Ended;
use super::client::Start;
use super::model::Model;
use super::neutral;
use super::neutral::Names;
use super::tools;
use crate::parity::tools::files;
use crate::parity::tools::files::APP;
use crate::parity::tools::files::HOME;

/// Where hooks leave their standard input.
const INPUTS: &str = "/tmp/hook-inputs";
/// Before every command: keeps its standard input.
const PREFIX: &str = "f=/tmp/hook-inputs/$(date +%s%N)-$$; cat > $f; ";
/// What the commands of rows write, so that it can be followed.
const TOKEN: &str = "HK-";

/// Fields of log lines that say nothing of hooks.
const COMMON: [&str; 19] = [
    "uuid",
    "parentUuid",
    "logicalParentUuid",
    "timestamp",
    "sessionId",
    "session_id",
    "cwd",
    "version",
    "gitBranch",
    "userType",
    "entrypoint",
    "isSidechain",
    "slug",
    "promptId",
    "requestId",
    "origin",
    "promptSource",
    "permissionMode",
    "session_kind",
];

/// Records a row.
pub(super) fn record(case: &Value, model: &Model) -> anyhow::Result<Value> {
    for folder in [HOME, "/tmp"] {
        files::empty(Path::new(folder));
    }
    let mut home = Map::new();
    for (name, content) in case["home"].as_object().into_iter().flatten() {
        let text = content.as_str().map_or_else(|| wrapped(content).to_string(), str::to_owned);
        home.insert(name.clone(), text.into());
    }
    files::prepare(&json!({"home": home, "files": {"a.txt": "alpha\n"}}))?;
    client::write_home(&wrapped(&case["settings"]))?;
    fs::create_dir_all(INPUTS)?;
    let session = uuid::Uuid::new_v4().to_string();
    let mut runs = Vec::new();
    for (number, turn) in case["turns"].as_array().into_iter().flatten().enumerate() {
        let steps = tools::steps(turn);
        if number == 0 {
            model.set(&session, steps)
        } else {
            model.add(steps)
        }
        fs::remove_file(Path::new(APP).join("ran.txt")).ok();
        let start = Start {
            port: model.port,
            session: session.clone(),
            is_resumed: number > 0,
            prompt: turn["prompt"].as_str().map(str::to_owned),
            words: words(case),
            environment: tools::pairs(&case["env"]),
            ..Start::default()
        };
        let ended = client::run(start, |_| json!({}))?;
        runs.push(told(&ended, &model.run().requests));
    }
    let mut row = case.as_object().cloned().unwrap_or_default();
    ["inputs", "runs", "log"].iter().for_each(|name| drop(row.shift_remove(*name)));
    row.insert("inputs".into(), inputs());
    row.insert("runs".into(), Value::from(runs));
    row.insert("log".into(), log());
    let mut names: Names = std::mem::take(&mut model.run().names);
    let row = names.neutral(&Value::Object(row)).to_string().replace(PREFIX, "");
    Ok(neutral::shortened(&serde_json::from_str(&row)?))
}

fn words(case: &Value) -> Vec<String> {
    let mut words = Vec::new();
    match case["mode"].as_str() {
        None | Some("bypassPermissions") => words.push("--dangerously-skip-permissions".to_owned()),
        Some("default") => {}
        Some(mode) => words.extend(["--permission-mode".to_owned(), mode.to_owned()]),
    }
    let further = case["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    words.extend(further.map(|word| match serde_json::from_str::<Value>(word) {
        Ok(settings) if settings.is_object() => wrapped(&settings).to_string(),
        _ => word.to_owned(),
    }));
    words
}

/// Settings whose hooks keep what they read.
fn wrapped(settings: &Value) -> Value {
    let mut settings = settings.clone();
    let events = settings["hooks"].as_object_mut().into_iter().flatten();
    for group in events.flat_map(|(_, groups)| groups.as_array_mut().into_iter().flatten()) {
        for hook in group["hooks"].as_array_mut().into_iter().flatten() {
            if hook["type"] == "command"
                && let Some(command) = hook["command"].as_str()
            {
                hook["command"] = format!("{PREFIX}{command}").into();
            }
        }
    }
    settings
}

/// What hooks read, in the order in which they began.
fn inputs() -> Value {
    let entries = fs::read_dir(INPUTS).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: &Path| -> Option<Value> {
        let stdin: Value = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
        Some(json!({"event": stdin["hook_event_name"], "stdin": stdin}))
    };
    paths.iter().filter_map(|path| read(path)).collect()
}

/// A run as a row has it.
fn told(ended: &Ended, requests: &[Value]) -> Value {
    let is_told = |line: &&Value| {
        let subtype = line["subtype"].as_str().unwrap_or_default();
        let is_other = ["init", "status", "ui_invalidate"].contains(&subtype);
        line["type"] == "system" && !is_other && !subtype.starts_with("task_")
    };
    let lines = ended.lines.iter().filter(is_told);
    let stream: Vec<Value> = lines.map(|line| without(line, &["uuid", "session_id"])).collect();
    let last = ended.lines.iter().rev().find(|line| line["type"] == "result");
    let mut result = Map::new();
    for name in [
        "subtype",
        "is_error",
        "num_turns",
        "result",
        "stop_reason",
        "terminal_reason",
        "permission_denials",
        "errors",
    ] {
        if let Some(value) = last.and_then(|last| last.get(name)) {
            result.insert(name.into(), value.clone());
        }
    }
    // Some errors are told in the last line only.
    let errors = result.get("errors").and_then(|errors| errors[0].as_str());
    let stderr = if ended.stderr.is_empty() { errors.unwrap_or_default() } else { &ended.stderr };
    json!({
        "rc": ended.rc, "stderr": stderr, "requests": requests.len(), "sent": sent(requests),
        "stream": stream, "result": result, "tool_ran": Path::new(APP).join("ran.txt").exists(),
    })
}

/// What each request added to the one before; of the first one only what has our tokens.
fn sent(requests: &[Value]) -> Vec<Value> {
    let mut sent = Vec::new();
    let mut known = 0;
    for (number, request) in requests.iter().enumerate() {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        for message in messages.iter().skip(if number == 0 { 0 } else { known }) {
            let blocks = match &message["content"] {
                Value::Array(blocks) => blocks.clone(),
                text => vec![json!({"type": "text", "text": text})],
            };
            let is_told = |block: &Value| number > 0 || block.to_string().contains(TOKEN);
            let blocks = blocks.into_iter().filter(is_told);
            let blocks: Vec<Value> =
                blocks.map(|block| without(&block, &["cache_control"])).collect();
            if !blocks.is_empty() {
                sent.push(json!({"request": number, "role": message["role"], "content": blocks}));
            }
        }
        known = messages.len();
    }
    sent
}

/// Log lines about hooks, or with our tokens.
fn log() -> Value {
    let is_told = |line: &Value| {
        let kind = line["attachment"]["type"].as_str().unwrap_or_default();
        let is_call = ["assistant", "file-history-snapshot", "api-request-blob"]
            .iter()
            .any(|kind| line["type"] == *kind);
        kind.starts_with("hook_")
            || line["subtype"] == "stop_hook_summary"
            || (!is_call && line.to_string().contains(TOKEN))
    };
    let lines = client::all_log_lines().into_iter().filter(is_told);
    lines.map(|line| without(&line, &COMMON)).collect()
}

fn without(value: &Value, names: &[&str]) -> Value {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
    value
}
