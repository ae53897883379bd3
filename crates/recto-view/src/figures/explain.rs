//! From lines to amounts, message by message.

use std::collections::HashMap;
use std::collections::HashSet;

use jiff::Timestamp;
use recto_session::usage::Counts;
use recto_session::usage::Ledger;
use recto_session::usage::Money;
use recto_session::usage::Record;
use recto_session::usage::Sighting;
use recto_session::usage::Total;
use recto_session::usage::Unpriced;
use recto_session::usage::report;

use crate::figures::UsageQuestion;
use crate::library::Library;

/// Messages and where their amounts are from.
#[derive(Debug)]
pub struct Explanation {
    /// All that are meant.
    pub total: Total,
    /// Some of them, in the order of time.
    pub messages: Vec<Explained>,
}

/// A message with all its lines.
#[derive(Debug)]
pub struct Explained {
    pub id: Option<String>,
    pub time: Option<Timestamp>,
    pub model: Option<String>,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub lines: Vec<SeenLine>,
    pub amount: Result<Priced, Unpriced>,
}

/// A line of a message.
#[derive(Debug)]
pub struct SeenLine {
    /// The file below the home, and the number of the line.
    pub place: String,
    pub counts: Counts,
    pub is_counted: bool,
    /// Why it counts, or does not.
    pub rule: &'static str,
}

/// An amount and how it comes about.
#[derive(Debug)]
pub struct Priced {
    /// The row of prices: model, first day, list and line there.
    pub row: String,
    pub source: String,
    pub is_long: bool,
    /// What is paid for, how many, the price of one, and all together.
    pub parts: Vec<(&'static str, u64, Money, Money)>,
    /// By which tokens are multiplied, in thousandths.
    pub factor: u64,
    pub total: Money,
}

impl Library {
    /// Explains some of the messages that are meant, from a place on.
    pub fn explain(&self, question: &UsageQuestion, from: usize, count: usize) -> Explanation {
        let usage = self.read_usage(question);
        let ledger = &usage.ledger;
        let selection = question.selection(self, &question.period);
        let grouping =
            recto_session::usage::Grouping { dimensions: Vec::new(), zone: self.zone().clone() };
        let total = report(ledger, self.prices(), &grouping, &selection, self.now()).total;
        let meant = ledger.records().iter().filter(|record| selection.holds(ledger, record));
        let mut records: Vec<&Record> = meant.collect();
        records.sort_by_key(|record| {
            (record.time(), &ledger.files()[record.counted_file as usize].path, record.line)
        });
        let shown: Vec<&Record> = records.into_iter().skip(from).take(count).collect();
        let keys: HashSet<u128> = shown.iter().map(|record| record.key).collect();
        let mut lines: HashMap<u128, Vec<Sighting>> = HashMap::new();
        for sighting in self.home().sightings(ledger, &keys) {
            lines.entry(sighting.key).or_default().push(sighting);
        }
        let messages = shown.into_iter().map(|record| {
            let lines = lines.get(&record.key).map_or(&[][..], Vec::as_slice);
            explained(self, ledger, record, lines)
        });
        Explanation { total, messages: messages.collect() }
    }
}

fn explained(library: &Library, ledger: &Ledger, record: &Record, lines: &[Sighting]) -> Explained {
    let text = |id: Option<recto_session::NameId>| id.map(|id| ledger.name(id).to_owned());
    let model = text(record.model);
    let amount = library.prices().amount(model.as_deref(), record).map(|amount| {
        let row = amount.row;
        let from = row.from.map_or_else(String::new, |from| format!(" from {from}"));
        let parts = amount.parts.iter().filter(|part| part.number > 0);
        Priced {
            row: format!("{}{from}", row.model),
            source: format!("{}, line {}", row.source, row.line),
            is_long: amount.is_long,
            parts: parts
                .map(|part| (part.name, part.number, part.price, part.price.times(part.number)))
                .collect(),
            factor: amount.factor,
            total: amount.total,
        }
    });
    let seen = |line: &Sighting| {
        let is_counted = record.is_counted_at(line);
        let rule = if is_counted { record.rule(lines.len()) } else { record.why_not(line) };
        let file = &ledger.files()[line.file as usize].path;
        SeenLine { place: format!("{file}:{}", line.line), counts: line.counts, is_counted, rule }
    };
    Explained {
        id: lines.first().map(|line| line.id.clone()).filter(|id| !id.is_empty()),
        time: record.time(),
        session: text(ledger.session_of(record)),
        agent: text(ledger.agent_of(record)),
        lines: lines.iter().map(seen).collect(),
        model,
        amount,
    }
}
