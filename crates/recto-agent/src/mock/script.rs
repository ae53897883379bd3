//! Scripts: which request gets which answer.
//!
//! A script is TOML (`[[rule]]` tables) or JSON Lines (one rule for each line). The first rule
//! that matches a request, and is not used up, answers it. An error names its line.

use std::collections::BTreeMap;
use std::time::Duration;

use regex::Captures;
use regex::Regex;
use serde_json::Map;
use serde_json::Value;
use toml::de::DeTable;
use toml::de::DeValue;

use super::Fault;
use super::view::Asking;
use crate::wire::Json;

/// What is wrong with a script, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// Rules in order.
#[derive(Clone, Debug, Default)]
pub struct Script {
    rules: Vec<Rule>,
}

/// When to answer, and what.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    nth: Option<u64>,
    last: Option<String>,
    contains: Option<String>,
    matches: Option<Regex>,
    model: Option<Regex>,
    tools: Option<bool>,
    hash: Option<String>,
    /// How often it answers; for ever if that is not said.
    times: Option<u64>,
    used: u64,
    pub(super) reply: Reply,
}

/// What is answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) blocks: Vec<Value>,
    /// Events as they are sent, instead of blocks.
    pub(crate) events: Option<Vec<Json>>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) stop_sequence: Option<String>,
    /// Counts that differ from those that the mock makes.
    pub(crate) usage: Option<Value>,
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) delay: Duration,
    pub(crate) event_delay: Duration,
    pub(crate) chunk_bytes: Option<usize>,
    pub(crate) fault: Option<Fault>,
}

impl Reply {
    /// An answer of these blocks.
    pub(crate) fn of(blocks: Vec<Value>) -> Reply {
        Reply { blocks, ..Reply::default() }
    }
}

const KEYS: [&str; 22] = [
    "nth",
    "last",
    "contains",
    "matches",
    "model",
    "tools",
    "hash",
    "times",
    "text",
    "blocks",
    "events",
    "stop_reason",
    "stop_sequence",
    "usage",
    "id",
    "answer_model",
    "delay_ms",
    "event_delay_ms",
    "chunk_bytes",
    "fault",
    "request",
    "about",
];

impl Script {
    /// Reads a script of either form.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        let first = text.trim_start_matches('\u{feff}').trim_start().chars().next();
        let rules = if first == Some('{') { of_lines(text)? } else { of_toml(text)? };
        if rules.is_empty() {
            return Err(ScriptError { line: 1, message: "the script has no rules".into() });
        }
        Ok(Script { rules })
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The answer to a request, if a rule has one.
    pub(super) fn reply(&mut self, asking: &Asking<'_>, nth: u64) -> Option<Reply> {
        let is_left = |rule: &Rule| rule.times.is_none_or(|times| rule.used < times);
        let found = self.rules.iter_mut().find(|rule| is_left(rule) && rule.fits(asking, nth))?;
        found.used += 1;
        let mut reply = found.reply.clone();
        if let Some(pattern) = &found.matches
            && pattern.captures_len() > 1
            && let Some(groups) = pattern.captures(&asking.last_text())
        {
            reply.blocks.iter_mut().for_each(|block| fill(block, &groups));
        }
        Some(reply)
    }
}

/// Puts what the groups of a pattern matched in the place of `$1`, `$2` and so on.
fn fill(value: &mut Value, groups: &Captures<'_>) {
    match value {
        Value::String(text) if text.contains('$') => {
            // The last first: `$12` is not `$1` with a 2 behind it.
            for at in (1..groups.len()).rev() {
                let matched = groups.get(at).map_or("", |group| group.as_str());
                *text = text.replace(&format!("${at}"), matched);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, groups)),
        Value::Object(members) => members.values_mut().for_each(|member| fill(member, groups)),
        _ => {}
    }
}

impl Rule {
    fn fits(&self, asking: &Asking<'_>, nth: u64) -> bool {
        let last = asking.last_text();
        self.nth.is_none_or(|wanted| wanted == nth)
            && self.last.as_ref().is_none_or(|wanted| *wanted == last)
            && self.contains.as_ref().is_none_or(|wanted| last.contains(wanted.as_str()))
            && self.matches.as_ref().is_none_or(|wanted| wanted.is_match(&last))
            && self.model.as_ref().is_none_or(|wanted| wanted.is_match(asking.model()))
            && self.tools.is_none_or(|wanted| wanted == asking.has_tools())
            && self.hash.as_ref().is_none_or(|wanted| Some(wanted) == asking.hash().as_ref())
    }

