//! Values: JSON text that is known to be well formed, read on demand.

use std::borrow::Cow;
use std::fmt;

use super::SyntaxError;
use super::number;
use super::scan::KeyEnd;
use super::scan::THE_END;
use super::scan::read_key;
use super::scan::skip_clean_string;
use super::scan::skip_clean_value;
use super::scan::skip_known_string;
use super::scan::skip_known_value;
use super::scan::skip_space;
use super::scan::skip_string;
use super::scan::skip_value;
use super::special::ByteKinds;
use super::string;

/// The text of one JSON value, without white space around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Value<'a>(&'a [u8]);

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.0))
    }
}

impl Value<'static> {
    /// The value `null`.
    pub const NULL: Value<'static> = Value(b"null");
}

impl<'a> Value<'a> {
    /// Checks that `bytes` is one JSON value, with white space around it at most.
    pub fn parse(bytes: &'a [u8]) -> Result<Value<'a>, SyntaxError> {
        let start = skip_space(bytes, 0);
        let end = skip_value(bytes, start)?;
        let rest = skip_space(bytes, end);
        if rest < bytes.len() {
            return Err(SyntaxError { at: rest, expected: THE_END });
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

    /// The byte at which the text of a string begins, after white space. One
    /// that is no printable ASCII, or a backslash, can still be white space in
    /// another spelling: then only [`Value::as_str`] knows.
    pub fn text_start(self) -> Option<u8> {
        let mut rest = self.string_inside()?;
        loop {
            rest = match rest {
                [b' ', rest @ ..] | [b'\\', b'n' | b't' | b'r', rest @ ..] => rest,
                _ => return rest.first().copied(),
            };
        }
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
        if !self.is_object() {
            return None;
        }
        let mut object = Object::default();
        let mut at = 1;
        while let Some((member, key, end)) = next_member(self.0, at, Trust::Known) {
            if object.members.len() == Object::MOST_MEMBERS {
                return None;
            }
            object.has_escaped_key |= key.is_escaped;
            object.members.push(member);
            at = end;
        }
        Some(object)
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

    /// The key as bytes, escapes resolved.
    pub(crate) fn key_bytes(&self) -> Cow<'a, [u8]> {
        if self.raw_key.contains(&b'\\') {
            Cow::Owned(self.key().into_owned().into_bytes())
        } else {
            Cow::Borrowed(self.raw_key)
        }
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
        let (member, _, end) = next_member(self.bytes, self.at, Trust::Known)?;
        self.at = end;
        Some(member)
    }
}

/// Whether a text was checked before.
#[derive(Clone, Copy)]
enum Trust {
    /// It is checked as it is read.
    Check,
    /// It is checked as it is read, but holds no control characters.
    Clean,
    /// It is known to be well formed, so finding ends is enough.
    Known,
}

/// The member that follows `at`, which is after `{` or after the last value.
#[inline(always)]
fn next_member(bytes: &[u8], at: usize, trust: Trust) -> Option<(Member<'_>, KeyEnd, usize)> {
    let mut key = skip_space(bytes, at);
    match bytes.get(key) {
        Some(b'}') | None => return None,
        Some(b',') => key = skip_space(bytes, key + 1),
        Some(_) => {}
    }
    read_member(bytes, key, trust).ok()
}

/// The member whose key's quote is at `key`, and the offset after its value.
#[inline(always)]
fn read_member(
    bytes: &[u8],
    key: usize,
    trust: Trust,
) -> Result<(Member<'_>, KeyEnd, usize), SyntaxError> {
    let key_end = read_key(bytes, key)?;
    let start = key_end.value;
    let end = skip_by(bytes, start, trust)?;
    let raw_key = bytes.get(key + 1..key_end.quote).unwrap_or_default();
    Ok((Member { raw_key, value: Value(&bytes[start..end]) }, key_end, end))
}

/// The offset after the value at `at`. Most values are strings.
#[inline(always)]
fn skip_by(bytes: &[u8], at: usize, trust: Trust) -> Result<usize, SyntaxError> {
    match (trust, bytes.get(at)) {
        (Trust::Check, Some(b'"')) => skip_string(bytes, at),
        (Trust::Check, _) => skip_value(bytes, at),
        (Trust::Clean, Some(b'"')) => skip_clean_string(bytes, at),
        (Trust::Clean, _) => skip_clean_value(bytes, at),
        (Trust::Known, Some(b'"')) => skip_known_string(bytes, at),
        (Trust::Known, _) => skip_known_value(bytes, at),
    }
}

/// The elements of an array, in order.
#[derive(Debug, Clone, Default)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Elements<'a> {
    /// The next element; `see` is shown the members of an object on the way, so
    /// that a large one is gone through once.
    pub(crate) fn next_seen(&mut self, mut see: impl FnMut(Member<'a>)) -> Option<Value<'a>> {
        let start = self.start()?;
        if self.bytes.get(start) != Some(&b'{') {
            return self.next();
        }
        let mut at = start + 1;
        while let Some((member, _, end)) = next_member(self.bytes, at, Trust::Known) {
            see(member);
            at = end;
        }
        self.at = skip_space(self.bytes, at) + 1;
        self.bytes.get(start..self.at).map(Value)
    }

    /// Where the next element starts.
    fn start(&self) -> Option<usize> {
        let start = skip_space(self.bytes, self.at);
        match self.bytes.get(start) {
            Some(b']') | None => None,
            Some(b',') => Some(skip_space(self.bytes, start + 1)),
            Some(_) => Some(start),
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let start = self.start()?;
        let end = skip_by(self.bytes, start, Trust::Known).ok()?;
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
        Object::parse_as(bytes, Trust::Check)
    }

    /// The same for a text of which it is known whether it has control characters.
    pub(crate) fn parse_by_kinds(
        bytes: &'a [u8],
        kinds: ByteKinds,
    ) -> Result<Object<'a>, SyntaxError> {
        match kinds.has_controls {
            true => Object::parse_as(bytes, Trust::Check),
            false => Object::parse_as(bytes, Trust::Clean),
        }
    }

    #[inline(always)]
    fn parse_as(bytes: &'a [u8], trust: Trust) -> Result<Object<'a>, SyntaxError> {
        let start = skip_space(bytes, 0);
        if bytes.get(start) != Some(&b'{') {
            return Err(SyntaxError { at: start, expected: "'{'" });
        }
        let mut object = Object { members: Vec::with_capacity(24), has_escaped_key: false };
        let mut at = skip_space(bytes, start + 1);
        if bytes.get(at) != Some(&b'}') {
            loop {
                let (member, key, end) = read_member(bytes, at, trust)?;
                if object.members.len() == Object::MOST_MEMBERS {
                    return Err(SyntaxError { at, expected: "fewer keys" });
                }
                object.has_escaped_key |= key.is_escaped;
                object.members.push(member);
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
            return Err(SyntaxError { at: rest, expected: THE_END });
        }
        Ok(object)
    }

    /// The members that are whole at the start of an object whose end is
    /// missing, such as a line of which only the beginning was read.
    pub fn parse_prefix(bytes: &'a [u8]) -> Object<'a> {
        let start = skip_space(bytes, 0);
        let mut at = if bytes.get(start) == Some(&b'{') { start + 1 } else { bytes.len() };
        let mut object = Object::default();
        // Nothing of it was checked before.
        while let Some((member, key, end)) = next_member(bytes, at, Trust::Check) {
            object.has_escaped_key |= key.is_escaped;
            object.members.push(member);
            at = end;
        }
        object
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
        let array = Value::parse(br#"[ {"a":"}" , "b":[{}]} , 1,{ } ,{"c":2}]"#).unwrap();
        let (mut seen, mut keys) = (Vec::new(), String::new());
        let mut elements = array.elements();
        while let Some(element) = elements.next_seen(|member| keys += &member.key()) {
            seen.push(element);
        }
        assert_eq!(seen, array.elements().collect::<Vec<_>>());
        assert_eq!(keys, "abc");
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
