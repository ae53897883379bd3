//! Counts a generated home again, from its files alone, with another JSON reader.

mod chain;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use recto_testkit::generate::ModelTokens;
use recto_testkit::generate::Needle;
use recto_testkit::generate::NeedleHit;
use recto_testkit::generate::SessionRow;
use recto_testkit::generate::Truth;
use recto_testkit::generate::Usage;
use serde_json::Value;

/// A line of a log.
pub(crate) struct Line {
    pub(crate) path: String,
    pub(crate) number: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) newline: bool,
    /// None for blank and damaged lines.
    pub(crate) value: Option<Value>,
}

/// All files below a directory.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn logs(home: &Path) -> Vec<(String, PathBuf)> {
    let root = home.join(".claude/projects");
    let named = files(&root).into_iter().filter(|path| path.extension() == Some("jsonl".as_ref()));
    named
        .map(|path| {
            let parts: Vec<String> = path
                .strip_prefix(&root)
                .unwrap()
                .components()
                .map(|part| part.as_os_str().to_str().unwrap().to_string())
                .collect();
            (parts.join("/"), path)
        })
        .collect()
}

fn lines(path: &str, bytes: &[u8]) -> Vec<Line> {
    let mut found = Vec::new();
    for (index, piece) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let newline = piece.ends_with(b"\n");
        let bytes = piece.strip_suffix(b"\n").unwrap_or(piece).to_vec();
        // The reader refuses lone surrogates, which are no damage.
        let text =
            std::str::from_utf8(&bytes).ok().map(|text| text.replace("\\ud83d\"", "\\ufffd\""));
        let value = text.and_then(|text| serde_json::from_str(&text).ok());
        let number = index as u64 + 1;
        found.push(Line { path: path.to_string(), number, bytes, newline, value });
    }
    found
}

/// Calls back for every line of every log.
pub(crate) fn each_line(home: &Path, each: &mut dyn FnMut(&Line)) {
    for (path, file) in logs(home) {
        lines(&path, &std::fs::read(file).unwrap()).iter().for_each(&mut *each);
    }
}

/// `message.usage`.
pub(crate) fn usage_of(value: &Value) -> Usage {
    let number = |name: &str| value[name].as_u64().unwrap();
    Usage {
        input: number("input_tokens"),
        output: number("output_tokens"),
        cache_create: number("cache_creation_input_tokens"),
        cache_read: number("cache_read_input_tokens"),
    }
}

/// Model, first and largest usage of messages, by message id.
#[derive(Default)]
struct Messages(BTreeMap<String, (String, Usage, Usage)>);

impl Messages {
    fn add(&mut self, message: &Value) {
        let usage = usage_of(&message["usage"]);
        let id = message["id"].as_str().unwrap().to_string();
        let model = message["model"].as_str().unwrap().to_string();
        let entry = self.0.entry(id).or_insert((model, usage, usage));
        if usage.output > entry.2.output {
            entry.2 = usage;
        }
    }
}

/// Counts everything. Of `known` only the texts of the needles and the marks of forks are used.
pub(crate) fn recount(home: &Path, known: &Truth) -> Truth {
    let mut truth = Truth::default();
    for needle in &known.needles {
        truth.needles.push(Needle { hits: Vec::new(), ..needle.clone() });
    }
    let mut messages = Messages::default();
    let mut prompts = BTreeSet::new();
    let mut queued = BTreeSet::new();
    let mut calls = BTreeMap::new();
    let mut projects = BTreeSet::new();
    let mut roots: BTreeMap<String, u64> = BTreeMap::new();
    let mut agents: BTreeMap<String, u64> = BTreeMap::new();
    for (path, file) in logs(home) {
        let bytes = std::fs::read(&file).unwrap();
        let lines = lines(&path, &bytes);
        truth.bytes_jsonl += bytes.len() as u64;
        projects.insert(path.split('/').next().unwrap().to_string());
        for line in &lines {
            count_line(&mut truth, line);
            let Some(value) = &line.value else { continue };
            let uuid = value["uuid"].as_str().unwrap_or("").to_string();
            if is_human(value) {
                truth.human_turns.lines += 1;
                prompts.insert(uuid.clone());
            }
            if value["attachment"]["humanTurn"] == true {
                queued.insert(uuid);
            }
            if value["type"] != "assistant" || value["message"]["model"] == "<synthetic>" {
                continue;
            }
            let message = &value["message"];
            messages.add(message);
            let model = message["model"].as_str().unwrap().to_string();
            let tokens = truth.tokens.entry(model).or_default();
            tokens.assistant_lines += 1;
            tokens.naive.add(&usage_of(&message["usage"]));
            for block in blocks(value).filter(|block| block["type"] == "tool_use") {
                let name = block["name"].as_str().unwrap().to_string();
                *truth.tool_calls.lines_by_name.entry(name.clone()).or_default() += 1;
                calls.insert(block["id"].as_str().unwrap().to_string(), name);
            }
        }
        check_time(&file, &lines);
        chain::check(&lines);
        let good: Vec<&Value> = lines.iter().filter_map(|line| line.value.as_ref()).collect();
        if path.rsplit('/').next().unwrap().starts_with("agent-") {
            truth.files.agent += 1;
            truth.files.agent_warmup_stub += u64::from(is_stub(&good));
            let session = good[0]["sessionId"].as_str().unwrap().to_string();
            *agents.entry(session).or_default() += 1;
        } else {
            truth.files.main += 1;
            truth.files.main_empty += u64::from(bytes.is_empty());
            let root = good.iter().find_map(|value| value["uuid"].as_str());
            if let Some(root) = root {
                *roots.entry(root.to_string()).or_default() += 1;
            }
            truth.sessions.push(session_row(&path, &bytes, &lines));
        }
    }
    truth.projects = projects.len() as u64;
    truth.files.main_fork = roots.values().map(|count| count - 1).sum();
    truth.human_turns.unique = prompts.len() as u64;
    truth.human_turns.queued = queued.len() as u64;
    for name in calls.into_values() {
        *truth.tool_calls.unique_by_name.entry(name).or_default() += 1;
    }
    for (model, first, last) in messages.0.into_values() {
        let tokens: &mut ModelTokens = truth.tokens.entry(model).or_default();
        tokens.messages += 1;
        tokens.first.add(&first);
        tokens.last.add(&last);
    }
    let history = std::fs::read_to_string(home.join(".claude/history.jsonl")).unwrap();
    truth.history_lines = history.lines().count() as u64;
    finish_rows(&mut truth, known, &agents);
    truth
}

