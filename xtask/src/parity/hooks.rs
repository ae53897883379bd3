//! Recorded hooks against those of `recto-agent`.
//!
//! Whole runs need the loop. Without it a row is equal if all of this is:
//!
//! - which hooks of the settings run at the recorded events, and that none runs for a prompt or a
//!   call of the row that no hook was recorded for (matchers, `if`, duplicates, unknown kinds);
//! - the standard input of every hook, built again from its facts: fields, their order, values;
//! - the log lines about hooks (`attachment`, `stop_hook_summary`) in their order, with the
//!   commands really run by our runner;
//! - the lines of the JSON stream about hooks (`hook_started`, `hook_response`, what hooks say, and
//!   that one did not answer);
//! - the sentence of a call that a hook forbids, and the notes for the model, as far as the row
//!   has them in what was sent.
//!
//! Normalised: durations, ids, names of files with long context, and the schema that the client prints after an answer that is not
//! valid. Lines that the loop writes itself (prompts, results, titles) are its part.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use recto_agent::hook::Answer;
use recto_agent::hook::Common;
use recto_agent::hook::Event;
use recto_agent::hook::Facts;
use recto_agent::hook::Hooks;
use recto_agent::hook::Label;
use recto_agent::hook::Ran;
use recto_agent::hook::Subject;
use recto_agent::hook::Surroundings;
use recto_agent::hook::compaction_refusal;
use recto_agent::hook::compaction_report;
use recto_agent::hook::keep_long_contexts;
use recto_agent::hook::response_line;
use recto_agent::hook::run_all;
use recto_agent::hook::session_end_failures;
use recto_agent::hook::started_line;
use recto_agent::hook::stop_summary;
use recto_agent::permission::Place;
use recto_agent::settings::Layer;
use recto_agent::settings::Settings;
use recto_agent::settings::Source;
use recto_agent::settings::Wanted;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;
use sha2::Sha256;

/// What came of all rows.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Rows that are the same.
    pub(crate) equal: usize,
    /// Rows that were compared.
    pub(crate) compared: usize,
    /// What differs: id, and how.
    pub(crate) differences: Vec<(String, String)>,
}

/// Judges the rows of `hooks.jsonl` in a folder.
pub(crate) fn judge(cases: &Path) -> anyhow::Result<Judged> {
    let path = cases.join("hooks.jsonl");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut judged = Judged::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).with_context(|| path.display().to_string())?;
        judged.compared += 1;
        let home = tempfile::tempdir()?;
        let how = runtime.block_on(judge_row(&row, home.path()))?;
        let id = row["id"].as_str().unwrap_or_default().to_owned();
        match how.is_empty() {
            true => judged.equal += 1,
            false => judged.differences.push((id, how.join("; "))),
        }
    }
    Ok(judged)
}

async fn judge_row(row: &Value, home: &Path) -> anyhow::Result<Vec<String>> {
    let mut how = Vec::new();
    let bare = row["args"].as_array().is_some_and(|args| args.iter().any(|arg| arg == "--bare"));
    let hooks = if bare { Hooks::default() } else { Hooks::new(&settings(row)) };
    let place = Place::new("/home/dev/app".into(), "/home/dev".into());
    compare_silence(row, &hooks, &place, &mut how);
    let (mut lines, mut stream) = (Vec::new(), Vec::new());
    let sent = json!([row["runs"], row["log"]]).to_string();
    let inputs: Vec<&Value> = row["inputs"].as_array().into_iter().flatten().collect();
    let mut at = 0;
    while let Some(input) = inputs.get(at) {
        let stdin = &input["stdin"];
        let Some(event) = input["event"].as_str().and_then(Event::named) else {
            how.push(format!("unknown event {}", input["event"]));
            break;
        };
        let subject = subject(event, stdin);
        let matching = hooks.matching(event, subject, &place);
        // All hooks of one event have the same input, and stand one after the other.
        let same = inputs.iter().skip(at).take_while(|other| other["stdin"] == *stdin).count();
        if matching.is_empty() || same % matching.len() != 0 {
            how.push(format!("{event:?}: {} hooks ran, not {same}", matching.len()));
            break;
        }
        at += matching.len();
        compare_input(stdin, &mut how);
        let surroundings = surroundings(home)?;
        let mut ran = run_all(&matching, stdin, &surroundings, &Default::default()).await;
        let id = stdin["tool_use_id"].as_str().unwrap_or("<id>");
        let label = Label { event, subject: subject.name, id };
        keep_contexts(label, &mut ran, &sent, home);
        let answer = Answer::new(label, &ran);
        for text in told(&answer, label, &ran) {
            let quoted = serde_json::to_string(&text)?;
            // Long texts are recorded by their length and hash.
            let hash = shortened(&json!(text))[1].as_str().unwrap_or("-").to_owned();
            if sent.contains(&hash) {
                continue;
            }
            if !sent.contains(quoted.trim_matches('"')) {
                how.push(format!("nobody was told {text:?}"));
            }
        }
        lines.extend(log_lines(event, &answer, &ran, id));
        stream.extend(stream_lines(row, label, &answer, &ran));
    }
    compare_stream(row, stream, &mut how);
    compare_lines(row, lines, &mut how);
    Ok(how)
}

