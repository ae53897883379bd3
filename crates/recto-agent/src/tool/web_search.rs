//! `WebSearch`: the search tool of the endpoint, where it has one.

use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::host::HostRequest;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const ABOUT: &str = "Searches the web, on endpoints that can.";

const DOMAINS: Kind = Kind::Array { of: &Kind::String, min: 0, max: usize::MAX };

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("query", Kind::Text { min: 2 }, "What to look for"),
    Field::optional("allowed_domains", DOMAINS, "Only results from these"),
    Field::optional("blocked_domains", DOMAINS, "No results from these"),
]);

fn has(call: &Call<'_>, name: &str) -> bool {
    call.input.get(name).and_then(Value::as_array).is_some_and(|domains| !domains.is_empty())
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    if has(call, "allowed_domains") && has(call, "blocked_domains") {
        return Err(ToolOutcome::refused(
            "Error: Cannot specify both allowed_domains and blocked_domains in the same request",
        ));
    }
    Ok(())
}

/// What the endpoint is told of its own tool.
#[must_use]
pub fn server_tool(input: &Value) -> Value {
    let mut tool = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 8});
    if let Some(tool) = tool.as_object_mut() {
        for name in ["allowed_domains", "blocked_domains"] {
            if let Some(domains) = input.get(name) {
                tool.insert(name.to_owned(), domains.clone());
            }
        }
    }
    tool
}

pub(super) async fn run(call: &Call<'_>) -> ToolOutcome {
    let query = call.text("query");
    let began = std::time::Instant::now();
    let ask = |answer| HostRequest::SearchWeb { input: call.input.clone(), answer };
    let blocks = tokio::select! {
        blocks = call.session.host.ask(ask) => blocks,
        () = call.cancel.cancelled() => None,
    };
    let blocks = match blocks {
        Some(Ok(blocks)) => blocks,
        Some(Err(why)) => return ToolOutcome::failed(why),
        None => return ToolOutcome::failed("This session cannot search the web."),
    };
    let mut text = format!("Web search results for query: \"{query}\"\n");
    let mut results = Vec::new();
    for block in &blocks {
        if let Some(said) = block.get("text").and_then(Value::as_str) {
            text += &format!("\n{said}\n");
            results.push(json!(said));
        } else if let Some(found) = block.get("content").and_then(Value::as_array) {
            let links: Vec<Value> = found
                .iter()
                .map(|link| json!({"title": link.get("title"), "url": link.get("url")}))
                .collect();
            text += &format!("\nLinks: {}\n", Value::Array(links.clone()));
            results.push(json!({"tool_use_id": block.get("tool_use_id"), "content": links}));
        }
    }
    text += "\n\nREMINDER: You MUST include the sources above in your response to the user using \
             markdown hyperlinks.";
    let is_search = |block: &&Value| block.get("type") == Some(&json!("server_tool_use"));
    let structured = json!({
        "query": query,
        "results": results,
        "durationSeconds": began.elapsed().as_secs_f64(),
        "searchCount": blocks.iter().filter(is_search).count(),
    });
    ToolOutcome::text(text, structured)
}
