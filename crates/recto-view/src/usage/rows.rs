//! Sums as rows.

use recto_session::usage::Dimension;
use recto_session::usage::Doubts;
use recto_session::usage::Helpers;
use recto_session::usage::Ledger;
use recto_session::usage::Projection;
use recto_session::usage::Row;
use recto_session::usage::Total;
use serde::Serialize;
use serde::Serializer;

use crate::Moment;
use crate::TokenColumns;
use crate::dollars;

/// Tokens and cost.
#[derive(Debug, Serialize)]
pub struct UsageReport {
    /// What rows stand for.
    pub by: Vec<&'static str>,
    /// By time, or the dearest first.
    pub rows: Vec<UsageRow>,
    /// The sum of all rows.
    pub total: UsageTotal,
    /// What only clients counted; none where no session has its client's count, or with filters
    /// that it cannot be divided by.
    pub helpers: Option<HelperRow>,
    /// What must be said beside the figures.
    pub notes: UsageNotes,
    /// Where the prices are from.
    pub prices: Vec<String>,
    /// How many logs could not be read.
    pub skipped: usize,
}

/// Messages that belong together.
#[derive(Debug, Serialize)]
pub struct UsageRow {
    /// What the row stands for.
    #[serde(flatten)]
    pub keys: UsageKeys,
    /// Its sums.
    #[serde(flatten)]
    pub total: UsageTotal,
    /// The window of five hours, if the row is one.
    #[serde(flatten)]
    pub block: Option<BlockRow>,
}

/// What a row stands for: the names of its dimensions, and the value of each.
#[derive(Debug)]
pub struct UsageKeys(pub Vec<(&'static str, String)>);

impl Serialize for UsageKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Sums of messages.
#[derive(Debug, Serialize)]
pub struct UsageTotal {
    /// API messages.
    pub messages: u64,
    /// Their tokens.
    #[serde(flatten)]
    pub tokens: TokenColumns,
    /// The cost, if all of it is known.
    pub cost_usd: Option<f64>,
    /// The cost of what has a price.
    pub known_cost_usd: f64,
    /// Messages without a price.
    pub unpriced_messages: u64,
    /// Of those written to the cache, for five minutes.
    pub cache_creation_5m_tokens: u64,
    /// Of those written to the cache, for an hour.
    pub cache_creation_1h_tokens: u64,
    /// Web searches.
    pub web_searches: u64,
    /// More output than was logged is possible where clients wrote too little.
    pub output_tokens_at_most: u64,
    /// Messages from clients that log too few output tokens.
    pub under_reported_messages: u64,
}

/// The window of five hours that a row stands for.
#[derive(Debug, Serialize)]
pub struct BlockRow {
    /// When the window began.
    pub start: Moment,
    /// When it ends.
    pub end: Moment,
    /// Whether it is open.
    pub active: bool,
    /// Where it goes, if it is open.
    pub projection: Option<ProjectionRow>,
}

/// What an open window comes to at its end if messages go on as they do.
#[derive(Debug, Serialize)]
pub struct ProjectionRow {
    /// Tokens in a minute, up to now.
    pub tokens_per_minute: u64,
    /// Cost in an hour, up to now.
    pub cost_usd_per_hour: Option<f64>,
    /// Tokens at its end.
    pub tokens: u64,
    /// Cost at its end.
    pub cost_usd: Option<f64>,
    /// Minutes until its end.
    pub minutes_left: u64,
}

/// What clients counted and logs do not tell.
#[derive(Debug, Serialize)]
pub struct HelperRow {
    /// Sessions with a count of the client.
    pub sessions: u64,
    /// Those whose messages add up to it.
    pub agreeing: u64,
    /// What only the client counted.
    #[serde(flatten)]
    pub tokens: TokenColumns,
    /// Tokens of messages that the client did not count.
    pub uncounted_tokens: u64,
    /// What the client says that they cost.
    pub client_cost_usd: f64,
}

/// What must be said beside the figures.
#[derive(Debug, Serialize)]
pub struct UsageNotes {
    /// Models without a price: their cost is not in the sums.
    pub unknown_models: Vec<String>,
    /// Messages sent in a way that has no price.
    pub unknown_way: u64,
    /// Messages with a count that cannot be true.
    pub bad_counts: u64,
    /// Messages without an id.
    pub no_id: u64,
    /// Messages whose cache writes by lifetime are more than all of them.
    pub tiers_differ: u64,
    /// Messages without a time.
    pub no_time: u64,
    /// Messages with a time in the future.
    pub in_the_future: u64,
    /// Lines that are too long to be read.
    pub long_lines: u64,
    /// Times that go back.
    pub clock_jumps: u64,
    /// Messages that stand in more than one log.
    pub copies: u64,
}

impl UsageRow {
    pub(super) fn of(dimensions: &[Dimension], row: &Row) -> UsageRow {
        let names = dimensions.iter().map(|dimension| dimension.name());
        UsageRow {
            keys: UsageKeys(names.zip(row.keys.iter().cloned()).collect()),
            total: (&row.total).into(),
            block: row.block.map(|block| BlockRow {
                start: Moment(block.start),
                end: Moment(block.end),
                active: row.projection.is_some(),
                projection: row.projection.map(ProjectionRow::from),
            }),
        }
    }
}

impl From<&Total> for UsageTotal {
    fn from(total: &Total) -> UsageTotal {
        UsageTotal {
            messages: total.messages,
            tokens: total.tokens.into(),
            cost_usd: total.cost().map(dollars),
            known_cost_usd: dollars(total.known_cost),
            unpriced_messages: total.unpriced,
            cache_creation_5m_tokens: total.tokens.cache_creation_5m,
            cache_creation_1h_tokens: total.tokens.cache_creation_1h,
            web_searches: total.web_searches,
            output_tokens_at_most: total.most_output,
            under_reported_messages: total.under_reported,
        }
    }
}

impl From<Projection> for ProjectionRow {
    fn from(open: Projection) -> ProjectionRow {
        ProjectionRow {
            tokens_per_minute: open.tokens_per_minute,
            cost_usd_per_hour: open.cost_per_hour.map(dollars),
            tokens: open.tokens,
            cost_usd: open.cost.map(dollars),
            minutes_left: open.minutes_left,
        }
    }
}

impl From<&Helpers> for HelperRow {
    fn from(helpers: &Helpers) -> HelperRow {
        HelperRow {
            sessions: helpers.sessions,
            agreeing: helpers.agreeing,
            tokens: helpers.tokens.into(),
            uncounted_tokens: helpers.uncounted,
            client_cost_usd: dollars(helpers.client_cost),
        }
    }
}

impl UsageNotes {
    pub(super) fn of(doubts: &Doubts, ledger: &Ledger) -> UsageNotes {
        UsageNotes {
            unknown_models: doubts.unknown_models.clone(),
            unknown_way: doubts.unknown_way,
            bad_counts: doubts.bad_count,
            no_id: doubts.no_id,
            tiers_differ: doubts.tiers_differ,
            no_time: doubts.no_time,
            in_the_future: doubts.in_the_future,
            long_lines: ledger.long_lines,
            clock_jumps: ledger.clock_jumps,
            copies: ledger.copies,
        }
    }
}
