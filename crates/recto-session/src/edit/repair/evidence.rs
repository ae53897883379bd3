//! Where a line whose link is broken belongs.
//!
//! The evidence, the best first: the missing line itself, in another file; the
//! answer that the line is part of; the call that it is the result of; the
//! place where newer clients hang it; the line before it in the log.

use std::collections::HashSet;

use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::RawLine;
use recto_log::decode;

use super::bench::Bench;
use super::bench::Edit;
use super::bench::patched;
use super::step::Way;
use super::tree::Trees;
use super::words::Why;
use super::words::Words;
use crate::BlockFact;
use crate::Node;
use crate::NodeId;
use crate::edit::Change;
use crate::fold::bits::Bits;
use crate::request::Generation;
use crate::request::leaf as resumed_from;
use crate::request::view::View;
use crate::request::walk::Fosters;

/// So many lines before a line are looked at.
const MOST_BEFORE: usize = 1000;
/// So many lines of other files are followed.
const MOST_ELSEWHERE: usize = 1000;

/// What becomes of a line whose link is broken.
pub(super) enum Finding {
    /// It follows a line.
    Line(NodeId, Why),
    /// It begins the conversation.
    Beginning,
    /// Nothing shows where it belongs.
    Nowhere,
    /// The line that it follows is put back.
    PutBack { bytes: Vec<u8>, place: String },
    /// Its parent is no part of this conversation; it follows what that
    /// followed.
    Past { line: NodeId, place: String },
}

/// What is known about all lines.
pub(super) struct Evidence<'s> {
    view: View<'s>,
    fosters: Option<Fosters>,
    nothing_seen: Bits,
    /// The lines of the main conversation that others can follow, in the order
    /// of the log.
    in_order: Vec<NodeId>,
    trees: Trees,
    /// The tops of the trees that clients go on in.
    current: HashSet<NodeId>,
}

impl<'s> Evidence<'s> {
    pub(super) fn new(bench: &'s Bench<'_, '_, '_>, cuts: &[NodeId]) -> Evidence<'s> {
        let session = &bench.now.session;
        let can_follow = |node: Node<'_>| !node.flags.is_sidechain && node.kind != Kind::Progress;
        let mut in_order: Vec<NodeId> =
            session.ids().filter(|id| can_follow(session.node(*id))).collect();
        in_order.sort_by_key(|id| session.node(*id).line);
        let mut trees = Trees::new(session, cuts);
        let leafs = bench.generations.iter().filter_map(|one| resumed_from(session, *one));
        let current = leafs.map(|leaf| trees.top(leaf)).collect();
        Evidence {
            view: View::new(session, Generation::latest()),
            fosters: None,
            nothing_seen: Bits::new(session.node_count()),
            in_order,
            trees,
            current,
        }
    }

    /// Where a line belongs whose parent is missing, and where else it could.
    pub(super) fn of_orphan(&mut self, id: NodeId) -> (Finding, Vec<Finding>) {
        if self.view.is_boundary(id) {
            return (Finding::Nowhere, Vec::new());
        }
        let all =
            [self.by_message(id), self.by_call(id), self.by_time_and_order(id), self.by_order(id)];
        let mut found: Vec<(NodeId, Why)> = Vec::new();
        for (line, words) in all.into_iter().flatten() {
            if found.iter().all(|(known, _)| *known != line) {
                found.push((line, words));
            }
        }
        let mut found = found.into_iter();
        match found.next() {
            Some(first) => {
                let others = found.map(|(line, words)| Finding::Line(line, words)).collect();
                (self.settle(id, Some(first)), others)
            }
            None => (Finding::Nowhere, Vec::new()),
        }
    }

    /// Where a line belongs that follows nothing, or itself.
    pub(super) fn of_rootless(&mut self, id: NodeId) -> Finding {
        let found = self.by_message(id).or_else(|| self.by_call(id)).or_else(|| self.by_order(id));
        self.settle(id, found)
    }

    /// The line before a prompt.
    pub(super) fn of_beginning(&mut self, id: NodeId) -> Finding {
        let found = self.by_order(id);
        self.settle(id, found)
    }

    fn settle(&mut self, id: NodeId, found: Option<(NodeId, Why)>) -> Finding {
        match found {
            Some((line, words)) => {
                self.trees.hang(id, line);
                Finding::Line(line, words)
            }
            None => Finding::Beginning,
        }
    }

    /// Whether `id`, the top of its tree, can follow a line.
    fn can_follow(&mut self, id: NodeId, line: NodeId) -> bool {
        line != id && self.trees.top(line) != id
    }

    /// The line before it of the same answer.
    fn by_message(&mut self, id: NodeId) -> Option<(NodeId, Why)> {
        let node = self.view.node(id);
        let name = node.message.filter(|_| node.kind == Kind::Assistant)?;
        let lines = self.view.session.facts().message(name)?.nodes.as_slice();
        // An answer of many lines is looked at where the line is in it.
        let near = match lines.len() {
            0..=MOST_BEFORE => 0..lines.len(),
            _ => {
                let end = lines.partition_point(|other| self.view.node(*other).line < node.line);
                end.saturating_sub(MOST_BEFORE)..end
            }
        };
        let lines = &lines[near];
        let earlier = lines.iter().copied().filter(|other| self.view.node(*other).line < node.line);
        let line = earlier.max_by_key(|other| self.view.node(*other).line)?;
        self.can_follow(id, line).then_some((line, Why::SameAnswer))
    }

    /// The line of the call that it is the result of.
    fn by_call(&mut self, id: NodeId) -> Option<(NodeId, Why)> {
        let node = self.view.node(id);
        let session = self.view.session;
        let line = node.blocks.iter().find_map(|block| match block {
            BlockFact::ToolResult { id, .. } => session.facts().call(*id)?.call,
            _ => None,
        })?;
        self.can_follow(id, line).then_some((line, Why::HasCall))
    }

    /// Where newer clients hang it, or the line before it in the log.
    fn by_time_and_order(&mut self, id: NodeId) -> Option<(NodeId, Why)> {
        let before = self.by_order(id);
        let Some(newest) = self.by_time(id) else { return before };
        // What was said last before it, if that went on from the newest line:
        // of lines of one time clients take the first.
        if let Some((line, _)) = before
            && self.leads_to(newest, line)
        {
            return Some((line, Why::BeforeInLogAndTime));
        }
        Some((newest, Why::BeforeInTime))
    }

    /// Where newer clients hang it.
    fn by_time(&mut self, id: NodeId) -> Option<NodeId> {
        let view = &self.view;
        let fosters = self.fosters.get_or_insert_with(|| Fosters::new(view));
        let line = fosters.find(view, id, &self.nothing_seen)?;
        let is_read = self.view.node(line).kind != Kind::Progress;
        // Only in the conversation that goes on does the time tell more than
        // the order of the log.
        let is_before = self.view.node(line).line < self.view.node(id).line;
        let top = self.trees.top(id);
        let is_likely = is_before || self.current.contains(&top);
        (is_read && is_likely && self.can_follow(id, line)).then_some(line)
    }

    /// Whether the way up from `line` soon passes `top`.
    fn leads_to(&self, top: NodeId, line: NodeId) -> bool {
        let mut at = Some(line);
        for _ in 0..MOST_BEFORE {
            match at {
                Some(id) if id == top => return true,
                Some(id) => at = self.view.session.parent(id),
                None => return false,
            }
        }
        false
    }

    fn by_order(&mut self, id: NodeId) -> Option<(NodeId, Why)> {
        let own = self.view.node(id).line;
        let end = self.in_order.partition_point(|line| self.view.node(*line).line < own);
        for at in (end.saturating_sub(MOST_BEFORE)..end).rev() {
            let line = self.in_order[at];
            if self.can_follow(id, line) {
                return Some((line, Why::BeforeInLog));
            }
        }
        None
    }
}

