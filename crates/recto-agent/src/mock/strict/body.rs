//! The fields beside the messages.

use serde_json::Value;

use super::Purpose;
use super::extra;

/// Fields that every request may have.
const FIELDS: [&str; 24] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "metadata",
    "stop_sequences",
    "temperature",
    "top_k",
    "top_p",
    "thinking",
    "output_config",
    "service_tier",
    "cache_control",
    "container",
    "inference_geo",
    "speed",
    "diagnostics",
    "user_profile_id",
    "workspace_id",
    "betas",
    "anthropic_version",
];

/// Fields that a request has in common with one that counts tokens.
const COUNTED: [&str; 15] = [
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "cache_control",
    "speed",
    "context_management",
    "mcp_servers",
    "output_format",
    "user_profile_id",
    "workspace_id",
    "betas",
];

/// Fields that exist with a beta only, by the start of its name.
const OF_BETAS: [(&str, &[&str]); 7] = [
    ("context_management", &["context-management-", "compact-"]),
    ("mcp_servers", &["mcp-client-"]),
    ("output_format", &["structured-outputs-"]),
    ("compaction", &["compact-"]),
    ("fallbacks", &["server-side-fallback-"]),
    ("fallback_credit_token", &["fallback-credit-"]),
    ("thread", &["message-threads-"]),
];

/// The most tokens that a model answers with; with a beta, more.
const MOST_TOKENS: u64 = 128_000;
const MOST_TOKENS_BETA: u64 = 300_000;

pub(super) fn check_fields(body: &Value, betas: &[String], purpose: Purpose) -> Result<(), String> {
    let known: &[&str] = match purpose {
        Purpose::Answer => &FIELDS,
        Purpose::Count => &COUNTED,
    };
    for name in body.as_object().into_iter().flatten().map(|(name, _)| name.as_str()) {
        let of_beta = OF_BETAS.iter().find(|(field, _)| *field == name);
        let is_known = match of_beta {
            Some((_, starts)) => {
                betas.iter().any(|beta| starts.iter().any(|start| beta.starts_with(start)))
            }
            None => known.contains(&name),
        };
        if !is_known {
            return Err(format!("{name}: Extra inputs are not permitted"));
        }
    }
    match &body["model"] {
        Value::Null => return Err("model: Field required".into()),
        Value::String(model) if model.is_empty() => {
            return Err("model: String should have at least 1 character".into());
        }
        Value::String(_) => {}
        _ => return Err("model: Input should be a valid string".into()),
    }
    if purpose == Purpose::Answer {
        check_max_tokens(body, betas)?;
    }
    check_numbers(body)?;
    check_others(body)?;
    check_tool_choice(body)
}

fn check_max_tokens(body: &Value, betas: &[String]) -> Result<(), String> {
    let has_beta = betas.iter().any(|beta| beta.starts_with("output-300k-"));
    let most = if has_beta { MOST_TOKENS_BETA } else { MOST_TOKENS };
    match &body["max_tokens"] {
        Value::Null => Err("max_tokens: Field required".into()),
        value => match value.as_u64() {
            Some(0) => Err("max_tokens: Input should be greater than or equal to 1".into()),
            Some(tokens) if tokens > most => {
                let model = body["model"].as_str().unwrap_or_default();
                Err(format!(
                    "max_tokens: {tokens} > {most}, which is the maximum allowed number of output tokens for {model}"
                ))
            }
            Some(_) => Ok(()),
            None if value.as_i64().is_some() => {
                Err("max_tokens: Input should be greater than or equal to 1".into())
            }
            None => Err("max_tokens: Input should be a valid integer".into()),
        },
    }
}

