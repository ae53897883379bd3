//! Tokens and what they cost.

use jiff::SignedDuration;
use recto_session::usage::Dimension;
use recto_session::usage::Grouping;
use recto_session::usage::Selection;
use recto_session::usage::Total;
use recto_session::usage::Wanted;
use recto_session::usage::report;
use recto_store::UsageScan;
use serde::Serialize;

use crate::dollars;
use crate::error::ViewError;
use crate::library::Library;

/// Tokens and cost, in rows.
#[derive(Debug, Serialize)]
pub struct UsageReport {
    /// What rows stand for.
    pub by: Vec<&'static str>,
    pub rows: Vec<UsageRow>,
    pub total: UsageTotal,
    /// Models without a price: their cost is not in the sums.
    pub unknown_models: Vec<String>,
    /// Logs that could not be read.
    pub skipped: usize,
}

#[derive(Debug, Serialize)]
pub struct UsageRow {
    /// What it stands for, one for each of `by`.
    pub keys: Vec<String>,
    #[serde(flatten)]
    pub total: UsageTotal,
}

#[derive(Debug, Serialize)]
pub struct UsageTotal {
    pub messages: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
    /// The cost, if all of it is known.
    pub cost_usd: Option<f64>,
    /// The cost of what has a price.
    pub known_cost_usd: f64,
    pub unpriced_messages: u64,
    /// More output than was logged is possible where clients wrote too little.
    pub output_tokens_at_most: u64,
}

impl From<&Total> for UsageTotal {
    fn from(total: &Total) -> UsageTotal {
        UsageTotal {
            messages: total.messages,
            input_tokens: total.input,
            output_tokens: total.output,
            cache_creation_input_tokens: total.writes(),
            cache_read_input_tokens: total.cache_read,
            cost_usd: total.cost().map(dollars),
            known_cost_usd: dollars(total.known_cost),
            unpriced_messages: total.unpriced,
            output_tokens_at_most: total.most_output,
        }
    }
}

/// Reads what rows stand for: one or two of the known names, with a comma.
pub fn dimensions(text: &str) -> Result<Vec<Dimension>, ViewError> {
    let mut dimensions = Vec::new();
    for name in text.split(',') {
        let known = Dimension::ALL.iter().find(|dimension| dimension.name() == name.trim());
        match known {
            Some(known) if !dimensions.contains(known) && dimensions.len() < 2 => {
                dimensions.push(*known);
            }
            _ => {
                let all = Dimension::ALL.map(Dimension::name).join(", ");
                let message = "`by` takes one or two different things";
                return Err(ViewError::refused("bad-grouping", message).with_hint(all));
            }
        }
    }
    Ok(dimensions)
}

impl Library {
    /// Adds up what logs tell.
    pub fn usage(&self, dimensions: Vec<Dimension>, selection: &Selection) -> UsageReport {
        // A file can be a day older than its last message says: clocks are set back.
        let day = SignedDuration::from_hours(24);
        let scan = UsageScan {
            wanted: Wanted { tools: dimensions.contains(&Dimension::Tool) },
            since: selection.since.and_then(|since| since.checked_sub(day).ok()),
        };
        let inventory = self.inventory();
        let usage = self.home().usage(&inventory, &scan, self.cache(), &|_, _| {});
        let by = dimensions.iter().map(|dimension| dimension.name()).collect();
        let grouping = Grouping { dimensions, zone: self.zone().clone() };
        let report = report(&usage.ledger, self.prices(), &grouping, selection, self.now());
        let rows = report.rows.iter();
        UsageReport {
            by,
            rows: rows
                .map(|row| UsageRow { keys: row.keys.clone(), total: (&row.total).into() })
                .collect(),
            total: (&report.total).into(),
            unknown_models: report.doubts.unknown_models,
            skipped: usage.skipped.len(),
        }
    }
}
