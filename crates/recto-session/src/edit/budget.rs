//! What to trim so that a request fits into a number of tokens.
//!
//! In this order, until it fits: results become notes, those that are old and
//! large first (bytes times turns since); pictures in prompts, the oldest
//! first; attachments, the oldest first; calls with their results, the oldest
//! first. Prompts, answers and thinking stay.

use std::cmp::Reverse;
use std::collections::HashSet;

use recto_log::Kind;

use crate::BlockFact;
use crate::LineSource;
use crate::NameId;
use crate::NodeId;
use crate::edit::EditError;
use crate::edit::trimmer::Trimmer;
use crate::health::estimated_tokens;

/// A note is about this long; smaller results are not worth one.
const NOTE_BYTES: u64 = 300;

/// Trims until a request of the newest clients has at most so many tokens, or
/// nothing more can go.
pub(super) fn shrink_to(
    trimmer: &mut Trimmer<'_>,
    tokens: u64,
    keep_last: u32,
    log: &dyn LineSource,
) -> Result<(), EditError> {
    let session = &trimmer.manuscript.session;
    let may = |id: &NodeId| trimmer.ages.age(*id) >= keep_last && !trimmer.cut.takes_line(*id);
    let lines: Vec<NodeId> = trimmer.sizes.sent().filter(may).collect();
    let mut now = trimmer.tokens();

    let mut results: Vec<NodeId> =
        lines.iter().copied().filter(|id| session.node(*id).has_result()).collect();
    let worth = |id: &NodeId| {
        trimmer.sizes.bytes(trimmer.manuscript, *id) * u64::from(trimmer.ages.age(*id) + 1)
    };
    results.sort_by_cached_key(|id| Reverse(worth(id)));
    for id in results {
        if now <= tokens {
            return Ok(());
        }
        if trimmer.sizes.bytes(trimmer.manuscript, id) > NOTE_BYTES {
            let places: Vec<usize> = (0..session.node(id).blocks.len()).collect();
            now -= saved(trimmer, id, |trimmer| trimmer.note_results(id, &places, 0, log))?;
        }
    }
    for &id in &lines {
        if now <= tokens {
            return Ok(());
        }
        if session.node(id).blocks.contains(&BlockFact::Media) {
            now -= saved(trimmer, id, |trimmer| trimmer.note_images(id, log))?;
        }
    }
    for &id in &lines {
        if now <= tokens {
            return Ok(());
        }
        if session.node(id).kind == Kind::Attachment {
            trimmer.drop_attachment(id);
            if trimmer.cut.takes_line(id) {
                now -= estimated_tokens(trimmer.sizes.bytes(trimmer.manuscript, id));
            }
        }
    }
    drop_calls(trimmer, &lines, now, tokens);
    Ok(())
}

/// How many tokens a step has saved in a line.
fn saved<'m>(
    trimmer: &mut Trimmer<'m>,
    id: NodeId,
    step: impl FnOnce(&mut Trimmer<'m>) -> Result<(), EditError>,
) -> Result<u64, EditError> {
    let tokens =
        |trimmer: &Trimmer<'m>| estimated_tokens(trimmer.sizes.bytes(trimmer.manuscript, id));
    let before = tokens(trimmer);
    step(trimmer)?;
    Ok(before.saturating_sub(tokens(trimmer)))
}

/// Drops the oldest calls until it fits.
fn drop_calls(trimmer: &mut Trimmer<'_>, lines: &[NodeId], now: u64, tokens: u64) {
    let session = &trimmer.manuscript.session;
    let mut now = now;
    let mut calls: HashSet<NameId> = HashSet::new();
    for &id in lines {
        let node = session.node(id);
        for block in &node.blocks {
            let BlockFact::ToolUse { id: call, .. } = *block else { continue };
            if now <= tokens {
                break;
            }
            calls.insert(call);
            let result = session.facts().call(call).and_then(|call| call.result);
            for line in [Some(id), result].into_iter().flatten() {
                // What one block of several takes is not known before it is read.
                if session.node(line).blocks.len() == 1 {
                    let bytes = trimmer.sizes.bytes(trimmer.manuscript, line);
                    now = now.saturating_sub(estimated_tokens(bytes));
                }
            }
        }
    }
    if !calls.is_empty() {
        trimmer.drop_calls(&calls);
    }
}
