//! `cargo xtask parity record-dialogues`: the real client holds the dialogues of cases.
//!
//! Owns: a run of the client with the host and the endpoint that the judge has, and what is
//! written of it, in the form of `fixtures/wire/stream`. Ids are numbered in their order; long
//! texts of the client's own are cut.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use regex::Regex;
use serde_json::Value;
use serde_json::json;

use super::compare::INIT;
use super::compare::OF_A_START;
use super::compare::OF_A_WINDOW;
use super::compare::OWN_LINES;
use super::compare::log_kind;
use super::endpoint::Endpoint;
use super::play;
use super::script::Model;
use super::script::sha256;
use crate::oracle;
use crate::parity::Selection;
use crate::parity::record::Order;
use crate::parity::sandbox;
use crate::parity::tools::Judged;
use crate::repository::say;

const USAGE: &str = "usage: cargo xtask parity record-dialogues --cases DIR|FILE --out DIR [--filter TEXT] [--client VERSION]

  --cases DIR   folders with a cmd.json each, as in fixtures/wire/stream
  --cases FILE  one such command on each line
  --out DIR     where the recordings go";

/// Where the sandbox writes, in the home.
const RECORDED: &str = "recorded";

/// Texts of the client that are longer are cut.
const LONGEST_TEXT: usize = 80;

/// What the client asks on its first start, answered.
const STATE: &str = r#"{"hasCompletedOnboarding": true, "autoUpdates": false, "bypassPermissionsModeAccepted": true,
"projects": {"/home/dev/app": {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}"#;

pub(in crate::parity) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let Order { cases, out, filter, version } = Order::read(words, USAGE)?;
    let mut commands = commands(&cases)?;
    for command in commands.iter_mut().filter_map(Value::as_object_mut) {
        command.insert("client".into(), version.clone().into());
    }
    let program = oracle::program_of(&version)?.canonicalize()?;
    let selection = Selection { cases, filter };
    let prepare = |folder: &Path| {
        let name = folder.join("claude");
        // It is large.
        if fs::hard_link(&program, &name).is_err() {
            fs::copy(&program, &name).context("cannot copy the client")?;
        }
        fs::create_dir_all(folder.join("cases"))?;
        let lines: String = commands.iter().map(|command| format!("{command}\n")).collect();
        Ok(fs::write(folder.join("cases/commands.jsonl"), lines)?)
    };
    let collect = |home: &Path| super::copy(&home.join(RECORDED), &out);
    let recorded: Judged = sandbox::run_in("record-inside", &selection, prepare, collect)?;
    for (name, why) in &recorded.differences {
        say(&format!("{name}: {why}"));
    }
    say(&format!("{} of {} recorded", recorded.equal, recorded.compared));
    Ok(ExitCode::SUCCESS)
}

fn commands(cases: &Path) -> anyhow::Result<Vec<Value>> {
    if cases.is_file() {
        let text = fs::read_to_string(cases)?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        return lines.map(|line| serde_json::from_str(line).context("a case")).collect();
    }
    let entries = fs::read_dir(cases).with_context(|| format!("no {}", cases.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        if let Ok(text) = fs::read_to_string(entry?.path().join("cmd.json")) {
            found.push(serde_json::from_str(&text).context("a case")?);
        }
    }
    Ok(found)
}

/// Records inside the sandbox.
pub(in crate::parity) fn inside(selection: &Selection) -> anyhow::Result<Judged> {
    let mut recorded = Judged::default();
    let mut commands = commands(&selection.cases.join("commands.jsonl"))?;
    commands.sort_by_key(|command| command["case"].to_string());
    for command in commands {
        let name = command["case"].as_str().context("a case without a name")?.to_owned();
        if !name.contains(&selection.filter) {
            continue;
        }
        recorded.compared += 1;
        match record(&command, &Path::new("/home/dev").join(RECORDED).join(&name)) {
            Ok(()) => recorded.equal += 1,
            Err(error) => recorded.differences.push((name, format!("{error:#}"))),
        }
    }
    Ok(recorded)
}

fn record(command: &Value, out: &Path) -> anyhow::Result<()> {
    play::prepare(command)?;
    fs::write("/home/dev/.claude.json", STATE)?;
    let endpoint = Endpoint::start()?;
    let mut first = None;
    let mut before = Vec::new();
    let mut asked = 0;
    for earlier in command["before"].as_array().into_iter().flatten() {
        endpoint.record(Model::new(&command["script"], asked));
        let mut earlier = earlier.clone();
        earlier["env"] = quiet(&earlier["env"]);
        let played = play::run(&earlier, &endpoint, None)?;
        before.push(json!({"exit": played.code, "stderr": played.stderr}));
        asked += endpoint.recorded().len() as u64;
        first = Some(played);
    }
    let known = logs();
    endpoint.record(Model::new(&command["script"], asked));
    let mut started = command.clone();
    started["env"] = quiet(&command["env"]);
    let played = play::run(&started, &endpoint, first.as_ref())?;
    let exchanges = endpoint.recorded();
    let logs = named(logs(), &known, last_session(&played.stdout).as_deref());
    let mut ids = Ids::new(command);
    let mut command = command.clone();
    if let Some(command) = command.as_object_mut() {
        command.remove("sent");
        if let Some(after) = played.closed_after {
            command.insert("sent".into(), json!([{"after": after, "close": true}]));
        }
    }
    fs::create_dir_all(out)?;
    fs::write(out.join("stdout.jsonl"), ids.numbered(&said(&played.stdout, &command)))?;
    let mut paths = BTreeMap::new();
    for (name, path) in logs {
        let text = fs::read_to_string(Path::new("/home/dev/.claude").join(&path))?;
        fs::write(out.join(&name), ids.numbered(&written(&text, &command)))?;
        paths.insert(name, ids.numbered(&path));
    }
    let exchanged: String =
        exchanges.iter().map(|exchange| shortened(exchange, &command).to_string() + "\n").collect();
    if !exchanges.is_empty() {
        fs::write(out.join("api.jsonl"), ids.numbered(&exchanged))?;
    }
    let exit = json!({
        "rc": played.code, "stderr": ids.numbered(&played.stderr), "requests": exchanges.len(),
        "logs": paths, "before": before,
    });
    fs::write(out.join("exit.json"), format!("{exit:#}\n"))?;
    Ok(fs::write(out.join("cmd.json"), format!("{command:#}\n"))?)
}

/// The variables of a case, and those without which the client looks for news of itself.
fn quiet(environment: &Value) -> Value {
    let mut all = environment.as_object().cloned().unwrap_or_default();
    for name in [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_TELEMETRY",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
    ] {
        all.entry(name).or_insert(json!("1"));
    }
    Value::Object(all)
}

/// The logs of the home, below `.claude`, with when they were last written.
fn logs() -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::from("/home/dev/.claude/projects")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl")
                && let Ok(name) = path.strip_prefix("/home/dev/.claude")
            {
                let size = entry.metadata().map(|file| file.len()).unwrap_or_default();
                found.insert(name.to_string_lossy().into_owned(), size);
            }
        }
    }
    found
}

