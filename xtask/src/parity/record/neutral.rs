//! Names of a run, replaced as in the recordings that the project has.
//!
//! Owns: placeholders for ids, times and durations, and what is cut of long texts.

use std::sync::LazyLock;

use regex::Captures;
use regex::Regex;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;

use crate::parity::tools::like::DURATIONS;

/// Texts with more characters are kept by their length and hash.
const LONG: usize = 12_500;
/// Of a text of the client's own, this much is kept.
const KEPT: usize = 120;

/// Kinds of names that calls may need, and where they stand.
static KINDS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let kinds = [
        ("task", r"\bID: (b[a-z0-9]{8})\b"),
        ("task", r"tasks/(b[a-z0-9]{8})\.output"),
        ("agent", r"\b(a[0-9a-f]{16})\b"),
        ("cell", r"Inserted cell ([A-Za-z0-9_-]+) with"),
        ("plan", r"/plans/([a-z0-9-]+)\.md"),
    ];
    kinds.into_iter().filter_map(|(kind, of)| Some((kind, Regex::new(of).ok()?))).collect()
});

/// Kinds of names in rows only.
static OTHERS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let kinds = [
        ("tool", r"(toolu_01[0-9]{22})"),
        ("uuid", r"\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"),
    ];
    kinds.into_iter().filter_map(|(kind, of)| Some((kind, Regex::new(of).ok()?))).collect()
});

/// What is replaced without a number.
static PLAIN: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let plain = [
        (r"duration_ms(>|: )[0-9]+", "duration_ms${1}0"),
        (r"/tool-results/[a-z0-9]{9}\.", "/tool-results/<output>."),
        (r"/tool-results/<tool-[0-9]+>\.", "/tool-results/<output>."),
        (r"(/tool-results/mcp-[A-Za-z_-]+-)[0-9]{13}(-[a-z0-9]+)?", "${1}<n>"),
        (r"\.tmp\.[0-9]+(\.[0-9a-f]+)?", ".tmp.<n>"),
        (r"\breq_[0-9]+\b", "req_1"),
    ];
    plain.into_iter().filter_map(|(of, by)| Some((Regex::new(of).ok()?, by))).collect()
});

static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b([0-9]{4}-[0-9]{2}-[0-9]{2})T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z").ok()
});

/// How long texts of the client's own begin.
const OWN: [&str; 2] = ["Entered plan mode.", "Error: result ("];

/// A schema of the client's own in a text; those of servers begin in another way.
static SCHEMA: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(input schema is: )\{"\$schema".*"#).ok());

/// What the names of a run are called in its row.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// What is there, and its placeholder.
    known: Vec<(String, String)>,
}

impl Names {
    /// Learns the names that calls of the case may need.
    pub(super) fn learn(&mut self, text: &str) {
        for (kind, pattern) in KINDS.iter() {
            self.learn_kind(kind, pattern, text);
        }
    }

    fn learn_kind(&mut self, kind: &str, pattern: &Regex, text: &str) {
        for found in pattern.captures_iter(text) {
            let Some(name) = found.get(1).map(|name| name.as_str()) else { continue };
            if !self.known.iter().any(|(known, _)| known == name) {
                self.add(kind, name);
            }
        }
    }

    fn add(&mut self, kind: &str, name: &str) {
        let start = format!("<{kind}-");
        let count = self.known.iter().filter(|(_, of)| of.starts_with(&start)).count();
        let placeholder = match kind {
            "plan" => "<plan>".to_owned(),
            _ => format!("{start}{}>", count + 1),
        };
        self.known.push((name.to_owned(), placeholder));
    }

    /// Numbers the ids of calls in the order of the calls.
    pub(super) fn set_calls<'a>(&mut self, ids: impl Iterator<Item = &'a str>) {
        ids.for_each(|id| self.add("tool", id));
    }

    /// The id of the session has a placeholder of its own.
    pub(super) fn set_session(&mut self, id: &str) {
        self.known.push((id.to_owned(), "<session>".to_owned()));
    }

    /// An input with the names of this run in it.
    pub(super) fn filled(&self, value: &Value) -> Value {
        each_text(value, &mut |text| {
            let mut filled = text.to_owned();
            for (name, placeholder) in &self.known {
                filled = filled.replace(placeholder, name);
                if placeholder == "<plan>" {
                    let path = format!("/home/dev/.claude/plans/{name}.md");
                    filled = filled.replace("{planfile}", &path);
                }
            }
            Value::String(filled)
        })
    }

    /// A row without the names of this run.
    pub(super) fn neutral(&mut self, row: &Value) -> Value {
        let text = row.to_string();
        self.learn(&text);
        for (kind, pattern) in OTHERS.iter() {
            self.learn_kind(kind, pattern, &text);
        }
        let today = jiff::Timestamp::now().to_string();
        let today = today.get(..10).unwrap_or_default();
        let neutral = each_text(row, &mut |text| {
            let mut neutral = text.to_owned();
            for (name, placeholder) in &self.known {
                neutral = neutral.replace(name, placeholder);
            }
            for (pattern, by) in PLAIN.iter() {
                neutral = pattern.replace_all(&neutral, *by).into_owned();
            }
            if let Some(time) = TIME.as_ref() {
                let is_now =
                    |found: &Captures<'_>| found.get(1).is_some_and(|day| day.as_str() == today);
                let by = |found: &Captures<'_>| match is_now(found) {
                    true => "<time>".to_owned(),
                    false => found.get(0).map_or(String::new(), |all| all.as_str().to_owned()),
                };
                neutral = time.replace_all(&neutral, by).into_owned();
            }
            Value::String(neutral)
        });
        without_durations(neutral)
    }
}

