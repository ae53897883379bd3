//! The scanner: finds where a JSON value ends, and refuses what is no JSON.

use std::fmt;

use super::special::next_quote_or_slash;
use super::special::next_special;

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntaxError {
    /// The offset of the first byte that cannot be there.
    pub at: usize,
    /// What was expected at that place.
    pub expected: &'static str,
}

/// What is expected after a whole value.
pub(super) const THE_END: &str = "the end";

impl SyntaxError {
    /// Whether a whole value stands before what cannot be there.
    pub(crate) fn is_after_the_end(&self) -> bool {
        self.expected == THE_END
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at byte {}", self.expected, self.at)
    }
}

impl std::error::Error for SyntaxError {}

/// The first byte at or after `at` that is not white space.
#[inline(always)]
pub(crate) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The offset after the value that starts at `at`.
///
/// One loop with an explicit stack of brackets, because a hostile line may
/// nest a million deep.
pub(crate) fn skip_value(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    skip_value_by(bytes, at, skip_string)
}

/// The same where there are no control characters in the text, which is faster.
pub(super) fn skip_clean_value(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    skip_value_by(bytes, at, skip_clean_string)
}

/// The same for a value that is known to be well formed, which is faster.
pub(super) fn skip_known_value(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    skip_value_by(bytes, at, skip_known_string)
}

type SkipString = fn(&[u8], usize) -> Result<usize, SyntaxError>;

#[inline(always)]
fn skip_value_by(bytes: &[u8], at: usize, skip: SkipString) -> Result<usize, SyntaxError> {
    let mut at = skip_space(bytes, at);
    let mut open = Brackets::default();
    // `fresh` is true right after an opening bracket, where it may close again.
    let mut fresh = false;
    loop {
        // A value, or (when fresh) the end of an empty array.
        match bytes.get(at) {
            Some(b'"') => at = skip(bytes, at)?,
            Some(b'{') => {
                at = skip_space(bytes, at + 1);
                if bytes.get(at) == Some(&b'}') {
                    at += 1;
                } else {
                    open.push(true);
                    at = skip_key_by(bytes, at, skip)?;
                    fresh = false;
                    continue;
                }
            }
            Some(b'[') => {
                at = skip_space(bytes, at + 1);
                open.push(false);
                fresh = true;
                continue;
            }
            Some(b']') if fresh => {
                at += 1;
                open.pop();
            }
            Some(b'-' | b'0'..=b'9') => at = super::number::skip_number(bytes, at)?,
            Some(b't') => at = skip_word(bytes, at, b"true")?,
            Some(b'f') => at = skip_word(bytes, at, b"false")?,
            Some(b'n') => at = skip_word(bytes, at, b"null")?,
            _ => return Err(SyntaxError { at, expected: "a value" }),
        }
        fresh = false;
        // After a value: close brackets, or go on after a comma.
        loop {
            let Some(in_object) = open.top() else { return Ok(at) };
            at = skip_space(bytes, at);
            match (bytes.get(at), in_object) {
                (Some(b','), true) => {
                    at = skip_key_by(bytes, skip_space(bytes, at + 1), skip)?;
                    break;
                }
                (Some(b','), false) => {
                    at = skip_space(bytes, at + 1);
                    break;
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    at += 1;
                    open.pop();
                }
                (_, true) => return Err(SyntaxError { at, expected: "',' or '}'" }),
                (_, false) => return Err(SyntaxError { at, expected: "',' or ']'" }),
            }
        }
    }
}

/// A key: where it ends, and where its value starts.
pub(super) struct KeyEnd {
    /// The closing quote of the key.
    pub(super) quote: usize,
    /// The start of the value.
    pub(super) value: usize,
    /// Whether the key is spelled with an escape.
    pub(super) is_escaped: bool,
}

/// Reads the key whose opening quote is at `at`.
#[inline(always)]
pub(super) fn read_key(bytes: &[u8], at: usize) -> Result<KeyEnd, SyntaxError> {
    if bytes.get(at) != Some(&b'"') {
        return Err(SyntaxError { at, expected: "a key" });
    }
    let first = next_special(bytes, at + 1);
    let is_escaped = bytes.get(first) != Some(&b'"');
    let end = if is_escaped { skip_string(bytes, at)? } else { first + 1 };
    let colon = skip_space(bytes, end);
    if bytes.get(colon) != Some(&b':') {
        return Err(SyntaxError { at: colon, expected: "':'" });
    }
    Ok(KeyEnd { quote: end - 1, value: skip_space(bytes, colon + 1), is_escaped })
}

#[inline(always)]
fn skip_key_by(bytes: &[u8], at: usize, skip: SkipString) -> Result<usize, SyntaxError> {
    if bytes.get(at) != Some(&b'"') {
        return Err(SyntaxError { at, expected: "a key" });
    }
    let at = skip_space(bytes, skip(bytes, at)?);
    if bytes.get(at) != Some(&b':') {
        return Err(SyntaxError { at, expected: "':'" });
    }
    Ok(skip_space(bytes, at + 1))
}

