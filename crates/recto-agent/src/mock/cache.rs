//! A prompt cache as the API has it: a prefix that ends at a mark is written, and read by the
//! next request that begins with it.
//!
//! A cache mark is looked up at its block and at the blocks before it, twenty at most. Tokens
//! are a quarter of the bytes. Other than the real one, this cache takes prefixes of any length
//! and forgets by number, not by time.

use std::collections::HashSet;
use std::collections::VecDeque;

use recto_log::json::Value as Text;
use recto_log::json::canonical;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;
use sha2::Sha256;

/// How far back from a mark a prefix is looked for.
const LOOK_BACK: usize = 20;
/// How many prefixes are kept.
const MOST: usize = 20_000;

#[derive(Debug, Default)]
pub(super) struct Cache {
    known: HashSet<[u8; 32]>,
    order: VecDeque<[u8; 32]>,
}

/// A prefix that ends at a block.
struct Prefix {
    hash: [u8; 32],
    tokens: u64,
    /// The mark, if there is one: whether it lives an hour.
    mark: Option<bool>,
}

impl Cache {
    /// The counts of a request, and the cache knows it from now on.
    pub(super) fn usage(&mut self, body: &Value) -> Value {
        let prefixes = prefixes(body);
        let all = prefixes.last().map_or(0, |last| last.tokens);
        let marks: Vec<usize> =
            (0..prefixes.len()).filter(|at| prefixes[*at].mark.is_some()).collect();
        let read = marks
            .iter()
            .flat_map(|mark| mark.saturating_sub(LOOK_BACK)..=*mark)
            .filter(|at| self.known.contains(&prefixes[*at].hash))
            .map(|at| prefixes[at].tokens)
            .max()
            .unwrap_or(0);
        let (mut minutes, mut hour, mut written) = (0, 0, read);
        for mark in marks {
            let prefix = &prefixes[mark];
            let more = prefix.tokens.saturating_sub(written);
            written = written.max(prefix.tokens);
            if prefix.mark == Some(true) {
                hour += more
            } else {
                minutes += more
            }
            self.add(prefix.hash);
        }
        json!({
            "input_tokens": all.saturating_sub(written),
            "cache_creation_input_tokens": minutes + hour,
            "cache_read_input_tokens": read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hour,
            },
        })
    }

    fn add(&mut self, hash: [u8; 32]) {
        if self.known.insert(hash) {
            self.order.push_back(hash);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

/// Tokens of a request by size.
pub(super) fn tokens(body: &Value) -> u64 {
    prefixes(body).last().map_or(0, |last| last.tokens)
}

/// Tools, system, messages, in the order in which the API puts them before the model.
fn prefixes(body: &Value) -> Vec<Prefix> {
    let mut hash = Sha256::new();
    hash.update(body["model"].to_string());
    let mut prefixes = Vec::new();
    let mut bytes = 0;
    let mut add = |role: &str, block: &Value| {
        let text = block.to_string();
        let parsed = Text::parse(text.as_bytes()).ok();
        let plain = parsed.and_then(|value| canonical(value, &["cache_control"]));
        let plain = plain.unwrap_or_else(|| text.into_bytes());
        hash.update(role);
        hash.update(plain.len().to_le_bytes());
        hash.update(&plain);
        bytes += plain.len() as u64;
        let control = &block["cache_control"];
        let mark = (!control.is_null()).then(|| control["ttl"] == "1h");
        prefixes.push(Prefix {
            hash: hash.clone().finalize().into(),
            tokens: bytes.div_ceil(4),
            mark,
        });
    };
    for tool in body["tools"].as_array().into_iter().flatten() {
        add("tool", tool);
    }
    each_block(&body["system"], |block| add("system", block));
    for message in body["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        each_block(&message["content"], |block| add(role, block));
    }
    if let (false, Some(last)) = (body["cache_control"].is_null(), prefixes.last_mut()) {
        last.mark = Some(body["cache_control"]["ttl"] == "1h");
    }
    prefixes
}

fn each_block(content: &Value, mut add: impl FnMut(&Value)) {
    match content {
        Value::String(text) => add(&json!({"type": "text", "text": text})),
        Value::Array(blocks) => blocks.iter().for_each(add),
        _ => {}
    }
}
