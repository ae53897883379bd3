//! Recorded calls, made again.
//!
//! Owns: which calls a log has, and whether a call gives today what it gave then. A call is made
//! only if the rules allow it.

use std::path::PathBuf;

use recto_session::LineSource;
use recto_session::NodeId;
use recto_session::Session;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::permission::Call;
use crate::permission::Permissions;
use crate::permission::Place;
use crate::permission::Verdict;
use crate::tool;
use crate::tool::Tool;
use crate::tool::ToolCall;
use crate::tool::prepare;

/// A call of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// Its line.
    pub line: u64,
    /// The call.
    pub call: ToolCall,
    /// What it gave; none if the log does not say.
    pub result: Option<CallResult>,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The text of the result. Pictures and documents are named by their type.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// What became of a call that was to be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// It was made.
    Done(CallResult),
    /// No rule allows it: the words for the model.
    Refused(String),
    /// A call of its kind cannot be made again: it needs a model, or somebody to ask.
    Skipped,
}

/// The calls of a session itself, in the order of its log.
pub fn recorded_calls(session: &Session, log: &dyn LineSource) -> Vec<RecordedCall> {
    let mut found = Vec::new();
    for fact in &session.facts().calls {
        let Some(node) = fact.call.filter(|node| !session.node(*node).flags.is_sidechain) else {
            continue;
        };
        let id = session.name(fact.id);
        let Some(block) = block_of(session, log, node, "id", id) else { continue };
        let result = fact.result.and_then(|node| block_of(session, log, node, "tool_use_id", id));
        let call = ToolCall {
            id: id.to_owned(),
            name: block["name"].as_str().unwrap_or_default().to_owned(),
            input: block["input"].clone(),
        };
        let result = result.map(|block| CallResult {
            text: text_of(&block["content"]),
            is_error: block["is_error"] == true,
        });
        found.push(RecordedCall { line: session.node(node).line, call, result });
    }
    found.sort_by_key(|call| call.line);
    found
}

fn block_of(
    session: &Session,
    log: &dyn LineSource,
    node: NodeId,
    key: &str,
    id: &str,
) -> Option<Value> {
    let bytes = log.line(session.node(node).span()).ok()?;
    let whole = recto_log::json::replace_lone_surrogates(bytes.into_owned());
    let line: Value = serde_json::from_str(&String::from_utf8_lossy(&whole)).ok()?;
    let blocks = line["message"]["content"].as_array()?;
    blocks.iter().find(|block| block[key] == id).cloned()
}

fn text_of(content: &Value) -> String {
    let blocks = match content {
        Value::String(text) => return text.clone(),
        Value::Array(blocks) => blocks,
        _ => return String::new(),
    };
    let text = |block: &Value| match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", block["type"].as_str().unwrap_or("block")),
    };
    blocks.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// Where calls are made again, and what allows them.
#[derive(Debug)]
pub struct Workshop {
    /// The tools.
    pub tools: tool::Session,
    /// The rules.
    pub permissions: Permissions,
    /// The directories.
    pub place: Place,
    /// Where output goes; it is removed at the end.
    pub scratch: PathBuf,
}

impl Workshop {
    /// Makes a call again.
    pub async fn make(&self, call: &ToolCall) -> Made {
        let needs_others =
            |tool: Tool| tool.asks() || matches!(tool, Tool::Agent | Tool::WebSearch);
        if Tool::named(&call.name).is_none_or(needs_others) {
            return Made::Skipped;
        }
        let prepared = match prepare(call.clone(), &self.tools) {
            Ok(prepared) => prepared,
            Err(outcome) => return Made::Done(result_of(&outcome)),
        };
        let mut place = self.place.clone();
        place.cwd = self.tools.cwd();
        let asked = Call { tool: prepared.name(), input: &prepared.call.input };
        let decision = self.permissions.decide(asked, &place);
        if decision.verdict != Verdict::Allowed {
            return Made::Refused(decision.text);
        }
        let never = CancellationToken::new();
        Made::Done(result_of(&prepared.run(&self.tools, &never).await))
    }

    /// Ends what calls left in the background, and removes their output.
    pub async fn close(self) {
        self.tools.close().await;
        // It may never have been made.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

fn result_of(outcome: &tool::ToolOutcome) -> CallResult {
    CallResult { text: text_of(&outcome.content.to_json()), is_error: outcome.is_error }
}
