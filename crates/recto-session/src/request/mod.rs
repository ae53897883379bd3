//! The request that a client would send to go on with a session.
//!
//! Clients rebuild a conversation from the log by rules of their generation.
//! [`reach`] follows these rules on the facts of a [`Session`]: which line is
//! the leaf, which lines hang together, which are dropped and why. [`request`]
//! then reads the text of the lines that are sent and makes the `messages` of
//! the API from them. [`verify`] compares with the hashes that newer clients
//! keep of what they sent.
//!
//! The rules were found by observation of recorded clients; they are written
//! down in `docs/concepts/request.md`.

mod answer;
mod attachment;
mod beside;
mod client_text;
mod compaction;
mod group;
mod leaf;
mod lines;
mod messages;
mod model;
mod pair;
mod piece;
mod reach;
mod recorded;
mod render;
mod running;
mod siblings;
mod thin_list;
pub(crate) mod told;
mod verify;
pub(crate) mod view;
pub(crate) mod walk;

pub use reach::Addition;
pub use reach::DropReason;
pub use reach::Dropped;
pub use reach::Hang;
pub use reach::Outcome;
pub use reach::Place;
pub use reach::Reach;
pub use reach::Refusal;
pub use reach::Sent;
pub use reach::SentLine;
pub(crate) use reach::chain_in;
pub(crate) use reach::chain_now;
pub(crate) use reach::history_in;
pub use reach::history_to;
pub use reach::leaf;
pub(crate) use reach::leaf_now;
pub use reach::reach;
pub use reach::reach_at;
pub use reach::reach_from;
pub(crate) use reach::reach_in;
pub use reach::read_by;
pub(crate) use reach::way_to;
pub use recorded::RecordedAnswer;
pub use recorded::RecordedRequest;
pub use recorded::Recording;
pub use recorded::messages_before;
pub use recorded::recording;
pub use recto_log::Generation;
pub use running::has_system_turns;
pub use running::messages_of;
pub use verify::Search;
pub use verify::Verified;
pub use verify::VerifiedRequest;
pub use verify::message_hash;
pub use verify::verify;

use std::fmt;

use crate::LineSource;
use crate::NodeId;
use crate::Session;
use crate::health::MOST_REQUEST_BYTES;

/// What the client is told beside the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestOptions {
    /// The model to ask; by default the one that answered last.
    pub model: Option<String>,
    /// How hard the model is to think, where the client says so in a message.
    pub effort: String,
    /// A prompt to add at the end.
    pub prompt: Option<String>,
}

impl Default for RequestOptions {
    fn default() -> RequestOptions {
        RequestOptions { model: None, effort: "medium".into(), prompt: None }
    }
}

impl Session {
    /// The generation of the newest client that wrote into the log; the newest one if no
    /// line names its version.
    pub(crate) fn writer(&self) -> Generation {
        let versions = self.counts.versions.iter().map(|(version, _)| version);
        let writer = versions.filter_map(|version| Generation::of_version(version)).max();
        writer.unwrap_or(Generation::latest())
    }
}

/// A request as a client would send it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The `messages`, as compact JSON. Empty if the client does not resume.
    pub messages: Vec<u8>,
    /// The line that it goes on from.
    pub leaf: Option<NodeId>,
    /// The lines that are not sent, in the order of the log.
    pub dropped: Vec<Dropped>,
    /// Lines that could not be read.
    pub unreadable: Vec<UnreadableLine>,
    /// How large it would be, if it is too large to be put together; it has no messages then.
    pub too_large: Option<RequestSize>,
}

/// So many lines are put together to a request. The API takes no more than a million of the
/// shortest, and no context window a tenth of them.
const MOST_LINES: u64 = 400_000;

/// So many bytes of content are put together: twice what the API takes.
const MOST_CONTENT: u64 = 2 * MOST_REQUEST_BYTES;

/// How large a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestSize {
    /// The lines that are sent.
    pub lines: u64,
    /// The bytes of their content.
    pub bytes: u64,
}

impl RequestSize {
    fn of(session: &Session, reach: &Reach) -> RequestSize {
        let mut size = RequestSize { lines: 0, bytes: 0 };
        for sent in &reach.sent {
            if let Sent::Line(line) = sent {
                size.lines += 1;
                size.bytes += u64::from(session.node(line.node).content_bytes);
            }
        }
        size
    }
}

impl fmt::Display for RequestSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = MOST_REQUEST_BYTES / 1024 / 1024;
        let (lines, megabytes) = (self.lines, self.bytes / 1024 / 1024);
        write!(f, "the request has {lines} lines with {megabytes} MB, and the API takes {most} MB")
    }
}

/// A line that could not be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableLine {
    /// The number of the line.
    pub line: u64,
    /// What the source of the lines said.
    pub error: String,
}

/// Makes the messages of a request from the lines that are sent. They are in memory several
/// times, so one that no endpoint takes is not made.
pub fn request(
    session: &Session,
    reach: &Reach,
    log: &dyn LineSource,
    options: &RequestOptions,
) -> Request {
    let mut request = Request {
        messages: Vec::new(),
        leaf: reach.leaf,
        dropped: reach.dropped.clone(),
        unreadable: Vec::new(),
        too_large: None,
    };
    if reach.outcome != Outcome::Resumed {
        return request;
    }
    let size = RequestSize::of(session, reach);
    if size.lines > MOST_LINES || size.bytes > MOST_CONTENT {
        request.too_large = Some(size);
        return request;
    }
    let rules =
        render::Rules::new(session, reach.generation, &reach.sent, options.model.as_deref());
    let rendered = render::render(session, &rules, &reach.sent, log);
    request.dropped.extend(rendered.not_sent);
    request.dropped.sort_by_key(|dropped| (dropped.line, dropped.reason));
    request.unreadable = rendered.unreadable;
    let mut items = rendered.items;
    if let Some(prompt) = &options.prompt {
        items.push(render::Item::User { pieces: vec![piece::Piece::text(prompt)], joins: false });
    }
    let messages = messages::messages(items, &rules, Some(&options.effort));
    request.messages = messages::to_json(messages, rules.generation);
    request
}