/// The session that the last line names.
fn last_session(stdout: &str) -> Option<String> {
    let lines = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut named = lines.filter_map(|line| line["session_id"].as_str().map(str::to_owned));
    named.next_back().filter(|id| !id.is_empty())
}

/// The logs that the run wrote, as `log.jsonl`, `log.1.jsonl` and so on: that of the session
/// first, those of subagents last.
fn named(
    logs: BTreeMap<String, u64>,
    known: &BTreeMap<String, u64>,
    session: Option<&str>,
) -> Vec<(String, String)> {
    let written = logs.into_iter().filter(|(path, size)| known.get(path) != Some(size));
    let mut paths: Vec<String> = written.map(|(path, _)| path).collect();
    let is_other = |path: &str| session.is_none_or(|id| !path.ends_with(&format!("{id}.jsonl")));
    paths.sort_by_key(|path| (path.contains("/subagents/"), is_other(path), time_of(path)));
    let named = paths.into_iter().enumerate().map(|(number, path)| match number {
        0 => ("log.jsonl".to_owned(), path),
        number => (format!("log.{number}.jsonl"), path),
    });
    named.collect()
}

fn time_of(path: &str) -> Option<std::time::SystemTime> {
    fs::metadata(Path::new("/home/dev/.claude").join(path)).ok()?.modified().ok()
}

/// Standard output: the client's own texts stand in answers about itself, and in what it says
/// in the user's place.
fn said(stdout: &str, command: &Value) -> String {
    each_line(stdout, |line| {
        if let Some(named) = kept_fields(line) {
            return Some(named);
        }
        let is_own = line["type"] == "control_response"
            || line["isSynthetic"] == true
            || line["type"] == "transcript_mirror";
        Some(if is_own { cut(line, command) } else { line.clone() })
    })
}

fn written(log: &str, command: &Value) -> String {
    each_line(log, |line| {
        let kind = line["type"].as_str().unwrap_or_default();
        if kind.starts_with("api-request") || matches!(kind, "atis-latch" | "tools-used") {
            return None;
        }
        // What an attachment tells is the client's; where it hangs is compared.
        if kind == "attachment" && OWN_LINES.contains(&log_kind(line).as_str()) {
            return Some(json!({
                "parentUuid": line["parentUuid"], "type": "attachment", "uuid": line["uuid"],
                "attachment": {"type": line["attachment"]["type"]},
            }));
        }
        Some(cut(line, command))
    })
}

