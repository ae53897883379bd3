//! All servers of a session: which are connected, and what they have.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use tokio::task::JoinSet;

use super::config::ServerConfig;
use super::config::Transport;
use super::connection::Connection;
use super::connection::START;
use super::connection::Surroundings;
use crate::control::HostLink;
use crate::tool::McpTool;
use crate::tool::plain_name;

/// What a server said.
#[derive(Debug, Clone)]
struct Connected {
    connection: Arc<Connection>,
    hello: Value,
    tools: Vec<Value>,
    prompts: Vec<Value>,
}

impl Connected {
    fn has(&self, kind: &str) -> bool {
        self.hello["capabilities"].get(kind).is_some()
    }
}

#[derive(Debug, Clone)]
enum State {
    /// Nobody has tried yet.
    New,
    /// It is being started.
    Starting(Arc<tokio::sync::Mutex<Option<Result<Starting, String>>>>),
    Connected(Connected),
    Failed(String),
    Disabled,
}

#[derive(Debug, Clone)]
struct Starting {
    connection: Arc<Connection>,
    hello: Value,
    /// What a host said beforehand.
    tools: Option<Vec<Value>>,
}

#[derive(Debug, Clone)]
struct Server {
    config: ServerConfig,
    /// What the host said about its server: `initialize` and `tools/list`.
    manifest: Option<Value>,
    state: State,
}

#[derive(Debug, Default)]
struct Inner {
    servers: Mutex<Vec<Server>>,
    surroundings: Surroundings,
    /// Whether a turn has begun, so that all servers were tried.
    is_set_up: std::sync::atomic::AtomicBool,
}

/// The servers of a session. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Servers(Arc<Inner>);

