//! What tools need of the loop that runs them.
//!
//! Owns: the requests and their answers. The loop holds the other end of the channel and
//! answers each request when it can; a request that nobody answers fails in its tool with a
//! sentence, and never blocks a call for good.

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::sync::DropGuard;

use super::agent::AgentReport;
use super::agent::AgentRequest;
use super::offer::McpTool;

/// A request of a tool to the loop. Each holds where its answer goes.
#[derive(Debug)]
pub enum HostRequest {
    /// How many tokens a text has, by the endpoint's own count.
    CountTokens {
        /// The text.
        text: String,
        /// `None` where the endpoint does not tell.
        answer: oneshot::Sender<Option<u64>>,
    },
    /// Run a subagent to its end.
    RunAgent {
        /// What it shall do.
        request: Box<AgentRequest>,
        /// Ends it early. It reports when nothing of it runs any more.
        cancel: CancellationToken,
        /// Its report.
        answer: oneshot::Sender<AgentReport>,
    },
    /// Start a subagent that goes on after the call; its end is told by a notice.
    StartAgent {
        /// What it shall do.
        request: Box<AgentRequest>,
        /// Ends it early.
        cancel: CancellationToken,
        /// Dropped when nothing of it runs any more.
        running: DropGuard,
        /// The model that it runs on, or why it does not run.
        answer: oneshot::Sender<Result<String, String>>,
    },
    /// Call a tool of an MCP server.
    CallMcp {
        /// The tool.
        tool: Box<McpTool>,
        /// The call.
        tool_use: String,
        /// What the model gave.
        input: Value,
        /// `CallToolResult`, or the error that the server sent.
        answer: oneshot::Sender<Result<Value, String>>,
    },
    /// What MCP servers have to read.
    Resources {
        /// One server, or all.
        server: Option<String>,
        /// The resource to read; a list of all if `None`.
        uri: Option<String>,
        /// A list, or `ReadResourceResult`, or the error that the server sent.
        answer: oneshot::Sender<Result<Value, String>>,
    },
    /// Ask a model about a page that was fetched.
    AskAboutPage {
        /// The page, as text.
        page: String,
        /// What is asked about it.
        prompt: String,
        /// The answer, or `None` where there is no model for it.
        answer: oneshot::Sender<Option<String>>,
    },
    /// Tell the surface about a task, as a JSON stream shows it.
    Tell {
        /// Lines without ids.
        lines: Vec<Value>,
        /// When they are on their way.
        answer: oneshot::Sender<()>,
    },
    /// Search the web with the server tool of the endpoint.
    SearchWeb {
        /// What was called.
        input: Value,
        /// The content blocks of the answer, or why there is none.
        answer: oneshot::Sender<Result<Vec<Value>, String>>,
    },
}

/// The tools' end of the channel.
#[derive(Debug, Clone, Default)]
pub struct Host {
    requests: Option<mpsc::UnboundedSender<HostRequest>>,
}

impl Host {
    /// A host and where its requests arrive.
    #[must_use]
    pub fn channel() -> (Host, mpsc::UnboundedReceiver<HostRequest>) {
        let (requests, received) = mpsc::unbounded_channel();
        (Host { requests: Some(requests) }, received)
    }

    /// Asks, and waits for the answer. `None` if nobody listens.
    pub(super) async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> HostRequest,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.requests.as_ref()?.send(request(answer)).ok()?;
        answered.await.ok()
    }
}
