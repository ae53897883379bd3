//! Texts as clients and the API see them: what is blank, and what cannot be sent.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use recto_log::json::Value;

/// Whether a client would trim a text to nothing.
pub(crate) fn is_blank(text: &str) -> bool {
    trim(text).is_empty()
}

/// The same for a text that is still in its line: most show that they are not
/// blank by their first character, and need not be read further.
pub(super) fn is_blank_value(text: Value<'_>) -> bool {
    match text.text_start() {
        Some(start) if start.is_ascii_graphic() && start != b'\\' => false,
        _ => text.as_str().is_none_or(|text| is_blank(&text)),
    }
}

/// A text without the white space around it, as JavaScript sees white space.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}

/// Whether a line holds the escape of a lone surrogate, which the API refuses.
pub(super) fn has_lone_surrogate(bytes: &[u8]) -> bool {
    // Most lines hold no such escape at all, and finding that out is cheap.
    static ESCAPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\\u"));
    let may_be = |at: usize| matches!(bytes.get(at + 2), Some(b'd' | b'D'));
    if !ESCAPE.find_iter(bytes).any(may_be) {
        return false;
    }
    let mut rest = bytes;
    while let Some(at) = find_surrogate(rest) {
        let low = rest.get(at + 6..at + 12).is_some_and(is_low_surrogate);
        let is_high = matches!(rest[at + 3], b'8' | b'9' | b'a' | b'b' | b'A' | b'B');
        if !(is_high && low) {
            return true;
        }
        rest = &rest[at + 12..];
    }
    false
}

/// The next `\uD…` escape of a surrogate.
fn find_surrogate(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = bytes.get(at..)?.iter().position(|byte| *byte == b'\\') {
        let start = at + found;
        match bytes.get(start + 1..start + 4) {
            Some([b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F']) => {
                return Some(start);
            }
            // Any other escape is at least two bytes, so `\\u` is not taken for one.
            _ => at = start + 2,
        }
    }
    None
}

fn is_low_surrogate(bytes: &[u8]) -> bool {
    matches!(bytes, [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_seen_and_pairs_are_not() {
        for (text, broken) in [
            (r"\ud83d\ude00", false),
            (r"\ud83d", true),
            (r"\ude00", true),
            (r"\\ud83d", false),
            (r"x\ud83d\n", true),
            (r"\ud83d\ud83d\ude00", true),
            ("plain", false),
        ] {
            assert_eq!(has_lone_surrogate(text.as_bytes()), broken, "{text}");
        }
    }
}