fn without_durations(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| match DURATIONS.contains(&name.as_str()) && value.is_number() {
                true => (name, json!(0)),
                false => (name, without_durations(value)),
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(values) => values.into_iter().map(without_durations).collect(),
        other => other,
    }
}

/// A value with its texts and names of fields changed.
fn each_text(value: &Value, change: &mut impl FnMut(&str) -> Value) -> Value {
    match value {
        Value::String(text) => change(text),
        Value::Array(values) => values.iter().map(|value| each_text(value, change)).collect(),
        Value::Object(fields) => {
            let mut changed = serde_json::Map::new();
            for (name, value) in fields {
                let name = change(name).as_str().map_or_else(|| name.clone(), str::to_owned);
                changed.insert(name, each_text(value, change));
            }
            Value::Object(changed)
        }
        other => other.clone(),
    }
}

/// Results with long texts by their length and hash, and without long texts of the client.
pub(super) fn shortened(value: &Value) -> Value {
    each_text(value, &mut |text| {
        if OWN.iter().any(|start| text.starts_with(start)) {
            return Value::String(cut_at(text, KEPT));
        }
        let text = SCHEMA.as_ref().map_or_else(
            || text.to_owned(),
            |schema| schema.replace_all(text, "${1}[client text removed: a schema]").into_owned(),
        );
        let text = text.as_str();
        let count = text.chars().count();
        if count <= LONG {
            return Value::String(text.to_owned());
        }
        let head: String = text.chars().take(1500).collect();
        let tail: String = text.chars().skip(count - 1500).collect();
        json!({"long": {"chars": count, "sha256": hash(text), "head": head, "tail": tail}})
    })
}

/// A text of the client, cut if it is long.
pub(super) fn cut(text: &str) -> String {
    cut_at(text, 700)
}

fn cut_at(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let head: String = text.chars().take(KEPT).collect();
    let hash: String = hash(text).chars().take(8).collect();
    format!("{head}[client text removed: {count} chars, sha256 {hash}]")
}

fn hash(text: &str) -> String {
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_run_are_replaced_and_filled_in_again() {
        let mut names = Names::default();
        names.learn("running in background with ID: b1a2b3c4d. Output");
        names.set_session("5e55104e-0000-4000-8000-000000000001");
        let filled = names.filled(&json!({"task_id": "<task-1>"}));
        assert_eq!(filled, json!({"task_id": "b1a2b3c4d"}));
        let row = json!({
            "a": "/5e55104e-0000-4000-8000-000000000001/tasks/b1a2b3c4d.output",
            "durationMs": 17,
            "b": ["toolu_010000000000000000000001", "1f2e3d4c-0000-4000-8000-000000000002", "req_7"],
        });
        let neutral = json!({
            "a": "/<session>/tasks/<task-1>.output",
            "durationMs": 0,
            "b": ["<tool-1>", "<uuid-1>", "req_1"],
        });
        let row = names.neutral(&row);
        assert_eq!(row["a"], neutral["a"]);
        assert_eq!(row["durationMs"], neutral["durationMs"]);
        assert_eq!(row["b"][1], neutral["b"][1]);
    }

    #[test]
    fn long_texts_are_kept_by_their_hash_and_texts_of_the_client_are_cut() {
        let long = "x".repeat(LONG + 1);
        assert_eq!(shortened(&json!(long))["long"]["chars"], LONG + 1);
        assert_eq!(shortened(&json!("short")), "short");
        let own = format!("Entered plan mode. {}", "word ".repeat(200));
        let kept = shortened(&json!(own));
        assert!(
            kept.as_str().is_some_and(|text| text.contains("[client text removed: 1019 chars"))
        );
    }
}
