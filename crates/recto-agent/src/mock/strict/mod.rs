//! What the real API refuses, and with which words.
//!
//! Owns: the rules about a request. Does not own: how a refusal gets to the client. The list is
//! what the documentation, the types of the official SDKs and reports of users show; it is not
//! complete. What is not known to be refused is accepted.

mod blocks;
mod body;
mod caching;
mod headers;
mod pairing;
mod schema;
mod thinking;

use recto_log::json::replace_lone_surrogates;
use serde_json::Value;

pub use headers::Headers;

/// The most bytes that a request may have.
pub const MOST_BYTES: usize = 32 << 20;

/// A refusal as the API puts it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The type of the error.
    pub kind: &'static str,
    /// The words.
    pub message: String,
}

impl Refusal {
    /// An invalid request.
    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal { status: 400, kind: "invalid_request_error", message: message.into() }
    }

    /// Something that does not exist.
    pub fn not_found(message: impl Into<String>) -> Refusal {
        Refusal { status: 404, kind: "not_found_error", message: message.into() }
    }

    /// A request that is too large.
    pub fn too_large() -> Refusal {
        let message = "Request exceeds the maximum size".into();
        Refusal { status: 413, kind: "request_too_large", message }
    }
}

/// What a body is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// An answer is wanted.
    Answer,
    /// The number of tokens is wanted.
    Count,
}

/// Judges requests. A signature that a mock made must be as it made it.
#[derive(Clone, Debug, Default)]
pub struct Judge;

impl Judge {
    /// A request as far as it can be read, and the refusal if the real API would not accept it.
    pub fn judge(
        &self,
        bytes: &[u8],
        betas: &[String],
        purpose: Purpose,
    ) -> (Value, Option<Refusal>) {
        if bytes.len() > MOST_BYTES {
            return (Value::Null, Some(Refusal::too_large()));
        }
        let (body, problem) = read(bytes);
        let refusal = match problem {
            Some(problem) => {
                Some(Refusal::invalid(format!("The request body is not valid JSON: {problem}")))
            }
            None => self.check(&body, betas, purpose).err().map(Refusal::invalid),
        };
        (body, refusal)
    }

    fn check(&self, body: &Value, betas: &[String], purpose: Purpose) -> Result<(), String> {
        if !body.is_object() {
            return Err("Input should be a valid dictionary".into());
        }
        body::check_fields(body, betas, purpose)?;
        body::check_system(&body["system"])?;
        schema::check_tools(body)?;
        let turns = blocks::turns(body, betas)?;
        pairing::check(&turns)?;
        thinking::check(body, &turns)?;
        caching::check(body)?;
        body::check_end(body)
    }
}

/// JSON in which half surrogate pairs may occur, read as U+FFFD; and what is wrong with it.
pub fn read(bytes: &[u8]) -> (Value, Option<String>) {
    let error = match serde_json::from_slice(bytes) {
        Ok(value) => return (value, None),
        Err(error) => error,
    };
    let whole = replace_lone_surrogates(bytes.to_vec());
    let changed = whole != bytes;
    match serde_json::from_slice(&whole) {
        Ok(value) if changed => (value, Some("no low surrogate in string".into())),
        _ => {
            let text = String::from_utf8_lossy(bytes);
            let value = serde_json::from_str(&text).unwrap_or_default();
            (value, Some(error.to_string()))
        }
    }
}

/// A turn: messages in a row of one role, which the API joins.
pub(super) struct Turn<'a> {
    pub(super) role: &'a str,
    /// The blocks, each with the numbers of its message and itself.
    pub(super) blocks: Vec<(usize, usize, &'a Value)>,
}

/// The name of a member that is not among the known ones.
pub(super) fn extra<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
    let names = value.as_object()?.keys();
    names.map(String::as_str).find(|name| !known.contains(name))
}

#[cfg(test)]
mod tests;
