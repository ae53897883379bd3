//! The numbers of one `usage` object, and sums of them.

use recto_log::json::Value;

use super::RecordFlags;

/// A count above this cannot be of one message: no model takes or gives as much.
pub(crate) const MOST_TOKENS: u32 = 100_000_000;

/// What one API message used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Tokens of the prompt, neither read from nor written to the cache.
    pub input: u32,
    /// Tokens of the answer.
    pub output: u32,
    /// Tokens read from the cache.
    pub cache_read: u32,
    /// Tokens written to the cache for five minutes.
    pub write_5m: u32,
    /// Tokens written to the cache for an hour.
    pub write_1h: u32,
    /// Tokens written to the cache of which the log does not say for how long.
    pub write_untiered: u32,
    /// Web searches that the server made.
    pub web_searches: u32,
}

impl Counts {
    /// Reads a `usage`, and what is to be said about it. `None` if it names no
    /// token count at all.
    pub(crate) fn of(usage: Value<'_>) -> Option<(Counts, RecordFlags)> {
        let mut counts = Counts::default();
        let mut flags = RecordFlags::default();
        let (mut writes, mut is_named) = (0, false);
        for member in usage.members() {
            let value = member.value;
            match member.raw_key {
                b"input_tokens" => counts.input = count(value, &mut flags),
                b"output_tokens" => counts.output = count(value, &mut flags),
                b"cache_read_input_tokens" => counts.cache_read = count(value, &mut flags),
                b"cache_creation_input_tokens" => writes = count(value, &mut flags),
                b"cache_creation" => {
                    for tier in value.members() {
                        let slot = match tier.raw_key {
                            b"ephemeral_5m_input_tokens" => &mut counts.write_5m,
                            b"ephemeral_1h_input_tokens" => &mut counts.write_1h,
                            _ => continue,
                        };
                        *slot = count(tier.value, &mut flags);
                    }
                    continue;
                }
                b"server_tool_use" => {
                    if let Some(searches) = value.get("web_search_requests") {
                        counts.web_searches = count(searches, &mut flags);
                    }
                    continue;
                }
                b"service_tier" => {
                    match value.string_inside() {
                        Some(b"batch") => flags.add(RecordFlags::BATCH),
                        None | Some(b"standard" | b"") => {}
                        Some(_) => flags.add(RecordFlags::OTHER_TIER),
                    }
                    continue;
                }
                b"speed" => {
                    match value.string_inside() {
                        Some(b"fast") => flags.add(RecordFlags::FAST),
                        None | Some(b"standard" | b"") => {}
                        Some(_) => flags.add(RecordFlags::OTHER_TIER),
                    }
                    continue;
                }
                b"inference_geo" => {
                    if value.string_inside() == Some(b"us") {
                        flags.add(RecordFlags::US_ONLY);
                    }
                    continue;
                }
                _ => continue,
            }
            is_named = true;
        }
        let tiers = counts.write_5m + counts.write_1h;
        if tiers > writes && writes > 0 {
            flags.add(RecordFlags::TIERS_DIFFER);
        }
        counts.write_untiered = writes.saturating_sub(tiers);
        is_named.then_some((counts, flags))
    }

    /// All numbers.
    pub(super) fn numbers(&self) -> [u32; 7] {
        let Counts { input, output, cache_read, write_5m, write_1h, write_untiered, web_searches } =
            *self;
        [input, output, cache_read, write_5m, write_1h, write_untiered, web_searches]
    }

    /// All tokens written to the cache.
    pub fn writes(&self) -> u64 {
        u64::from(self.write_5m) + u64::from(self.write_1h) + u64::from(self.write_untiered)
    }

    /// All tokens that were sent.
    pub fn context(&self) -> u64 {
        u64::from(self.input) + u64::from(self.cache_read) + self.writes()
    }
}

/// Tokens, added up or of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Of prompts, neither read from nor written to the cache.
    pub input: u64,
    /// Of answers.
    pub output: u64,
    /// Written to the cache, for however long.
    pub cache_creation: u64,
    /// Of these, written for five minutes.
    pub cache_creation_5m: u64,
    /// Of these, written for an hour.
    pub cache_creation_1h: u64,
    /// Read from the cache.
    pub cache_read: u64,
}

impl Tokens {
    /// Those that a `usage` names.
    pub(crate) fn of(usage: Value<'_>) -> Tokens {
        Counts::of(usage).map_or_else(Tokens::default, |(counts, _)| counts.into())
    }

