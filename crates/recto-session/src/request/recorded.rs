//! A session as a recording: which requests were sent, and what was answered.
//!
//! Owns: requests put together from their notes, and answers put together from their lines. Does
//! not own: what somebody does with them.
//!
//! A note names the messages of a request by their hashes, as a difference to an earlier note.
//! The answer to a request is the first new message of the model between its note and the next
//! one; a request that failed has none. Logs of older clients have no notes: of them, only the
//! answers are known, in their order.

use std::collections::HashMap;
use std::collections::HashSet;

use jiff::Timestamp;
use recto_log::Kind;
use recto_log::RequestRecord;
use recto_log::json::ArrayWriter;
use recto_log::json::Patch;
use recto_log::json::Value;

use super::Generation;
use super::Outcome;
use super::RequestOptions;
use super::reach;
use super::verify::Moment;
use super::verify::message_hash;
use super::verify::messages_then;
use crate::Hash;
use crate::LineSource;
use crate::RequestFact;
use crate::Session;
use crate::with_line;

/// What a log says of requests and answers.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Recording {
    /// The requests that were noted, in the order of the log. Empty for older clients.
    pub requests: Vec<RecordedRequest>,
    /// The answers, in the order of the log.
    pub answers: Vec<RecordedAnswer>,
}

/// A request that was noted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The line of the note.
    pub line: u64,
    /// When it was sent.
    pub time: Option<Timestamp>,
    /// The model that was asked.
    pub model: Option<String>,
    /// The other parameters, as JSON.
    pub params: Option<Vec<u8>>,
    /// The hash of system prompt and tools.
    pub shape: Option<String>,
    /// The hashes of all messages. `None` if the note goes on from one that the log does not have.
    pub hashes: Option<Vec<Hash>>,
    /// The messages that the log gives, each as JSON, in the places of their hashes.
    pub messages: Vec<Option<Vec<u8>>>,
    /// What the log gives instead, where a message is missing: the conversation as it was. Empty
    /// if nothing is missing.
    pub rebuilt: Vec<Vec<u8>>,
    /// Its answer, as a place in [`Recording::answers`].
    pub answer: Option<usize>,
}

/// A message of the model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedAnswer {
    /// Its first line.
    pub line: u64,
    /// Its id.
    pub id: String,
    /// The message with all its blocks, as JSON.
    pub message: Vec<u8>,
}

/// Puts a recording together.
pub fn recording(session: &Session, log: &dyn LineSource) -> Recording {
    let answers = answers(session, log);
    let mut texts = Texts::new(session, log);
    let mut requests: Vec<RecordedRequest> = Vec::new();
    let mut by_id: HashMap<String, usize> = HashMap::new();
    for fact in &session.records.requests {
        let mut request = texts.request(fact, &requests, &by_id);
        if let Some((id, found)) = request.take() {
            if let Some(id) = id {
                by_id.insert(id, requests.len());
            }
            requests.push(found);
        }
    }
    let starts: Vec<u64> = requests.iter().map(|request| request.line).collect();
    for (at, request) in requests.iter_mut().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(u64::MAX);
        let first = answers.partition_point(|answer| answer.line <= request.line);
        request.answer = answers.get(first).filter(|answer| answer.line < end).map(|_| first);
    }
    Recording { requests, answers }
}

/// The messages of a request before a line: the conversation as it was.
pub fn messages_before(session: &Session, line: u64, log: &dyn LineSource) -> Vec<Vec<u8>> {
    messages_then(session, Moment { line, late: None, model: None, effort: None }, log)
}

/// The text of messages by their hash.
struct Texts<'a> {
    session: &'a Session,
    log: &'a dyn LineSource,
    known: HashMap<Hash, Vec<u8>>,
}

