//! Assistant messages: one block per line.
//!
//! Owns: message ids, usage on the lines and its spread. Does not own: tool inputs (`tools`).

use super::Generator;
use super::clock::timestamp;
use super::era::UsageStyle;
use super::json::Json;
use super::ledger::Facts;
use super::ledger::Place;
use super::random::BASE64;
use super::random::IDENTIFIER;
use super::text::Style;
use super::transcript::Link;
use super::transcript::Transcript;
use super::truth::Usage;

/// A content block.
pub(super) struct Block {
    /// The block as JSON.
    pub(super) json: Vec<u8>,
    pub(super) kind: BlockKind,
    pub(super) needle: Option<usize>,
}

/// What a block is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Thinking,
    Text,
    Tool(&'static str),
}

/// Why a message ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    EndTurn,
    ToolUse,
    /// The person pressed Escape while it was written.
    Aborted,
}

/// A message whose lines are being written.
pub(super) struct Message {
    id: String,
    request_id: String,
    stop: Stop,
    /// The final numbers.
    usage: Usage,
    /// Output tokens on the first line, where they are streamed.
    first: u64,
    number: usize,
    blocks: usize,
    written: usize,
    previous: Option<usize>,
}

impl Generator {
    /// An id of the service.
    pub(super) fn identifier(&mut self, start: &str, count: usize) -> String {
        let mut id = String::from(start);
        self.random.letters(IDENTIFIER, count, &mut id);
        id
    }

    /// Starts a message of `blocks` blocks and counts it.
    pub(super) fn begin_message(
        &mut self,
        transcript: &mut Transcript,
        blocks: usize,
        stop: Stop,
    ) -> Message {
        self.tick(transcript, 900, 12_000);
        let mut last = Usage {
            input: self.random.between(1, 14),
            output: self.random.long_tail(220, 5, 20, 16_000),
            cache_create: self.random.long_tail(900, 5, 0, 40_000),
            cache_read: transcript.context,
        };
        let mut first = last;
        let start = self.random.between(1, 8);
        match transcript.era.usage {
            UsageStyle::Repeated => {}
            UsageStyle::Streaming if blocks == 1 => {}
            UsageStyle::Streaming => first.output = start,
            UsageStyle::StartOnly => {
                last.output = start;
                first.output = start;
            }
        }
        transcript.context += last.cache_create + last.output;
        self.count_message(transcript, transcript.model, &first, &last);
        transcript.messages += 1;
        Message {
            id: self.identifier("msg_01", 22),
            request_id: self.identifier("req_011C", 20),
            stop,
            usage: last,
            first: first.output,
            number: transcript.messages,
            blocks,
            written: 0,
            previous: None,
        }
    }

    /// Writes the next block of a message.
    pub(super) fn block(
        &mut self,
        transcript: &mut Transcript,
        message: &mut Message,
        block: Block,
    ) -> usize {
        let parent = message.previous.or(transcript.leaf);
        let is_last = message.written + 1 == message.blocks;
        let mut usage = message.usage;
        let (mut stop, mut streamed) = (message.stop != Stop::Aborted, false);
        match transcript.era.usage {
            UsageStyle::Repeated => {}
            UsageStyle::Streaming if is_last => stop &= self.random.chance(8_000),
            UsageStyle::Streaming => streamed = true,
            UsageStyle::StartOnly => stop = false,
        }
        if streamed {
            // The first line of a message must be the one that was counted as first.
            usage.output =
                if message.written == 0 { message.first } else { self.random.between(1, 12) };
            stop = false;
        }
        let new = transcript.era.new;
        let uuid = self.random.uuid();
        let mut json = self.head(transcript, parent);
        self.agent(&mut json, transcript);
        json.key("message").open();
        if !new {
            json.text("model", transcript.model.name);
        }
        json.text("id", &message.id).text("type", "message").text("role", "assistant");
        if new {
            json.text("model", transcript.model.name);
        }
        json.key("content").open_list().raw(&block.json).close_list();
        match message.stop {
            _ if !stop => json.key("stop_reason").literal("null"),
            Stop::ToolUse => json.text("stop_reason", "tool_use"),
            Stop::EndTurn | Stop::Aborted => json.text("stop_reason", "end_turn"),
        };
        json.key("stop_sequence").literal("null").key("usage");
        write_usage(&mut json, &usage, new);
        if new {
            json.key("stop_details").literal("null");
        }
        json.close();
        if new {
            match block.kind {
                BlockKind::Tool(_) => json.number("toolInputStreamMs", 1),
                BlockKind::Thinking => {
                    json.number("thinkingDurationMs", 812).text("thinkingDisplay", "updates")
                }
                BlockKind::Text => &mut json,
            };
            json.number("apiBlockIndex", message.written as u64);
        }
        json.text("requestId", &message.request_id);
        if new {
            json.text("requestRef", &transcript.new.request);
            json.text("requestedModel", transcript.model.name).text("promptCacheRequested", "5m");
            if transcript.agent.is_some() {
                json.text("attributionAgent", "general-purpose");
            }
            if message.stop == Stop::Aborted {
                json.flag("isAbortedMidStream", true);
            }
        }
        json.text("type", "assistant").text("uuid", &uuid);
        json.text("timestamp", &timestamp(transcript.now));
        if new {
            json.text("effort", "medium").text("perTurnEffort", "medium").text("madeBy", "model");
        }
        let bytes = self.finish(json, transcript);
        let tool = match block.kind {
            BlockKind::Tool(name) => Some(name),
            BlockKind::Thinking | BlockKind::Text => None,
        };
        transcript.new.tools.extend(tool);
        message.written += 1;
        let facts = Facts {
            kind: "assistant",
            tool,
            usage: Some((transcript.model.name, usage)),
            needle: block.needle,
            ..Facts::default()
        };
        let number = Some(message.number);
        let link = Link { uuid, parent, logical_parent: None, message: number, call: None };
        let place = self.push_link(transcript, bytes, facts, link);
        message.previous = Some(place);
        self.tick(transcript, 20, 900);
        place
    }

