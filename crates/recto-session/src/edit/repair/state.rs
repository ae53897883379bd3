//! What changes when steps of a repair are made, and can be gone back to.

use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::Arc;

use super::bench::SheetId;
use crate::edit::Change;
use crate::edit::Manuscript;
use crate::edit::change::Changes;

/// One line, from the old log or new.
pub(super) enum Sheet<'s> {
    Old { place: usize, changes: Vec<&'s Change> },
    New { bytes: &'s [u8] },
}

/// What changes when steps are made. A copy shares what stays, so that a log of any size can
/// be gone back to.
#[derive(Clone)]
pub(super) struct State {
    /// How many lines the old log has; their sheets come first.
    pub(super) old: usize,
    /// The changes of lines of the old log.
    pub(super) changes: Arc<Changes>,
    /// The lines that are new.
    pub(super) new: Arc<Vec<Vec<u8>>>,
    /// The sheets, if they are not those of the old log.
    pub(super) order: Option<Arc<Vec<u32>>>,
    /// For each place the first sheet of the old log from there on, once that is asked for.
    later: OnceCell<Arc<[u32]>>,
    pub(super) aside: Arc<Vec<usize>>,
}

impl State {
    pub(super) fn of(old: usize) -> State {
        let (changes, new, aside) = (Arc::default(), Arc::default(), Arc::default());
        State { old, changes, new, order: None, later: OnceCell::new(), aside }
    }

    pub(super) fn get(&self, sheet: SheetId) -> Sheet<'_> {
        match sheet.checked_sub(self.old).and_then(|at| self.new.get(at)) {
            Some(bytes) => Sheet::New { bytes },
            None => Sheet::Old { place: sheet, changes: self.changes.of(sheet) },
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

    /// Puts the sheets in another order.
    pub(super) fn set_order(&mut self, order: Arc<Vec<u32>>) {
        self.order = Some(order);
        self.later = OnceCell::new();
    }

    /// The first sheet of the old log at a place or after it. Millions may ask, and millions of
    /// new ones may stand in between.
    pub(super) fn old_from(&self, place: usize) -> Option<SheetId> {
        let Some(order) = &self.order else { return (place < self.old).then_some(place) };
        let later = self.later.get_or_init(|| {
            let mut next = u32::MAX;
            let mut later = vec![next; order.len()];
            for (place, sheet) in order.iter().enumerate().rev() {
                if (*sheet as SheetId) < self.old {
                    next = *sheet;
                }
                later[place] = next;
            }
            later.into()
        });
        later.get(place).map(|sheet| *sheet as SheetId).filter(|sheet| *sheet < self.old)
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

/// Puts sheets in another order, at the places that they have. Where each sheet is is found
/// once for all that is put in order.
#[derive(Default)]
pub(super) struct Sorter {
    /// The place of each sheet.
    places: Vec<u32>,
}

impl Sorter {
    /// Puts some of the sheets in an order.
    pub(super) fn put_in_order(&mut self, state: &mut State, sheets: &[SheetId]) {
        let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        if self.places.is_empty() {
            self.places = vec![u32::MAX; state.old + state.new.len()];
            for place in 0..state.count() {
                self.places[state.at(place)] = short(place);
            }
        }
        let is_there =
            |sheet: &&SheetId| self.places.get(**sheet).is_some_and(|at| *at != u32::MAX);
        let sheets: Vec<SheetId> = sheets.iter().filter(is_there).copied().collect();
        let mut places: Vec<u32> = sheets.iter().map(|sheet| self.places[*sheet]).collect();
        places.sort_unstable();
        let order = state.order.take().unwrap_or_else(|| Arc::new((0..short(state.old)).collect()));
        let mut order = order;
        let list = Arc::make_mut(&mut order);
        for (sheet, place) in sheets.into_iter().zip(places) {
            list[place as usize] = short(sheet);
            self.places[sheet] = place;
        }
        state.set_order(order);
    }
}
