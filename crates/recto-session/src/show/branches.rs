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
use crate::fold::bits::Bits;
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
    let mut steps = Steps::new(session);
    let leaves: Vec<(Generation, Option<StepId>)> = TOLD
        .into_iter()
        .map(|generation| {
            let leaf = leaf_now(session, generation);
            (generation, leaf.and_then(|leaf| steps.near(leaf)))
        })
        .collect();
    let mut tips: Vec<StepId> = steps.all().filter(|step| steps.children(*step) == 0).collect();
    // What the client wrote by itself before a beginning is no branch.
    if tips.iter().any(|tip| steps.says(*tip)) {
        tips.retain(|tip| steps.says(*tip) || steps.above(*tip).is_some());
    }
    // A client that goes on from a line with lines below it begins a branch,
    // even if nothing has been said on it yet.
    for (_, leaf) in &leaves {
        if let Some(leaf) = leaf.filter(|leaf| !tips.contains(leaf)) {
            tips.push(leaf);
            steps.resumed.push(leaf);
        }
    }
    tips.sort_by_key(|tip| session.line(steps.last(*tip)));
    tips.truncate(most);
    let times = steps.times(&tips);
    let mut prompts = Prompts::default();
    let branch = |tip: StepId| {
        let generations = leaves.iter().filter(|(_, leaf)| *leaf == Some(tip));
        let generations = generations.map(|(generation, _)| *generation).collect();
        let time = times.get(&tip).and_then(|time| time.get());
        Branch { generations, time, ..branch_of(&steps, tip, &mut prompts) }
    };
    tips.into_iter().map(branch).collect()
}

/// Which turns the newest clients go on from, in the order of `turns`. Turns of
/// subagents, and those in which nothing is spoken, are on every branch.
pub fn on_current_branch(session: &Session, turns: &Turns) -> Vec<bool> {
    let (leaf, chain) = chain_now(session);
    let steps = Steps::new(session);
    let mut is_current = Bits::new(session.node_count());
    let last = || session.ids().max_by_key(|id| session.line(*id));
    let leaf = leaf.or_else(last);
    // The chain is healed where the log is broken, and misses parallel calls.
    for line in chain.into_iter().chain(leaf) {
        let mut at = steps.near(line);
        while let Some(step) = at.filter(|step| is_current.add(*step)) {
            at = steps.above(step);
        }
    }
    let is_on = |turn: usize| {
        let lines = turns.nodes(turn).iter().filter(|id| steps.takes(**id));
        let mut spoken = lines.filter_map(|id| steps.near(*id)).peekable();
        spoken.peek().is_none() || spoken.any(|step| is_current.has(step))
    };
    (0..turns.len()).map(is_on).collect()
}

fn branch_of(steps: &Steps<'_>, tip: StepId, prompts: &mut Prompts) -> Branch {
    let session = steps.session;
    let mut branch = Branch {
        tip: steps.last(tip),
        fork: None,
        turns: 0,
        messages: 0,
        last_prompt: None,
        time: None,
        generations: Vec::new(),
    };
    // A branch on which nothing has been said is all shared.
    let mut is_shared = steps.children(tip) > 0;
    let mut at = Some(tip);
    // What is not shared is on one branch only, so that all walks together are short.
    while let Some(step) = at {
        is_shared |= step != tip && steps.ways(step) > 1;
        if is_shared {
            branch.fork = Some(steps.last(step));
            break;
        }
        if branch.last_prompt.is_none() && is_typed(session.node(step).user) {
            branch.last_prompt = Some(step);
        }
        branch.turns += u32::from(begins_turn(session, step));
        branch.messages += u32::from(is_answer(session.node(step)));
        at = steps.above(step);
    }
    if let Some(fork) = at.filter(|_| branch.last_prompt.is_none()) {
        branch.last_prompt = prompts.above(steps, fork);
    }
    branch
}

/// What was typed last on the way to steps that branches share, each of which is passed once.
#[derive(Default)]
struct Prompts {
    known: IdMap<StepId, Option<NodeId>>,
}

impl Prompts {
    /// The step itself, or the nearest above it, if somebody typed it.
    fn above(&mut self, steps: &Steps<'_>, step: StepId) -> Option<NodeId> {
        let mut way = Vec::new();
        let mut at = Some(step);
        let mut found = None;
        while let Some(step) = at {
            if let Some(known) = self.known.get(&step) {
                found = *known;
                break;
            }
            if is_typed(steps.session.node(step).user) {
                found = Some(step);
                break;
            }
            // For a cycle: who comes back finds nothing.
            self.known.insert(step, None);
            way.push(step);
            at = steps.above(step);
        }
        for step in way {
            self.known.insert(step, found);
        }
        found
    }
}

