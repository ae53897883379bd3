//! How much of a session a resume would bring back, and what is wrong with it.
//!
//! Reach is counted in lines of the conversation (user and assistant lines that
//! are not a subagent's) and in tokens, which are estimated as a quarter of the
//! bytes of their content. What a client leaves out on purpose is told apart
//! from what is lost: a summary stands for lines before a compaction, a rewind
//! leaves a branch behind.

mod branch;
mod fate;
mod problems;

use recto_log::EntryUuid;
use recto_log::Severity;
use recto_log::UserText;

use crate::Node;
use crate::NodeId;
use crate::Session;
use crate::request::Generation;
use crate::request::Outcome;
use crate::request::Place;
use crate::request::Reach;
use crate::request::reach_in;
use crate::request::view::View;
use crate::turns;
use fate::Fate;
use fate::Fates;
pub use problems::ProblemClass;

/// How many problems of each class are kept; the rest are counted.
pub const MOST_PROBLEMS: usize = 1000;

/// The generations that say whether a session is sound, as far as they are as new as its
/// log. Where a parent is missing, all generations do.
pub const CHECKED: [Generation; 3] = [Generation::V2_0_0, Generation::V2_1_0, Generation::V2_1_300];

/// The requests that the API takes are at most this large, in bytes.
pub(crate) const MOST_REQUEST_BYTES: u64 = 32 * 1024 * 1024;

/// The state of a session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Health {
    /// The lines of the conversation.
    pub all: Amount,
    /// What clients would bring back, in the order that was asked for.
    pub reaches: Vec<ReachSummary>,
    /// What the newest clients would bring back.
    pub latest: ReachSummary,
    /// Prompts that a client like the one that wrote the log, or a newer one, would not
    /// find any more.
    pub lost_prompts: u64,
    /// The turns of which something is lost, in the order of the log.
    pub lost_turns: Vec<LostTurn>,
    /// What the newest clients would send from each way that the session went; empty if it
    /// went one way, and without [`Health::with_branches`].
    pub branches: Vec<BranchReach>,
    /// What is wrong, in the order of the log.
    pub problems: Vec<HealthProblem>,
    /// Problems that were found but are not listed.
    pub unlisted: u64,
}

impl Health {
    /// Whether nothing is lost and nothing would be refused. What is sound is not repaired.
    pub fn is_sound(&self) -> bool {
        let is_damage = |problem: &HealthProblem| problem.severity == Severity::Damage;
        self.latest.is_whole() && self.lost_prompts == 0 && !self.problems.iter().any(is_damage)
    }

    /// The same with the ways that the session went, which who looks at many sessions does
    /// not ask for.
    pub fn with_branches(mut self, session: &Session) -> Health {
        let ReachSummary { branches, other_beginnings, .. } = self.latest;
        let has_left = branches.lines > 0 || other_beginnings.lines > 0;
        if has_left || !self.latest.is_whole() {
            self.branches = branch::reaches(&View::new(session, Generation::latest()));
        }
        self
    }
}

/// A turn of which something is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostTurn {
    /// The number of the turn.
    pub turn: u32,
    /// Its first line.
    pub line: u64,
    /// How many messages of it are lost.
    pub messages: u32,
}

/// What would be sent from one way that a session went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BranchReach {
    /// Its last line.
    pub line: u64,
    /// Whether the newest clients go on from it.
    pub is_current: bool,
    /// How many messages would be sent.
    pub sent: u64,
    /// The line with the broken link at which the way up from it ends.
    pub broken_at: Option<u64>,
}

/// Lines, and an estimate of their tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Lines.
    pub lines: u64,
    /// Tokens: a quarter of the bytes of the content.
    pub tokens: u64,
}

/// What clients of a generation would bring back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReachSummary {
    /// The generation.
    pub generation: Generation,
    /// How a resume would end.
    pub outcome: Outcome,
    /// What is sent.
    pub sent: Amount,
    /// What a summary stands for.
    pub compacted: Amount,
    /// What is on branches left by rewinding.
    pub branches: Amount,
    /// What is below another beginning.
    pub other_beginnings: Amount,
    /// What cannot be sent: API errors, answers without text, cut off calls.
    pub unsendable: Amount,
    /// What is lost.
    pub lost: Amount,
}

/// Something that is wrong with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HealthProblem {
    /// What kind of problem it is.
    pub class: ProblemClass,
    /// Whether something is lost by it.
    pub severity: Severity,
    /// The line.
    pub line: u64,
    /// What follows from it, in words.
    pub consequence: String,
}

impl Amount {
    fn add(&mut self, node: Node<'_>) {
        self.lines += 1;
        self.tokens += estimated_tokens(u64::from(node.content_bytes));
    }
}

impl ReachSummary {
    /// How much of the conversation is sent, in percent of lines and of tokens.
    pub fn percent(&self, all: Amount) -> (f64, f64) {
        (percent(self.sent.lines, all.lines), percent(self.sent.tokens, all.tokens))
    }

    /// How much is there of what a resume should bring back: without what was
    /// left out on purpose.
    pub fn percent_kept(&self) -> (f64, f64) {
        (
            percent(self.sent.lines, self.sent.lines + self.lost.lines),
            percent(self.sent.tokens, self.sent.tokens + self.lost.tokens),
        )
    }

    /// Whether nothing is lost.
    pub fn is_whole(&self) -> bool {
        self.lost.lines == 0
    }
}

/// How many tokens some bytes of content are, about.
pub fn estimated_tokens(bytes: u64) -> u64 {
    bytes / 4
}

/// In percent; a whole of nothing is whole.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Whether a line counts as part of the conversation.
fn counts(node: Node<'_>) -> bool {
    node.is_spoken() && !node.flags.is_sidechain
}

