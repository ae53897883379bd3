//! Permission questions, put to the host or to a tool of an MCP server.

use std::sync::Arc;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::ask::Question;
use super::super::ask::Reply;
use super::super::shared::Shared;
use crate::control::HostError;
use crate::control::HostLink;

/// More grants than this in one answer are a mistake.
const MOST_UPDATES: usize = 4096;

const WRONG_SHAPE: &str = "The canUseTool callback returned an invalid permission result. Expected {behavior: 'allow', updatedInput?: object} or {behavior: 'deny', message: string}. updatedPermissions may hold at most 4096 updates, rules and directories in all.";

/// Puts questions to the host until nobody asks any more.
pub(in crate::turn) async fn serve_host(link: HostLink, mut questions: mpsc::Receiver<Question>) {
    while let Some(mut question) = questions.recv().await {
        let link = link.clone();
        tokio::spawn(async move {
            let never = CancellationToken::new();
            let answer = tokio::select! {
                answer = link.ask(request(&question), None, &never) => answer,
                // The turn was interrupted.
                () = question.answer.closed() => return,
            };
            let reply = match answer {
                Ok(value) => read(&value),
                Err(HostError::Cancelled) => return,
                Err(error) => Reply::Failed(failure(&error)),
            };
            let _ = question.answer.send(reply);
        });
    }
}

/// Puts questions to a tool, which answers with a text of JSON.
pub(in crate::turn) async fn serve_tool(
    shared: Arc<Shared>,
    tool: String,
    mut questions: mpsc::Receiver<Question>,
) {
    while let Some(question) = questions.recv().await {
        let (shared, tool) = (Arc::clone(&shared), tool.clone());
        tokio::spawn(async move {
            let input = json!({
                "tool_name": question.tool,
                "input": question.input,
                "tool_use_id": question.id,
            });
            let answer = match shared.servers.tool(&tool) {
                Some(known) => shared.servers.call(&known, &input, &question.id).await,
                None => Err(format!("there is no MCP tool {tool}")),
            };
            let reply = match answer {
                Ok(result) => {
                    let text = result["content"][0]["text"].as_str().unwrap_or_default();
                    read(&serde_json::from_str(text).unwrap_or_default())
                }
                Err(why) => Reply::Failed(format!("Tool permission request failed: Error: {why}")),
            };
            let _ = question.answer.send(reply);
        });
    }
}

/// An answer, as hosts and tools spell it.
fn read(value: &Value) -> Reply {
    let updates = value["updatedPermissions"].as_array().cloned().unwrap_or_default();
    match value["behavior"].as_str() {
        Some("allow") if updates.len() <= MOST_UPDATES => Reply::Allow {
            updated_input: value.get("updatedInput").filter(|input| input.is_object()).cloned(),
            updated_permissions: updates,
        },
        Some("deny") if value["message"].is_string() => Reply::Deny {
            message: value["message"].as_str().unwrap_or_default().to_owned(),
            interrupt: value["interrupt"] == true,
        },
        _ => Reply::Failed(WRONG_SHAPE.to_owned()),
    }
}

/// The request, as SDKs read it.
fn request(question: &Question) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("subtype", "can_use_tool".into());
    set("tool_name", question.tool.as_str().into());
    let server = question.server.as_ref();
    if let Some((name, source)) = server {
        set("mcp_server", json!({"name": name, "source": source}));
    }
    set("display_name", tool_title(&question.tool).into());
    set("input", question.input.clone());
    if let Some(about) = about(question) {
        set("description", about.into());
    }
    if !question.suggestions.is_empty() {
        set("permission_suggestions", question.suggestions.clone().into());
    }
    if let Some(path) = &question.blocked_path {
        set("blocked_path", path.display().to_string().into());
    }
    let is_dialog = matches!(question.tool.as_str(), "ExitPlanMode" | "AskUserQuestion");
    let (kind, reason) = &question.reason;
    if let Some(reason) = reason {
        set("decision_reason", reason.as_str().into());
    }
    if let Some(kind) = kind.filter(|_| !is_dialog) {
        set("decision_reason_type", kind.into());
        if kind == "hook" {
            set("decision_reason_hook_event", "PreToolUse".into());
            set("decision_reason_hook_source", "settings".into());
        }
    }
    if kind.is_none() && question.blocked_path.is_none() && !is_dialog {
        set("server_policy_ask_only", true.into());
    }
    set("tool_use_id", question.id.as_str().into());
    if let Some(agent) = &question.agent {
        set("agent_id", agent.as_str().into());
    }
    if is_dialog {
        set("requires_user_interaction", true.into());
    }
    Value::Object(fields)
}

/// What a tool is called in a dialog: tools of servers by their own names.
pub fn tool_title(tool: &str) -> String {
    let Some(own) = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) else {
        return tool.to_owned();
    };
    let mut name = String::new();
    for word in own.1.split(['_', '-']).filter(|word| !word.is_empty()) {
        if !name.is_empty() {
            name.push(' ');
        }
        let mut letters = word.chars();
        name.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        name.push_str(letters.as_str());
    }
    name
}

/// What the call is about, in a few words.
fn about(question: &Question) -> Option<String> {
    let text = |name: &str| question.input.get(name).and_then(Value::as_str);
    match question.tool.as_str() {
        "Bash" => text("description").map(str::to_owned),
        "Read" | "Write" | "Edit" | "NotebookEdit" => {
            let path = text("file_path").or_else(|| text("notebook_path"))?;
            let path = std::path::Path::new(path);
            let shown = path.strip_prefix(&question.cwd).unwrap_or(path);
            Some(shown.display().to_string())
        }
        "WebFetch" => text("url").map(str::to_owned),
        _ => None,
    }
}

/// The text for the model when the question could not be asked.
fn failure(error: &HostError) -> String {
    match error {
        HostError::Closed => "Tool permission request failed: AbortError: Tool permission stream closed before response received".to_owned(),
        error => format!("Tool permission request failed: Error: {error}"),
    }
}