fn finish_rows(truth: &mut Truth, known: &Truth, agents: &BTreeMap<String, u64>) {
    for row in &mut truth.sessions {
        let other = known.sessions.iter().find(|other| other.path == row.path).unwrap();
        row.fork = other.fork;
        row.agents = agents.get(&row.id).copied().unwrap_or(0);
        if row.bytes == 0 {
            row.version = other.version.clone();
        }
        if row.bytes > truth.largest_session.bytes {
            truth.largest_session.path = row.path.clone();
            truth.largest_session.bytes = row.bytes;
            truth.largest_session.lines = row.lines;
            truth.largest_session.session_id = row.id.clone();
        }
    }
}

fn count_line(truth: &mut Truth, line: &Line) {
    let counts = &mut truth.lines;
    counts.total += 1;
    if line.bytes.is_empty() {
        counts.blank += 1;
        return;
    }
    let Some(value) = &line.value else {
        *counts.malformed_by_kind.entry(damage(line).to_string()).or_default() += 1;
        return;
    };
    let length = line.bytes.len() as u64 + 1;
    let kind = value["type"].as_str().unwrap();
    *counts.by_type.entry(kind.to_string()).or_default() += 1;
    counts.max_bytes = counts.max_bytes.max(length);
    counts.over_100k += u64::from(length > 100_000);
    let lone = line.bytes.windows(7).any(|window| window == b"\\ud83d\"");
    counts.lone_surrogate += u64::from(lone);
    truth.compactions += u64::from(value["subtype"] == "compact_boundary");
    if kind == "user" && blocks(value).any(|block| block["type"] == "tool_result") {
        truth.tool_calls.result_lines += 1;
        let error = blocks(value).any(|block| block["is_error"] == true);
        truth.tool_calls.error_lines += u64::from(error);
    }
    if kind != "user" && kind != "assistant" {
        return;
    }
    for needle in &mut truth.needles {
        if contains(&value["message"], &needle.text) {
            needle.hits.push(NeedleHit {
                path: line.path.clone(),
                line: line.number,
                uuid: value["uuid"].as_str().unwrap().to_string(),
                session_id: session_of(&line.path, value),
            });
        }
    }
}

/// The file name is the session; for a subagent, the folder or the line says it.
fn session_of(path: &str, value: &Value) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let name = parts[parts.len() - 1].trim_end_matches(".jsonl");
    match (name.starts_with("agent-"), parts.len()) {
        (false, _) => name.to_string(),
        (true, 4) => parts[1].to_string(),
        (true, _) => value["sessionId"].as_str().unwrap().to_string(),
    }
}

fn damage(line: &Line) -> &'static str {
    let glued = || line.bytes.windows(10).any(|window| window == b"}{\"type\":\"");
    if !line.newline {
        "truncated_eof"
    } else if line.bytes.contains(&0) {
        "nul_run"
    } else if line.bytes.windows(2).any(|window| window == [0xff, 0xfe]) {
        "invalid_utf8"
    } else if line.bytes.ends_with(b"}") && glued() {
        "glued"
    } else {
        "truncated"
    }
}