/// Looks for a missing line in other files.
pub(super) fn elsewhere(bench: &Bench<'_, '_, '_>, missing: &EntryUuid) -> Option<Finding> {
    let own = bench.options.own.to_string();
    let mut missing = missing.clone();
    let mut first_place = None;
    for _ in 0..MOST_ELSEWHERE {
        let found = (bench.options.elsewhere)(&missing)?;
        let (entry, _) = decode(RawLine::alone(&found.bytes));
        let is_it = entry.kind().in_chain() && entry.uuid().as_ref() == Some(&missing);
        if !is_it {
            return None;
        }
        let is_own = entry.session_id().is_none_or(|name| *name == own);
        // The answers of some clients went into the logs of such helpers.
        let is_answer_of_main = entry.agent_id().is_some_and(|agent| agent.is_prompt_suggestion());
        if first_place.is_none() && is_own && (!entry.is_sidechain() || is_answer_of_main) {
            let changes = [
                Change::set(["isSidechain".into()], b"false".to_vec()),
                Change::remove(["agentId".into()]),
                Change::set_string(["sessionId".into()], &own),
            ];
            let bytes = patched(&found.bytes, &changes.each_ref())?;
            return Some(Finding::PutBack { bytes, place: found.place });
        }
        let place = first_place.get_or_insert(found.place).clone();
        missing = entry.parent_uuid()?;
        if let Some(line) = bench.now.session.find(&missing) {
            return Some(Finding::Past { line, place });
        }
    }
    None
}

/// The edits that a finding asks for, and the words for it.
pub(super) fn edits_of(bench: &Bench<'_, '_, '_>, id: NodeId, finding: Finding) -> Way {
    let sheet = bench.sheet_of(id);
    let session = &bench.now.session;
    let hung = |line: NodeId| Edit::Parent(sheet, Some(session.node(line).uuid()));
    match finding {
        Finding::Line(line, why) => (hung(line).into(), Words::hung(bench.number_of(line), why)),
        Finding::Beginning => (
            Edit::Parent(sheet, None).into(),
            "nothing is left for it to follow; it starts the conversation".into(),
        ),
        Finding::Nowhere => (Vec::new().into(), "".into()),
        Finding::PutBack { bytes, place } => (
            Edit::Insert(sheet, bytes).into(),
            format!("the line that it follows was found in {place} and is put back").into(),
        ),
        Finding::Past { line, place } => (
            hung(line).into(),
            format!(
                "its parent is in {place}, not in this conversation; linked to line {}, which the parent follows",
                bench.number_of(line)
            )
            .into(),
        ),
    }
}
