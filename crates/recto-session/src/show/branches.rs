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
use crate::Node;
use crate::NodeId;
use crate::Parent;
use crate::Session;
use crate::Turns;
use crate::fold::hash::IdMap;
use crate::fold::node::Moment;
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
    first_branches(session, usize::MAX)
}

/// The first branches, and no more than so many.
pub(crate) fn first_branches(session: &Session, most: usize) -> Vec<Branch> {
    let steps = Steps::new(session);
    let leaves: Vec<(Generation, Option<u32>)> = TOLD
        .into_iter()
        .map(|generation| {
            let leaf = leaf_now(session, generation);
            (generation, leaf.and_then(|leaf| steps.near(leaf)))
        })
        .collect();
    let count = steps.steps.len() as u32;
    let mut tips: Vec<u32> =
        (0..count).filter(|step| steps.children[*step as usize] == 0).collect();
    // What the client wrote by itself before a beginning is no branch.
    if tips.iter().any(|tip| steps.at(*tip).says) {
        tips.retain(|tip| steps.at(*tip).says || steps.at(*tip).above().is_some());
    }
    let mut children = steps.children.clone();
    // A client that goes on from a line with lines below it begins a branch,
    // even if nothing has been said on it yet.
    for (_, leaf) in &leaves {
        if let Some(leaf) = leaf.filter(|leaf| !tips.contains(leaf)) {
            tips.push(leaf);
            children[leaf as usize] += 1;
        }
    }
    tips.sort_by_key(|tip| session.node(steps.at(*tip).last).line);
    let times = steps.times(session);
    // The tip on whose way each step was seen last, so that a cycle ends.
    let mut seen = vec![NONE; steps.steps.len()];
    let branch = |tip: u32| {
        let generations = leaves.iter().filter(|(_, leaf)| *leaf == Some(tip));
        let generations = generations.map(|(generation, _)| *generation).collect();
        let time = times[tip as usize].get();
        Branch { generations, time, ..branch_of(session, &steps, &children, tip, &mut seen) }
    };
    tips.into_iter().take(most).map(branch).collect()
}

/// Which turns the newest clients go on from, in the order of `turns`. Turns of
/// subagents, and those in which nothing is spoken, are on every branch.
pub fn on_current_branch(session: &Session, turns: &Turns) -> Vec<bool> {
    let steps = Steps::new(session);
    let (leaf, chain) = chain_now(session);
    let mut is_current = vec![false; steps.steps.len()];
    let last = || session.ids().max_by_key(|id| session.node(*id).line);
    let leaf = leaf.or_else(last);
    // The chain is healed where the log is broken, and misses parallel calls.
    for line in chain.into_iter().chain(leaf) {
        let mut at = steps.near(line);
        while let Some(step) = at.filter(|step| !is_current[*step as usize]) {
            is_current[step as usize] = true;
            at = steps.at(step).above();
        }
    }
    let is_on = |turn: usize| {
        let lines = turns.nodes(turn).iter().filter(|id| steps.takes(session, **id));
        let mut spoken = lines.filter_map(|id| steps.near(*id)).peekable();
        spoken.peek().is_none() || spoken.any(|step| is_current[step as usize])
    };
    (0..turns.len()).map(is_on).collect()
}

fn branch_of(
    session: &Session,
    steps: &Steps,
    children: &[u32],
    tip: u32,
    seen: &mut [u32],
) -> Branch {
    let mut branch = Branch {
        tip: steps.at(tip).last,
        fork: None,
        turns: 0,
        messages: 0,
        last_prompt: None,
        time: None,
        generations: Vec::new(),
    };
    // A branch on which nothing has been said is all shared.
    let mut is_shared = steps.children[tip as usize] > 0;
    let mut at = Some(tip);
    while let Some(step) =
        at.filter(|step| std::mem::replace(&mut seen[*step as usize], tip) != tip)
    {
        is_shared |= step != tip && children[step as usize] > 1;
        let known = steps.at(step);
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
        at = known.above();
    }
    branch
}

fn is_typed(text: UserText) -> bool {
    use UserText::*;
    matches!(text, Human | Command | BashInput | AgentTask)
}

/// No step.
const NONE: u32 = u32::MAX;

/// A prompt, or a message with the results of its calls.
#[derive(Debug, Clone, Copy)]
struct Step {
    first: NodeId,
    last: NodeId,
    /// The step above, or none.
    above: u32,
    is_answer: bool,
    /// Whether a person or the model said something in it.
    says: bool,
}

impl Step {
    fn above(&self) -> Option<u32> {
        (self.above != NONE).then_some(self.above)
    }
}

/// The spoken lines of a session as steps. A log may have millions, so places are short.
struct Steps {
    steps: Vec<Step>,
    /// Whether lines of subagents are in steps too.
    takes_all: bool,
    /// The step of each line, or of the nearest one above it.
    near: Vec<u32>,
    /// The lines that are in steps, in the order of the log.
    order: Vec<NodeId>,
    /// How many steps follow each step.
    children: Vec<u32>,
}

