//! Values: JSON text that is known to be well formed, read on demand.

use std::borrow::Cow;
use std::fmt;

use super::SyntaxError;
use super::number;
use super::scan::skip_key;
use super::scan::skip_known_value;
use super::scan::skip_space;
use super::scan::skip_value;
use super::string;

/// The text of one JSON value, without white space around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Value<'a>(&'a [u8]);

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.0))
    }
}

impl<'a> Value<'a> {
    /// Checks that `bytes` is one JSON value, with white space around it at most.
    pub fn parse(bytes: &'a [u8]) -> Result<Value<'a>, SyntaxError> {
        let start = skip_space(bytes, 0);
        let end = skip_value(bytes, start)?;
        let rest = skip_space(bytes, end);
        if rest < bytes.len() {
            return Err(SyntaxError { at: rest, expected: "the end" });
        }
        Ok(Value(&bytes[start..end]))
    }

    /// The text of the value, as it is in the log.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether this is `null`.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// Whether this is a string.
    pub fn is_string(self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Whether this is an object.
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether this is an array.
    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// The text of a string; U+FFFD stands for what is no text.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        self.string_inside().map(string::decode)
    }

    /// The bytes between the quotes of a string, escapes and all.
    pub fn string_inside(self) -> Option<&'a [u8]> {
        self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// A boolean.
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// A non-negative integer, in any spelling.
    pub fn as_u64(self) -> Option<u64> {
        number::to_u64(std::str::from_utf8(self.0).ok()?)
    }

    /// A number.
    pub fn as_f64(self) -> Option<f64> {
        match self.0.first() {
            Some(b'-' | b'0'..=b'9') => std::str::from_utf8(self.0).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// The members of an object, in order; none if this is no object.
    pub fn members(self) -> Members<'a> {
        let at = if self.is_object() { 1 } else { self.0.len() };
        Members { bytes: self.0, at }
    }

    /// The elements of an array, in order; none if this is no array.
    pub fn elements(self) -> Elements<'a> {
        let at = if self.is_array() { 1 } else { self.0.len() };
        Elements { bytes: self.0, at }
    }

    /// The member called `name`; the last of them, as in JavaScript.
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        self.members().filter(|member| member.is(name)).last().map(|member| member.value)
    }

    /// The string member called `name`.
    pub fn str(self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name)?.as_str()
    }

    /// The members as a table, or `None` if this is no object or one with more
    /// than [`Object::MOST_MEMBERS`].
    pub fn as_object(self) -> Option<Object<'a>> {
        Object::parse(self.0).ok()
    }
}

/// A key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// The bytes between the quotes of the key.
    pub raw_key: &'a [u8],
    /// The value.
    pub value: Value<'a>,
}

impl<'a> Member<'a> {
    /// The key as text.
    pub fn key(&self) -> Cow<'a, str> {
        string::decode(self.raw_key)
    }

    /// Whether the key is `name`, however it is spelled.
    pub fn is(&self, name: &str) -> bool {
        // A key with an escape is never longer when decoded.
        self.raw_key == name.as_bytes()
            || (self.raw_key.len() > name.len()
                && self.raw_key.contains(&b'\\')
                && self.key() == name)
    }
}

/// The members of an object, in order.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let (member, at) = next_member(self.bytes, self.at, skip_known_value)?;
        self.at = at;
        Some(member)
    }
}

/// Finds the end of a value: with a check, or trusting what was checked before.
type SkipValue = fn(&[u8], usize) -> Result<usize, SyntaxError>;

/// The member that follows `at`, which is after `{` or after the last value.
fn next_member(bytes: &[u8], at: usize, skip: SkipValue) -> Option<(Member<'_>, usize)> {
    let mut key = skip_space(bytes, at);
    match bytes.get(key) {
        Some(b'}') | None => return None,
        Some(b',') => key = skip_space(bytes, key + 1),
        Some(_) => {}
    }
    read_member(bytes, key, skip).ok()
}

