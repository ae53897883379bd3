//! What would be sent from each way that a session went.

use super::BranchReach;
use super::counts;
use super::fate::can_begin;
use crate::NodeId;
use crate::fold::bits::Bits;
use crate::request::chain_in;
use crate::request::history_in;
use crate::request::view::Above;
use crate::request::view::View;
use crate::show::branches::first_branches;

/// So many branches are looked at; a log with more is no conversation.
const MOST: usize = 100;

/// The ways that a session went, in the order of their last lines; none if it is one way
/// that is whole.
pub(super) fn reaches(view: &View<'_>) -> Vec<BranchReach> {
    let session = view.session;
    let (leaf, current) = chain_in(view);
    let is_current = Bits::of(session.node_count(), current.iter().chain(&leaf));
    let reach_of = |tip: NodeId| {
        let parts = history_in(view, tip);
        let chain = parts.last().map_or(&[][..], Vec::as_slice);
        let sent = chain.iter().filter(|id| counts(session.node(**id))).count() as u64;
        let broken = parts.first().and_then(|part| part.first()).and_then(|top| broken(view, *top));
        BranchReach {
            line: session.node(tip).line,
            is_current: is_current.has(tip),
            sent,
            broken_at: broken.map(|at| session.node(at).line),
        }
    };
    let mut found: Vec<BranchReach> =
        first_branches(session, MOST).iter().map(|branch| reach_of(branch.tip)).collect();
    if found.len() == 1 && found[0].broken_at.is_none() {
        found.clear();
    }
    found
}

/// The line with the broken link, if what a way begins with cannot begin a conversation.
fn broken(view: &View<'_>, top: NodeId) -> Option<NodeId> {
    match view.above(top) {
        Above::Nothing if can_begin(view.node(top)) => None,
        // A log that begins in the middle has nothing before its first line.
        Above::Missing if view.node(view.break_at(top)).line == 1 => None,
        Above::Nothing | Above::Missing | Above::Line(_) => Some(view.break_at(top)),
    }
}
