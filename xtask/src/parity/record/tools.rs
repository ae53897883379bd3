//! A case of tools: its calls are made by the real client.

use std::path::Path;

use anyhow::bail;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::client;
use super::client::Start;
use super::model::Model;
use super::model::Step;
use super::neutral;
use super::neutral::Names;
use crate::parity::tools::files;
use crate::parity::tools::files::HOME;
use crate::parity::tools::files::Snapshot;
use crate::parity::tools::groups;

/// The tools that recorded sessions named, unless they were about loading tools.
pub(super) const NAMED: &str = "Bash,Read,Write,Edit,Glob,Grep,NotebookEdit,WebFetch,WebSearch,TaskCreate,\
                     TaskGet,TaskList,TaskUpdate,TaskStop,Agent,Skill,AskUserQuestion,\
                     EnterPlanMode,ExitPlanMode";

/// Fields of a log line that rows keep.
const LINE: [&str; 3] = ["toolDenialKind", "permissionDecision", "mcpMeta"];

/// Records a case.
pub(super) fn record(case: &Value, model: &Model) -> anyhow::Result<Value> {
    let id = case["id"].as_str().unwrap_or_default();
    let kind = id.split('/').next().unwrap_or_default();
    for folder in [HOME, "/tmp"] {
        files::empty(Path::new(folder));
    }
    files::prepare(&case["setup"])?;
    client::write_home(&case["setup"]["settings"])?;
    let before = Snapshot::take();
    let session = uuid::Uuid::new_v4().to_string();
    model.set(&session, steps(case));
    let start = Start {
        port: model.port,
        session,
        words: words(&case["setup"], kind),
        environment: pairs(&case["setup"]["env"]),
        is_attended: kind.starts_with("host"),
        ..Start::default()
    };
    let mut asked: Vec<(String, Value)> = Vec::new();
    let ended = client::run(start, |request| {
        let (id, question, answer) = answered(case, model, request);
        asked.push((id, question));
        answer
    })?;
    let after = Snapshot::take();
    let log = client::log_lines();
    let mut run = model.run();
    if run.calls.is_empty() {
        bail!("the client asked nothing: {}", ended.stderr);
    }
    let results = results(case, &run.calls, &run.requests, &log);
    let mut calls = case["calls"].clone();
    for (at, id) in &run.calls {
        let questions = asked.iter().filter(|(of, _)| of == id).map(|(_, question)| question);
        let questions: Vec<Value> = questions.cloned().collect();
        if !questions.is_empty() {
            calls[*at]["asked"] = Value::from(questions);
        }
    }
    let mut tool =
        case["calls"].as_array().into_iter().flatten().filter_map(|call| call["name"].as_str());
    let is_alone = ["agent", "agentbg", "task"].contains(&kind);
    let mut row = Map::new();
    let changed = after.changes(&before);
    let mut names = std::mem::take(&mut run.names);
    names.set_calls(run.calls.iter().map(|(_, id)| id.as_str()));
    drop(run);
    let told = told(&mut names, &json!([results, changed, calls]));
    row.insert("id".into(), id.into());
    row.insert("version".into(), Value::Null);
    row.insert("tool".into(), tool.next_back().map_or(Value::Null, Value::from));
    if case["about"].is_string() {
        row.insert("about".into(), case["about"].clone());
    }
    // Others of the family may have been recorded in one session.
    if is_alone {
        row.insert("session".into(), id.into());
    }
    row.insert("setup".into(), case["setup"].clone());
    row.insert("calls".into(), told[2].clone());
    row.insert("results".into(), told[0].clone());
    row.insert("files_after".into(), told[1].clone());
    Ok(Value::Object(row))
}

/// Results, files and calls without the names of this run.
fn told(names: &mut Names, all: &Value) -> Value {
    let neutral = names.neutral(all);
    json!([neutral::shortened(&neutral[0]), neutral[1], neutral[2]])
}

/// What the model does, from the calls of a case.
pub(super) fn steps(case: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut outside = Vec::new();
    for group in groups(case) {
        let calls = group.iter().map(|at| (*at, case["calls"][at].clone()));
        let calls: Vec<(usize, Value)> = calls.collect();
        match calls.first().and_then(|(_, call)| call.get("do")) {
            Some(what) => outside.push(what.clone()),
            None => steps.push(Step { outside: std::mem::take(&mut outside), calls }),
        }
    }
    if !outside.is_empty() {
        steps.push(Step { outside, calls: Vec::new() });
    }
    steps
}

