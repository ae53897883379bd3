//! What differs between a recorded run and ours.

use std::collections::BTreeMap;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::Case;
use super::play::Played;

/// Fields of lines that are of this run, or about the client itself.
const OF_THE_RUN: [&str; 34] = [
    "uuid",
    "session_id",
    "timestamp",
    "duration_ms",
    "duration_api_ms",
    "ttft_ms",
    "ttft_stream_ms",
    "time_to_request_ms",
    "first_content_frame_ms",
    "retry_delay_ms",
    "thinking_duration_ms",
    "thinking_display",
    "fast_mode_state",
    "fast_mode_disabled_reason",
    "subagent_stats",
    "safety_stops",
    "hook_id",
    "run_id",
    "durationMs",
    "end_time",
    "usage",
    "modelUsage",
    "model_usage_since_last_result",
    "estimated_tokens",
    "estimated_tokens_delta",
    "context_management",
    "diagnostics",
    "container",
    "stop_details",
    "persistedOutputPath",
    "persistedOutputSize",
    "agentId",
    "agent_id",
    "id",
];

/// What `init` says that scripts look at.
const INIT: [&str; 7] =
    ["type", "subtype", "cwd", "model", "permissionMode", "apiKeySource", "claude_code_version"];

/// Lines of the log that only the client writes, or that it writes when it gets to it.
const OWN_LINES: [&str; 19] = [
    "api-request",
    "api-request-shape",
    "api-request-blob",
    "atis-latch",
    "last-prompt",
    "tools-used",
    "file-history-snapshot",
    "file-history-delta",
    "mode",
    "attachment/model",
    "attachment/deferred_tools_delta",
    "attachment/agent_listing_delta",
    "attachment/skill_listing",
    "attachment/auto_mode",
    "attachment/session_context",
    "attachment/remote_session_change",
    "attachment/prompt_snapshot",
    "attachment/structured_output",
    "system/api_error",
];

/// How a run differs; empty if it does not.
pub(super) fn differences(case: &Case, played: &Played) -> Vec<String> {
    let mut found = Vec::new();
    let code = case.exit["rc"].as_i64();
    let ours = played.code.map(i64::from);
    if ours != code {
        found.push(format!("exit {ours:?}, not {code:?} ({})", first_line(&played.stderr)));
    }
    match case.words().contains(&"--version") {
        // Who speaks the protocol is another program.
        true => {}
        false => compare_output(case, played, &mut found),
    }
    if let Some(theirs) = &case.log {
        match &played.log {
            Some(ours) => compare_logs(theirs, ours, &mut found),
            None => found.push("no log".to_owned()),
        }
    } else if played.log.is_some() {
        found.push("a log".to_owned());
    }
    found
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn lines_of(text: &str) -> Option<Vec<Value>> {
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match serde_json::from_str(line).ok()? {
            Value::Array(all) => lines.extend(all),
            line => lines.push(line),
        }
    }
    Some(lines)
}

fn compare_output(case: &Case, played: &Played, found: &mut Vec<String>) {
    let (Some(theirs), Some(ours)) = (lines_of(&case.stdout), lines_of(&played.stdout)) else {
        if case.stdout != played.stdout {
            found.push(format!(
                "said {:?}, not {:?}",
                first_line(&played.stdout),
                first_line(&case.stdout)
            ));
        }
        return;
    };
    let is_kept = |line: &&Value| line["subtype"] != "thinking_tokens";
    let normal = |lines: &[Value]| -> Vec<Value> {
        behind_their_message(lines).iter().filter(is_kept).map(normal_line).collect()
    };
    let (theirs, ours) = (normal(&theirs), normal(&ours));
    let kinds = |lines: &[Value]| -> Vec<String> { lines.iter().map(kind).collect() };
    if kinds(&theirs) != kinds(&ours) {
        found.push(format!("lines {}, not {}", kinds(&ours).join(" "), kinds(&theirs).join(" ")));
        return;
    }
    for (theirs, ours) in theirs.iter().zip(&ours) {
        if let Some(how) = first_difference(theirs, ours, &kind(theirs)) {
            found.push(how);
        }
    }
}

