//! How long ago each line was, in turns.

use crate::NodeId;
use crate::TurnKind;
use crate::Turns;
use crate::edit::Manuscript;
use crate::request::Generation;
use crate::request::history_to;
use crate::turns;

/// The turns of a session, and where its lines are in them.
pub(super) struct Ages {
    pub(super) turns: Turns,
    /// The conversation as it is now, the oldest line first, in parts that a
    /// compaction begins.
    pub(super) history: Vec<Vec<NodeId>>,
    /// The place of the turn of each line.
    turn_of: Vec<u32>,
    age_of: Vec<u32>,
}

impl Ages {
    pub(super) fn new(manuscript: &Manuscript, leaf: Option<NodeId>) -> Ages {
        let session = &manuscript.session;
        let turns = turns(session);
        let latest = Generation::latest();
        let history = leaf.map_or_else(Vec::new, |leaf| history_to(session, leaf, latest));
        let mut is_current = vec![false; session.node_count()];
        for id in history.iter().flatten() {
            is_current[id.index()] = true;
        }
        let turn_of = turns.places(session);
        let mut age_of = vec![0; turns.len()];
        let mut age = 0;
        for at in (0..turns.len()).rev() {
            age_of[at] = age;
            // Prompts of other branches are not turns of the conversation.
            let is_own = turns.prompt(at).is_some_and(|prompt| is_current[prompt.index()]);
            age += u32::from(turns.kind(session, at) == TurnKind::Human && is_own);
        }
        Ages { turns, history, turn_of, age_of }
    }

    /// The number of the turn that a line is in.
    pub(super) fn turn(&self, id: NodeId) -> u32 {
        self.turn_of[id.index()] + 1
    }

    /// How many prompts came after the turn of a line.
    pub(super) fn age(&self, id: NodeId) -> u32 {
        self.age_of.get(self.turn_of[id.index()] as usize).copied().unwrap_or(0)
    }
}
