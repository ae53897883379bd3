//! What scripts and models read when something does not go on as usual. They know these
//! sentences, so they are the client's.

use std::time::Duration;

use serde_json::Value;

use super::event::Failed;
use crate::api::ApiError;
use crate::api::Unreachable;
use crate::wire::StreamError;

pub(super) const MAX_TOKENS: &str = "Output token limit hit. Resume directly — no apology, no recap of what you were doing. Pick up mid-thought if that is where the cut happened. Break remaining work into smaller pieces.";
pub(super) const CUT_OFF: &str = "Your response above was cut off mid-stream. Resume directly from where it stops — no apology, no recap. If none of it survived, answer the request from the start.";
pub(super) const REFUSED: &str = "Your response above was stopped by a safety classifier — this is not a tool or API error. The rest of it was withheld, and tool calls in it that had not finished did not run. Do not produce that content again; take another way, or say that you cannot.";
pub(super) const EMPTY: &str =
    "Your response was empty. Answer the request, or say that you are done.";
pub(super) const NO_RESPONSE: &str = "No response requested.";
pub(super) const INTERRUPTED: &str = "[Request interrupted by user]";
pub(super) const INTERRUPTED_TOOLS: &str = "[Request interrupted by user for tool use]";
pub(super) const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";
pub(super) const REJECTED_LOG: &str = "User rejected tool use";
pub(super) const STRUCTURED_OUTPUT: &str = "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. Call this tool now.";
pub(super) const CALL_LOST: &str = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took effect before relying on it or running it again.]";

/// A prompt that came while the model worked.
pub(super) fn queued(prompt: &str) -> String {
    format!(
        "The user sent a new message while you were working:\n{prompt}\n\nIt belongs to this turn: take it into account as you continue."
    )
}

/// What the session that started a subagent says while it works.
pub(super) fn mail(message: &str) -> String {
    format!(
        "The session that started you sent a message while you were working:\n{message}\n\nIt belongs to your task: take it into account as you continue."
    )
}

/// How an error is named in a JSON stream.
pub(super) fn failed(error: &ApiError) -> Failed {
    let kind = match error {
        ApiError::Status { error, .. } | ApiError::WaitTooLong { error, .. } => &error.kind,
        ApiError::Stream { error: StreamError::Reported(error), .. } => &error.kind,
        _ => "",
    };
    let status = error.status();
    let name = match (status, kind) {
        (Some(401 | 403), _) => "authentication_failed",
        (Some(402), _) => "billing_error",
        (Some(429), _) => "rate_limit",
        (Some(404), _) => "model_not_found",
        (Some(529), _) | (None, "overloaded_error") => "overloaded",
        // Of requests that are plainly wrong, hosts are told no more than that.
        (Some(400), _) if !is_too_long(error) => "unknown",
        (Some(400..=499), _) => "invalid_request",
        (Some(_), _) | (None, "api_error") => "server_error",
        (None, _) => "unknown",
    };
    let kind = (!kind.is_empty()).then(|| kind.to_owned());
    Failed { error: name, status, kind }
}

/// The name of an error in a JSON stream, such as `rate_limit`.
pub fn error_name(error: &ApiError) -> &'static str {
    failed(error).error
}

/// What is said in the model's place when the endpoint failed.
pub(super) fn failure(error: &ApiError, host: &str) -> String {
    let gateway = format!("check your inference gateway ({host})");
    match error {
        ApiError::Status { status: 401, .. } | ApiError::NoKey | ApiError::BadKey => {
            "Invalid API key · Fix external API key".to_owned()
        }
        ApiError::Status { status: 413, .. } => "Request too large (max 32MB). Accumulated images and attachments in the conversation pushed the request over the limit. Remove older images or compact the conversation.".to_owned(),
        ApiError::Status { status: 529, .. } => format!(
            "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in a moment. If it persists, {gateway}."
        ),
        ApiError::Status { status: status @ 500..=599, error, .. } => format!(
            "API Error: {status} {}. This is a server-side issue, usually temporary — try again in a moment. If it persists, {gateway}.",
            words(&error.message)
        ),
        ApiError::Status { status, error, .. } => {
            format!("API Error: {status} {}", words(&error.message))
        }
        ApiError::Unreachable { why: Unreachable::Refused, .. } => {
            format!("API Error: Connection refused. If it persists, {gateway}.")
        }
        other => format!("API Error: {other}"),
    }
}

fn words(message: &str) -> &str {
    if message.is_empty() { "no reason given" } else { message }
}

/// Whether the endpoint says that the conversation is too long.
pub(super) fn is_too_long(error: &ApiError) -> bool {
    matches!(error, ApiError::Status { status: 400 | 413, error, .. }
        if error.message.to_ascii_lowercase().contains("prompt is too long"))
}

/// The sentence for that, with the numbers that the endpoint gave.
pub(super) fn too_long(error: &ApiError) -> String {
    let message = match error {
        ApiError::Status { error, .. } => error.message.as_str(),
        _ => "",
    };
    let numbers: Vec<&str> =
        message.split(|c: char| !c.is_ascii_digit()).filter(|number| number.len() > 3).collect();
    match numbers.as_slice() {
        [tokens, limit, ..] => format!(
            "Prompt is too long · the request is ~{tokens} tokens (limit {limit}). Shorten the conversation: recto trim, or start from an earlier turn with recto fork."
        ),
        _ => "Prompt is too long · Shorten the conversation: recto trim, or start from an earlier turn with recto fork.".to_owned(),
    }
}

/// Milliseconds, as JSON has them.
pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The text of a prompt, for lists.
pub(super) fn shown_text(content: &Value) -> String {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
