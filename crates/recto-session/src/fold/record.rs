//! What a log says of itself: requests that were sent, lines of foreign kinds
//! and of other sessions.
//!
//! Owns: facts from lines beside the conversation that say something about it.
//! Does not own: what follows from them; see [`crate::request`] and
//! [`crate::health`].

use jiff::Timestamp;
use recto_log::Entry;
use recto_log::EntryUuid;
use recto_log::RequestRecord;
use recto_log::json::Value;

use crate::NameId;
use crate::Names;
use crate::Span;
use crate::fold::hash::Shortcut;

/// The SHA-256 of a message, as `api-request` lines name it.
pub type Hash = [u8; 32];

/// A request that the client noted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequestFact {
    /// The line of the note.
    pub line: u64,
    /// Where the line is.
    pub span: Span,
    /// When the request was sent.
    pub time: Option<Timestamp>,
    /// The hashes of the messages that the request did not share with the one
    /// it went on from.
    pub tail: Box<[Hash]>,
    /// The model that was asked.
    pub model: Option<NameId>,
    /// How hard it was to think.
    pub effort: Option<NameId>,
}

/// A message that the client noted because no other line gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobFact {
    /// Its hash, as the line says.
    pub hash: Hash,
    /// The line.
    pub line: u64,
    /// Where the line is.
    pub span: Span,
}

/// The system prompt and the tools of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShapeFact {
    /// The hash that requests name.
    pub hash: String,
    /// The line.
    pub line: u64,
    /// Where the line is.
    pub span: Span,
}

/// A line with a uuid whose type is not known: clients cannot chain on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownLine {
    /// The line's number.
    pub line: u64,
    /// Its uuid.
    pub uuid: EntryUuid,
    /// Its type, if it has one.
    pub type_name: String,
}

/// What a log says of itself.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Records {
    /// The requests that were sent, in the order of the log.
    pub requests: Vec<RequestFact>,
    /// The messages that were noted for them.
    pub blobs: Vec<BlobFact>,
    /// The system prompts and tools that were noted for them.
    pub shapes: Vec<ShapeFact>,
    /// Lines with a uuid whose type is not known.
    pub unknown: Vec<UnknownLine>,
    /// The sessions that lines say they belong to, each with the number of
    /// such lines and the first of them, in order of appearance.
    pub sessions: Vec<(String, u64, u64)>,
    by_session: Shortcut,
}

impl Records {
    pub(crate) fn note_session(&mut self, entry: &Entry<'_>) {
        let Some(name) = entry.session_id() else { return };
        match self.by_session.find(&self.sessions, &&*name, |(known, ..)| known.as_str()) {
            Some(known) => self.sessions[known].1 += 1,
            None => self.sessions.push((name.into_owned(), 1, entry.line().number)),
        }
    }

    pub(crate) fn note_unknown(&mut self, entry: &Entry<'_>) {
        if let Some(uuid) = entry.uuid() {
            let type_name = entry.type_name().unwrap_or_default().into_owned();
            self.unknown.push(UnknownLine { line: entry.line().number, uuid, type_name });
        }
    }

    pub(crate) fn note_request(&mut self, entry: &Entry<'_>, names: &mut Names) {
        let line = entry.line();
        match entry.request_record() {
            Some(RequestRecord::Request { tail, .. }) => {
                let params = entry.get("params");
                let effort = params.and_then(|params| {
                    params.str("effort").or_else(|| params.get("output_config")?.str("effort"))
                });
                let model = params.and_then(|params| params.str("model"));
                self.requests.push(RequestFact {
                    line: line.number,
                    span: Span { offset: line.offset, length: line.length },
                    time: entry.str("timestamp").and_then(|text| text.parse().ok()),
                    tail: tail.into_iter().flat_map(Value::elements).filter_map(hash_of).collect(),
                    model: model.map(|name| names.add(&name)),
                    effort: effort.map(|name| names.add(&name)),
                });
            }
            Some(RequestRecord::Blob { hash: Some(hash), .. }) => {
                let span = Span { offset: line.offset, length: line.length };
                if let Some(hash) = hash_from(&hash) {
                    self.blobs.push(BlobFact { hash, line: line.number, span });
                }
            }
            Some(RequestRecord::Shape { hash: Some(hash), .. }) => {
                let span = Span { offset: line.offset, length: line.length };
                self.shapes.push(ShapeFact { hash: hash.into_owned(), line: line.number, span });
            }
            Some(
                RequestRecord::Blob { hash: None, .. } | RequestRecord::Shape { hash: None, .. },
            )
            | None => {}
        }
    }
}

fn hash_of(value: Value<'_>) -> Option<Hash> {
    hash_from(&value.as_str()?)
}

/// The hash that 64 hexadecimal digits spell.
fn hash_from(text: &str) -> Option<Hash> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_from_its_digits() {
        let text = "00ff".repeat(16);
        assert_eq!(hash_from(&text).unwrap()[..3], [0, 255, 0]);
        assert_eq!(hash_from(&text[1..]), None);
        assert_eq!(hash_from(&"zz".repeat(32)), None);
    }
}
