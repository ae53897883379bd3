//! One session: what it is, and where its turns are.

use recto_log::SessionId;
use recto_session::Tokens;
use recto_session::branches;
use recto_session::request::Generation;
use serde::Serialize;

use crate::CallRow;
use crate::Moment;
use crate::Reading;
use crate::SessionRow;
use crate::TurnRow;
use crate::cut;
use crate::error::ViewError;
use crate::library::Library;
use crate::stats::last_answer;
use crate::stats::pending;
use crate::turns::turn_rows;

/// How long a prompt in an outline is at most, in bytes.
pub(crate) const OUTLINE_TEXT: usize = 240;

/// One session: what it is, and where its turns are.
#[derive(Debug, Serialize)]
pub struct SessionHead {
    pub session: SessionRow,
    /// The versions of the client that wrote it, in order.
    pub versions: Vec<String>,
    pub permission_mode: Option<String>,
    /// The last text of the model, 500 characters at most.
    pub last_output: Option<String>,
    /// The last call without a result.
    pub pending: Option<CallRow>,
    pub counts: Counts,
    pub tokens: TokenCounts,
    pub compactions: Vec<CompactionView>,
    pub branches: Vec<BranchView>,
    pub agents: Vec<AgentRunView>,
    pub outline: Vec<TurnRow>,
}

#[derive(Debug, Serialize)]
pub struct Counts {
    pub lines: u64,
    pub turns: usize,
    pub messages: usize,
    pub tool_calls: usize,
    pub failed_tool_calls: usize,
    pub api_errors: u32,
    pub damaged_lines: usize,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct TokenCounts {
    pub input: u64,
    pub output: u64,
    /// Written to the cache, for however long.
    pub cache_creation: u64,
    pub cache_creation_5m: u64,
    pub cache_creation_1h: u64,
    pub cache_read: u64,
}

impl From<Tokens> for TokenCounts {
    fn from(tokens: Tokens) -> TokenCounts {
        let Tokens {
            input,
            output,
            cache_creation,
            cache_creation_5m,
            cache_creation_1h,
            cache_read,
        } = tokens;
        TokenCounts {
            input,
            output,
            cache_creation,
            cache_creation_5m,
            cache_creation_1h,
            cache_read,
        }
    }
}

/// Tokens of a turn or a subagent.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TokenColumns {
    /// Neither read from nor written to the cache.
    pub input_tokens: u64,
    /// Of answers.
    pub output_tokens: u64,
    /// Written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Read from the cache.
    pub cache_read_input_tokens: u64,
}

impl From<Tokens> for TokenColumns {
    fn from(tokens: Tokens) -> TokenColumns {
        TokenColumns {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cache_creation_input_tokens: tokens.cache_creation,
            cache_read_input_tokens: tokens.cache_read,
        }
    }
}

/// A place where the conversation was compacted.
#[derive(Debug, Serialize)]
pub struct CompactionView {
    pub turn: u32,
    pub line: u64,
    pub time: Option<Moment>,
    pub trigger: Option<String>,
    pub tokens_before: Option<u64>,
    pub tokens_after: Option<u64>,
}

/// One way that the session went.
#[derive(Debug, Serialize)]
pub struct BranchView {
    pub tip: String,
    pub line: u64,
    pub time: Option<Moment>,
    pub fork_turn: Option<u32>,
    pub turns: u32,
    pub messages: u32,
    pub last_prompt: Option<String>,
    /// Whether the newest clients go on from it.
    pub current: bool,
}

/// A subagent that the session started.
#[derive(Debug, Serialize)]
pub struct AgentRunView {
    pub id: Option<String>,
    pub call: Option<String>,
    pub turn: u32,
    pub background: bool,
    pub tokens: Option<u64>,
    pub tool_calls: Option<u64>,
    pub duration_ms: Option<u64>,
}

impl Library {
    /// One session.
    pub fn session(&self, id: SessionId) -> Result<SessionHead, ViewError> {
        let found = self.find(id)?;
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
                api_errors: reading.turns.iter().map(|turn| turn.api_errors).sum(),
                damaged_lines: session.damaged.len(),
            },
            tokens: tokens.into(),
            compactions: compactions(&reading),
            branches: branch_views(&reading),
            agents: agent_runs(&reading),
            outline: outline(&reading),
        })
    }
}

/// The turns in a few words each.
pub fn outline(reading: &Reading) -> Vec<TurnRow> {
    turn_rows(reading, OUTLINE_TEXT)
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

fn branch_views(reading: &Reading) -> Vec<BranchView> {
    branches(reading.session())
        .into_iter()
        .map(|branch| {
            let tip = reading.session().node(branch.tip);
            BranchView {
                tip: tip.uuid.to_string(),
                line: tip.line,
                time: branch.time.map(Moment),
                fork_turn: branch.fork.map(|fork| reading.turn_number(fork)),
                turns: branch.turns,
                messages: branch.messages,
                last_prompt: branch
                    .last_prompt
                    .map(|id| cut(reading.text(id).trim(), OUTLINE_TEXT).0),
                current: branch.generations.contains(&Generation::latest()),
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
