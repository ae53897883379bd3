//! How a turn ended, for scripts.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::turn::AgentStats;
use crate::turn::End;
use crate::turn::Ended;
use crate::turn::ModelTotals;
use crate::turn::dollars;

/// The `result` line.
pub fn result_line(ended: &Ended, session: &str) -> Value {
    let mut line = Map::new();
    let mut set = |name: &str, value: Value| line.insert(name.to_owned(), value);
    set("type", "result".into());
    set("subtype", subtype(&ended.end).into());
    set("is_error", ended.is_error().into());
    set("duration_ms", milliseconds(ended.duration));
    set("duration_api_ms", milliseconds(ended.api));
    set("num_turns", ended.num_turns.into());
    set("stop_reason", stop_reason(ended));
    set("session_id", session.into());
    set("total_cost_usd", dollars(ended.cost).into());
    set("usage", usage(&ended.usage));
    set("modelUsage", models(&ended.models));
    set("permission_denials", ended.denials.clone().into());
    if let Some(reason) = terminal_reason(&ended.end) {
        set("terminal_reason", reason.into());
    }
    match &ended.end {
        End::MaxTurns(most) => {
            set("errors", json!([format!("Reached maximum number of turns ({most})")]))
        }
        End::Budget(budget) => {
            set("errors", json!([format!("Reached maximum budget (${budget})")]))
        }
        End::NoStructuredOutput => {
            set("errors", json!(["Failed to provide valid structured output after 5 attempts"]))
        }
        End::InterruptedText | End::InterruptedTools => {
            let stop = ended.stop_reason.as_deref().unwrap_or("null");
            set(
                "errors",
                json!([format!(
                    "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop}"
                )]),
            )
        }
        End::LogFailed(why) => set("errors", json!([why])),
        End::PromptBlocked(_) | End::Local(_) | End::Deferred(..) => {
            set("result", result_text(ended).into())
        }
        End::ApiError(_, failed) | End::PromptTooLong(_, failed) => {
            set("api_error_status", failed.status.into());
            if let Some(kind) = &failed.kind {
                set("api_error_type", kind.as_str().into());
            }
            if let Some(cause) = failed.cause {
                set("api_error", cause.into());
            }
            set("result", result_text(ended).into())
        }
        _ => {
            set("api_error_status", Value::Null);
            set("result", result_text(ended).into())
        }
    };
    if let Some(output) = &ended.structured_output {
        set("structured_output", output.clone());
    }
    if let End::Deferred(id, name, input) = &ended.end {
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        set("deferred_tool_use", json!({"id": id, "name": name, "input": input}));
    }
    if let End::Local(Some(name)) = &ended.end {
        set("local_command", name.as_str().into());
    }
    if let Some(first) = ended.prompts.first() {
        set("user_message_uuid", first.as_str().into());
        set("user_message_uuids", ended.prompts.clone().into());
        if let Some(usage) = ended.first_usage {
            let all = usage.input + usage.cache_read + usage.cache_write;
            set("request_sent_wall_ms", jiff::Timestamp::now().as_millisecond().into());
            set("first_request_input_tokens", all.into());
            set("first_request_cache_read_input_tokens", usage.cache_read.into());
        }
    }
    if let Some(origin) = &ended.origin {
        set("origin", origin.clone());
    }
    let is_cut = ended.is_error() || matches!(ended.end, End::Deferred(..));
    if let Some(first) = ended.first_event.filter(|_| !is_cut) {
        set("ttft_ms", milliseconds(first));
    }
    set("uuid", uuid::Uuid::new_v4().to_string().into());
    set("queued_turn_count", ended.queued.into());
    set("result_index", ended.index.into());
    set("model_usage_since_last_result", models(&ended.models_since));
    set("subagent_stats", agents(&ended.agents));
    set("safety_stops", ended.refusals.into());
    Value::Object(line)
}

/// The only line of a run that cannot start.
pub fn refused(why: &str, session: &str) -> Value {
    json!({
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "duration_api_ms": 0,
        "is_error": true,
        "num_turns": 0,
        "stop_reason": null,
        "session_id": session,
        "total_cost_usd": 0,
        "usage": usage(&ModelTotals::default()),
        "modelUsage": {},
        "permission_denials": [],
        "uuid": uuid::Uuid::new_v4().to_string(),
        "errors": [why],
        "result_index": 0,
    })
}

/// What is printed as text.
pub fn text_of(ended: &Ended) -> String {
    match &ended.end {
        End::MaxTurns(most) => format!("Error: Reached max turns ({most})"),
        End::Budget(budget) => format!("Error: Exceeded USD budget ({budget})"),
        End::NoStructuredOutput => {
            "Error: Failed to provide valid structured output after 5 attempts".to_owned()
        }
        End::InterruptedText | End::InterruptedTools => "Execution error".to_owned(),
        End::LogFailed(why) => format!("Error: {why}"),
        _ => result_text(ended),
    }
}

