//! What a new log holds: lines of the old one, changes in them, new lines.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::EntryUuid;

use crate::NodeId;
use crate::edit::Change;
use crate::edit::Link;
use crate::edit::Manuscript;
use crate::edit::change::Changes;

/// Where a new line goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Before the line at this place of the manuscript.
    Before(usize),
    /// After everything.
    End,
}

/// A log that is to be written. It begins as the old one.
#[derive(Debug, Clone)]
pub struct Draft<'m> {
    pub(super) manuscript: &'m Manuscript,
    pub(super) is_removed: Vec<bool>,
    pub(super) changes: Changes,
    pub(super) added: BTreeMap<Place, Vec<Vec<u8>>>,
    /// Parents that differ from those in the old log.
    pub(super) links: HashMap<NodeId, Link>,
    /// The lines in another order than that of the old log.
    pub(super) order: Option<Vec<usize>>,
}

impl<'m> Draft<'m> {
    /// The log as it is.
    pub fn new(manuscript: &'m Manuscript) -> Draft<'m> {
        Draft {
            manuscript,
            is_removed: vec![false; manuscript.lines().len()],
            changes: Changes::default(),
            added: BTreeMap::new(),
            links: HashMap::new(),
            order: None,
        }
    }

    /// The log that the draft is of.
    pub fn manuscript(&self) -> &'m Manuscript {
        self.manuscript
    }

    /// Leaves out the line at a place. Lines that follow it are not linked
    /// anew; see [`Draft::relink`].
    pub(crate) fn remove_line(&mut self, place: usize) {
        if let Some(is_removed) = self.is_removed.get_mut(place) {
            *is_removed = true;
        }
    }

    /// Leaves out a line of the chain.
    pub fn remove(&mut self, id: NodeId) {
        self.remove_line(self.manuscript.place(id));
    }

    /// Whether a line of the chain stays.
    pub fn keeps(&self, id: NodeId) -> bool {
        !self.is_removed.get(self.manuscript.place(id)).copied().unwrap_or(true)
    }

    /// Whether the line at a place stays.
    pub(crate) fn keeps_line(&self, place: usize) -> bool {
        !self.is_removed.get(place).copied().unwrap_or(true)
    }

    /// Changes a value of the line at a place. Changes of one line are made in
    /// the order in which they were asked for.
    pub(crate) fn change_line(&mut self, place: usize, change: Change) {
        self.changes.add(place, change);
    }

    /// Changes a value of a line of the chain.
    pub fn change(&mut self, id: NodeId, change: Change) {
        self.change_line(self.manuscript.place(id), change);
    }

    /// Adds a line, without its line end.
    pub fn add(&mut self, place: Place, line: Vec<u8>) {
        self.added.entry(place).or_default().push(line);
    }

    /// Puts the lines in another order. Every place of the manuscript must
    /// occur once.
    pub(crate) fn reorder(&mut self, order: Vec<usize>) {
        self.order = Some(order);
    }

    /// Whether the new log is the old one.
    pub fn is_unchanged(&self) -> bool {
        self.changes.is_empty()
            && self.added.is_empty()
            && self.links.is_empty()
            && self.order.is_none()
            && !self.is_removed.contains(&true)
    }

    /// How many lines go, how many change and how many are added.
    pub fn counts(&self) -> (usize, usize, usize) {
        let linked = self.links.keys().map(|id| self.manuscript.place(*id));
        let changed = self.changes.lines().chain(linked);
        let mut is_changed = vec![false; self.is_removed.len()];
        for place in changed.filter(|place| self.keeps_line(*place)) {
            is_changed[place] = true;
        }
        let changed = is_changed.into_iter().filter(|is_changed| *is_changed).count();
        let removed = self.is_removed.iter().filter(|is_removed| **is_removed).count();
        (removed, changed, self.added.values().map(Vec::len).sum())
    }

    /// The lines of the chain that go.
    pub fn removed(&self) -> HashSet<EntryUuid> {
        let session = &self.manuscript.session;
        let gone = session.ids().filter(|id| !self.keeps(*id));
        gone.map(|id| session.node(id).uuid()).collect()
    }
}