/// Of lines in which a client tells about itself, what hosts look at.
fn kept_fields(line: &Value) -> Option<Value> {
    let keep = |object: &Value, names: &[&str]| -> Value {
        let fields = object.as_object().into_iter().flatten();
        let kept = fields.filter(|(name, _)| names.contains(&name.as_str()));
        Value::Object(kept.map(|(name, field)| (name.clone(), field.clone())).collect())
    };
    if line["subtype"] == "init" {
        let names: Vec<&str> = INIT.iter().copied().chain(["session_id", "uuid"]).collect();
        return Some(keep(line, &names));
    }
    let answer = &line["response"]["response"];
    let names = match () {
        () if answer.get("commands").is_some() => [&OF_A_START[..], &["commands"]].concat(),
        () if answer.get("categories").is_some() => [&OF_A_WINDOW[..], &["categories"]].concat(),
        () => return None,
    };
    let mut line = line.clone();
    line["response"]["response"] = keep(answer, &names);
    for name in ["commands", "categories"] {
        if line["response"]["response"].get(name).is_some() {
            line["response"]["response"][name] = json!([]);
        }
    }
    Some(line)
}

fn each_line(text: &str, change: impl Fn(&Value) -> Option<Value>) -> String {
    let lines = text.split_inclusive('\n').map(|line| match serde_json::from_str::<Value>(line) {
        Ok(value) => match change(&value) {
            Some(changed) if changed == value => line.to_owned(),
            Some(changed) => format!("{changed}\n"),
            None => String::new(),
        },
        Err(_) => line.to_owned(),
    });
    lines.collect()
}

/// A request, as far as a judge or a reader wants it.
fn shortened(exchange: &Value, command: &Value) -> Value {
    let body = &exchange["request"];
    let mut request = json!({});
    for name in ["model", "max_tokens", "thinking", "output_config", "stream"] {
        request[name] = body[name].clone();
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    request["tools"] = tools.map(|tool| tool["name"].clone()).collect();
    request["system"] = json!(body["system"].as_array().map(Vec::len));
    request["messages"] = cut(&body["messages"], command);
    let mut exchange = exchange.clone();
    exchange["request"] = request;
    exchange
}

/// A value without long texts that are not of the case.
fn cut(value: &Value, command: &Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > LONGEST_TEXT && !is_of(text, command) => {
            let hash = sha256(text);
            let chars = text.chars().count();
            json!(format!("[client text removed: {chars} chars, sha256 {}]", &hash[..8]))
        }
        Value::Array(items) => items.iter().map(|item| cut(item, command)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| (name.clone(), cut(field, command)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

fn is_of(text: &str, command: &Value) -> bool {
    match command {
        Value::String(own) => own.contains(text),
        Value::Array(items) => items.iter().any(|item| is_of(text, item)),
        Value::Object(fields) => fields.values().any(|field| is_of(text, field)),
        _ => false,
    }
}

/// Ids of a run under the numbers in which they came.
struct Ids {
    pattern: Option<Regex>,
    /// Names of plans, of which a run has one.
    plan: Option<Regex>,
    own: String,
    numbers: BTreeMap<String, String>,
    sessions: usize,
    agents: usize,
}

impl Ids {
    fn new(command: &Value) -> Ids {
        let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
        let pattern = Regex::new(&format!(r"\b(?:{uuid}|a[0-9a-f]{{16}})\b")).ok();
        let plan = Regex::new("/plans/[a-z0-9-]+[.]md").ok();
        let (numbers, own) = (BTreeMap::new(), command.to_string());
        Ids { pattern, plan, own, numbers, sessions: 0, agents: 0 }
    }

    fn numbered(&mut self, text: &str) -> String {
        let Some(pattern) = self.pattern.clone() else { return text.to_owned() };
        let name = |found: &regex::Captures<'_>| self.name(&found[0]);
        let text = pattern.replace_all(text, name).into_owned();
        let Some(plan) = &self.plan else { return text };
        plan.replace_all(&text, "/plans/slug-0001.md").into_owned()
    }

    fn name(&mut self, id: &str) -> String {
        if self.own.contains(id) {
            return id.to_owned();
        }
        if let Some(known) = self.numbers.get(id) {
            return known.clone();
        }
        let name = if id.contains('-') {
            self.sessions += 1;
            format!("00000000-0000-4000-8000-{:012}", self.sessions)
        } else {
            self.agents += 1;
            format!("a{:016}", self.agents)
        };
        self.numbers.insert(id.to_owned(), name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_numbers_except_those_that_the_case_names() {
        let own = "11111111-0000-4000-8000-000000000001";
        let mut ids = Ids::new(&json!({"args": ["--session-id", own]}));
        let other = "9a64c5a8-7a7e-4d0a-8d1c-0a1b2c3d4e5f";
        let text = ids.numbered(&format!("{other} {own} agent-a0123456789abcdef {other}"));
        let first = "00000000-0000-4000-8000-000000000001";
        assert_eq!(text, format!("{first} {own} agent-a0000000000000001 {first}"));
    }

    #[test]
    fn long_texts_are_cut_unless_the_case_has_them() {
        let own = "x".repeat(200);
        let command = json!({"script": {"a": [{"blocks": [{"t": "text", "text": own}]}]}});
        let line = json!({"content": [own, "y".repeat(200)], "kind": "short"});
        let kept = cut(&line, &command);
        assert_eq!(kept["content"][0], line["content"][0]);
        assert!(
            kept["content"][1].as_str().unwrap().starts_with("[client text removed: 200 chars")
        );
        assert_eq!(kept["kind"], "short");
    }
}