impl<'a> Texts<'a> {
    fn new(session: &'a Session, log: &'a dyn LineSource) -> Texts<'a> {
        let mut texts = Texts { session, log, known: HashMap::new() };
        if session.records.requests.is_empty() {
            return texts;
        }
        for blob in &session.records.blobs {
            let message =
                with_line(log, blob.span, blob.line, |entry| match entry.request_record() {
                    Some(RequestRecord::Blob { message: Some(message), .. }) => {
                        Some(message.bytes().to_vec())
                    }
                    _ => None,
                });
            // What cannot be read is not known.
            texts.add(message.ok().flatten());
        }
        let reach = reach(session, Generation::latest());
        if reach.outcome == Outcome::Resumed {
            let request = super::request(session, &reach, log, &RequestOptions::default());
            let messages = Value::parse(&request.messages).ok();
            let messages = messages.into_iter().flat_map(Value::elements);
            texts.add(messages.map(|message| message.bytes().to_vec()));
        }
        texts
    }

    fn add(&mut self, messages: impl IntoIterator<Item = Vec<u8>>) {
        for message in messages {
            let hash = Value::parse(&message).ok().and_then(message_hash);
            if let Some(hash) = hash {
                self.known.insert(hash, message);
            }
        }
    }

    /// A request and its id; `None` if its note cannot be read.
    fn request(
        &mut self,
        fact: &RequestFact,
        before: &[RecordedRequest],
        by_id: &HashMap<String, usize>,
    ) -> Option<(Option<String>, RecordedRequest)> {
        let note = with_line(self.log, fact.span, fact.line, |entry| {
            let Some(RequestRecord::Request { id, base, keep, shape_hash, .. }) =
                entry.request_record()
            else {
                return None;
            };
            let params = entry.get("params").map(|params| params.bytes().to_vec());
            let text = |text: Option<std::borrow::Cow<'_, str>>| text.map(|text| text.into_owned());
            Some((text(id), text(base), keep, text(shape_hash), params))
        });
        let (id, base, keep, shape, params) = note.ok().flatten()?;
        let keep = usize::try_from(keep.unwrap_or(0)).unwrap_or(usize::MAX);
        let kept = match base {
            None if keep == 0 => Some(Vec::new()),
            None => None,
            Some(base) => {
                let base = by_id.get(&base).and_then(|place| before.get(*place));
                base.and_then(|base| base.hashes.as_ref()?.get(..keep).map(<[Hash]>::to_vec))
            }
        };
        let hashes = kept.map(|mut hashes| {
            hashes.extend_from_slice(&fact.tail);
            hashes
        });
        let wanted = hashes.as_deref().unwrap_or(&fact.tail);
        let mut rebuilt = Vec::new();
        if wanted.iter().any(|hash| !self.known.contains_key(hash)) {
            for late in [None, fact.time] {
                rebuilt = messages_then(self.session, self.moment(fact, late), self.log);
                self.add(rebuilt.clone());
                if wanted.iter().all(|hash| self.known.contains_key(hash)) {
                    rebuilt.clear();
                    break;
                }
            }
        }
        let messages = wanted.iter().map(|hash| self.known.get(hash).cloned()).collect();
        let model = fact.model.map(|model| self.session.name(model).to_owned());
        let (line, time) = (fact.line, fact.time);
        let request = RecordedRequest {
            line,
            time,
            model,
            params,
            shape,
            hashes,
            messages,
            rebuilt,
            answer: None,
        };
        Some((id, request))
    }

    fn moment(&self, fact: &RequestFact, late: Option<Timestamp>) -> Moment<'a> {
        let session = self.session;
        Moment {
            line: fact.line,
            late,
            model: fact.model.map(|model| session.name(model)),
            effort: fact.effort.map(|effort| session.name(effort)),
        }
    }
}

/// The messages of the model, each from all its lines.
fn answers(session: &Session, log: &dyn LineSource) -> Vec<RecordedAnswer> {
    let of_subagent = session.nodes().all(|node| node.flags.is_sidechain);
    let mut answers: Vec<(RecordedAnswer, Vec<Vec<u8>>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut seen = HashSet::new();
    let mut nodes: Vec<_> = session.nodes().collect();
    nodes.sort_by_key(|node| node.line);
    for node in nodes {
        let flags = &node.flags;
        let is_answer = node.kind == Kind::Assistant
            && !flags.is_synthetic
            && !flags.is_api_error
            && flags.is_sidechain == of_subagent;
        let Some(id) = node.message.map(|id| session.name(id)).filter(|_| is_answer) else {
            continue;
        };
        if !seen.insert(node.uuid()) {
            continue;
        }
        let read = with_line(log, node.span(), node.line, |entry| {
            let message = entry.get("message")?;
            let blocks = message.get("content").into_iter().flat_map(Value::elements);
            let blocks: Vec<Vec<u8>> = blocks.map(|block| block.bytes().to_vec()).collect();
            Some((message.bytes().to_vec(), blocks))
        });
        let Some((message, blocks)) = read.ok().flatten() else { continue };
        match places.get(id) {
            Some(place) => {
                if let Some((answer, all)) = answers.get_mut(*place) {
                    // The last line has the final usage and stop reason.
                    answer.message = message;
                    all.extend(blocks);
                }
            }
            None => {
                places.insert(id, answers.len());
                let answer = RecordedAnswer { line: node.line, id: id.to_owned(), message };
                answers.push((answer, blocks));
            }
        }
    }
    let whole = answers.into_iter().map(|(answer, blocks)| {
        let content = blocks.iter().fold(ArrayWriter::new(), |array, block| array.json(block));
        let message = Patch::new(&answer.message).ok().and_then(|mut patch| {
            patch.set(&["content".into()], &content.finish()).ok()?;
            Some(patch.finish())
        });
        RecordedAnswer { message: message.unwrap_or_else(|| answer.message.clone()), ..answer }
    });
    whole.collect()
}
