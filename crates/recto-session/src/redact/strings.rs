//! The strings of a line: where they are, which of them are not looked into, and
//! how a place in a decoded string is found in the line.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;
use memchr::memchr2;

/// Members that hold ids, hashes, signatures, and words that clients and the API
/// know each other by. What a tool was given or gave back may have members of the
/// same names, so they count outside of those only.
const IDS: &[&[u8]] = &[
    b"uuid",
    b"parentUuid",
    b"logicalParentUuid",
    b"leafUuid",
    b"sessionId",
    b"session_id",
    b"messageId",
    b"message_id",
    b"requestId",
    b"promptId",
    b"agentId",
    b"tool_use_id",
    b"toolUseID",
    b"parentToolUseID",
    b"sourceToolUseID",
    b"sourceToolAssistantUUID",
    b"commandUuid",
    b"id",
    b"signature",
    b"hash",
    b"shapeHash",
    b"requestDigest",
    b"base",
    b"tail",
    b"keep",
    b"type",
    b"subtype",
    b"role",
    b"model",
    b"name",
    b"stop_reason",
    b"media_type",
    b"operation",
    b"timestamp",
    b"version",
];

/// Whose members are named by others than the client.
const FREE: &[&[u8]] = &[b"input", b"toolUseResult"];

/// A mark that old editors write at the start of a file, and the rest.
pub(crate) fn split_mark(line: &[u8]) -> (&[u8], &[u8]) {
    let length = if line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    line.split_at(length)
}

/// What a string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The key of a member.
    Key,
    /// A value.
    Value,
}

/// A string of a line.
pub(crate) struct Text<'a> {
    /// Where the bytes between its quotes are.
    pub(crate) inside: Range<usize>,
    pub(crate) role: Role,
    /// The key of the member that it is, or that it is in.
    pub(crate) key: &'a [u8],
    /// How deep it is; 1 is a member of the line.
    pub(crate) depth: usize,
    /// Whether it holds an id, a hash, a signature or a picture.
    pub(crate) is_spared: bool,
    /// Whether it is part of what a tool was given or gave back.
    pub(crate) is_free: bool,
    /// The place in `message.content` that it is in, if it is in one.
    pub(crate) block: Option<usize>,
}

struct Frame<'a> {
    is_object: bool,
    /// The key of the member that is being read; in an array, that of the array.
    key: &'a [u8],
    index: usize,
    is_free: bool,
}

/// Calls `each` for every string of `json`, which must be well formed. Nothing
/// recurses.
pub(crate) fn each_string<'a>(json: &'a [u8], mut each: impl FnMut(Text<'a>)) {
    let mut frames: Vec<Frame<'a>> = Vec::new();
    let mut expects_key = false;
    let mut at = 0;
    while at < json.len() {
        match json[at] {
            open @ (b'{' | b'[') => {
                let (key, is_free) = frames.last().map_or((&b""[..], false), |frame| {
                    (frame.key, frame.is_free || FREE.contains(&frame.key))
                });
                let is_object = open == b'{';
                frames.push(Frame { is_object, key, index: 0, is_free });
                expects_key = is_object;
            }
            b'}' | b']' => {
                frames.pop();
                expects_key = false;
            }
            b',' => {
                if let Some(frame) = frames.last_mut() {
                    frame.index += 1;
                    expects_key = frame.is_object;
                }
            }
            b'"' => {
                let inside = at + 1..string_end(json, at + 1);
                at = inside.end;
                let role = if expects_key { Role::Key } else { Role::Value };
                if expects_key {
                    if let Some(frame) = frames.last_mut() {
                        frame.key = &json[inside.clone()];
                    }
                    expects_key = false;
                }
                each(text(&frames, inside, role));
            }
            _ => {}
        }
        at += 1;
    }
}

fn text<'a>(frames: &[Frame<'a>], inside: Range<usize>, role: Role) -> Text<'a> {
    let Some(last) = frames.last() else {
        return Text {
            inside,
            role,
            key: b"",
            depth: 0,
            is_spared: false,
            is_free: false,
            block: None,
        };
    };
    let parent = frames.len().checked_sub(2).map(|at| &frames[at]);
    let is_id = !last.is_free
        && match role {
            // Without its own keys a line is another one; a key that is no word of
            // the client can hold anything.
            Role::Key => is_word(last.key),
            Role::Value => IDS.contains(&last.key),
        };
    let is_picture = role == Role::Value
        && match (last.key, parent) {
            // The data of a picture, or of thinking that is encrypted.
            (b"data", Some(parent)) => {
                parent.key == b"source" || (!parent.is_object && parent.key == b"content")
            }
            (b"base64", Some(parent)) => parent.key == b"file",
            _ => false,
        };
    let block = match frames {
        [line, message, content, ..] if line.key == b"message" && message.key == b"content" => {
            (!content.is_object).then_some(content.index)
        }
        _ => None,
    };
    let (depth, is_free) =
        (frames.len(), last.is_free || (role == Role::Value && FREE.contains(&last.key)));
    Text { inside, role, key: last.key, depth, is_spared: is_id || is_picture, is_free, block }
}

