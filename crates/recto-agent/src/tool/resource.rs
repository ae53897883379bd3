//! `ListMcpResourcesTool` and `ReadMcpResourceTool`: what MCP servers have to read.

use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::host::HostRequest;
use super::mcp::fitted;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const LIST_ABOUT: &str = "Lists the resources of MCP servers: addresses, names and \
types.";

pub(super) const LIST: Schema =
    Schema::closed(&[Field::optional("server", Kind::String, "Only those of this server")]);

pub(super) const READ_ABOUT: &str = "Reads a resource of an MCP server.";

pub(super) const READ: Schema = Schema::closed(&[
    Field::required("server", Kind::String, "The server that has it"),
    Field::required("uri", Kind::String, "Its address"),
]);

pub(super) async fn list(call: &Call<'_>) -> ToolOutcome {
    let server = call.optional("server").map(str::to_owned);
    match ask(call, server, None).await {
        Ok(resources) if resources == json!([]) => {
            ToolOutcome::text("No resources found: the servers have none.", resources)
        }
        Ok(resources) => fit(call, resources).await,
        Err(why) => ToolOutcome::failed(why),
    }
}

pub(super) async fn read(call: &Call<'_>) -> ToolOutcome {
    let server = Some(call.text("server").to_owned());
    match ask(call, server, Some(call.text("uri").to_owned())).await {
        Ok(mut read) => {
            for content in read["contents"].as_array_mut().into_iter().flatten() {
                // A model has no use for bytes in letters.
                if let Some(blob) = content.get("blob").and_then(Value::as_str) {
                    let bytes = blob.len() / 4 * 3;
                    content["blob"] = format!("[about {bytes} bytes, not shown]").into();
                }
            }
            fit(call, json!({"contents": read["contents"]})).await
        }
        Err(why) => ToolOutcome::failed(why),
    }
}

async fn fit(call: &Call<'_>, value: Value) -> ToolOutcome {
    let outcome = ToolOutcome::text(value.to_string(), value);
    fitted(call, ("resource", call.text("server")), outcome).await
}

async fn ask(
    call: &Call<'_>,
    server: Option<String>,
    uri: Option<String>,
) -> Result<Value, String> {
    let ask = |answer| HostRequest::Resources { server, uri, answer };
    let answer = tokio::select! {
        answer = call.session.host.ask(ask) => answer,
        () = call.cancel.cancelled() => None,
    };
    answer.unwrap_or_else(|| Err("No MCP server answered.".to_owned()))
}
