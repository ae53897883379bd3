//! Where two requests first differ.

use std::fmt;

use serde_json::Value;
use serde_json::json;

/// How much of a text is shown around the place.
const AROUND: usize = 40;

/// How deep values are compared one by one.
const MOST_LEVELS: usize = 64;

/// The first place at which two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place, such as `messages.4.content.0.text`.
    pub path: String,
    /// What was recorded there, in short; none if nothing was.
    pub recorded: Option<String>,
    /// What was sent there, in short; none if nothing was.
    pub sent: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".into());
        write!(f, "{}: recorded {}, sent {}", self.path, shown(&self.recorded), shown(&self.sent))
    }
}

/// Compares messages as they were recorded with those that were sent. Marks of caches do not
/// count, and content that is a string is one text block. A message that is known by its hash
/// only is not compared.
pub fn first_difference(recorded: &[Option<Value>], sent: &Value) -> Option<Difference> {
    let sent = sent.as_array().map_or(&[][..], Vec::as_slice);
    for (at, message) in recorded.iter().enumerate() {
        let path = format!("messages.{at}");
        match (message, sent.get(at)) {
            (None, Some(_)) => {}
            (Some(message), Some(other)) => {
                let found = compare(&path, &plain(message), &plain(other), 0);
                if found.is_some() {
                    return found;
                }
            }
            (message, None) => {
                let recorded = message.as_ref().map_or_else(|| "a message".into(), short);
                return Some(Difference { path, recorded: Some(recorded), sent: None });
            }
        }
    }
    let more = sent.get(recorded.len())?;
    let path = format!("messages.{}", recorded.len());
    Some(Difference { path, recorded: None, sent: Some(short(more)) })
}

/// A message in one spelling.
fn plain(message: &Value) -> Value {
    let mut message = message.clone();
    if let Value::String(text) = &message["content"] {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    remove_marks(&mut message, 0);
    message
}

fn remove_marks(value: &mut Value, level: usize) {
    if level > MOST_LEVELS {
        return;
    }
    match value {
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(|value| remove_marks(value, level + 1));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| remove_marks(value, level + 1)),
        _ => {}
    }
}

fn compare(path: &str, recorded: &Value, sent: &Value, level: usize) -> Option<Difference> {
    if recorded == sent {
        return None;
    }
    let differs = |path: &str, recorded: Option<&Value>, sent: Option<&Value>| {
        let (recorded, sent) = (recorded.map(short), sent.map(short));
        Some(Difference { path: path.to_owned(), recorded, sent })
    };
    match (recorded, sent) {
        _ if level > MOST_LEVELS => differs(path, Some(recorded), Some(sent)),
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                let path = format!("{path}.{name}");
                let Some(sent) = other.get(name) else {
                    return differs(&path, Some(value), None);
                };
                if let Some(found) = compare(&path, value, sent, level + 1) {
                    return Some(found);
                }
            }
            let (name, more) = other.iter().find(|(name, _)| !one.contains_key(*name))?;
            differs(&format!("{path}.{name}"), None, Some(more))
        }
        (Value::Array(one), Value::Array(other)) => {
            for at in 0..one.len().max(other.len()) {
                let path = format!("{path}.{at}");
                match (one.get(at), other.get(at)) {
                    (Some(one), Some(other)) => {
                        if let Some(found) = compare(&path, one, other, level + 1) {
                            return Some(found);
                        }
                    }
                    (one, other) => return differs(&path, one, other),
                }
            }
            None
        }
        (Value::String(one), Value::String(other)) => {
            let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
            let cut = |text: &str| Some(around(text, same));
            Some(Difference {
                path: format!("{path}, character {same}"),
                recorded: cut(one),
                sent: cut(other),
            })
        }
        _ => differs(path, Some(recorded), Some(sent)),
    }
}

/// A text around a place, in quotes.
fn around(text: &str, at: usize) -> String {
    let start = at.saturating_sub(AROUND);
    let piece: String = text.chars().skip(start).take(2 * AROUND).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if text.chars().nth(start + 2 * AROUND).is_some() { "…" } else { "" };
    format!("{}{}{}", before, Value::String(piece), after)
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    let piece: String = text.chars().take(2 * AROUND).collect();
    if piece.len() < text.len() { format!("{piece}…") } else { piece }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(recorded: Value, sent: Value) -> Option<String> {
        let recorded: Vec<Option<Value>> =
            recorded.as_array().unwrap().iter().cloned().map(Some).collect();
        first_difference(&recorded, &sent).map(|found| found.to_string())
    }

    #[test]
    fn the_place_is_named_and_spelling_does_not_count() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let user = |content: Value| json!({"role": "user", "content": content});
        let mut marked = text("a");
        marked[0]["cache_control"] = json!({"type": "ephemeral"});
        assert_eq!(found(json!([user("a".into())]), json!([user(marked)])), None);
        let one = || json!([user("a".into()), user(text("hello world"))]);
        for (sent, words) in [
            (
                json!([user("a".into()), user(text("hello word"))]),
                "messages.1.content.0.text, character 9: recorded \"hello world\", sent \"hello word\"",
            ),
            (
                json!([user("a".into())]),
                "messages.1: recorded {\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hello world\"}]}, sent nothing",
            ),
            (
                json!([user("a".into()), user(text("hello world")), 7]),
                "messages.2: recorded nothing, sent 7",
            ),
            (
                json!([
                    user("a".into()),
                    user(json!([{"type": "text", "text": "hello world", "x": 1}]))
                ]),
                "messages.1.content.0.x: recorded nothing, sent 1",
            ),
            (
                json!([user("a".into()), {"role": "system", "content": "hello world"}]),
                "messages.1.role, character 0: recorded \"user\", sent \"system\"",
            ),
        ] {
            assert_eq!(found(one(), sent).as_deref(), Some(words));
        }
    }

    #[test]
    fn a_message_that_is_known_by_its_hash_only_is_not_compared() {
        assert_eq!(first_difference(&[None], &json!([{"role": "user"}])), None);
        assert!(first_difference(&[None], &json!([])).is_some());
    }
}
