//! A fix of one place, and the other ways to make it.

use super::Fix;
use super::bench::Edit;

/// A fix of one place.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) fix: Fix,
    pub(super) line: u64,
    pub(super) words: String,
    pub(super) edits: Vec<Edit>,
    /// Other ways to fix it, each with its words, if clients would bring back less by the
    /// first; the best first.
    pub(super) others: Vec<(Vec<Edit>, String)>,
}

impl Step {
    /// The ways to fix it, the best first.
    pub(super) fn ways(&self) -> impl Iterator<Item = Step> {
        let first = (self.edits.clone(), self.words.clone());
        let ways = std::iter::once(first).chain(self.others.iter().cloned());
        ways.map(|(edits, words)| Step {
            fix: self.fix,
            line: self.line,
            words,
            edits,
            others: Vec::new(),
        })
    }
}