/// Looks at a session with the eyes of clients of some generations. Missing
/// parents are asked for in `found_elsewhere`, which may name another log.
pub fn health(
    session: &Session,
    generations: &[Generation],
    found_elsewhere: &dyn Fn(&EntryUuid) -> Option<String>,
) -> Health {
    let mut all = Amount::default();
    session.nodes().filter(|node| counts(*node)).for_each(|node| all.add(node));
    // The newest clients say what the problems are, whether asked for or not; so do those
    // that are as old as the log.
    let latest = Generation::latest();
    let writer = session.writer();
    let has_gap = session.missing_parents().next().is_some();
    let tells = |generation: &Generation| {
        *generation >= writer && (has_gap || CHECKED.contains(generation))
    };
    let mut older = Vec::new();
    let mut reaches = Vec::new();
    for generation in Generation::ALL.iter().filter(|one| generations.contains(one) || tells(one)) {
        if *generation == latest {
            continue;
        }
        let view = View::new(session, *generation);
        let reach = reach_in(&view, Place::Own);
        let fates = fate::fates(&view, &reach);
        let summary = summarize(session, &reach, &fates);
        reaches.push(summary);
        if tells(generation) && summary.lost.lines > 0 {
            older.push((*generation, fates));
        }
    }
    // The newest last, so that what others sent is forgotten by then.
    let view_latest = View::new(session, latest);
    let reach_latest = reach_in(&view_latest, Place::Own);
    let fates_latest = fate::fates(&view_latest, &reach_latest);
    let summary_latest = summarize(session, &reach_latest, &fates_latest);
    reaches.push(summary_latest);
    let reach_of = |asked: &Generation| reaches.iter().find(|reach| reach.generation == *asked);
    let reaches = generations.iter().filter_map(reach_of).copied().collect();
    let mut health = Health {
        all,
        reaches,
        latest: summary_latest,
        lost_prompts: 0,
        lost_turns: Vec::new(),
        branches: Vec::new(),
        problems: Vec::new(),
        unlisted: 0,
    };
    if all.lines == 0 {
        return health;
    }
    let prompts = |fates: &Fates| lost_prompts(session, fates);
    health.lost_prompts = prompts(&fates_latest);
    // Calls made at once are no reason: clients like 2.1.29 never find them.
    older.retain(|(_, fates)| prompts(fates) > 0);
    health.lost_prompts =
        older.iter().map(|(_, fates)| prompts(fates)).fold(health.lost_prompts, u64::max);
    let worst = if summary_latest.is_whole() { older.first() } else { None };
    let worst = worst.map_or(&fates_latest, |(_, fates)| fates);
    if health.lost_prompts > 0 || !summary_latest.is_whole() {
        health.lost_turns = lost_turns(session, worst);
    }
    let mut list = problems::List::default();
    let seen = problems::Seen { reach: &reach_latest, fates: &fates_latest, older: &older };
    problems::find(session, seen, found_elsewhere, &mut list);
    (health.problems, health.unlisted) = list.finish();
    health
}

/// Prompts that a client does not find any more.
fn lost_prompts(session: &Session, fates: &Fates) -> u64 {
    let nodes = session.nodes().zip(fates.iter());
    let is_lost = |(node, fate): &(Node<'_>, Fate)| {
        counts(*node) && is_prompt(*node) && matches!(fate, Fate::Lost { .. })
    };
    nodes.filter(is_lost).count() as u64
}

/// Whether a person typed the line.
fn is_prompt(node: Node<'_>) -> bool {
    matches!(node.user, UserText::Human | UserText::Command | UserText::BashInput)
}

/// How many messages of each turn are lost.
fn lost_turns(session: &Session, fates: &Fates) -> Vec<LostTurn> {
    let is_lost = |id: &&NodeId| {
        counts(session.node(**id)) && matches!(fates.of(**id), Fate::Lost { .. } | Fate::Parallel)
    };
    let turns = turns(session);
    let lost = |(at, turn): (usize, u32)| {
        let nodes = turns.nodes(at);
        let messages = nodes.iter().filter(is_lost).count() as u32;
        let first = turns.prompt(at).or(nodes.first().copied())?;
        let line = session.node(first).line;
        (messages > 0).then_some(LostTurn { turn, line, messages })
    };
    let all = || (0..turns.len()).zip(1..).filter_map(lost);
    // Of a log that is lost as a whole there may be millions.
    let mut found = Vec::with_capacity(all().count());
    found.extend(all());
    found
}

/// What clients of one generation would bring back.
pub fn reach_summary(session: &Session, reach: &Reach) -> ReachSummary {
    summarize(session, reach, &fate::fates(&View::new(session, reach.generation), reach))
}

fn summarize(session: &Session, reach: &Reach, fates: &Fates) -> ReachSummary {
    let none = Amount::default();
    let mut summary = ReachSummary {
        generation: reach.generation,
        outcome: reach.outcome,
        sent: none,
        compacted: none,
        branches: none,
        other_beginnings: none,
        unsendable: none,
        lost: none,
    };
    for (node, fate) in session.nodes().zip(fates.iter()) {
        if !counts(node) {
            continue;
        }
        match fate {
            Fate::Sent => summary.sent.add(node),
            Fate::Compacted => summary.compacted.add(node),
            Fate::Branch => summary.branches.add(node),
            Fate::OtherBeginning => summary.other_beginnings.add(node),
            Fate::Unsendable => summary.unsendable.add(node),
            Fate::Parallel | Fate::Lost { .. } => summary.lost.add(node),
        }
    }
    summary
}

#[cfg(test)]
#[path = "../health_tests.rs"]
mod tests;
