//! What scripts and models read when something does not go on as usual. They know these
//! sentences, so they are the client's.

use std::time::Duration;

use serde_json::Value;

use super::event::Failed;
use crate::api::ApiError;
use crate::api::Failure;
use crate::api::Unreachable;
use crate::wire::StreamError;

pub(super) const MAX_TOKENS: &str = "Output token limit hit. Resume directly — no apology, no recap of what you were doing. Pick up mid-thought if that is where the cut happened. Break remaining work into smaller pieces.";
pub(super) const CUT_OFF: &str = "Your response above was cut off mid-stream. Resume directly from where it stops — no apology, no recap. If none of it survived, answer the request from the start.";
pub(super) const REFUSED: &str = "Your response above was stopped by a safety classifier — this is not a tool or API error. The rest of it was withheld, and tool calls in it that had not finished did not run. Do not produce that content again; take another way, or say that you cannot.";
pub(super) const EMPTY: &str =
    "Your response was empty. Answer the request, or say that you are done.";
pub(super) const LOST: &str =
    "API Error: Connection lost mid-response. The response above may be incomplete.";
pub(super) const BROKEN: &str =
    "API Error: Server error mid-response. The response above may be incomplete.";
pub(super) const SILENT: &str = "You have worked for several steps without a word to the user. With the next one, say in a sentence what you found or what you do now, if there is something to say.";
pub(super) const NO_RESPONSE: &str = "No response requested.";
pub(super) const INTERRUPTED: &str = "[Request interrupted by user]";
pub(super) const INTERRUPTED_TOOLS: &str = "[Request interrupted by user for tool use]";
pub(super) const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";
/// Behind that where the call was running.
pub(super) const STOPPED_RUNNING: &str = " Correction to the text above: this call was stopped while running, not refused before it ran. It may have run in part or in full, and its changes may have been written. No permission prompt was involved. Work it started elsewhere (a remote command, a background process) may still be running, so check before starting the same work again. The instruction to stop and wait still stands.";
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

/// After how many attempts an endpoint is overloaded repeatedly.
const REPEATED: u32 = 3;

/// How an error is named in a JSON stream.
pub(super) fn failed(error: &ApiError) -> Failed {
    let kind = match error {
        ApiError::Status { error, .. } | ApiError::WaitTooLong { error, .. } => &error.kind,
        ApiError::Stream { error: StreamError::Reported(error), .. } => &error.kind,
        _ => "",
    };
    let status = error.status();
    let name = match status {
        _ if is_unpaid(error) => "billing_error",
        Some(401 | 403) => "authentication_failed",
        Some(429) => "rate_limit",
        Some(404) => "model_not_found",
        Some(529) => "overloaded",
        Some(413) => "invalid_request",
        Some(400) if is_too_long(error) => "invalid_request",
        // Of requests that are plainly wrong, hosts are told no more than that.
        Some(400..=499) | None => "unknown",
        Some(_) => "server_error",
    };
    let kind = (!kind.is_empty()).then(|| kind.to_owned());
    Failed { error: name, status, kind, ..Failed::default() }
}

/// The name of an error that may pass in a JSON stream, such as `rate_limit`.
pub fn error_name(error: &ApiError) -> &'static str {
    match error.status() {
        Some(408 | 409) => "server_error",
        _ => failed(error).error,
    }
}

/// Whether nobody has paid for the key.
fn is_unpaid(error: &ApiError) -> bool {
    matches!(error, ApiError::Status { status, error, .. }
        if *status == 402 || error.message.to_ascii_lowercase().contains("credit balance is too low"))
}

/// Whether the endpoint said that it is overloaded, whatever it answered before that.
pub(super) fn is_overloaded(failed: &Failed) -> bool {
    failed.error == "overloaded" || failed.kind.as_deref() == Some("overloaded_error")
}

