//! Strings: decoded without ever failing, and written as the client writes them.

use std::borrow::Cow;

use memchr::memchr;

/// Decodes the inside of a JSON string, without its quotes.
///
/// What has no meaning as text becomes U+FFFD: a lone surrogate escape (the
/// client really writes them) and bytes that are not UTF-8. So does the client
/// when it loads the line.
pub(super) fn decode(inside: &[u8]) -> Cow<'_, str> {
    let Some(first) = memchr(b'\\', inside) else {
        return lossy(inside);
    };
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    let mut escape = first;
    loop {
        text.push_str(&lossy(&rest[..escape]));
        rest = &rest[escape..];
        let (decoded, length) = decode_escape(rest);
        text.push(decoded);
        rest = &rest[length.min(rest.len())..];
        match memchr(b'\\', rest) {
            Some(next) => escape = next,
            None => break,
        }
    }
    text.push_str(&lossy(rest));
    Cow::Owned(text)
}

/// As `String::from_utf8_lossy`, and faster for what is UTF-8.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// The character of the escape at the start of `bytes`, and its length.
fn decode_escape(bytes: &[u8]) -> (char, usize) {
    let simple = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return decode_unicode(bytes),
        Some(&other) => char::from(other),
        None => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (simple, 2)
}

fn decode_unicode(bytes: &[u8]) -> (char, usize) {
    let Some(high) = unit(bytes) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if (0xd800..0xdc00).contains(&high)
        && let Some(low) = bytes.get(6..).and_then(unit)
        && (0xdc00..0xe000).contains(&low)
    {
        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

/// The code unit of a `\uXXXX` at the start of `bytes`.
fn unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Appends the inside of a JSON string in the spelling of `JSON.stringify`. A
/// lone surrogate stays an escape: there is no other way to write it.
pub(super) fn respell(out: &mut Vec<u8>, inside: &[u8]) {
    let mut rest = inside;
    while let Some(escape) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..escape]);
        rest = &rest[escape..];
        let (decoded, length) = decode_escape(rest);
        match (decoded, unit(rest)) {
            (char::REPLACEMENT_CHARACTER, Some(lone)) if lone != 0xfffd => {
                out.extend_from_slice(format!("\\u{lone:04x}").as_bytes());
            }
            _ => write_inside(out, decoded.encode_utf8(&mut [0; 4])),
        }
        rest = &rest[length.min(rest.len())..];
    }
    out.extend_from_slice(rest);
}

/// JSON text in which the escape of each lone surrogate is U+FFFD. All other
/// bytes stay.
pub fn replace_lone_surrogates(json: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(found) = memchr(b'\\', &json[at..]) {
        let escape = at + found;
        let (decoded, length) = decode_escape(&json[escape..]);
        at = (escape + length).min(json.len());
        if decoded == char::REPLACEMENT_CHARACTER && unit(&json[escape..]) != Some(0xfffd) {
            out.extend_from_slice(&json[plain..escape]);
            out.extend_from_slice("\u{fffd}".as_bytes());
            plain = at;
        }
    }
    if plain == 0 {
        return json;
    }
    out.extend_from_slice(&json[plain..]);
    out
}

/// Appends `text` as a JSON string, spelled as the client's `JSON.stringify` does.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    write_inside(out, text);
    out.push(b'"');
}

fn write_inside(out: &mut Vec<u8>, text: &str) {
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x8 => b"\\b",
            0xc => b"\\f",
            0..0x20 => b"",
            _ => continue,
        };
        out.extend_from_slice(&text.as_bytes()[plain..at]);
        plain = at + 1;
        if escape.is_empty() {
            out.extend_from_slice(b"\\u00");
            out.push(b'0' + (byte >> 4));
            out.push(b"0123456789abcdef"[usize::from(byte & 15)]);
        } else {
            out.extend_from_slice(escape);
        }
    }
    out.extend_from_slice(&text.as_bytes()[plain..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded() {
        let check = |inside: &str, text: &str| assert_eq!(decode(inside.as_bytes()), text);
        check("plain é 日本", "plain é 日本");
        check(r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
        check(r"a\u0041\u00e9", "aAé");
        check(r"\ud83d\ude00!", "😀!");
        check(r"\ud83d", "\u{fffd}");
        check(r"\ud83dx", "\u{fffd}x");
        check(r"\ude00\ud83d", "\u{fffd}\u{fffd}");
        check(r"\ud83d\ud83d\ude00", "\u{fffd}😀");
        assert_eq!(decode(b"a\xff\xfe\\n\xe2\x82"), "a\u{fffd}\u{fffd}\n\u{fffd}");
    }

    #[test]
    fn lone_surrogates_are_replaced_and_nothing_else() {
        let check = |json: &str, expected: &str| {
            let replaced = replace_lone_surrogates(json.as_bytes().to_vec());
            assert_eq!(String::from_utf8(replaced).unwrap(), expected);
        };
        check(r#"["\\ud83d \ud83d\ude00 \u0041\n"]"#, r#"["\\ud83d \ud83d\ude00 \u0041\n"]"#);
        check(r#"["a\ud83d","\udE00b\ufffd"]"#, "[\"a\u{fffd}\",\"\u{fffd}b\\ufffd\"]");
    }

    #[test]
    fn strings_are_written_as_json_stringify_does() {
        let mut out = Vec::new();
        write_string(&mut out, "\u{0}\u{1f}\u{7f}\"\\/\u{8}\u{c}\n\r\t\u{2028}é😀");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"\\u0000\\u001f\u{7f}\\\"\\\\/\\b\\f\\n\\r\\t\u{2028}é😀\""
        );
    }
}
