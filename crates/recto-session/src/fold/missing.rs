//! Parents that are named and not there, or not yet, and the lines that wait for them.

use std::hash::BuildHasher;

use recto_log::EntryUuid;

use crate::NodeId;
use crate::Parent;
use crate::fold::hash::IdMap;
use crate::fold::hash::Places;
use crate::fold::nodes::Nodes;

/// Parents that are not there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Missing {
    parents: Vec<Awaited>,
    by_uuid: Places,
    /// Places of parents that have come.
    free: Vec<u32>,
    /// The lines that wait, but for the first of each parent.
    more: IdMap<u32, Vec<NodeId>>,
}

/// A parent, and the first line that waits for it.
#[derive(Debug, Clone)]
struct Awaited {
    uuid: EntryUuid,
    first: Option<u32>,
}

impl Missing {
    /// The uuid of a parent that is not there.
    pub(crate) fn uuid(&self, place: u32) -> Option<&EntryUuid> {
        self.parents.get(place as usize).map(|parent| &parent.uuid)
    }

    /// The place of a parent, new or known.
    pub(crate) fn place(&mut self, uuid: EntryUuid) -> u32 {
        if let Some(known) = self.find(&uuid) {
            return known;
        }
        let parent = Awaited { uuid, first: None };
        let place = match self.free.pop() {
            Some(place) => {
                self.parents[place as usize] = parent;
                place
            }
            None => {
                self.parents.push(parent);
                self.parents.len() as u32 - 1
            }
        };
        let parents = &self.parents;
        let uuid = &parents[place as usize].uuid;
        self.by_uuid.add(uuid, place, |hashes, at| hashes.hash_one(&parents[at as usize].uuid));
        place
    }

    /// A line waits, if its parent is not there.
    pub(crate) fn wait(&mut self, child: NodeId, parent: Parent) {
        let Parent::Missing(place) = parent else { return };
        match &mut self.parents[place as usize].first {
            first @ None => *first = Some(child.0),
            Some(_) => self.more.entry(place).or_default().push(child),
        }
    }

    /// Tells those who wait that their parent is there.
    pub(crate) fn found(&mut self, uuid: &EntryUuid, id: NodeId, nodes: &mut Nodes) {
        let Some(place) = self.find(uuid) else { return };
        let first = self.parents[place as usize].first.take().map(NodeId);
        for child in first.into_iter().chain(self.more.remove(&place).unwrap_or_default()) {
            if nodes.parent(child) == Parent::Missing(place) {
                nodes.set_parent(child, Parent::Node(id));
            }
        }
        self.by_uuid.remove(uuid, |at| at == place);
        self.free.push(place);
    }

    fn find(&self, uuid: &EntryUuid) -> Option<u32> {
        // Most logs lack nothing.
        if self.parents.is_empty() {
            return None;
        }
        self.by_uuid.find(uuid, |at| self.parents[at as usize].uuid == *uuid)
    }
}
