//! Tokens and what they cost.
//!
//! | part | owns |
//! |---|---|
//! | `rows` | sums as rows |
//! | `csv` | the same rows as comma-separated values |
//! | `explain` | from lines to amounts, message by message |

mod csv;
mod explain;
mod rows;

use jiff::SignedDuration;
use recto_session::usage::Dimension;
use recto_session::usage::Grouping;
use recto_session::usage::Ledger;
use recto_session::usage::Report;
use recto_session::usage::Selection;
use recto_session::usage::Wanted;
use recto_session::usage::helpers;
use recto_session::usage::report;
use recto_store::Skipped;
use recto_store::UsageScan;

use crate::error::ViewError;
use crate::library::Library;

pub use csv::csv_lines;
pub use explain::ExplainOrder;
pub use explain::ExplainedMessage;
pub use explain::Explanation;
pub use rows::HelperRow;
pub use rows::UsageNotes;
pub use rows::UsageReport;
pub use rows::UsageRow;
pub use rows::UsageTotal;

/// The messages of logs, each once, and those of them that are meant.
#[derive(Debug)]
pub struct UsageCount {
    library: Library,
    /// All messages.
    pub ledger: Ledger,
    /// Which of them are meant.
    pub selection: Selection,
    /// Logs that could not be read, or not to the end.
    pub skipped: Vec<Skipped>,
}

/// Reads what rows stand for: one or two of the known names, with a comma.
pub fn dimensions(text: &str) -> Result<Vec<Dimension>, ViewError> {
    let all = || Dimension::ALL.map(Dimension::name).join(", ");
    let mut dimensions = Vec::new();
    for name in text.split(',') {
        let known = Dimension::ALL.iter().find(|dimension| dimension.name() == name.trim());
        match known {
            Some(known) if !dimensions.contains(known) && dimensions.len() < 2 => {
                dimensions.push(*known);
            }
            _ => {
                let message = "`by` accepts one or two different groupings";
                return Err(ViewError::refused("bad-grouping", message).with_hint(all()));
            }
        }
    }
    Ok(dimensions)
}

impl Library {
    /// Counts the messages that are meant. `tell` is called with the bytes that were read so
    /// far and those of all, from any thread.
    pub fn count_usage(
        &self,
        dimensions: &[Dimension],
        selection: Selection,
        tell: &(dyn Fn(u64, u64) + Sync),
    ) -> UsageCount {
        // A file can be a day older than its last message says: clocks are set back.
        let day = SignedDuration::from_hours(24);
        let scan = UsageScan {
            wanted: Wanted { tools: dimensions.contains(&Dimension::Tool) },
            since: selection.since.and_then(|since| since.checked_sub(day).ok()),
        };
        let usage = self.home().usage(&self.inventory(), &scan, self.cache(), tell);
        let (ledger, skipped) = (usage.ledger, usage.skipped);
        UsageCount { library: self.clone(), ledger, selection, skipped }
    }

    /// Tokens and cost of the messages that are meant.
    pub fn usage(&self, dimensions: &[Dimension], selection: Selection) -> UsageReport {
        self.count_usage(dimensions, selection, &|_, _| {}).answer(dimensions)
    }
}

impl UsageCount {
    /// Adds up.
    pub fn report(&self, dimensions: &[Dimension]) -> Report {
        let (library, dimensions) = (&self.library, dimensions.to_vec());
        let grouping = Grouping { dimensions, zone: library.zone().clone() };
        report(&self.ledger, library.prices(), &grouping, &self.selection, library.now())
    }

    /// Adds up, and gives rows with what must be said beside the figures.
    pub fn answer(&self, dimensions: &[Dimension]) -> UsageReport {
        let report = self.report(dimensions);
        UsageReport {
            by: dimensions.iter().map(|dimension| dimension.name()).collect(),
            rows: report.rows.iter().map(|row| UsageRow::of(dimensions, row)).collect(),
            total: (&report.total).into(),
            helpers: helpers(&self.ledger, &self.selection).as_ref().map(HelperRow::from),
            notes: UsageNotes::of(&report.doubts, &self.ledger),
            prices: self.library.prices().sources.clone(),
            skipped: self.skipped.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use recto_session::usage::PriceTable;
    use recto_store::Home;
    use recto_testkit::Client;
    use recto_testkit::FakeHome;
    use recto_testkit::SessionBuilder;

    use super::*;
    use crate::LibraryOptions;

    const ONE: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    #[test]
    fn a_row_names_what_it_stands_for_and_sums_are_those_of_the_explanation() {
        let fake = FakeHome::new();
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        fake.add(&SessionBuilder::new(ONE, Client::V2_1_325).prompt("Go").answer("Gone."), now);
        let library = Library::new(LibraryOptions {
            home: Home::open(fake.path()).unwrap(),
            cache: None,
            data: None,
            prices: PriceTable::built_in().unwrap(),
            zone: Some(TimeZone::UTC),
            now: Some(now),
        });
        let by = [Dimension::Day, Dimension::Session];
        let count = library.count_usage(&by, Selection::default(), &|_, _| {});
        let usage = serde_json::json!(count.answer(&by));
        let row = &usage["rows"][0];
        assert_eq!((&row["day"], &row["session"]), (&"2026-11-16".into(), &ONE.into()));
        assert_eq!(row["messages"], usage["total"]["messages"]);
        assert_eq!(row.get("start"), None);
        let explained: Vec<_> = count.explain(0, 10).messages().collect();
        let message = serde_json::json!(explained[0]);
        assert_eq!(explained.len() as u64, usage["total"]["messages"].as_u64().unwrap());
        for name in ["input_tokens", "output_tokens", "cache_read_input_tokens", "cost_usd"] {
            assert_eq!(message[name], usage["total"][name], "{name}");
        }
        let block = library.usage(&[Dimension::Block], Selection::default());
        let block = serde_json::json!(block.rows[0]);
        assert_eq!((block["active"].is_boolean(), block["end"].is_string()), (true, true));
    }
}
