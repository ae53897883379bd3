//! JSON in one spelling: compact, and with sorted keys where texts are compared
//! by their hash.

use super::Member;
use super::Value;
use super::scan::skip_string;
use super::string::respell;

/// How deep a value may nest to have a canonical form. Finding the members of
/// a value reads all that is inside, so the work grows with the depth.
const MOST_LEVELS: usize = 256;

/// The text of a value without white space; everything else stays as it is.
pub fn compact(value: Value<'_>) -> Vec<u8> {
    let bytes = value.bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = skip_string(bytes, at).unwrap_or(bytes.len());
                out.extend_from_slice(&bytes[at..end]);
                at = end;
            }
            b' ' | b'\n' | b'\t' | b'\r' => at += 1,
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// The canonical text of a value: compact, keys sorted as JavaScript sorts
/// them, strings spelled as `JSON.stringify` does, numbers as they are. Members
/// with a key in `without` are left out on every level; of members with the
/// same key the last counts. `None` if the value nests too deep.
///
/// ```
/// use recto_log::json::{Value, canonical};
///
/// let value = Value::parse(br#"{"b":[1e5, {"z":0,"y":"\u0041"}], "a":null}"#)?;
/// assert_eq!(canonical(value, &["z"]).unwrap(), br#"{"a":null,"b":[1e5,{"y":"A"}]}"#);
/// # Ok::<(), recto_log::json::SyntaxError>(())
/// ```
pub fn canonical(value: Value<'_>, without: &[&str]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(value.bytes().len());
    // What is still to be written, the next at the end.
    let mut open = vec![Open::Value(value)];
    let mut depth = 0;
    while let Some(next) = open.pop() {
        let value = match next {
            Open::Value(value) => value,
            Open::Key(key, value) => {
                out.push(b'"');
                respell(&mut out, key);
                out.extend_from_slice(b"\":");
                value
            }
            Open::Text(text) => {
                depth -= usize::from(text != b",");
                out.extend_from_slice(text);
                continue;
            }
        };
        if value.is_object() {
            out.push(b'{');
            open.push(Open::Text(b"}"));
            let members = sorted_members(value, without);
            push_all(&mut open, members.into_iter().map(|(key, value)| Open::Key(key, value)));
        } else if value.is_array() {
            out.push(b'[');
            open.push(Open::Text(b"]"));
            push_all(&mut open, value.elements().map(Open::Value));
        } else {
            match value.string_inside() {
                Some(inside) => {
                    out.push(b'"');
                    respell(&mut out, inside);
                    out.push(b'"');
                }
                None => out.extend_from_slice(value.bytes()),
            }
            continue;
        }
        depth += 1;
        if depth > MOST_LEVELS {
            return None;
        }
    }
    Some(out)
}

enum Open<'a> {
    Value(Value<'a>),
    /// A key between its quotes, and its value.
    Key(&'a [u8], Value<'a>),
    Text(&'static [u8]),
}

/// Adds items in reverse, with commas between them.
fn push_all<'a>(open: &mut Vec<Open<'a>>, items: impl Iterator<Item = Open<'a>>) {
    let start = open.len();
    for item in items {
        if open.len() > start {
            open.push(Open::Text(b","));
        }
        open.push(item);
    }
    open[start..].reverse();
}

fn sorted_members<'a>(value: Value<'a>, without: &[&str]) -> Vec<(&'a [u8], Value<'a>)> {
    let is_kept = |member: &Member<'_>| !without.iter().any(|name| member.is(name));
    let mut members: Vec<Member<'a>> = value.members().filter(is_kept).collect();
    // Stable, so that of equal keys the last stays last.
    members.sort_by(|one, other| {
        if one.raw_key.is_ascii()
            && other.raw_key.is_ascii()
            && !one.raw_key.contains(&b'\\')
            && !other.raw_key.contains(&b'\\')
        {
            one.raw_key.cmp(other.raw_key)
        } else {
            one.key().encode_utf16().cmp(other.key().encode_utf16())
        }
    });
    let mut unique: Vec<(&'a [u8], Value<'a>)> = Vec::with_capacity(members.len());
    let mut last: Option<Member<'a>> = None;
    for member in members {
        if last.is_some_and(|last| last.key() == member.key()) {
            unique.pop();
        }
        unique.push((member.raw_key, member.value));
        last = Some(member);
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical_text(text: &str) -> Option<String> {
        let value = Value::parse(text.as_bytes()).unwrap();
        canonical(value, &["cache_control"]).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn white_space_goes_and_spelling_stays() {
        let value = Value::parse(b" { \"a b\" : [ 1e5 , \"\\u0041 \\\" \" ] } ").unwrap();
        assert_eq!(compact(value), b"{\"a b\":[1e5,\"\\u0041 \\\" \"]}");
    }

    #[test]
    fn keys_are_sorted_on_every_level() {
        let check = |text, expected: &str| assert_eq!(canonical_text(text).unwrap(), expected);
        check(
            r#"{"b":{"d":[],"c":{}},"a":[{"z":1,"y":2}]}"#,
            r#"{"a":[{"y":2,"z":1}],"b":{"c":{},"d":[]}}"#,
        );
        check(
            r#"{"x":1,"cache_control":{"a":[1]},"l":[{"cache_control":0}]}"#,
            r#"{"l":[{}],"x":1}"#,
        );
        check(r#"{"a":1,"a":2,"\u0061":3}"#, r#"{"a":3}"#);
        check(r#""\u0041\/\ud83d\ude00 \ud83D \n\u001F""#, "\"A/\u{1f600} \\ud83d \\n\\u001f\"");
        check("{\"\u{ff61}\":1,\"\u{1f600}\":2}", "{\"\u{1f600}\":2,\"\u{ff61}\":1}");
    }

    #[test]
    fn what_nests_too_deep_has_no_canonical_form() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(canonical_text(&nested(256)).is_some());
        assert!(canonical_text(&nested(257)).is_none());
        assert!(canonical_text(&nested(100_000)).is_none());
    }
}
