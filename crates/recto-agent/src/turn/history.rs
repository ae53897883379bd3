//! The conversation as it is sent, kept beside the log.
//!
//! Lines become messages by the rules of `recto-session`, so what is sent is what a client that
//! resumes the log would send. Only the last answer and what came after it can still change;
//! everything before is kept as messages, which never change: the endpoint finds them in its
//! cache.

use std::path::Path;

use recto_log::EntryUuid;
use recto_log::Role;
use recto_session::request::messages_of;

use crate::wire::Block;
use crate::wire::Message;

/// The messages of a conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// What will not change.
    closed: Vec<Message>,
    /// The lines of the last answer and of all since.
    open: Vec<u8>,
    /// The answer that the open lines begin with.
    answer: Option<String>,
    /// The model that is asked: some are told in other ways.
    model: String,
}

impl History {
    /// A conversation that goes on from messages.
    pub(super) fn new(model: &str, closed: Vec<Message>) -> History {
        History { closed, model: model.to_owned(), ..History::default() }
    }

    /// The conversation of a subagent, by its log; and the last line of that.
    pub(super) fn of_log(path: &Path, model: &str) -> (History, Option<EntryUuid>) {
        let mut history = History::new(model, Vec::new());
        let mut last = None;
        let bytes = recto_store::read_small(path).unwrap_or_default();
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(json) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
            let Some(uuid) = json["uuid"].as_str() else { continue };
            last = Some(EntryUuid::new(uuid));
            let answer = json["message"]["id"].as_str();
            history.push(line, answer.filter(|_| json["type"] == "assistant"));
        }
        (history, last)
    }

    /// The model that is asked.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Asks another model from now on.
    pub(super) fn set_model(&mut self, model: &str) {
        self.close();
        self.model = model.to_owned();
    }

    /// Adds a line; `answer` is the message of which it is a block.
    pub(super) fn push(&mut self, line: &[u8], answer: Option<&str>) {
        if answer.is_some() && answer != self.answer.as_deref() {
            self.close();
            self.answer = answer.map(str::to_owned);
        }
        self.open.extend_from_slice(line);
        self.open.push(b'\n');
    }

    /// Whether the model said anything, so that there is something to make a summary of.
    pub(super) fn has_answer(&self) -> bool {
        self.answers() > 0
    }

    /// How many answers of the model there are.
    pub(super) fn answers(&self) -> usize {
        let is_answer = |message: &&Message| message.role() == Some(Role::Assistant);
        let closed = self.closed.iter().filter(is_answer).count();
        closed + usize::from(self.answer.is_some())
    }

    /// Whether nothing was said.
    pub(super) fn is_empty(&self) -> bool {
        self.closed.is_empty() && self.open.is_empty()
    }

    /// About how many bytes came since the last answer, with it.
    pub(super) fn open_bytes(&self) -> usize {
        self.open.len()
    }

    /// Forgets everything: a summary follows.
    pub(super) fn forget(&mut self) {
        *self = History { model: std::mem::take(&mut self.model), ..History::default() };
    }

    fn close(&mut self) {
        let open = self.open_messages();
        self.closed.extend(open);
        self.open.clear();
        self.answer = None;
    }

    fn open_messages(&self) -> Vec<Message> {
        // The lines are our own, and so is the array that is made of them.
        let messages = Message::all_of(messages_of(&self.open, &self.model)).unwrap_or_default();
        messages.into_iter().filter_map(sendable).collect()
    }

    /// All messages.
    pub(super) fn messages(&self) -> Vec<Message> {
        let mut messages = self.closed.clone();
        messages.extend(self.open_messages());
        messages
    }

    /// Takes thinking out of what was said before; whether there was any.
    pub(super) fn drop_thinking(&mut self) -> bool {
        Message::drop_thinking(&mut self.closed)
    }
}

/// Messages of a log as they are sent here: without what only the client's own betas allow.
pub(super) fn plain(messages: Vec<Message>) -> Vec<Message> {
    let without = messages.into_iter().map(|message| match message.role() {
        Some(Role::System) => Message::from(message.json().without("output_config")),
        _ => message,
    });
    // An effort alone says nothing.
    let is_empty = |message: &Message| {
        message.role() == Some(Role::System)
            && message
                .blocks()
                .iter()
                .all(|block| block.view().text().is_none_or(|text| text.is_empty()))
    };
    without.filter(|message| !is_empty(message)).filter_map(sendable).collect()
}

/// A message without thinking that endpoints refuse: such without a signature, and such at the
/// end of an answer, as one has that was cut off. None if nothing else is in it.
fn sendable(message: Message) -> Option<Message> {
    if message.role() != Some(Role::Assistant) {
        return Some(message);
    }
    let before = message.blocks();
    let mut blocks: Vec<Block> = before.iter().filter(|block| is_signed(block)).cloned().collect();
    while blocks.last().is_some_and(Block::is_thinking) {
        blocks.pop();
    }
    match blocks.len() {
        0 => None,
        count if count == before.len() => Some(message),
        _ => Some(message.with_blocks(&blocks)),
    }
}

fn is_signed(block: &Block) -> bool {
    let proof = match block.kind().as_ref() {
        "thinking" => "signature",
        "redacted_thinking" => "data",
        _ => return true,
    };
    block.json().str(proof).is_some_and(|proof| !proof.is_empty())
}
