//! What a session has cost so far, by the client's own count.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::json::ObjectWriter;

/// The facts of a `cost-state` line. Durations are in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct CostLine<'a> {
    /// In US dollars.
    pub total_usd: f64,
    /// How long API calls took.
    pub api_milliseconds: u64,
    /// The same, without calls that failed.
    pub api_milliseconds_without_retries: u64,
    /// How long tools took.
    pub tool_milliseconds: u64,
    /// Lines that edits added.
    pub lines_added: u64,
    /// Lines that edits removed.
    pub lines_removed: u64,
    /// How long the session took.
    pub milliseconds: u64,
    /// When it started.
    pub start: Timestamp,
    /// By model.
    pub models: Vec<(Cow<'a, str>, ModelCost)>,
    /// Whether some model had no known price.
    pub has_unknown_model: bool,
}

/// The tokens of one model in a [`CostLine`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelCost {
    /// Tokens of prompts.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Tokens of answers that were thinking.
    pub thinking: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_creation: u64,
    /// The part of them that lives five minutes.
    pub cache_creation_5m: u64,
    /// The part of them that lives an hour.
    pub cache_creation_1h: u64,
    /// Web searches.
    pub web_searches: u64,
    /// In US dollars.
    pub usd: f64,
}

impl CostLine<'_> {
    pub(super) fn write(&self, line: ObjectWriter) -> ObjectWriter {
        let models = self
            .models
            .iter()
            .fold(ObjectWriter::new(), |models, (name, cost)| models.json(name, &cost.finish()));
        line.float("totalCostUSD", self.total_usd)
            .number("totalAPIDuration", self.api_milliseconds)
            .number("totalAPIDurationWithoutRetries", self.api_milliseconds_without_retries)
            .number("totalToolDuration", self.tool_milliseconds)
            .number("totalLinesAdded", self.lines_added)
            .number("totalLinesRemoved", self.lines_removed)
            .number("totalDuration", self.milliseconds)
            .number("startTime", self.start.as_millisecond().unsigned_abs())
            .json("modelUsage", &models.finish())
            .boolean("hasUnknownModelCost", self.has_unknown_model)
    }
}

impl ModelCost {
    fn finish(&self) -> Vec<u8> {
        ObjectWriter::new()
            .number("inputTokens", self.input)
            .number("outputTokens", self.output)
            .number("thinkingTokens", self.thinking)
            .number("cacheReadInputTokens", self.cache_read)
            .number("cacheCreationInputTokens", self.cache_creation)
            .number("cacheCreationEphemeral5mInputTokens", self.cache_creation_5m)
            .number("cacheCreationEphemeral1hInputTokens", self.cache_creation_1h)
            .number("webSearchRequests", self.web_searches)
            .float("costUSD", self.usd)
            .finish()
    }
}