fn check_numbers(body: &Value) -> Result<(), String> {
    for name in ["temperature", "top_p"] {
        match &body[name] {
            Value::Null => {}
            value => match value.as_f64() {
                None => return Err(format!("{name}: Input should be a valid number")),
                Some(number) if number < 0.0 => {
                    return Err(format!("{name}: Input should be greater than or equal to 0"));
                }
                Some(number) if number > 1.0 => {
                    return Err(format!("{name}: Input should be less than or equal to 1"));
                }
                Some(_) => {}
            },
        }
    }
    match &body["top_k"] {
        Value::Null => Ok(()),
        value if value.as_u64().is_some() => Ok(()),
        value if value.is_i64() => Err("top_k: Input should be greater than or equal to 0".into()),
        _ => Err("top_k: Input should be a valid integer".into()),
    }
}

fn check_others(body: &Value) -> Result<(), String> {
    if !matches!(body["stream"], Value::Null | Value::Bool(_)) {
        return Err("stream: Input should be a valid boolean".into());
    }
    match &body["stop_sequences"] {
        Value::Null => {}
        Value::Array(sequences) => {
            for (at, sequence) in sequences.iter().enumerate() {
                let Some(text) = sequence.as_str() else {
                    return Err(format!("stop_sequences.{at}: Input should be a valid string"));
                };
                if text.trim().is_empty() {
                    return Err(
                        "stop_sequences: each stop sequence must contain non-whitespace".into()
                    );
                }
            }
        }
        _ => return Err("stop_sequences: Input should be a valid list".into()),
    }
    match &body["metadata"] {
        Value::Null => {}
        metadata if metadata.is_object() => {
            if let Some(name) = extra(metadata, &["user_id"]) {
                return Err(format!("metadata.{name}: Extra inputs are not permitted"));
            }
            if !matches!(metadata["user_id"], Value::Null | Value::String(_)) {
                return Err("metadata.user_id: Input should be a valid string".into());
            }
        }
        _ => return Err("metadata: Input should be a valid dictionary".into()),
    }
    match body["service_tier"].as_str() {
        None | Some("auto" | "standard_only") => Ok(()),
        Some(_) => Err("service_tier: Input should be 'auto' or 'standard_only'".into()),
    }
}

fn check_tool_choice(body: &Value) -> Result<(), String> {
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    match choice["type"].as_str() {
        Some("auto" | "any" | "none") if tools.is_empty() => {
            Err("tool_choice: may only be specified while providing tools".into())
        }
        Some("auto" | "any" | "none") => Ok(()),
        Some("tool") => match choice["name"].as_str() {
            None => Err("tool_choice.tool.name: Field required".into()),
            Some(name) if tools.iter().all(|tool| tool["name"] != name) => {
                Err(format!("Tool '{name}' not found in provided tools"))
            }
            Some(_) => Ok(()),
        },
        Some(kind) => Err(format!(
            "tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'"
        )),
        None => Err("tool_choice.type: Field required".into()),
    }
}

/// The system prompt is text, and not empty.
pub(super) fn check_system(system: &Value) -> Result<(), String> {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => blocks.iter().enumerate().try_for_each(|(at, block)| {
            if block["type"] != "text" {
                return Err(format!("system.{at}.type: Input should be 'text'"));
            }
            match block["text"].as_str() {
                None => Err(format!("system.{at}.text: Field required")),
                Some("") if !block["cache_control"].is_null() => {
                    Err(format!("system.{at}: cache_control cannot be set for empty text blocks"))
                }
                Some("") => Err("system: text content blocks must be non-empty".into()),
                Some(_) => Ok(()),
            }
        }),
        _ => Err("system: Input should be a valid list".into()),
    }
}

/// How a conversation may end.
pub(super) fn check_end(body: &Value) -> Result<(), String> {
    let last = body["messages"].as_array().and_then(|messages| messages.last());
    let Some(last) = last.filter(|message| message["role"] == "assistant") else { return Ok(()) };
    let text = match &last["content"] {
        Value::String(text) => Some(text.as_str()),
        Value::Array(blocks) => blocks.last().and_then(|block| block["text"].as_str()),
        _ => None,
    };
    if text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        return Err("messages: final assistant content cannot end with trailing whitespace".into());
    }
    Ok(())
}
