//! What the client says right after a result goes into the text of the result.

use recto_log::json::ArrayWriter;
use recto_log::json::Value;
use recto_log::json::write_string;

use super::Generation;
use super::piece::Piece;
use super::piece::with_line_end;
use crate::fold::client_text::trim;

/// Puts texts into the result that the user's lines end with so far; false if they do not go
/// there. A line that says more than results takes none.
pub(super) fn put_beside(
    lines: &mut [Vec<Piece>],
    texts: &[Piece],
    generation: Generation,
) -> bool {
    let last = lines.iter_mut().rev().find(|line| line.iter().any(Piece::is_result));
    let Some(line) = last.filter(|line| line.iter().all(Piece::is_result)) else { return false };
    let Some(result) = line.last_mut().filter(|result| takes_text(result, generation)) else {
        return false;
    };
    put_into(result, texts);
    true
}

fn takes_text(result: &Piece, generation: Generation) -> bool {
    let content = result.get("content");
    !result.has_reference()
        && content.is_some_and(|content| {
            content.is_string() || (generation == Generation::V2_1_300 && content.is_array())
        })
}

fn put_into(result: &mut Piece, texts: &[Piece]) {
    let Some(content) = result.get("content") else { return };
    let longer = match content.as_str() {
        Some(text) => {
            let own = trim(&text);
            let mut parts: Vec<_> = texts.iter().map(Piece::text_inside).collect();
            if !own.is_empty() {
                parts.insert(0, own.into());
            }
            let mut longer = Vec::new();
            write_string(&mut longer, &parts.join("\n\n"));
            longer
        }
        None => blocks_with(content, texts),
    };
    result.set("content", &longer);
}

fn blocks_with(content: Value<'_>, texts: &[Piece]) -> Vec<u8> {
    let mut blocks: Vec<Piece> = content.elements().map(Piece::read).collect();
    for text in texts {
        if let Some(last) = blocks.last_mut().filter(|last| last.is_text())
            && let Some(longer) = last.get("text").and_then(with_line_end)
        {
            last.set("text", &longer);
        }
        blocks.push(Piece::text(&text.text_inside()));
    }
    blocks.iter().fold(ArrayWriter::new(), |array, piece| array.json(&piece.json)).finish()
}
