//! Deltas become blocks, blocks become an answer.
//!
//! Texts are joined as they are spelled in JSON: half a surrogate pair at the end of one delta
//! and the other half at the start of the next are one character again.

use std::borrow::Cow;
use std::collections::BTreeMap;

use recto_log::Usage;
use recto_log::json::ArrayWriter;
use recto_log::json::Value;

use super::Block;
use super::ErrorBody;
use super::Json;
use super::StreamEvent;
use super::block::array;

/// The most bytes that an answer may have.
pub const MOST_ANSWER_BYTES: usize = 256 << 20;

/// A whole answer of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The message as the endpoint would give it without streaming: every field that it sent.
    pub message: Json,
    /// The blocks.
    pub blocks: Vec<FinishedBlock>,
    /// The id by which the endpoint knows the request, from its headers.
    pub request_id: Option<String>,
}

impl Answer {
    /// Reads an answer that was not streamed.
    pub fn of(message: Json) -> Answer {
        let content = message.get("content");
        let blocks = content.iter().flat_map(|content| {
            content.value().elements().map(|value| FinishedBlock::from(content.part(value)))
        });
        Answer { blocks: blocks.collect(), message, request_id: None }
    }

    /// The id of the message.
    pub fn id(&self) -> String {
        self.text("id").unwrap_or_default()
    }

    /// The model that answered.
    pub fn model(&self) -> String {
        self.text("model").unwrap_or_default()
    }

    /// Why it ended, such as `end_turn` or `tool_use`.
    pub fn stop_reason(&self) -> Option<String> {
        self.text("stop_reason")
    }

    fn text(&self, name: &str) -> Option<String> {
        self.message.str(name).map(Cow::into_owned)
    }

    /// The tokens, as the endpoint counts them.
    pub fn usage(&self) -> Usage {
        self.message.value().get("usage").map(Usage::of).unwrap_or_default()
    }

    /// The text blocks, joined.
    pub fn text_of_blocks(&self) -> String {
        let texts = self.blocks.iter().filter_map(|finished| match finished.block.view() {
            recto_log::Block::Text { text } => text.as_str().map(Cow::into_owned),
            _ => None,
        });
        texts.collect()
    }
}

/// A block that will not grow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FinishedBlock {
    /// The block.
    pub block: Block,
    /// What came as a tool's input, if that is not JSON; the block then has the input `{}`.
    /// Happens where the answer was cut by `max_tokens`.
    pub invalid_input: Option<String>,
}

impl From<Json> for FinishedBlock {
    fn from(json: Json) -> FinishedBlock {
        FinishedBlock { block: json.into(), invalid_input: None }
    }
}

/// What an event led to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Nothing is whole yet.
    Going,
    /// A block is whole.
    Block {
        /// Its number.
        index: u64,
        /// The block.
        block: FinishedBlock,
    },
    /// The answer is whole.
    Done(Box<Answer>),
}

