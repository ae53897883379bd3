//! Tokens and money of a session.

use std::sync::OnceLock;
use std::time::Duration;

use recto_log::build::CostLine;
use recto_log::build::ModelCost;
use recto_session::usage::Money;
use recto_session::usage::PriceTable;

use crate::wire::Json;

/// Tokens of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelTotals {
    /// Tokens of prompts.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Tokens of answers that were thinking.
    pub thinking: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_write: u64,
    /// The part of them that lives an hour.
    pub cache_write_1h: u64,
    /// Web searches.
    pub web_searches: u64,
    /// Pages that the endpoint fetched.
    pub web_fetches: u64,
    /// What it cost.
    pub cost: Money,
}

impl ModelTotals {
    /// Adds others.
    pub fn add(&mut self, other: &ModelTotals) {
        self.input += other.input;
        self.output += other.output;
        self.thinking += other.thinking;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cache_write_1h += other.cache_write_1h;
        self.web_searches += other.web_searches;
        self.web_fetches += other.web_fetches;
        self.cost = self.cost.plus(other.cost);
    }

    /// Reads a `usage` object.
    pub fn of(usage: &Json) -> ModelTotals {
        let value = usage.value();
        let number = |name: &str| value.get(name).and_then(|value| value.as_u64()).unwrap_or(0);
        let inside = |object: &str, name: &str| {
            let inner = value.get(object).and_then(|object| object.get(name));
            inner.and_then(|value| value.as_u64()).unwrap_or(0)
        };
        ModelTotals {
            input: number("input_tokens"),
            output: number("output_tokens"),
            thinking: inside("output_tokens_details", "thinking_tokens"),
            cache_read: number("cache_read_input_tokens"),
            cache_write: number("cache_creation_input_tokens"),
            cache_write_1h: inside("cache_creation", "ephemeral_1h_input_tokens"),
            web_searches: inside("server_tool_use", "web_search_requests"),
            web_fetches: inside("server_tool_use", "web_fetch_requests"),
            cost: Money::default(),
        }
    }

    /// Tokens of the last request and its answer.
    pub fn all(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

/// Dollars as a number, for JSON.
pub fn dollars(money: Money) -> f64 {
    money.pico() as f64 / Money::PER_DOLLAR as f64
}

/// Dollars of a log.
pub(super) fn money(dollars: f64) -> Money {
    Money::parse(&format!("{dollars:e}")).unwrap_or_default()
}

impl ModelTotals {
    /// Its tokens and cost, as commands and hosts show them.
    pub(super) fn in_words(&self) -> String {
        format!(
            "{} input, {} output, {} cache read, {} cache write (${:.4})",
            self.input,
            self.output,
            self.cache_read,
            self.cache_write,
            dollars(self.cost)
        )
    }
}

/// All models, in the order of their first answer.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Of the session, as far as its log tells what came before this process.
    pub models: Vec<(String, ModelTotals)>,
    /// Since the last turn ended.
    pub since: Vec<(String, ModelTotals)>,
    /// Whether some model had no price.
    pub has_unknown: bool,
    /// How long the endpoint took.
    pub api: Duration,
    /// How long tools took.
    pub tools: Duration,
    /// Lines that edits added and removed.
    pub lines: (u64, u64),
    /// How often a model refused.
    pub refusals: u64,
    prices: OnceLock<PriceTable>,
}

impl Totals {
    /// With prices of the user.
    pub fn with_prices(prices: Option<PriceTable>) -> Totals {
        let totals = Totals::default();
        if let Some(prices) = prices {
            let _ = totals.prices.set(prices);
        }
        totals
    }

    /// Counts an answer.
    pub fn count(&mut self, model: &str, usage: &Json) -> ModelTotals {
        let mut counted = ModelTotals::of(usage);
        // Reading the table takes longer than anything else at the start.
        let prices = self.prices.get_or_init(|| PriceTable::built_in().unwrap_or_default());
        match prices.cost_of(model, usage.value(), jiff::Timestamp::now()) {
            Ok(cost) => counted.cost = cost,
            Err(_) => self.has_unknown = true,
        }
        for list in [&mut self.models, &mut self.since] {
            add_to(list, model, &counted);
        }
        counted
    }

    /// What the session cost so far.
    pub fn cost(&self) -> Money {
        self.models.iter().fold(Money::default(), |sum, (_, model)| sum.plus(model.cost))
    }

    /// Another session begins, with the same prices.
    pub fn start_over(&mut self) {
        *self = Totals { prices: std::mem::take(&mut self.prices), ..Totals::default() };
    }

    /// What was counted since the last time.
    pub fn take_since(&mut self) -> Vec<(String, ModelTotals)> {
        std::mem::take(&mut self.since)
    }

    /// The `cost-state` line.
    pub fn cost_line(&self, start: jiff::Timestamp) -> CostLine<'_> {
        let all = self.models.clone();
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let lived = jiff::Timestamp::now().duration_since(start);
        CostLine {
            total_usd: dollars(self.cost()),
            api_milliseconds: milliseconds(self.api),
            api_milliseconds_without_retries: milliseconds(self.api),
            tool_milliseconds: milliseconds(self.tools),
            lines_added: self.lines.0,
            lines_removed: self.lines.1,
            milliseconds: u64::try_from(lived.as_millis()).unwrap_or(0),
            start,
            models: all.into_iter().map(|(name, model)| (name.into(), model.to_line())).collect(),
            has_unknown_model: self.has_unknown,
        }
    }
}

impl ModelTotals {
    fn to_line(self) -> ModelCost {
        ModelCost {
            input: self.input,
            output: self.output,
            thinking: self.thinking,
            cache_read: self.cache_read,
            cache_creation: self.cache_write,
            cache_creation_5m: self.cache_write.saturating_sub(self.cache_write_1h),
            cache_creation_1h: self.cache_write_1h,
            web_searches: self.web_searches,
            usd: dollars(self.cost),
        }
    }
}

fn add_to(list: &mut Vec<(String, ModelTotals)>, model: &str, counted: &ModelTotals) {
    match list.iter_mut().find(|(name, _)| name == model) {
        Some((_, known)) => known.add(counted),
        None => list.push((model.to_owned(), *counted)),
    }
}
