//! What the mock wants to know of a request that passed all rules.

use recto_log::json::Value as Text;
use recto_log::json::canonical;
use serde_json::Value;
use sha2::Digest as _;
use sha2::Sha256;

/// A request.
pub(super) struct Asking<'a> {
    pub(super) body: &'a Value,
}

impl Asking<'_> {
    pub(super) fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    pub(super) fn has_tools(&self) -> bool {
        self.body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
    }

    pub(super) fn is_stream(&self) -> bool {
        self.body["stream"] == true
    }

    /// Whether the model may think.
    pub(super) fn may_think(&self) -> bool {
        !matches!(self.body["thinking"]["type"].as_str(), None | Some("disabled"))
    }

    /// The last message of the user.
    pub(super) fn last_user(&self) -> Option<&Value> {
        let messages = self.body["messages"].as_array()?;
        messages.iter().rev().find(|message| message["role"] == "user")
    }

    /// The blocks of the last message of the user that are results of tools.
    pub(super) fn last_results(&self) -> Vec<&Value> {
        let blocks = self.last_user().and_then(|message| message["content"].as_array());
        blocks.into_iter().flatten().filter(|block| block["type"] == "tool_result").collect()
    }

    /// The last text of the user; where there is none, what the tools gave.
    pub(super) fn last_text(&self) -> String {
        let Some(message) = self.last_user() else { return String::new() };
        let text = text_of(&message["content"]);
        if !text.is_empty() {
            return text;
        }
        let results = self.last_results();
        let texts: Vec<String> = results.iter().map(|block| text_of(&block["content"])).collect();
        texts.join("\n")
    }

    /// The SHA-256 of the messages, without cache marks.
    pub(super) fn hash(&self) -> Option<String> {
        hash_of(&self.body["messages"])
    }
}

/// The SHA-256 of compact JSON with sorted keys, without `cache_control`.
pub(super) fn hash_of(value: &Value) -> Option<String> {
    let text = value.to_string();
    let canonical = canonical(Text::parse(text.as_bytes()).ok()?, &["cache_control"])?;
    let hash = Sha256::digest(canonical);
    Some(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The text blocks of a content.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter(|block| block["type"] == "text")
                .filter_map(|block| block["text"].as_str())
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
