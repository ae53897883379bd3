//! How two logs differ.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::json;

use super::behind_their_message;

/// Lines of the log that only the client writes, or that it writes when it gets to it.
pub(in super::super) const OWN_LINES: [&str; 21] = [
    "attachment/total_tokens_reminder",
    "attachment/plan_mode",
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

/// One line of a log: what it is, and which kept line it follows.
type Link = (String, Option<usize>);

pub(super) fn compare_logs(theirs: &str, ours: &str, found: &mut Vec<String>) {
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
    let is_compacted = lines.iter().any(|line| line["subtype"] == "compact_boundary");
    for line in &lines {
        let kind = log_kind(line);
        if OWN_LINES.contains(&kind.as_str()) {
            continue;
        }
        // After a compaction each client tells of the world in its own order.
        if is_compacted && matches!(kind.as_str(), "attachment/date" | "attachment/environment") {
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

pub(in super::super) fn log_kind(line: &Value) -> String {
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