/// Results stand between the blocks of their message or behind them, as it happens, and in the
/// order in which calls end: here always behind, in the order of the calls.
fn behind_their_message(lines: &[Value]) -> Vec<Value> {
    let id = |line: &Value| line["message"]["id"].as_str().map(str::to_owned);
    let is_result = |line: &Value| line["type"] == "user" && line["tool_use_result"] != Value::Null;
    let mut ordered: Vec<Value> = Vec::new();
    let mut held: Vec<Value> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let last = ordered.iter().rev().find_map(id);
        let goes_on = |line: &Value| id(line).is_some() && id(line) == last;
        if is_result(line) && lines[at..].iter().any(goes_on) {
            held.push(line.clone());
            continue;
        }
        let is_same = goes_on(line);
        if !is_same && id(line).is_some() {
            ordered.append(&mut held);
        }
        ordered.push(line.clone());
        if !lines[at + 1..].iter().any(|line| id(line).is_some() && id(line) == last) {
            ordered.append(&mut held);
        }
    }
    ordered.append(&mut held);
    // Calls that run at the same time end in any order.
    let call =
        |line: &Value| line["message"]["content"][0]["tool_use_id"].as_str().map(str::to_owned);
    for group in ordered.chunk_by_mut(|one, other| is_result(one) && is_result(other)) {
        group.sort_by_key(call);
    }
    ordered
}

fn kind(line: &Value) -> String {
    let name = line["type"].as_str().unwrap_or_default();
    match line["subtype"].as_str().or_else(|| line["event"]["type"].as_str()) {
        Some(subtype) => format!("{name}/{subtype}"),
        None => name.to_owned(),
    }
}

fn normal_line(line: &Value) -> Value {
    if line["subtype"] == "init" {
        let object = line.as_object().cloned().unwrap_or_default();
        let kept = object.into_iter().filter(|(name, _)| INIT.contains(&name.as_str()));
        return Value::Object(kept.collect());
    }
    let mut line = normal(line);
    // Words that are each client's own.
    if line["isSynthetic"] == true || line["subtype"] == "informational" {
        line["message"] = json!("<words>");
        line["content"] = json!("<words>");
    }
    // Of two streams, either may be read first.
    if let Some(text) = line["output"].as_str() {
        let mut parts: Vec<&str> = text.lines().collect();
        parts.sort_unstable();
        line["output"] = json!(parts);
    }
    if let Some(text) = line["result"].as_str()
        && text.starts_with("Prompt is too long")
    {
        line["result"] = json!("Prompt is too long");
    }
    // How far an answer came before the signal is a matter of time.
    if line["is_api_error_message"] == true || line["aborted"] == true {
        line["message"] = json!("<words>");
    }
    line
}

/// A value without what is of the run.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut kept = Map::new();
            for (name, value) in object {
                if !OF_THE_RUN.contains(&name.as_str()) {
                    kept.insert(name.clone(), normal(value));
                }
            }
            Value::Object(kept)
        }
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::String(text) => Value::String(normal_text(text)),
        other => other.clone(),
    }
}

fn normal_text(text: &str) -> String {
    let is_id = |word: &str| {
        let hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let parts: Vec<&str> = word.split('-').collect();
        (parts.len() == 5 && parts.iter().all(|part| hex(part)) && word.len() == 36)
            || (word.len() == 17 && word.starts_with('a') && hex(&word[1..]))
            || word.starts_with("127.0.0.1")
    };
    let mut normal = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric()
            || c == '-'
            || (word.starts_with("127") && (c == '.' || c == ':'))
        {
            word.push(c);
            continue;
        }
        normal.push_str(if is_id(&word) { "<id>" } else { &word });
        word.clear();
        if c != '\0' {
            normal.push(c);
        }
    }
    // Names of files that hold output.
    let marks = ["/tool-results/", "PORT"];
    match normal.find(marks[0]) {
        Some(at) => normal.chars().take(at).collect(),
        None => normal.replace("127.0.0.1:PORT", "<id>"),
    }
}

fn first_difference(theirs: &Value, ours: &Value, at: &str) -> Option<String> {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (name, value) in theirs {
                let place = format!("{at}.{name}");
                match ours.get(name) {
                    Some(own) => {
                        if let Some(how) = first_difference(value, own, &place) {
                            return Some(how);
                        }
                    }
                    None => return Some(format!("{place} is missing ({})", shortened(value))),
                }
            }
            let extra = ours.keys().find(|name| !theirs.contains_key(*name))?;
            Some(format!("{at}.{extra} is new"))
        }
        (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
            let pairs = theirs.iter().zip(ours).enumerate();
            pairs.into_iter().find_map(|(number, (theirs, ours))| {
                first_difference(theirs, ours, &format!("{at}[{number}]"))
            })
        }
        (Value::Number(theirs), Value::Number(ours)) => {
            let (theirs, ours) = (theirs.as_f64()?, ours.as_f64()?);
            ((theirs - ours).abs() > 1e-9).then(|| format!("{at}: {ours}, not {theirs}"))
        }
        _ if theirs == ours => None,
        _ => Some(format!("{at}: {}, not {}", shortened(ours), shortened(theirs))),
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    text.chars().take(160).collect()
}

