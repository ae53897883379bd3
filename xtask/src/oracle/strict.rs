//! What the real API is known to refuse.
//!
//! Owns: which requests are refused, and with which words. Does not own: how an
//! answer gets to the client; see `api.rs`. The list is not complete: see
//! `docs/concepts/oracle.md`.

use std::collections::BTreeSet;

use serde_json::Value;

/// The most bytes that a request may have.
const MOST_BYTES: usize = 32 << 20;

/// A refusal as the API puts it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

impl Refusal {
    fn invalid(message: impl Into<String>) -> Refusal {
        Refusal { status: 400, kind: "invalid_request_error", message: message.into() }
    }
}

/// A request as far as it can be read, and the refusal if the real API would
/// not take it.
pub(crate) fn judge(bytes: &[u8]) -> (Value, Option<Refusal>) {
    let (body, problem) = read(bytes);
    let refusal = if bytes.len() > MOST_BYTES {
        let message = "Request exceeds the maximum size".into();
        Some(Refusal { status: 413, kind: "request_too_large", message })
    } else if let Some(problem) = problem {
        Some(Refusal::invalid(format!("The request body is not valid JSON: {problem}")))
    } else {
        check(&body).err().map(Refusal::invalid)
    };
    (body, refusal)
}

/// JSON in which half surrogate pairs may occur, read as U+FFFD.
pub(crate) fn read(bytes: &[u8]) -> (Value, Option<String>) {
    match serde_json::from_slice(bytes) {
        Ok(value) => (value, None),
        Err(error) => {
            let text = without_lone_surrogates(&String::from_utf8_lossy(bytes));
            let value = serde_json::from_str(&text);
            let is_surrogate = value.is_ok() && text.as_bytes() != bytes;
            let problem =
                if is_surrogate { "lone surrogate in string".into() } else { error.to_string() };
            (value.unwrap_or_default(), Some(problem))
        }
    }
}

fn without_lone_surrogates(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        let take = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                result.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // The backslash and what it stands before.
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        result.push_str(&rest[..take]);
        rest = &rest[take..];
    }
    result + rest
}

/// The value of an escape `\uXXXX` at the start of a text.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

/// A turn: messages in a row of one role, which the API joins.
struct Turn<'a> {
    role: &'a str,
    /// The blocks, each with the numbers of its message and itself.
    blocks: Vec<(usize, usize, &'a Value)>,
}

fn check(body: &Value) -> Result<(), String> {
    let messages = body["messages"].as_array().ok_or("messages: Field required")?;
    let first = messages.first().ok_or("messages: at least one message is required")?;
    if first["role"] != "user" {
        return Err("messages: first message must use the \"user\" role".into());
    }
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "user" | "assistant" => {}
            // An instruction in the middle: part of no turn.
            "system" => continue,
            _ => {
                return Err(format!(
                    "messages.{number}.role: Input should be 'user' or 'assistant'"
                ));
            }
        }
        let is_last = number + 1 == messages.len();
        check_content(number, message, is_last && role == "assistant")?;
        if turns.last().is_none_or(|turn| turn.role != role) {
            turns.push(Turn { role, blocks: Vec::new() });
        }
        let blocks = message["content"].as_array().into_iter().flatten().enumerate();
        if let Some(turn) = turns.last_mut() {
            turn.blocks.extend(blocks.map(|(at, block)| (number, at, block)));
        }
    }
    check_tools(&turns)
}

fn check_content(number: usize, message: &Value, may_be_empty: bool) -> Result<(), String> {
    let empty = || {
        Err(format!(
            "messages.{number}: all messages must have non-empty content except for the optional final assistant message"
        ))
    };
    match &message["content"] {
        Value::String(text) if text.is_empty() && !may_be_empty => empty(),
        Value::String(_) => Ok(()),
        Value::Array(blocks) if blocks.is_empty() && !may_be_empty => empty(),
        Value::Array(blocks) => {
            (0..).zip(blocks).try_for_each(|(at, block)| check_block(number, at, block))
        }
        _ => Err(format!("messages.{number}.content: Input should be a valid array")),
    }
}

fn check_block(number: usize, at: usize, block: &Value) -> Result<(), String> {
    let place = format!("messages.{number}.content.{at}");
    let has = |field: &str| block[field].as_str().is_some_and(|text| !text.is_empty());
    match block["type"].as_str() {
        Some("text") => match block["text"].as_str() {
            None => Err(format!("{place}.text.text: Field required")),
            Some("") => Err("messages: text content blocks must be non-empty".into()),
            Some(text) if text.trim().is_empty() => {
                Err("messages: text content blocks must contain non-whitespace text".into())
            }
            Some(_) => Ok(()),
        },
        Some("thinking") if block.get("signature").is_none() => {
            Err(format!("{place}.thinking.signature: Field required"))
        }
        Some("thinking") if !has("signature") => {
            Err(format!("{place}: Invalid `signature` in `thinking` block"))
        }
        Some("redacted_thinking") if !has("data") => {
            Err(format!("{place}: Invalid `data` in `redacted_thinking` block"))
        }
        Some("tool_use") if !has("id") => Err(format!("{place}.tool_use.id: Field required")),
        Some("tool_use") if !has("name") => Err(format!("{place}.tool_use.name: Field required")),
        Some("tool_use") if !block["input"].is_object() => {
            Err(format!("{place}.tool_use.input: Input should be a valid dictionary"))
        }
        Some("tool_result") if !has("tool_use_id") => {
            Err(format!("{place}.tool_result.tool_use_id: Field required"))
        }
        Some(_) => Ok(()),
        None => Err(format!("{place}.type: Field required")),
    }
}

