//! Every call is answered in the next message, every result answers a call of
//! the message before.

use std::collections::HashSet;

use super::Generation;
use super::client_text::NO_CONTENT;
use super::client_text::ORPHANED;
use super::group::Group;
use super::group::Turn;
use super::piece::Piece;
use super::piece::PieceKind;

/// Makes calls and results fit; before 2.1.0 they are sent as they are.
pub(super) fn pair(groups: Vec<Group>, generation: Generation) -> Vec<Group> {
    if generation < Generation::V2_1_0 {
        return groups;
    }
    let mut paired = Vec::with_capacity(groups.len());
    let mut used = HashSet::new();
    // The calls of the answer before; nothing at the very beginning.
    let mut before: Option<Vec<String>> = None;
    for group in groups {
        match group {
            Group::Answer { id, mut pieces } => {
                paired.extend(before.as_deref().and_then(answers_for));
                let mut calls = Vec::new();
                pieces.retain(|piece| match &piece.kind {
                    PieceKind::ToolUse { id } => {
                        let is_new = used.insert(id.clone());
                        let keep = is_new || generation < Generation::V2_1_100;
                        if keep {
                            calls.push(id.clone());
                        }
                        keep
                    }
                    _ => true,
                });
                before = Some(calls);
                paired.push(Group::Answer { id, pieces });
            }
            Group::Turn(turn) if before.is_none() && generation == Generation::V2_1_0 => {
                paired.push(Group::Turn(turn));
            }
            Group::Turn(mut turn) => {
                pair_turn(&mut turn, before.as_deref(), generation);
                before = Some(Vec::new());
                paired.push(Group::Turn(turn));
            }
        }
    }
    paired.extend(before.as_deref().and_then(answers_for));
    paired
}

/// A turn of results for calls that nothing else answers.
fn answers_for(calls: &[String]) -> Option<Group> {
    let results: Vec<Piece> = calls.iter().map(|id| Piece::missing(id)).collect();
    let turn = Turn { user: vec![results], ..Turn::default() };
    (!calls.is_empty()).then_some(Group::Turn(turn))
}

fn pair_turn(turn: &mut Turn, calls: Option<&[String]>, generation: Generation) {
    let wanted: HashSet<&str> = calls.unwrap_or_default().iter().map(String::as_str).collect();
    let takes_one = generation >= Generation::V2_1_100;
    let mut seen: HashSet<String> = HashSet::new();
    let mut has_removed = false;
    for pieces in &mut turn.user {
        pieces.retain(|piece| {
            let PieceKind::ToolResult { id } = &piece.kind else { return true };
            let is_first = !seen.contains(id);
            let keep = wanted.contains(id.as_str()) && (is_first || !takes_one);
            if keep {
                seen.insert(id.clone());
            }
            has_removed |= !keep;
            keep
        });
    }
    let lost = calls.unwrap_or_default().iter().filter(|id| !seen.contains(*id));
    let lost: Vec<Piece> = lost.map(|id| Piece::missing(id)).collect();
    if !lost.is_empty() {
        turn.user.insert(0, lost);
    }
    let is_empty = turn.user.iter().all(Vec::is_empty) && turn.reminders.is_empty();
    if has_removed && is_empty && takes_one {
        turn.user = match calls {
            Some(_) => vec![vec![Piece::text(NO_CONTENT)]],
            None if generation == Generation::V2_1_300 => vec![vec![Piece::text(ORPHANED)]],
            // The client's own first text (date, instructions) stands there alone.
            None => Vec::new(),
        };
    }
}
