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
    let outcome = match ran.effect.outcome {
        Outcome::Cancelled { .. } => "cancelled",
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
        "stderr": ran.stderr,
        "exit_code": ran.code,
        "outcome": outcome,
    })
}

/// What hooks of `PreCompact` add to the instructions of a compaction.
pub fn compaction_instructions(ran: &[Ran]) -> Vec<&str> {
    let printed = ran.iter().filter(|hook| matches!(hook.effect.outcome, Outcome::Success { .. }));
    printed.map(|hook| hook.stdout.trim()).filter(|text| !text.is_empty()).collect()
}

/// What the user is told about hooks of a compaction.
pub fn compaction_report(label: Label<'_>, ran: &[Ran]) -> Vec<String> {
    let event = label.event.name();
    ran.iter()
        .filter_map(|hook| {
            let command = &hook.command;
            match &hook.effect.outcome {
                Outcome::Success { .. } if hook.stdout.trim().is_empty() => None,
                Outcome::Success { .. } => {
                    let text = hook.stdout.trim();
                    Some(format!("{event} [{command}] completed successfully: {text}"))
                }
                Outcome::Failed { stderr, .. } => {
                    let prefix = "Failed with non-blocking status code: ";
                    let text = stderr.strip_prefix(prefix).unwrap_or(stderr);
                    Some(format!("{event} [{command}] failed: {text}"))
                }
                Outcome::Silent | Outcome::Block { .. } | Outcome::Cancelled { .. } => None,
            }
        })
        .collect()
}

/// Why hooks of `PreCompact` forbid a compaction.
pub fn compaction_refusal(answer: &Answer) -> Option<String> {
    let block = answer.block.as_ref()?;
    // What was left with 2 names its command already.
    let why = match (block.by_json, &block.reason) {
        (true, _) => format!("[{}]: {}", block.command, block.message),
        (false, Some(_)) => block.message.clone(),
        (false, None) => format!("[{}]", block.command),
    };
    Some(format!("Compaction blocked by PreCompact hook: {why}"))
}

/// What hooks of `SessionEnd` complain about, for standard error.
pub fn session_end_failures(ran: &[Ran]) -> Vec<String> {
    let failed = ran.iter().filter(|hook| {
        matches!(hook.effect.outcome, Outcome::Failed { .. } | Outcome::Block { .. })
    });
    failed
        .map(|hook| format!("SessionEnd hook [{}] failed: {}", hook.command, hook.stderr.trim()))
        .collect()
}
