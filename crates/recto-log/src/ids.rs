//! Identifiers as types of their own.
//!
//! A uuid of the usual spelling takes 16 bytes and no allocation, because a
//! session can have a million of them; any other spelling is kept as it is.
//! [`SessionId`] and [`AgentId`] name files, so they are checked when made: no
//! path is ever built from an unchecked string.

use std::fmt;
use std::str::FromStr;

use crate::json::Value;

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdError {
    what: &'static str,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not {}", self.what)
    }
}

impl std::error::Error for IdError {}

/// The value of a lower case hexadecimal digit; above 15 for anything else.
const DIGITS: [u8; 256] = {
    let mut digits = [u8::MAX; 256];
    let mut value: u8 = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};

/// The bits of a uuid in its canonical spelling (lower case, 8-4-4-4-12).
fn parse_uuid(text: &[u8]) -> Option<u128> {
    let text: &[u8; 36] = text.try_into().ok()?;
    if [text[8], text[13], text[18], text[23]] != [b'-'; 4] {
        return None;
    }
    // Each block of digits by itself; what is no digit shows in `odd`.
    let mut odd = 0;
    let mut number = |from: usize, to: usize| {
        text[from..to].iter().fold(0u64, |number, byte| {
            let digit = DIGITS[usize::from(*byte)];
            odd |= digit;
            (number << 4) | u64::from(digit & 15)
        })
    };
    let high = (number(0, 8) << 32) | (number(9, 13) << 16) | number(14, 18);
    let low = (number(19, 23) << 48) | number(24, 36);
    (odd < 16).then_some((u128::from(high) << 64) | u128::from(low))
}

fn write_uuid(f: &mut fmt::Formatter<'_>, bits: u128) -> fmt::Result {
    write!(
        f,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        (bits >> 80) & 0xffff,
        (bits >> 64) & 0xffff,
        (bits >> 48) & 0xffff,
        bits & 0xffff_ffff_ffff
    )
}

/// The `uuid` of a line.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryUuid(Packed);

/// The bits are in two halves: a `u128` would need more room around it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Packed {
    Bits { high: u64, low: u64 },
    Text(Box<str>),
}

impl EntryUuid {
    /// Any text is a line's uuid if the log says so.
    pub fn new(text: &str) -> EntryUuid {
        EntryUuid::usual(text.as_bytes()).unwrap_or_else(|| EntryUuid(Packed::Text(text.into())))
    }

    /// The uuid that a string of a log names.
    pub(crate) fn of(value: Value<'_>) -> Option<EntryUuid> {
        match EntryUuid::usual(value.string_inside()?) {
            Some(uuid) => Some(uuid),
            None => value.as_str().map(|text| EntryUuid::new(&text)),
        }
    }

    fn usual(text: &[u8]) -> Option<EntryUuid> {
        let bits = parse_uuid(text)?;
        Some(EntryUuid::from_bits(bits))
    }

    /// Whether it is the empty text, which names nothing.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Packed::Bits { .. } => false,
            Packed::Text(text) => text.is_empty(),
        }
    }

    /// The uuid with these bits.
    pub fn from_bits(bits: u128) -> EntryUuid {
        EntryUuid(Packed::Bits { high: (bits >> 64) as u64, low: bits as u64 })
    }

    /// The bits of a uuid in its usual spelling.
    pub fn bits(&self) -> Option<u128> {
        match &self.0 {
            Packed::Bits { high, low } => Some((u128::from(*high) << 64) | u128::from(*low)),
            Packed::Text(_) => None,
        }
    }
}

/// The uuids in some bytes, in their usual spelling, with where they start.
/// Each takes [`UUID_LENGTH`] bytes.
pub fn uuids_in(bytes: &[u8]) -> impl Iterator<Item = (usize, u128)> {
    let mut next = 0;
    memchr::memchr_iter(b'-', bytes).filter_map(move |dash| {
        let start = dash.checked_sub(8).filter(|start| *start >= next)?;
        let text = bytes.get(start..start + UUID_LENGTH)?;
        // Most dashes are no part of a uuid, and this tells cheaply.
        if text[13] != b'-' {
            return None;
        }
        let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        if is_part(bytes.get(start + UUID_LENGTH))
            || is_part(start.checked_sub(1).and_then(|at| bytes.get(at)))
        {
            return None;
        }
        let bits = parse_uuid(text)?;
        next = start + UUID_LENGTH;
        Some((start, bits))
    })
}

