//! The model that subagents of the recordings had: scripts in place of thought.

use recto_agent::tool::AgentCall;
use recto_agent::tool::AgentDone;
use recto_agent::tool::AgentReport;
use recto_agent::tool::AgentRequest;
use recto_agent::tool::Session;
use recto_agent::tool::ToolCall;
use recto_agent::tool::ToolOutcome;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// What the recorded endpoint counted: a quarter of the request's bytes.
pub(super) fn tokens(text: &str) -> u64 {
    const AROUND: u64 = 80;
    let escaped = serde_json::to_string(text).map_or(0, |text| text.len() as u64 - 2);
    (escaped + AROUND) / 4
}

/// The steps that a prompt names.
pub(in crate::parity) fn steps(prompt: &str) -> Value {
    let text = |said: &str| json!([{"blocks": [{"t": "text", "text": said}]}]);
    if let Some((_, steps)) = prompt.split_once("LABJSON:") {
        let mut values = serde_json::Deserializer::from_str(steps).into_iter::<Value>();
        return values
            .next()
            .and_then(Result::ok)
            .map_or(Value::Null, |mut all| all["steps"].take());
    }
    if prompt.contains("LAB:subwork") {
        return json!([
            {"blocks": [
                {"t": "tool", "name": "Bash", "input": {"command": "echo from-subagent", "description": "Sub echo"}},
                {"t": "tool", "name": "Read", "input": {"file_path": "/home/dev/app/a.txt"}},
            ]},
            {"blocks": [{"t": "text", "text": "Subagent result: two tools used."}]},
        ]);
    }
    if prompt.contains("LAB:subtext") {
        return text("Subagent text only result.");
    }
    if prompt.contains("LAB:err400") {
        return json!([{"error": 400}]);
    }
    text("Default answer.")
}

pub(super) fn model_of(request: &AgentRequest) -> String {
    format!("claude-{}-5-5", request.model.as_deref().unwrap_or("opus"))
}

/// Runs a subagent by its script.
pub(super) async fn run(request: &AgentRequest, session: &Session) -> AgentReport {
    let mut calls = Vec::new();
    let mut report = AgentReport::Silent;
    let mut text = String::new();
    for step in steps(&request.prompt).as_array().into_iter().flatten() {
        if step.get("error").is_some() {
            return AgentReport::ApiError(format!(
                "API Error: 400 messages.1: this request is invalid (error type unknown, HTTP \
                 400, request id req_1, model sent to the API: {})",
                model_of(request)
            ));
        }
        let blocks = step["blocks"].as_array().cloned().unwrap_or_default();
        for block in blocks.iter().filter(|block| block["t"] == "tool") {
            calls.push(call(block, request, session).await);
        }
        // An answer without anything is no message, and the one before it counts.
        if blocks.is_empty() {
            continue;
        }
        let output = output_tokens(&blocks);
        let texts = blocks.iter().filter(|block| block["t"] == "text");
        if let Some(said) = texts.filter_map(|block| block["text"].as_str()).next_back() {
            text = said.to_owned();
        }
        report = AgentReport::Done(Box::new(AgentDone {
            text: text.clone(),
            model: model_of(request),
            calls: calls.clone(),
            usage: usage(output),
            tokens: 10 + 100 + 2000 + output,
            duration_ms: 0,
            worktree: None,
        }));
    }
    report
}

async fn call(block: &Value, request: &AgentRequest, session: &Session) -> AgentCall {
    let name = block["name"].as_str().unwrap_or_default().to_owned();
    let input = &block["input"];
    let call = ToolCall { id: "toolu_sub".into(), name: name.clone(), input: input.clone() };
    // Of a subagent below, only that it was called is modelled.
    if name == "Agent" {
        return AgentCall { tool: name, added: 0, removed: 0, is_known: true };
    }
    let agents = &session.offer.get().agents;
    let kind = agents.iter().find(|agent| agent.name == request.kind);
    let tools = kind.and_then(|kind| kind.tools.as_ref());
    let outcome = if tools.is_some_and(|tools| !tools.contains(&name)) {
        ToolOutcome::refused(format!("Error: No such tool available: {name}"))
    } else {
        match recto_agent::tool::prepare(call, session) {
            Ok(prepared) => prepared.run(session, &CancellationToken::new()).await,
            Err(outcome) => *outcome,
        }
    };
    AgentCall::of(&name, input, &outcome)
}

/// What the recorded endpoint counted for an answer.
pub(in crate::parity) fn output_tokens(blocks: &[Value]) -> u64 {
    20 + blocks.iter().map(|block| python_length(&spelled(block)) / 4).sum::<u64>()
}

/// A block as the endpoint sent it.
fn spelled(block: &Value) -> Value {
    match block["t"].as_str() {
        Some("text") => json!({"type": "text", "text": block["text"]}),
        Some("tool") => json!({
            "type": "tool_use",
            "id": format!("toolu_01{:022}", 0),
            "name": block["name"],
            "input": block["input"],
        }),
        _ => block.clone(),
    }
}

/// The length of JSON with blanks behind commas and colons, and nothing but ASCII in it.
fn python_length(value: &Value) -> u64 {
    let text = value.to_string();
    let escaped: usize =
        text.chars().map(|c| if c.is_ascii() { 1 } else { 6 * c.len_utf16() }).sum();
    escaped as u64 + blanks(value)
}

fn blanks(value: &Value) -> u64 {
    let between = |count: usize| count.saturating_sub(1) as u64;
    match value {
        Value::Object(fields) => {
            let inside: u64 = fields.values().map(blanks).sum();
            fields.len() as u64 + between(fields.len()) + inside
        }
        Value::Array(values) => between(values.len()) + values.iter().map(blanks).sum::<u64>(),
        _ => 0,
    }
}

fn usage(output: u64) -> Value {
    json!({
        "output_tokens_details": {"thinking_tokens": 0},
        "input_tokens": 10,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 2000,
        "output_tokens": output,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 100},
        "inference_geo": "not_available",
        "iterations": [],
        "speed": "standard",
        "fallback_credit": null,
    })
}