/// The offset after the string whose opening quote is at `at`.
pub(crate) fn skip_string(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    let mut at = at + 1;
    loop {
        at = next_special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = skip_escape(bytes, at)?,
            Some(_) => return Err(SyntaxError { at, expected: "no control character" }),
            None => return Err(SyntaxError { at, expected: "'\"'" }),
        }
    }
}

/// The same where there are no control characters in the text.
pub(super) fn skip_clean_string(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    let mut at = at + 1;
    loop {
        at = next_quote_or_slash(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = skip_escape(bytes, at)?,
            Some(_) => return Err(SyntaxError { at, expected: "no control character" }),
            None => return Err(SyntaxError { at, expected: "'\"'" }),
        }
    }
}

/// The same for a string that is known to be well formed: it ends at the first
/// quote that no backslash stands before.
pub(super) fn skip_known_string(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    // Most strings are short, and are over before a search pays off.
    let first = next_special(bytes, at + 1);
    if bytes.get(first) == Some(&b'"') {
        return Ok(first + 1);
    }
    let mut from = at + 1;
    while let Some(found) = bytes.get(from..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let quote = from + found;
        let slashes = bytes[at + 1..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        if slashes.is_multiple_of(2) {
            return Ok(quote + 1);
        }
        from = quote + 1;
    }
    Err(SyntaxError { at: bytes.len(), expected: "'\"'" })
}

fn skip_escape(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            for digit in at + 2..at + 6 {
                if !bytes.get(digit).is_some_and(u8::is_ascii_hexdigit) {
                    return Err(SyntaxError { at: digit, expected: "a hexadecimal digit" });
                }
            }
            Ok(at + 6)
        }
        _ => Err(SyntaxError { at: at + 1, expected: "an escape" }),
    }
}

fn skip_word(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, SyntaxError> {
    if bytes[at..].starts_with(word) {
        Ok(at + word.len())
    } else {
        Err(SyntaxError { at, expected: "a value" })
    }
}

/// A stack of open brackets, a bit each: the first 64 without allocating.
#[derive(Default)]
struct Brackets {
    depth: usize,
    low: u64,
    spilled: Vec<u64>,
}

impl Brackets {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.spilled.push(self.low);
        }
        self.low = (self.low << 1) | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.low = self.spilled.pop().unwrap_or(0);
        } else {
            self.low >>= 1;
        }
    }

    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.low & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> bool {
        skip_value(text.as_bytes(), 0)
            .is_ok_and(|end| skip_space(text.as_bytes(), end) == text.len())
    }

    #[test]
    fn accepts_what_is_json_and_refuses_the_rest() {
        for good in [
            "{}",
            "[]",
            " [ ] ",
            "[[],{}]",
            r#"{"a":[1,{"b":null}]}"#,
            r#""\ud83d""#,
            "1e5",
            "-0.5E-3",
            "true",
            r#"{"a":1,"a":2}"#,
            "[1 , 2]",
            r#""\u0000\/""#,
        ] {
            assert!(whole(good), "{good}");
        }
        for bad in [
            "",
            "{",
            "[",
            "[1,]",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            "[1 2]",
            "]",
            "}",
            "[}",
            "{]",
            "01",
            "1.",
            "-",
            "+1",
            ".5",
            "1e",
            "tru",
            "nul",
            r#""\x""#,
            r#""\u12g4""#,
            "\"\n\"",
            "\"",
            "'a'",
            "{a:1}",
            "[1]]",
            "1 2",
            "\"\\",
            "NaN",
            "[,1]",
        ] {
            assert!(!whole(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_known_to_be_well_formed_is_skipped_alike() {
        for text in [
            r#""""#,
            r#""a""#,
            r#""\\""#,
            r#""\"""#,
            r#""\\\"x\\" , 1"#,
            r#"{"a\"":[1,"]",{}],"b":"\\"} x"#,
            "[]",
            "-1.5e3,",
        ] {
            let bytes = text.as_bytes();
            assert!(skip_value(bytes, 0).is_ok(), "{text}");
            assert_eq!(skip_known_value(bytes, 0), skip_value(bytes, 0), "{text}");
        }
        assert!(skip_known_value(br#""cut"#, 0).is_err());
        assert!(skip_known_value(br#""cut\""#, 0).is_err());
    }

    #[test]
    fn brackets_remember_across_words() {
        let mut open = Brackets::default();
        let pattern: Vec<bool> = (0..300).map(|i| i % 3 == 0 || i % 7 == 0).collect();
        for &object in &pattern {
            open.push(object);
        }
        for &object in pattern.iter().rev() {
            assert_eq!(open.top(), Some(object));
            open.pop();
        }
        assert_eq!(open.top(), None);
    }

    #[test]
    fn a_million_levels_are_harmless() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert!(whole(&deep));
        let deep = r#"{"a":"#.repeat(1_000_000) + "1" + &"}".repeat(1_000_000);
        assert!(whole(&deep));
        assert!(!whole(&"[".repeat(1_000_000)));
        assert!(!whole(&(r#"[{"a":"#.repeat(500_000))));
    }
}