fn is_typed(text: UserText) -> bool {
    use UserText::*;
    matches!(text, Human | Command | BashInput | AgentTask)
}

/// No step.
const NONE: u32 = u32::MAX;

/// A step, by its first line.
type StepId = NodeId;

/// Whether a line is an answer of a model.
fn is_answer(node: Node<'_>) -> bool {
    node.kind == Kind::Assistant && !node.flags.is_synthetic
}

/// The spoken lines of a session as steps: a prompt, or a message with the results of its
/// calls. A log may have millions, so a step is the name of its first line, and what its lines
/// say of themselves is not kept.
struct Steps<'s> {
    session: &'s Session,
    /// Whether lines of subagents are in steps too.
    takes_all: bool,
    /// The step of each line, or of the nearest one above it.
    near: Vec<u32>,
    /// The last lines of steps, in the places of their first; empty as long as all steps have
    /// one line.
    last: Vec<u32>,
    /// How many steps follow each step; that of a line which begins none is [`NONE`].
    children: Vec<u32>,
    /// The steps that clients go on from although others follow them.
    resumed: Vec<StepId>,
    /// The lines that are in steps, in the order of the log, if some line has lost what it
    /// follows.
    order: Vec<NodeId>,
}

impl<'s> Steps<'s> {
    fn new(session: &'s Session) -> Steps<'s> {
        // In the log of a subagent all lines are of a subagent.
        let is_main = |node: Node<'_>| node.is_spoken() && !node.flags.is_sidechain;
        let mut steps = Steps {
            session,
            takes_all: !session.nodes().any(is_main),
            near: vec![NONE; session.node_count()],
            last: Vec::new(),
            children: Vec::new(),
            resumed: Vec::new(),
            order: Vec::new(),
        };
        let order = session.by_line();
        if session.nodes().any(lost_its_parent) {
            steps.order = order.iter().filter(|id| steps.takes(*id)).collect();
        }
        let mut by_message: IdMap<NameId, StepId> = IdMap::default();
        // Results can stand before their call in a file that is out of order.
        let is_assistant = |id: NodeId| session.kind(id) == Kind::Assistant;
        for id in order.iter().filter(|id| is_assistant(*id)) {
            if !steps.takes(id) {
                continue;
            }
            let message = session.node(id).message;
            let known = message.and_then(|message| by_message.get(&message).copied());
            let step = steps.add(id, known);
            if let Some(message) = message {
                by_message.insert(message, step);
            }
        }
        drop(by_message);
        for id in order.iter().filter(|id| !is_assistant(*id)) {
            if !steps.takes(id) {
                continue;
            }
            let call = session.node(id).blocks.iter().find_map(|block| match block {
                BlockFact::ToolResult { id, .. } => session.facts().call(*id)?.call,
                _ => None,
            });
            let known = call.and_then(|call| steps.near(call));
            steps.add(id, known);
        }
        drop(order);
        steps.link();
        steps
    }

    /// Whether a line is in a step.
    fn takes(&self, id: NodeId) -> bool {
        let node = self.session.node(id);
        node.is_spoken() && (self.takes_all || !node.flags.is_sidechain)
    }

    /// All steps.
    fn all(&self) -> impl Iterator<Item = StepId> + use<'_, 's> {
        self.session.ids().filter(|id| self.near[id.index()] == id.0)
    }

    fn near(&self, id: NodeId) -> Option<StepId> {
        Some(self.near[id.index()]).filter(|step| *step != NONE).map(NodeId)
    }

    /// The last line of a step.
    fn last(&self, step: StepId) -> NodeId {
        self.last.get(step.index()).map_or(step, |last| NodeId(*last))
    }

    /// How many steps follow a step.
    fn children(&self, step: StepId) -> u32 {
        self.children[step.index()]
    }

    /// How many ways lead on from a step, with those of clients that go on from it.
    fn ways(&self, step: StepId) -> usize {
        let resumed = self.resumed.iter().filter(|resumed| **resumed == step);
        self.children(step) as usize + resumed.count()
    }

    /// Whether a person or the model said something in a step.
    fn says(&self, step: StepId) -> bool {
        self.session.kind(step) == Kind::Assistant || begins_turn(self.session, step)
    }

    fn above(&self, step: StepId) -> Option<StepId> {
        self.near(self.line_above(step)?).filter(|above| *above != step)
    }

    fn add(&mut self, id: NodeId, known: Option<StepId>) -> StepId {
        let step = known.unwrap_or(id);
        self.near[id.index()] = step.0;
        self.note_last(step, id);
        step
    }

    fn note_last(&mut self, step: StepId, id: NodeId) {
        if self.session.line(id) <= self.session.line(self.last(step)) {
            return;
        }
        if self.last.is_empty() {
            self.last = self.session.ids().map(|id| id.0).collect();
        }
        self.last[step.index()] = id.0;
    }

    /// When some steps were written last, with all that counts as part of them.
    fn times(&self, steps: &[StepId]) -> IdMap<StepId, Moment> {
        let mut times: IdMap<StepId, Moment> =
            steps.iter().map(|step| (*step, Moment::NONE)).collect();
        for id in self.session.ids().filter(|id| self.takes(*id)) {
            if let Some(time) = self.near(id).and_then(|step| times.get_mut(&step)) {
                *time = time.later(self.session.node(id).time);
            }
        }
        times
    }

    fn link(&mut self) {
        self.find_near();
        let mut children = vec![0; self.near.len()];
        for above in self.all().filter_map(|step| self.above(step)) {
            children[above.index()] += 1;
        }
        self.children = children;
        self.prune();
    }

    /// Takes ends away on which nobody says anything: texts that the client adds
    /// to one of several parallel results, and the like. What is taken away
    /// counts as part of the step above.
    fn prune(&mut self) {
        let mut gone: Vec<(StepId, StepId)> = Vec::new();
        let is_end = |step: &StepId| self.children(*step) == 0 && self.is_mute(*step);
        let mut ends: Vec<StepId> = self.all().filter(is_end).collect();
        while let Some(end) = ends.pop() {
            let Some(above) = self.above(end).filter(|_| self.is_mute(end)) else { continue };
            gone.push((end, above));
            self.children[above.index()] -= 1;
            if self.children[above.index()] == 0 {
                ends.push(above);
            }
        }
        if gone.is_empty() {
            return;
        }
        // Last lines of what was taken away go to what is left.
        let mut target: Vec<u32> = self.session.ids().map(|id| id.0).collect();
        for &(end, above) in gone.iter().rev() {
            let kept = target[above.index()];
            target[end.index()] = kept;
            self.note_last(NodeId(kept), self.last(end));
        }
        for near in self.near.iter_mut().filter(|near| **near != NONE) {
            *near = target[*near as usize];
        }
    }

    fn is_mute(&self, step: StepId) -> bool {
        !self.says(step) && self.session.node(step).user != UserText::ToolResult
    }

    /// For each line its step, or that of the nearest line above it that is in
    /// one. Each line is passed once, and a cycle ends.
    fn find_near(&mut self) {
        let mut is_passed = Bits::new(self.near.len());
        let mut way = Vec::new();
        for start in self.session.ids() {
            let mut at = Some(start);
            let mut found = NONE;
            while let Some(id) = at {
                found = self.near[id.index()];
                if found != NONE || !is_passed.add(id) {
                    break;
                }
                way.push(id);
                at = self.line_above(id);
            }
            for id in way.drain(..) {
                self.near[id.index()] = found;
            }
        }
    }

    /// The line above, across a compaction. Some clients lose lines: what hangs
    /// on one that is not there follows the spoken line before it in the log.
    fn line_above(&self, id: NodeId) -> Option<NodeId> {
        let session = self.session;
        if let Some(parent) = session.parent(id) {
            return Some(parent);
        }
        let node = session.node(id);
        let named = || session.find(node.logical_parent.as_ref()?);
        let before = || {
            let place = self.order.partition_point(|other| session.line(*other) < node.line);
            self.order.get(place.checked_sub(1)?).copied().filter(|_| lost_its_parent(node))
        };
        named().or_else(before)
    }
}

/// Whether what a line follows is elsewhere than it says, or nowhere.
fn lost_its_parent(node: Node<'_>) -> bool {
    matches!(node.parent, Parent::Missing(_)) || node.logical_parent.is_some()
}

#[cfg(test)]
#[path = "branches_tests.rs"]
mod tests;
