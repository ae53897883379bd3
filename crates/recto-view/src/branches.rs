//! The branches of a log: where it was continued from an earlier point.

use recto_session::Branch;
use recto_session::NodeId;
use recto_session::branches;
use recto_session::request::Generation;
use serde::Serialize;

use crate::Moment;
use crate::Reading;

/// One way that a session went.
#[derive(Debug, Serialize)]
pub struct BranchRow {
    /// Its last line.
    pub tip: String,
    /// The number of that line.
    pub line: u64,
    /// When it was written last.
    pub time: Option<Moment>,
    /// Where it left another branch; none if it shares nothing with one.
    pub fork: Option<ForkRow>,
    /// Turns that begin on it alone.
    pub turns: u32,
    /// API messages on it alone.
    pub messages: u32,
    /// The last prompt on the way to the tip; empty if there is none.
    pub last_prompt: String,
    /// The clients that continue from it.
    pub resumed_by: Vec<&'static str>,
    /// Whether the newest clients do.
    #[serde(skip)]
    pub is_current: bool,
}

/// The last line that a branch shares with another one.
#[derive(Debug, Serialize)]
pub struct ForkRow {
    /// The line.
    pub uuid: String,
    /// Its number.
    pub line: u64,
    /// Its turn; 0 if it belongs to none.
    pub turn: u32,
    /// What began that turn.
    pub prompt: String,
}

/// The name of a generation's clients, as `recto request --as` accepts it.
pub fn client_name(generation: Generation) -> &'static str {
    if generation == Generation::latest() { "latest" } else { generation.observed() }
}

/// The branches of a log in the order of their tips, of each prompt so many bytes at most.
pub fn branch_rows(
    reading: &Reading,
    most_prompt: usize,
) -> impl ExactSizeIterator<Item = BranchRow> + '_ {
    let mut all = branches(reading.session());
    // Where nothing was said since the point that it shares, there is nothing to choose.
    let has_content = |branch: &Branch| branch.turns > 0 || branch.messages > 0;
    if all.iter().any(has_content) {
        all.retain(|branch| has_content(branch) || !branch.generations.is_empty());
    }
    all.into_iter().map(move |branch| branch_row(reading, &branch, most_prompt))
}

fn branch_row(reading: &Reading, branch: &Branch, most_prompt: usize) -> BranchRow {
    let tip = reading.session().node(branch.tip);
    let last_prompt = branch.last_prompt.map(|id| reading.beginning(id, most_prompt));
    BranchRow {
        tip: tip.uuid().to_string(),
        line: tip.line,
        time: branch.time.map(Moment),
        fork: branch.fork.map(|fork| fork_row(reading, fork, most_prompt)),
        turns: branch.turns,
        messages: branch.messages,
        last_prompt: last_prompt.unwrap_or_default(),
        resumed_by: branch.generations.iter().copied().map(client_name).collect(),
        is_current: branch.generations.contains(&Generation::latest()),
    }
}

fn fork_row(reading: &Reading, fork: NodeId, most_prompt: usize) -> ForkRow {
    let node = reading.session().node(fork);
    // Many branches may leave one turn that is long, so its lines are not counted for each.
    let prompt = reading.turn_prompt(fork).map(|id| reading.beginning(id, most_prompt));
    ForkRow {
        uuid: node.uuid().to_string(),
        line: node.line,
        turn: reading.turn_number(fork),
        prompt: prompt.unwrap_or_default(),
    }
}