impl Steps {
    fn new(session: &Session) -> Steps {
        // In the log of a subagent all lines are of a subagent.
        let is_main = |node: Node<'_>| node.is_spoken() && !node.flags.is_sidechain;
        let mut steps = Steps {
            steps: Vec::new(),
            takes_all: !session.nodes().any(is_main),
            near: vec![NONE; session.node_count()],
            order: Vec::new(),
            children: Vec::new(),
        };
        steps.order = session.by_line().iter().filter(|id| steps.takes(session, *id)).collect();
        let mut by_message: IdMap<NameId, u32> = IdMap::default();
        // Results can stand before their call in a file that is out of order.
        let is_answer = |id: NodeId| session.node(id).kind == Kind::Assistant;
        let order = std::mem::take(&mut steps.order);
        for &id in order.iter().filter(|id| is_answer(**id)) {
            let message = session.node(id).message;
            let known = message.and_then(|message| by_message.get(&message).copied());
            let step = steps.add(session, id, known);
            if let Some(message) = message {
                by_message.insert(message, step);
            }
        }
        drop(by_message);
        for &id in order.iter().filter(|id| !is_answer(**id)) {
            let call = session.node(id).blocks.iter().find_map(|block| match block {
                BlockFact::ToolResult { id, .. } => session.facts().call(*id)?.call,
                _ => None,
            });
            let known = call.and_then(|call| steps.near(call));
            steps.add(session, id, known);
        }
        steps.order = order;
        steps.link(session);
        steps
    }

    /// Whether a line is in a step.
    fn takes(&self, session: &Session, id: NodeId) -> bool {
        let node = session.node(id);
        node.is_spoken() && (self.takes_all || !node.flags.is_sidechain)
    }

    fn at(&self, step: u32) -> &Step {
        &self.steps[step as usize]
    }

    fn near(&self, id: NodeId) -> Option<u32> {
        Some(self.near[id.index()]).filter(|step| *step != NONE)
    }

    fn add(&mut self, session: &Session, id: NodeId, known: Option<u32>) -> u32 {
        let node = session.node(id);
        let at = known.unwrap_or(self.steps.len() as u32);
        self.near[id.index()] = at;
        match self.steps.get_mut(at as usize) {
            Some(step) => {
                if node.line > session.node(step.last).line {
                    step.last = id;
                }
            }
            None => self.steps.push(Step {
                first: id,
                last: id,
                above: NONE,
                is_answer: node.kind == Kind::Assistant && !node.flags.is_synthetic,
                says: node.kind == Kind::Assistant || begins_turn(session, id),
            }),
        }
        at
    }

    /// When each step was written last, with all that counts as part of it.
    fn times(&self, session: &Session) -> Vec<Moment> {
        let mut times = vec![Moment::NONE; self.steps.len()];
        for id in &self.order {
            if let Some(step) = self.near(*id) {
                let time = &mut times[step as usize];
                *time = time.later(session.node(*id).time);
            }
        }
        times
    }

    fn link(&mut self, session: &Session) {
        self.find_near(session);
        for step in 0..self.steps.len() {
            let above = self.above(session, self.steps[step].first);
            let above = above.and_then(|above| self.near(above));
            self.steps[step].above = above.filter(|above| *above as usize != step).unwrap_or(NONE);
        }
        self.children = vec![0; self.steps.len()];
        for step in &self.steps {
            if let Some(above) = step.above() {
                self.children[above as usize] += 1;
            }
        }
        self.prune(session);
    }

    /// Takes ends away on which nobody says anything: texts that the client adds
    /// to one of several parallel results, and the like. What is taken away
    /// counts as part of the step above.
    fn prune(&mut self, session: &Session) {
        let mut gone: Vec<(u32, u32)> = Vec::new();
        let is_mute =
            |step: &Step| !step.says && session.node(step.first).user != UserText::ToolResult;
        let count = self.steps.len() as u32;
        let ends = (0..count).filter(|step| self.children[*step as usize] == 0);
        let mut ends: Vec<u32> = ends.filter(|step| is_mute(self.at(*step))).collect();
        while let Some(end) = ends.pop() {
            let step = self.at(end);
            let Some(above) = step.above().filter(|_| is_mute(step)) else { continue };
            gone.push((end, above));
            self.children[above as usize] -= 1;
            if self.children[above as usize] == 0 {
                ends.push(above);
            }
            // Never an end again.
            self.children[end as usize] = NONE;
        }
        if gone.is_empty() {
            return;
        }
        // Last lines of what was taken away go to what is left.
        let mut target: Vec<u32> = (0..count).collect();
        for &(end, above) in gone.iter().rev() {
            target[end as usize] = target[above as usize];
            let last = self.at(end).last;
            let kept = &mut self.steps[target[end as usize] as usize];
            if session.node(last).line > session.node(kept.last).line {
                kept.last = last;
            }
        }
        for near in self.near.iter_mut().filter(|near| **near != NONE) {
            *near = target[*near as usize];
        }
    }

    /// For each line its step, or that of the nearest line above it that is in
    /// one. Each line is passed once, and a cycle ends.
    fn find_near(&mut self, session: &Session) {
        let mut is_passed = vec![false; self.near.len()];
        let mut way = Vec::new();
        for start in session.ids() {
            let mut at = Some(start);
            let mut found = NONE;
            while let Some(id) = at {
                found = self.near[id.index()];
                if found != NONE || std::mem::replace(&mut is_passed[id.index()], true) {
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
