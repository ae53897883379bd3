//! One session: what it is, and where its turns are.

use recto_log::SessionId;
use recto_session::NodeId;
use recto_session::Tokens;
use recto_session::branches;
use recto_session::request::Generation;
use serde::Serialize;

use crate::answer::Failure;
use crate::context::Context;
use crate::data::Moment;
use crate::data::Reading;
use crate::data::SessionRow;
use crate::data::cut;
use crate::data::session_row;

/// How long a prompt in an outline is at most, in bytes.
const OUTLINE_TEXT: usize = 240;
/// How long the last output is at most, in bytes.
const OUTPUT_TEXT: usize = 500;

/// One session: what it is, and where its turns are.
#[derive(Debug, Serialize)]
pub(crate) struct SessionHead {
    pub(crate) session: SessionRow,
    /// The versions of the client that wrote it, in order.
    pub(crate) versions: Vec<String>,
    pub(crate) permission_mode: Option<String>,
    /// What the model said last.
    pub(crate) last_output: Option<String>,
    pub(crate) counts: Counts,
    pub(crate) tokens: TokenCounts,
    pub(crate) compactions: Vec<CompactionView>,
    pub(crate) branches: Vec<BranchView>,
    pub(crate) agents: Vec<AgentRunView>,
    pub(crate) outline: Vec<OutlineTurn>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Counts {
    pub(crate) lines: u64,
    pub(crate) turns: usize,
    pub(crate) messages: usize,
    pub(crate) tool_calls: usize,
    pub(crate) failed_tool_calls: usize,
    pub(crate) api_errors: u32,
    pub(crate) damaged_lines: usize,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct TokenCounts {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_creation: u64,
    pub(crate) cache_read: u64,
}

impl From<Tokens> for TokenCounts {
    fn from(tokens: Tokens) -> TokenCounts {
        let Tokens { input, output, cache_creation, cache_read } = tokens;
        TokenCounts { input, output, cache_creation, cache_read }
    }
}

/// A place where the conversation was compacted.
#[derive(Debug, Serialize)]
pub(crate) struct CompactionView {
    pub(crate) turn: u32,
    pub(crate) line: u64,
    pub(crate) time: Option<Moment>,
    pub(crate) trigger: Option<String>,
    pub(crate) tokens_before: Option<u64>,
    pub(crate) tokens_after: Option<u64>,
}

/// One way that the session went.
#[derive(Debug, Serialize)]
pub(crate) struct BranchView {
    pub(crate) tip: String,
    pub(crate) line: u64,
    pub(crate) time: Option<Moment>,
    pub(crate) fork_turn: Option<u32>,
    pub(crate) turns: u32,
    pub(crate) messages: u32,
    pub(crate) last_prompt: Option<String>,
    /// Whether the newest clients go on from it.
    pub(crate) current: bool,
}

/// A subagent that the session started.
#[derive(Debug, Serialize)]
pub(crate) struct AgentRunView {
    pub(crate) id: Option<String>,
    pub(crate) call: Option<String>,
    pub(crate) turn: u32,
    pub(crate) background: bool,
    pub(crate) tokens: Option<u64>,
    pub(crate) tool_calls: Option<u64>,
    pub(crate) duration_ms: Option<u64>,
}

/// A turn in a few words.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct OutlineTurn {
    pub(crate) turn: u32,
    pub(crate) kind: &'static str,
    pub(crate) prompt: String,
    pub(crate) line: u64,
    pub(crate) started: Option<Moment>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) messages: u32,
    pub(crate) tool_calls: u32,
    pub(crate) failed_tool_calls: u32,
    pub(crate) api_errors: u32,
    pub(crate) interrupted: bool,
    /// Whether the newest clients would go on from it.
    pub(crate) current: bool,
    pub(crate) tokens: TokenCounts,
}

/// One session.
pub(crate) fn session(context: &Context, id: SessionId) -> Result<SessionHead, Failure> {
    let found = context.find(id)?;
    let reading = context.read(&found.file)?;
    let session = reading.session();
    let facts = session.facts();
    let mut tokens = Tokens::default();
    for message in &facts.messages {
        tokens.add(message.tokens);
    }
    Ok(SessionHead {
        session: session_row(context, &found.inventory, &found.file),
        versions: session.versions.clone(),
        permission_mode: session.meta.permission_mode.clone(),
        last_output: last_output(&reading),
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

/// The turns in a few words each.
pub(crate) fn outline(reading: &Reading) -> Vec<OutlineTurn> {
    let turns = reading.turns.iter().zip(&reading.is_current);
    turns
        .map(|(turn, is_current)| OutlineTurn {
            turn: turn.number,
            kind: turn.kind.name(),
            prompt: cut(reading.prompt(turn).trim(), OUTLINE_TEXT).0,
            line: turn.nodes.first().map_or(0, |id| reading.session().node(*id).line),
            started: turn.started.map(Moment),
            duration_ms: turn.length(),
            messages: turn.messages,
            tool_calls: turn.calls,
            failed_tool_calls: turn.failed_calls,
            api_errors: turn.api_errors,
            interrupted: turn.is_interrupted,
            current: *is_current,
            tokens: turn.tokens.into(),
        })
        .collect()
}

/// The text of the last message that has one.
fn last_output(reading: &Reading) -> Option<String> {
    const MOST_LOOKED_AT: usize = 50;
    let nodes = reading.session().nodes();
    let answers = (0..nodes.len()).rev().filter(|at| nodes[*at].kind == recto_log::Kind::Assistant);
    answers.take(MOST_LOOKED_AT).find_map(|at| {
        let text = reading.text(NodeId(u32::try_from(at).ok()?));
        let text = text.trim();
        (!text.is_empty()).then(|| cut(text, OUTPUT_TEXT).0)
    })
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