fn words(setup: &Value, kind: &str) -> Vec<String> {
    let mut words = Vec::new();
    match setup["mode"].as_str() {
        None | Some("bypassPermissions") => words.push("--dangerously-skip-permissions".to_owned()),
        Some(mode) => words.extend(["--permission-mode".to_owned(), mode.to_owned()]),
    }
    if !["search", "mcp"].contains(&kind) {
        words.extend(["--tools".to_owned(), NAMED.to_owned()]);
    }
    let further = setup["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    words.extend(further.map(str::to_owned));
    words
}

pub(super) fn pairs(values: &Value) -> Vec<(String, String)> {
    let values = values.as_object().into_iter().flatten();
    values
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

/// A question of the client: of which call, as a row has it, and what the host says.
fn answered(case: &Value, model: &Model, request: &Value) -> (String, Value, Value) {
    let id = request["tool_use_id"].as_str().unwrap_or_default().to_owned();
    let run = model.run();
    let at = run.calls.iter().find(|(_, of)| *of == id).map(|(at, _)| *at);
    let questions = at.map_or(&Value::Null, |at| &case["calls"][at]["asked"]);
    let mut answer = questions[0]["answer"].clone();
    if answer.is_null() {
        answer = json!({"behavior": "allow"});
    }
    if answer["behavior"] == "allow" && answer["updatedInput"].is_null() {
        answer["updatedInput"] = request["input"].clone();
    }
    let answer = run.names.filled(&answer);
    let mut question = request.clone();
    if let Some(question) = question.as_object_mut() {
        question.shift_remove("subtype");
        question.insert("answer".into(), answer.clone());
    }
    (id, question, answer)
}

/// The results of the calls of a case.
fn results(case: &Value, calls: &[(usize, String)], requests: &[Value], log: &[Value]) -> Value {
    let count = case["calls"].as_array().map_or(0, Vec::len);
    let mut results = vec![Value::Null; count];
    for group in groups(case) {
        for at in &group {
            let id = calls.iter().find(|(of, _)| of == at).map(|(_, id)| id.as_str());
            if let (Some(id), Some(place)) = (id, results.get_mut(*at)) {
                let is_last = group.last() == Some(at);
                *place = result(id, requests, log, group.len() > 1, is_last).unwrap_or(Value::Null);
            }
        }
    }
    Value::from(results)
}

fn result(
    id: &str,
    requests: &[Value],
    log: &[Value],
    is_parallel: bool,
    is_last: bool,
) -> Option<Value> {
    let is_it = |block: &Value| block["type"] == "tool_result" && block["tool_use_id"] == id;
    let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let request = requests.iter().find(|request| {
        let messages = request["messages"].as_array().into_iter().flatten();
        messages.into_iter().any(|message| blocks(message).iter().any(is_it))
    })?;
    let messages = request["messages"].as_array()?;
    let at = messages.iter().position(|message| blocks(message).iter().any(is_it))?;
    let all = blocks(messages.get(at)?);
    let found = all.iter().find(|block| is_it(block))?;
    let mut row = Map::new();
    row.insert("content".into(), found["content"].clone());
    row.insert("is_error".into(), (found["is_error"] == true).into());
    let line = log.iter().find(|line| blocks(&line["message"]).iter().any(is_it));
    let line = line.unwrap_or(&Value::Null);
    row.insert("toolUseResult".into(), line["toolUseResult"].clone());
    let kept: Map<String, Value> = LINE
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), line.get(*name)?.clone())))
        .collect();
    if !kept.is_empty() {
        row.insert("line".into(), Value::Object(kept));
    }
    if is_parallel {
        let results = all.iter().filter(|block| block["type"] == "tool_result");
        let place = results.into_iter().position(is_it);
        row.insert("place".into(), json!(place));
    }
    let also = if is_last { beside(messages, at) } else { Vec::new() };
    if !also.is_empty() {
        row.insert("also".into(), Value::from(also));
    }
    Some(Value::Object(row))
}

/// What else was sent with the results of a message.
fn beside(messages: &[Value], at: usize) -> Vec<Value> {
    let mut also = Vec::new();
    let news = messages.iter().skip(at).take_while(|message| message["role"] != "assistant");
    for message in news {
        let role = &message["role"];
        let texts: Vec<&str> = match &message["content"] {
            Value::String(text) => vec![text.as_str()],
            content => {
                let blocks = content.as_array().into_iter().flatten();
                blocks.filter_map(|block| block["text"].as_str()).collect()
            }
        };
        also.extend(texts.iter().map(|text| json!({"role": role, "text": neutral::cut(text)})));
    }
    // Comes by position, after several silent steps.
    also.retain(|note| {
        !note["text"].as_str().is_some_and(|text| text.contains("hasn't heard from you"))
    });
    also
}
