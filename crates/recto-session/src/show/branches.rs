//! Branches: where a session went two ways, after a rewind or when two clients
//! went on with it at once.
//!
//! The lines of one API message and the results of its calls count as one step,
//! because parallel calls hang on each other in ways that look like branches and
//! are none. Steps follow each other as their lines do, across compactions; what
//! is not spoken (attachments, remarks) is passed over.

use jiff::Timestamp;
use recto_log::Kind;
use recto_log::UserText;

use crate::BlockFact;
use crate::NameId;
use crate::NodeId;
use crate::Parent;
use crate::Session;
use crate::Turn;
use crate::fold::hash::IdMap;
use crate::request::Generation;
use crate::request::chain_now;
use crate::request::leaf_now;
use crate::show::turns::begins_turn;

/// The generations whose way to choose a branch is told.
pub const TOLD: [Generation; 3] = [Generation::V2_0_0, Generation::V2_1_0, Generation::V2_1_300];

/// One way that a session went.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branch {
    /// Its last line.
    pub tip: NodeId,
    /// The last line that it shares with another branch; `None` if it shares none.
    pub fork: Option<NodeId>,
    /// Turns that begin on it alone.
    pub turns: u32,
    /// API messages on it alone.
    pub messages: u32,
    /// The last prompt on the way to the tip.
    pub last_prompt: Option<NodeId>,
    /// When it was written last.
    pub time: Option<Timestamp>,
    /// Of [`TOLD`], the generations that go on from it.
    pub generations: Vec<Generation>,
}

/// The branches of a session, in the order of their tips in the log. A session
/// that went one way has one.
pub fn branches(session: &Session) -> Vec<Branch> {
    let steps = Steps::new(session);
    let leaves: Vec<(Generation, Option<usize>)> = TOLD
        .into_iter()
        .map(|generation| {
            let leaf = leaf_now(session, generation);
            (generation, leaf.and_then(|leaf| steps.near[leaf.index()]))
        })
        .collect();
    let mut tips: Vec<usize> =
        (0..steps.steps.len()).filter(|step| steps.children[*step] == 0).collect();
    // What the client wrote by itself before a beginning is no branch.
    if tips.iter().any(|tip| steps.steps[*tip].says) {
        tips.retain(|tip| steps.steps[*tip].says || steps.steps[*tip].above.is_some());
    }
    let mut children = steps.children.clone();
    // A client that goes on from a line with lines below it begins a branch,
    // even if nothing has been said on it yet.
    for (_, leaf) in &leaves {
        if let Some(leaf) = leaf.filter(|leaf| !tips.contains(leaf)) {
            tips.push(leaf);
            children[leaf] += 1;
        }
    }
    tips.sort_by_key(|tip| session.node(steps.steps[*tip].last).line);
    // The tip on whose way each step was seen last, so that a cycle ends.
    let mut seen = vec![usize::MAX; steps.steps.len()];
    let branch = |tip: usize| {
        let generations = leaves.iter().filter(|(_, leaf)| *leaf == Some(tip));
        let generations = generations.map(|(generation, _)| *generation).collect();
        Branch { generations, ..branch_of(session, &steps, &children, tip, &mut seen) }
    };
    tips.into_iter().map(branch).collect()
}

/// Which turns the newest clients go on from, in the order of `turns`. Turns of
/// subagents, and those in which nothing is spoken, are on every branch.
pub fn on_current_branch(session: &Session, turns: &[Turn]) -> Vec<bool> {
    let steps = Steps::new(session);
    let (leaf, chain) = chain_now(session);
    let mut is_current = vec![false; steps.steps.len()];
    let last = || session.ids().max_by_key(|id| session.node(*id).line);
    let leaf = leaf.or_else(last);
    // The chain is healed where the log is broken, and misses parallel calls.
    for line in chain.into_iter().chain(leaf) {
        let mut at = steps.near[line.index()];
        while let Some(step) = at.filter(|step| !is_current[*step]) {
            is_current[step] = true;
            at = steps.steps[step].above;
        }
    }
    let is_on = |turn: &Turn| {
        let mut spoken = turn.nodes.iter().filter_map(|id| steps.of[id.index()]).peekable();
        spoken.peek().is_none() || spoken.any(|step| is_current[step])
    };
    turns.iter().map(is_on).collect()
}

