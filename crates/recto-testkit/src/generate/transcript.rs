//! One log file while it is written: its bytes, its lines and its chain.
//!
//! Owns: the order of lines, who is whose parent, and what can be reached from the leaf. Does not
//! own: the text of lines, or totals over files (`ledger`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::era::Era;
use super::era::Model;
use super::ledger::Facts;
use super::truth::SessionRow;
use super::truth::Usage;

/// A line in the buffer.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) facts: Facts,
}

/// A line with a uuid. Numbers are places in `Transcript::chain`.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) uuid: String,
    pub(super) parent: Option<usize>,
    /// For a compaction boundary: the line before it.
    pub(super) logical_parent: Option<usize>,
    /// Number of the assistant message (within the file) that the line is a block of.
    pub(super) message: Option<usize>,
    /// For a tool result: the line of its call.
    pub(super) call: Option<usize>,
}

/// The end of a turn: how many lines and links there were, and what it had all cost.
#[derive(Clone)]
pub(super) struct TurnEnd {
    pub(super) lines: usize,
    pub(super) links: usize,
    pub(super) leaf: usize,
    pub(super) costs: Costs,
}

/// The usage of each model so far.
pub(super) type Costs = BTreeMap<&'static str, (Model, Usage)>;

/// A subagent that was started in the background and has not reported yet.
pub(super) struct Notification {
    pub(super) agent_id: String,
    pub(super) tool_use_id: String,
    pub(super) answer: String,
}

/// What the tail block and the request lines of the new client remember.
#[derive(Default)]
pub(super) struct NewState {
    pub(super) prompt_id: String,
    pub(super) prompts: u64,
    pub(super) last_prompt: String,
    pub(super) request: String,
    pub(super) last_request: Option<String>,
    /// The shape of requests, once it is on a line.
    pub(super) shape: Option<usize>,
    pub(super) message_hashes: Vec<String>,
    /// How many of the hashes the last request named.
    pub(super) kept_hashes: usize,
    pub(super) tools: BTreeSet<&'static str>,
    pub(super) costs: Costs,
    pub(super) title: String,
    pub(super) notifications: Vec<Notification>,
    pub(super) turn_started: i64,
}

/// One log file while it is written.
pub(super) struct Transcript {
    pub(super) bytes: Vec<u8>,
    pub(super) lines: Vec<Line>,
    pub(super) chain: Vec<Link>,
    pub(super) leaf: Option<usize>,
    pub(super) messages: usize,
    pub(super) session_id: String,
    /// Below `projects`.
    pub(super) path: String,
    /// Folder name below `projects`.
    pub(super) project: String,
    pub(super) cwd: String,
    pub(super) branch: &'static str,
    pub(super) era: &'static Era,
    pub(super) slug: String,
    pub(super) model: Model,
    pub(super) agent: Option<String>,
    /// Started from a terminal, not by a program.
    pub(super) interactive: bool,
    pub(super) now: i64,
    pub(super) started: i64,
    pub(super) context: u64,
    pub(super) turn_ends: Vec<TurnEnd>,
    pub(super) torn_end: bool,
    pub(super) fork: bool,
    pub(super) compacted: bool,
    pub(super) first_prompt: String,
    pub(super) prompts: Vec<(i64, String)>,
    pub(super) agents: u64,
    pub(super) new: NewState,
}

impl Transcript {
    /// uuid of the line that the next one hangs on.
    pub(super) fn leaf_uuid(&self) -> Option<&str> {
        self.leaf.map(|leaf| self.chain[leaf].uuid.as_str())
    }

    /// Totals of this file.
    pub(super) fn row(&self) -> SessionRow {
        let mut results: BTreeSet<usize> = BTreeSet::new();
        let mut messages: BTreeSet<usize> = BTreeSet::new();
        let mut row = SessionRow {
            id: self.session_id.clone(),
            path: self.path.clone(),
            version: self.era.version.to_string(),
            bytes: self.bytes.len() as u64,
            lines: self.lines.len() as u64,
            chain_lines: self.chain.len() as u64,
            agents: self.agents,
            fork: self.fork,
            ..SessionRow::default()
        };
        for line in &self.lines {
            row.human_turns += u64::from(line.facts.human);
            row.compactions += u64::from(line.facts.compaction);
        }
        for link in &self.chain {
            results.extend(link.call);
            messages.extend(link.message);
        }
        row.tool_pairs = results.len() as u64;
        row.assistant_messages = messages.len() as u64;
        if let Some(leaf) = self.leaf {
            row.leaf = self.chain[leaf].uuid.clone();
            (row.walk_lines, row.reachable_lines) = self.reach(leaf);
        }
        row
    }

    /// Lines on the plain walk, and lines of the conversation: the walk continued over compaction
    /// boundaries, all blocks of the messages on it, and the results of all calls among them.
    fn reach(&self, leaf: usize) -> (u64, u64) {
        let mut reached = vec![false; self.chain.len()];
        let mut messages = BTreeSet::new();
        let (mut walk, mut stopped) = (0, false);
        let mut next = Some(leaf);
        while let Some(place) = next {
            let link = &self.chain[place];
            reached[place] = true;
            messages.extend(link.message);
            walk += u64::from(!stopped);
            stopped |= link.parent.is_none();
            next = link.parent.or(link.logical_parent);
        }
        for (place, link) in self.chain.iter().enumerate() {
            if link.message.is_some_and(|message| messages.contains(&message)) {
                reached[place] = true;
            }
        }
        for (place, link) in self.chain.iter().enumerate() {
            if link.call.is_some_and(|call| reached[call]) {
                reached[place] = true;
            }
        }
        (walk, reached.iter().filter(|is| **is).count() as u64)
    }
}
