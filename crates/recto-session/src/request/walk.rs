//! From the leaf up to the beginning.

use std::cmp::Reverse;

use super::Generation;
use super::reach::Hang;
use super::view::Above;
use super::view::View;
use crate::NodeId;
use crate::fold::bits::Bits;

/// An orphan is hung on a line that is at most this much older.
const FOSTER_MILLISECONDS: i64 = 5000;

/// The lines from the beginning to the leaf.
pub(super) fn walk(view: &View<'_>, leaf: NodeId) -> Result<Vec<NodeId>, Hang> {
    let heals = view.generation >= Generation::V2_1_100;
    let mut seen = Bits::new(view.session.node_count());
    let mut fosters = None;
    let mut chain = Vec::new();
    let mut at = Some(leaf);
    while let Some(id) = at {
        if !seen.add(id) {
            return Err(Hang::Cycle { line: view.node(id).line });
        }
        chain.push(id);
        let above = match view.above(id) {
            // A line above that the walk has passed is as good as none.
            Above::Line(parent) if heals && seen.has(parent) => Above::Missing,
            above => above,
        };
        at = match above {
            Above::Nothing => None,
            Above::Line(parent) => Some(parent),
            Above::Missing if heals => {
                fosters.get_or_insert_with(|| Fosters::new(view)).find(view, id, &seen)
            }
            Above::Missing => None,
        };
    }
    chain.reverse();
    chain.shrink_to_fit();
    Ok(chain)
}

/// Marks what a line means to follow, across compactions too, as far as nothing is
/// marked yet. Orphans are hung where the client would have hung them.
pub(super) fn mark_history(view: &View<'_>, from: NodeId, marks: &mut Bits) {
    let heals = view.generation >= Generation::V2_1_100;
    let mut fosters = None;
    let mut at = from;
    loop {
        let above = match view.above(at) {
            Above::Missing if heals => {
                fosters.get_or_insert_with(|| Fosters::new(view)).find(view, at, marks)
            }
            Above::Line(_) | Above::Nothing | Above::Missing => view.meant_above(at),
        };
        match above {
            Some(next) if marks.add(next) => at = next,
            Some(_) | None => return,
        }
    }
}

/// The lines that an orphan may be hung on: it goes below the newest line that
/// is not newer than itself, wherever that is in the file, but not below its
/// own descendants or what the walk has passed.
pub(crate) struct Fosters {
    /// Lines with a time, sorted by it; of equal times the first in the file comes last.
    lines: Vec<NodeId>,
    /// Place `n` stands for `lines[n - 1]`, place 0 for none. A place points to
    /// itself, or to an earlier one if the walk has passed its line, so that a
    /// walk over many orphans stays linear.
    open: Vec<u32>,
    /// The line at the top of each line's tree.
    tops: Vec<NodeId>,
}

impl Fosters {
    pub(crate) fn new(view: &View<'_>) -> Fosters {
        let takes_sidechains = view.generation == Generation::V2_1_100;
        let mut lines: Vec<NodeId> = view
            .ids()
            .filter(|id| takes_sidechains || !view.node(*id).flags.is_sidechain)
            .filter(|id| view.node(*id).time().is_some())
            .collect();
        lines.sort_unstable_by_key(|id| (time_of(view, *id), Reverse(view.node(*id).line)));
        let open = (0..=u32::try_from(lines.len()).unwrap_or(u32::MAX)).collect();
        Fosters { lines, open, tops: tops(view) }
    }

    pub(crate) fn find(&mut self, view: &View<'_>, orphan: NodeId, seen: &Bits) -> Option<NodeId> {
        view.node(orphan).time()?;
        let time = time_of(view, orphan);
        let mut place = self.lines.partition_point(|other| time_of(view, *other) <= time);
        loop {
            place = self.last_open(place, seen);
            let line = *self.lines.get(place.checked_sub(1)?)?;
            if time - time_of(view, line) > FOSTER_MILLISECONDS {
                return None;
            }
            // The orphan is the top of its tree, or in the ring there: this finds its descendants.
            if self.tops[line.index()] != self.tops[orphan.index()] {
                return Some(line);
            }
            place -= 1;
        }
    }

    /// The last place up to `start` whose line the walk has not passed.
    fn last_open(&mut self, start: usize, seen: &Bits) -> usize {
        let mut found = start;
        loop {
            let next = self.open[found] as usize;
            if next != found {
                found = next;
            } else if found > 0 && seen.has(self.lines[found - 1]) {
                self.open[found] -= 1;
            } else {
                break;
            }
        }
        let mut place = start;
        while place != found {
            place = std::mem::replace(&mut self.open[place], found as u32) as usize;
        }
        found
    }
}

/// The time of a line that has one.
fn time_of(view: &View<'_>, id: NodeId) -> i64 {
    view.node(id).time.number()
}

/// The top of the tree that each line is in, following what lines mean to
/// follow; a line in a cycle, or below one, has some line of the cycle.
fn tops(view: &View<'_>) -> Vec<NodeId> {
    const UNKNOWN: NodeId = NodeId(u32::MAX);
    let mut tops = vec![UNKNOWN; view.session.node_count()];
    let mut on_way = Bits::new(view.session.node_count());
    let mut way = Vec::new();
    for start in view.ids() {
        let mut at = start;
        let top = loop {
            if tops[at.index()] != UNKNOWN {
                break tops[at.index()];
            }
            if !on_way.add(at) {
                break at;
            }
            way.push(at);
            match view.above_in_meaning(at) {
                Some(next) => at = next,
                None => break at,
            }
        };
        for id in way.drain(..) {
            tops[id.index()] = top;
        }
    }
    tops
}
