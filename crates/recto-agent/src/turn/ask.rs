//! Questions to whoever can answer them: a person at a terminal, or a program.

use std::path::PathBuf;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::oneshot;

/// A call that needs a yes.
#[derive(Debug)]
pub struct Question {
    /// The tool.
    pub tool: String,
    /// What it is called with.
    pub input: Value,
    /// The call.
    pub id: String,
    /// The subagent that calls.
    pub agent: Option<String>,
    /// What is asked, and what the model reads if nobody says yes.
    pub text: String,
    /// `decision_reason_type` and `decision_reason`.
    pub reason: (Option<&'static str>, Option<String>),
    /// What could be granted for later calls.
    pub suggestions: Vec<Value>,
    /// The path that the question is about.
    pub blocked_path: Option<PathBuf>,
    /// The MCP server of the tool, and where the session has it from.
    pub server: Option<(String, &'static str)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Where the answer goes. Dropped, it is a no.
    pub answer: oneshot::Sender<Reply>,
}

/// An answer to a question.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Yes.
    Allow {
        /// Another input for the call.
        updated_input: Option<Value>,
        /// What is granted besides.
        updated_permissions: Vec<Value>,
    },
    /// No.
    Deny {
        /// What the model reads.
        message: String,
        /// Whether the turn ends.
        interrupt: bool,
    },
    /// The question could not be answered: what the model reads.
    Failed(String),
}

/// Where questions go. Nobody listens in a run without a person.
pub type Asker = mpsc::Sender<Question>;
