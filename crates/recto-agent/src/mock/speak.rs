//! An answer as one message, or as events.

use bytes::Bytes;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;
use sha2::Sha256;

use super::script::Reply;
use crate::wire::Json;

/// How many characters a delta has.
const DELTA: usize = 24;

/// Puts an answer into the shapes of the API.
pub(super) struct Speaker<'a> {
    pub(super) reply: &'a Reply,
    pub(super) model: &'a str,
    /// Counts of what was asked.
    pub(super) asked: Value,
    pub(super) seed: u64,
    pub(super) nth: u64,
}

impl Speaker<'_> {
    /// An id that depends on the seed and the number of the request.
    fn id(&self, start: &str, at: usize) -> String {
        let hash = Sha256::digest(format!("{}/{}/{start}/{at}", self.seed, self.nth));
        let digits: String = hash.iter().take(11).map(|byte| format!("{byte:02x}")).collect();
        format!("{start}_01{digits}")
    }

    /// The blocks, with ids where the script gave none.
    fn blocks(&self) -> Vec<Value> {
        let mut blocks = self.reply.blocks.clone();
        for (at, block) in blocks.iter_mut().enumerate() {
            let kind = block["type"].as_str().unwrap_or_default().to_owned();
            let Some(object) = block.as_object_mut() else { continue };
            let start = match kind.as_str() {
                "tool_use" => "toolu",
                "server_tool_use" => "srvtoolu",
                "thinking" if !object.contains_key("signature") => {
                    let text = object.get("thinking").and_then(Value::as_str).unwrap_or_default();
                    let signature = super::signature::sign(self.seed, text);
                    object.insert("signature".into(), signature.into());
                    continue;
                }
                _ => continue,
            };
            if !object.contains_key("id") {
                // Ids come before names, as the API has them.
                let mut named = serde_json::Map::new();
                named.insert("type".into(), kind.into());
                named.insert("id".into(), self.id(start, at).into());
                named.extend(std::mem::take(object).into_iter().filter(|(key, _)| key != "type"));
                *object = named;
            }
            if !object.contains_key("input") {
                object.insert("input".into(), json!({}));
            }
        }
        blocks
    }

    fn stop_reason(&self) -> String {
        let calls = self.reply.blocks.iter().any(|block| block["type"] == "tool_use");
        let usual = if calls { "tool_use" } else { "end_turn" };
        self.reply.stop_reason.clone().unwrap_or_else(|| usual.into())
    }

    fn usage(&self, output: u64) -> Value {
        let mut usage = self.asked.clone();
        usage["output_tokens"] = output.into();
        usage["service_tier"] = "standard".into();
        for (name, value) in self.reply.usage.iter().filter_map(Value::as_object).flatten() {
            usage[name] = value.clone();
        }
        usage
    }

    fn output_tokens(&self) -> u64 {
        let bytes: usize = self.reply.blocks.iter().map(|block| block.to_string().len()).sum();
        (bytes as u64).div_ceil(4)
    }

    /// The whole message.
    pub(super) fn message(&self) -> Value {
        self.shell(
            self.blocks().into(),
            self.stop_reason().into(),
            self.reply.stop_sequence.clone().map_or(Value::Null, Value::from),
            self.usage(self.output_tokens()),
        )
    }

    fn shell(&self, content: Value, reason: Value, sequence: Value, usage: Value) -> Value {
        let id = self.reply.id.clone().unwrap_or_else(|| self.id("msg", 0));
        let model = self.reply.model.as_deref().unwrap_or(self.model);
        json!({
            "id": id, "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": reason, "stop_sequence": sequence, "usage": usage,
        })
    }

    /// The events, in order.
    pub(super) fn events(&self) -> Vec<Json> {
        if let Some(events) = &self.reply.events {
            return events.clone();
        }
        let start = self.shell(json!([]), Value::Null, Value::Null, self.usage(1));
        let mut events = vec![json!({"type": "message_start", "message": start})];
        for (index, block) in self.blocks().iter().enumerate() {
            let (empty, deltas) = parts(block);
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": empty}),
            );
            if index == 0 {
                events.push(json!({"type": "ping"}));
            }
            events.extend(deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        let sequence = self.reply.stop_sequence.clone();
        let delta = json!({"stop_reason": self.stop_reason(), "stop_sequence": sequence});
        let usage = self.usage(self.output_tokens());
        events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
        events.push(json!({"type": "message_stop"}));
        events.iter().map(Json::from).collect()
    }
}

/// A block as it begins, and what is added to it.
fn parts(block: &Value) -> (Value, Vec<Value>) {
    let mut empty = block.clone();
    let mut deltas = Vec::new();
    let text = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => {
            empty["text"] = "".into();
            for citation in block["citations"].as_array().into_iter().flatten() {
                deltas.push(json!({"type": "citations_delta", "citation": citation}));
            }
            if block["citations"].is_array() {
                empty["citations"] = json!([]);
            }
            deltas.extend(
                pieces(&text("text")).map(|piece| json!({"type": "text_delta", "text": piece})),
            );
        }
        Some("thinking") => {
            empty["thinking"] = "".into();
            empty["signature"] = "".into();
            deltas.extend(
                pieces(&text("thinking"))
                    .map(|piece| json!({"type": "thinking_delta", "thinking": piece})),
            );
            deltas.push(json!({"type": "signature_delta", "signature": text("signature")}));
        }
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
            empty["input"] = json!({});
            deltas.push(json!({"type": "input_json_delta", "partial_json": ""}));
            let input = block["input"].to_string();
            if input != "{}" {
                deltas.extend(
                    pieces(&input)
                        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece})),
                );
            }
        }
        // Others come whole.
        _ => {}
    }
    (empty, deltas)
}

/// A text in pieces of a few characters.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> =
        characters.chunks(DELTA).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

/// One event as it goes over the wire.
pub(super) fn frame(event: &Json) -> Bytes {
    let name = event.str("type").unwrap_or_default();
    let mut bytes = Vec::with_capacity(event.bytes().len() + name.len() + 16);
    bytes.extend_from_slice(b"event: ");
    // A name with a line end would be two lines.
    bytes.extend(name.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    bytes.extend_from_slice(b"\ndata: ");
    let data = event.bytes().iter().map(|byte| match byte {
        // White space between tokens: JSON text has line ends nowhere else.
        b'\n' | b'\r' => b' ',
        byte => *byte,
    });
    bytes.extend(data);
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}
