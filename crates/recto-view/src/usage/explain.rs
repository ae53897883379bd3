//! From lines to amounts, message by message.

use std::collections::HashMap;
use std::collections::HashSet;

use recto_session::NameId;
use recto_session::Tokens;
use recto_session::usage::Amount;
use recto_session::usage::Money;
use recto_session::usage::Part;
use recto_session::usage::Record;
use recto_session::usage::Sighting;
use recto_session::usage::Total;
use recto_session::usage::Unpriced;
use serde::Serialize;

use super::UsageCount;
use crate::Moment;
use crate::TokenColumns;
use crate::dollars;

/// Messages and where their amounts are from.
#[derive(Debug)]
pub struct Explanation<'a> {
    count: &'a UsageCount,
    /// All that are meant.
    pub total: Total,
    /// Some of them, in the order of time.
    records: Vec<&'a Record>,
    lines: HashMap<u128, Vec<Sighting>>,
}

/// In which order messages are explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExplainOrder {
    /// As they were written.
    #[default]
    Time,
    /// The dearest first; before them, those without a price.
    Amount,
}

/// A message with all its lines.
#[derive(Debug, Serialize)]
pub struct ExplainedMessage {
    /// The id of the API message.
    pub id: Option<String>,
    /// When it was written.
    pub time: Option<Moment>,
    /// The model that answered.
    pub model: Option<String>,
    /// The session that it counts for.
    pub session: Option<String>,
    /// The subagent, if it is in the log of one.
    pub agent: Option<String>,
    /// Its tokens.
    #[serde(flatten)]
    pub tokens: TokenColumns,
    /// What it cost, if that is known.
    pub cost_usd: Option<f64>,
    /// The price that was used.
    pub price: Option<UsedPrice>,
    /// The lines that tell of it.
    pub lines: Vec<ExplainedLine>,
    /// The amount in parts, or why there is none.
    #[serde(skip)]
    pub amount: Result<PricedParts, Unpriced>,
}

/// The row of prices.
#[derive(Debug, Serialize)]
pub struct UsedPrice {
    /// The model that the row is for.
    pub model: String,
    /// Its first day; none if it always was.
    pub from: Option<String>,
    /// Whether the price for much context was used.
    pub long_context: bool,
    /// The list that it is from, and its line there.
    pub source: String,
    /// The line of that list.
    pub line: usize,
}

/// A line of a message.
#[derive(Debug, Serialize)]
pub struct ExplainedLine {
    /// The log, below the home.
    pub file: String,
    /// The number of the line.
    pub line: u64,
    /// Whether the numbers of this line count.
    pub counted: bool,
    /// Why it counts, or does not.
    pub rule: &'static str,
    /// What the line says.
    #[serde(flatten)]
    pub tokens: TokenColumns,
}

/// An amount and its parts.
#[derive(Debug)]
pub struct PricedParts {
    /// The factors.
    pub parts: Vec<Part>,
    /// By which tokens are multiplied, in thousandths.
    pub factor: u64,
    /// The amount.
    pub total: Money,
}

impl UsageCount {
    /// Explains some of the messages that are meant, from a place on.
    pub fn explain(&self, from: usize, count: usize) -> Explanation<'_> {
        self.explain_by(ExplainOrder::Time, from, count)
    }

    /// The same in another order.
    pub fn explain_by(&self, order: ExplainOrder, from: usize, count: usize) -> Explanation<'_> {
        let ledger = &self.ledger;
        let meant = ledger.records().iter().filter(|record| self.selection.holds(ledger, record));
        let mut records: Vec<&Record> = meant.collect();
        records.sort_by_key(|record| {
            (record.time(), &ledger.files()[record.counted_file as usize].path, record.line)
        });
        if order == ExplainOrder::Amount {
            // What has no price comes first: it may be the dearest.
            records.sort_by_cached_key(|record| {
                let model = record.model.map(|id| ledger.name(id));
                let amount = self.library.prices().amount(model, record);
                std::cmp::Reverse(amount.map_or(u128::MAX, |amount| amount.total.pico()))
            });
        }
        let records: Vec<&Record> = records.into_iter().skip(from).take(count).collect();
        let keys: HashSet<u128> = records.iter().map(|record| record.key).collect();
        let mut lines: HashMap<u128, Vec<Sighting>> = HashMap::new();
        for sighting in self.library.home().sightings(ledger, &keys) {
            lines.entry(sighting.key).or_default().push(sighting);
        }
        Explanation { count: self, total: self.report(&[]).total, records, lines }
    }
}

impl Explanation<'_> {
    /// The messages, one after the other: there may be many.
    pub fn messages(&self) -> impl Iterator<Item = ExplainedMessage> {
        self.records.iter().map(|record| {
            let lines = self.lines.get(&record.key).map_or(&[][..], Vec::as_slice);
            self.message(record, lines)
        })
    }

    fn message(&self, record: &Record, lines: &[Sighting]) -> ExplainedMessage {
        let ledger = &self.count.ledger;
        let text = |id: Option<NameId>| id.map(|id| ledger.name(id).to_owned());
        let model = text(record.model);
        let amount = self.count.library.prices().amount(model.as_deref(), record);
        let line = |line: &Sighting| {
            let counted = record.is_counted_at(line);
            ExplainedLine {
                file: ledger.files()[line.file as usize].path.clone(),
                line: line.line,
                counted,
                rule: if counted { record.rule(lines.len()) } else { record.why_not(line) },
                tokens: Tokens::from(line.counts).into(),
            }
        };
        ExplainedMessage {
            id: lines.first().map(|line| line.id.clone()).filter(|id| !id.is_empty()),
            time: record.time().map(Moment),
            session: text(ledger.session_of(record)),
            agent: text(ledger.agent_of(record)),
            tokens: Tokens::from(record.counts).into(),
            cost_usd: amount.as_ref().ok().map(|amount| dollars(amount.total)),
            price: amount.as_ref().ok().map(UsedPrice::of),
            lines: lines.iter().map(line).collect(),
            amount: amount.map(|amount| PricedParts {
                parts: amount.parts.into_iter().filter(|part| part.number > 0).collect(),
                factor: amount.factor,
                total: amount.total,
            }),
            model,
        }
    }
}

impl UsedPrice {
    fn of(amount: &Amount<'_>) -> UsedPrice {
        UsedPrice {
            model: amount.row.model.clone(),
            from: amount.row.from.map(|from| from.to_string()),
            long_context: amount.is_long,
            source: amount.row.source.clone(),
            line: amount.row.line,
        }
    }

    /// The row in words: its model, and since when it holds.
    pub fn name(&self) -> String {
        let from = self.from.as_ref().map_or_else(String::new, |from| format!(" from {from}"));
        format!("{}{from}", self.model)
    }

    /// The list and the line that it is from.
    pub fn place(&self) -> String {
        format!("{}, line {}", self.source, self.line)
    }
}

impl ExplainedLine {
    /// The file and the number of the line.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}