/// How many bytes a uuid takes.
pub const UUID_LENGTH: usize = 36;

impl fmt::Display for EntryUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Packed::Bits { high, low } => {
                write_uuid(f, (u128::from(*high) << 64) | u128::from(*low))
            }
            Packed::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for EntryUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The id of a session, which is the name of its log: always a uuid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(u128);

impl SessionId {
    /// The session with these bits.
    pub fn from_bits(bits: u128) -> SessionId {
        SessionId(bits)
    }

    /// The bits of the id.
    pub fn bits(self) -> u128 {
        self.0
    }
}

impl FromStr for SessionId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<SessionId, IdError> {
        parse_uuid(text.as_bytes()).map(SessionId).ok_or(IdError { what: "a session id" })
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(f, self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The id of a subagent, which is part of its log's name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(Box<str>);

impl AgentId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the helper that suggests the next prompt (2.1.29). It is
    /// no work of the user's, but lost replies of the main log can be in it.
    pub fn is_prompt_suggestion(&self) -> bool {
        self.0.starts_with("aprompt_suggestion")
    }

    /// Whether this is the helper that writes the summary of a compaction.
    pub fn is_compaction(&self) -> bool {
        self.0.starts_with("acompact")
    }
}

impl FromStr for AgentId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<AgentId, IdError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if (1..=128).contains(&text.len()) && text.bytes().all(plain) {
            Ok(AgentId(text.into()))
        } else {
            Err(IdError { what: "an agent id" })
        }
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// Any text is such an id if the log says so.
            pub fn new(text: &str) -> $name {
                $name(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The `id` of an API message; several lines share it.
    MessageId
}
text_id! {
    /// The `requestId` of the API call that gave a message.
    RequestId
}
text_id! {
    /// The id that ties a `tool_use` block to its `tool_result`.
    ToolUseId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_uuid_is_printed_as_it_was_written() {
        for text in [
            "00000000-0000-0000-0000-000000000000",
            "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718",
            "3F2A1B4C-9d8e-4f70-a1b2-c3d4e5f60718",
            "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f6071g",
            "3f2a1b4c-9d8e-4f70-a1b2\u{e9}c3d4e5f6071",
            "3f2a1b4c09d8e-4f70-a1b2-c3d4e5f60718",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "u1",
            "",
        ] {
            assert_eq!(EntryUuid::new(text).to_string(), text);
        }
        assert!(size_of::<Option<EntryUuid>>() <= 24);
    }

    #[test]
    fn ids_that_name_files_are_checked() {
        assert!("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718".parse::<SessionId>().is_ok());
        for bad in ["", "..", "../x", "3f2a1b4c", "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f6071/"] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
        assert!("a1b2c3d4".parse::<AgentId>().is_ok());
        assert!("aprompt_suggestion-12ab".parse::<AgentId>().unwrap().is_prompt_suggestion());
        for bad in ["", ".", "a/b", "a\0", "..", "é", &"a".repeat(129)] {
            assert!(bad.parse::<AgentId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn uuids_are_found_where_they_stand_alone() {
        let uuid = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
        let found =
            |text: &str| uuids_in(text.as_bytes()).map(|(start, _)| start).collect::<Vec<_>>();
        assert_eq!(found(&format!("{uuid} a-b--c /{uuid}/x")), [0, 45]);
        assert_eq!(found(&format!("a{uuid}")), []);
        assert_eq!(found(&format!("{uuid}0")), []);
        assert_eq!(found(&uuid.to_uppercase()), []);
        assert_eq!(found(&uuid[..35]), []);
        let bits = uuids_in(uuid.as_bytes()).next().unwrap().1;
        assert_eq!(EntryUuid::from_bits(bits), EntryUuid::new(uuid));
    }
}
