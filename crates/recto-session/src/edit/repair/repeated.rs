//! Lines with the same uuid.
//!
//! Clients take the last of them, at the place of the first.

use recto_log::EntryUuid;
use recto_log::RawLine;
use recto_log::decode;

use super::Fix;
use super::bench::Bench;
use super::bench::Edit;
use super::lines::new_uuid;
use super::step::Step;
use crate::NodeId;
use crate::Parent;
use crate::edit::Change;
use crate::edit::EditError;

pub(super) fn repeated_uuids(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    if bench.now.session.repeated.is_empty() {
        return Ok(Vec::new());
    }
    let mut earlier: Vec<(NodeId, Vec<usize>)> = Vec::new();
    let mut at = std::collections::HashMap::new();
    for (place, line) in bench.now.lines().iter().enumerate() {
        let Some(id) = line.node.filter(|id| bench.now.place(*id) != place) else { continue };
        let known = *at.entry(id).or_insert(earlier.len());
        if known == earlier.len() {
            earlier.push((id, Vec::new()));
        }
        earlier[known].1.push(place);
    }
    let mut steps = Vec::new();
    for (id, places) in earlier {
        one_uuid(bench, id, &places, &mut steps)?;
    }
    Ok(steps)
}

/// The steps for lines with the uuid of `id`, which come before it.
fn one_uuid(
    bench: &mut Bench<'_, '_, '_>,
    id: NodeId,
    places: &[usize],
    steps: &mut Vec<Step>,
) -> Result<(), EditError> {
    let last = bench.sheet_of(id);
    let last_place = bench.now.place(id);
    let last_text = bench.text(last)?;
    let mut is_first = true;
    for &place in places {
        let sheet = bench.sheet(place);
        let text = bench.text(sheet)?;
        let line = bench.number(place);
        let is_same = text.trim_ascii() == last_text.trim_ascii();
        if !is_same && are_different_lines(&text, &last_text) {
            let uuid = new_uuid(bench, place as u64 + (1 << 40));
            steps.push(Step::new(
                Fix::RepeatedUuid,
                line,
                format!("another line has the same uuid; this one gets {uuid}"),
                renamed(bench, id, place, last_place, &uuid),
            ));
            continue;
        }
        let mut edits = Vec::new();
        if std::mem::replace(&mut is_first, false) {
            edits.push(Edit::Order(vec![last, sheet]));
        }
        let words = if is_same {
            edits.push(Edit::Remove(sheet));
            "the line occurs twice; one is removed"
        } else {
            edits.push(Edit::Aside(sheet));
            "a later form of the line counts; this one is set aside"
        };
        steps.push(Step::new(Fix::RepeatedUuid, line, words, edits));
    }
    Ok(())
}

/// Whether two lines with one uuid are two things that were said, and not two
/// forms of one line.
fn are_different_lines(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (decode(RawLine::alone(one)).0, decode(RawLine::alone(other)).0);
    one.kind() != other.kind()
        || one.timestamp() != other.timestamp()
        || one.parent_uuid() != other.parent_uuid()
}

/// Gives the line at `place` another uuid. Lines between it and its namesake
/// follow it, and so does the namesake if it followed itself.
fn renamed(
    bench: &Bench<'_, '_, '_>,
    id: NodeId,
    place: usize,
    last_place: usize,
    uuid: &EntryUuid,
) -> Vec<Edit> {
    let session = &bench.now.session;
    let change = Change::set_string(["uuid".into()], &uuid.to_string());
    let mut edits = vec![Edit::Change(bench.sheet(place), change)];
    for child in session.ids() {
        let is_between = (place + 1..=last_place).contains(&bench.now.place(child));
        if session.node(child).parent == Parent::Node(id) && is_between {
            edits.push(Edit::Parent(bench.sheet_of(child), Some(uuid.clone())));
        }
    }
    edits
}
