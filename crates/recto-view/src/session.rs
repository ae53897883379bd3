//! One session: what it is, and where its turns are.

use recto_session::Tokens;
use serde::Serialize;

use crate::BranchRow;
use crate::CallRow;
use crate::Moment;
use crate::Reading;
use crate::SessionName;
use crate::SessionRow;
use crate::TokenCounts;
use crate::TurnRow;
use crate::branches::branch_rows;
use crate::error::ViewError;
use crate::library::Library;
use crate::reading::OUTLINE_TEXT;
use crate::stats::last_answer;
use crate::stats::pending;
use crate::turns::turn_rows;

/// One session: what it is, and where its turns are.
#[derive(Debug, Serialize)]
pub struct SessionHead {
    /// The session as a list shows it.
    pub session: SessionRow,
    /// The versions of the client that wrote it, in order.
    pub versions: Vec<String>,
    /// The mode of permissions that it is in.
    pub permission_mode: Option<String>,
    /// The last text of the model, 500 characters at most.
    pub last_output: Option<String>,
    /// The last call without a result.
    pub pending: Option<CallRow>,
    /// Its sums.
    pub counts: Counts,
    /// Its tokens, each message counted once.
    pub tokens: TokenCounts,
    /// Where it was compacted.
    pub compactions: Vec<CompactionView>,
    /// The ways that it went.
    pub branches: Vec<BranchRow>,
    /// The subagents that it started.
    pub agents: Vec<AgentRunView>,
    /// Its turns in a few words each.
    pub outline: Vec<TurnRow>,
}

/// The sums of a session.
#[derive(Debug, Serialize)]
pub struct Counts {
    /// Lines of the log.
    pub lines: u64,
    /// Turns.
    pub turns: usize,
    /// API messages.
    pub messages: usize,
    /// Calls of tools.
    pub tool_calls: usize,
    /// Calls that failed.
    pub failed_tool_calls: usize,
    /// Answers of the API that are errors.
    pub api_errors: u32,
    /// Lines that readers lose.
    pub damaged_lines: usize,
}

/// A place where the conversation was compacted.
#[derive(Debug, Serialize)]
pub struct CompactionView {
    /// Its turn.
    pub turn: u32,
    /// The line of the boundary.
    pub line: u64,
    /// When.
    pub time: Option<Moment>,
    /// `auto` or `manual`.
    pub trigger: Option<String>,
    /// Tokens of the context before.
    pub tokens_before: Option<u64>,
    /// Tokens of the context after.
    pub tokens_after: Option<u64>,
}

/// A subagent that the session started.
#[derive(Debug, Serialize)]
pub struct AgentRunView {
    /// The subagent, where the log names it.
    pub id: Option<String>,
    /// The call that started it.
    pub call: Option<String>,
    /// The turn of the call.
    pub turn: u32,
    /// Whether the session went on while it worked.
    pub background: bool,
    /// Its tokens, as its result tells them.
    pub tokens: Option<u64>,
    /// Its calls, as its result tells them.
    pub tool_calls: Option<u64>,
    /// How long it took, as its result tells it.
    pub duration_ms: Option<u64>,
}

impl Library {
    /// One session.
    pub fn session(&self, name: impl Into<SessionName>) -> Result<SessionHead, ViewError> {
        let found = self.find(name)?;
        let reading = self.read(&found.file)?;
        let session = reading.session();
        let facts = session.facts();
        let mut tokens = Tokens::default();
        for message in &facts.messages {
            tokens.add(message.tokens);
        }
        Ok(SessionHead {
            session: self.session_row(&found.file),
            versions: session.counts.versions.iter().map(|(version, _)| version.clone()).collect(),
            permission_mode: session.meta.permission_mode.clone(),
            last_output: last_answer(&reading),
            pending: pending(&reading),
            counts: Counts {
                lines: session.lines,
                turns: reading.turns.len(),
                messages: facts.messages.len(),
                tool_calls: facts.calls.len(),
                failed_tool_calls: facts.calls.iter().filter(|call| call.is_error).count(),
                api_errors: reading.turns().map(|turn| turn.api_errors).sum(),
                damaged_lines: session.damaged.len(),
            },
            tokens: tokens.into(),
            compactions: compactions(&reading),
            branches: branch_rows(&reading, OUTLINE_TEXT).collect(),
            agents: agent_runs(&reading),
            outline: outline(&reading),
        })
    }
}

/// The turns in a few words each.
pub fn outline(reading: &Reading) -> Vec<TurnRow> {
    turn_rows(reading, OUTLINE_TEXT).collect()
}

fn compactions(reading: &Reading) -> Vec<CompactionView> {
    let compactions = reading.session().facts().compactions.iter();
    compactions
        .map(|compaction| {
            let node = reading.session().node(compaction.boundary);
            CompactionView {
                turn: reading.turn_number(compaction.boundary),
                line: node.line,
                time: node.time().map(Moment),
                trigger: compaction.metadata.trigger.clone(),
                tokens_before: compaction.metadata.tokens_before,
                tokens_after: compaction.metadata.tokens_after,
            }
        })
        .collect()
}

fn agent_runs(reading: &Reading) -> Vec<AgentRunView> {
    let runs = reading.session().facts().agents.iter();
    runs.map(|run| AgentRunView {
        id: run.agent.as_ref().map(|agent| agent.as_str().to_owned()),
        call: reading.name(run.call),
        turn: reading.turn_number(run.node),
        background: run.is_background,
        tokens: run.tokens,
        tool_calls: run.tools,
        duration_ms: run.milliseconds,
    })
    .collect()
}
