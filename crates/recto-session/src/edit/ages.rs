//! How long ago each line was, in turns.

use std::collections::HashMap;

use crate::NodeId;
use crate::Turn;
use crate::TurnKind;
use crate::edit::Manuscript;
use crate::request::Generation;
use crate::request::history_to;
use crate::turns;

/// The turns of a session, and where its lines are in them.
pub(super) struct Ages {
    pub(super) turns: Vec<Turn>,
    /// The conversation as it is now, the oldest line first, in parts that a
    /// compaction begins.
    pub(super) history: Vec<Vec<NodeId>>,
    turn_of: Vec<u32>,
    age_of: HashMap<u32, u32>,
}

impl Ages {
    pub(super) fn new(manuscript: &Manuscript, leaf: Option<NodeId>) -> Ages {
        let session = &manuscript.session;
        let turns = turns(session);
        let latest = Generation::latest();
        let history = leaf.map_or_else(Vec::new, |leaf| history_to(session, leaf, latest));
        let mut is_current = vec![false; session.nodes().len()];
        for id in history.iter().flatten() {
            is_current[id.index()] = true;
        }
        let mut turn_of = vec![0; session.nodes().len()];
        let mut age_of = HashMap::new();
        let mut age = 0;
        for turn in turns.iter().rev() {
            for id in &turn.nodes {
                turn_of[id.index()] = turn.number;
            }
            age_of.insert(turn.number, age);
            // Prompts of other branches are not turns of the conversation.
            let is_own = turn.prompt.is_some_and(|prompt| is_current[prompt.index()]);
            age += u32::from(turn.kind == TurnKind::Human && is_own);
        }
        Ages { turns, history, turn_of, age_of }
    }

    /// The number of the turn that a line is in.
    pub(super) fn turn(&self, id: NodeId) -> u32 {
        self.turn_of[id.index()]
    }

    /// How many prompts came after the turn of a line.
    pub(super) fn age(&self, id: NodeId) -> u32 {
        self.age_of.get(&self.turn(id)).copied().unwrap_or(0)
    }
}
