//! An answer on its way: what is known of it, and what is told about it.

use std::time::Duration;
use std::time::Instant;

use recto_log::EntryUuid;
use recto_log::build::SystemLine;
use serde_json::json;

use super::conversation::Conversation;
use super::conversation::Written;
use super::event::TurnEvent;
use super::shared::lock;
use super::totals::ModelTotals;
use crate::api::ApiError;
use crate::tool::Tool;
use crate::tool::ToolCall;
use crate::tool::UNPARSED;
use crate::wire::Block;
use crate::wire::FinishedBlock;
use crate::wire::Json;
use crate::wire::StreamEvent;

/// An answer on its way.
#[derive(Default)]
pub(super) struct Receiving {
    pub(super) request_id: Option<String>,
    /// The message as far as it is known.
    pub(super) message: Option<Json>,
    /// What the endpoint counted when it began to answer, which hosts are shown.
    pub(super) first_usage: Option<Json>,
    /// The answer came in one piece, not as a stream.
    pub(super) is_whole: bool,
    /// A block that is whole and not yet in the log, and the event that ended it.
    pub(super) held: Option<(u64, Block)>,
    pub(super) held_stop: Option<StreamEvent>,
    /// Blocks of this attempt that are in the log.
    pub(super) written: u64,
    /// The text that grows.
    pub(super) open: Option<(u64, String)>,
    pub(super) block_began: Option<Instant>,
    pub(super) thinking: Thinking,
    pub(super) open_calls: Vec<(ToolCall, EntryUuid)>,
}

/// Tokens of thinking, estimated.
#[derive(Default)]
pub(super) struct Thinking {
    pub(super) characters: u64,
    pub(super) told: u64,
}

impl Conversation {
    pub(super) async fn tell_stream(
        &self,
        event: StreamEvent,
        began: Instant,
        receiving: &Receiving,
    ) {
        if self.speaker.is_some() {
            return;
        }
        let message = receiving.message.as_ref().and_then(|message| message.str("id"));
        let message = message.unwrap_or_default().into_owned();
        self.tell(TurnEvent::Stream { message, event, after: began.elapsed() }).await;
    }

    pub(super) async fn tell_thinking(&self, thinking: &mut Thinking, text: &str) {
        thinking.characters += text.chars().count() as u64;
        let estimated = thinking.characters.div_ceil(4);
        let added = estimated - thinking.told;
        if added > 0 && self.speaker.is_none() {
            thinking.told = estimated;
            self.tell(TurnEvent::Thinking { estimated, added }).await;
        }
    }

    /// What a cut answer cost so far.
    pub(super) fn count_cut(&mut self, receiving: &Receiving) {
        let Some(message) = &receiving.message else { return };
        if let Some(usage) = message.get("usage") {
            let model = message.str("model").unwrap_or_default().into_owned();
            let counted = lock(&self.shared.totals).count(&model, &usage);
            self.turn.usage.add(&counted);
        }
    }

    pub(super) async fn tell_abandoned(&self, receiving: &Receiving, is_interrupted: bool) {
        if self.speaker.is_some() {
            return;
        }
        if let Some(id) = receiving.message.as_ref().and_then(|message| message.str("id")) {
            let event = TurnEvent::Abandoned {
                message: id.into_owned(),
                from_block: receiving.written,
                open_block: receiving.open.as_ref().map(|(index, _)| *index),
                is_interrupted,
                usage: receiving.first_usage.as_ref().map(ModelTotals::of).unwrap_or_default(),
            };
            self.tell(event).await;
        }
    }

    pub(super) fn write_retry(
        &mut self,
        error: &ApiError,
        attempt: u32,
        most: u32,
        wait: Duration,
    ) -> Written<()> {
        let details = Json::from(json!({
            "message": error.to_string(),
            "name": error.name(),
            "status": error.status(),
        }));
        self.transcript.system(&SystemLine::ApiError {
            error: details.value(),
            retry_in: wait.as_millis() as f64,
            attempt: u64::from(attempt),
            attempts: u64::from(most),
            source: "request_retry".into(),
        })?;
        Ok(())
    }
}

/// A block as it can be sent back: a call takes an object, whatever the model gave. An edit says
/// whether it is about all occurrences, as clients write it.
pub(super) fn sendable(block: Block) -> Block {
    let recto_log::Block::ToolUse { .. } = block.view() else { return block };
    let Some(input) = block.view().input().filter(|input| input.is_object()) else {
        return block.json().with("input", b"{}").into();
    };
    let is_edit = block.view().name().as_deref() == Some(Tool::Edit.name());
    if !is_edit || input.get("replace_all").is_some() || input.members().next().is_none() {
        return block;
    }
    let mut whole = br#"{"replace_all":false,"#.to_vec();
    whole.extend(input.bytes().iter().skip(1));
    block.json().with("input", &whole).into()
}

/// A block whose input is no JSON says so in its input, where results and logs can show it.
pub(super) fn with_unparsed(finished: FinishedBlock) -> Block {
    let Some(raw) = finished.invalid_input else { return finished.block };
    let input = json!({UNPARSED: {"raw": raw, "len": raw.len()}});
    finished.block.json().with("input", input.to_string().as_bytes()).into()
}

/// The call that a block is.
pub(super) fn call_of(block: &Block) -> Option<ToolCall> {
    let recto_log::Block::ToolUse { .. } = block.view() else { return None };
    let json = block.json().to_serde();
    Some(ToolCall {
        id: json["id"].as_str().unwrap_or_default().to_owned(),
        name: json["name"].as_str().unwrap_or_default().to_owned(),
        input: json["input"].clone(),
    })
}

/// A message with what its end says.
pub(super) fn merged(mut message: Json, event: &Json) -> Json {
    for member in event.value().members() {
        match member.raw_key {
            b"type" => {}
            b"delta" => {
                for member in member.value.members() {
                    message = message.with(&member.key(), member.value.bytes());
                }
            }
            b"usage" => {
                let mut usage = message.get("usage").unwrap_or_else(|| json!({}).into());
                for member in member.value.members().filter(|member| !member.value.is_null()) {
                    usage = usage.with(&member.key(), member.value.bytes());
                }
                message = message.with("usage", usage.bytes());
            }
            _ => message = message.with(&member.key(), member.value.bytes()),
        }
    }
    message
}
