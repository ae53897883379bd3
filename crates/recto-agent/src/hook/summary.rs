//! What is told about hooks that ran: the `stop_hook_summary` line at the end of a turn, lines of
//! a JSON stream, and sentences about compaction and the end of a session.

use serde_json::Value;
use serde_json::json;

use crate::hook::answer::Answer;
use crate::hook::answer::Label;
use crate::hook::answer::Ran;
use crate::hook::effect::Outcome;

/// The fields of the line, without those that all lines have.
pub fn stop_summary(ran: &[Ran], answer: &Answer, id: &str) -> Value {
    let infos: Vec<Value> = ran
        .iter()
        .map(|hook| match hook.effect.outcome {
            // What left with 2 is timed if it printed an object besides.
            Outcome::Block { by_json, .. } if by_json || !hook.effect.is_object => {
                json!({ "command": hook.command })
            }
            _ if hook.is_callback => json!({ "command": hook.command }),
            _ => json!({ "command": hook.command, "durationMs": u64::try_from(hook.duration.as_millis()).unwrap_or(u64::MAX) }),
        })
        .collect();
    let errors: Vec<&str> = ran
        .iter()
        .filter_map(|hook| match &hook.effect.outcome {
            Outcome::Block { message, .. } => Some(message.as_str()),
            Outcome::Failed { stderr, .. } => Some(stderr.as_str()),
            _ => None,
        })
        .collect();
    let has_output = ran
        .iter()
        .any(|hook| !matches!(hook.effect.outcome, Outcome::Silent | Outcome::Cancelled { .. }));
    json!({
        "subtype": "stop_hook_summary",
        "hookCount": ran.len(),
        "hookInfos": infos,
        "hookErrors": errors,
        "hookAdditionalContext": answer.contexts,
        "preventedContinuation": answer.stop.is_some(),
        "stopReason": answer.stop.as_deref().unwrap_or_default(),
        "hasOutput": has_output,
        "level": "suggestion",
        "toolUseID": id,
    })
}

/// The line of a JSON stream when a hook starts.
pub fn started_line(label: Label<'_>, hook: &str) -> Value {
    json!({
        "type": "system",
        "subtype": "hook_started",
        "hook_id": hook,
        "hook_name": label.name(),
        "hook_event": label.event.name(),
    })
}

/// The line of a JSON stream when a hook has ended.
pub fn response_line(label: Label<'_>, ran: &Ran, hook: &str) -> Value {
    // What cannot be used is complained about in the program's place.
    let unusable = match &ran.effect.outcome {
        Outcome::Failed { stderr, .. } if stderr.starts_with("Hook ") => Some(stderr),
        _ => None,
    };
    let stderr = unusable.unwrap_or(&ran.stderr);
    let outcome = match ran.effect.outcome {
        Outcome::Cancelled { .. } => "cancelled",
        _ if unusable.is_some() => "error",
        _ if ran.code == 0 => "success",
        _ => "error",
    };
    json!({
        "type": "system",
        "subtype": "hook_response",
        "hook_id": hook,
        "hook_name": label.name(),
        "hook_event": label.event.name(),
        "output": format!("{}{}", ran.stdout, ran.stderr),
        "stdout": ran.stdout,
        "stderr": stderr,
        "exit_code": ran.code,
        "outcome": outcome,
    })
}

/// What hooks of `PreCompact` add to the instructions of a compaction.
pub fn compaction_instructions(ran: &[Ran]) -> Vec<&str> {
    let printed = ran.iter().filter(|hook| matches!(hook.effect.outcome, Outcome::Success { .. }));
    printed.map(|hook| hook.stdout.trim()).filter(|text| !text.is_empty()).collect()
}

/// What the user is told about hooks of a compaction that goes on or is over.
pub fn compaction_report(label: Label<'_>, ran: &[Ran]) -> Vec<String> {
    let event = label.event.name();
    let told = |hook: &Ran| {
        let (verb, text) = match &hook.effect.outcome {
            Outcome::Silent => return None,
            Outcome::Success { .. } => ("completed successfully", hook.stdout.trim().to_owned()),
            // It is too late to block anything.
            Outcome::Block { reason, by_json: true, .. } => {
                let printed = || hook.stdout.trim().to_owned();
                ("completed successfully", reason.clone().unwrap_or_else(printed))
            }
            Outcome::Block { .. } | Outcome::Failed { .. } | Outcome::Cancelled { .. } => {
                ("failed", complaint(hook)?)
            }
        };
        let text = if text.is_empty() { String::new() } else { format!(": {text}") };
        let nothing = text.is_empty() && hook.stderr.trim().is_empty();
        (!nothing).then(|| format!("{event} [{}] {verb}{text}", hook.command))
    };
    ran.iter().filter_map(told).collect()
}

/// Why hooks of `PreCompact` forbid a compaction.
pub fn compaction_refusal(ran: &[Ran]) -> Option<String> {
    let reasons: Vec<String> = ran
        .iter()
        .filter_map(|hook| match &hook.effect.outcome {
            Outcome::Block { reason, .. } => {
                let reason = reason.as_deref().map(str::trim).filter(|text| !text.is_empty());
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                Some(format!("[{}]{reason}", hook.command))
            }
            _ => None,
        })
        .collect();
    let reasons = Some(reasons.join("\n")).filter(|reasons| !reasons.is_empty())?;
    Some(format!("Compaction blocked by PreCompact hook: {reasons}"))
}

/// What hooks of `SessionEnd` complain about, for standard error.
pub fn session_end_failures(ran: &[Ran]) -> Vec<String> {
    let told = |hook: &Ran| {
        let why = complaint(hook)?;
        Some(format!("SessionEnd hook [{}] failed: {why}", hook.command))
    };
    ran.iter().filter_map(told).collect()
}

/// What a hook that failed complains about, if it says anything.
fn complaint(hook: &Ran) -> Option<String> {
    let said = Some(hook.stderr.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    match &hook.effect.outcome {
        Outcome::Silent | Outcome::Success { .. } => None,
        Outcome::Cancelled { .. } => Some("Hook cancelled".to_owned()),
        // What it printed cannot be used.
        Outcome::Failed { stderr, .. }
            if !stderr.starts_with("Failed with non-blocking status code") =>
        {
            Some(stderr.clone())
        }
        Outcome::Failed { .. } => said,
        Outcome::Block { by_json, .. } => said.filter(|_| !by_json),
    }
}
