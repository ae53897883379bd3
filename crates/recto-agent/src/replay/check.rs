//! Every request of a log, rebuilt, against its recorded hash.

use recto_session::Hash;
use recto_session::request::Recording;

/// One request, compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The line of its note.
    pub line: u64,
    /// How many messages it had; without those of an earlier request that the log does not have.
    pub messages: usize,
    /// Whether all its messages are named.
    pub is_whole: bool,
    /// The messages that the log does not give.
    pub missing: Vec<MissingMessage>,
    /// Whether the log has its answer.
    pub is_answered: bool,
}

/// A message whose hash the log does not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMessage {
    /// Its place, from 0.
    pub index: usize,
    /// The recorded hash, as digits.
    pub recorded: String,
    /// What the log gives in its place, as JSON; none if it gives less.
    pub rebuilt: Option<String>,
}

/// Compares all requests of a recording.
pub fn compare(recording: &Recording) -> Vec<Compared> {
    let requests = recording.requests.iter().map(|request| {
        let hashes = request.hashes.as_deref();
        let missing = request.messages.iter().enumerate().filter(|(_, found)| found.is_none());
        let missing = missing.map(|(index, _)| MissingMessage {
            index,
            recorded: hashes.and_then(|hashes| hashes.get(index)).map(digits).unwrap_or_default(),
            rebuilt: request
                .rebuilt
                .get(index)
                .map(|message| String::from_utf8_lossy(message).into_owned()),
        });
        Compared {
            line: request.line,
            messages: request.messages.len(),
            is_whole: hashes.is_some(),
            missing: missing.collect(),
            is_answered: request.answer.is_some(),
        }
    });
    requests.collect()
}

fn digits(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
