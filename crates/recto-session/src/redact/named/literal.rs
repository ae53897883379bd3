//! What a value is in a text: where it begins and ends, with quotes or without.

use std::ops::Range;

/// Past spaces and tabs.
pub(super) fn after_spaces(text: &[u8], at: usize) -> usize {
    const MOST: usize = 40;
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t');
    at + text[at.min(text.len())..].iter().take(MOST).take_while(is_space).count()
}

/// Where a bare value ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Plain,
    Query,
    Prose,
}

/// The opening quote, with what may stand before it, and how it is escaped.
pub(super) fn after_opening(text: &[u8], at: usize) -> (usize, Option<(u8, usize)>) {
    let has_letter =
        matches!(text.get(at), Some(b'b' | b'r' | b'f' | b'u' | b'N' | b'@' | b'$' | b'L'))
            && matches!(text.get(at + 1), Some(b'"' | b'\''));
    let start = at + usize::from(has_letter);
    let slashes =
        text[start.min(text.len())..].iter().take(8).take_while(|byte| **byte == b'\\').count();
    match text.get(start + slashes) {
        Some(quote @ (b'"' | b'\'' | b'`')) => (start + slashes + 1, Some((*quote, slashes))),
        _ => (at, None),
    }
}

/// The value that begins at a place, and whether it is quoted.
pub(super) fn value_at(text: &[u8], at: usize, ends: Ends) -> Option<(Range<usize>, bool)> {
    let at = after_spaces(text, at);
    match after_opening(text, at) {
        (start, Some((quote, slashes))) => {
            let end = quoted_end(text, start, quote, slashes)?;
            Some((start..end, true)).filter(|_| end > start)
        }
        _ => bare(text, at, ends).map(|range| (range, false)),
    }
}

/// Where a quoted value ends: at the same quote, escaped in the same way, on the same line.
fn quoted_end(text: &[u8], start: usize, quote: u8, slashes: usize) -> Option<usize> {
    const MOST: usize = 2048;
    let rest = &text[start..text.len().min(start + MOST)];
    let mut run = 0;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'\n' | b'\r' => return None,
            b'\\' => run += 1,
            _ if *byte == quote && run == slashes => return Some(start + at - run),
            // A quote that is escaped more deeply belongs to the value.
            _ if *byte == quote && run < slashes => return Some(start + at - run),
            _ => run = 0,
        }
    }
    None
}

/// The value without quotes that begins at a place.
pub(super) fn bare(text: &[u8], at: usize, ends: Ends) -> Option<Range<usize>> {
    const MOST: usize = 2048;
    let rest = &text[at.min(text.len())..text.len().min(at + MOST)];
    let mut end = 0;
    while let Some(byte) = rest.get(end) {
        let next = rest.get(end + 1);
        let stops = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b';' | b'<' | b'>' | b'|'
            | b')' | b'}' | b']' => true,
            b'\\' => !next.is_some_and(|next| b"!$&#@*()".contains(next)),
            b'&' => ends == Ends::Query || !next.is_some_and(u8::is_ascii_alphanumeric),
            b'#' => ends == Ends::Query,
            b',' => {
                next.is_none_or(|next| b" \t\r\n\"'".contains(next))
                    || is_next_pair(&rest[end + 1..])
            }
            byte if *byte < b' ' => true,
            _ => false,
        };
        if stops {
            break;
        }
        end += 1;
    }
    let trimmed: &[u8] = if ends == Ends::Prose { b".,:!?" } else { b",:" };
    while end > 0 && (trimmed.contains(&rest[end - 1]) || rest[..end].ends_with(b"**")) {
        end -= 1;
    }
    // The stop of a sentence.
    if end > 0 && rest[end - 1] == b'.' && rest.get(end).is_none_or(u8::is_ascii_whitespace) {
        end -= 1;
    }
    (end > 0).then_some(at..at + end)
}

/// Whether another name and value follow a comma.
fn is_next_pair(rest: &[u8]) -> bool {
    const MOST: usize = 32;
    let is_name = |byte: &&u8| super::is_name_byte(**byte) || **byte == b'.';
    let name = rest.iter().take(MOST).take_while(is_name).count();
    name > 1 && matches!(rest.get(name), Some(b'=' | b':'))
}
