//! A connection to one server: requests with numbers, and their answers.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::config::ServerConfig;
use super::config::Transport;
use super::http::Http;
use super::process::Process;
use crate::control::HostLink;

/// The version of the protocol that is asked for.
pub(super) const PROTOCOL: &str = "2025-11-25";

/// How long a server has to start and to say what it has.
pub(super) const START: Duration = Duration::from_secs(30);
/// How long a call may take.
const CALL: Duration = Duration::from_secs(60 * 60);
/// Pages of a list that are read.
const MOST_PAGES: usize = 100;

/// What servers may see of the session.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    pub(super) directory: PathBuf,
    pub(super) link: Option<HostLink>,
}

#[derive(Debug)]
enum Road {
    Process(Process),
    Http(Http),
    Host { link: HostLink, server: String },
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    road: Road,
    next: AtomicU64,
    ended: CancellationToken,
}

impl Connection {
    /// Starts a server, or reaches it.
    pub(super) fn open(
        config: &ServerConfig,
        surroundings: &Surroundings,
    ) -> Result<Connection, String> {
        let road = match &config.transport {
            Transport::Stdio { command, args, env } => {
                Road::Process(Process::start(command, args, env, &surroundings.directory)?)
            }
            Transport::Http { url, headers } => Road::Http(Http::new(url, headers)?),
            Transport::Host => {
                let link = surroundings.link.clone().ok_or("it names no command")?;
                Road::Host { link, server: config.name.clone() }
            }
            Transport::Unknown(kind) => {
                return Err(format!("transport {kind} is not supported; use stdio or http"));
            }
        };
        Ok(Connection { road, next: AtomicU64::new(0), ended: CancellationToken::new() })
    }

    /// A connection whose first answers the host gave beforehand.
    pub(super) fn skip_start(&self) {
        self.next.store(2, Ordering::Relaxed);
    }

    /// Says hello; what the server says about itself.
    pub(super) async fn initialize(&self) -> Result<Value, String> {
        let params = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "recto", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.request("initialize", Some(params), START).await?;
        if let Road::Http(http) = &self.road
            && let Some(version) = answer["protocolVersion"].as_str()
        {
            http.set_version(version);
        }
        let hello = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.notify(hello).await?;
        Ok(answer)
    }

    /// All that the server has of a kind: `tools`, `resources` or `prompts`.
    pub(super) async fn list(&self, kind: &str) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let params = cursor.as_ref().map(|cursor| json!({"cursor": cursor}));
            let page = self.request(&format!("{kind}/list"), params, START).await?;
            all.extend(page[kind].as_array().cloned().unwrap_or_default());
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        Ok(all)
    }

    /// The contents of a resource.
    pub(super) async fn read(&self, uri: &str) -> Result<Value, String> {
        self.request("resources/read", Some(json!({"uri": uri})), START).await
    }

    /// A prompt with its arguments filled in.
    pub(super) async fn prompt(&self, name: &str, given: &Value) -> Result<Value, String> {
        let params = json!({"name": name, "arguments": given});
        self.request("prompts/get", Some(params), START).await
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        tool: &str,
        input: &Value,
        tool_use: &str,
    ) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let params = json!({
            "name": tool,
            "arguments": input,
            "_meta": {"claudecode/toolUseId": tool_use, "progressToken": id},
        });
        let mut cancelled = Cancelled { connection: self, id, is_over: false };
        let answer = self.send(id, "tools/call", Some(params), CALL).await;
        cancelled.is_over = true;
        answer
    }

    async fn request(
        &self,
        method: &str,
        params: Option<Value>,
        limit: Duration,
    ) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.send(id, method, params, limit).await
    }

    async fn send(
        &self,
        id: u64,
        method: &str,
        params: Option<Value>,
        limit: Duration,
    ) -> Result<Value, String> {
        let mut message = json!({"method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        message["jsonrpc"] = "2.0".into();
        message["id"] = id.into();
        let answering = async {
            match &self.road {
                Road::Process(process) => process.ask(id, &message).await,
                Road::Http(http) => http.ask(id, &message).await,
                Road::Host { link, server } => ask_host(link, server, message, &self.ended).await,
            }
        };
        let answer = tokio::time::timeout(limit, answering)
            .await
            .map_err(|_| format!("no answer to {method} within {} s", limit.as_secs()))??;
        match answer.get("error") {
            Some(error) => {
                let why = error["message"].as_str().unwrap_or("unknown error");
                Err(format!("MCP error {}: {why}", error["code"]))
            }
            None => Ok(answer["result"].clone()),
        }
    }

    async fn notify(&self, message: Value) -> Result<(), String> {
        match &self.road {
            Road::Process(process) => process.write(&message),
            Road::Http(http) => http.notify(&message).await,
            Road::Host { link, server } => {
                // The host answers this, too.
                ask_host(link, server, message, &self.ended).await.map(|_| ())
            }
        }
    }

    /// Whether the server says that what it has changed since it was asked.
    pub(super) fn take_changed(&self) -> bool {
        match &self.road {
            Road::Process(process) => process.take_changed(),
            Road::Http(http) => http.take_changed(),
            Road::Host { .. } => false,
        }
    }

    /// Why nothing more can be asked, if so.
    pub(super) fn is_gone(&self) -> bool {
        matches!(&self.road, Road::Process(process) if process.is_gone())
    }
}

async fn ask_host(
    link: &HostLink,
    server: &str,
    message: Value,
    ended: &CancellationToken,
) -> Result<Value, String> {
    let request = json!({"subtype": "mcp_message", "server_name": server, "message": message});
    let answer = link.ask(request, None, ended).await.map_err(|error| error.to_string())?;
    Ok(answer["mcp_response"].clone())
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// Tells a server that nobody waits for its answer any more.
struct Cancelled<'a> {
    connection: &'a Connection,
    id: u64,
    is_over: bool,
}

impl Drop for Cancelled<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let message = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": self.id, "reason": "The user interrupted."},
        });
        if let Road::Process(process) = &self.connection.road {
            let _ = process.write(&message);
        }
    }
}
