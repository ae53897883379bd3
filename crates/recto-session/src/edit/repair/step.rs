//! A fix of one place, and the other ways to make it.

use super::Fix;
use super::bench::Edit;
use super::words::Words;

/// A fix of one place. There may be millions, so that what few have is elsewhere.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) fix: Fix,
    pub(super) line: u64,
    pub(super) words: Words,
    pub(super) edits: Edits,
    /// Other ways to fix it, each with its words, if clients would bring back less by the
    /// first; the best first.
    pub(super) others: Box<[Way]>,
}

/// One way to fix a place.
pub(super) type Way = (Edits, Words);

/// What there is to do for a fix.
#[derive(Debug, Clone)]
pub(super) enum Edits {
    One(Edit),
    Many(Vec<Edit>),
}

impl Edits {
    pub(super) fn extend(&mut self, more: impl Iterator<Item = Edit>) {
        let mut edits = match std::mem::replace(self, Edits::Many(Vec::new())) {
            Edits::One(edit) => vec![edit],
            Edits::Many(edits) => edits,
        };
        edits.extend(more);
        *self = Edits::Many(edits);
    }

    pub(super) fn as_slice(&self) -> &[Edit] {
        match self {
            Edits::One(edit) => std::slice::from_ref(edit),
            Edits::Many(edits) => edits,
        }
    }
}

impl From<Edit> for Edits {
    fn from(edit: Edit) -> Edits {
        Edits::One(edit)
    }
}

impl From<Vec<Edit>> for Edits {
    fn from(edits: Vec<Edit>) -> Edits {
        Edits::Many(edits)
    }
}

impl Step {
    /// A fix that is made in one way.
    pub(super) fn new(
        fix: Fix,
        line: u64,
        words: impl Into<Words>,
        edits: impl Into<Edits>,
    ) -> Step {
        Step { fix, line, words: words.into(), edits: edits.into(), others: Box::default() }
    }

    /// The ways to fix it, the best first.
    pub(super) fn ways(&self) -> impl Iterator<Item = Step> {
        let first = (self.edits.clone(), self.words.clone());
        let others = self.others.iter().cloned();
        std::iter::once(first)
            .chain(others)
            .map(|(edits, words)| Step::new(self.fix, self.line, words, edits))
    }
}
