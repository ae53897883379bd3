//! Tokens of an API message.

use crate::json::Value;

/// The `usage` of an API message. A count that is missing, negative or no
/// number reads as `None`, so that "not said" and "zero" stay different.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the prompt that were neither read from nor written to the cache.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer.
    pub output_tokens: Option<u64>,
    /// Tokens written to the cache.
    pub cache_creation_input_tokens: Option<u64>,
    /// Tokens read from the cache.
    pub cache_read_input_tokens: Option<u64>,
    /// The part of the cache writes that lives five minutes.
    pub cache_5m_input_tokens: Option<u64>,
    /// The part of the cache writes that lives an hour.
    pub cache_1h_input_tokens: Option<u64>,
    /// Tokens of the answer that were thinking.
    pub thinking_tokens: Option<u64>,
    /// Web searches made by the server.
    pub web_search_requests: Option<u64>,
    /// Web pages fetched by the server.
    pub web_fetch_requests: Option<u64>,
    /// The service tier, such as `standard` or `batch`.
    pub service_tier: Option<String>,
    /// The speed that was paid for, such as `standard` or `fast`.
    pub speed: Option<String>,
}

impl Usage {
    /// Reads a `usage` object.
    pub fn of(value: Value<'_>) -> Usage {
        let mut usage = Usage::default();
        for member in value.members() {
            let number = member.value.as_u64();
            match member.raw_key {
                b"input_tokens" => usage.input_tokens = number,
                b"output_tokens" => usage.output_tokens = number,
                b"cache_creation_input_tokens" => usage.cache_creation_input_tokens = number,
                b"cache_read_input_tokens" => usage.cache_read_input_tokens = number,
                b"service_tier" => usage.service_tier = text(member.value),
                b"speed" => usage.speed = text(member.value),
                b"cache_creation" => {
                    usage.cache_5m_input_tokens = count(member.value, "ephemeral_5m_input_tokens");
                    usage.cache_1h_input_tokens = count(member.value, "ephemeral_1h_input_tokens");
                }
                b"output_tokens_details" => {
                    usage.thinking_tokens = count(member.value, "thinking_tokens");
                }
                b"server_tool_use" => {
                    usage.web_search_requests = count(member.value, "web_search_requests");
                    usage.web_fetch_requests = count(member.value, "web_fetch_requests");
                }
                _ => {}
            }
        }
        usage
    }
}

fn count(value: Value<'_>, name: &str) -> Option<u64> {
    value.get(name)?.as_u64()
}

fn text(value: Value<'_>) -> Option<String> {
    value.as_str().map(|text| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_tiers_and_server_tools_are_read() {
        let text = br#"{"input_tokens":11,"cache_creation_input_tokens":28,"cache_read_input_tokens":2,"output_tokens":-5,"server_tool_use":{"web_search_requests":1},"service_tier":"standard","speed":null,"cache_creation":{"ephemeral_1h_input_tokens":20,"ephemeral_5m_input_tokens":8},"output_tokens_details":{"thinking_tokens":7},"new":1}"#;
        let usage = Usage::of(Value::parse(text).unwrap());
        assert_eq!(
            usage,
            Usage {
                input_tokens: Some(11),
                output_tokens: None,
                cache_creation_input_tokens: Some(28),
                cache_read_input_tokens: Some(2),
                cache_5m_input_tokens: Some(8),
                cache_1h_input_tokens: Some(20),
                thinking_tokens: Some(7),
                web_search_requests: Some(1),
                web_fetch_requests: None,
                service_tier: Some("standard".into()),
                speed: None,
            }
        );
    }
}
