//! Messages and blocks, one by one.

use serde_json::Value;

use super::Turn;
use super::extra;
use crate::wire::KINDS;

/// The most bytes of a picture, as base64.
const MOST_IMAGE: usize = 5 << 20;
const MOST_MESSAGES: usize = 100_000;

/// Checks each message and block, and joins messages to turns.
pub(super) fn turns<'a>(body: &'a Value, betas: &[String]) -> Result<Vec<Turn<'a>>, String> {
    let messages = match &body["messages"] {
        Value::Null => return Err("messages: Field required".into()),
        Value::Array(messages) => messages,
        _ => return Err("messages: Input should be a valid list".into()),
    };
    if messages.len() > MOST_MESSAGES {
        return Err(format!("messages: too many messages: {} > {MOST_MESSAGES}", messages.len()));
    }
    let first = messages.first().ok_or("messages: at least one message is required")?;
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        if !message.is_object() {
            return Err(format!("messages.{number}: Input should be a valid dictionary"));
        }
        let role = match &message["role"] {
            Value::Null => return Err(format!("messages.{number}.role: Field required")),
            role => role.as_str().unwrap_or_default(),
        };
        if number == 0 && first["role"] != "user" {
            return Err("messages: first message must use the \"user\" role".into());
        }
        check_extra(number, message, role, betas)?;
        match role {
            "user" | "assistant" => {}
            // An instruction in the middle: part of no turn.
            "system" => {
                check_instruction(number, message)?;
                continue;
            }
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
    Ok(turns)
}

