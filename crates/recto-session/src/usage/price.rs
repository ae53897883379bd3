//! What tokens cost: rows by model and date, and the amount of a record.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_log::json::Value;

use super::Counts;
use super::Money;
use super::PriceFileError;
use super::Record;
use super::RecordFlags;
use super::price_file;

/// The prices that come with recto.
const BUILT_IN: &str = include_str!("../../data/prices.toml");
const COMPATIBLE: &str = include_str!("../../data/prices-compatible.toml");

/// Prices of one token each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Prices {
    pub(crate) input: Money,
    pub(crate) output: Money,
    pub(crate) cache_read: Money,
    pub(crate) write_5m: Money,
    /// Not every list has it.
    pub(crate) write_1h: Option<Money>,
}

/// Prices of a million tokens by name; one that is not known is `None`.
pub type PerMillion = [(&'static str, Option<Money>); 5];

/// The prices of a model, from a date on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceRow {
    /// The model.
    pub model: String,
    /// The first day; `None` for a row that always was.
    pub from: Option<Date>,
    pub(crate) prices: Prices,
    /// From how many tokens of context on other prices hold, and which.
    pub(crate) above: Option<(u64, Prices)>,
    /// Of one web search.
    pub(crate) web_search: Option<Money>,
    /// What batches, fast answers and answers from the United States only cost,
    /// in thousandths of the prices.
    pub(crate) batch: Option<u64>,
    pub(crate) fast: Option<u64>,
    pub(crate) us_only: Option<u64>,
    /// The list that the row is from, and its line there.
    pub source: String,
    /// The line in that list.
    pub line: usize,
}

impl PriceRow {
    /// The prices of a million tokens, by name, in dollars.
    pub fn per_million(&self) -> PerMillion {
        per_million(&self.prices)
    }

    /// The context from which on other prices hold, and those of a million.
    pub fn above(&self) -> Option<(u64, PerMillion)> {
        let (tokens, prices) = self.above.as_ref()?;
        Some((*tokens, per_million(prices)))
    }

    /// The price of a thousand web searches.
    pub fn thousand_web_searches(&self) -> Option<Money> {
        self.web_search.map(|price| price.times(1000))
    }

    /// What batches, fast answers and answers from the United States only cost,
    /// in thousandths of the other prices.
    pub fn factors(&self) -> [(&'static str, Option<u64>); 3] {
        [("batch", self.batch), ("fast", self.fast), ("us", self.us_only)]
    }
}

fn per_million(prices: &Prices) -> PerMillion {
    let all = [
        ("input", Some(prices.input)),
        ("output", Some(prices.output)),
        ("cache_read", Some(prices.cache_read)),
        ("cache_write_5m", Some(prices.write_5m)),
        ("cache_write_1h", prices.write_1h),
    ];
    all.map(|(name, price)| (name, price.map(|price| price.times(1_000_000))))
}

/// Why a record has no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unpriced {
    /// No row names the model.
    Model,
    /// The row has no price for the way in which it was sent.
    Way,
}

/// One factor of an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// What is paid for.
    pub name: &'static str,
    /// How many.
    pub number: u64,
    /// The price of one.
    pub price: Money,
}

/// What a record costs, and by which row.
#[derive(Debug, Clone)]
pub struct Amount<'a> {
    /// The row.
    pub row: &'a PriceRow,
    /// Tokens times price.
    pub parts: [Part; 7],
    /// Whether the prices of a long context were taken.
    pub is_long: bool,
    /// By which the tokens' part is multiplied, in thousandths.
    pub factor: u64,
    /// All together.
    pub total: Money,
}

/// Prices by model and date.
#[derive(Debug, Clone, Default)]
pub struct PriceTable {
    rows: Vec<PriceRow>,
    by_model: HashMap<String, Vec<usize>>,
    /// Where the rows are from, for people.
    pub sources: Vec<String>,
}

impl PriceTable {
    /// The prices that come with recto.
    pub fn built_in() -> Result<PriceTable, PriceFileError> {
        let mut table = PriceTable::default();
        table.add_file(BUILT_IN, "recto")?;
        table.add_file(COMPATIBLE, "recto")?;
        Ok(table)
    }

    /// Adds a file of prices. A model that it names has the rows of this file
    /// and no others.
    pub fn add_file(&mut self, text: &str, name: &str) -> Result<(), PriceFileError> {
        let file = price_file::parse(text, name)?;
        self.rows
            .retain(|row| file.rows.iter().all(|new| !new.model.eq_ignore_ascii_case(&row.model)));
        self.rows.extend(file.rows);
        self.rows.sort_by(|a, b| a.model.cmp(&b.model).then(a.from.cmp(&b.from)));
        self.sources.push(match file.about {
            Some(about) => format!("{name}: {about}"),
            None => name.to_owned(),
        });
        self.by_model.clear();
        for (place, row) in self.rows.iter().enumerate() {
            self.by_model.entry(row.model.to_ascii_lowercase()).or_default().push(place);
        }
        Ok(())
    }