/// The member whose key's quote is at `key`, and the offset after its value.
#[inline(always)]
fn read_member(
    bytes: &[u8],
    key: usize,
    skip: SkipValue,
) -> Result<(Member<'_>, usize), SyntaxError> {
    let start = skip_key(bytes, key)?;
    let end = skip(bytes, start)?;
    // The key ends at the last quote before the value, so it is not scanned twice.
    let key_end = memchr::memrchr(b'"', &bytes[key..start]).map_or(start, |quote| key + quote);
    let raw_key = bytes.get(key + 1..key_end).unwrap_or_default();
    Ok((Member { raw_key, value: Value(&bytes[start..end]) }, end))
}

/// The elements of an array, in order.
#[derive(Debug, Clone, Default)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let mut start = skip_space(self.bytes, self.at);
        match self.bytes.get(start) {
            Some(b']') | None => return None,
            Some(b',') => start = skip_space(self.bytes, start + 1),
            Some(_) => {}
        }
        let end = skip_known_value(self.bytes, start).ok()?;
        self.at = end;
        Some(Value(&self.bytes[start..end]))
    }
}

/// The members of an object as a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Object<'a> {
    members: Vec<Member<'a>>,
    /// Whether a key is spelled with an escape, which no client does; looking
    /// up a field is cheaper without.
    has_escaped_key: bool,
}

impl<'a> Object<'a> {
    /// Objects with more members than this are not read as a table: the table
    /// would take many times the memory of the line.
    pub const MOST_MEMBERS: usize = 1 << 20;

    /// Reads an object in one pass: checks it and finds its members.
    pub fn parse(bytes: &'a [u8]) -> Result<Object<'a>, SyntaxError> {
        let start = skip_space(bytes, 0);
        if bytes.get(start) != Some(&b'{') {
            return Err(SyntaxError { at: start, expected: "'{'" });
        }
        let mut members = Vec::with_capacity(24);
        let mut at = skip_space(bytes, start + 1);
        if bytes.get(at) != Some(&b'}') {
            loop {
                let (member, end) = read_member(bytes, at, skip_value)?;
                if members.len() == Object::MOST_MEMBERS {
                    return Err(SyntaxError { at, expected: "fewer keys" });
                }
                members.push(member);
                at = skip_space(bytes, end);
                match bytes.get(at) {
                    Some(b',') => at = skip_space(bytes, at + 1),
                    Some(b'}') => break,
                    _ => return Err(SyntaxError { at, expected: "',' or '}'" }),
                }
            }
        }
        let rest = skip_space(bytes, at + 1);
        if rest < bytes.len() {
            return Err(SyntaxError { at: rest, expected: "the end" });
        }
        Ok(Object::of(members))
    }

    fn of(members: Vec<Member<'a>>) -> Object<'a> {
        let escaped = |member: &Member<'_>| memchr::memchr(b'\\', member.raw_key).is_some();
        let has_escaped_key = members.iter().any(escaped);
        Object { members, has_escaped_key }
    }

    /// The members that are whole at the start of an object whose end is
    /// missing, such as a line of which only the beginning was read.
    pub fn parse_prefix(bytes: &'a [u8]) -> Object<'a> {
        let start = skip_space(bytes, 0);
        let mut at = if bytes.get(start) == Some(&b'{') { start + 1 } else { bytes.len() };
        let mut members = Vec::new();
        // Nothing of it was checked before.
        while let Some((member, end)) = next_member(bytes, at, skip_value) {
            members.push(member);
            at = end;
        }
        Object::of(members)
    }

    /// The member called `name`; the last of them, as in JavaScript.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        let is = |member: &&Member<'a>| {
            member.raw_key == name.as_bytes() || (self.has_escaped_key && member.is(name))
        };
        self.members.iter().rev().find(is).map(|member| member.value)
    }

    /// The string member called `name`.
    pub fn str(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name)?.as_str()
    }