/// Whether a key can be one of those that clients use.
fn is_word(key: &[u8]) -> bool {
    const LONGEST_KEY: usize = 40;
    key.len() <= LONGEST_KEY && key.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
}

/// Where the string that begins at `at`, after its quote, ends.
fn string_end(json: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr2(b'"', b'\\', &json[at..]) {
        at += found;
        if json[at] == b'"' {
            return at;
        }
        at = (at + 2).min(json.len());
    }
    json.len()
}

/// The bytes that a string stands for. What is no text stays as it is; a lone
/// surrogate is U+FFFD.
pub(crate) fn decoded(inside: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'\\', inside) else { return Cow::Borrowed(inside) };
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    let mut escape = Some(first);
    while let Some(at) = escape {
        out.extend_from_slice(&rest[..at]);
        let (decoded, length) = read_escape(&rest[at..]);
        out.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[at + length..];
        escape = memchr(b'\\', rest);
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// Where places of the decoded string are in the string. `places` are in order, and
/// none is inside a character.
pub(crate) fn raw_places(inside: &[u8], places: &[usize]) -> Vec<usize> {
    let mut found = Vec::with_capacity(places.len());
    let (mut raw, mut decoded) = (0, 0);
    for place in places {
        while decoded < *place {
            let plain = memchr(b'\\', &inside[raw..]).unwrap_or(inside.len() - raw);
            if plain > 0 {
                let step = plain.min(place - decoded);
                (raw, decoded) = (raw + step, decoded + step);
                if raw >= inside.len() {
                    break;
                }
            } else {
                let (character, length) = read_escape(&inside[raw..]);
                (raw, decoded) = (raw + length, decoded + character.len_utf8());
            }
        }
        found.push(raw);
    }
    found
}

/// The character of the escape at the start of `bytes`, and the escape's length.
fn read_escape(bytes: &[u8]) -> (char, usize) {
    let character = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return read_unicode(bytes),
        Some(other) => char::from(*other),
        None => return (char::REPLACEMENT_CHARACTER, bytes.len()),
    };
    (character, 2)
}

fn read_unicode(bytes: &[u8]) -> (char, usize) {
    let unit = |at: usize| {
        let digits = bytes.get(at..)?.strip_prefix(b"\\u")?.get(..4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let Some(high) = unit(0) else { return (char::REPLACEMENT_CHARACTER, 2.min(bytes.len())) };
    if let (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) = (high, unit(6)) {
        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_found_with_its_place() {
        let json = br#"{"type":"assistant","message":{"id":"msg_1","content":[{"type":"text","text":"a\"b"},{"type":"tool_use","input":{"id":"x","list":["y"]}}]}}"#;
        let mut found = Vec::new();
        each_string(json, |text| {
            if text.role == Role::Value {
                let inside = String::from_utf8_lossy(&json[text.inside.clone()]).into_owned();
                let key = String::from_utf8_lossy(text.key).into_owned();
                found.push((key, inside, text.is_spared, text.block));
            }
        });
        let row = |key: &str, inside: &str, spared: bool, block: Option<usize>| {
            (key.to_owned(), inside.to_owned(), spared, block)
        };
        assert_eq!(
            found,
            [
                row("type", "assistant", true, None),
                row("id", "msg_1", true, None),
                row("type", "text", true, Some(0)),
                row("text", r#"a\"b"#, false, Some(0)),
                row("type", "tool_use", true, Some(1)),
                row("id", "x", false, Some(1)),
                row("list", "y", false, Some(1)),
            ]
        );
    }

    #[test]
    fn places_in_the_text_are_places_in_the_line() {
        let inside = br"a\n\u00e9\ud83d\ude00z\ud83d!";
        let text = decoded(inside);
        assert_eq!(text, "a\né😀z\u{fffd}!".as_bytes());
        let places = [0, 1, 2, 4, 8, 9, 12, 13];
        let raw: Vec<usize> = raw_places(inside, &places);
        assert_eq!(raw, [0, 1, 3, 9, 21, 22, 28, 29]);
    }
}
