//! Passes over the lines of a conversation: calls without results, thinking
//! that lost its message, answers without text, and the ending.

use recto_log::Kind;

use super::Generation;
use super::reach::Addition;
use super::reach::DropReason;
use super::reach::Dropped;
use super::reach::Sent;
use super::reach::SentLine;
use super::thin_list::ThinList;
use super::view::View;
use crate::BlockFact;
use crate::NameId;
use crate::Node;
use crate::NodeId;
use crate::fold::bits::Bits;
use crate::fold::hash::IdMap;
use crate::fold::hash::IdSet;

/// Drops lines that cannot be sent, in the client's order.
pub(super) fn pass(view: &View<'_>, kept: &[NodeId], dropped: &mut Vec<Dropped>) -> Vec<Sent> {
    let mut lines = whole_lines(kept);
    if view.generation == Generation::V2_1_300 {
        drop_blank_answers(view, &mut lines, dropped);
        let unfinished = unfinished_turn(view, &lines);
        answer_open_calls(view, &mut lines);
        let mut turn = lines.split_off(unfinished);
        drop_open_calls(view, &mut lines, &turn, dropped);
        lines.append(&mut turn);
        drop_orphan_thinking(view, &mut lines, dropped);
    } else {
        drop_open_calls(view, &mut lines, &[], dropped);
        drop_orphan_thinking(view, &mut lines, dropped);
        drop_blank_answers(view, &mut lines, dropped);
    }
    lines
}

/// The passes of a client that is running, whose calls may still be open.
pub(super) fn pass_running(view: &View<'_>, kept: &[NodeId]) -> Vec<Sent> {
    let mut lines = whole_lines(kept);
    let mut dropped = Vec::new();
    drop_blank_answers(view, &mut lines, &mut dropped);
    drop_orphan_thinking(view, &mut lines, &mut dropped);
    drop_api_errors(view, &mut lines, &mut dropped);
    lines
}

/// Takes out the lines that [`pass_running`] takes out. The newest clients look at answers only,
/// of which a log has fewer than lines.
pub(super) fn keep_sent(view: &View<'_>, lines: &mut Vec<NodeId>) {
    let is_answer = |id: &NodeId| view.node(*id).kind == Kind::Assistant;
    let answers: Vec<NodeId> = lines.iter().copied().filter(is_answer).collect();
    let mut is_sent = Bits::new(view.session.node_count());
    for sent in pass_running(view, &answers) {
        if let Sent::Line(line) = sent {
            is_sent.add(line.node);
        }
    }
    lines.retain(|id| !is_answer(id) || is_sent.has(*id));
}

/// What a client adds at most.
const MOST_ADDED: usize = 4;

fn whole_lines(kept: &[NodeId]) -> Vec<Sent> {
    let line = |node: &NodeId| SentLine {
        node: *node,
        left_out: ThinList::default(),
        joins_previous: false,
    };
    // With room for what a client adds at the end, or all of it would be moved for that.
    let mut lines = Vec::with_capacity(kept.len() + MOST_ADDED);
    lines.extend(kept.iter().map(|node| Sent::Line(line(node))));
    lines
}

/// Takes out the lines that stand for failed API calls.
pub(super) fn drop_api_errors(view: &View<'_>, lines: &mut Vec<Sent>, dropped: &mut Vec<Dropped>) {
    drop_lines(view, lines, dropped, DropReason::ApiError, |node, _| {
        node.kind == Kind::Assistant && node.flags.is_api_error
    });
}

