//! What newer clients put right inside an answer before they send it.

use std::collections::HashSet;

use recto_log::json::Value;

use super::Generation;
use super::client_text::EMPTY_TEXT;
use super::client_text::TOOL_USE_INTERRUPTED;
use super::piece::Piece;
use super::piece::PieceKind;

/// The blocks of an answer as a client sends them.
pub(super) fn tidy(mut pieces: Vec<Piece>, generation: Generation) -> Vec<Piece> {
    let is_newest = generation == Generation::V2_1_300;
    if generation < Generation::V2_1_100 || pieces.is_empty() {
        return pieces;
    }
    if is_newest {
        pieces.retain(|piece| !piece.is_result());
    }
    drop_open_server_calls(&mut pieces);
    if generation >= Generation::V2_1_200 {
        pieces = without_blank_texts(pieces, generation);
    }
    if pieces.is_empty() {
        return vec![Piece::empty_answer(TOOL_USE_INTERRUPTED)];
    }
    if generation >= Generation::V2_1_200 {
        put_calls_last(&mut pieces);
    }
    pieces
}

/// Calls that ran at the endpoint go if no block of the answer has their result.
fn drop_open_server_calls(pieces: &mut Vec<Piece>) {
    if !pieces.iter().any(|piece| piece.kind == PieceKind::Other) {
        return;
    }
    let text =
        |value: Option<Value<'_>>| value.and_then(Value::as_str).map(std::borrow::Cow::into_owned);
    let results: HashSet<String> =
        pieces.iter().filter_map(|piece| text(piece.get("tool_use_id"))).collect();
    pieces.retain(|piece| {
        let is_call = piece.kind == PieceKind::Other
            && text(piece.get("type")).is_some_and(|kind| kind == "server_tool_use");
        !is_call || text(piece.get("id")).is_some_and(|id| results.contains(&id))
    });
}

/// Empty texts go, and blank ones where the model thinks, except for one that keeps two blocks
/// of thinking apart; where that is empty, the client says so. 2.1.200 leaves empty ones.
fn without_blank_texts(pieces: Vec<Piece>, generation: Generation) -> Vec<Piece> {
    let thinks = pieces.iter().any(|piece| piece.kind == PieceKind::Thinking);
    let is_gone = |piece: &Piece| {
        let is_blank = matches!(piece.kind, PieceKind::Text { is_blank: true });
        let is_empty = piece.text_inside().is_empty();
        let is_newest = generation == Generation::V2_1_300;
        is_blank && if is_newest { thinks || is_empty } else { thinks && !is_empty }
    };
    let is_thinking = |piece: &Piece| piece.kind == PieceKind::Thinking;
    let mut kept: Vec<Piece> = Vec::with_capacity(pieces.len());
    let mut gap = None;
    for piece in pieces {
        if is_gone(&piece) {
            gap.get_or_insert(piece);
            continue;
        }
        if let Some(blank) = gap.take()
            && is_thinking(&piece)
            && kept.last().is_some_and(is_thinking)
        {
            let is_empty = blank.text_inside().is_empty();
            kept.push(if is_empty { Piece::empty_answer(EMPTY_TEXT) } else { blank });
        }
        kept.push(piece);
    }
    kept
}

/// Calls are moved behind what is said after them, unless the model thinks right before and
/// right after the first ones.
fn put_calls_last(pieces: &mut [Piece]) {
    let is_call = |piece: &Piece| matches!(piece.kind, PieceKind::ToolUse { .. });
    let is_thinking = |piece: &&Piece| piece.kind == PieceKind::Thinking;
    let Some(first) = pieces.iter().position(is_call) else { return };
    let before = first.checked_sub(1).and_then(|before| pieces.get(before));
    let after = pieces[first..].iter().find(|piece| !is_call(piece));
    if before.filter(is_thinking).is_none() || after.filter(is_thinking).is_none() {
        pieces.sort_by_key(is_call);
    }
}