    fn of(
        mut object: Map<String, Value>,
        line: impl Fn(&str) -> usize,
    ) -> Result<Rule, ScriptError> {
        let fail = |key: &str, message: String| ScriptError { line: line(key), message };
        if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(fail(key, format!("unknown key `{key}` in a rule")));
        }
        let wrong = |key: &str, what: &str| fail(key, format!("`{key}` must be {what}"));
        let mut take = |key: &str| object.remove(key);
        let mut text = |key: &'static str| match take(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(key, "text")),
        };
        let pattern = |key: &'static str, text: Option<String>| {
            let compiled = text.map(|text| Regex::new(&text)).transpose();
            compiled.map_err(|_| wrong(key, "a regular expression"))
        };
        let (last, contains, hash) = (text("last")?, text("contains")?, text("hash")?);
        let (matches, model) = (text("matches")?, text("model")?);
        let (matches, model) = (pattern("matches", matches)?, pattern("model", model)?);
        let fault = text("fault")?.map(|text| text.parse::<Fault>()).transpose();
        let fault = fault.map_err(|error| fail("fault", error.to_string()))?;
        let (said, id, answer_model) = (text("text")?, text("id")?, text("answer_model")?);
        let (stop_reason, stop_sequence) = (text("stop_reason")?, text("stop_sequence")?);
        let mut number = |key: &'static str| match object.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value.as_u64().filter(|number| *number <= 1 << 40);
                number.map(Some).ok_or_else(|| wrong(key, "a whole number from 0"))
            }
        };
        let (nth, times) = (number("nth")?, number("times")?);
        let delay = Duration::from_millis(number("delay_ms")?.unwrap_or(0));
        let event_delay = Duration::from_millis(number("event_delay_ms")?.unwrap_or(0));
        let chunk_bytes = number("chunk_bytes")?.map(|bytes| bytes.max(1) as usize);
        let tools = match object.remove("tools") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(tools)) => Some(tools),
            Some(_) => return Err(wrong("tools", "true or false")),
        };
        let events = match object.remove("events") {
            None | Some(Value::Null) => None,
            Some(Value::Array(events)) if events.iter().all(Value::is_object) => {
                Some(events.iter().map(Json::from).collect())
            }
            Some(_) => return Err(wrong("events", "a list of events")),
        };
        let mut blocks = match object.remove("blocks") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(blocks)) => blocks,
            Some(_) => return Err(wrong("blocks", "a list of content blocks")),
        };
        if let Some(block) = blocks.iter().find(|block| !block["type"].is_string()) {
            return Err(fail("blocks", format!("a block has no `type`: {block}")));
        }
        if let Some(text) = said {
            blocks.insert(0, serde_json::json!({"type": "text", "text": text}));
        }
        let usage = object.remove("usage").filter(|usage| !usage.is_null());
        if usage.as_ref().is_some_and(|usage| !usage.is_object()) {
            return Err(wrong("usage", "a table of counts"));
        }
        if blocks.is_empty() && events.is_none() && fault.is_none() && stop_reason.is_none() {
            let message = "this rule has no answer: add `text`, `blocks`, `events` or `fault`";
            return Err(fail("", message.into()));
        }
        let reply = Reply {
            blocks,
            events,
            stop_reason,
            stop_sequence,
            usage,
            id,
            model: answer_model,
            delay,
            event_delay,
            chunk_bytes,
            fault,
        };
        Ok(Rule { nth, last, contains, matches, model, tools, hash, times, used: 0, reply })
    }
}

fn of_lines(text: &str) -> Result<Vec<Rule>, ScriptError> {
    let mut rules = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim_start_matches('\u{feff}').trim();
        if content.is_empty() {
            continue;
        }
        let value: Value = serde_json::from_str(content).map_err(|error| {
            let message = format!("not JSON, at column {}", error.column());
            ScriptError { line, message }
        })?;
        let Value::Object(object) = value else {
            return Err(ScriptError { line, message: "write a rule as an object".into() });
        };
        rules.push(Rule::of(object, |_| line)?);
    }
    Ok(rules)
}

fn of_toml(text: &str) -> Result<Vec<Rule>, ScriptError> {
    let line = |at: usize| 1 + text.get(..at).unwrap_or_default().matches('\n').count();
    let table = DeTable::parse(text).map_err(|error| ScriptError {
        line: line(error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    let mut rules = Vec::new();
    for (key, value) in table.get_ref() {
        let fail = |message: String| ScriptError { line: line(key.span().start), message };
        let ("rule", DeValue::Array(found)) = (key.get_ref().as_ref(), value.get_ref()) else {
            return Err(fail(format!("`{}` is not a `[[rule]]`", key.get_ref())));
        };
        for rule in found.iter() {
            let start = line(rule.span().start);
            let DeValue::Table(members) = rule.get_ref() else {
                return Err(ScriptError { line: start, message: "write a rule as a table".into() });
            };
            let places =
                members.iter().map(|(key, _)| (key.get_ref().to_string(), line(key.span().start)));
            let places: BTreeMap<String, usize> = places.collect();
            let Value::Object(object) = json_of(rule.get_ref()) else { continue };
            rules.push(Rule::of(object, |key| places.get(key).copied().unwrap_or(start))?);
        }
    }
    Ok(rules)
}

/// A value of TOML as JSON.
pub(crate) fn json_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json_of(item.get_ref())).collect(),
        DeValue::Table(members) => {
            let members = members.iter();
            let json =
                members.map(|(key, value)| (key.get_ref().to_string(), json_of(value.get_ref())));
            Value::Object(json.collect())
        }
    }
}