/// Makes the conversation end with an answer.
pub(super) fn repair_end(view: &View<'_>, leaf: NodeId, lines: &mut Vec<Sent>) {
    if view.generation < Generation::V2_1_100 {
        if lines.last().is_some_and(|line| kind_of(view, line) == Kind::User) {
            lines.push(Sent::Added(Addition::NoResponse));
        }
        return;
    }
    let gathers_results = view.generation == Generation::V2_1_300;
    // A call that failed leaves open what it was to answer.
    let is_failure = |line: &Sent| match line {
        Sent::Line(line) => !gathers_results && view.node(line.node).flags.is_api_error,
        Sent::Added(_) => false,
    };
    let last_of = |is: &dyn Fn(Kind) -> bool| {
        lines.iter().rposition(|line| is(kind_of(view, line)) && !is_failure(line))
    };
    let last = last_of(&|kind| !matches!(kind, Kind::System | Kind::Progress));
    let ends_with_attachment = last.is_some_and(|at| kind_of(view, &lines[at]) == Kind::Attachment);
    if ends_with_attachment && view.generation == Generation::V2_1_100 {
        lines.push(Sent::Added(Addition::Continue));
        lines.push(Sent::Added(Addition::NoResponse));
        return;
    }
    let spoken = last_of(&|kind| matches!(kind, Kind::User | Kind::Assistant));
    let Some(spoken) = spoken.filter(|at| kind_of(view, &lines[*at]) == Kind::User) else {
        return;
    };
    if gathers_results && asks_nothing(view, &lines[spoken]) {
        return;
    }
    let is_leaf = |line: &Sent| matches!(line, Sent::Line(line) if line.node == leaf);
    if gathers_results
        && view.node(leaf).kind == Kind::Assistant
        && matches!(lines[spoken], Sent::Line(_))
        && lines.iter().any(is_leaf)
    {
        // Only results that were found again stand after the answer.
        return;
    }
    let is_cut_off =
        ends_with_attachment || last.is_some_and(|at| ends_with_result(view, lines, at));
    if !gathers_results && is_cut_off {
        lines.push(Sent::Added(Addition::Continue));
        lines.push(Sent::Added(Addition::NoResponse));
        return;
    }
    // The answer goes before commands of the client that follow the prompt.
    let end = last.map_or(lines.len(), |last| last + 1);
    lines.insert(end, Sent::Added(Addition::NoResponse));
}

fn asks_nothing(view: &View<'_>, line: &Sent) -> bool {
    let Sent::Line(line) = line else { return false };
    view.node(line.node).flags.asks_nothing
}

/// Whether a line, with those it was joined with, holds a result.
fn ends_with_result(view: &View<'_>, lines: &[Sent], at: usize) -> bool {
    for line in lines[..=at].iter().rev() {
        let Sent::Line(line) = line else { return false };
        if view.node(line.node).has_result() {
            return true;
        }
        if !line.joins_previous {
            return false;
        }
    }
    false
}

fn kind_of(view: &View<'_>, line: &Sent) -> Kind {
    match line {
        Sent::Line(line) => view.node(line.node).kind,
        Sent::Added(Addition::NoResponse) => Kind::Assistant,
        Sent::Added(Addition::Interrupted { .. } | Addition::Continue) => Kind::User,
    }
}

