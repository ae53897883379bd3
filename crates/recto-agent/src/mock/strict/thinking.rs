//! Thinking: how it is asked for, and that it comes back as it was.

use serde_json::Value;

use super::Turn;
use crate::mock::signature;
use crate::mock::signature::Verdict;

pub(super) fn check(body: &Value, turns: &[Turn<'_>]) -> Result<(), String> {
    let is_enabled = check_settings(body)?;
    let latest = turns.iter().rposition(|turn| turn.role == "assistant");
    for (place, turn) in turns.iter().enumerate() {
        for (number, at, block) in &turn.blocks {
            let at = format!("messages.{number}.content.{at}");
            let is_latest = latest == Some(place);
            check_block(&at, block, turn.role, is_latest)?;
        }
        check_last_block(turn)?;
    }
    if is_enabled { check_start(turns) } else { Ok(()) }
}

/// Whether thinking is on, always.
fn check_settings(body: &Value) -> Result<bool, String> {
    let thinking = &body["thinking"];
    let is_enabled = match (thinking, thinking["type"].as_str()) {
        (Value::Null, _) => return Ok(false),
        (_, Some("disabled")) => return Ok(false),
        (_, Some("adaptive" | "between_tools")) => false,
        (_, Some("enabled")) => true,
        (_, Some(kind)) => {
            return Err(format!(
                "thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'"
            ));
        }
        (_, None) => return Err("thinking.type: Field required".into()),
    };
    if is_enabled {
        let Some(budget) = thinking["budget_tokens"].as_u64() else {
            return Err("thinking.enabled.budget_tokens: Field required".into());
        };
        if budget < 1024 {
            return Err(
                "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
                    .into(),
            );
        }
        let is_interleaved = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let most = body["max_tokens"].as_u64();
        if most.is_some_and(|most| budget >= most) && !is_interleaved {
            return Err("`max_tokens` must be greater than `thinking.budget_tokens`".into());
        }
    }
    if body["temperature"].as_f64().is_some_and(|temperature| temperature != 1.0) {
        return Err("`temperature` may only be set to 1 when thinking is enabled".into());
    }
    if !body["top_k"].is_null() {
        return Err("`top_k` must be unset when thinking is enabled".into());
    }
    if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return Err("Thinking may not be enabled when tool_choice forces tool use.".into());
    }
    Ok(is_enabled)
}

fn check_block(place: &str, block: &Value, role: &str, is_latest: bool) -> Result<(), String> {
    let kind = block["type"].as_str().unwrap_or_default();
    let (text, proof, name) = match kind {
        "thinking" => (block["thinking"].as_str(), block["signature"].as_str(), "signature"),
        "redacted_thinking" => (Some(""), block["data"].as_str(), "data"),
        _ => return Ok(()),
    };
    if role != "assistant" {
        return Err(format!("{place}: `{kind}` blocks can only be in `assistant` messages"));
    }
    if !block["cache_control"].is_null() {
        return Err(format!("{place}.{kind}.cache_control: Extra inputs are not permitted"));
    }
    match signature::check(text.unwrap_or_default(), proof.unwrap_or_default()) {
        Verdict::Ours | Verdict::Foreign => Ok(()),
        Verdict::Altered if is_latest => Err(format!(
            "{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
        )),
        Verdict::Altered | Verdict::Empty => {
            Err(format!("{place}: Invalid `{name}` in `{kind}` block"))
        }
    }
}

fn check_last_block(turn: &Turn<'_>) -> Result<(), String> {
    if turn.role != "assistant" {
        return Ok(());
    }
    match turn.blocks.last() {
        Some((number, _, block)) if block["type"] == "thinking" => Err(format!(
            "messages.{number}: The final block in an assistant message cannot be `thinking`."
        )),
        _ => Ok(()),
    }
}

/// While tools run, the answer that called them begins with its thinking.
fn check_start(turns: &[Turn<'_>]) -> Result<(), String> {
    let [.., before, last] = turns else { return Ok(()) };
    let is_result = |(_, _, block): &(usize, usize, &Value)| block["type"] == "tool_result";
    let waits = last.role == "user" && !last.blocks.is_empty() && last.blocks.iter().all(is_result);
    let Some((number, at, first)) = before.blocks.first().filter(|_| waits) else { return Ok(()) };
    match first["type"].as_str() {
        Some("thinking" | "redacted_thinking") => Ok(()),
        kind => Err(format!(
            "messages.{number}.content.{at}.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).",
            kind.unwrap_or_default()
        )),
    }
}
