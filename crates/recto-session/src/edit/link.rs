//! What each line of a new log follows.
//!
//! A line that goes must not take the lines after it with it: they follow what
//! it followed. A chain that is written in one line, each after the one before,
//! is what clients of all generations load whole.

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::SessionId;
use recto_log::build::Envelope;
use recto_log::build::MetaLine;

use crate::NodeId;
use crate::Parent;
use crate::edit::Change;
use crate::edit::Draft;
use crate::edit::Place;

/// What a line follows in the new log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Nothing.
    Root,
    /// A line of the old log.
    Node(NodeId),
    /// A line that is added.
    New(EntryUuid),
}

impl Draft<'_> {
    /// Says what a line follows.
    pub fn link(&mut self, id: NodeId, link: Link) {
        let session = &self.manuscript.session;
        let as_before = match (&link, session.node(id).parent) {
            (Link::Root, Parent::Root) => true,
            (Link::Node(new), Parent::Node(old)) => *new == old,
            (Link::Root | Link::Node(_) | Link::New(_), _) => false,
        };
        if as_before {
            self.links.remove(&id);
        } else {
            self.links.insert(id, link);
        }
    }

    /// Hangs every line that followed a removed one on what that followed.
    pub fn relink(&mut self) {
        let session = &self.manuscript.session;
        // What stands for each removed line, so that long runs stay linear.
        let mut stands: Vec<Option<Option<Link>>> = vec![None; session.node_count()];
        for id in session.ids().filter(|id| self.keeps(*id)).collect::<Vec<_>>() {
            let Some(Link::Node(parent)) = self.effective(id) else { continue };
            if !self.keeps(parent)
                && let Some(link) = self.stand_in(parent, &mut stands)
            {
                self.link(id, link);
            }
        }
        self.relink_names();
    }

    /// What a line follows now; `None` if that is not there.
    pub(super) fn effective(&self, id: NodeId) -> Option<Link> {
        if let Some(link) = self.links.get(&id) {
            return Some(link.clone());
        }
        match self.manuscript.session.node(id).parent {
            Parent::Root => Some(Link::Root),
            Parent::Node(parent) => Some(Link::Node(parent)),
            Parent::Missing(_) => None,
        }
    }

    /// The first thing above a removed line that stays. `None` if the way up
    /// is broken or leads in a circle: then the line that asks stays as it is.
    fn stand_in(&self, removed: NodeId, stands: &mut [Option<Option<Link>>]) -> Option<Link> {
        let mut way = vec![removed];
        let mut at = removed;
        let found = loop {
            if let Some(known) = &stands[at.index()] {
                break known.clone();
            }
            match self.effective(at) {
                Some(Link::Node(parent)) if self.keeps(parent) => break Some(Link::Node(parent)),
                // More lines than there are: the way leads in a circle.
                Some(Link::Node(_)) if way.len() > stands.len() => break None,
                Some(Link::Node(parent)) => {
                    way.push(parent);
                    at = parent;
                }
                Some(link @ (Link::Root | Link::New(_))) => break Some(link),
                None => break None,
            }
        };
        for id in way {
            stands[id.index()] = Some(found.clone());
        }
        found
    }

    /// Lets other fields that name removed lines name what stands for them.
    fn relink_names(&mut self) {
        let session = &self.manuscript.session;
        let mut stands = vec![None; session.node_count()];
        let mut renamed = Vec::new();
        for id in session.ids().filter(|id| self.keeps(*id)) {
            let Some(parent) = session.node(id).logical_parent else { continue };
            let Some(gone) = session.find(parent).filter(|parent| !self.keeps(*parent)) else {
                continue;
            };
            if let Some(Link::Node(stand)) = self.stand_in(gone, &mut stands) {
                renamed.push((id, session.node(stand).uuid()));
            }
        }
        for (id, uuid) in renamed {
            self.change(id, Change::set_string(["logicalParentUuid".into()], &uuid.to_string()));
        }
    }

    /// Chains lines one after the other; the first one follows `top`. Lines
    /// that stand in another order in the log are moved. Progress hangs beside
    /// the chain, because old clients do not read it and would lose the way.
    pub fn chain(&mut self, top: Link, lines: &[NodeId]) {
        let mut link = top;
        for &id in lines {
            self.link(id, link.clone());
            if self.manuscript.session.node(id).kind != Kind::Progress {
                link = Link::Node(id);
            }
        }
        let places: Vec<usize> = lines.iter().map(|id| self.manuscript.place(*id)).collect();
        if !places.is_sorted() {
            self.put_in_order(&places);
        }
    }

    /// Puts the lines at some places in the given order, at those same places.
    fn put_in_order(&mut self, places: &[usize]) {
        let count = self.manuscript.lines().len();
        let mut order = self.order.take().unwrap_or_else(|| (0..count).collect());
        let mut is_moved = vec![false; count];
        for &place in places {
            is_moved[place] = true;
        }
        let mut next = places.iter();
        for slot in order.iter_mut().filter(|slot| is_moved[**slot]) {
            if let Some(place) = next.next() {
                *slot = *place;
            }
        }
        self.order = Some(order);
    }

    /// Makes a line the one that every client resumes from: the newest of the
    /// log, and named by its last line. `prompt` is what the user said last.
    pub fn settle_leaf(&mut self, leaf: NodeId, own_id: Option<SessionId>, prompt: &str) {
        let session = &self.manuscript.session;
        let own = session.node(leaf).time();
        let others = session.ids().filter(|id| *id != leaf && self.keeps(*id));
        let others = others.filter(|id| !session.node(*id).flags.is_sidechain);
        let newest: Option<Timestamp> = others.filter_map(|id| session.node(id).time()).max();
        // Of equal times old clients take the first line.
        if let Some(newest) = newest
            && own.is_none_or(|own| own <= newest)
            && let Ok(later) = newest.checked_add(SignedDuration::from_millis(1))
        {
            self.change(leaf, Change::set_string(["timestamp".into()], &format!("{later:.3}")));
        }
        let uuid = session.node(leaf).uuid();
        for place in 0..self.manuscript.lines().len() {
            if self.manuscript.lines().get(place).is_some_and(|line| line.kind == Kind::LastPrompt)
            {
                self.remove_line(place);
            }
        }
        let line = MetaLine::last_prompt(prompt, uuid);
        self.add(Place::End, Envelope::of_session(own_id).meta(&line));
    }
}
