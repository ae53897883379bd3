//! Tools of MCP servers: what their answers become.
//!
//! Owns: the result of a call. Servers themselves are the loop's.

use std::fs;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::host::HostRequest;
use super::offer::McpTool;
use super::outcome::ToolOutcome;
use super::overflow;

/// Texts of more tokens go to a file.
const MOST_TOKENS: u64 = 25_000;

pub(super) async fn run(call: &Call<'_>, tool: &McpTool) -> ToolOutcome {
    let ask = |answer| HostRequest::CallMcp {
        tool: Box::new(tool.clone()),
        tool_use: call.id.to_owned(),
        input: call.input.clone(),
        answer,
    };
    let answer = tokio::select! {
        answer = call.session.host.ask(ask) => answer,
        () = call.cancel.cancelled() => None,
    };
    let result = match answer {
        Some(Ok(result)) => result,
        Some(Err(error)) => return ToolOutcome::failed(error),
        None => {
            return ToolOutcome::failed(format!("MCP server \"{}\" did not answer.", tool.server));
        }
    };
    let contents = result.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    if result.get("isError") == Some(&json!(true)) {
        return failed(call, tool, &contents);
    }
    if let Some(structured) = result.get("structuredContent").filter(|value| !value.is_null()) {
        let text = structured.to_string();
        let mut outcome = ToolOutcome::text(text.clone(), json!(text));
        outcome.line.insert("mcpMeta".into(), json!({"structuredContent": structured}));
        return fitted(call, (&tool.server, &tool.tool), outcome).await;
    }
    let mut blocks = Vec::new();
    for content in &contents {
        blocks.extend(converted(call, tool, content));
    }
    let structured = Value::Array(blocks.clone());
    fitted(call, (&tool.server, &tool.tool), ToolOutcome::blocks(blocks, structured)).await
}

fn failed(call: &Call<'_>, tool: &McpTool, contents: &[Value]) -> ToolOutcome {
    let texts: Vec<&str> =
        contents.iter().filter_map(|content| content.get("text")?.as_str()).collect();
    let text = if texts.is_empty() { "Unknown error".to_owned() } else { texts.join("\n") };
    let name = tool.name();
    let is_deferred = call.session.offer.get().deferred.iter().any(|one| one.name == name)
        && !call.session.state().loaded.contains(&name);
    let mut outcome = ToolOutcome::failed(text.clone());
    if is_deferred {
        outcome.content = super::outcome::Content::Text(format!(
            "{text}\n\nThis tool's input schema was not in your prompt when you called it. The \
             input schema is: {}\nIf your input does not match this schema, correct it and call \
             the tool again. If it matches, the error above has another cause. If the corrected \
             call fails the same way, call ToolSearch with query \"select:{name}\" to load the \
             tool, then call it again.",
            tool.schema
        ));
    }
    outcome
}

/// A content of a server as blocks of the API.
fn converted(call: &Call<'_>, tool: &McpTool, content: &Value) -> Vec<Value> {
    let text = |name: &str| content.get(name).and_then(Value::as_str);
    let server = &tool.server;
    match text("type") {
        Some("text") => vec![json!({"type": "text", "text": text("text").unwrap_or_default()})],
        Some("image") => image(call, server, text("data"), text("mimeType")),
        Some("resource") => {
            let resource = content.get("resource").cloned().unwrap_or_default();
            let part = |name: &str| resource.get(name).and_then(Value::as_str);
            let from = format!("[Resource from {server} at {}] ", part("uri").unwrap_or_default());
            match (part("text"), part("blob")) {
                (Some(text), _) => vec![json!({"type": "text", "text": format!("{from}{text}")})],
                (None, blob) if part("mimeType").is_some_and(|kind| kind.starts_with("image/")) => {
                    let mut blocks = vec![json!({"type": "text", "text": from})];
                    blocks.extend(image(call, server, blob, part("mimeType")));
                    blocks
                }
                (None, _) => vec![json!({"type": "text", "text": from})],
            }
        }
        Some("resource_link") => {
            let name = text("name").unwrap_or_default();
            let uri = text("uri").unwrap_or_default();
            let about = text("description").map_or_else(String::new, |about| format!(" ({about})"));
            vec![json!({"type": "text", "text": format!("[Resource link: {name}] {uri}{about}")})]
        }
        _ => vec![json!({"type": "text", "text": content.to_string()})],
    }
}

fn image(call: &Call<'_>, server: &str, data: Option<&str>, kind: Option<&str>) -> Vec<Value> {
    let (data, kind) = (data.unwrap_or_default(), kind.unwrap_or("image/png"));
    let mut blocks = vec![json!({
        "type": "image",
        "source": {"type": "base64", "media_type": kind, "data": data},
    })];
    let places = &call.session.places;
    let end: String = kind
        .rsplit('/')
        .next()
        .unwrap_or("png")
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let server = file_name(server);
    let name = format!("mcp-{server}-blob-{}.{end}", call.session.ids.temporary());
    let file = places.results().join(name);
    let saved = BASE64_STANDARD.decode(data).ok().filter(|bytes| {
        fs::create_dir_all(places.results()).is_ok() && fs::write(&file, bytes).is_ok()
    });
    if saved.is_some() {
        let text = format!("[Image: source: {}]", file.display());
        blocks.push(json!({"type": "text", "text": text}));
    }
    blocks
}

/// A name of a server or its tool as part of the name of a file.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(safe).collect()
}

/// The same outcome, or where it was put if it is too large.
pub(super) async fn fitted(
    call: &Call<'_>,
    (server, tool): (&str, &str),
    outcome: ToolOutcome,
) -> ToolOutcome {
    let text = outcome.content.text();
    if text.len() as u64 <= MOST_TOKENS || call.session.count_tokens(&text).await <= MOST_TOKENS {
        return outcome;
    }
    let (server, name) = (file_name(server), file_name(tool));
    let name = format!("mcp-{server}-{name}-{}", call.session.ids.temporary());
    let Ok(kept) = overflow::keep_text(call.session, &text, &name) else { return outcome };
    let told = format!(
        "Error: result ({} characters across {} lines) exceeds maximum allowed tokens. Output has \
         been saved to {}.\nFormat: Plain text\nRead it in parts with offset and limit, or search \
         it; say which parts you did not read.",
        grouped(text.encode_utf16().count()),
        grouped(text.lines().count()),
        kept.display()
    );
    let mut short = ToolOutcome::text(told.clone(), json!(told));
    short.line = outcome.line;
    short
}

/// A number with commas between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
