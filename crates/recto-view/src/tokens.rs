//! Tokens, as rows name them.

use recto_session::Tokens;
use serde::Serialize;

/// Tokens of a session.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TokenCounts {
    /// Neither read from nor written to the cache.
    pub input: u64,
    /// Of answers.
    pub output: u64,
    /// Written to the cache, for however long.
    pub cache_creation: u64,
    /// Of these, for five minutes.
    pub cache_creation_5m: u64,
    /// Of these, for an hour.
    pub cache_creation_1h: u64,
    /// Read from the cache.
    pub cache_read: u64,
}

impl From<Tokens> for TokenCounts {
    fn from(tokens: Tokens) -> TokenCounts {
        let Tokens {
            input,
            output,
            cache_creation,
            cache_creation_5m,
            cache_creation_1h,
            cache_read,
        } = tokens;
        TokenCounts {
            input,
            output,
            cache_creation,
            cache_creation_5m,
            cache_creation_1h,
            cache_read,
        }
    }
}

/// Tokens of a turn or a subagent.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TokenColumns {
    /// Neither read from nor written to the cache.
    pub input_tokens: u64,
    /// Of answers.
    pub output_tokens: u64,
    /// Written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Read from the cache.
    pub cache_read_input_tokens: u64,
}

impl From<Tokens> for TokenColumns {
    fn from(tokens: Tokens) -> TokenColumns {
        TokenColumns {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cache_creation_input_tokens: tokens.cache_creation,
            cache_read_input_tokens: tokens.cache_read,
        }
    }
}