    /// Everything that was sent.
    pub fn context(&self) -> u64 {
        self.input.saturating_add(self.cache_creation).saturating_add(self.cache_read)
    }

    /// Everything that was sent and came back.
    pub fn all(&self) -> u64 {
        self.context().saturating_add(self.output)
    }

    /// How much of what was sent came from the cache, in percent; none where nothing was sent.
    pub fn cache_hit_percent(&self) -> Option<f64> {
        let sent = self.context();
        (sent > 0).then(|| self.cache_read as f64 * 100.0 / sent as f64)
    }

    /// Adds other tokens.
    pub fn add(&mut self, other: Tokens) {
        *self = self.with(other, u64::saturating_add);
    }

    /// Each number made of one and of another.
    pub(crate) fn with(self, other: Tokens, merge: impl Fn(u64, u64) -> u64) -> Tokens {
        Tokens {
            input: merge(self.input, other.input),
            output: merge(self.output, other.output),
            cache_creation: merge(self.cache_creation, other.cache_creation),
            cache_creation_5m: merge(self.cache_creation_5m, other.cache_creation_5m),
            cache_creation_1h: merge(self.cache_creation_1h, other.cache_creation_1h),
            cache_read: merge(self.cache_read, other.cache_read),
        }
    }
}

impl From<Counts> for Tokens {
    fn from(counts: Counts) -> Tokens {
        Tokens {
            input: counts.input.into(),
            output: counts.output.into(),
            cache_creation: counts.writes(),
            cache_creation_5m: counts.write_5m.into(),
            cache_creation_1h: counts.write_1h.into(),
            cache_read: counts.cache_read.into(),
        }
    }
}

/// A count. One that is negative, no whole number or too large to be true is
/// left out, and said.
fn count(value: Value<'_>, flags: &mut RecordFlags) -> u32 {
    if value.is_null() {
        return 0;
    }
    match value.as_u64().and_then(|number| u32::try_from(number).ok()) {
        Some(number) if number <= MOST_TOKENS => number,
        _ => {
            flags.add(RecordFlags::BAD_COUNT);
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(Counts, RecordFlags)> {
        Counts::of(Value::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn tiers_and_server_tools_are_told_apart() {
        let text = r#"{"input_tokens":11,"cache_creation_input_tokens":30,"cache_read_input_tokens":2,"output_tokens":5,"server_tool_use":{"web_search_requests":3},"service_tier":"batch","speed":"fast","inference_geo":"us","cache_creation":{"ephemeral_1h_input_tokens":20,"ephemeral_5m_input_tokens":8}}"#;
        let (counts, flags) = read(text).unwrap();
        assert_eq!(
            counts,
            Counts {
                input: 11,
                output: 5,
                cache_read: 2,
                write_5m: 8,
                write_1h: 20,
                write_untiered: 2,
                web_searches: 3
            }
        );
        assert_eq!((counts.writes(), counts.context()), (30, 43));
        for flag in [RecordFlags::BATCH, RecordFlags::FAST, RecordFlags::US_ONLY] {
            assert!(flags.has(flag));
        }
        assert!(!flags.has(RecordFlags::BAD_COUNT));
    }

    #[test]
    fn counts_that_cannot_be_true_are_left_out_and_told() {
        for bad in ["-5", "1.5", "\"7\"", "100000001", "1e30", "99999999999999999999", "{}", "true"]
        {
            let (counts, flags) =
                read(&format!(r#"{{"input_tokens":{bad},"output_tokens":3}}"#)).unwrap();
            assert_eq!((counts.input, counts.output), (0, 3), "{bad}");
            assert!(flags.has(RecordFlags::BAD_COUNT), "{bad}");
        }
        let (_, flags) = read(r#"{"input_tokens":null,"output_tokens":1e2}"#).unwrap();
        assert!(!flags.has(RecordFlags::BAD_COUNT));
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"service_tier":"standard"}"#), None);
    }

    #[test]
    fn tiers_that_are_more_than_the_whole_count_and_are_told() {
        let (counts, flags) = read(
            r#"{"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_1h_input_tokens":9}}"#,
        )
        .unwrap();
        assert_eq!((counts.writes(), counts.write_untiered), (9, 0));
        assert!(flags.has(RecordFlags::TIERS_DIFFER));
    }
}
