//! Tools of MCP servers: what their answers become.
//!
//! Owns: the result of a call. Servers themselves are the loop's.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use serde_json::json;

use super::bash::cut_middle;
use super::context::Call;
use super::host::HostRequest;
use super::offer::McpTool;
use super::outcome::Content;
use super::outcome::ToolOutcome;
use super::overflow;
use super::path;
use super::read;

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
    let text = cut_middle(text.trim_end());
    let mut outcome = ToolOutcome::failed(text.clone());
    // Once is enough.
    if call.session.has_deferred(&name) && call.session.state().explained.insert(name.clone()) {
        outcome.content = Content::Text(format!(
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
        Some("audio") => {
            let data = text("data").unwrap_or_default();
            let kept = kept_binary(call, server, data, text("mimeType"));
            vec![json!({"type": "text", "text": format!("[Audio from {server}] {kept}")})]
        }
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
                (None, Some(blob)) => {
                    let kept = kept_binary(call, server, blob, part("mimeType"));
                    vec![json!({"type": "text", "text": format!("{from}{kept}")})]
                }
                (None, None) => vec![json!({"type": "text", "text": from})],
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

/// Types of images that endpoints take.
const SHOWN_IMAGES: [&str; 5] = ["image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"];

fn image(call: &Call<'_>, server: &str, data: Option<&str>, kind: Option<&str>) -> Vec<Value> {
    let (data, kind) = (data.unwrap_or_default(), kind.unwrap_or("image/png"));
    let text = |text: String| json!({"type": "text", "text": text});
    if !SHOWN_IMAGES.contains(&kind) {
        let kept = kept_binary(call, server, data, Some(kind));
        return vec![text(format!("[Image from {server}] {kept}"))];
    }
    let bytes = BASE64_STANDARD.decode(data).unwrap_or_default();
    // What it is counts, and not what it is called.
    let known = read::image::sized_type(&bytes);
    let kept = keep(call, server, &bytes, known.unwrap_or(kind));
    let Some(known) = known else {
        let mut blocks =
            vec![text(format!("[Image could not be processed: {}]", read::image::NO_SIZE))];
        blocks.extend(kept.map(|file| text(format!("[Image source: {}]", file.display()))));
        return blocks;
    };
    let mut blocks = vec![json!({
        "type": "image",
        "source": {"type": "base64", "media_type": known, "data": data},
    })];
    blocks.extend(kept.map(|file| text(format!("[Image: source: {}]", file.display()))));
    blocks
}

/// Where bytes were put that no model reads.
fn kept_binary(call: &Call<'_>, server: &str, data: &str, kind: Option<&str>) -> String {
    let Ok(bytes) = BASE64_STANDARD.decode(data) else {
        return "Binary content that is not valid base64".to_owned();
    };
    let about = format!(
        "Binary content ({}, {})",
        kind.unwrap_or("unknown type"),
        path::size(bytes.len() as u64)
    );
    match keep(call, server, &bytes, kind.unwrap_or_default()) {
        Some(file) => format!("{about} saved to {}", file.display()),
        None => format!("{about} could not be saved"),
    }
}

fn keep(call: &Call<'_>, server: &str, bytes: &[u8], kind: &str) -> Option<PathBuf> {
    let directory = call.session.places.results();
    let number = call.session.ids.temporary();
    let file =
        directory.join(format!("mcp-{}-blob-{number}.{}", file_name(server), extension(kind)));
    fs::create_dir_all(&directory).ok()?;
    fs::write(&file, bytes).ok()?;
    Some(file)
}

/// How the name of a file ends that holds bytes of a type.
fn extension(kind: &str) -> &'static str {
    const KNOWN: [(&str, &str); 22] = [
        ("application/json", "json"),
        ("application/pdf", "pdf"),
        ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
        ("application/zip", "zip"),
        ("audio/mpeg", "mp3"),
        ("audio/ogg", "ogg"),
        ("audio/wav", "wav"),
        ("image/gif", "gif"),
        ("image/jpeg", "jpg"),
        ("image/jpg", "jpg"),
        ("image/png", "png"),
        ("image/svg+xml", "svg"),
        ("image/webp", "webp"),
        ("text/csv", "csv"),
        ("text/html", "html"),
        ("text/markdown", "md"),
        ("text/plain", "txt"),
        ("video/mp4", "mp4"),
        ("video/quicktime", "mov"),
        ("video/webm", "webm"),
    ];
    let kind = kind.split(';').next().unwrap_or_default().trim();
    KNOWN.iter().find(|(known, _)| *known == kind).map_or("bin", |(_, end)| end)
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
    let (text, format, lines) = match &outcome.content {
        Content::Blocks(blocks) if blocks.len() > 1 && are_texts(blocks) => {
            let text = serde_json::to_string_pretty(blocks).unwrap_or_default();
            (text, "JSON array with schema: [{type: string, text: string}]", String::new())
        }
        content => {
            let text = content.text();
            let count = text.lines().count();
            let noun = if count == 1 { "line" } else { "lines" };
            let lines = format!(" across {} {noun}", grouped(count));
            (text, "Plain text", lines)
        }
    };
    if text.len() as u64 <= MOST_TOKENS || call.session.count_tokens(&text).await <= MOST_TOKENS {
        let kept = match &outcome.content {
            Content::Blocks(blocks) => overflow::keep_long_blocks(call.session, blocks, call.id),
            Content::Text(_) => None,
        };
        let content = kept.map_or(outcome.content, Content::Text);
        return ToolOutcome { content, ..outcome };
    }
    let (server, name) = (file_name(server), file_name(tool));
    let name = format!("mcp-{server}-{name}-{}", call.session.ids.temporary());
    let Ok(kept) = overflow::keep_text(call.session, &text, &name) else { return outcome };
    let told = format!(
        "Error: result ({} characters{lines}) exceeds maximum allowed tokens. Output has been \
         saved to {}.\nFormat: {format}\nRead it in parts with offset and limit, or search it; say \
         which parts you did not read.",
        grouped(text.encode_utf16().count()),
        kept.display()
    );
    let mut short = ToolOutcome::text(told.clone(), json!(told));
    short.line = outcome.line;
    short
}

fn are_texts(blocks: &[Value]) -> bool {
    blocks.iter().all(|block| block.get("type").and_then(Value::as_str) == Some("text"))
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