/// Puts long context into files, and names them as the recorded client did.
fn keep_contexts(label: Label<'_>, ran: &mut [Ran], sent: &str, home: &Path) {
    const RECORDED: &str = "/home/dev/.claude/projects/-home-dev-app/<session>/tool-results";
    let name = sent.split_once(&format!("{RECORDED}/hook-{}-{}-", label.id, label.event.name()));
    let run = name.and_then(|(_, rest)| rest.split('-').next()).unwrap_or_default();
    let folder = home.join("tool-results");
    keep_long_contexts(label, ran, &folder, run);
    let folder = folder.display().to_string();
    for context in ran.iter_mut().filter_map(|ran| ran.effect.output.context.as_mut()) {
        *context = context.replace(&folder, RECORDED);
    }
}

fn settings(row: &Value) -> Settings {
    let layer = |source, value: &Value| {
        Some(Layer { source, path: None, value: value.as_object()?.clone() })
    };
    let file = |name: &str| &row["home"][format!("/home/dev/app/.claude/{name}")];
    let args: Vec<&str> =
        row["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let option = |name: &str| args.windows(2).find(|pair| pair[0] == name).map(|pair| pair[1]);
    let flag = option("--settings").and_then(|text| serde_json::from_str(text).ok());
    let flag: Value = flag.unwrap_or_default();
    let wanted = option("--setting-sources").map_or(Ok(Wanted::default()), Wanted::parse);
    let wanted = wanted.unwrap_or_default();
    let layers = [
        layer(Source::User, &row["settings"]).filter(|_| wanted.user),
        layer(Source::Project, file("settings.json")).filter(|_| wanted.project),
        layer(Source::Local, file("settings.local.json")).filter(|_| wanted.local),
        layer(Source::Flag, &flag),
    ];
    Settings::from_layers(layers.into_iter().flatten().collect())
}

fn surroundings(home: &Path) -> anyhow::Result<Surroundings> {
    let app = home.join("app");
    std::fs::create_dir_all(&app)?;
    let variable = |name: &str, path: &Path| (name.to_owned(), path.display().to_string());
    let environment = vec![
        variable("HOME", home),
        variable("CLAUDE_PROJECT_DIR", &app),
        variable("CLAUDE_ENV_FILE", &home.join("env")),
    ];
    Ok(Surroundings { cwd: app, environment })
}

fn subject<'a>(event: Event, stdin: &'a Value) -> Subject<'a> {
    let key = match event {
        Event::SessionStart => "source",
        Event::SessionEnd => "reason",
        Event::SubagentStart | Event::SubagentStop => "agent_type",
        Event::PreCompact | Event::PostCompact => "trigger",
        Event::UserPromptExpansion => "command_name",
        Event::InstructionsLoaded => "load_reason",
        _ => "tool_name",
    };
    let input = stdin.get("tool_input").filter(|_| event.is_about_a_tool());
    Subject { name: stdin[key].as_str(), input }
}

