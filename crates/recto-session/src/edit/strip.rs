//! Whole things taken out: thinking, tools, turns, what is not conversation.

use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::RangeInclusive;

use recto_log::Kind;

use crate::BlockFact;
use crate::LineSource;
use crate::NodeId;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Manuscript;
use crate::edit::Plan;
use crate::edit::ages::Ages;
use crate::edit::cut::Cut;
use crate::edit::cut::elements;
use crate::edit::cut::server_call;
use crate::edit::mend::mend;
use crate::edit::plan::PlanKind;
use crate::edit::plan::Sizes;
use crate::edit::plan::Tally;
use crate::edit::plan::read_line;

/// What is to be taken out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StripOptions {
    /// Whether thinking goes.
    pub thinking: bool,
    /// The tools whose calls and results go; all, if none is named.
    pub tools: Option<Vec<String>>,
    /// Whether lines go that no client needs to go on: requests that were
    /// noted, the queue, progress, remarks of the client for the user. Titles,
    /// modes, costs and file backups stay.
    pub meta: bool,
    /// The turns that are forgotten.
    pub turns: Option<RangeInclusive<u32>>,
}

/// Takes things out of a session.
pub fn strip<'m>(
    manuscript: &'m Manuscript,
    options: &StripOptions,
    log: &dyn LineSource,
) -> Result<Plan<'m>, EditError> {
    let mut sizes = Sizes::new(manuscript);
    let ages = Ages::new(manuscript, sizes.reach.leaf);
    let before = sizes.amount(manuscript, |_| true);
    let mut draft = Draft::new(manuscript);
    let mut tally = Tally::default();
    let mut notes = Vec::new();
    // Turns first: what goes with them is not counted again.
    if let Some(range) = &options.turns {
        forget(&mut draft, &ages, range, &mut tally, &mut notes)?;
    }
    let mut cut = Cut::new(manuscript);
    if options.thinking {
        cut.remove_blocks(|block| matches!(block, BlockFact::Thinking { .. }));
    }
    if let Some(names) = &options.tools {
        cut_tools(manuscript, &mut cut, names, log)?;
    }
    cut.close();
    cut.finish(&mut draft, &mut sizes, &mut tally, log)?;
    if options.meta {
        drop_meta(&mut draft, &mut tally);
    }
    if draft.is_unchanged() {
        return Err(EditError::NothingToDo);
    }
    let stranded = mend(&mut draft, &sizes, &ages.history, log)?;
    let (after, removed) = sizes.left(&draft, &stranded);
    let rows = tally.finish();
    Ok(Plan { draft, rows, removed, before, after, notes, is_reached: true })
}

/// Takes out calls and results of tools, those of the server too.
fn cut_tools(
    manuscript: &Manuscript,
    cut: &mut Cut<'_>,
    names: &[String],
    log: &dyn LineSource,
) -> Result<(), EditError> {
    let session = &manuscript.session;
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    let mut calls = HashSet::new();
    for block in session.nodes().flat_map(|node| node.blocks) {
        match block {
            BlockFact::ToolUse { id, name } if is_asked(session.name(*name)) => {
                calls.insert(*id);
            }
            // Without a call there is no name; it goes if all go.
            BlockFact::ToolResult { id, .. } if names.is_empty() => {
                calls.insert(*id);
            }
            _ => {}
        }
    }
    cut.remove_calls(&calls);
    let mut tools: HashMap<String, String> = HashMap::new();
    let mut found = Vec::new();
    for id in session.ids() {
        let node = session.node(id);
        let has_other = node.blocks.contains(&BlockFact::Other);
        if !has_other || node.kind != Kind::Assistant || node.flags.is_sidechain {
            continue;
        }
        let bytes = read_line(manuscript, manuscript.place(id), log)?;
        for (place, call) in
            elements(&bytes, |_, _, block| server_call(block)).into_iter().enumerate()
        {
            if let Some((call, name)) = call.filter(|_| node.blocks[place] == BlockFact::Other) {
                tools.extend(name.map(|name| (call.clone(), name)));
                found.push((id, place, call));
            }
        }
    }
    for (id, place, call) in found {
        if names.is_empty() || tools.get(&call).is_some_and(|name| is_asked(name)) {
            cut.remove_block(id, place);
        }
    }
    Ok(())
}

/// Takes out all lines of some turns. The boundary of a compaction stays, or
/// what it replaced would come back.
fn forget(
    draft: &mut Draft<'_>,
    ages: &Ages,
    range: &RangeInclusive<u32>,
    tally: &mut Tally,
    notes: &mut Vec<String>,
) -> Result<(), EditError> {
    let manuscript = draft.manuscript();
    let session = &manuscript.session;
    let last = u32::try_from(ages.turns.len()).unwrap_or(u32::MAX);
    for number in [*range.start(), *range.end()] {
        if number == 0 || number > last {
            return Err(EditError::NoTurn { number, last });
        }
    }
    let boundaries: HashSet<NodeId> =
        session.facts().compactions.iter().map(|found| found.boundary).collect();
    let mut gone = vec![false; session.node_count()];
    for number in range.clone() {
        let name = number.to_string();
        let mut places: Option<(usize, usize)> = None;
        for &id in ages.turns.nodes(number as usize - 1) {
            let node = session.node(id);
            if boundaries.contains(&id) {
                continue;
            }
            if node.flags.is_compact_summary {
                notes.push(format!(
                    "turn {name} is the summary of a compaction; what it replaced does not come back"
                ));
            }
            gone[id.index()] = true;
            tally.add(PlanKind::Turn, &name, u64::from(node.content_bytes));
            let place = manuscript.place(id);
            places = Some(
                places.map_or((place, place), |(start, end)| (start.min(place), end.max(place))),
            );
        }
        // What was typed and sent stands in other lines as well.
        for place in places.map_or(0..0, |(start, end)| start..end) {
            let Some(line) = manuscript.lines().get(place) else { continue };
            if repeats_text(line.kind) {
                draft.remove_line(place);
            }
        }
    }
    for (place, line) in manuscript.lines().iter().enumerate() {
        if line.node.is_some_and(|id| gone[id.index()]) {
            draft.remove_line(place);
        }
    }
    Ok(())
}

/// Lines beside the conversation that hold text of it, and that no client needs.
fn repeats_text(kind: Kind) -> bool {
    matches!(kind, Kind::QueueOperation | Kind::ApiRequest | Kind::ApiRequestBlob)
}

/// Takes out lines that no client needs to go on.
fn drop_meta(draft: &mut Draft<'_>, tally: &mut Tally) {
    let manuscript = draft.manuscript();
    let session = &manuscript.session;
    for (place, line) in manuscript.lines().iter().enumerate() {
        let (is_gone, name) = match line.kind {
            Kind::ApiRequestShape | Kind::Progress => (true, line.kind.name()),
            kind if repeats_text(kind) => (true, kind.name()),
            Kind::System => {
                let node = line.node.map(|id| session.node(id));
                let name = node.and_then(|node| node.subtype).map_or("", |name| session.name(name));
                (is_remark(name), name)
            }
            _ => (false, ""),
        };
        let is_of_subagent = line.node.is_some_and(|id| session.node(id).flags.is_sidechain);
        if is_gone && !is_of_subagent && draft.keeps_line(place) {
            tally.add(PlanKind::Meta, name, line.span.length);
            draft.remove_line(place);
        }
    }
}

/// System lines that are for the user only and whose meaning is known.
fn is_remark(subtype: &str) -> bool {
    matches!(subtype, "turn_duration" | "stop_hook_summary" | "api_error" | "informational")
}
