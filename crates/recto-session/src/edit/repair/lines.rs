//! Fields that a line needs: content, uuid, time, session, flags.

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::RawLine;
use recto_log::decode;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;

use super::Fix;
use super::bench::Bench;
use super::bench::Edit;
use super::step::Step;
use super::words::Words;
use crate::Node;
use crate::NodeId;
use crate::edit::Change;
use crate::edit::EditError;
use crate::edit::rewrite::derived;
use crate::request::Generation;

/// Lines of the main conversation of which something holds.
fn main_lines(bench: &Bench<'_, '_, '_>, is: impl Fn(Node<'_>) -> bool) -> Vec<NodeId> {
    let session = &bench.now.session;
    let main = |id: &NodeId| !session.node(*id).flags.is_sidechain && is(session.node(*id));
    session.ids().filter(main).collect()
}

/// A line that is changed is written without its mark, so any change will do.
pub(super) fn byte_order_marks(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let marked = main_lines(bench, |node| node.flags.has_byte_order_mark);
    let step = |id: &NodeId| {
        let uuid = bench.now.session.node(*id).uuid().to_string();
        let change = Change::set_string(["uuid".into()], &uuid);
        Step::new(
            Fix::ByteOrderMark,
            bench.number_of(*id),
            "the byte order mark is removed",
            Edit::Change(bench.sheet_of(*id), change),
        )
    };
    Ok(marked.iter().map(step).collect())
}

pub(super) fn without_content(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let empty = main_lines(bench, |node| node.is_spoken() && !node.flags.has_content);
    let step = |id: &NodeId| {
        Step::new(
            Fix::NoContent,
            bench.number_of(*id),
            "a line without content is set aside",
            Edit::Aside(bench.sheet_of(*id)),
        )
    };
    Ok(empty.iter().map(step).collect())
}

pub(super) fn text_answers(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    if !bench.makes_for_before(Fix::TextAnswer, Generation::V2_1_300) {
        return Ok(Vec::new());
    }
    let is_text = |node: Node<'_>| node.kind == recto_log::Kind::Assistant && node.flags.is_string;
    let mut steps = Vec::new();
    for id in main_lines(bench, is_text) {
        let sheet = bench.sheet_of(id);
        let text = bench.text(sheet)?;
        let (entry, _) = decode(RawLine::alone(&text));
        let Some(content) = entry.get("message").and_then(|message| message.get("content")) else {
            continue;
        };
        let block =
            ObjectWriter::new().string("type", "text").json("text", content.bytes()).finish();
        let blocks = ArrayWriter::new().json(&block).finish();
        let change = Change::set(["message".into(), "content".into()], blocks);
        steps.push(Step::new(
            Fix::TextAnswer,
            bench.number_of(id),
            "the answer becomes a text block",
            Edit::Change(sheet, change),
        ));
    }
    Ok(steps)
}

/// Nobody can name a line without a uuid, so what follows it is found later,
/// by the order of the log.
pub(super) fn without_uuid(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let mut steps = Vec::new();
    for number in bench.now.session.without_uuid.clone() {
        let place = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        let uuid = new_uuid(bench, number);
        let change = Change::set_string(["uuid".into()], &uuid.to_string());
        steps.push(Step::new(
            Fix::MissingUuid,
            bench.number(place),
            format!("the line gets the uuid {uuid}"),
            Edit::Change(bench.sheet(place), change),
        ));
    }
    Ok(steps)
}

/// A uuid that no line of the log has.
pub(super) fn new_uuid(bench: &Bench<'_, '_, '_>, seed: u64) -> EntryUuid {
    let mut seed = u128::from(seed);
    loop {
        let uuid = EntryUuid::from_bits(derived(bench.options.own, seed));
        if bench.now.session.find(&uuid).is_none() {
            return uuid;
        }
        seed += 1 << 64;
    }
}

/// A line gets the time of the line before it and a millisecond.
pub(super) fn without_time(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let mut ids = main_lines(bench, |_| true);
    let session = &bench.now.session;
    if ids.iter().all(|id| session.node(*id).time().is_some()) {
        return Ok(Vec::new());
    }
    ids.sort_by_key(|id| session.node(*id).line);
    let millisecond = |time: Timestamp, count: usize| {
        let count = i64::try_from(count).unwrap_or(0);
        time.checked_add(SignedDuration::from_millis(count)).unwrap_or(time)
    };
    // Before the first line with a time, or the time at which the log was written.
    let first = ids.iter().position(|id| session.node(*id).time().is_some());
    let known = first.and_then(|at| session.node(ids[at]).time()).unwrap_or(bench.options.written);
    let ahead = first.unwrap_or(ids.len()) + 1;
    let back = SignedDuration::from_millis(i64::try_from(ahead).unwrap_or(0));
    let mut last = known.checked_sub(back).unwrap_or(known);
    let mut steps = Vec::new();
    for id in ids {
        last = match session.node(id).time() {
            Some(time) => time,
            None => {
                let time = millisecond(last, 1);
                steps.push(Step::new(
                    Fix::MissingTime,
                    bench.number_of(id),
                    Words::time(time),
                    Edit::Change(bench.sheet_of(id), Change::time(time)),
                ));
                time
            }
        };
    }
    Ok(steps)
}

/// A line that is marked as a subagent's belongs to the main conversation if
/// it names no subagent and lines of the main conversation follow it, or if
/// there is no other conversation.
pub(super) fn sidechain_flags(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let session = &bench.now.session;
    let has_main = session.nodes().any(|node| node.is_spoken() && !node.flags.is_sidechain);
    let mut is_marked = vec![!has_main; session.node_count()];
    for id in session.ids().filter(|id| !session.node(*id).flags.is_sidechain) {
        let mut at = session.parent(id);
        while let Some(above) = at.filter(|above| session.node(*above).flags.is_sidechain) {
            if std::mem::replace(&mut is_marked[above.index()], true) {
                break;
            }
            at = session.parent(above);
        }
    }
    let marked = session
        .ids()
        .filter(|id| is_marked[id.index()] && session.node(*id).flags.is_sidechain)
        .collect::<Vec<_>>();
    let mut steps = Vec::new();
    for id in marked {
        let sheet = bench.sheet_of(id);
        let text = bench.text(sheet)?;
        if decode(RawLine::alone(&text)).0.agent_id().is_some() {
            continue;
        }
        let change = Change::set(["isSidechain".into()], b"false".to_vec());
        steps.push(Step::new(
            Fix::SidechainFlag,
            bench.number_of(id),
            "the line is part of the main conversation",
            Edit::Change(sheet, change),
        ));
    }
    Ok(steps)
}

pub(super) fn other_sessions(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let own = bench.options.own.to_string();
    let sessions = &bench.now.session.records.sessions;
    if !bench.makes(Fix::OtherSession) || sessions.iter().all(|(name, ..)| *name == own) {
        return Ok(Vec::new());
    }
    let mut steps = Vec::new();
    for place in 0..bench.now.lines().len() {
        let sheet = bench.sheet(place);
        let text = bench.text(sheet)?;
        let (entry, _) = decode(RawLine::alone(&text));
        if let Some(name) = entry.session_id().filter(|name| *name != own) {
            steps.push(Step::new(
                Fix::OtherSession,
                bench.number(place),
                format!("the line named session {name}"),
                Edit::Change(sheet, Change::set_string(["sessionId".into()], &own)),
            ));
        }
    }
    Ok(steps)
}