/// Prompts and calls of the row that no hook was recorded for must match none.
fn compare_silence(row: &Value, hooks: &Hooks, place: &Place, how: &mut Vec<String>) {
    let recorded = |event: Event| {
        row["inputs"].as_array().into_iter().flatten().any(|input| input["event"] == event.name())
    };
    // A hook that reads its own input before the recorder could is not in `inputs`.
    let reads_itself = row["settings"].to_string().contains("grep -q");
    let removed = row["settings"]["permissions"]["deny"].is_array();
    if reads_itself || removed {
        return;
    }
    let calls = row["turns"].as_array().into_iter().flatten();
    for call in calls.flat_map(|turn| turn["calls"].as_array().into_iter().flatten()) {
        let subject = Subject { name: call["name"].as_str(), input: call.get("input") };
        let event = Event::PreToolUse;
        // The checks of a tool come before hooks.
        let is_valid = call["input"].as_object().is_some_and(|input| !input.is_empty())
            && call["name"] != "NoSuchTool"
            && !row["runs"].to_string().contains("<tool_use_error>");
        if is_valid && !recorded(event) && !hooks.matching(event, subject, place).is_empty() {
            how.push(format!("{event:?} ran for {}", call["name"]));
        }
    }
    let source = Subject { name: Some("startup"), input: None };
    if !recorded(Event::SessionStart)
        && !hooks.matching(Event::SessionStart, source, place).is_empty()
    {
        how.push("SessionStart ran".to_owned());
    }
}

/// Builds a standard input again from its own facts.
fn compare_input(stdin: &Value, how: &mut Vec<String>) {
    let Some(built) = build_input(stdin) else {
        return how.push(format!("no input for {}", stdin["hook_event_name"]));
    };
    let (ours, theirs) = (built.to_string(), stdin.to_string());
    if ours != theirs {
        how.push(format!("input {ours}, not {theirs}"));
    }
}

fn build_input(stdin: &Value) -> Option<Value> {
    let text = |key: &str| stdin[key].as_str().unwrap_or_default();
    let list = |key: &str| stdin[key].as_array().cloned().unwrap_or_default();
    let agent = stdin["agent_id"].as_str().map(|id| (id.to_owned(), text("agent_type").to_owned()));
    let common = Common {
        session_id: text("session_id").to_owned(),
        transcript_path: text("transcript_path").to_owned(),
        cwd: text("cwd").to_owned(),
        prompt_id: stdin["prompt_id"].as_str().map(str::to_owned),
        permission_mode: text("permission_mode").to_owned(),
        agent,
        effort: stdin["effort"]["level"].as_str().unwrap_or_default().to_owned(),
    };
    let (tool, input, id) = (text("tool_name"), &stdin["tool_input"], text("tool_use_id"));
    let (tasks, crons) = (list("background_tasks"), list("session_crons"));
    let (calls, suggestions) = (list("tool_calls"), list("permission_suggestions"));
    let active = stdin["stop_hook_active"] == true;
    let last_message = text("last_assistant_message");
    let duration_ms = stdin["duration_ms"].as_u64().unwrap_or_default();
    let facts = match Event::named(text("hook_event_name"))? {
        Event::SessionStart => {
            let known =
                ["session_id", "transcript_path", "cwd", "prompt_id", "hook_event_name", "source"];
            let mut extra: Map<String, Value> = stdin.as_object()?.clone();
            extra.retain(|key, _| !known.contains(&key.as_str()));
            Facts::SessionStart { source: text("source"), extra }
        }
        Event::SessionEnd => Facts::SessionEnd { reason: text("reason") },
        Event::InstructionsLoaded => Facts::InstructionsLoaded {
            file_path: text("file_path"),
            memory_type: text("memory_type"),
            load_reason: text("load_reason"),
            parent: stdin["parent_file_path"].as_str(),
        },
        Event::UserPromptSubmit => Facts::UserPromptSubmit { prompt: text("prompt") },
        Event::UserPromptExpansion => Facts::UserPromptExpansion {
            kind: text("expansion_type"),
            name: text("command_name"),
            arguments: text("command_args"),
            source: text("command_source"),
            prompt: text("prompt"),
        },
        Event::PreToolUse => Facts::PreToolUse { tool, input, id },
        Event::PermissionRequest => {
            Facts::PermissionRequest { tool, input, suggestions: &suggestions }
        }
        Event::PostToolUse => {
            Facts::PostToolUse { tool, input, id, response: &stdin["tool_response"], duration_ms }
        }
        Event::PostToolUseFailure => Facts::PostToolUseFailure {
            tool,
            input,
            id,
            error: text("error"),
            interrupted: stdin["is_interrupt"] == true,
            duration_ms,
        },
        Event::PostToolBatch => Facts::PostToolBatch { calls: &calls },
        Event::SubagentStart => Facts::SubagentStart,
        Event::SubagentStop => {
            let transcript = text("agent_transcript_path");
            Facts::SubagentStop { active, transcript, last_message, tasks: &tasks, crons: &crons }
        }
        Event::Stop => Facts::Stop { active, last_message, tasks: &tasks, crons: &crons },
        Event::StopFailure => Facts::StopFailure { error: text("error"), last_message },
        Event::PreCompact => Facts::PreCompact {
            trigger: text("trigger"),
            instructions: text("custom_instructions"),
        },
        Event::PostCompact => {
            Facts::PostCompact { trigger: text("trigger"), summary: text("compact_summary") }
        }
        Event::TaskCreated => Facts::TaskCreated {
            id: text("task_id"),
            subject: text("task_subject"),
            description: stdin["task_description"].as_str(),
        },
        Event::TaskCompleted => Facts::TaskCompleted {
            id: text("task_id"),
            subject: text("task_subject"),
            description: stdin["task_description"].as_str(),
        },
        Event::CwdChanged => Facts::CwdChanged { old: text("old_cwd"), new: text("new_cwd") },
        _ => return None,
    };
    Some(facts.to_json(&common))
}