    /// A message with one text block.
    pub(super) fn answer(&mut self, transcript: &mut Transcript, text: &str, stop: Stop) -> usize {
        let mut message = self.begin_message(transcript, 1, stop);
        let mut json = Json::line();
        json.text("type", "text").text("text", text);
        let block = Block { json: json.finish(), kind: BlockKind::Text, needle: None };
        self.block(transcript, &mut message, block)
    }

    /// A text block.
    pub(super) fn text_block(&mut self, transcript: &Transcript) -> Block {
        let size = self.random.long_tail(420, 5, 20, 14_000) as usize;
        let mut text = self.text.piece(&mut self.random, Style::Prose, size);
        let place = if transcript.agent.is_some() { Place::Agent } else { Place::Assistant };
        let needle = self.plant(place, &mut text);
        let mut json = Json::line();
        json.text("type", "text").text("text", &text);
        Block { json: json.finish(), kind: BlockKind::Text, needle }
    }

    /// A thinking block, sometimes a redacted one.
    pub(super) fn thinking_block(&mut self, transcript: &Transcript) -> Block {
        let mut json = Json::line();
        let mut data = String::new();
        let mut needle = None;
        if self.random.chance(300) {
            self.random.letters(BASE64, 400, &mut data);
            json.text("type", "redacted_thinking").text("data", &data);
        } else {
            let size = self.random.long_tail(700, 5, 40, 20_000) as usize;
            let mut text = self.text.piece(&mut self.random, Style::Prose, size);
            if transcript.agent.is_none() {
                needle = self.plant(Place::Thinking, &mut text);
            }
            data.push_str("EqoBCkgIARAB");
            let size = self.random.between(40, 200) as usize * 4;
            self.random.letters(BASE64, size, &mut data);
            data.push_str("==");
            json.text("type", "thinking").text("thinking", &text).text("signature", &data);
        }
        Block { json: json.finish(), kind: BlockKind::Thinking, needle }
    }

    /// A line that the client made itself (an error of the service).
    pub(super) fn synthetic(&mut self, transcript: &mut Transcript, text: &str) {
        let parent = transcript.leaf;
        let uuid = self.random.uuid();
        let mut json = self.head(transcript, parent);
        self.agent(&mut json, transcript);
        json.text("type", "assistant").text("uuid", &uuid);
        json.text("timestamp", &timestamp(transcript.now)).key("message").open();
        json.text("id", &self.random.uuid()).key("container").literal("null");
        json.text("model", "<synthetic>").text("role", "assistant");
        json.text("stop_reason", "stop_sequence").text("stop_sequence", "");
        json.text("type", "message").key("usage");
        write_usage(&mut json, &Usage::default(), transcript.era.new);
        json.key("content").open_list().open().text("type", "text").text("text", text).close();
        json.close_list().key("context_management").literal("null").close();
        json.text("error", "server_error").flag("isApiErrorMessage", true);
        if transcript.era.new {
            json.number("apiErrorStatus", 500).text("apiErrorType", "api_error");
        }
        let bytes = self.finish(json, transcript);
        let link = Link { uuid, parent, logical_parent: None, message: None, call: None };
        self.push_link(transcript, bytes, Facts { kind: "assistant", ..Facts::default() }, link);
    }
}

/// `message.usage`.
pub(super) fn write_usage(json: &mut Json, usage: &Usage, new: bool) {
    json.open().number("input_tokens", usage.input);
    json.number("cache_creation_input_tokens", usage.cache_create);
    json.number("cache_read_input_tokens", usage.cache_read);
    if new {
        json.number("output_tokens", usage.output);
        json.members(
            r#""output_tokens_details":{"thinking_tokens":0},"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard""#,
        );
        json.key("cache_creation").open().number("ephemeral_1h_input_tokens", 0);
        json.number("ephemeral_5m_input_tokens", usage.cache_create).close();
        json.members(
            r#""inference_geo":"not_available","iterations":[],"speed":"standard","fallback_credit":null"#,
        );
    } else {
        json.key("cache_creation").open();
        json.number("ephemeral_5m_input_tokens", usage.cache_create);
        json.number("ephemeral_1h_input_tokens", 0).close();
        json.number("output_tokens", usage.output).text("service_tier", "standard");
    }
    json.close();
}
