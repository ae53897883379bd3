//! Adds records up.

use std::collections::BTreeSet;
use std::collections::HashMap;

use jiff::SignedDuration;
use jiff::Timestamp;

use super::BillingBlock;
use super::Dimension;
use super::Grouping;
use super::Ledger;
use super::Money;
use super::PriceTable;
use super::Projection;
use super::Record;
use super::RecordFlags;
use super::Selection;
use super::blocks::billing_blocks;
use super::group::Code;
use super::project_label::ProjectLabels;
use crate::Tokens;

/// Records, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Total {
    /// API messages.
    pub messages: u64,
    /// Their tokens. Those of answers are as logged: not more than this is sure.
    pub tokens: Tokens,
    /// Tokens of answers at most, where clients wrote too few.
    pub most_output: u64,
    /// Web searches.
    pub web_searches: u64,
    /// The price of what has one.
    pub known_cost: Money,
    /// Messages without a price.
    pub unpriced: u64,
    /// Messages from clients that log too few output tokens.
    pub under_reported: u64,
}

impl Total {
    fn add(&mut self, record: &Record, cost: Option<Money>) {
        let counts = &record.counts;
        self.messages += 1;
        self.tokens.add((*counts).into());
        self.most_output += record.most_output();
        self.web_searches += u64::from(counts.web_searches);
        match cost {
            Some(cost) => self.known_cost = self.known_cost.plus(cost),
            None => self.unpriced += 1,
        }
        self.under_reported += u64::from(record.flags.has(RecordFlags::UNDER_REPORTED));
    }

    /// The price, if all of it is known.
    pub fn cost(&self) -> Option<Money> {
        (self.unpriced == 0).then_some(self.known_cost)
    }
}

/// Records that belong together.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it stands for, one for each dimension.
    pub keys: Vec<String>,
    /// The sum.
    pub total: Total,
    /// The window, where rows are windows.
    pub block: Option<BillingBlock>,
    /// Where the window goes, if it is open.
    pub projection: Option<Projection>,
}

/// What must be said beside the figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Doubts {
    /// Messages without an id, whose lines were counted one by one.
    pub no_id: u64,
    /// Messages with a count that cannot be true and was left out.
    pub bad_count: u64,
    /// Messages whose cache writes by lifetime are more than all of them.
    pub tiers_differ: u64,
    /// Messages without a time, also those that a span of time leaves out for that.
    pub no_time: u64,
    /// Messages more than a day after now.
    pub in_the_future: u64,
    /// Models without a price.
    pub unknown_models: Vec<String>,
    /// Messages of known models, sent in a way that has no price.
    pub unknown_way: u64,
}

/// Rows and their sum.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// The rows: by time, or the dearest first.
    pub rows: Vec<Row>,
    /// All records that are meant.
    pub total: Total,
    /// What must be said beside the figures.
    pub doubts: Doubts,
}

/// Adds up the records that are meant.
pub fn report(
    ledger: &Ledger,
    prices: &PriceTable,
    grouping: &Grouping,
    selection: &Selection,
    now: Timestamp,
) -> Report {
    let blocks = match grouping.dimensions.contains(&Dimension::Block) {
        true => billing_blocks(ledger.records().iter().filter_map(Record::time).collect()),
        false => Vec::new(),
    };
    let block_at = |time: Timestamp| {
        let after = blocks.partition_point(|block| block.start <= time);
        after.checked_sub(1).map(|place| blocks[place])
    };
    let block_of = |time: Timestamp| block_at(time).map(|block| block.start);
    let mut groups: HashMap<Vec<Code>, Total> = HashMap::new();
    let (mut total, mut doubts) = (Total::default(), Doubts::default());
    let mut unknown = BTreeSet::new();
    let soon = now.saturating_add(SignedDuration::from_hours(24)).unwrap_or(Timestamp::MAX);
    let at_any_time = Selection { since: None, until: None, ..selection.clone() };
    for record in ledger.records() {
        if !selection.holds(ledger, record) {
            // No span of time holds it, and that must not go unsaid.
            doubts.no_time +=
                u64::from(record.time().is_none() && at_any_time.holds(ledger, record));
            continue;
        }
        let model = record.model.map(|model| ledger.name(model));
        let amount = prices.amount(model, record).map(|amount| amount.total);
        doubts.look_at(record, soon);
        if amount.is_err() {
            match model.is_some_and(|model| prices.knows(model)) {
                true => doubts.unknown_way += 1,
                false => {
                    unknown.insert(model.unwrap_or("unknown"));
                }
            }
        }
        let codes = grouping.dimensions.iter();
        let codes = codes.map(|one| grouping.code(*one, ledger, record, &block_of)).collect();
        groups.entry(codes).or_default().add(record, amount.ok());
        total.add(record, amount.ok());
    }
    doubts.unknown_models = unknown.into_iter().map(str::to_owned).collect();
    let rows = rows(ledger, grouping, groups);
    let rows = rows.into_iter().map(|(codes, keys, total)| {
        let block = match codes.first() {
            Some(Code::Time(_, start)) if grouping.dimensions == [Dimension::Block] => {
                Timestamp::from_millisecond(*start).ok().and_then(block_at)
            }
            _ => None,
        };
        let projection =
            block.and_then(|block| block.projection(now, total.tokens.all(), total.cost()));
        Row { keys, total, block, projection }
    });
    Report { rows: rows.collect(), total, doubts }
}

type Group = (Vec<Code>, Vec<String>, Total);

/// The groups with their names, in order: times as they come, else by name, or
/// the dearest first where there is one dimension only.
fn rows(ledger: &Ledger, grouping: &Grouping, groups: HashMap<Vec<Code>, Total>) -> Vec<Group> {
    let labels = match grouping.dimensions.contains(&Dimension::Project) {
        true => ProjectLabels::of(ledger),
        false => ProjectLabels::default(),
    };
    let label = |(dimension, code): (&Dimension, &Code)| match (dimension, code) {
        (Dimension::Project, Code::Name(id)) => labels.label(*id, ledger),
        _ => grouping.label(*dimension, ledger, *code),
    };
    let mut rows: Vec<Group> = groups
        .into_iter()
        .map(|(codes, total)| {
            let keys = grouping.dimensions.iter().zip(&codes).map(label).collect();
            (codes, keys, total)
        })
        .collect();
    let is_time = grouping.dimensions.first().is_some_and(|dimension| dimension.is_time());
    let by_size = !is_time && grouping.dimensions.len() == 1;
    rows.sort_by(|(a_codes, a_keys, a), (b_codes, b_keys, b)| {
        let by_first = match (is_time, by_size) {
            (true, _) => a_codes.first().cmp(&b_codes.first()),
            (_, true) => (b.known_cost, b.tokens.all()).cmp(&(a.known_cost, a.tokens.all())),
            (false, false) => std::cmp::Ordering::Equal,
        };
        by_first.then_with(|| a_keys.cmp(b_keys))
    });
    rows
}

impl Doubts {
    fn look_at(&mut self, record: &Record, soon: Timestamp) {
        let has = |flag| u64::from(record.flags.has(flag));
        self.no_id += has(RecordFlags::NO_ID);
        self.bad_count += has(RecordFlags::BAD_COUNT);
        self.tiers_differ += has(RecordFlags::TIERS_DIFFER);
        self.no_time += u64::from(record.time().is_none());
        self.in_the_future += u64::from(record.time().is_some_and(|time| time > soon));
    }
}
