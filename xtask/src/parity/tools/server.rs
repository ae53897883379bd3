//! An MCP server on standard input and output, as far as cases need it.

use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::process::Child;
use std::process::ChildStdin;
use std::process::ChildStdout;
use std::process::Command;
use std::process::Stdio;

use anyhow::Context as _;
use recto_agent::tool::McpTool;
use serde_json::Value;
use serde_json::json;

pub(super) struct Server {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    last: u64,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    /// Starts the servers of `--mcp-config`, and tells their tools.
    pub(super) fn of(args: &Value) -> anyhow::Result<Option<(Server, Vec<McpTool>)>> {
        let words: Vec<&str> =
            args.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let at = words.iter().position(|word| *word == "--mcp-config");
        let Some(config) = at.and_then(|at| words.get(at + 1)) else { return Ok(None) };
        let config: Value = serde_json::from_str(config)?;
        let servers = config["mcpServers"].as_object().context("no servers")?;
        let (name, server) = servers.iter().next().context("no server")?;
        let arguments = server["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut child = Command::new(server["command"].as_str().unwrap_or_default())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the MCP server cannot be started")?;
        let requests = child.stdin.take().context("no input")?;
        let answers = BufReader::new(child.stdout.take().context("no output")?);
        let mut server = Server { child, requests, answers, last: 0 };
        let client = json!({"name": "parity", "version": "1"});
        server.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        )?;
        let listed = server.ask("tools/list", &json!({}))?;
        let listed = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
        let tools = listed
            .iter()
            .map(|tool| McpTool {
                server: name.clone(),
                tool: tool["name"].as_str().unwrap_or_default().to_owned(),
                about: tool["description"].as_str().unwrap_or_default().to_owned(),
                schema: tool["inputSchema"].clone(),
                is_read_only: false,
            })
            .collect();
        Ok(Some((server, tools)))
    }

    fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.last += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        writeln!(self.requests, "{request}")?;
        self.requests.flush()?;
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                anyhow::bail!("the MCP server is gone");
            }
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == self.last {
                return Ok(answer);
            }
        }
    }

    /// Calls a tool: its result, or the message of its error.
    pub(super) fn call(&mut self, tool: &str, input: &Value) -> Result<Value, String> {
        let answer = self
            .ask("tools/call", &json!({"name": tool, "arguments": input}))
            .map_err(|error| error.to_string())?;
        match answer.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap_or_default().to_owned()),
            None => Ok(answer["result"].clone()),
        }
    }
}
