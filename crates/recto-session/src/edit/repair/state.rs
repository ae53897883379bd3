//! What changes when steps of a repair are made, and can be gone back to.

use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;

use super::bench::SheetId;
use crate::edit::Change;
use crate::edit::Manuscript;

/// One line, from the old log or new.
pub(super) enum Sheet<'s> {
    Old { place: usize, changes: &'s [Change] },
    New { bytes: &'s [u8] },
}

/// What changes when steps are made. A copy shares what stays, so that a log of any size can
/// be gone back to.
#[derive(Clone)]
pub(super) struct State {
    /// How many lines the old log has; their sheets come first.
    pub(super) old: usize,
    /// The changes of lines of the old log.
    pub(super) changes: Arc<HashMap<SheetId, Vec<Change>>>,
    /// The lines that are new.
    pub(super) new: Arc<Vec<Vec<u8>>>,
    /// The sheets, if they are not those of the old log.
    pub(super) order: Option<Arc<Vec<u32>>>,
    pub(super) aside: Arc<Vec<usize>>,
}

impl State {
    pub(super) fn of(old: usize) -> State {
        let (changes, new, aside) = (Arc::default(), Arc::default(), Arc::default());
        State { old, changes, new, order: None, aside }
    }

    pub(super) fn get(&self, sheet: SheetId) -> Sheet<'_> {
        match sheet.checked_sub(self.old).and_then(|at| self.new.get(at)) {
            Some(bytes) => Sheet::New { bytes },
            None => {
                let changes = self.changes.get(&sheet).map_or(&[][..], Vec::as_slice);
                Sheet::Old { place: sheet, changes }
            }
        }
    }

    /// How many lines the log has by now.
    pub(super) fn count(&self) -> usize {
        self.order.as_ref().map_or(self.old, |order| order.len())
    }

    /// The sheet at a place.
    pub(super) fn at(&self, place: usize) -> SheetId {
        self.order.as_ref().map_or(place, |order| order[place] as SheetId)
    }

    pub(super) fn sheets(&self) -> impl Iterator<Item = SheetId> + '_ {
        (0..self.count()).map(|place| self.at(place))
    }

    pub(super) fn add(&mut self, bytes: Vec<u8>) -> SheetId {
        Arc::make_mut(&mut self.new).push(bytes);
        self.old + self.new.len() - 1
    }
}

/// The log as it is by now: that of the source, until something is done.
#[derive(Clone)]
pub(super) enum Now<'m> {
    Source(&'m Manuscript),
    Changed(Arc<Manuscript>),
}

impl Deref for Now<'_> {
    type Target = Manuscript;

    fn deref(&self) -> &Manuscript {
        match self {
            Now::Source(manuscript) => manuscript,
            Now::Changed(manuscript) => manuscript,
        }
    }
}

/// Puts some of the sheets in another order, at the places that they have.
pub(super) fn put_in_order(state: &mut State, sheets: &[SheetId]) {
    let short = |sheet: SheetId| u32::try_from(sheet).unwrap_or(u32::MAX);
    let moved: HashSet<u32> = sheets.iter().copied().map(short).collect();
    let mut order: Vec<u32> = state.sheets().map(short).collect();
    let mut next = sheets.iter();
    for slot in order.iter_mut().filter(|slot| moved.contains(slot)) {
        if let Some(sheet) = next.next() {
            *slot = short(*sheet);
        }
    }
    state.order = Some(Arc::new(order));
}
