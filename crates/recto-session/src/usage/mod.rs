//! Tokens and their price: one record for each API message, across all logs.
//!
//! A message is written as several lines, and forks and resumed sessions copy
//! lines into other files. [`LogUsage`] takes the lines of one log and keeps a
//! record for each message; [`Ledger`] puts the logs together, so that a copy
//! counts once. [`PriceTable`] says what a record costs, and [`report`] adds up.
//!
//! What counts, and by which rule, is in `docs/concepts/counting.md`.

mod blocks;
mod counts;
mod group;
mod ledger;
mod line;
mod log_usage;
mod money;
mod packed;
mod price;
mod price_file;
mod project_label;
mod reconcile;
mod report;
mod rule;

pub use blocks::BillingBlock;
pub use blocks::Projection;
pub use counts::Counts;
pub use counts::Tokens;
pub use group::Dimension;
pub use group::Grouping;
pub use group::Selection;
pub use ledger::Ledger;
pub use ledger::LogFile;
pub use ledger::Sighting;
pub use line::UsageLine;
pub use line::may_matter;
pub use log_usage::LogUsage;
pub use log_usage::Record;
pub use log_usage::RecordFlags;
pub use log_usage::Wanted;
pub use money::Money;
pub use price::Amount;
pub use price::Part;
pub use price::PerMillion;
pub use price::PriceRow;
pub use price::PriceTable;
pub use price::Unpriced;
pub use price_file::PriceFileError;
pub use reconcile::Helpers;
pub use reconcile::helpers;
pub use report::Doubts;
pub use report::Report;
pub use report::Row;
pub use report::Total;
pub use report::report;
pub(crate) use rule::Seen;

#[cfg(test)]
mod tests;
