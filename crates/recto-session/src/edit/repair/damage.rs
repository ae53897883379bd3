//! Lines that are no JSON object: torn, padded with NUL, glued together.

use memchr::memmem;
use recto_log::Kind;
use recto_log::OpaqueReason;
use recto_log::RawLine;
use recto_log::decode;

use super::Fix;
use super::bench::Bench;
use super::bench::Edit;
use super::step::Step;
use crate::edit::EditError;

/// A whole line inside a damaged one is looked for at so many places.
const MOST_STARTS: usize = 256;

/// Damaged lines go aside; whole lines inside them are saved.
pub(super) fn damaged_lines(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let lines = bench.now.lines().iter().enumerate();
    let opaque = lines.filter(|(_, line)| line.kind == Kind::Opaque);
    let opaque: Vec<usize> = opaque.map(|(place, _)| place).collect();
    let mut steps = Vec::new();
    for place in opaque {
        let sheet = bench.sheet(place);
        let length = bench.now.lines().get(place).map_or(0, |line| line.span.length);
        let text = bench.text(sheet)?;
        // What is only too long is not damaged.
        let line = RawLine { length: length.max(text.len() as u64), ..RawLine::alone(&text) };
        let reason = decode(line).0.opaque_reason();
        if !matches!(reason, Some(OpaqueReason::NotJson | OpaqueReason::NotObject)) {
            continue;
        }
        let saved = whole_lines_in(&text);
        let mut words = match reason {
            _ if text.iter().all(|byte| *byte == 0) => "NUL bytes are set aside".to_owned(),
            Some(OpaqueReason::NotObject) => "JSON that is not an object is set aside".to_owned(),
            _ => "a torn line is set aside".to_owned(),
        };
        match saved.len() {
            0 => {}
            1 => words += "; a whole line inside it is saved",
            more => words += &format!("; {more} whole lines inside it are saved"),
        }
        let mut edits: Vec<Edit> =
            saved.into_iter().map(|line| Edit::Insert(sheet, line.to_vec())).collect();
        edits.push(Edit::Aside(sheet));
        steps.push(Step::new(Fix::DamagedLine, bench.number(place), words, edits));
    }
    Ok(steps)
}

/// The lines of the chain that are whole inside a damaged line: after NUL
/// bytes, or after the torn start of another line.
fn whole_lines_in(text: &[u8]) -> Vec<&[u8]> {
    let text = trim(text);
    for start in memmem::find_iter(text, b"{\"").take(MOST_STARTS) {
        let rest = &text[start..];
        if is_chained(rest) {
            let before = trim(&text[..start]);
            let mut lines = Vec::new();
            if is_chained(before) {
                lines.push(before);
            }
            lines.push(rest);
            return lines;
        }
    }
    Vec::new()
}

fn is_chained(line: &[u8]) -> bool {
    let (entry, _) = decode(RawLine::alone(line));
    entry.kind().in_chain() && entry.uuid().is_some()
}

fn trim(text: &[u8]) -> &[u8] {
    let is_inside = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
    let start = text.iter().position(is_inside).unwrap_or(text.len());
    let end = text.iter().rposition(is_inside).map_or(start, |end| end + 1);
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = br#"{"type":"user","uuid":"a","message":{"content":"x"}}"#;

    fn joined(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn a_whole_line_after_nul_bytes_or_a_torn_one_is_found() {
        let torn: &[u8] = br#"{"type":"user","message":{"type":"te"#;
        for text in [joined(&[b"\0\0", LINE, b"\0"]), joined(&[torn, LINE])] {
            assert_eq!(whole_lines_in(&text), [LINE]);
        }
        assert_eq!(whole_lines_in(&joined(&[LINE, LINE])), [LINE, LINE]);
    }

    #[test]
    fn what_is_torn_itself_gives_nothing() {
        let torn = &LINE[..LINE.len() - 1];
        assert!(whole_lines_in(torn).is_empty());
        assert!(whole_lines_in(b"\0\0\0").is_empty());
        assert!(whole_lines_in(br#"{"a":{"type":"text","text":"x"}"#).is_empty());
    }
}
