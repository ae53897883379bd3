//! Whether a value is like a recorded one.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;
use sha2::Digest as _;

/// Fields whose values are those of the run.
pub(in crate::parity) const DURATIONS: [&str; 5] =
    ["durationMs", "duration_ms", "totalDurationMs", "durationSeconds", "originalDurationMs"];

/// Fields that hold a hash of the client's own making.
const OPAQUE: [&str; 1] = ["harnessSectionHash"];

/// What the placeholders of a case stand for.
#[derive(Debug, Default)]
pub(in crate::parity) struct Bindings {
    values: BTreeMap<String, String>,
}

impl Bindings {
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// A recorded text with values in place of placeholders that are known.
    pub(super) fn filled(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.values {
            filled = filled.replace(&format!("<{name}>"), value);
        }
        filled
    }

    /// The same for every text in a value.
    pub(super) fn filled_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.filled(text)),
            Value::Array(values) => values.iter().map(|value| self.filled_value(value)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| (self.filled(name), self.filled_value(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }
}

/// How a value differs from a recorded one, or nothing.
pub(super) fn difference(
    recorded: &Value,
    value: &Value,
    bindings: &mut Bindings,
    is_any_order: bool,
) -> Option<String> {
    if let Some(long) = recorded.get("long") {
        return long_difference(long, value);
    }
    match (recorded, value) {
        (Value::String(recorded), Value::String(value)) => {
            text_difference(recorded, value, bindings, is_any_order)
        }
        (Value::Array(recorded), Value::Array(values)) => {
            if recorded.len() != values.len() {
                return Some(format!("{} values, not {}", values.len(), recorded.len()));
            }
            let pairs = recorded.iter().zip(values);
            pairs.enumerate().find_map(|(at, (recorded, value))| {
                let how = difference(recorded, value, bindings, is_any_order)?;
                Some(format!("[{at}] {how}"))
            })
        }
        (Value::Object(recorded), Value::Object(values)) => {
            let names = recorded.keys().chain(values.keys());
            for name in names {
                let is_run = DURATIONS.contains(&name.as_str()) || OPAQUE.contains(&name.as_str());
                match (recorded.get(name), values.get(name)) {
                    (Some(_), Some(_)) if is_run => {}
                    (Some(recorded), Some(value)) => {
                        if let Some(how) = difference(recorded, value, bindings, is_any_order) {
                            return Some(format!("{name}: {how}"));
                        }
                    }
                    (Some(_), None) => return Some(format!("{name} is missing")),
                    (None, _) => return Some(format!("{name} is unexpected")),
                }
            }
            None
        }
        (Value::Number(recorded), Value::Number(value)) => {
            let is_same = recorded.as_f64() == value.as_f64();
            (!is_same).then(|| format!("{value}, not {recorded}"))
        }
        (recorded, value) => {
            (recorded != value).then(|| format!("{}, not {}", short(value), short(recorded)))
        }
    }
}

fn long_difference(long: &Value, value: &Value) -> Option<String> {
    let Some(text) = value.as_str() else { return Some(format!("{} is no text", short(value))) };
    let chars = text.chars().count() as u64;
    if long["chars"].as_u64() != Some(chars) {
        return Some(format!("{chars} characters, not {}", long["chars"]));
    }
    let hash: String =
        sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    (long["sha256"] != hash.as_str()).then(|| "a long text is another one".to_owned())
}

pub(super) fn text_difference(
    recorded: &str,
    value: &str,
    bindings: &mut Bindings,
    is_any_order: bool,
) -> Option<String> {
    if is_any_order {
        let sorted = |text: &str| {
            let mut lines: Vec<&str> = text.split('\n').collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        let (recorded, value) = (sorted(recorded), sorted(value));
        return text_difference(&recorded, &value, bindings, false);
    }
    if recorded == value {
        return None;
    }
    let differs =
        || Some(format!("{}, not {}", short_text(value, recorded), short_text(recorded, value)));
    let Some(pattern) = pattern(recorded, bindings) else { return differs() };
    let Some(found) = pattern.regex.captures(value) else { return differs() };
    for (at, name) in pattern.names.iter().enumerate() {
        if let Some(value) = found.get(at + 1) {
            // Names of files and times are new in each place.
            let is_one = !["output", "n", "time"].contains(&name.as_str());
            if is_one {
                bindings.set(name, value.as_str());
            }
        }
    }
    None
}

struct Pattern {
    regex: Regex,
    names: Vec<String>,
}

/// A recorded text as a pattern; nothing if it is plain.
fn pattern(recorded: &str, bindings: &Bindings) -> Option<Pattern> {
    let placeholder = Regex::new(
        r"<((?:task|tool|agent|cell|uuid)-\d+|session|output|n|plan|time)>|\[client text removed: [^\]]*\]",
    )
    .ok()?;
    if !placeholder.is_match(recorded) {
        return None;
    }
    let mut source = String::from("(?s)^");
    let mut names: Vec<String> = Vec::new();
    let mut at = 0;
    for found in placeholder.captures_iter(recorded) {
        let whole = found.get(0)?;
        source.push_str(&regex::escape(recorded.get(at..whole.start())?));
        at = whole.end();
        let Some(name) = found.get(1).map(|name| name.as_str()) else {
            source.push_str(".*");
            continue;
        };
        if let Some(value) = bindings.values.get(name) {
            source.push_str(&regex::escape(value));
        } else if names.iter().any(|known| known == name) {
            // Where it stands again it is the same; the first place binds it.
            source.push_str(r"[A-Za-z0-9_.:-]+?");
        } else {
            names.push(name.to_owned());
            source.push_str(r"([A-Za-z0-9_.:-]+?)");
        }
    }
    source.push_str(&regex::escape(recorded.get(at..)?));
    source.push('$');
    let regex = regex::RegexBuilder::new(&source).size_limit(64 << 20).build().ok()?;
    Some(Pattern { regex, names })
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 160 {
        text
    } else {
        format!("{}…", text.chars().take(160).collect::<String>())
    }
}

/// A text from a little before the place where it differs.
fn short_text(text: &str, other: &str) -> String {
    let common = text.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let from = common.saturating_sub(20);
    let part: String = text.chars().skip(from).take(140).collect();
    let dots = if from > 0 { "…" } else { "" };
    format!("{dots}{part:?}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_placeholder_stands_for_one_value() {
        let mut bindings = Bindings::default();
        let recorded = json!(["<task-1> runs", "in /tmp/<task-1>.output"]);
        let same = json!(["b1 runs", "in /tmp/b1.output"]);
        assert_eq!(difference(&recorded, &same, &mut bindings, false), None);
        let other = json!(["b1 runs", "in /tmp/b2.output"]);
        assert!(difference(&recorded, &other, &mut bindings, false).is_some());
    }

    #[test]
    fn what_is_not_the_same_is_told() {
        let mut bindings = Bindings::default();
        let mut differs = |a, b| difference(&a, &b, &mut bindings, false).is_some();
        assert!(differs(json!({"a": 1}), json!({"a": 2})));
        assert!(differs(json!({"a": 1}), json!({"a": 1, "b": 2})));
        assert!(differs(json!({"a": 1, "b": 2}), json!({"a": 1})));
        assert!(differs(json!("a"), json!("b")));
        assert!(differs(json!(null), json!("b")));
        assert!(!differs(json!({"durationMs": 0}), json!({"durationMs": 7})));
        assert!(!differs(json!(1), json!(1.0)));
    }
}
