//! What differs between a recorded run and ours.

mod logs;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::Case;
use super::play::Played;
pub(super) use logs::OWN_LINES;
use logs::compare_logs;
pub(super) use logs::log_kind;

/// Fields whose values are of this run: that they are there is compared.
const OF_THE_RUN: [&str; 21] = [
    "totalDurationMs",
    "total_tokens",
    "pre_tokens",
    "post_tokens",
    "cumulative_dropped_tokens",
    "request_sent_wall_ms",
    "timestamp",
    "duration_ms",
    "duration_api_ms",
    "ttft_ms",
    "retry_delay_ms",
    "thinking_duration_ms",
    "durationMs",
    "end_time",
    "estimated_tokens",
    "estimated_tokens_delta",
    "runId",
    "run_id",
    "hook_id",
    "persistedOutputPath",
    "persistedOutputSize",
];

/// Fields about the client itself, which are not compared.
const OF_THE_CLIENT: [&str; 14] = [
    "harnessSectionHash",
    "preserved_messages",
    "ttft_stream_ms",
    "time_to_request_ms",
    "first_content_frame_ms",
    "thinking_display",
    "fast_mode_state",
    "fast_mode_disabled_reason",
    "modelUsage",
    "model_usage_since_last_result",
    "context_management",
    "diagnostics",
    "container",
    "stop_details",
];

/// What `init` says that scripts look at.
pub(super) const INIT: [&str; 7] =
    ["type", "subtype", "cwd", "model", "permissionMode", "apiKeySource", "claude_code_version"];

/// What hosts look at in the answer to `initialize`.
pub(super) const OF_A_START: [&str; 7] = [
    "output_style",
    "account",
    "claude_code_version",
    "current_permission_mode",
    "hooks_applied",
    "hook_on_failure_supported",
    "session_state",
];