/// Each call is answered once in the next turn, and each result answers a call
/// of the turn before.
fn check_tools(turns: &[Turn<'_>]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut asked_in = 0;
    for turn in turns {
        let mut answered = BTreeSet::new();
        for (number, at, block) in &turn.blocks {
            let place = format!("messages.{number}.content.{at}");
            if let Some(id) = id_of(block, "tool_result", "tool_use_id") {
                if turn.role != "user" {
                    return Err(format!(
                        "{place}: `tool_result` blocks can only be in `user` messages"
                    ));
                }
                if !answered.insert(id) {
                    return Err(format!(
                        "{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                    ));
                }
                if !open.contains(id) {
                    return Err(format!(
                        "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                    ));
                }
            }
        }
        unanswered(asked_in, open.difference(&answered).copied())?;
        open.clear();
        for (number, at, block) in &turn.blocks {
            let Some(id) = id_of(block, "tool_use", "id") else { continue };
            if turn.role != "assistant" {
                let place = format!("messages.{number}.content.{at}");
                return Err(format!(
                    "{place}: `tool_use` blocks can only be in `assistant` messages"
                ));
            }
            if !seen.insert(id) {
                return Err(format!(
                    "messages.{number}.content.{at}: `tool_use` ids must be unique"
                ));
            }
            open.insert(id);
            asked_in = *number;
        }
    }
    unanswered(asked_in, open.iter().copied())
}

fn id_of<'a>(block: &'a Value, kind: &str, field: &str) -> Option<&'a str> {
    block[field].as_str().filter(|_| block["type"] == kind)
}

fn unanswered<'a>(number: usize, ids: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return Ok(());
    }
    Err(format!(
        "messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(messages: Value) -> Option<String> {
        let body = json!({"model": "m", "messages": messages}).to_string();
        judge(body.as_bytes()).1.map(|refusal| refusal.message)
    }

    fn use_of(id: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "Read", "input": {}})
    }

    fn result_of(id: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": "x"})
    }

    #[test]
    fn a_paired_conversation_is_taken() {
        let messages = json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}, use_of("1")]},
            {"role": "assistant", "content": [use_of("2")]},
            {"role": "user", "content": [result_of("1")]},
            {"role": "system", "content": []},
            {"role": "user", "content": [result_of("2"), {"type": "text", "text": "b"}]},
        ]);
        assert_eq!(refused(messages), None);
    }

    #[test]
    fn each_thing_that_the_api_refuses_is_refused() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let user = |blocks: Value| json!({"role": "user", "content": blocks});
        let assistant = |blocks: Value| json!({"role": "assistant", "content": blocks});
        let start = || user(json!([text("a")]));
        for (messages, words) in [
            (json!([]), "at least one message"),
            (json!([assistant(json!([text("a")]))]), "first message"),
            (json!([{"role": "robot", "content": "a"}]), "first message"),
            (json!([start(), {"role": "robot", "content": "a"}]), "messages.1.role"),
            (json!([user(json!([]))]), "non-empty content"),
            (json!([user(json!([text("")]))]), "must be non-empty"),
            (json!([user(json!([text(" \n")]))]), "non-whitespace"),
            (
                json!([start(), assistant(json!([{"type": "thinking", "thinking": "x"}]))]),
                "signature: Field required",
            ),
            (
                json!([
                    start(),
                    assistant(json!([{"type": "thinking", "thinking": "x", "signature": ""}]))
                ]),
                "Invalid `signature`",
            ),
            (
                json!([start(), assistant(json!([use_of("1")]))]),
                "messages.1: `tool_use` ids were found without",
            ),
            (json!([start(), assistant(json!([use_of("1")])), start()]), "immediately after: 1"),
            (json!([user(json!([result_of("1")]))]), "unexpected `tool_use_id`"),
            (json!([start(), assistant(json!([use_of("1"), use_of("1")]))]), "must be unique"),
            (
                json!([
                    start(),
                    assistant(json!([use_of("1")])),
                    user(json!([result_of("1"), result_of("1")]))
                ]),
                "single result",
            ),
            (
                json!([
                    start(),
                    assistant(json!([use_of("1")])),
                    user(json!([result_of("1")])),
                    assistant(json!([use_of("1")])),
                    user(json!([result_of("1")]))
                ]),
                "must be unique",
            ),
        ] {
            let said = refused(messages.clone());
            assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{messages}: {said:?}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_is_refused_and_still_read() {
        let body = br#"{"messages":[{"role":"user","content":"\\ud83d \ud83d\ude00 \ud83d!"}]}"#;
        let (value, refusal) = judge(body);
        assert_eq!(value["messages"][0]["content"], "\\ud83d \u{1F600} \u{FFFD}!");
        assert!(refusal.unwrap().message.contains("surrogate"));
    }

    #[test]
    fn too_many_bytes_are_refused() {
        let body = json!({"messages": [{"role": "user", "content": "a".repeat(MOST_BYTES)}]});
        let refusal = judge(body.to_string().as_bytes()).1.unwrap();
        assert_eq!((refusal.status, refusal.kind), (413, "request_too_large"));
    }
}