/// Takes out the lines of which `is_gone` holds.
fn drop_lines(
    view: &View<'_>,
    lines: &mut Vec<Sent>,
    dropped: &mut Vec<Dropped>,
    reason: DropReason,
    is_gone: impl Fn(Node<'_>, &mut SentLine) -> bool,
) {
    lines.retain_mut(|line| {
        let Sent::Line(line) = line else { return true };
        let node = view.node(line.node);
        let gone = is_gone(node, line);
        if gone {
            dropped.push(Dropped { line: node.line, reason });
        }
        !gone
    });
}

/// The ids of all results, those that were made up too.
fn results(view: &View<'_>, lines: &[Sent]) -> IdSet<NameId> {
    let mut ids = IdSet::default();
    for line in lines {
        match line {
            Sent::Line(line) => {
                ids.extend(view.node(line.node).blocks.iter().filter_map(|block| match block {
                    BlockFact::ToolResult { id, .. } => Some(*id),
                    _ => None,
                }));
            }
            Sent::Added(Addition::Interrupted { calls }) => ids.extend(calls.iter()),
            Sent::Added(Addition::Continue | Addition::NoResponse) => {}
        }
    }
    ids
}

/// The calls of a line, with their places.
fn calls(node: Node<'_>) -> impl Iterator<Item = (u32, NameId)> {
    let places = node.blocks.into_iter().zip(0u32..);
    places.filter_map(|(block, place)| match block {
        BlockFact::ToolUse { id, .. } => Some((place, *id)),
        _ => None,
    })
}

/// From 2.1.300: the calls of the last message that have no result get one
/// that says so.
fn answer_open_calls(view: &View<'_>, lines: &mut Vec<Sent>) {
    let node_of = |line: &Sent| match line {
        Sent::Line(line) => Some(view.node(line.node)),
        Sent::Added(_) => None,
    };
    let is_answer = |line: &Sent| kind_of(view, line) == Kind::Assistant;
    let Some(last) = lines.iter().rposition(is_answer) else { return };
    let Some(last_node) = node_of(&lines[last]) else { return };
    let is_prompt = |node: Node<'_>| node.kind == Kind::User && !node.has_result();
    if lines[last + 1..].iter().filter_map(node_of).any(is_prompt) {
        return;
    }
    let results = results(view, lines);
    let mut open = Vec::new();
    for (at, node) in lines.iter().enumerate().filter_map(|(at, line)| Some((at, node_of(line)?))) {
        if node.kind == Kind::Assistant && (at == last || node.message == last_node.message) {
            open.extend(calls(node).map(|(_, id)| id).filter(|id| !results.contains(id)));
        }
    }
    if !open.is_empty() {
        lines.push(Sent::Added(Addition::Interrupted { calls: open.into_iter().collect() }));
    }
}

/// Where the turn begins that was cut off after a result: its calls stay, whatever became
/// of them.
fn unfinished_turn(view: &View<'_>, lines: &[Sent]) -> usize {
    let spoken = |line: &Sent| match line {
        Sent::Line(line) => Some(view.node(line.node)).filter(|node| node.is_spoken()),
        Sent::Added(_) => None,
    };
    let last = lines.iter().rev().find_map(spoken);
    if !last.is_some_and(|node| node.kind == Kind::User && node.has_result()) {
        return lines.len();
    }
    let is_prompt = |line: &Sent| {
        spoken(line).is_some_and(|node| node.kind == Kind::User && !node.has_result())
    };
    lines.iter().rposition(is_prompt).unwrap_or(0)
}

/// Calls without a result anywhere, also not in the lines that follow. Before 2.1.100 only the call goes; since
/// then the whole line, if none of its calls has a result.
fn drop_open_calls(
    view: &View<'_>,
    lines: &mut Vec<Sent>,
    after: &[Sent],
    dropped: &mut Vec<Dropped>,
) {
    let mut results = results(view, lines);
    results.extend(self::results(view, after));
    let by_block = view.generation < Generation::V2_1_100;
    drop_lines(view, lines, dropped, DropReason::CallWithoutResult, |node, line| {
        if node.kind != Kind::Assistant {
            return false;
        }
        let open = calls(node).filter(|(_, id)| !results.contains(id));
        if by_block {
            line.left_out = open.map(|(place, _)| place).collect();
            !line.left_out.is_empty() && line.left_out.len() == node.blocks.len()
        } else {
            let open = open.count();
            open > 0 && open == calls(node).count()
        }
    });
}

/// From 2.1.0: thinking goes if no other line of its message is there. Since 2.1.300 a line
/// of blank text does not count, even where it keeps thinking apart.
fn drop_orphan_thinking(view: &View<'_>, lines: &mut Vec<Sent>, dropped: &mut Vec<Dropped>) {
    if view.generation < Generation::V2_1_0 {
        return;
    }
    let is_newest = view.generation == Generation::V2_1_300;
    let is_thinking = |block: &BlockFact| match block {
        BlockFact::Thinking { .. } => true,
        BlockFact::Text { is_blank } => *is_blank && is_newest,
        _ => false,
    };
    // A client before 2.1.100 has taken the open calls out of the line by now.
    let says_more = |line: &SentLine| {
        let blocks = view.node(line.node).blocks.into_iter().zip(0u32..);
        let mut left = blocks.filter(|(_, place)| line.left_out.binary_search(place).is_err());
        left.any(|(block, _)| !is_thinking(block))
    };
    let mut whole = IdSet::default();
    for line in lines.iter() {
        let Sent::Line(line) = line else { continue };
        let node = view.node(line.node);
        if node.kind == Kind::Assistant && says_more(line) {
            whole.extend(node.message);
        }
    }
    drop_lines(view, lines, dropped, DropReason::OrphanThinking, |node, line| {
        node.kind == Kind::Assistant
            && !node.blocks.is_empty()
            && !says_more(line)
            && node.message.is_none_or(|message| !whole.contains(&message))
    });
}

/// From 2.1.100: answers of nothing but white space go. Up to 2.1.299 the user
/// lines around them then become one, which matters for the ending.
fn drop_blank_answers(view: &View<'_>, lines: &mut Vec<Sent>, dropped: &mut Vec<Dropped>) {
    if view.generation < Generation::V2_1_100 {
        return;
    }
    let mut count: IdMap<Option<NameId>, u32> = IdMap::default();
    for line in lines.iter() {
        if let Sent::Line(line) = line
            && view.node(line.node).kind == Kind::Assistant
        {
            *count.entry(view.node(line.node).message).or_default() += 1;
        }
    }
    // 2.1.200 keeps them where the message has other lines, newer ones where they keep
    // thinking of the message apart.
    let needs_alone = view.generation == Generation::V2_1_200;
    let between = if view.generation == Generation::V2_1_300 {
        blank_between_thinking(view, lines)
    } else {
        IdSet::default()
    };
    let before = lines.len();
    drop_lines(view, lines, dropped, DropReason::BlankAnswer, |node, line| {
        is_blank_answer(node)
            && !between.contains(&line.node)
            && (!needs_alone || count.get(&node.message) == Some(&1))
    });
    if lines.len() < before && view.generation < Generation::V2_1_300 {
        join_user_lines(view, lines);
    }
}

pub(super) fn is_blank_answer(node: Node<'_>) -> bool {
    let is_blank = |block: &BlockFact| matches!(block, BlockFact::Text { is_blank: true });
    let says_nothing = if node.flags.is_string {
        node.flags.asks_nothing
    } else {
        !node.blocks.is_empty() && node.blocks.iter().all(is_blank)
    };
    node.kind == Kind::Assistant && says_nothing
}

/// Blank lines that stand between two lines of thinking of one message.
fn blank_between_thinking(view: &View<'_>, lines: &[Sent]) -> IdSet<NodeId> {
    let is_thinking = |block: Option<&BlockFact>| matches!(block, Some(BlockFact::Thinking { .. }));
    let mut between = IdSet::default();
    let mut blank = Vec::new();
    let mut thought = None;
    for line in lines {
        let Sent::Line(line) = line else { continue };
        let node = view.node(line.node);
        if is_blank_answer(node) && node.message == thought {
            blank.push(line.node);
        } else if node.kind == Kind::Assistant {
            if node.message == thought && is_thinking(node.blocks.first()) {
                between.extend(blank.drain(..));
            }
            blank.clear();
            thought = node.message.filter(|_| is_thinking(node.blocks.last()));
        }
    }
    between
}

fn join_user_lines(view: &View<'_>, lines: &mut [Sent]) {
    let mut after_user = false;
    for line in lines {
        let is_user = kind_of(view, line) == Kind::User;
        if let Sent::Line(line) = line {
            line.joins_previous = is_user && after_user;
        }
        after_user = is_user;
    }
}

#[cfg(test)]
mod tests {
    use recto_log::Lines;
    use recto_log::decode;

    use super::*;
    use crate::Session;

    /// Every row of up to four lines, of all that the passes tell apart.
    #[test]
    fn what_is_kept_is_what_passes() {
        let answer = |message: &str, block: &str| {
            format!(r#""type":"assistant","message":{{"id":"{message}","content":[{block}]}}"#)
        };
        let thinking = r#"{"type":"thinking","thinking":"x","signature":"y"}"#;
        let blank = r#"{"type":"text","text":" "}"#;
        let kinds = [
            r#""type":"user","message":{"content":"x"}"#.to_owned(),
            answer("a", thinking),
            answer("a", blank),
            answer("a", r#"{"type":"text","text":"x"}"#),
            answer("b", thinking),
            answer("b", blank) + r#","isApiErrorMessage":true"#,
        ];
        let (mut rows, mut dropped) = (0, 0);
        for row in 0..kinds.len().pow(4) {
            let mut log = String::new();
            let mut rest = row;
            for line in 0..4 {
                log += &format!("{{\"uuid\":\"{line}\",{}}}\n", kinds[rest % kinds.len()]);
                rest /= kinds.len();
            }
            let mut session = Session::new();
            Lines::new(log.as_bytes()).for_each(|line| session.push(&decode(line).0));
            let view = View::new(&session, Generation::latest());
            let mut kept: Vec<NodeId> = session.ids().collect();
            let node = |sent: Sent| match sent {
                Sent::Line(line) => Some(line.node),
                Sent::Added(_) => None,
            };
            let passed = pass_running(&view, &kept).into_iter().filter_map(node);
            let passed: Vec<NodeId> = passed.collect();
            keep_sent(&view, &mut kept);
            assert_eq!(kept, passed, "{log}");
            rows += 1;
            dropped += 4 - kept.len();
        }
        assert!(rows == 1296 && dropped > 1000, "{dropped} of {rows} rows");
    }
}