fn check_extra(number: usize, message: &Value, role: &str, betas: &[String]) -> Result<(), String> {
    let has = |start: &str| betas.iter().any(|beta| beta.starts_with(start));
    let mut known = vec!["role", "content"];
    if role == "system" && (has("per-turn-control-") || has("mid-conversation-output-config-")) {
        known.push("output_config");
    }
    if role == "system" && has("mid-conversation-system-clear-at-") {
        known.push("clear_at");
    }
    match extra(message, &known) {
        Some(name) => Err(format!("messages.{number}.{name}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn check_instruction(number: usize, message: &Value) -> Result<(), String> {
    match &message["content"] {
        Value::String(_) => Ok(()),
        Value::Array(blocks) => {
            let kinds = ["text", "tool_addition", "tool_removal", "tool_reference"];
            let is_text =
                |block: &&Value| block["type"].as_str().is_some_and(|t| kinds.contains(&t));
            match blocks.iter().position(|block| !is_text(&block)) {
                Some(at) => {
                    Err(format!("messages.{number}.content.{at}: `system` messages take text only"))
                }
                None => Ok(()),
            }
        }
        _ => Err(format!("messages.{number}.content: Input should be a valid list")),
    }
}

fn check_content(number: usize, message: &Value, may_be_empty: bool) -> Result<(), String> {
    let empty = || {
        Err(format!(
            "messages.{number}: all messages must have non-empty content except for the optional final assistant message"
        ))
    };
    match &message["content"] {
        Value::Null => Err(format!("messages.{number}.content: Field required")),
        Value::String(text) if text.is_empty() && !may_be_empty => empty(),
        Value::String(_) => Ok(()),
        Value::Array(blocks) if blocks.is_empty() && !may_be_empty => empty(),
        Value::Array(blocks) => (0..).zip(blocks).try_for_each(|(at, block)| {
            let place = format!("messages.{number}.content.{at}");
            check_block(&place, block)
        }),
        _ => Err(format!("messages.{number}.content: Input should be a valid array")),
    }
}

fn check_block(place: &str, block: &Value) -> Result<(), String> {
    let Some(kind) = block["type"].as_str() else {
        return Err(format!("{place}.type: Field required"));
    };
    let has = |field: &str| block[field].as_str().is_some_and(|text| !text.is_empty());
    let required = |field: &str| match has(field) {
        true => Ok(()),
        false => Err(format!("{place}.{kind}.{field}: Field required")),
    };
    match kind {
        "text" => check_text(place, block),
        "thinking" => match (&block["thinking"], block.get("signature")) {
            (Value::String(_), Some(_)) => Ok(()),
            (Value::String(_), None) => Err(format!("{place}.thinking.signature: Field required")),
            _ => Err(format!("{place}.thinking.thinking: Field required")),
        },
        "redacted_thinking" if !has("data") => {
            Err(format!("{place}: Invalid `data` in `redacted_thinking` block"))
        }
        "tool_use" => {
            required("id")?;
            required("name")?;
            check_id(place, "tool_use.id", &block["id"])?;
            match &block["input"] {
                Value::Object(_) => Ok(()),
                Value::Null => Err(format!("{place}.tool_use.input: Field required")),
                _ => Err(format!("{place}.tool_use.input: Input should be a valid dictionary")),
            }
        }
        "tool_result" => {
            required("tool_use_id")?;
            check_id(place, "tool_result.tool_use_id", &block["tool_use_id"])?;
            check_result(place, block)
        }
        "server_tool_use" => required("id").and_then(|()| required("name")),
        "image" => check_image(place, block),
        "document" => check_document(place, block),
        _ if KINDS.contains(&kind) => Ok(()),
        _ => Err(format!(
            "{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {}",
            KINDS.map(|kind| format!("'{kind}'")).join(", ")
        )),
    }
}

fn check_text(place: &str, block: &Value) -> Result<(), String> {
    match block["text"].as_str() {
        None if block["text"].is_null() => {
            return Err(format!("{place}.text.text: Field required"));
        }
        None => return Err(format!("{place}.text.text: Input should be a valid string")),
        Some("") if !block["cache_control"].is_null() => {
            return Err(format!("{place}: cache_control cannot be set for empty text blocks"));
        }
        Some("") => return Err("messages: text content blocks must be non-empty".into()),
        Some(text) if text.trim().is_empty() => {
            return Err("messages: text content blocks must contain non-whitespace text".into());
        }
        Some(_) => {}
    }
    match extra(block, &["type", "text", "cache_control", "citations"]) {
        Some(name) => Err(format!("{place}.text.{name}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn check_id(place: &str, field: &str, id: &Value) -> Result<(), String> {
    let id = id.as_str().unwrap_or_default();
    match id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) {
        true => Ok(()),
        false => Err(format!("{place}.{field}: String should match pattern '^[a-zA-Z0-9_-]+$'")),
    }
}

fn check_result(place: &str, block: &Value) -> Result<(), String> {
    let place = format!("{place}.tool_result");
    let known = ["type", "tool_use_id", "content", "is_error", "cache_control"];
    if let Some(name) = extra(block, &known) {
        return Err(format!("{place}.{name}: Extra inputs are not permitted"));
    }
    if !matches!(block["is_error"], Value::Null | Value::Bool(_)) {
        return Err(format!("{place}.is_error: Input should be a valid boolean"));
    }
    let is_error = block["is_error"] == true;
    match &block["content"] {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => {
            for (at, inner) in blocks.iter().enumerate() {
                let place = format!("{place}.content.{at}");
                match inner["type"].as_str() {
                    Some("text") if inner["text"].is_string() => {}
                    Some("text") => return Err(format!("{place}.text.text: Field required")),
                    Some("image") => check_image(&place, inner)?,
                    Some("document" | "search_result" | "tool_reference") => {}
                    Some(kind) => {
                        return Err(format!(
                            "{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text', 'tool_reference'"
                        ));
                    }
                    None => return Err(format!("{place}.type: Field required")),
                }
                if is_error && inner["type"] != "text" {
                    return Err(format!(
                        "{place}: all content must be type \"text\" if `is_error` is true"
                    ));
                }
            }
            Ok(())
        }
        _ => Err(format!("{place}.content: Input should be a valid list")),
    }
}

fn check_image(place: &str, block: &Value) -> Result<(), String> {
    let source = &block["source"];
    let place = format!("{place}.image.source");
    match source["type"].as_str() {
        Some("base64") => {
            let kinds = ["image/jpeg", "image/png", "image/gif", "image/webp"];
            if !source["media_type"].as_str().is_some_and(|kind| kinds.contains(&kind)) {
                return Err(format!(
                    "{place}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
                ));
            }
            check_data(&format!("{place}.base64"), &source["data"])
        }
        Some("url") if source["url"].is_string() => Ok(()),
        Some("file") if source["file_id"].is_string() => Ok(()),
        Some("url") => Err(format!("{place}.url.url: Field required")),
        Some("file") => Err(format!("{place}.file.file_id: Field required")),
        Some(kind) => Err(format!(
            "{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'base64', 'url', 'file'"
        )),
        None => Err(format!("{place}: Field required")),
    }
}

fn check_data(place: &str, data: &Value) -> Result<(), String> {
    let Some(data) = data.as_str() else { return Err(format!("{place}.data: Field required")) };
    let plain = data.trim_end_matches('=');
    let is_base64 = !data.is_empty()
        && plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte));
    if !is_base64 {
        return Err(format!("{place}.data: Invalid base64 data"));
    }
    if data.len() > MOST_IMAGE {
        return Err(format!(
            "{place}: image exceeds 5 MB maximum: {} bytes > {MOST_IMAGE} bytes",
            data.len()
        ));
    }
    Ok(())
}

fn check_document(place: &str, block: &Value) -> Result<(), String> {
    let source = &block["source"];
    match source["type"].as_str() {
        Some("base64" | "text") if !source["data"].is_string() => {
            Err(format!("{place}.document.source.data: Field required"))
        }
        Some("base64" | "text" | "url" | "content" | "file") => Ok(()),
        Some(kind) => Err(format!(
            "{place}.document.source: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'base64', 'content', 'file', 'text', 'url'"
        )),
        None => Err(format!("{place}.document.source: Field required")),
    }
}
