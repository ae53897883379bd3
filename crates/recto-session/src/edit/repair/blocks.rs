//! Blocks that the API refuses, and calls and results that are no pairs.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::Content;
use recto_log::Kind;
use recto_log::RawLine;
use recto_log::decode;
use recto_log::json::Object;
use recto_log::json::Value;
use recto_log::json::replace_lone_surrogates;

use super::Fix;
use super::bench::Bench;
use super::bench::Edit;
use super::step::Step;
use crate::BlockFact;
use crate::NameId;
use crate::NodeId;
use crate::edit::Change;
use crate::edit::EditError;
use crate::request::Generation;
use crate::request::Sent;
use crate::request::reach;

/// Blocks to take out of a line, by their place among its blocks.
type Gone = BTreeMap<NodeId, Vec<usize>>;

/// The lines that some client sends, in the order of the newest that does.
fn sent(bench: &Bench<'_, '_, '_>) -> Vec<NodeId> {
    let mut is_known = vec![false; bench.now.session.node_count()];
    let mut lines = Vec::new();
    for generation in bench.generations.iter().rev() {
        for sent in reach(&bench.now.session, *generation).sent {
            let Sent::Line(line) = sent else { continue };
            if !std::mem::replace(&mut is_known[line.node.index()], true) {
                lines.push(line.node);
            }
        }
    }
    lines
}

/// The steps that take blocks out, and lines of which nothing is left.
fn taken_out(
    bench: &mut Bench<'_, '_, '_>,
    fix: Fix,
    gone: &Gone,
    what: &str,
) -> Result<Vec<Step>, EditError> {
    let mut steps = Vec::new();
    for (id, blocks) in gone {
        let sheet = bench.sheet_of(*id);
        let count = bench.now.session.node(*id).blocks.len();
        let (edits, words) = if blocks.len() == count {
            (vec![Edit::Aside(sheet)], format!("{what}; the line is set aside"))
        } else {
            let text = bench.text(sheet)?;
            let places = block_places(&text);
            let places = blocks.iter().rev().filter_map(|block| places.get(*block));
            let change = |place: &usize| Edit::Change(sheet, Change::remove_block(*place));
            (places.map(change).collect(), format!("{what}; the block is removed"))
        };
        steps.push(Step::new(fix, bench.number_of(*id), words, edits));
    }
    Ok(steps)
}

/// The places of blocks in the content; what is no object is no block.
fn block_places(text: &[u8]) -> Vec<usize> {
    let (entry, _) = decode(RawLine::alone(text));
    let content = entry.message().map(|message| message.content());
    let Some(Content::Blocks(array)) = content else { return Vec::new() };
    let elements = array.elements().enumerate();
    elements.filter(|(_, element)| element.is_object()).map(|(place, _)| place).collect()
}

/// Calls, results and second results, in the lines of the conversation.
pub(super) fn calls_and_results(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let session = &bench.now.session;
    let lines = reach(session, Generation::latest()).chain;
    let answers = lines.iter().rev().map(|id| session.node(*id));
    let last = answers.clone().find(|node| node.kind == Kind::Assistant);
    let last_message = last.and_then(|node| node.message);
    let mut calls = HashSet::new();
    let mut results = HashSet::new();
    for block in lines.iter().flat_map(|id| session.node(*id).blocks) {
        match block {
            BlockFact::ToolUse { id, .. } => calls.insert(*id),
            BlockFact::ToolResult { id, .. } => results.insert(*id),
            _ => false,
        };
    }
    let mut open = Gone::new();
    let mut orphans = Gone::new();
    let mut second = Gone::new();
    let mut answered: HashSet<NameId> = HashSet::new();
    for id in &lines {
        let node = session.node(*id);
        // Newer clients answer the open calls of the last message themselves.
        let is_last = node.message.is_some() && node.message == last_message;
        for (place, block) in node.blocks.iter().enumerate() {
            let list = match block {
                BlockFact::ToolUse { id: call, .. } if !is_last && !results.contains(call) => {
                    &mut open
                }
                BlockFact::ToolResult { id: call, .. } if !calls.contains(call) => &mut orphans,
                BlockFact::ToolResult { id: call, .. } if !answered.insert(*call) => &mut second,
                _ => continue,
            };
            list.entry(*id).or_default().push(place);
        }
    }
    let mut steps = Vec::new();
    if bench.makes(Fix::CallWithoutResult) {
        let what = "a call without a result";
        steps.extend(taken_out(bench, Fix::CallWithoutResult, &open, what)?);
    }
    // Newer clients leave these out themselves; older ones send them.
    if bench.makes_for_before(Fix::ResultWithoutCall, Generation::V2_1_0) {
        let what = "a result without a call";
        steps.extend(taken_out(bench, Fix::ResultWithoutCall, &orphans, what)?);
    }
    if bench.makes_for_before(Fix::SecondResult, Generation::V2_1_100) {
        let what = "a second result of one call";
        steps.extend(taken_out(bench, Fix::SecondResult, &second, what)?);
    }
    Ok(steps)
}

