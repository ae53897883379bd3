//! What is left of a conversation after a compaction.

use std::borrow::Cow;

use super::Generation;
use super::view::View;
use crate::NodeId;
use crate::fold::bits::Bits;

/// The lines from the last compaction on. Older lines that the compaction
/// preserved follow its anchor, which is the summary.
pub(super) fn cut_at_boundary<'c>(view: &View<'_>, chain: &'c [NodeId]) -> Cow<'c, [NodeId]> {
    let Some(start) = chain.iter().rposition(|id| view.is_boundary(*id)) else {
        return Cow::Borrowed(chain);
    };
    let tail = &chain[start..];
    let knows_preserved = view.generation >= Generation::V2_1_100;
    let compactions = &view.session.facts().compactions;
    let boundary = compactions.iter().find(|compaction| compaction.boundary == chain[start]);
    let Some(metadata) = boundary.map(|found| &found.metadata).filter(|_| knows_preserved) else {
        return Cow::Borrowed(tail);
    };
    let is_inside = Bits::of(view.session.node_count(), tail);
    let kept = metadata.preserved.iter().filter_map(|uuid| view.find(uuid));
    let kept: Vec<NodeId> = kept.filter(|id| !is_inside.has(*id)).collect();
    let mut lines = Vec::with_capacity(tail.len() + kept.len());
    for id in tail {
        lines.push(*id);
        if Some(&view.node(*id).uuid()) == metadata.anchor.as_ref() {
            lines.extend_from_slice(&kept);
        }
    }
    Cow::Owned(lines)
}
