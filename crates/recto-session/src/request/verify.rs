//! Requests that were sent, against what the log gives.
//!
//! Newer clients note the hash of every message they send. A hash is the
//! SHA-256 of the message as compact JSON with sorted keys, without
//! `cache_control`, where content that is a string counts as one text block.
//! A message that the log does not give by other lines has a line of its own,
//! a blob. So every hash can be found again, either from a blob or from the
//! messages rebuilt from the lines that were there when the request was sent.

use std::collections::HashSet;

use jiff::Timestamp;
use recto_log::RequestRecord;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::Patch;
use recto_log::json::Value;
use recto_log::json::canonical;
use sha2::Digest;
use sha2::Sha256;

use super::Generation;
use super::Outcome;
use super::RequestOptions;
use super::compaction::cut_at_boundary;
use super::leaf::last_line;
use super::lines;
use super::messages::message_json;
use super::messages::messages;
use super::reach;
use super::render;
use super::siblings::recover_siblings;
use super::view::View;
use super::walk::walk;
use crate::Hash;
use crate::LineSource;
use crate::RequestFact;
use crate::Session;
use crate::with_line;

/// How hard to look for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// In the blobs and in the conversation as it is now; only for what is not
    /// there, in the conversation as it was.
    Quick,
    /// For every request in the conversation as it was.
    Thorough,
}

/// How many of the noted messages the log gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Messages whose hash was found again.
    pub known: usize,
    /// Messages that were noted.
    pub of: usize,
    /// Blobs whose message has another hash than they say.
    pub false_blobs: Vec<u64>,
    /// Each request.
    pub requests: Vec<VerifiedRequest>,
}

/// How many messages of one request the log gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedRequest {
    /// The line that notes the request.
    pub line: u64,
    /// Messages that were noted.
    pub of: usize,
    /// Messages found in blobs.
    pub by_blob: usize,
    /// Messages found by rebuilding the conversation.
    pub by_rebuild: usize,
    /// The places of those found in neither way.
    pub unknown: Vec<usize>,
}

/// Looks for every message that the log notes.
pub fn verify(session: &Session, log: &dyn LineSource, search: Search) -> Verified {
    let mut verified = Verified::default();
    if session.records.requests.is_empty() {
        return verified;
    }
    let blobs = blobs(session, log, &mut verified.false_blobs);
    let now = hashes_now(session, log);
    for request in &session.records.requests {
        let is_found = |hash: &Hash| blobs.contains(hash) || now.contains(hash);
        let looks_back = match search {
            Search::Quick => !request.tail.iter().all(is_found),
            Search::Thorough => true,
        };
        let then = if looks_back { hashes_then(session, request, log) } else { HashSet::new() };
        let is_rebuilt = |hash: &Hash| match search {
            Search::Quick => now.contains(hash) || then.contains(hash),
            Search::Thorough => then.contains(hash),
        };
        let unknown: Vec<usize> = (0..request.tail.len())
            .filter(|at| !blobs.contains(&request.tail[*at]) && !is_rebuilt(&request.tail[*at]))
            .collect();
        verified.of += request.tail.len();
        verified.known += request.tail.len() - unknown.len();
        verified.requests.push(VerifiedRequest {
            line: request.line,
            of: request.tail.len(),
            by_blob: request.tail.iter().filter(|hash| blobs.contains(*hash)).count(),
            by_rebuild: request.tail.iter().filter(|hash| is_rebuilt(hash)).count(),
            unknown,
        });
    }
    verified
}

/// The hash of a message as clients note it. `None` if it is nested deeper than
/// any message is.
pub fn message_hash(message: Value<'_>) -> Option<Hash> {
    let text = message.get("content").filter(|content| content.is_string());
    let canonical = match text {
        Some(text) => {
            let block = ObjectWriter::new().string("type", "text").json("text", text.bytes());
            let blocks = ArrayWriter::new().json(&block.finish()).finish();
            let mut patch = Patch::new(message.bytes()).ok()?;
            patch.set(&["content".into()], &blocks).ok()?;
            canonical(Value::parse(&patch.finish()).ok()?, &["cache_control"])?
        }
        None => canonical(message, &["cache_control"])?,
    };
    Some(Sha256::digest(canonical).into())
}

/// The hashes of the blobs whose message really has the hash.
fn blobs(session: &Session, log: &dyn LineSource, wrong: &mut Vec<u64>) -> HashSet<Hash> {
    let mut hashes = HashSet::new();
    for blob in &session.records.blobs {
        let hash = with_line(log, blob.span, blob.line, |entry| match entry.request_record() {
            Some(RequestRecord::Blob { message: Some(message), .. }) => message_hash(message),
            _ => None,
        });
        match hash {
            Ok(Some(hash)) if hash == blob.hash => {
                hashes.insert(hash);
            }
            Ok(_) => wrong.push(blob.line),
            // What cannot be read proves nothing.
            Err(_) => {}
        }
    }
    hashes
}

/// The hashes of the messages that would be sent now.
fn hashes_now(session: &Session, log: &dyn LineSource) -> HashSet<Hash> {
    let reach = reach(session, Generation::latest());
    if reach.outcome != Outcome::Resumed {
        return HashSet::new();
    }
    let request = super::request(session, &reach, log, &RequestOptions::default());
    let messages = Value::parse(&request.messages).ok();
    messages.into_iter().flat_map(Value::elements).filter_map(message_hash).collect()
}

/// The hashes of the messages as they were when a request was sent.
fn hashes_then(session: &Session, request: &RequestFact, log: &dyn LineSource) -> HashSet<Hash> {
    let mut hashes = rebuild(session, request, None, log);
    // Lines may reach the log after the note of the request that held them.
    if !request.tail.iter().all(|hash| hashes.contains(hash)) {
        hashes.extend(rebuild(session, request, request.time, log));
    }
    hashes
}

fn rebuild(
    session: &Session,
    request: &RequestFact,
    late: Option<Timestamp>,
    log: &dyn LineSource,
) -> HashSet<Hash> {
    let moment = Moment {
        line: request.line,
        late,
        model: request.model.map(|model| session.name(model)),
        effort: request.effort.map(|effort| session.name(effort)),
    };
    let messages = messages_then(session, moment, log);
    messages.iter().filter_map(|json| message_hash(Value::parse(json).ok()?)).collect()
}

/// When a request was sent, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'a> {
    /// Lines from this one on were not there.
    pub(super) line: u64,
    /// Lines that are older than this were there, even if they are written later.
    pub(super) late: Option<Timestamp>,
    pub(super) model: Option<&'a str>,
    pub(super) effort: Option<&'a str>,
}

/// The messages as they were at a moment, each as compact JSON.
pub(super) fn messages_then(
    session: &Session,
    moment: Moment<'_>,
    log: &dyn LineSource,
) -> Vec<Vec<u8>> {
    let view = View::before(session, Generation::latest(), moment.line, moment.late);
    let of_subagent = session.nodes().all(|node| node.flags.is_sidechain);
    let Some(leaf) = last_line(&view, of_subagent) else { return Vec::new() };
    let Ok(chain) = walk(&view, leaf) else { return Vec::new() };
    let chain = recover_siblings(&view, chain);
    let sent = lines::pass_running(&view, &cut_at_boundary(&view, &chain));
    let rules = render::Rules::new(session, view.generation, &sent, moment.model);
    let rendered = render::render(session, &rules, &sent, log);
    let messages = messages(rendered.items, &rules, Some(moment.effort.unwrap_or("medium")));
    messages.iter().map(|message| message_json(message, view.generation)).collect()
}