impl Servers {
    /// Servers that are not connected yet.
    pub fn new(configs: Vec<ServerConfig>, directory: PathBuf, link: Option<HostLink>) -> Servers {
        let server = |config| Server { config, manifest: None, state: State::New };
        Servers(Arc::new(Inner {
            servers: Mutex::new(configs.into_iter().map(server).collect()),
            surroundings: Surroundings { directory, link },
            is_set_up: false.into(),
        }))
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Server>> {
        self.0.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds servers that the host serves, with what it says about them beforehand.
    pub fn add_of_host(&self, names: &Value, manifests: &Value) {
        for name in names.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let config = ServerConfig {
                name: name.to_owned(),
                transport: Transport::Host,
                scope: "dynamic",
            };
            let manifest = manifests.get(name).cloned();
            let mut servers = self.servers();
            if servers.iter().all(|server| server.config.name != name) {
                servers.push(Server { config, manifest, state: State::New });
            }
        }
    }

    /// Starts servers that nobody started yet, without waiting for them.
    pub fn begin(&self) {
        for server in self.servers().iter_mut() {
            if let State::New = server.state {
                server.state = self.start(server);
            }
        }
    }

    fn start(&self, server: &Server) -> State {
        let slot = Arc::new(tokio::sync::Mutex::new(None));
        // Whoever wants the server waits for this lock.
        let Ok(mut held) = Arc::clone(&slot).try_lock_owned() else { return State::New };
        let (config, manifest) = (server.config.clone(), server.manifest.clone());
        let surroundings = self.0.surroundings.clone();
        tokio::spawn(async move {
            *held = Some(start(&config, manifest, &surroundings).await);
        });
        State::Starting(slot)
    }

    /// Waits until every server is connected or has failed, and knows its tools.
    pub async fn ready(&self) {
        self.begin();
        let mut waiting = JoinSet::new();
        for server in self.servers().iter() {
            let name = server.config.name.clone();
            match &server.state {
                State::Starting(slot) => {
                    let slot = Arc::clone(slot);
                    waiting.spawn(async move { (name, finish(&slot).await) });
                }
                // Its tools changed.
                State::Connected(connected) if connected.connection.take_changed() => {
                    let connected = connected.clone();
                    waiting.spawn(async move { (name, list(connected).await) });
                }
                State::Connected(connected) if connected.connection.is_gone() => {
                    let gone = Err("the server has exited".to_owned());
                    waiting.spawn(std::future::ready((name, gone)));
                }
                _ => {}
            }
        }
        while let Some(done) = waiting.join_next().await {
            let Ok((name, outcome)) = done else { continue };
            let mut servers = self.servers();
            if let Some(server) = servers.iter_mut().find(|server| server.config.name == name) {
                server.state = match outcome {
                    Ok(connected) => State::Connected(connected),
                    Err(why) => State::Failed(why),
                };
            }
        }
        self.0.is_set_up.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// All tools of connected servers.
    pub fn tools(&self) -> Vec<McpTool> {
        let servers = self.servers();
        let mut tools = Vec::new();
        for server in servers.iter() {
            let State::Connected(connected) = &server.state else { continue };
            tools.extend(connected.tools.iter().filter_map(|tool| tool_of(&server.config, tool)));
        }
        tools
    }

    /// The tool that a full name means.
    pub fn tool(&self, name: &str) -> Option<McpTool> {
        self.tools().into_iter().find(|tool| tool.name() == name)
    }

    /// Where a session has a server from.
    pub fn source(&self, name: &str) -> Option<&'static str> {
        let servers = self.servers();
        servers.iter().find(|server| server.config.name == name).map(|one| one.config.source())
    }

    /// Calls a tool: its result, or what went wrong.
    pub async fn call(
        &self,
        tool: &McpTool,
        input: &Value,
        tool_use: &str,
    ) -> Result<Value, String> {
        let connection = {
            let servers = self.servers();
            let server = servers.iter().find(|server| server.config.name == tool.server);
            match server.map(|server| &server.state) {
                Some(State::Connected(connected)) => Arc::clone(&connected.connection),
                _ => return Err(format!("MCP server \"{}\" is not connected", tool.server)),
            }
        };
        connection.call(&tool.tool, input, tool_use).await
    }

    fn connected(&self) -> Vec<(String, Connected)> {
        let connected = |server: &Server| match &server.state {
            State::Connected(connected) => Some((server.config.name.clone(), connected.clone())),
            _ => None,
        };
        self.servers().iter().filter_map(connected).collect()
    }

    /// Whether a server has resources.
    pub fn have_resources(&self) -> bool {
        self.connected().iter().any(|(_, server)| server.has("resources"))
    }

    /// The resources of a server, or of all.
    ///
    /// # Errors
    ///
    /// What the server answered.
    pub async fn resources(&self, of: Option<&str>) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        let mut is_known = of.is_none();
        for (name, server) in self.connected() {
            if of.is_some_and(|of| of != name) {
                continue;
            }
            is_known = true;
            if server.has("resources") {
                for mut resource in server.connection.list("resources").await? {
                    resource["server"] = name.as_str().into();
                    all.push(resource);
                }
            }
        }
        match is_known {
            true => Ok(all),
            false => Err(self.unknown(of.unwrap_or_default())),
        }
    }

    /// What a resource contains.
    ///
    /// # Errors
    ///
    /// What the server answered.
    pub async fn read_resource(&self, of: &str, uri: &str) -> Result<Value, String> {
        let found = self.connected().into_iter().find(|(name, _)| name == of);
        let (_, server) = found.ok_or_else(|| self.unknown(of))?;
        server.connection.read(uri).await
    }

    fn unknown(&self, server: &str) -> String {
        let names: Vec<String> = self.connected().into_iter().map(|(name, _)| name).collect();
        format!("Server \"{server}\" not found. Available servers: {}", names.join(", "))
    }

    /// The prompts of all servers, as commands: `mcp__server__prompt`, and what they are for.
    pub fn prompts(&self) -> Vec<(String, String)> {
        let prompts = self.connected().into_iter().flat_map(|(name, server)| {
            let of = move |prompt: &Value| {
                let about = prompt["description"].as_str().unwrap_or_default().to_owned();
                Some((command_name(&name, prompt["name"].as_str()?), about))
            };
            server.prompts.iter().filter_map(of).collect::<Vec<_>>()
        });
        prompts.collect()
    }

