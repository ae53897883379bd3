//! Recorded sessions as answers, and as tests.
//!
//! Owns: which recorded answer a request gets, where a request differs from the recorded
//! one, and what recorded calls give today. Does not own: how a log becomes requests and answers; see
//! [`recto_session::request::recording`].

mod calls;
mod check;
mod difference;
mod question;

use std::collections::HashMap;

use recto_log::json::Value as Text;
use recto_session::Hash;
use recto_session::request::RecordedAnswer;
use recto_session::request::Recording;
use recto_session::request::message_hash;
use serde_json::Value;
use serde_json::json;

pub use calls::CallResult;
pub use calls::Made;
pub use calls::RecordedCall;
pub use calls::Workshop;
pub use calls::recorded_calls;
pub use check::Compared;
pub use check::MissingMessage;
pub use check::compare;
pub use difference::Difference;
pub use difference::first_difference;
pub use question::Question;
pub use question::question;

use crate::mock::Reply;

/// The answers of a session, in order.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Each with the request that it answered, where the log has it.
    exchanges: Vec<Exchange>,
    by_hash: HashMap<Vec<Hash>, Vec<usize>>,
    next: usize,
    /// How many requests came.
    requests: usize,
}

#[derive(Clone, Debug)]
struct Exchange {
    reply: Reply,
    /// The line of the request's note.
    line: Option<u64>,
    messages: Vec<Option<Value>>,
    is_used: bool,
}

/// What a request gets.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) reply: Reply,
    pub(crate) difference: Option<String>,
}

impl Replay {
    /// Takes the answers of a recording.
    pub fn new(recording: &Recording) -> Replay {
        let mut replay =
            Replay { exchanges: Vec::new(), by_hash: HashMap::new(), next: 0, requests: 0 };
        if recording.requests.is_empty() {
            let plain = recording.answers.iter().map(|answer| Exchange {
                reply: reply_of(answer),
                line: None,
                messages: Vec::new(),
                is_used: false,
            });
            replay.exchanges.extend(plain);
            return replay;
        }
        for request in &recording.requests {
            let answer = request.answer.and_then(|answer| recording.answers.get(answer));
            let Some(answer) = answer else { continue };
            let messages = request.messages.iter().map(|message| {
                let message = message.as_deref()?;
                let whole = recto_log::json::replace_lone_surrogates(message.to_vec());
                serde_json::from_slice(&whole).ok()
            });
            if let Some(hashes) = &request.hashes {
                replay.by_hash.entry(hashes.clone()).or_default().push(replay.exchanges.len());
            }
            replay.exchanges.push(Exchange {
                reply: reply_of(answer),
                line: Some(request.line),
                messages: messages.collect(),
                is_used: false,
            });
        }
        replay
    }

    /// How many answers there are.
    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Whether there is no answer.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// The recorded answer to a request: by the hash of its messages, else the next one.
    pub(crate) fn reply(&mut self, body: &Value) -> Found {
        self.requests += 1;
        let place = self.by_hash(body);
        let Some(exchange) = self.exchanges.get_mut(place.unwrap_or(self.next)) else {
            let text = "The recording has ended.";
            return Found {
                reply: Reply::of(vec![json!({"type": "text", "text": text})]),
                difference: Some(format!(
                    "request {} is one more than the recording has: it has {} answers",
                    self.requests,
                    self.exchanges.len()
                )),
            };
        };
        exchange.is_used = true;
        let difference = match (place, exchange.line) {
            (None, Some(line)) => {
                let found = first_difference(&exchange.messages, &body["messages"]);
                found.map(|found| {
                    let number = self.requests;
                    format!(
                        "request {number} differs from the recorded one (line {line}) at {found}"
                    )
                })
            }
            // The same, or nothing to compare with.
            _ => None,
        };
        let reply = exchange.reply.clone();
        self.next = place.unwrap_or(self.next) + 1;
        Found { reply, difference }
    }

    /// The place of an exchange that has not been used, with the same request.
    fn by_hash(&self, body: &Value) -> Option<usize> {
        if self.by_hash.is_empty() {
            return None;
        }
        let messages = body["messages"].as_array()?;
        let hashes: Option<Vec<Hash>> = messages
            .iter()
            .map(|message| message_hash(Text::parse(message.to_string().as_bytes()).ok()?))
            .collect();
        let places = self.by_hash.get(&hashes?)?;
        let is_free = |place: &&usize| self.exchanges.get(**place).is_some_and(|one| !one.is_used);
        places.iter().find(is_free).or_else(|| places.last()).copied()
    }
}

fn reply_of(answer: &RecordedAnswer) -> Reply {
    let whole = recto_log::json::replace_lone_surrogates(answer.message.clone());
    let message: Value = serde_json::from_slice(&whole).unwrap_or_default();
    let text = |name: &str| message[name].as_str().map(str::to_owned);
    Reply {
        blocks: message["content"].as_array().cloned().unwrap_or_default(),
        stop_reason: text("stop_reason"),
        stop_sequence: text("stop_sequence"),
        usage: Some(message["usage"].clone()).filter(Value::is_object),
        id: text("id"),
        model: text("model"),
        ..Reply::default()
    }
}
