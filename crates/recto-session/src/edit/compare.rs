//! Whether every client still brings back what it should.

use std::collections::HashSet;

use recto_log::EntryUuid;

use crate::Node;
use crate::NodeId;
use crate::Session;
use crate::edit::Rewrite;
use crate::fold::bits::Bits;
use crate::health::Amount;
use crate::health::estimated_tokens;
use crate::health::reach_summary;
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
    /// How much of what they should bring back they did, in percent of lines.
    pub percent_before: f64,
    /// How much they do now.
    pub percent_after: f64,
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
        losses.extend(loss(old, new, &before, &after, removed, rewrite));
    }
    let newest = |session| reach(session, Generation::latest());
    let (before, after) = (newest(old), newest(new));
    Comparison {
        before: amount(old, &before),
        after: amount(new, &after),
        percent_before: reach_summary(old, &before).percent_kept().0,
        percent_after: reach_summary(new, &after).percent_kept().0,
        losses,
    }
}

/// What clients of one generation would lose.
fn loss(
    old: &Session,
    new: &Session,
    before: &Reach,
    after: &Reach,
    removed: &HashSet<EntryUuid>,
    rewrite: &Rewrite,
) -> Option<Loss> {
    if before.outcome != Outcome::Resumed {
        return None;
    }
    let generation = before.generation;
    let named = sent(old, before).map(|id| old.node(id));
    let mut expected = named.filter(|node| removed.is_empty() || !removed.contains(&node.uuid()));
    if after.outcome != Outcome::Resumed {
        let why = after.outcome.why().unwrap_or_default();
        return expected.next().map(|_| Loss::NotResumed { generation, why });
    }
    let mut is_sent = Bits::new(new.node_count());
    sent(new, after).for_each(|id| _ = is_sent.add(id));
    let is_missing =
        |node: &Node<'_>| new.find(&rewrite.uuid(&node.uuid())).is_none_or(|id| !is_sent.has(id));
    let mut missing = expected.filter(is_missing);
    let first = missing.next()?.line;
    Some(Loss::Lines { generation, count: missing.count() + 1, first })
}

/// The spoken lines that go into a request. Lines of subagents do not count: clients of one
/// generation hang orphans on them, and send what they should not.
fn sent<'s>(session: &'s Session, reach: &'s Reach) -> impl Iterator<Item = NodeId> + 's {
    reach.sent.iter().filter_map(|sent| match sent {
        Sent::Line(line) => {
            let node = session.node(line.node);
            let counts = node.is_spoken() && !node.flags.is_sidechain;
            counts.then_some(line.node)
        }
        Sent::Added(_) => None,
    })
}

/// Whether clients of any generation bring back less of what they should than before, in
/// percent and in lines, or do not resume any more. Lines that an edit takes out count as
/// lost nowhere, so that this can be although nothing else is missing.
pub(super) fn lowers_reach(old: &Session, new: &Session) -> bool {
    Generation::ALL.into_iter().any(|generation| {
        let (before, after) = (reach(old, generation), reach(new, generation));
        if before.outcome != Outcome::Resumed {
            return false;
        }
        if after.outcome != Outcome::Resumed {
            return true;
        }
        let (before, after) = (reach_summary(old, &before), reach_summary(new, &after));
        // Lines that are put back, and that old clients do not find, are no loss to them.
        after.sent.lines < before.sent.lines && after.percent_kept().0 < before.percent_kept().0
    })
}

/// What the newest clients send.
fn amount(session: &Session, reach: &Reach) -> Amount {
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
