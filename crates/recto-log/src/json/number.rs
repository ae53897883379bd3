//! Numbers: their shape, and their value where one is needed.
//!
//! The spelling is never changed: `1e5` and 30-digit integers stay as written.

use super::SyntaxError;

/// The offset after the number that starts at `at`.
pub(super) fn skip_number(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    let mut at = at + usize::from(bytes.get(at) == Some(&b'-'));
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        Some(b'1'..=b'9') => skip_digits(bytes, at),
        _ => return Err(SyntaxError { at, expected: "a digit" }),
    };
    if bytes.get(at) == Some(&b'.') {
        at = some_digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = some_digits(bytes, at)?;
    }
    Ok(at)
}

fn some_digits(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    match skip_digits(bytes, at) {
        end if end > at => Ok(end),
        _ => Err(SyntaxError { at, expected: "a digit" }),
    }
}

fn skip_digits(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// The value as a non-negative integer; `1e3` and `7.0` count, `-1` and `0.5` do not.
pub(super) fn to_u64(text: &str) -> Option<u64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let value = text.parse::<f64>().ok()?;
    // Above 2^53 a float no longer says which integer was meant.
    (value.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&value))
        .then_some(value as u64)
}

/// The text of a number as JavaScript writes it: the shortest digits that lead
/// back to the same value, and an exponent for what is very small or very large.
pub(super) fn spelled(number: f64) -> String {
    let size = number.abs();
    if !number.is_finite() {
        "null".to_owned()
    } else if size == 0.0 {
        "0".to_owned()
    } else if size >= 1e21 {
        format!("{number:e}").replace('e', "e+")
    } else if size < 1e-6 {
        format!("{number:e}")
    } else {
        number.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What node 22 prints for these numbers.
    #[test]
    fn numbers_are_spelled_as_javascript_does() {
        let check = |number: f64, text: &str| assert_eq!(spelled(number), text);
        check(0.064227, "0.064227");
        check(0.1 + 0.2, "0.30000000000000004");
        check(531.0, "531");
        check(-0.0, "0");
        check(-1.5, "-1.5");
        check(1e20, "100000000000000000000");
        check(1e21, "1e+21");
        check(-1.25e22, "-1.25e+22");
        check(0.000001, "0.000001");
        check(1.5e-7, "1.5e-7");
        check(f64::NAN, "null");
    }

    #[test]
    fn integers_are_read_from_any_spelling() {
        assert_eq!(to_u64("18446744073709551615"), Some(u64::MAX));
        assert_eq!(to_u64("18446744073709551616"), None);
        assert_eq!(to_u64("1e3"), Some(1000));
        assert_eq!(to_u64("7.0"), Some(7));
        assert_eq!(to_u64("-1"), None);
        assert_eq!(to_u64("0.5"), None);
        assert_eq!(to_u64("1e999"), None);
    }
}