/// Why a stream does not make an answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StreamError {
    /// The endpoint said so.
    #[error("{}", said(.0))]
    Reported(ErrorBody),
    /// It ended before the answer did.
    #[error("the stream ended before the answer did")]
    Truncated,
    /// Events contradict each other.
    #[error("invalid stream: {0}")]
    OutOfOrder(&'static str),
    /// The data of an event are not JSON.
    #[error("the stream contains data that is not JSON")]
    NotJson,
    /// One event is too large.
    #[error(transparent)]
    EventTooLarge(#[from] super::EventTooLarge),
    /// The answer is too large.
    #[error("the answer is larger than {} MiB", MOST_ANSWER_BYTES >> 20)]
    AnswerTooLarge,
}

fn said(error: &ErrorBody) -> String {
    match (error.kind.as_str(), error.message.as_str()) {
        ("", message) => message.to_owned(),
        (kind, "") => kind.to_owned(),
        (kind, message) => format!("{kind}: {message}"),
    }
}

/// Joins the events of one stream.
#[derive(Debug, Default)]
pub struct Accumulator {
    message: Option<Json>,
    open: BTreeMap<u64, Growing>,
    finished: BTreeMap<u64, FinishedBlock>,
    bytes: usize,
    has_stop_reason: bool,
    is_done: bool,
}

/// A block that grows.
#[derive(Debug)]
struct Growing {
    start: Block,
    /// Text by field, as spelled in JSON without the quotes.
    texts: Vec<(String, Vec<u8>)>,
    input: String,
    citations: Vec<Json>,
    /// Other fields that an unknown delta sets.
    set: Vec<(String, Json)>,
}

impl Accumulator {
    /// Takes the next event.
    pub fn push(&mut self, event: &StreamEvent) -> Result<Progress, StreamError> {
        if self.is_done {
            return Err(StreamError::OutOfOrder("an event after the end"));
        }
        match event {
            StreamEvent::Ping | StreamEvent::Unknown { .. } => Ok(Progress::Going),
            StreamEvent::Error(error) => Err(StreamError::Reported(error.clone())),
            StreamEvent::MessageStart { message } => {
                if self.message.is_some() {
                    return Err(StreamError::OutOfOrder("a second answer"));
                }
                self.add_bytes(message)?;
                self.message = Some(message.clone());
                Ok(Progress::Going)
            }
            _ if self.message.is_none() => {
                Err(StreamError::OutOfOrder("an answer without a start"))
            }
            StreamEvent::BlockStart { index, block } => self.start(*index, block),
            StreamEvent::BlockDelta { index, delta } => {
                self.add_bytes(delta.json())?;
                let unknown = StreamError::OutOfOrder("a delta of a block that is not open");
                self.open.get_mut(index).ok_or(unknown)?.grow(delta);
                Ok(Progress::Going)
            }
            StreamEvent::BlockStop { index } => {
                let unknown = StreamError::OutOfOrder("the end of a block that is not open");
                let block = self.open.remove(index).ok_or(unknown)?.finish();
                self.finished.insert(*index, block.clone());
                Ok(Progress::Block { index: *index, block })
            }
            StreamEvent::MessageDelta { event } => {
                self.add_bytes(event)?;
                self.merge(event);
                Ok(Progress::Going)
            }
            StreamEvent::MessageStop => self.answer().map(|answer| Progress::Done(answer.into())),
        }
    }

    /// The stream has ended. An answer that has its stop reason and no open block is whole, even
    /// if its last event is missing.
    pub fn end(&mut self) -> Result<Answer, StreamError> {
        if self.is_done || !self.has_stop_reason || !self.open.is_empty() {
            return Err(StreamError::Truncated);
        }
        self.answer()
    }

    /// The blocks that are whole so far.
    pub fn finished(&self) -> impl Iterator<Item = &FinishedBlock> {
        self.finished.values()
    }

    fn add_bytes(&mut self, json: &Json) -> Result<(), StreamError> {
        self.bytes += json.bytes().len();
        if self.bytes > MOST_ANSWER_BYTES { Err(StreamError::AnswerTooLarge) } else { Ok(()) }
    }

    fn start(&mut self, index: u64, block: &Block) -> Result<Progress, StreamError> {
        if self.open.contains_key(&index) || self.finished.contains_key(&index) {
            return Err(StreamError::OutOfOrder("a second block with one number"));
        }
        self.add_bytes(block.json())?;
        self.open.insert(index, Growing::new(block.clone()));
        Ok(Progress::Going)
    }

    /// Adds what the end of the answer says: members of `delta`, `usage`, and others beside them.
    fn merge(&mut self, event: &Json) {
        let Some(mut message) = self.message.take() else { return };
        for member in event.value().members() {
            match member.raw_key {
                b"type" => {}
                b"delta" => {
                    for member in member.value.members() {
                        message = message.with(&member.key(), member.value.bytes());
                    }
                }
                b"usage" => {
                    let mut usage =
                        message.get("usage").unwrap_or_else(|| Json::written(b"{}".to_vec()));
                    // Counts are cumulative: the last one holds. `null` says nothing.
                    for member in member.value.members().filter(|member| !member.value.is_null()) {
                        usage = usage.with(&member.key(), member.value.bytes());
                    }
                    message = message.with("usage", usage.bytes());
                }
                _ => message = message.with(&member.key(), member.value.bytes()),
            }
        }
        self.has_stop_reason = message.str("stop_reason").is_some();
        self.message = Some(message);
    }

    fn answer(&mut self) -> Result<Answer, StreamError> {
        let message = self.message.take().ok_or(StreamError::Truncated)?;
        self.is_done = true;
        // Some endpoints do not end their blocks.
        for (index, growing) in std::mem::take(&mut self.open) {
            self.finished.insert(index, growing.finish());
        }
        let finished = std::mem::take(&mut self.finished);
        let blocks: Vec<FinishedBlock> = finished.into_values().collect();
        let content: Vec<Block> = blocks.iter().map(|finished| finished.block.clone()).collect();
        Ok(Answer { message: message.with("content", &array(&content)), blocks, request_id: None })
    }
}

impl Growing {
    fn new(start: Block) -> Growing {
        let (texts, input, citations, set) = Default::default();
        Growing { start, texts, input, citations, set }
    }

    fn grow(&mut self, delta: &super::Delta) {
        if let Some(piece) = delta.partial_json() {
            self.input.push_str(&piece);
            return;
        }
        let is_citation = delta.kind() == "citations_delta";
        let json = delta.json();
        for member in json.value().members().filter(|member| member.raw_key != b"type") {
            let key = member.key();
            match member.value.string_inside() {
                _ if is_citation && key == "citation" => {
                    self.citations.push(json.part(member.value));
                }
                Some(text) => self.text(&key).extend_from_slice(text),
                None => self.set.push((key.into_owned(), json.part(member.value))),
            }
        }
    }

    /// The text of a field, which begins as the block did.
    fn text(&mut self, field: &str) -> &mut Vec<u8> {
        let place = match self.texts.iter().position(|(name, _)| name == field) {
            Some(place) => place,
            None => {
                let start = self.start.json().value();
                let start = start.get(field).and_then(Value::string_inside);
                self.texts.push((field.to_owned(), start.unwrap_or_default().to_vec()));
                self.texts.len() - 1
            }
        };
        &mut self.texts[place].1
    }

    fn finish(self) -> FinishedBlock {
        let mut block = self.start.json().clone();
        for (field, text) in self.texts {
            let mut quoted = Vec::with_capacity(text.len() + 2);
            quoted.push(b'"');
            quoted.extend_from_slice(&text);
            quoted.push(b'"');
            block = block.with(&field, &quoted);
        }
        if !self.citations.is_empty() {
            let known = block.get("citations");
            let known = known.iter().flat_map(|known| known.value().elements());
            let all = known.fold(ArrayWriter::new(), ArrayWriter::value);
            let all = self.citations.iter().fold(all, |all, one| all.json(one.bytes()));
            block = block.with("citations", &all.finish());
        }
        for (field, value) in self.set {
            block = block.with(&field, value.bytes());
        }
        let mut invalid_input = None;
        if !self.input.trim().is_empty() {
            match Value::parse(self.input.as_bytes()) {
                Ok(input) => block = block.with("input", input.bytes()),
                Err(_) => {
                    block = block.with("input", b"{}");
                    invalid_input = Some(self.input);
                }
            }
        }
        FinishedBlock { block: block.into(), invalid_input }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_of(events: &[&str]) -> Result<Answer, StreamError> {
        let mut accumulator = Accumulator::default();
        for event in events {
            let event = StreamEvent::parse(event.as_bytes()).unwrap();
            if let Progress::Done(answer) = accumulator.push(&event)? {
                return Ok(*answer);
            }
        }
        accumulator.end()
    }

    const START: &str = r#"{"type":"message_start","message":{"id":"m","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}"#;
    const END: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","new":7},"usage":{"output_tokens":9,"input_tokens":null},"beside":[1]}"#;
    const STOP: &str = r#"{"type":"message_stop"}"#;

    fn one_block(start: &str, deltas: &[&str]) -> FinishedBlock {
        let start =
            format!(r#"{{"type":"content_block_start","index":0,"content_block":{start}}}"#);
        let deltas = deltas
            .iter()
            .map(|delta| format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#));
        let mut events = vec![START.to_owned(), start];
        events.extend(deltas);
        events.push(r#"{"type":"content_block_stop","index":0}"#.into());
        events.extend([END.to_owned(), STOP.to_owned()]);
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        answer_of(&events).unwrap().blocks.remove(0)
    }

    #[test]
    fn usage_and_stop_reason_come_from_the_end() {
        let answer = answer_of(&[START, END, STOP]).unwrap();
        assert_eq!(
            answer.message.to_string(),
            r#"{"id":"m","model":"x","content":[],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":9},"new":7,"beside":[1]}"#
        );
        assert_eq!(answer.usage().output_tokens, Some(9));
        assert_eq!(answer_of(&[START, END]).unwrap(), answer, "only the last event is missing");
        assert_eq!(answer_of(&[START]), Err(StreamError::Truncated));
    }

    #[test]
    fn half_characters_of_two_deltas_are_one() {
        let block = one_block(
            r#"{"type":"text","text":""}"#,
            &[
                r#"{"type":"text_delta","text":"a\ud83d"}"#,
                r#"{"type":"text_delta","text":"\ude00"}"#,
            ],
        );
        assert_eq!(block.block.view().text().unwrap(), "a\u{1F600}");
    }

    #[test]
    fn input_of_tools_is_joined_and_what_is_not_json_is_kept_aside() {
        let start = r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#;
        let piece = |text: &str| {
            let text = Json::string(text);
            format!(r#"{{"type":"input_json_delta","partial_json":{text}}}"#)
        };
        let whole = one_block(start, &[&piece(""), &piece("{\"a\": 1"), &piece(", \"b\":1e400}")]);
        assert_eq!(whole.block.view().input().unwrap().bytes(), br#"{"a": 1, "b":1e400}"#);
        assert_eq!(one_block(start, &[]).block.json().to_string(), start);
        let cut = one_block(start, &[&piece("{\"a")]);
        assert_eq!(cut.block.json().to_string(), start);
        assert_eq!(cut.invalid_input.as_deref(), Some("{\"a"));
    }

    #[test]
    fn thinking_signatures_citations_and_unknown_deltas_reach_the_block() {
        let thinking = one_block(
            r#"{"type":"thinking","thinking":"","signature":""}"#,
            &[
                r#"{"type":"thinking_delta","thinking":"so"}"#,
                r#"{"type":"signature_delta","signature":"S="}"#,
            ],
        );
        assert_eq!(
            thinking.block.json().to_string(),
            r#"{"type":"thinking","thinking":"so","signature":"S="}"#
        );
        let text = one_block(
            r#"{"type":"text","text":"","citations":[]}"#,
            &[r#"{"type":"citations_delta","citation":{"n":1}}"#],
        );
        assert_eq!(
            text.block.json().to_string(),
            r#"{"type":"text","text":"","citations":[{"n":1}]}"#
        );
        let new = one_block(
            r#"{"type":"compaction","content":"a"}"#,
            &[r#"{"type":"compaction_delta","content":"b","n":2}"#],
        );
        assert_eq!(new.block.json().to_string(), r#"{"type":"compaction","content":"ab","n":2}"#);
    }

    #[test]
    fn events_that_contradict_each_other_are_errors() {
        let stop = r#"{"type":"content_block_stop","index":0}"#;
        let block =
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        for events in [
            &[STOP][..],
            &[START, START],
            &[START, stop],
            &[START, block, block],
            &[START, block, stop, block],
        ] {
            assert!(matches!(answer_of(events), Err(StreamError::OutOfOrder(_))), "{events:?}");
        }
        let error =
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        let said = answer_of(&[START, error]).unwrap_err();
        assert_eq!(said.to_string(), "overloaded_error: Overloaded");
    }
}