    /// The text of a prompt that is called as a command; `None` if there is no such prompt.
    pub async fn prompt(&self, command: &str, arguments: &str) -> Option<Result<String, String>> {
        let found = self.connected().into_iter().find_map(|(name, server)| {
            let is_meant = |prompt: &&Value| {
                prompt["name"].as_str().is_some_and(|own| command_name(&name, own) == command)
            };
            let prompt = server.prompts.iter().find(is_meant)?.clone();
            Some((server, prompt))
        });
        let (server, prompt) = found?;
        let names = prompt["arguments"].as_array().into_iter().flatten();
        let names = names.filter_map(|argument| argument["name"].as_str());
        let given: Map<String, Value> = names
            .zip(arguments.split_whitespace())
            .map(|(name, word)| (name.to_owned(), word.into()))
            .collect();
        let own = prompt["name"].as_str().unwrap_or_default();
        let answer = server.connection.prompt(own, &Value::Object(given)).await;
        Some(answer.map(|answer| {
            let messages = answer["messages"].as_array().into_iter().flatten();
            let texts = messages.filter_map(|message| message["content"]["text"].as_str());
            texts.collect::<Vec<_>>().join("\n\n")
        }))
    }

    /// `mcp_servers` of `init`.
    pub fn summary(&self) -> Vec<Value> {
        let servers = self.servers();
        let summary = |server: &Server| {
            json!({
                "name": server.config.name,
                "status": status(&server.state),
                "source": server.config.source(),
            })
        };
        servers.iter().map(summary).collect()
    }

    /// The answer to `mcp_status`; empty until all servers were tried.
    pub fn status(&self) -> Vec<Value> {
        if !self.0.is_set_up.load(std::sync::atomic::Ordering::Relaxed) {
            return Vec::new();
        }
        self.servers().iter().map(described).collect()
    }

    /// Switches a server on or off.
    pub async fn toggle(&self, name: &str, is_on: bool) -> Result<(), String> {
        if is_on {
            return self.reconnect(name).await;
        }
        self.set(name, State::Disabled)
    }

    /// Connects a server anew.
    pub async fn reconnect(&self, name: &str) -> Result<(), String> {
        self.set(name, State::New)?;
        self.ready().await;
        let servers = self.servers();
        match servers.iter().find(|server| server.config.name == name).map(|one| &one.state) {
            Some(State::Failed(why)) => Err(why.clone()),
            _ => Ok(()),
        }
    }

    fn set(&self, name: &str, state: State) -> Result<(), String> {
        let mut servers = self.servers();
        let server = servers.iter_mut().find(|server| server.config.name == name);
        let server = server.ok_or_else(|| format!("Server not found: {name}"))?;
        server.state = state;
        Ok(())
    }

    /// Replaces all servers that options and hosts named.
    pub async fn replace(&self, wanted: &Value) -> Value {
        let mut errors = Map::new();
        let mut configs = Vec::new();
        for (name, server) in wanted.as_object().into_iter().flatten() {
            let one = json!({ name.as_str(): server });
            match ServerConfig::read_all(&one, "dynamic", &|_| None) {
                Ok(read) => configs.extend(read),
                Err(why) => {
                    errors.insert(name.clone(), why.into());
                }
            }
        }
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        {
            let mut servers = self.servers();
            servers.retain(|server| {
                let stays = server.config.scope != "dynamic" || configs.contains(&server.config);
                if !stays {
                    removed.push(server.config.name.clone());
                }
                stays
            });
            for config in configs {
                if servers.iter().all(|server| server.config.name != config.name) {
                    added.push(config.name.clone());
                    servers.push(Server { config, manifest: None, state: State::New });
                }
            }
        }
        self.ready().await;
        for server in self.servers().iter().filter(|server| added.contains(&server.config.name)) {
            if let State::Failed(why) = &server.state {
                errors.insert(server.config.name.clone(), why.as_str().into());
            }
        }
        json!({"added": added, "removed": removed, "errors": errors})
    }

    /// Ends all servers.
    pub fn close(&self) {
        self.servers().clear();
    }
}