/// One line of a log: what it is, and which kept line it follows.
type Link = (String, Option<usize>);

fn compare_logs(theirs: &str, ours: &str, found: &mut Vec<String>) {
    let (theirs, ours) = (links(theirs), links(ours));
    let names =
        |links: &[Link]| -> Vec<String> { links.iter().map(|(kind, _)| kind.clone()).collect() };
    if names(&theirs) != names(&ours) {
        found.push(format!("log {}, not {}", names(&ours).join(" "), names(&theirs).join(" ")));
    } else if theirs != ours {
        let at = theirs.iter().zip(&ours).position(|(theirs, ours)| theirs != ours);
        found.push(format!(
            "the log hangs together in another way at {at:?}: {ours:?}, not {theirs:?}"
        ));
    }
}

fn links(log: &str) -> Vec<Link> {
    let lines: Vec<Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut parents: BTreeMap<String, Option<String>> = BTreeMap::new();
    for line in &lines {
        if let Some(uuid) = line["uuid"].as_str() {
            parents.insert(uuid.to_owned(), line["parentUuid"].as_str().map(str::to_owned));
        }
    }
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut messages: BTreeMap<String, String> = BTreeMap::new();
    let mut links: Vec<Link> = Vec::new();
    let mut costs = 0;
    let lines = behind_their_message(&with_results_named(&lines));
    for line in &lines {
        let kind = log_kind(line);
        if OWN_LINES.contains(&kind.as_str()) {
            continue;
        }
        // When it is written depends on when the process ends.
        if kind == "cost-state" {
            costs += 1;
            continue;
        }
        let mut above = line["parentUuid"].as_str().map(str::to_owned);
        // A block follows the block before, whatever was written in between.
        if let (Some(id), Some(uuid)) = (line["message"]["id"].as_str(), line["uuid"].as_str()) {
            above = messages.insert(id.to_owned(), uuid.to_owned()).or(above);
        }
        while let Some(uuid) = &above {
            if places.contains_key(uuid) {
                break;
            }
            above = parents.get(uuid).cloned().flatten();
        }
        let above = above.and_then(|uuid| places.get(&uuid).copied());
        if let Some(uuid) = line["uuid"].as_str() {
            places.insert(uuid.to_owned(), links.len());
        }
        links.push((kind, above));
    }
    links.push((format!("cost-state×{}", costs.min(1)), None));
    links
}

/// Results of the log under the name that they have in a stream.
fn with_results_named(lines: &[Value]) -> Vec<Value> {
    let named = lines.iter().map(|line| {
        let mut line = line.clone();
        if line["sourceToolAssistantUUID"].is_string() {
            line["tool_use_result"] = json!(true);
        }
        line
    });
    named.collect()
}

fn log_kind(line: &Value) -> String {
    let name = line["type"].as_str().unwrap_or_default();
    let detail = match name {
        "attachment" => line["attachment"]["type"].as_str(),
        "system" => line["subtype"].as_str(),
        "queue-operation" => line["operation"].as_str(),
        "user" if line["isMeta"] == true => Some("meta"),
        "user" => line["message"]["content"][0]["type"].as_str(),
        "assistant" if line["message"]["model"] == "<synthetic>" => Some("synthetic"),
        "assistant" => line["message"]["content"][0]["type"].as_str(),
        _ => None,
    };
    match detail {
        Some(detail) => format!("{name}/{detail}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_put_behind_the_blocks_of_their_message() {
        let said = |id: &str| json!({"type": "assistant", "message": {"id": id}});
        let result = json!({"type": "user", "message": {}, "tool_use_result": {"x": 1}});
        let lines = [said("a"), result.clone(), said("a"), said("b"), result.clone()];
        let kinds: Vec<String> = behind_their_message(&lines).iter().map(kind).collect();
        assert_eq!(kinds, ["assistant", "assistant", "user", "assistant", "user"]);
    }
}
