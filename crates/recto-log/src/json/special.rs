//! Finding the bytes that end or interrupt a string, many at a time, because
//! most of a log is the inside of long strings.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// How many bytes of a long string are looked at in one step.
const STEP: usize = 32;

/// The next quote, backslash or control character at or after `at`.
#[inline(always)]
pub(super) fn next_special(bytes: &[u8], at: usize) -> usize {
    in_first_words(bytes, at).unwrap_or_else(|| next_in_long(bytes, at + 16))
}

/// The next quote or backslash, where there are no control characters.
#[inline(always)]
pub(super) fn next_quote_or_slash(bytes: &[u8], at: usize) -> usize {
    in_first_words(bytes, at).unwrap_or_else(|| {
        let rest = &bytes[at + 16..];
        at + 16 + memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())
    })
}

/// The same in the first 16 bytes, or in all there are: keys and most values are
/// over soon.
#[inline(always)]
fn in_first_words(bytes: &[u8], at: usize) -> Option<usize> {
    for word in [at, at + 8] {
        let Some(chunk) = bytes.get(word..word + 8) else {
            return Some(next_by_bytes(bytes, word));
        };
        if let Some(found) = special_in_word(chunk) {
            return Some(word + found);
        }
    }
    None
}

/// What kinds of bytes a text holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteKinds {
    /// Whether there are control characters.
    pub(crate) has_controls: bool,
    /// Whether all is ASCII.
    pub(crate) is_ascii: bool,
}

/// Looks at all bytes, a word at a time: a release that is optimised for size has no loops over
/// bytes that became wide instructions by themselves.
pub(crate) fn byte_kinds(bytes: &[u8]) -> ByteKinds {
    let (mut controls, mut any) = (0, 0);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        controls |= word.wrapping_sub(ONES * 0x20) & !word;
        any |= word;
    }
    let (mut has_controls, mut is_ascii) = (controls & HIGHS != 0, any & HIGHS == 0);
    for byte in rest {
        has_controls |= *byte < 0x20;
        is_ascii &= byte.is_ascii();
    }
    ByteKinds { has_controls, is_ascii }
}

/// The same where a string has shown to be long.
fn next_in_long(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..at + STEP) {
        let (words, _) = chunk.as_chunks::<8>();
        if words.iter().fold(0, |any, word| any | specials(u64::from_le_bytes(*word))) != 0 {
            break;
        }
        at += STEP;
    }
    while let Some(chunk) = bytes.get(at..at + 8) {
        if let Some(found) = special_in_word(chunk) {
            return at + found;
        }
        at += 8;
    }
    next_by_bytes(bytes, at)
}

fn next_by_bytes(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

#[inline(always)]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// The first special byte among eight.
#[inline(always)]
fn special_in_word(chunk: &[u8]) -> Option<usize> {
    let mut word = [0; 8];
    word.copy_from_slice(chunk);
    let found = specials(u64::from_le_bytes(word));
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

/// The high bit of each special byte of a word. A borrow can mark bytes after the first hit, never
/// before it, and none without a hit.
#[inline(always)]
fn specials(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    ((quote.wrapping_sub(ONES) & !quote)
        | (slash.wrapping_sub(ONES) & !slash)
        | (word.wrapping_sub(ONES * 0x20) & !word))
        & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_of_bytes_are_told() {
        let kinds = |text: &[u8]| {
            let ByteKinds { has_controls, is_ascii } = byte_kinds(text);
            (has_controls, is_ascii)
        };
        assert_eq!(kinds(b""), (false, true));
        for length in 1..70 {
            let mut text = vec![b' '; length];
            assert_eq!(kinds(&text), (false, true));
            text[length - 1] = 0x80;
            assert_eq!(kinds(&text), (false, false));
            text[length / 2] = 0x1f;
            assert!(kinds(&text).0);
        }
    }

    #[test]
    fn a_special_byte_is_found_at_every_place() {
        for place in 0..80 {
            for special in [b'"', b'\\', 0x1f, 0] {
                for plain in [b'\x80', b' ', b'a', b'\x7f', b'\xff', b'!', b'#', b'[', b']'] {
                    let mut bytes = vec![plain; 80];
                    bytes[place] = special;
                    assert_eq!(next_special(&bytes, 0), place);
                    let is_control = special < 0x20;
                    assert!(is_control || next_quote_or_slash(&bytes, 0) == place);
                    assert_eq!(next_special(&bytes[..place], 0), place);
                }
            }
        }
    }
}
