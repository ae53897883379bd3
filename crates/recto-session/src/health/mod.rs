//! How much of a session a resume would bring back, and what is wrong with it.
//!
//! Reach is counted in lines of the conversation (user and assistant lines that
//! are not a subagent's) and in tokens, which are estimated as a quarter of the
//! bytes of their content. What a client leaves out on purpose is told apart
//! from what is lost: a summary stands for lines before a compaction, a rewind
//! leaves a branch behind.

mod fate;
mod problems;

use recto_log::EntryUuid;
use recto_log::Severity;

use crate::Node;
use crate::Session;
use crate::request::Generation;
use crate::request::Outcome;
use crate::request::Reach;
use crate::request::reach;
use fate::Fate;
pub use problems::ProblemClass;

/// How many problems of each class are kept; the rest are counted.
pub const MOST_PROBLEMS: usize = 1000;

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
    /// What is wrong, in the order of the log.
    pub problems: Vec<HealthProblem>,
    /// Problems that were found but are not listed.
    pub unlisted: u64,
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
    fn add(&mut self, node: &Node) {
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
fn counts(node: &Node) -> bool {
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
    session.nodes().iter().filter(|node| counts(node)).for_each(|node| all.add(node));
    // The newest clients say what the problems are, whether asked for or not.
    let latest = Generation::latest();
    let reach_latest = reach(session, latest);
    let fates_latest = fate::fates(session, &reach_latest);
    let summary = |generation: &Generation| {
        if *generation == latest {
            return summarize(session, &reach_latest, &fates_latest);
        }
        let reach = reach(session, *generation);
        summarize(session, &reach, &fate::fates(session, &reach))
    };
    let reaches = generations.iter().map(summary).collect();
    let mut list = problems::List::default();
    if all.lines > 0 {
        problems::find(session, &reach_latest, &fates_latest, found_elsewhere, &mut list);
    }
    let (problems, unlisted) = list.finish();
    Health { all, reaches, problems, unlisted }
}

/// What clients of one generation would bring back.
pub(crate) fn reach_summary(session: &Session, reach: &Reach) -> ReachSummary {
    summarize(session, reach, &fate::fates(session, reach))
}

fn summarize(session: &Session, reach: &Reach, fates: &[Fate]) -> ReachSummary {
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
    for (node, fate) in session.nodes().iter().zip(fates) {
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