fn branch_of(
    session: &Session,
    steps: &Steps,
    children: &[u32],
    tip: usize,
    seen: &mut [usize],
) -> Branch {
    let mut branch = Branch {
        tip: steps.steps[tip].last,
        fork: None,
        turns: 0,
        messages: 0,
        last_prompt: None,
        time: steps.steps[tip].time,
        generations: Vec::new(),
    };
    // A branch on which nothing has been said is all shared.
    let mut is_shared = steps.children[tip] > 0;
    let mut at = Some(tip);
    while let Some(step) = at.filter(|step| std::mem::replace(&mut seen[*step], tip) != tip) {
        is_shared |= step != tip && children[step] > 1;
        let known = &steps.steps[step];
        if is_shared && branch.fork.is_none() {
            branch.fork = Some(known.last);
        }
        if branch.last_prompt.is_none() && is_typed(session.node(known.first).user) {
            branch.last_prompt = Some(known.first);
        }
        if is_shared && branch.last_prompt.is_some() {
            break;
        }
        if !is_shared {
            branch.turns += u32::from(begins_turn(session, known.first));
            branch.messages += u32::from(known.is_answer);
        }
        at = known.above;
    }
    branch
}

fn is_typed(text: UserText) -> bool {
    use UserText::*;
    matches!(text, Human | Command | BashInput | AgentTask)
}

/// A prompt, or a message with the results of its calls.
#[derive(Debug, Clone)]
struct Step {
    first: NodeId,
    last: NodeId,
    time: Option<Timestamp>,
    is_answer: bool,
    /// Whether a person or the model said something in it.
    says: bool,
    above: Option<usize>,
}

/// The spoken lines of a session as steps.
struct Steps {
    steps: Vec<Step>,
    /// The step of each line that is in one.
    of: Vec<Option<usize>>,
    /// The step of each line, or of the nearest one above it.
    near: Vec<Option<usize>>,
    /// The lines that are in steps, in the order of the log.
    order: Vec<NodeId>,
    /// How many steps follow each step.
    children: Vec<u32>,
}

impl Steps {
    fn new(session: &Session) -> Steps {
        let is_main = |id: &NodeId| !session.node(*id).flags.is_sidechain;
        let is_spoken = |id: &NodeId| session.node(*id).is_spoken();
        // In the log of a subagent all lines are of a subagent.
        let takes_all = !session.ids().filter(is_spoken).any(|id| is_main(&id));
        let mut order: Vec<NodeId> =
            session.ids().filter(|id| is_spoken(id) && (takes_all || is_main(id))).collect();
        order.sort_by_key(|id| session.node(*id).line);
        let mut steps = Steps {
            steps: Vec::new(),
            of: vec![None; session.nodes().len()],
            near: Vec::new(),
            order: order.clone(),
            children: Vec::new(),
        };
        let mut by_message: IdMap<NameId, usize> = IdMap::default();
        // Results can stand before their call in a file that is out of order.
        let (answers, others): (Vec<NodeId>, Vec<NodeId>) =
            order.into_iter().partition(|id| session.node(*id).kind == Kind::Assistant);
        for id in answers {
            let message = session.node(id).message;
            let known = message.and_then(|message| by_message.get(&message).copied());
            let step = steps.add(session, id, known);
            if let Some(message) = message {
                by_message.insert(message, step);
            }
        }
        for id in others {
            let call = session.node(id).blocks.iter().find_map(|block| match block {
                BlockFact::ToolResult { id, .. } => session.facts().call(*id)?.call,
                _ => None,
            });
            let known = call.and_then(|call| steps.of[call.index()]);
            steps.add(session, id, known);
        }
        steps.link(session);
        steps
    }