/// What the model and the user are told.
fn told(answer: &Answer, label: Label<'_>, ran: &[Ran]) -> Vec<String> {
    let mut texts: Vec<String> = answer.notes().map(str::to_owned).collect();
    match label.event {
        Event::PreToolUse => texts.extend(answer.refusal(label)),
        Event::PreCompact => {
            texts.extend(compaction_refusal(ran));
            // The schema that the client prints is not ours.
            let report = compaction_report(label, ran).into_iter();
            texts.extend(
                report.map(|text| text.split("\n\nExpected").next().unwrap_or_default().to_owned()),
            );
        }
        Event::SessionEnd => texts.extend(session_end_failures(ran)),
        _ => {}
    }
    texts
}

/// The start of a session is always told, other events on request.
fn stream_lines(row: &Value, label: Label<'_>, answer: &Answer, ran: &[Ran]) -> Vec<Value> {
    let args = row["args"].as_array().into_iter().flatten();
    let all = args.into_iter().any(|arg| arg == "--include-hook-events");
    let mut lines = Vec::new();
    // When a session ends, nobody listens any more.
    if (all && label.event != Event::SessionEnd) || label.event == Event::SessionStart {
        lines.extend(ran.iter().map(|_| started_line(label, "")));
        lines.extend(ran.iter().map(|ran| response_line(label, ran, "")));
    }
    lines.extend(answer.stream.iter().cloned());
    lines
}

fn compare_stream(row: &Value, ours: Vec<Value>, how: &mut Vec<String>) {
    let is_hooks = |line: &&Value| match line["subtype"].as_str().unwrap_or_default() {
        "hook_started" | "hook_response" | "notification" => true,
        // A prompt that is not sent is told by the loop.
        "informational" => line["prevent_continuation"] != true,
        _ => false,
    };
    let normal = |line: &Value| {
        let mut line = line.clone();
        if let Some(object) = line.as_object_mut() {
            object.remove("hook_id");
            // The schema of answers is the client's.
            if let Some(Value::String(text)) = object.get_mut("stderr")
                && let Some(at) = text.find("\n\nExpected schema:")
            {
                text.truncate(at);
            }
        }
        line.to_string()
    };
    let runs = row["runs"].as_array().into_iter().flatten();
    let theirs = runs.flat_map(|run| run["stream"].as_array().into_iter().flatten());
    let theirs: Vec<String> = theirs.filter(is_hooks).map(normal).collect();
    let mut ours: Vec<String> = ours.iter().map(normal).collect();
    // The same notification is shown once.
    let mut seen = std::collections::BTreeSet::new();
    ours.retain(|line| !line.contains("\"notification\"") || seen.insert(line.clone()));
    if ours != theirs {
        how.push(format!("stream {ours:?}, not {theirs:?}"));
    }
}

