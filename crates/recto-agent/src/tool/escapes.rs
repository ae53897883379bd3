//! `\uXXXX` in texts that models write: they spell characters so, where JSON already did.
//!
//! Owns: the characters in their place.

use serde_json::Value;

/// The text with characters in place of `\uXXXX`.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("\\u") {
        plain.push_str(before);
        match escape(behind) {
            Some((c, left)) => {
                plain.push(c);
                rest = left;
            }
            None => {
                plain.push_str("\\u");
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// The character whose escape goes on with these digits, and what is behind it.
fn escape(text: &str) -> Option<(char, &str)> {
    let unit = |text: &str| {
        let digits = text.get(..4).filter(|it| it.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (first, rest) = (unit(text)?, text.get(4..)?);
    if let Some(c) = char::from_u32(first.into()) {
        return Some((c, rest));
    }
    // A character of two halves.
    let second = rest.strip_prefix("\\u")?;
    let c = char::decode_utf16([first, unit(second)?]).next()?.ok()?;
    Some((c, second.get(4..)?))
}

/// An input with characters in place of their escapes, in all of its texts.
pub(super) fn without_escapes(input: &Value) -> Value {
    match input {
        Value::String(text) => Value::String(unescaped(text)),
        Value::Array(values) => values.iter().map(without_escapes).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), without_escapes(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn escapes_in_texts_are_characters_and_what_is_none_stays() {
        let input = json!({"a": "caf\\u00e9 \\ud83d\\ude00", "b": ["\\u0041", 1], "c": "\\ud83d \\x41 \\n \\u12"});
        let plain = json!({"a": "café 😀", "b": ["A", 1], "c": "\\ud83d \\x41 \\n \\u12"});
        assert_eq!(without_escapes(&input), plain);
    }
}