async fn start(
    config: &ServerConfig,
    manifest: Option<Value>,
    surroundings: &Surroundings,
) -> Result<Starting, String> {
    let connection = Arc::new(Connection::open(config, surroundings)?);
    if let Some(manifest) = manifest {
        connection.skip_start();
        let tools = manifest["toolsListResult"]["tools"].as_array().cloned().unwrap_or_default();
        let hello = manifest["initializeResult"].clone();
        return Ok(Starting { connection, hello, tools: Some(tools) });
    }
    let hello = connection.initialize().await?;
    Ok(Starting { connection, hello, tools: None })
}

async fn finish(
    slot: &tokio::sync::Mutex<Option<Result<Starting, String>>>,
) -> Result<Connected, String> {
    let late = || format!("no answer within {} s", START.as_secs());
    let started = tokio::time::timeout(START, slot.lock()).await.map_err(|_| late())?;
    let Starting { connection, hello, tools } = match &*started {
        Some(Ok(starting)) => starting.clone(),
        Some(Err(why)) => return Err(why.clone()),
        None => return Err("the server did not start".to_owned()),
    };
    match tools {
        Some(tools) => Ok(Connected { connection, hello, tools, prompts: Vec::new() }),
        None => {
            let (tools, prompts) = (Vec::new(), Vec::new());
            list(Connected { connection, hello, tools, prompts }).await
        }
    }
}

/// Asks for tools and prompts. A server without any need not be able to say so.
async fn list(mut connected: Connected) -> Result<Connected, String> {
    if connected.has("tools") {
        connected.tools = connected.connection.list("tools").await?;
    }
    if connected.has("prompts") {
        // Tools work without them.
        connected.prompts = connected.connection.list("prompts").await.unwrap_or_default();
    }
    Ok(connected)
}

/// A schema with the fields that every one has first, as models are shown it.
fn in_order(schema: &Map<String, Value>) -> Map<String, Value> {
    const FIRST: [&str; 3] = ["type", "properties", "required"];
    let first = FIRST.iter().filter_map(|name| schema.get_key_value(*name));
    let rest = schema.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
    first.chain(rest).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn command_name(server: &str, prompt: &str) -> String {
    format!("mcp__{}__{}", plain_name(server), plain_name(prompt))
}

fn tool_of(config: &ServerConfig, tool: &Value) -> Option<McpTool> {
    Some(McpTool {
        server: config.name.clone(),
        tool: tool["name"].as_str()?.to_owned(),
        about: tool["description"].as_str().unwrap_or_default().to_owned(),
        schema: match &tool["inputSchema"] {
            Value::Object(schema) => Value::Object(in_order(schema)),
            _ => json!({"type": "object"}),
        },
        is_read_only: tool["annotations"]["readOnlyHint"] == true,
    })
}

fn status(state: &State) -> &'static str {
    match state {
        State::New | State::Starting(_) => "pending",
        State::Connected(_) => "connected",
        State::Failed(why) if why.contains("authorization") => "needs-auth",
        State::Failed(_) => "failed",
        State::Disabled => "disabled",
    }
}

fn described(server: &Server) -> Value {
    let mut line = json!({"name": server.config.name, "status": status(&server.state)});
    match &server.state {
        State::Connected(connected) => line["serverInfo"] = connected.hello["serverInfo"].clone(),
        State::Failed(why) => line["error"] = why.as_str().into(),
        _ => {}
    }
    line["transport"] = server.config.transport.name().into();
    line["scope"] = server.config.scope.into();
    line["source"] = server.config.source().into();
    if let State::Connected(connected) = &server.state {
        let tools = connected.tools.iter().map(|tool| {
            let mut hints = Map::new();
            for (from, to) in [
                ("readOnlyHint", "readOnly"),
                ("destructiveHint", "destructive"),
                ("openWorldHint", "openWorld"),
            ] {
                if let Some(hint) = tool["annotations"].get(from).filter(|hint| hint.is_boolean()) {
                    hints.insert(to.to_owned(), hint.clone());
                }
            }
            json!({"name": tool["name"], "annotations": hints})
        });
        line["tools"] = tools.collect();
    }
    line
}