    /// Whether the member called `name` is `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool) == Some(true)
    }

    /// The members in order.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// A key that occurs twice, however it is spelled.
    pub fn duplicate_key(&self) -> Option<Cow<'a, str>> {
        let raw = |member: &Member<'a>| Cow::Borrowed(member.raw_key);
        if self.has_escaped_key {
            self.duplicate_by(|member| match member.key() {
                Cow::Borrowed(_) => raw(member),
                Cow::Owned(key) => Cow::Owned(key.into_bytes()),
            })
        } else if self.may_repeat() {
            self.duplicate_by(raw)
        } else {
            None
        }
    }

    /// A cheap look at all keys: whether two of them may be the same. Every
    /// line is asked, so this must cost little.
    fn may_repeat(&self) -> bool {
        let mut seen = [0u64; 4];
        let mut may_repeat = false;
        for member in &self.members {
            let key = member.raw_key;
            let byte = |at: usize| usize::from(key.get(at).copied().unwrap_or(0));
            let ends = byte(0) * 11 + byte(key.len().wrapping_sub(1));
            let mark = (key.len() * 37 + ends + byte(key.len() / 2) * 5) & 255;
            may_repeat |= (seen[mark / 64] >> (mark % 64)) & 1 == 1;
            seen[mark / 64] |= 1 << (mark % 64);
        }
        may_repeat
    }

    fn duplicate_by(&self, key: impl Fn(&Member<'a>) -> Cow<'a, [u8]>) -> Option<Cow<'a, str>> {
        // Lines have about twenty members; only a hostile one has so many that
        // comparing each with each would take long.
        if self.members.len() <= 64 {
            let twice = self.members.iter().enumerate().find(|(at, member)| {
                self.members[..*at].iter().any(|other| key(other) == key(member))
            });
            return twice.map(|(_, member)| member.key());
        }
        let mut keys: Vec<(Cow<'a, [u8]>, &Member<'a>)> =
            self.members.iter().map(|member| (key(member), member)).collect();
        keys.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        keys.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].1.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_are_read_in_order() {
        let value = Value::parse(br#" { "a" : [1, "x", {}] , "b":null,"\u0061":2 } "#).unwrap();
        let keys: Vec<_> = value.members().map(|member| member.key().into_owned()).collect();
        assert_eq!(keys, ["a", "b", "a"]);
        assert_eq!(value.get("a").and_then(Value::as_u64), Some(2), "the last one wins");
        let first = value.members().next().unwrap().value;
        let elements: Vec<_> = first.elements().map(|element| format!("{element:?}")).collect();
        assert_eq!(elements, ["1", "\"x\"", "{}"]);
        assert!(value.get("b").unwrap().is_null());
        assert_eq!(value.elements().count(), 0);
    }

    #[test]
    fn the_table_and_the_iterator_agree() {
        let text = br#"{"a":1, "b\"" : {"c":[2]} ,"":[]}"#;
        let object = Object::parse(text).unwrap();
        let members: Vec<_> = Value::parse(text).unwrap().members().collect();
        assert_eq!(object.members(), members);
        assert_eq!(object.members()[1].key(), "b\"");
        for bad in ["{}x", "[]", "{\"a\":1", "{\"a\":1,}", "{\"a\" 1}"] {
            assert!(Object::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_whole_members_of_a_cut_object_are_read() {
        let object = Object::parse_prefix(br#"{"a":1,"b":{"c":2},"d":"cut he"#);
        let keys: Vec<_> = object.members().iter().map(Member::key).collect();
        assert_eq!(keys, ["a", "b"]);
        assert_eq!(Object::parse_prefix(b"nothing").members(), []);
    }

    #[test]
    fn duplicate_keys_are_found_in_small_and_large_objects() {
        assert_eq!(Object::parse(br#"{"a":1,"b":2}"#).unwrap().duplicate_key(), None);
        assert_eq!(Object::parse(br#"{"a":1,"a":2}"#).unwrap().duplicate_key().unwrap(), "a");
        let spelled = Object::parse(br#"{"a":1,"b":2,"\u0061":3}"#).unwrap();
        assert_eq!(spelled.duplicate_key().unwrap(), "a");
        let many: Vec<String> = (0..1000).map(|i| format!("\"k{}\":0", i % 999)).collect();
        let text = format!("{{{}}}", many.join(","));
        assert_eq!(Object::parse(text.as_bytes()).unwrap().duplicate_key().unwrap(), "k0");
    }
}