    fn add(&mut self, session: &Session, id: NodeId, known: Option<usize>) -> usize {
        let node = session.node(id);
        let says = node.kind == Kind::Assistant || begins_turn(session, id);
        let at = known.unwrap_or(self.steps.len());
        self.of[id.index()] = Some(at);
        match self.steps.get_mut(at) {
            Some(step) => {
                if node.line > session.node(step.last).line {
                    step.last = id;
                }
                step.time = step.time.max(node.time());
            }
            None => self.steps.push(Step {
                first: id,
                last: id,
                time: node.time(),
                is_answer: node.kind == Kind::Assistant && !node.flags.is_synthetic,
                says,
                above: None,
            }),
        }
        at
    }

    fn link(&mut self, session: &Session) {
        self.find_near(session);
        for step in 0..self.steps.len() {
            let first = self.steps[step].first;
            let above = self.above(session, first);
            self.steps[step].above =
                above.and_then(|above| self.near[above.index()]).filter(|above| *above != step);
        }
        self.children = vec![0; self.steps.len()];
        for step in 0..self.steps.len() {
            if let Some(above) = self.steps[step].above {
                self.children[above] += 1;
            }
        }
        self.prune(session);
    }

    /// Takes ends away on which nobody says anything: texts that the client adds
    /// to one of several parallel results, and the like. What is taken away
    /// counts as part of the step above.
    fn prune(&mut self, session: &Session) {
        let mut gone: Vec<(usize, usize)> = Vec::new();
        let is_mute =
            |step: &Step| !step.says && session.node(step.first).user != UserText::ToolResult;
        let mut ends: Vec<usize> = (0..self.steps.len()).collect();
        ends.retain(|step| self.children[*step] == 0);
        while let Some(end) = ends.pop() {
            let Some(above) = self.steps[end].above.filter(|_| is_mute(&self.steps[end])) else {
                continue;
            };
            gone.push((end, above));
            self.children[above] -= 1;
            if self.children[above] == 0 {
                ends.push(above);
            }
            // Never an end again.
            self.children[end] = u32::MAX;
        }
        // Last lines and times of what was taken away go to what is left.
        let mut target: Vec<usize> = (0..self.steps.len()).collect();
        for &(end, above) in gone.iter().rev() {
            target[end] = target[above];
            let Step { last, time, .. } = self.steps[end];
            let kept = &mut self.steps[target[end]];
            kept.time = kept.time.max(time);
            if session.node(last).line > session.node(kept.last).line {
                kept.last = last;
            }
        }
        for of in self.of.iter_mut().chain(&mut self.near).flatten() {
            *of = target[*of];
        }
    }

    /// For each line its step, or that of the nearest line above it that is in
    /// one. Each line is passed once, and a cycle ends.
    fn find_near(&mut self, session: &Session) {
        self.near = self.of.clone();
        let mut is_passed = vec![false; self.of.len()];
        let mut way = Vec::new();
        for start in session.ids() {
            let mut at = Some(start);
            let mut found = None;
            while let Some(id) = at {
                found = self.near[id.index()];
                if found.is_some() || std::mem::replace(&mut is_passed[id.index()], true) {
                    break;
                }
                way.push(id);
                at = self.above(session, id);
            }
            for id in way.drain(..) {
                self.near[id.index()] = found;
            }
        }
    }

    /// The line above, across a compaction. Some clients lose lines: what hangs
    /// on one that is not there follows the spoken line before it in the log.
    fn above(&self, session: &Session, id: NodeId) -> Option<NodeId> {
        let node = session.node(id);
        let named = || session.find(node.logical_parent.as_ref()?);
        let before = || {
            let is_lost =
                matches!(node.parent, Parent::Missing(_)) || node.logical_parent.is_some();
            let place = self.order.partition_point(|other| session.node(*other).line < node.line);
            self.order.get(place.checked_sub(1)?).copied().filter(|_| is_lost)
        };
        session.parent(id).or_else(named).or_else(before)
    }
}

#[cfg(test)]
#[path = "branches_tests.rs"]
mod tests;