/// Empty text and thinking without a signature. Thinking of an answer of which
/// nothing else is left goes with it, as newer clients do it.
pub(super) fn unsendable_blocks(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let session = &bench.now.session;
    let (mut blank, mut unsigned) = (Gone::new(), Gone::new());
    for id in sent(bench) {
        let node = session.node(id);
        for (place, block) in node.blocks.iter().enumerate() {
            let list = match block {
                BlockFact::Text { is_blank: true } => &mut blank,
                BlockFact::Thinking { is_signed: false } if session.needs_signature(node) => {
                    &mut unsigned
                }
                _ => continue,
            };
            list.entry(id).or_default().push(place);
        }
    }
    if !bench.makes(Fix::BlankText) {
        blank.clear();
    }
    if !bench.makes(Fix::UnsignedThinking) {
        unsigned.clear();
    }
    // One line, one fix: the blocks of both are counted together.
    let both: Vec<NodeId> = blank.keys().filter(|id| unsigned.contains_key(id)).copied().collect();
    for id in both {
        if let (Some(more), Some(blocks)) = (unsigned.remove(&id), blank.get_mut(&id)) {
            blocks.extend(more);
            blocks.sort_unstable();
        }
    }
    let lonely = lonely_thinking(bench, &[&blank, &unsigned]);
    let mut steps = taken_out(bench, Fix::BlankText, &blank, "an empty text block")?;
    let what = "thinking without a signature";
    steps.extend(taken_out(bench, Fix::UnsignedThinking, &unsigned, what)?);
    // A line is not taken out without the thinking that hangs on it.
    if let Some(first) = steps.first_mut() {
        first.edits.extend(lonely.iter().map(|id| Edit::Aside(bench.sheet_of(*id))));
    }
    Ok(steps)
}

/// Thinking lines of answers of which nothing else is left.
fn lonely_thinking(bench: &Bench<'_, '_, '_>, gone: &[&Gone]) -> Vec<NodeId> {
    let session = &bench.now.session;
    let is_gone = |id: &NodeId| gone.iter().any(|gone| gone.contains_key(id));
    let left = |id: &NodeId| -> Vec<BlockFact> {
        let is_out = |place: &usize| {
            gone.iter().any(|gone| gone.get(id).is_some_and(|places| places.contains(place)))
        };
        let blocks = session.node(*id).blocks.into_iter().enumerate();
        blocks.filter(|(place, _)| !is_out(place)).map(|(_, block)| *block).collect()
    };
    let mut by_message: HashMap<NameId, Vec<NodeId>> = HashMap::new();
    for id in session.ids() {
        if let Some(message) = session.node(id).message {
            by_message.entry(message).or_default().push(id);
        }
    }
    let is_thinking = |block: &BlockFact| matches!(block, BlockFact::Thinking { .. });
    let lines = by_message.into_values().filter(|lines| lines.iter().any(is_gone));
    let lonely = lines.filter(|lines| {
        let blocks: Vec<BlockFact> = lines.iter().flat_map(left).collect();
        blocks.iter().all(is_thinking)
    });
    let mut lonely: Vec<NodeId> = lonely.flatten().filter(|id| !left(id).is_empty()).collect();
    lonely.sort();
    lonely
}

/// Bytes that are no UTF-8. Every client reads them as U+FFFD, so nothing else is lost.
pub(super) fn invalid_bytes(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let lines = bench.now.lines().iter().enumerate();
    let broken: Vec<usize> =
        lines.filter(|(_, line)| !line.is_utf8).map(|(place, _)| place).collect();
    let mut steps = Vec::new();
    for place in broken {
        let sheet = bench.sheet(place);
        let text = bench.text(sheet)?;
        let Ok(object) = Object::parse(&text) else { continue };
        let mut edits = Vec::new();
        for member in object.members() {
            let whole = String::from_utf8_lossy(member.value.bytes()).into_owned().into_bytes();
            if whole != member.value.bytes() {
                let key: &str = &member.key();
                edits.push(Edit::Change(sheet, Change::set([key.into()], whole)));
            }
        }
        let line = bench.number(place);
        if edits.is_empty() {
            bench.left.push(format!("line {line}: a name in it is not UTF-8; it stays"));
            continue;
        }
        let words = "bytes that are not UTF-8 become U+FFFD";
        steps.push(Step::new(Fix::InvalidUtf8, line, words, edits));
    }
    Ok(steps)
}

/// Half characters, which clients before 2.1.200 send.
pub(super) fn half_characters(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    if !bench.makes_for_before(Fix::LoneSurrogate, Generation::V2_1_200) {
        return Ok(Vec::new());
    }
    let session = &bench.now.session;
    let broken: Vec<NodeId> =
        sent(bench).into_iter().filter(|id| session.node(*id).flags.is_broken_text).collect();
    let mut steps = Vec::new();
    for id in broken {
        let sheet = bench.sheet_of(id);
        let text = bench.text(sheet)?;
        let Ok(object) = Object::parse(&text) else { continue };
        let mut edits = Vec::new();
        for member in object.members() {
            let whole = whole_text(member.value);
            if whole != member.value.bytes() {
                let key: &str = &member.key();
                edits.push(Edit::Change(sheet, Change::set([key.into()], whole)));
            }
        }
        if !edits.is_empty() {
            steps.push(Step::new(
                Fix::LoneSurrogate,
                bench.number_of(id),
                "half characters become U+FFFD",
                edits,
            ));
        }
    }
    Ok(steps)
}

fn whole_text(value: Value<'_>) -> Vec<u8> {
    replace_lone_surrogates(String::from_utf8_lossy(value.bytes()).into_owned().into_bytes())
}
