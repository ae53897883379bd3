//! What tokens cost, as a table.

use recto_session::usage::Money;
use recto_session::usage::PriceRow;
use recto_session::usage::PriceTable;
use serde::Serialize;
use serde::Serializer;
use serde_json::value::RawValue;

/// The price of a model, from a date on.
#[derive(Debug, Serialize)]
pub struct ModelPrice {
    /// The model.
    pub model: String,
    /// Since when it holds; none for always.
    pub from: Option<String>,
    /// What a million tokens cost.
    pub prices: TokenPrices,
    /// Other prices for requests with much context.
    pub above: Option<PricesAbove>,
    /// What a thousand web searches cost.
    pub web_search: Option<Dollars>,
    /// What other ways to send cost, as factors.
    pub factors: PriceFactors,
    /// The table that says so.
    pub source: String,
    /// The line of that table.
    pub line: usize,
}

/// What a million tokens cost.
#[derive(Debug, Serialize)]
pub struct TokenPrices {
    /// Read as input.
    pub input: Option<Dollars>,
    /// Written by the model.
    pub output: Option<Dollars>,
    /// Read from the cache.
    pub cache_read: Option<Dollars>,
    /// Written to the cache for five minutes.
    pub cache_write_5m: Option<Dollars>,
    /// Written to the cache for an hour.
    pub cache_write_1h: Option<Dollars>,
}

/// Prices that hold above a number of tokens.
#[derive(Debug, Serialize)]
pub struct PricesAbove {
    /// The context from which on they hold.
    pub tokens: u64,
    /// The prices.
    pub prices: TokenPrices,
}

/// Factors on the prices of tokens.
#[derive(Debug, Serialize)]
pub struct PriceFactors {
    /// Of batches.
    pub batch: Option<Dollars>,
    /// Of fast answers.
    pub fast: Option<Dollars>,
    /// Of answers from the United States only.
    pub us: Option<Dollars>,
}

/// An amount as a JSON number with all its digits, which a float may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dollars(pub Money);

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = RawValue::from_string(self.0.to_string());
        number.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

/// The rows of a price table, by model and date.
pub fn model_prices(table: &PriceTable) -> Vec<ModelPrice> {
    table.rows().iter().map(|row| model_price(row, table)).collect()
}

fn model_price(row: &PriceRow, table: &PriceTable) -> ModelPrice {
    let source = table.sources.iter().find(|source| source.starts_with(&row.source));
    let factor = |(_, factor): (&str, Option<u64>)| {
        factor
            .map(|factor| Dollars(Money::from_pico(u128::from(factor) * Money::PER_DOLLAR / 1000)))
    };
    let [batch, fast, us] = row.factors().map(factor);
    ModelPrice {
        model: row.model.clone(),
        from: row.from.map(|from| from.to_string()),
        prices: token_prices(row.per_million()),
        above: row
            .above()
            .map(|(tokens, above)| PricesAbove { tokens, prices: token_prices(above) }),
        web_search: row.thousand_web_searches().map(Dollars),
        factors: PriceFactors { batch, fast, us },
        source: source.unwrap_or(&row.source).clone(),
        line: row.line,
    }
}

fn token_prices(prices: [(&'static str, Option<Money>); 5]) -> TokenPrices {
    let [input, output, cache_read, cache_write_5m, cache_write_1h] =
        prices.map(|(_, price)| price.map(Dollars));
    TokenPrices { input, output, cache_read, cache_write_5m, cache_write_1h }
}