/// The same of `get_context_usage`.
pub(super) const OF_A_WINDOW: [&str; 3] = ["maxTokens", "model", "isAutoCompactEnabled"];

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
    for ((_, theirs), ours) in case.others.iter().zip(&played.others) {
        match ours {
            Some(ours) => compare_logs(theirs, ours, &mut found),
            None => found.push("another log is missing".to_owned()),
        }
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
        if normal_text(&case.stdout) != normal_text(&played.stdout) {
            found.push(format!(
                "said {:?}, not {:?}",
                first_line(&played.stdout),
                first_line(&case.stdout)
            ));
        }
        return;
    };
    let is_kept =
        |line: &&Value| line["subtype"] != "thinking_tokens" && line["type"] != "transcript_mirror";
    let normal = |lines: &[Value]| -> Vec<Value> {
        let lines = with_tasks_named(&without_cut_deltas(lines));
        let mut ordered = behind_their_message(&lines);
        // When a server is spoken to depends on when the program gets to it.
        ordered.sort_by_key(is_to_server);
        // Subagents work beside the session.
        ordered.sort_by_key(is_of_task);
        ordered.iter().filter(is_kept).map(normal_line).collect()
    };
    let mirrored = |lines: &[Value]| -> Vec<String> {
        let frames = lines.iter().filter(|line| line["type"] == "transcript_mirror");
        let entries = frames.flat_map(|frame| frame["entries"].as_array().cloned());
        let kinds = entries.flatten().map(|entry| log_kind(&entry));
        kinds.filter(|kind| !OWN_LINES.contains(&kind.as_str()) && kind != "cost-state").collect()
    };
    if mirrored(&theirs) != mirrored(&ours) {
        let (theirs, ours) = (mirrored(&theirs), mirrored(&ours));
        found.push(format!("mirrored {}, not {}", ours.join(" "), theirs.join(" ")));
    }
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
    // A question about a call comes as soon as the call is whole.
    let is_asked = |line: &Value| {
        line["request"]["subtype"] == "can_use_tool"
            || (line["subtype"] == "session_state_changed" && line["state"] != "idle")
    };
    let mut ordered: Vec<Value> = Vec::new();
    let mut held: Vec<Value> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let last = ordered.iter().rev().find_map(id);
        let is_last = |id: Option<&str>| id.is_some() && id == last.as_deref();
        let goes_on =
            |line: &Value| is_last(id(line).as_deref()) || is_last(line["api_message_id"].as_str());
        if (is_result(line) || is_asked(line)) && lines[at..].iter().any(goes_on) {
            held.push(line.clone());
            continue;
        }
        let is_same = goes_on(line);
        if !is_same && id(line).is_some() {
            ordered.append(&mut held);
        }
        ordered.push(line.clone());
        if !lines[at + 1..].iter().any(goes_on) {
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

/// How far an answer came before it was interrupted is a matter of time.
fn without_cut_deltas(lines: &[Value]) -> Vec<Value> {
    let cut = lines.iter().filter(|line| line["aborted"] == true);
    let cut: Vec<&Value> = cut.map(|line| &line["message"]["id"]).collect();
    let is_delta = |line: &&Value| {
        line["event"]["type"] == "content_block_delta" && cut.contains(&&line["api_message_id"])
    };
    lines.iter().filter(|line| !is_delta(line)).cloned().collect()
}

/// Tasks have names of this run.
fn with_tasks_named(lines: &[Value]) -> Vec<Value> {
    let mut names: Vec<&str> = Vec::new();
    for line in lines {
        let id = line["task_id"].as_str().filter(|id| id.starts_with('b'));
        names.extend(id.filter(|id| !names.contains(id)));
    }
    let all = Value::Array(lines.to_vec()).to_string();
    let plan = all.split_once("/plans/").and_then(|(_, rest)| rest.split_once(".md"));
    let plan = plan.map(|(name, _)| format!("/plans/{name}.md"));
    let named = lines.iter().map(|line| {
        let mut text = line.to_string();
        if let Some(plan) = &plan {
            text = text.replace(plan, "/plans/<plan>.md");
        }
        for (number, name) in names.iter().enumerate() {
            text = text.replace(name, &format!("<task-{number}>"));
        }
        serde_json::from_str(&text).unwrap_or_else(|_| line.clone())
    });
    named.collect()
}

fn is_of_task(line: &Value) -> bool {
    let input = &line["request"]["input"];
    line["parent_tool_use_id"].is_string()
        || line["request"]["agent_id"].is_string()
        || input["agent_id"].is_string()
        || matches!(line["subtype"].as_str(), Some("task_progress"))
}

fn is_to_server(line: &Value) -> bool {
    line["request"]["subtype"] == "mcp_message"
}

fn kind(line: &Value) -> String {
    let name = line["type"].as_str().unwrap_or_default();
    let inner = line["request"]["message"]["method"]
        .as_str()
        .or_else(|| line["request"]["subtype"].as_str())
        .or_else(|| line["event"]["type"].as_str())
        .or_else(|| line["state"].as_str());
    match line["subtype"].as_str().or(inner) {
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
    // A sum of what the endpoint said, with fields that it did not say.
    if line["type"] == "result"
        && let Some(line) = line.as_object_mut()
    {
        line.remove("usage");
    }
    if line["type"] == "control_response" {
        normalize_answer(&mut line["response"]);
    }
    if is_to_server(&line) {
        line["request"]["message"]["params"]["clientInfo"] = json!("<client>");
    }
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
    // What commands answer are each client's own words, except what a session cost.
    let command = line["local_command_run"]["command"].as_str().or(line["local_command"].as_str());
    if command.is_some_and(|name| !matches!(name, "usage" | "cost" | "stats" | "compact" | "clear"))
    {
        for name in ["message", "local_command_source", "result"] {
            if line[name] != Value::Null {
                line[name] = json!("<words>");
            }
        }
    }
    // How far an answer came before the signal is a matter of time.
    if line["is_api_error_message"] == true || line["aborted"] == true {
        line["message"] = json!("<words>");
    }
    line
}

/// Of large answers, what hosts look at; of the rest, that it is there.
fn normalize_answer(response: &mut Value) {
    let Some(answer) = response["response"].as_object_mut() else { return };
    if answer.contains_key("commands") {
        answer.retain(|name, _| OF_A_START.contains(&name.as_str()));
    } else if answer.contains_key("categories") {
        answer.retain(|name, _| OF_A_WINDOW.contains(&name.as_str()));
    } else if answer.contains_key("text") || answer.contains_key("version") {
        answer.clear();
    }
}

/// A value without what is of the run.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut kept = Map::new();
            for (name, value) in object {
                let name = name.as_str();
                if OF_THE_RUN.contains(&name) {
                    kept.insert(name.to_owned(), json!("<run>"));
                } else if !OF_THE_CLIENT.contains(&name) {
                    kept.insert(name.to_owned(), normal(value));
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
        // Batches of calls have ids of hooks.
        let word = word.strip_prefix("hook-").unwrap_or(word);
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
    let normal = without_durations(&normal);
    // Names of files that hold output.
    let marks = ["/tool-results/", "PORT"];
    match normal.find(marks[0]) {
        Some(at) => normal.chars().take(at).collect(),
        None => normal.replace("127.0.0.1:PORT", "<id>"),
    }
}

/// Durations that texts tell: those of subagents, and of a session that is asked what it cost.
fn without_durations(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    let marks = ["duration_ms: ", "Total duration (API):  ", "Total duration (wall): "];
    while let Some((at, mark)) =
        marks.iter().filter_map(|mark| Some((rest.find(mark)? + mark.len(), mark))).min()
    {
        kept.push_str(&rest[..at]);
        kept.push_str("<run>");
        let is_of_time =
            |c: char| c.is_ascii_digit() || (c.is_ascii_lowercase() && *mark != marks[0]);
        rest = rest[at..].trim_start_matches(is_of_time);
    }
    kept + rest
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
