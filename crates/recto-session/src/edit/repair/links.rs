//! Lines that follow nothing, themselves, or something that is not there.

use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::RawLine;
use recto_log::decode;

use super::Fix;
use super::bench::Bench;
use super::bench::SheetId;
use super::evidence::Evidence;
use super::evidence::Finding;
use super::evidence::edits_of;
use super::evidence::elsewhere;
use super::step::Step;
use super::tree::cycles;
use super::words::Why;
use crate::NodeId;
use crate::Parent;
use crate::edit::EditError;

/// System lines that clients write after an answer.
const AFTER_ANSWERS: [&str; 2] = ["turn_duration", "stop_hook_summary"];

/// How a link is broken.
enum Broken {
    /// The parent is not there.
    Missing(EntryUuid),
    /// The parent is of an unknown type; that follows a line, or nothing.
    Unknown(Option<NodeId>),
    /// The parents lead back to the line.
    Cycle,
    /// An answer, a result or a line without the field follows nothing.
    NoParent,
    /// A prompt follows nothing.
    Beginning,
}

pub(super) fn broken_links(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let cuts = cycles(&bench.now.session);
    let broken = broken(bench, &cuts)?;
    if broken.is_empty() {
        return Ok(Vec::new());
    }
    let mut evidence = Evidence::new(bench, &cuts);
    let mut steps = Vec::new();
    let mut nowhere = Vec::new();
    let mut put_back = HashSet::new();
    for (id, how) in broken {
        let is_root = bench.now.session.node(id).parent == Parent::Root;
        let mut others = Vec::new();
        let (fix, finding) = match how {
            Broken::Missing(uuid) => {
                let found = elsewhere(bench, &uuid);
                if matches!(found, Some(Finding::PutBack { .. })) && !put_back.insert(uuid) {
                    continue;
                }
                let found = found.unwrap_or_else(|| {
                    let (first, rest) = evidence.of_orphan(id);
                    others = rest;
                    first
                });
                (Fix::MissingParent, found)
            }
            Broken::Unknown(None) => (Fix::UnknownParent, Finding::Beginning),
            Broken::Unknown(Some(line)) => {
                (Fix::UnknownParent, Finding::Line(line, Why::AboveUnknown))
            }
            Broken::Cycle if bench.now.session.node(id).flags.is_sidechain => {
                (Fix::Cycle, Finding::Beginning)
            }
            Broken::Cycle => (Fix::Cycle, evidence.of_rootless(id)),
            Broken::NoParent => (Fix::NoParent, evidence.of_rootless(id)),
            Broken::Beginning => (Fix::SecondBeginning, evidence.of_beginning(id)),
        };
        match finding {
            Finding::Beginning if is_root => continue,
            Finding::Nowhere => {
                nowhere.push(bench.number_of(id));
                continue;
            }
            Finding::Beginning
            | Finding::Line(..)
            | Finding::PutBack { .. }
            | Finding::Past { .. } => {}
        }
        let (edits, words) = edits_of(bench, id, finding);
        let mut step = Step::new(fix, bench.number_of(id), words, edits);
        step.others = others.into_iter().map(|other| edits_of(bench, id, other)).collect();
        steps.push(step);
    }
    if bench.makes(Fix::MissingParent) {
        let words = |line| format!("line {line}: cannot find the line that it follows");
        bench.left.extend(nowhere.into_iter().map(words));
    }
    Ok(steps)
}

/// The lines with a broken link, in the order of the log.
fn broken(
    bench: &mut Bench<'_, '_, '_>,
    cuts: &[NodeId],
) -> Result<Vec<(NodeId, Broken)>, EditError> {
    let session = &bench.now.session;
    let unknown = session.records.unknown.iter();
    let unknown: HashMap<EntryUuid, SheetId> =
        unknown.map(|line| (line.uuid.clone(), bench.sheet(index(line.line)))).collect();
    let cuts: HashSet<NodeId> = cuts.iter().copied().collect();
    let is_sidechain = |id: &NodeId| session.node(*id).flags.is_sidechain;
    let mut main: Vec<NodeId> = session.ids().filter(|id| !is_sidechain(id)).collect();
    main.sort_by_key(|id| session.node(*id).line);
    // A circle among a subagent's lines hangs clients too.
    let mut broken: Vec<(NodeId, Broken)> =
        cuts.iter().filter(|id| is_sidechain(id)).map(|id| (*id, Broken::Cycle)).collect();
    broken.sort_by_key(|(id, _)| session.node(*id).line);
    let mut before: Option<NodeId> = None;
    for id in main {
        let session = &bench.now.session;
        let node = session.node(id);
        let how = match node.parent {
            Parent::Node(_) if cuts.contains(&id) => Some(Broken::Cycle),
            Parent::Node(_) => None,
            Parent::Missing(missing) => match session.missing_uuid(missing).cloned() {
                Some(uuid) if unknown.contains_key(&uuid) => {
                    Some(above_unknown(bench, &unknown, uuid)?)
                }
                Some(uuid) => Some(Broken::Missing(uuid)),
                None => None,
            },
            Parent::Root => match before {
                Some(before) => rootless(bench, id, before)?,
                None => None,
            },
        };
        broken.extend(how.map(|how| (id, how)));
        before = Some(id);
    }
    Ok(broken)
}

fn index(line: u64) -> usize {
    usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX)
}

/// What is above lines of unknown types.
fn above_unknown(
    bench: &mut Bench<'_, '_, '_>,
    unknown: &HashMap<EntryUuid, SheetId>,
    uuid: EntryUuid,
) -> Result<Broken, EditError> {
    let mut at = uuid;
    for _ in 0..=unknown.len() {
        let Some(sheet) = unknown.get(&at) else { break };
        let text = bench.text(*sheet)?;
        match decode(RawLine::alone(&text)).0.parent_uuid() {
            None => return Ok(Broken::Unknown(None)),
            Some(parent) => match bench.now.session.find(&parent) {
                Some(line) => return Ok(Broken::Unknown(Some(line))),
                None => at = parent,
            },
        }
    }
    Ok(Broken::Missing(at))
}

/// Whether a line that follows nothing, and is not the first, should follow
/// something.
fn rootless(
    bench: &mut Bench<'_, '_, '_>,
    id: NodeId,
    before: NodeId,
) -> Result<Option<Broken>, EditError> {
    let session = &bench.now.session;
    let node = session.node(id);
    if node.logical_parent.is_some() {
        return Ok(None);
    }
    let is_boundary = |id: NodeId| {
        let name = session.node(id).subtype.map(|name| session.name(name));
        session.node(id).kind == Kind::System && name == Some("compact_boundary")
    };
    let subtype = node.subtype.map(|name| session.name(name));
    let follows_something = node.kind == Kind::Assistant
        || node.has_result()
        || node.kind == Kind::System && subtype.is_some_and(|name| AFTER_ANSWERS.contains(&name))
        || node.flags.is_compact_summary && is_boundary(before);
    if follows_something {
        return Ok(Some(Broken::NoParent));
    }
    let (is_prompt, is_own_boundary) = (node.kind == Kind::User, is_boundary(id));
    let sheet = bench.sheet_of(id);
    let text = bench.text(sheet)?;
    let has_field = decode(RawLine::alone(&text)).0.get("parentUuid").is_some();
    Ok(match (has_field, is_prompt) {
        _ if is_own_boundary => None,
        (false, _) => Some(Broken::NoParent),
        (true, true) if bench.makes(Fix::SecondBeginning) => Some(Broken::Beginning),
        (true, _) => None,
    })
}