/// What is said in the model's place when the endpoint failed.
pub(super) fn failure(failure: &Failure, host: &str, model: &str) -> String {
    let gateway = format!("check your inference gateway ({host})");
    match &failure.error {
        ApiError::Status { status: 401, .. } | ApiError::NoKey | ApiError::BadKey => {
            "Invalid API key · Fix external API key".to_owned()
        }
        error if is_unpaid(error) => "Credit balance is too low".to_owned(),
        ApiError::Status { status: 403, error, .. } => {
            format!("Failed to authenticate. API Error: 403 {}", words(&error.message))
        }
        ApiError::Status { status: 404, .. } => format!(
            "There's an issue with the selected model ({model}). It may not exist or you may not have access to it. Run --model to pick a different model."
        ),
        ApiError::Status { status: 429, error, .. } => {
            format!("API Error: Request rejected (429) · {}", words(&error.message))
        }
        ApiError::Stream { error: StreamError::Reported(error), .. } => {
            format!("API Error: {}", words(&error.message))
        }
        ApiError::Status { status: 413, .. } => "Request too large (max 32MB). Accumulated images and attachments in the conversation pushed the request over the limit. Remove older images or compact the conversation.".to_owned(),
        ApiError::Status { status: 529, .. } if failure.attempts >= REPEATED => format!(
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

/// An error with all that helps to find its reason.
pub(super) fn with_details(text: &str, failed: &Failed, model: &str) -> String {
    let mut details = format!("error type {}", failed.error);
    if let Some(status) = failed.status {
        details.push_str(&format!(", HTTP {status}"));
    }
    let more = failed.more.as_deref();
    if let Some(request) = more.and_then(|more| more.request.as_ref()) {
        details.push_str(&format!(", request id {request}"));
    }
    format!("{text} ({details}, model sent to the API: {model})")
}

/// The message after a model refused twice.
pub(super) fn refused(model: &str, message: &str) -> String {
    format!(
        "API Error: {model}'s safeguards flagged this message (https://www.anthropic.com/legal/aup). Rephrase the request in a new session, or ask another model.\n\nMessage ID: {message}"
    )
}

/// The sentence for an answer that was nothing but its limit.
pub(super) fn at_limit(tokens: u64) -> String {
    format!(
        "API Error: Claude's response exceeded the {tokens} output token maximum. To configure this behavior, set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable."
    )
}

/// Whether the endpoint says that the request has too many bytes.
pub(super) fn is_too_large(error: &ApiError) -> bool {
    matches!(error, ApiError::Status { status: 413, .. }) && !is_too_long(error)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ErrorBody;

    #[test]
    fn errors_have_the_names_and_words_that_scripts_know() {
        let table = [
            (400, "bad thing", "unknown", "API Error: 400 bad thing"),
            (
                400,
                "Your credit balance is too low to go on",
                "billing_error",
                "Credit balance is too low",
            ),
            (402, "pay", "billing_error", "Credit balance is too low"),
            (403, "no", "authentication_failed", "Failed to authenticate. API Error: 403 no"),
            (409, "busy", "unknown", "API Error: 409 busy"),
            (422, "odd", "unknown", "API Error: 422 odd"),
            (429, "slow", "rate_limit", "API Error: Request rejected (429) · slow"),
        ];
        for (status, message, name, words) in table {
            let error = ErrorBody { message: message.to_owned(), ..ErrorBody::default() };
            let error = ApiError::Status { status, error, retry_after: None };
            assert_eq!(failed(&error).error, name, "{status}");
            let failed = Failure { error, attempts: 1, request_id: None, partial: Vec::new() };
            assert_eq!(failure(&failed, "host", "m"), words);
        }
        let passing =
            ApiError::Status { status: 409, error: ErrorBody::default(), retry_after: None };
        assert_eq!(error_name(&passing), "server_error");
        let reported = StreamError::Reported(ErrorBody {
            kind: "overloaded_error".into(),
            ..ErrorBody::default()
        });
        let error = ApiError::Stream { host: "host".into(), error: reported };
        assert_eq!(failed(&error).error, "unknown");
        assert!(is_overloaded(&failed(&error)));
    }
}