fn result_text(ended: &Ended) -> String {
    match (&ended.structured_output, &ended.end) {
        (Some(output), _) => output.to_string(),
        (None, End::PromptBlocked(text) | End::ApiError(text, _) | End::PromptTooLong(text, _)) => {
            text.clone()
        }
        (None, End::Deferred(..)) => String::new(),
        _ => ended.text.clone(),
    }
}

fn subtype(end: &End) -> &'static str {
    match end {
        End::MaxTurns(_) => "error_max_turns",
        End::Budget(_) => "error_max_budget_usd",
        End::NoStructuredOutput => "error_max_structured_output_retries",
        End::InterruptedText | End::InterruptedTools | End::LogFailed(_) => {
            "error_during_execution"
        }
        End::Completed
        | End::HookStopped
        | End::StopHookPrevented
        | End::Deferred(..)
        | End::PromptBlocked(_)
        | End::Local(_)
        | End::ApiError(..)
        | End::PromptTooLong(..) => "success",
    }
}

fn terminal_reason(end: &End) -> Option<&'static str> {
    Some(match end {
        End::Completed => "completed",
        End::HookStopped => "hook_stopped",
        End::StopHookPrevented => "stop_hook_prevented",
        End::Deferred(..) => "tool_deferred",
        End::ApiError(_, failed) if failed.status == Some(413) => "image_error",
        End::ApiError(..) => "api_error",
        End::PromptTooLong(..) => "prompt_too_long",
        End::MaxTurns(_) => "max_turns",
        End::Budget(_) => "budget_exhausted",
        End::NoStructuredOutput => "structured_output_retry_exhausted",
        End::InterruptedText => "aborted_streaming",
        End::InterruptedTools => "aborted_tools",
        End::PromptBlocked(_) | End::Local(_) | End::LogFailed(_) => return None,
    })
}

fn stop_reason(ended: &Ended) -> Value {
    match &ended.end {
        End::Deferred(..) => "tool_deferred".into(),
        End::InterruptedText | End::PromptBlocked(_) | End::Local(_) => Value::Null,
        _ => ended.stop_reason.clone().into(),
    }
}

fn agents(stats: &AgentStats) -> Value {
    json!({
        "spawned": stats.spawned,
        "requested": {
            "background": stats.asked_background,
            "foreground": stats.asked_foreground,
            "unset": stats.asked_nothing,
        },
        "started_in_background": stats.in_background,
        "max_depth": stats.max_depth,
        "spawned_by_subagents": stats.by_subagents,
        "completed": stats.completed,
        "failed": stats.failed,
        "killed": {"parent": 0, "user": stats.stopped, "system": 0},
        // Who may start none is not offered the tool, so nothing is refused.
        "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
        "by_type": stats.by_kind,
    })
}

fn milliseconds(time: std::time::Duration) -> Value {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).into()
}

fn usage(totals: &ModelTotals) -> Value {
    json!({
        "input_tokens": totals.input,
        "cache_creation_input_tokens": totals.cache_write,
        "cache_read_input_tokens": totals.cache_read,
        "output_tokens": totals.output,
        "output_tokens_details": {"thinking_tokens": totals.thinking},
        "server_tool_use": {
            "web_search_requests": totals.web_searches,
            "web_fetch_requests": totals.web_fetches,
        },
        "service_tier": "standard",
        "cache_creation": {
            "ephemeral_1h_input_tokens": totals.cache_write_1h,
            "ephemeral_5m_input_tokens": totals.cache_write.saturating_sub(totals.cache_write_1h),
        },
    })
}

fn models(models: &[(String, ModelTotals)]) -> Value {
    let of = |totals: &ModelTotals| {
        json!({
            "inputTokens": totals.input,
            "outputTokens": totals.output,
            "cacheReadInputTokens": totals.cache_read,
            "cacheCreationInputTokens": totals.cache_write,
            "webSearchRequests": totals.web_searches,
            "costUSD": dollars(totals.cost),
            "thinkingTokens": totals.thinking,
            "cacheCreationEphemeral5mInputTokens":
                totals.cache_write.saturating_sub(totals.cache_write_1h),
            "cacheCreationEphemeral1hInputTokens": totals.cache_write_1h,
        })
    };
    let all: Map<String, Value> =
        models.iter().map(|(name, totals)| (name.clone(), of(totals))).collect();
    Value::Object(all)
}
