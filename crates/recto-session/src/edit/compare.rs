//! Whether every client still brings back what it should.

use std::collections::HashSet;

use recto_log::EntryUuid;

use crate::Session;
use crate::edit::Rewrite;
use crate::health::Amount;
use crate::health::estimated_tokens;
use crate::request::Generation;
use crate::request::Outcome;
use crate::request::Reach;
use crate::request::Sent;
use crate::request::reach;

/// What an edit does to what clients bring back.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What the newest clients sent before.
    pub before: Amount,
    /// What they send now.
    pub after: Amount,
    /// What is missing although it should have stayed; an edit with losses is
    /// not published.
    pub losses: Vec<Loss>,
}

/// What clients of a generation would lose by an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// They do not resume any more.
    NotResumed {
        /// The generation.
        generation: Generation,
        /// Why.
        why: String,
    },
    /// Lines are not sent any more.
    Lines {
        /// The generation.
        generation: Generation,
        /// How many.
        count: usize,
        /// The first of them, by its number in the old log.
        first: u64,
    },
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Loss::NotResumed { generation, why } => {
                write!(f, "clients {generation} would not resume it: {why}")
            }
            Loss::Lines { generation, count, first } => {
                let s = if *count == 1 { "" } else { "s" };
                write!(
                    f,
                    "clients {generation} would lose {count} more line{s}, first line {first}"
                )
            }
        }
    }
}

/// Compares a log with its edited form. `removed` are the lines that were to
/// go; `rewrite` tells the new names of the others.
pub fn compare(
    old: &Session,
    new: &Session,
    removed: &HashSet<EntryUuid>,
    rewrite: &Rewrite,
) -> Comparison {
    let mut losses = Vec::new();
    for generation in Generation::ALL {
        let (before, after) = (reach(old, generation), reach(new, generation));
        if before.outcome != Outcome::Resumed {
            continue;
        }
        let expected: Vec<(u64, EntryUuid)> = sent(old, &before)
            .filter(|(_, uuid)| !removed.contains(uuid))
            .map(|(line, uuid)| (line, rewrite.uuid(&uuid)))
            .collect();
        if after.outcome != Outcome::Resumed {
            if !expected.is_empty() {
                let why = after.outcome.why().unwrap_or_default();
                losses.push(Loss::NotResumed { generation, why });
            }
            continue;
        }
        let there: HashSet<EntryUuid> = sent(new, &after).map(|(_, uuid)| uuid).collect();
        let mut missing = expected.iter().filter(|(_, uuid)| !there.contains(uuid));
        if let Some((first, _)) = missing.next() {
            let count = missing.count() + 1;
            losses.push(Loss::Lines { generation, count, first: *first });
        }
    }
    Comparison { before: amount(old), after: amount(new), losses }
}

/// The spoken lines that go into a request.
fn sent<'s>(session: &'s Session, reach: &'s Reach) -> impl Iterator<Item = (u64, EntryUuid)> + 's {
    reach.sent.iter().filter_map(|sent| match sent {
        Sent::Line(line) => {
            let node = session.node(line.node);
            node.is_spoken().then(|| (node.line, node.uuid.clone()))
        }
        Sent::Added(_) => None,
    })
}

/// What the newest clients send.
fn amount(session: &Session) -> Amount {
    let reach = reach(session, Generation::latest());
    let mut amount = Amount::default();
    for sent in &reach.sent {
        if let Sent::Line(line) = sent {
            let node = session.node(line.node);
            amount.lines += u64::from(node.is_spoken());
            amount.tokens += estimated_tokens(u64::from(node.content_bytes));
        }
    }
    amount
}