fn contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(list) => list.iter().any(|item| contains(item, text)),
        Value::Object(map) => map.values().any(|item| contains(item, text)),
        _ => false,
    }
}

fn blocks(value: &Value) -> impl Iterator<Item = &Value> {
    value["message"]["content"].as_array().into_iter().flatten()
}

fn is_human(value: &Value) -> bool {
    let is = |name: &str| value[name] == true;
    if value["type"] != "user" || is("isMeta") || is("isCompactSummary") || is("isSidechain") {
        return false;
    }
    if blocks(value).any(|block| block["type"] == "tool_result") {
        return false;
    }
    let content = &value["message"]["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or("");
    let starts =
        ["<command-", "<local-command-", "<bash-", "<task-notification>", "[Request inter"];
    !starts.iter().any(|start| text.starts_with(start))
}

fn is_stub(good: &[&Value]) -> bool {
    let warm_up = good[0]["message"]["content"] == "Warmup" && good.len() <= 2;
    warm_up || (good.len() == 1 && good[0]["type"] == "assistant")
}

fn session_row(path: &str, bytes: &[u8], lines: &[Line]) -> SessionRow {
    let name = path.rsplit('/').next().unwrap().trim_end_matches(".jsonl");
    let mut row = SessionRow {
        id: name.to_string(),
        path: path.to_string(),
        bytes: bytes.len() as u64,
        lines: lines.len() as u64,
        ..SessionRow::default()
    };
    let mut messages = BTreeSet::new();
    let (mut calls, mut results) = (BTreeSet::new(), BTreeSet::new());
    for value in lines.iter().filter_map(|line| line.value.as_ref()) {
        if let Some(version) = value["version"].as_str() {
            row.version = version.to_string();
        }
        row.human_turns += u64::from(is_human(value));
        row.compactions += u64::from(value["subtype"] == "compact_boundary");
        if value["type"] == "assistant" && value["message"]["model"] != "<synthetic>" {
            messages.insert(value["message"]["id"].as_str().unwrap());
        }
        for block in blocks(value) {
            calls.extend(block["id"].as_str());
            results.extend(block["tool_use_id"].as_str());
        }
    }
    row.assistant_messages = messages.len() as u64;
    row.tool_pairs = calls.intersection(&results).count() as u64;
    chain::reach(lines, &mut row);
    row
}

/// The modification time is the time of the last event.
fn check_time(file: &Path, lines: &[Line]) {
    let last = lines.iter().rev().filter_map(|line| line.value.as_ref());
    let Some(stamp) = last.filter_map(|value| value["timestamp"].as_str()).next() else { return };
    let time = std::fs::metadata(file).unwrap().modified().unwrap();
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() % 86_400;
    let part = |range: std::ops::Range<usize>| stamp[range].parse::<u64>().unwrap();
    let stamp = part(11..13) * 3600 + part(14..16) * 60 + part(17..19);
    assert!((seconds + 86_400 - stamp) % 86_400 < 120, "{}", file.display());
}

/// Compares the last cost-state of every session that is no fork with its messages before it and
/// those of its subagents. Gives the number of sessions.
pub(crate) fn check_costs(home: &Path, truth: &Truth) -> usize {
    let mut checked = 0;
    for row in truth.sessions.iter().filter(|row| !row.fork && row.bytes > 0) {
        let mut messages = Messages::default();
        let mut state = None;
        let project = row.path.split('/').next().unwrap();
        let folder = format!("{project}/{}/", row.id);
        for (path, file) in logs(home) {
            if path != row.path && !path.starts_with(&folder) {
                continue;
            }
            let values = lines(&path, &std::fs::read(file).unwrap());
            let values: Vec<Value> = values.into_iter().filter_map(|line| line.value).collect();
            let last = values.iter().rposition(|value| value["type"] == "cost-state");
            if path == row.path {
                state = last.map(|last| values[last].clone());
            }
            let end = last.unwrap_or(values.len());
            for value in values[..end].iter().filter(|value| value["type"] == "assistant") {
                if value["message"]["model"] != "<synthetic>" {
                    messages.add(&value["message"]);
                }
            }
        }
        let Some(state) = state else { continue };
        let mut sums: BTreeMap<String, Usage> = BTreeMap::new();
        for (model, _, last) in messages.0.into_values() {
            sums.entry(model).or_default().add(&last);
        }
        let noted = state["modelUsage"].as_object().unwrap();
        assert_eq!(noted.len(), sums.len());
        for (model, usage) in sums {
            let noted = &noted[&model];
            assert_eq!(noted["inputTokens"], usage.input, "{} {model}", row.path);
            assert_eq!(noted["outputTokens"], usage.output);
            assert_eq!(noted["cacheReadInputTokens"], usage.cache_read);
            assert_eq!(noted["cacheCreationInputTokens"], usage.cache_create);
        }
        checked += 1;
    }
    checked
}