fn log_lines(event: Event, answer: &Answer, ran: &[Ran], id: &str) -> Vec<Value> {
    let mut lines = Vec::new();
    for line in &answer.lines {
        let mut value = json!({ "attachment": line.attachment });
        if let Some(rendered) = line.rendered() {
            value["rendered"] = rendered;
        }
        lines.push(value);
    }
    if event == Event::Stop {
        lines.push(stop_summary(ran, answer, id));
    }
    lines
}

fn compare_lines(row: &Value, ours: Vec<Value>, how: &mut Vec<String>) {
    let is_hooks = |line: &Value| {
        let kind = line["attachment"]["type"].as_str().unwrap_or_default();
        line["subtype"] == "stop_hook_summary"
            // These two need the tool: its shape, and the deferred call.
            || (kind.starts_with("hook_")
                && kind != "hook_error_during_execution"
                && kind != "hook_deferred_tool")
    };
    let theirs = row["log"].as_array().into_iter().flatten().filter(|line| is_hooks(line));
    let theirs: Vec<Value> = theirs.map(normal).collect();
    let ours: Vec<Value> = ours.iter().map(normal).collect();
    if ours.len() != theirs.len() {
        return how.push(format!("{} log lines, not {}: {ours:?}", ours.len(), theirs.len()));
    }
    for (ours, theirs) in ours.iter().zip(&theirs) {
        if ours != theirs {
            how.push(format!("log {ours}, not {theirs}"));
        }
    }
}

/// A line without what differs from run to run.
fn normal(line: &Value) -> Value {
    let mut line = line.clone();
    if let Some(object) = line.as_object_mut() {
        for key in ["type", "renderedRole", "agentId", "_file", "toolUseID"] {
            object.remove(key);
        }
        for info in object.get_mut("hookInfos").and_then(Value::as_array_mut).into_iter().flatten()
        {
            zero_duration(info);
        }
        // The schema of answers is the client's.
        let errors = object.get_mut("hookErrors").and_then(Value::as_array_mut);
        for error in errors.into_iter().flatten() {
            if let Value::String(text) = error
                && let Some(at) = text.find("\n\nExpected schema:")
            {
                text.truncate(at);
            }
        }
    }
    zero_duration(&mut line["attachment"]);
    if let Some(attachment) = line["attachment"].as_object_mut() {
        attachment.remove("toolUseID");
        if let Some(Value::String(text)) = attachment.get_mut("stderr")
            && let Some(at) = text.find("\n\nExpected schema:")
        {
            text.truncate(at);
        }
        if let Some(stdout) = attachment.get_mut("stdout") {
            *stdout = shortened(stdout);
        }
    }
    line
}

/// Long texts are recorded by their length and hash.
fn shortened(text: &Value) -> Value {
    const LONGEST: usize = 12_500;
    match text.as_str() {
        Some(long) if long.chars().count() > LONGEST => {
            let hash = Sha256::digest(long.as_bytes());
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            json!([long.chars().count(), hash])
        }
        Some(_) => text.clone(),
        None => json!([text["long"]["chars"], text["long"]["sha256"]]),
    }
}

fn zero_duration(value: &mut Value) {
    if let Some(object) = value.as_object_mut()
        && object.contains_key("durationMs")
    {
        object.insert("durationMs".to_owned(), json!(Duration::ZERO.as_millis() as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_hooks_do_the_same() {
        let judged = judge(&crate::repository::root().join("fixtures/wire")).unwrap();
        assert!(judged.compared > 150);
        assert!(judged.equal * 100 >= judged.compared * 98, "{:#?}", judged.differences);
    }

    /// Rows that taught a rule: each is the same.
    #[test]
    fn hooks_that_taught_a_rule_do_the_same() {
        let judged = judge(&crate::repository::root().join("fixtures/wire/own")).unwrap();
        assert!(judged.compared > 20);
        assert_eq!(judged.differences, []);
    }
}
