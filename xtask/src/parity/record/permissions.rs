//! A permission question: one call under some settings.

use std::path::Path;

use anyhow::Context as _;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::client;
use super::client::Start;
use super::model::Model;
use super::model::Step;
use super::tools::NAMED;
use crate::parity::tools::files;
use crate::parity::tools::files::HOME;
use crate::parity::tools::files::Snapshot;

/// The MCP server of rows whose id says so.
const SERVER: &str = r#"
const rl = require('readline').createInterface({input: process.stdin});
const any = {type: 'object', properties: {text: {type: 'string'}}};
const tools = ['echo', 'fail'].map(n => ({name: n, description: 'lab tool ' + n, inputSchema: any}));
rl.on('line', l => {
  const m = JSON.parse(l);
  const send = r => process.stdout.write(JSON.stringify({jsonrpc: '2.0', id: m.id, ...r}) + '\n');
  if (m.method === 'initialize') send({result: {protocolVersion: m.params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: 'lab', version: '1.0'}}});
  else if (m.method === 'tools/list') send({result: {tools}});
  else if (m.method === 'tools/call') send({result: {content: [{type: 'text', text: m.params.name + ': ' + (m.params.arguments || {}).text}], isError: m.params.name === 'fail'}});
  else if (m.id !== undefined) send({result: {}});
});
"#;

/// Records a row.
pub(super) fn record(case: &Value, model: &Model) -> anyhow::Result<Value> {
    let id = case["id"].as_str().unwrap_or_default();
    for folder in [HOME, "/tmp"] {
        files::empty(Path::new(folder));
    }
    let tree = json!({
        "a.txt": "alpha\n", "b.md": "# b\n", "src/main.rs": "fn main() {}\n",
        "src/deep/x.ts": "x\n", ".env": "KEY=1\n", "secret/key.txt": "key\n",
        "/home/dev/other/o.txt": "other\n", "/home/dev/notes.txt": "notes\n", "/tmp/t.txt": "t\n",
    });
    let mut home = Map::new();
    for (name, content) in case["home"].as_object().into_iter().flatten() {
        let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        home.insert(name.clone(), text.into());
    }
    files::prepare(&json!({"files": tree, "home": home}))?;
    client::write_home(&case["settings"])?;
    let mut words = words(&case["cli"]);
    if id.starts_with("perm/mcp") {
        files::write(&json!({"/home/dev/mcp.js": SERVER}))?;
        let server = json!({"type": "stdio", "command": "node", "args": ["/home/dev/mcp.js"]});
        words.extend(["--mcp-config".into(), json!({"mcpServers": {"lab": server}}).to_string()]);
    }
    // These two are there if they are named only.
    let is_named = ["Glob", "Grep"].iter().any(|name| case["call"]["name"] == *name);
    if is_named && case["cli"]["tools"].is_null() {
        words.extend(["--tools".into(), NAMED.into()]);
    }
    let before = Snapshot::take();
    let session = uuid::Uuid::new_v4().to_string();
    // Before a session has run a command it asks about variables that it lets pass later.
    let first = json!({"name": "Bash", "input": {"command": "true", "description": "x"}});
    let mut steps = vec![Step { outside: Vec::new(), calls: vec![(0, case["call"].clone())] }];
    if case["first"] != true {
        steps.insert(0, Step { outside: Vec::new(), calls: vec![(1, first)] });
    }
    model.set(&session, steps);
    // Commands that never end go to the background, and the row has its decision.
    let environment = vec![("BASH_DEFAULT_TIMEOUT_MS".to_owned(), "2000".to_owned())];
    let start =
        Start { port: model.port, session, words, environment, is_short: true, ..Start::default() };
    let ended = client::run(start, |_| json!({}))?;
    let after = Snapshot::take();
    let log = client::log_lines();
    let mut run = model.run();
    let mut names = std::mem::take(&mut run.names);
    let call = run.calls.iter().find(|(at, _)| *at == 0).map(|(_, id)| id.clone());
    let call = call.with_context(|| format!("it was not called: {}", ended.stderr))?;
    drop(run);
    names.set_calls(std::iter::once(call.as_str()));
    let blocks = |line: &Value| line["message"]["content"].as_array().cloned().unwrap_or_default();
    let found = log.iter().find_map(|line| {
        let is_it = |block: &Value| block["type"] == "tool_result" && block["tool_use_id"] == *call;
        Some((line, blocks(line).into_iter().find(is_it)?))
    });
    let (line, block) = found.with_context(|| format!("there is no result: {}", ended.stderr))?;
    let last = ended.lines.iter().rev().find(|line| line["type"] == "result");
    let denials = last.and_then(|last| last["permission_denials"].as_array());
    let denials = denials.into_iter().flatten().filter(|denial| denial["tool_use_id"] == *call);
    let denials: Value = denials.cloned().collect();
    let text = match &block["content"] {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    let is_error = block["is_error"] == true;
    let kind = line["toolDenialKind"].as_str();
    let decision = decision(&text, is_error, kind, denials != json!([]));
    let is_silent = decision == "allowed" && case["call"]["name"] == "Bash";
    let mut row = Map::new();
    row.insert("id".into(), id.into());
    row.insert("version".into(), Value::Null);
    for name in ["settings", "cli", "home", "first", "call"] {
        if let Some(value) = case.get(name) {
            row.insert(name.into(), value.clone());
        }
    }
    row.insert("decision".into(), decision.into());
    let text = if is_silent { Value::Null } else { block["content"].clone() };
    row.insert("text".into(), text);
    row.insert("is_error".into(), is_error.into());
    if let Some(kind) = kind {
        row.insert("denial_kind".into(), kind.into());
    }
    row.insert("permission_denials".into(), denials);
    row.insert("ran".into(), (after.changes(&before) != json!({})).into());
    Ok(names.neutral(&Value::Object(row)))
}

fn decision(text: &str, is_error: bool, kind: Option<&str>, is_listed: bool) -> &'static str {
    let has = |part: &str| text.contains(part);
    match kind {
        Some("permission-rule")
            if !text.starts_with("Permission for this tool use was denied. It requires") =>
        {
            "denied"
        }
        Some(_) => "asked-denied",
        None if !is_error => "allowed",
        None if is_listed => "denied",
        None if has("is disabled for this session") || has("No such tool available: mcp__") => {
            "denied"
        }
        None if has("denied by") || has("covered by a Read deny rule") => "denied",
        // What the tool found wrong before anybody was asked.
        None if text.starts_with("<tool_use_error>") => "not-reached",
        None => "allowed",
    }
}

fn words(cli: &Value) -> Vec<String> {
    let mut words = Vec::new();
    let options = [
        ("mode", "--permission-mode"),
        ("allowedTools", "--allowedTools"),
        ("disallowedTools", "--disallowedTools"),
        ("addDir", "--add-dir"),
        ("tools", "--tools"),
    ];
    for (name, option) in options {
        match &cli[name] {
            Value::String(text) => words.extend([option.to_owned(), text.clone()]),
            Value::Array(values) => {
                words.push(option.to_owned());
                words.extend(values.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {}
        }
    }
    if cli["skip"] == true {
        words.push("--dangerously-skip-permissions".to_owned());
    }
    let more = cli["more"].as_array().into_iter().flatten().filter_map(Value::as_str);
    words.extend(more.map(str::to_owned));
    words
}
