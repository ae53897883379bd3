//! What a surface is told about subagents: that one starts, and how it ended.

use serde_json::Value;
use serde_json::json;

use super::super::event::TurnEvent;
use super::super::shared::Shared;
use super::AgentStart;
use crate::tool::AgentReport;
use crate::tool::AgentRequest;

fn system(subtype: &str, fields: Value) -> TurnEvent {
    let mut line = json!({"type": "system", "subtype": subtype});
    if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
        line.extend(fields);
    }
    TurnEvent::System(line)
}

/// A subagent starts.
pub(super) async fn tell_started(shared: &Shared, request: &AgentRequest, how: &AgentStart) {
    let mut started = json!({
        "task_id": request.id,
        "run_id": request.run,
        "tool_use_id": request.tool_use,
        "description": request.description,
        "subagent_type": request.kind,
        "is_backgrounded": how.is_background,
        "spawn_depth": how.depth(),
    });
    if let Some(parent) = &how.above.agent {
        started["parent_task_id"] = parent.as_str().into();
    }
    started["task_type"] = "local_agent".into();
    started["prompt"] = request.prompt.as_str().into();
    shared.events.send(system("task_started", started)).await;
}

/// A subagent ended; without a report it was stopped.
pub(super) async fn tell_ended(
    shared: &Shared,
    request: &AgentRequest,
    report: Option<&AgentReport>,
) {
    let error;
    let (status, patched, summary) = match report {
        Some(AgentReport::Done(done)) => ("completed", "completed", done.text.as_str()),
        Some(AgentReport::Silent) => ("failed", "failed", ""),
        Some(AgentReport::ApiError(why)) => {
            error = format!("Agent terminated early due to an API error: {why}");
            ("failed", "failed", error.as_str())
        }
        Some(AgentReport::Refused(why)) => ("failed", "failed", why.as_str()),
        None => ("stopped", "killed", ""),
    };
    let time = jiff::Timestamp::now().as_millisecond();
    let mut updated = json!({
        "task_id": request.id,
        "run_id": request.run,
        "patch": {"status": patched, "end_time": time},
    });
    if matches!(report, Some(AgentReport::ApiError(_))) {
        updated["patch"]["error"] = summary.into();
    }
    shared.events.send(system("task_updated", updated)).await;
    let mut notification = json!({
        "task_id": request.id,
        "run_id": request.run,
        "tool_use_id": request.tool_use,
        "status": status,
        "output_file": shared.places.tasks().join(format!("{}.output", request.id)),
        "summary": summary,
    });
    if let Some(AgentReport::Done(done)) = report {
        notification["usage"] = json!({
            "total_tokens": done.tokens,
            "tool_uses": done.calls.len(),
            "duration_ms": done.duration_ms,
        });
    }
    shared.events.send(system("task_notification", notification)).await;
}
