//! Which MCP servers and subagents a run has.

use std::path::Path;

use recto_agent::mcp::ServerConfig;
use recto_agent::settings::Settings;
use recto_agent::settings::Source;
use recto_agent::tool::AgentType;
use recto_agent::tool::agents_of;
use serde_json::Value;

use super::Refused;
use crate::commands::run::RunOptions;
use crate::environment::Environment;
use crate::select::file_path;
use crate::terminal::output::remark;
use crate::terminal::text::one_line;

/// Servers of the options, then those of the project that the user approved.
pub(super) fn servers(
    environment: &Environment,
    options: &RunOptions,
    settings: &Settings,
    project: &Path,
    reads_project: bool,
) -> Result<Vec<ServerConfig>, Refused> {
    let variable = |name: &str| environment.variable(name);
    let bad = |why: String| Refused::Usage(format!("Error: Invalid MCP configuration:\n{why}"));
    let mut servers: Vec<ServerConfig> = Vec::new();
    for text in &options.mcp_config {
        let value = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text).map_err(|error| bad(error.to_string()))?,
            false => {
                let path = project.join(text);
                if !file_path::exists(&path) {
                    return Err(bad(format!("MCP config file not found: {}", path.display())));
                }
                let bytes = recto_store::read_small(&path)?;
                serde_json::from_slice::<Value>(&bytes).map_err(|error| bad(error.to_string()))?
            }
        };
        for server in ServerConfig::read_all(&value, "dynamic", &variable).map_err(bad)? {
            servers.retain(|known| known.name != server.name);
            servers.push(server);
        }
    }
    let file = project.join(".mcp.json");
    if !options.strict_mcp_config && reads_project && file_path::exists(&file) {
        add_of_project(&file, settings, &variable, &mut servers)?;
    }
    Ok(servers)
}

/// A repository must not be able to start programs by being opened: its servers run when the
/// user's own settings name them.
fn add_of_project(
    file: &Path,
    settings: &Settings,
    variable: &dyn Fn(&str) -> Option<String>,
    servers: &mut Vec<ServerConfig>,
) -> Result<(), Refused> {
    let bytes = recto_store::read_small(file)?;
    let read = serde_json::from_slice::<Value>(&bytes).map_err(|error| error.to_string());
    let read = read.and_then(|value| ServerConfig::read_all(&value, "project", variable));
    let found = match read {
        Ok(found) => found,
        Err(why) => {
            remark(&one_line(&format!(".mcp.json: {why}; it starts no server")));
            return Ok(());
        }
    };
    let own = |layer: &&recto_agent::settings::Layer| layer.source != Source::Project;
    let names = |key: &str| -> Vec<String> {
        let layers = settings.layers().iter().filter(own);
        let lists = layers.filter_map(|layer| layer.value.get(key)?.as_array());
        lists.flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let approves_all = settings
        .layers()
        .iter()
        .filter(own)
        .any(|layer| layer.value.get("enableAllProjectMcpServers") == Some(&Value::Bool(true)));
    let (approved, refused) = (names("enabledMcpjsonServers"), names("disabledMcpjsonServers"));
    for server in found {
        let is_approved = approves_all || approved.contains(&server.name);
        if refused.contains(&server.name) || servers.iter().any(|known| known.name == server.name) {
            continue;
        }
        if is_approved {
            servers.push(server);
        } else {
            remark(&one_line(&format!(
                "the server {} of .mcp.json is not started; name it in enabledMcpjsonServers of your settings",
                server.name
            )));
        }
    }
    Ok(())
}

/// Kinds of subagents of `--agents`.
pub(super) fn agents(options: &RunOptions) -> Result<Vec<AgentType>, Refused> {
    let Some(text) = &options.agents else { return Ok(Vec::new()) };
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => Ok(agents_of(&value)),
        _ => Err(Refused::Usage("Error: --agents must be a JSON object".to_owned())),
    }
}
