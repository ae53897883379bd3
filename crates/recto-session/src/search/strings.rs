//! The strings inside a JSON value.

use std::borrow::Cow;

use memchr::memchr;
use memchr::memchr2;
use recto_log::json::Value;

/// How much of a string is looked at to see whether it is text.
const LOOKED_AT: usize = 512;

/// Gives every string of a value, in order; keys are left out, and what is no
/// text. It goes along the bytes, so that nesting costs no stack.
pub(crate) fn strings<'a>(value: Value<'a>, see: &mut dyn FnMut(Cow<'a, str>)) {
    let bytes = value.bytes();
    let mut at = 0;
    while let Some(quote) = memchr(b'"', &bytes[at..]) {
        let start = at + quote;
        let end = string_end(bytes, start + 1);
        at = end;
        if is_key(&bytes[end..]) {
            continue;
        }
        let Ok(string) = Value::parse(&bytes[start..end]) else { continue };
        if string.string_inside().is_some_and(is_text) {
            see(string.as_str().unwrap_or_default());
        }
    }
}

/// The offset after the quote that ends the string whose inside begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

fn is_key(rest: &[u8]) -> bool {
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Whether the inside of a string is for people: pictures come as base64.
fn is_text(inside: &[u8]) -> bool {
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    inside.len() < LOOKED_AT || !inside[..LOOKED_AT].iter().all(base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(json: &str) -> Vec<String> {
        let mut found = Vec::new();
        let value = Value::parse(json.as_bytes()).unwrap();
        strings(value, &mut |text| found.push(text.into_owned()));
        found
    }

    #[test]
    fn values_are_given_and_keys_are_not() {
        let json = r#"{"a":"x","b" : {"c":["y\"z\\", 7, null, "w"]},"d\"":"\u00e9:"}"#;
        assert_eq!(all(json), ["x", "y\"z\\", "w", "é:"]);
        assert_eq!(all(r#""alone""#), ["alone"]);
        assert_eq!(all("{}"), [""; 0]);
    }

    #[test]
    fn pictures_are_no_text_and_depth_does_not_matter() {
        let picture = "iVBOR/+0".repeat(200);
        assert_eq!(all(&format!(r#"["{picture}","a b"]"#)), ["a b"]);
        let deep = format!("{}\"x\"{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(all(&deep), ["x"]);
    }
}