    /// All rows, by model and date.
    pub fn rows(&self) -> &[PriceRow] {
        &self.rows
    }

    /// The rows of a model, however its name is capitalised. A name with a date at the end,
    /// or with the mark of a long context, means the model without; other names are not
    /// guessed at.
    fn rows_of(&self, model: &str) -> Option<&[usize]> {
        let model = &*model.to_ascii_lowercase();
        let plain = model.strip_suffix("[1m]").unwrap_or(model);
        let undated = plain
            .rsplit_once('-')
            .filter(|(_, date)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()));
        let names = [Some(model), Some(plain), undated.map(|(name, _)| name)];
        names.into_iter().flatten().find_map(|name| self.by_model.get(name)).map(Vec::as_slice)
    }

    /// Whether there are prices for a model.
    pub fn knows(&self, model: &str) -> bool {
        self.rows_of(model).is_some()
    }

    /// The row that held when a record was made. Days are those of UTC.
    fn row_for(&self, model: &str, record: &Record) -> Option<&PriceRow> {
        let rows = self.rows_of(model)?;
        let (first, rest) = rows.split_first()?;
        if rest.is_empty() {
            return self.rows.get(*first);
        }
        let day = record.time().map(|time| time.to_zoned(TimeZone::UTC).date());
        let held = rows.iter().rev().find(|place| match (self.rows[**place].from, day) {
            (Some(from), Some(day)) => from <= day,
            // Without a time the newest price is as good as any.
            (None, _) | (_, None) => true,
        });
        self.rows.get(*held.unwrap_or(first))
    }

    /// What a message costs by its `usage`, when it was sent at a time.
    pub fn cost_of(
        &self,
        model: &str,
        usage: Value<'_>,
        time: Timestamp,
    ) -> Result<Money, Unpriced> {
        let (counts, flags) = Counts::of(usage).ok_or(Unpriced::Way)?;
        let record = Record::of_counts(counts, flags, time);
        self.amount(Some(model), &record).map(|amount| amount.total)
    }

    /// What a record costs.
    pub fn amount(&self, model: Option<&str>, record: &Record) -> Result<Amount<'_>, Unpriced> {
        let row = model.and_then(|model| self.row_for(model, record)).ok_or(Unpriced::Model)?;
        if record.flags.has(RecordFlags::OTHER_TIER) {
            return Err(Unpriced::Way);
        }
        let counts = &record.counts;
        let long = row.above.as_ref().filter(|(tokens, _)| counts.context() > *tokens);
        let prices = long.map_or(&row.prices, |(_, prices)| prices);
        let mut factor = 1000;
        for (flag, way) in [
            (RecordFlags::BATCH, row.batch),
            (RecordFlags::FAST, row.fast),
            (RecordFlags::US_ONLY, row.us_only.or(Some(1000))),
        ] {
            if record.flags.has(flag) {
                factor = factor * way.ok_or(Unpriced::Way)? / 1000;
            }
        }
        let known = |price: Option<Money>, number: u32| match price {
            None if number > 0 => Err(Unpriced::Way),
            price => Ok(price.unwrap_or_default()),
        };
        let web_search = known(row.web_search, counts.web_searches)?;
        let write_1h = known(prices.write_1h, counts.write_1h)?;
        let part = |name, number: u32, price| Part { name, number: u64::from(number), price };
        let parts = [
            part("input", counts.input, prices.input),
            part("output", counts.output, prices.output),
            part("cache read", counts.cache_read, prices.cache_read),
            part("cache write, 5 minutes", counts.write_5m, prices.write_5m),
            part("cache write, 1 hour", counts.write_1h, write_1h),
            // Before there was a choice, what was written lived five minutes.
            part("cache write", counts.write_untiered, prices.write_5m),
            part("web search", counts.web_searches, web_search),
        ];
        let sum = |parts: &[Part]| {
            let amounts = parts.iter().map(|part| part.price.times(part.number));
            amounts.fold(Money::default(), Money::plus)
        };
        let (tokens, searches) = (sum(&parts[..6]), sum(&parts[6..]));
        let total = tokens.thousandths(factor).plus(searches);
        Ok(Amount { row, parts, is_long: long.is_some(), factor, total })
    }
}
