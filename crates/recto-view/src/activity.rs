//! When people and models worked: by day, by hour of the week, by session.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;

use jiff::SignedDuration;
use jiff::Timestamp;
use jiff::civil::Date;
use recto_session::NameId;
use recto_session::usage::Dimension;
use recto_session::usage::Grouping;
use recto_session::usage::Ledger;
use recto_session::usage::Record;
use recto_session::usage::Selection;
use recto_session::usage::Total;
use recto_session::usage::report;
use recto_store::UsageScan;

use crate::figures::Period;
use crate::library::Library;

/// How many weeks the map of days has.
pub const WEEKS: usize = 53;

/// How many of the largest sessions are listed.
const MOST_SESSIONS: usize = 10;

/// What is asked. The map of days is always that of a year.
#[derive(Debug, Clone)]
pub struct ActivityQuestion {
    /// The time that is summed up.
    pub period: Period,
    /// The name of a model.
    pub model: Option<String>,
    /// What the top sessions are sorted by.
    pub top_by: Measure,
}

/// By what days and sessions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Messages of models.
    Messages,
    /// Sessions.
    Sessions,
    /// Tokens of answers.
    Output,
    /// From the first message to the last one.
    Duration,
}

/// When people and models worked. Messages are those of models.
#[derive(Debug)]
pub struct Activity {
    /// The day of the question.
    pub today: Date,
    /// Days of the last year that have any.
    pub days: BTreeMap<Date, Amounts>,
    /// Messages of the period by weekday, from Monday, and hour.
    pub hours: [[u64; 24]; 7],
    /// Usage of that day.
    pub usage_today: Total,
    /// Usage of the period.
    pub usage: Total,
    /// The period of the same length before; none if it has no beginning, or had nothing.
    pub usage_before: Option<Total>,
    /// How many days the period has.
    pub day_count: u64,
    /// How many sessions the period has.
    pub session_count: usize,
    /// Messages of a session: half of them have fewer, and nine of ten.
    pub messages_of_session: Option<(u64, u64)>,
    /// The sessions of the period with the most of what was asked for.
    pub top: Vec<TopSession>,
    /// The models of the last year and the period, to choose from.
    pub models: BTreeSet<String>,
}

/// What happened on a day, or in a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct Amounts {
    /// API messages.
    pub messages: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Sessions.
    pub sessions: u64,
    /// From the first message to the last one.
    pub milliseconds: u64,
}

impl Amounts {
    /// The amount of a measure.
    pub fn of(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Messages => self.messages,
            Measure::Sessions => self.sessions,
            Measure::Output => self.output,
            Measure::Duration => self.milliseconds,
        }
    }
}

/// One of the largest sessions.
#[derive(Debug)]
pub struct TopSession {
    /// The session.
    pub id: String,
    /// What it did.
    pub amounts: Amounts,
}

impl Library {
    /// Looks at a year and at the period.
    pub fn activity(&self, question: &ActivityQuestion) -> Activity {
        let (now, zone) = (self.now(), self.zone());
        let today = now.to_zoned(zone.clone()).date();
        let year = now.checked_sub(SignedDuration::from_hours(24 * 7 * WEEKS as i64)).ok();
        let before = question.period.before();
        let since = match before.as_ref().unwrap_or(&question.period).since(zone) {
            Some(since) => year.map(|year| year.min(since)),
            None => None,
        };
        let scan = UsageScan { since, ..UsageScan::default() };
        let usage = self.home().usage(&self.inventory(), &scan, self.cache(), &|_, _| {});
        let ledger = &usage.ledger;
        let model = question.model.clone();
        let select = |since, until| Selection {
            since,
            until,
            exact_model: model.clone(),
            ..Selection::default()
        };
        let total = |selection: &Selection| -> Total {
            let grouping = Grouping { dimensions: vec![Dimension::Model], zone: zone.clone() };
            report(ledger, self.prices(), &grouping, selection, now).total
        };
        let of_period = |period: &Period| select(period.since(zone), period.until(zone));
        let midnight = today.to_zoned(zone.clone()).ok().map(|start| start.timestamp());
        let wanted = of_period(&question.period);
        let in_period: Vec<&Record> =
            ledger.records().iter().filter(|record| wanted.holds(ledger, record)).collect();
        let sessions = by_session(ledger, &in_period);
        let in_year = select(year, None);
        let in_year = ledger.records().iter().filter(|record| in_year.holds(ledger, record));
        let days = by_day(self, ledger, in_year);
        let first_day = question.period.from.or_else(|| days.keys().next().copied());
        let day_count = first_day.map_or(1, |first| {
            let last = question.period.to.unwrap_or(today).min(today);
            last.since(first).map_or(1, |span| u64::from(span.get_days().unsigned_abs()) + 1)
        });
        Activity {
            today,
            hours: by_hour(self, &in_period),
            usage_today: total(&select(midnight, None)),
            usage: total(&wanted),
            usage_before: before
                .map(|before| total(&of_period(&before)))
                .filter(|total| total.messages > 0),
            day_count,
            session_count: sessions.len(),
            messages_of_session: spread(sessions.values().map(|sum| sum.messages).collect()),
            top: top(ledger, &sessions, question.top_by),
            models: models(ledger),
            days,
        }
    }
}

fn models(ledger: &Ledger) -> BTreeSet<String> {
    let known: HashSet<NameId> = ledger.records().iter().filter_map(|one| one.model).collect();
    known.into_iter().map(|model| ledger.name(model).to_owned()).collect()
}

fn by_day<'a>(
    library: &Library,
    ledger: &Ledger,
    records: impl Iterator<Item = &'a Record>,
) -> BTreeMap<Date, Amounts> {
    let mut days: BTreeMap<Date, Amounts> = BTreeMap::new();
    let mut seen = HashSet::new();
    for record in records {
        let Some(time) = record.time() else { continue };
        let date = library.zone().to_datetime(time).date();
        let day = days.entry(date).or_default();
        day.messages += 1;
        day.output += u64::from(record.counts.output);
        if let Some(session) = ledger.session_of(record)
            && seen.insert((date, session))
        {
            day.sessions += 1;
        }
    }
    days
}

fn by_hour(library: &Library, records: &[&Record]) -> [[u64; 24]; 7] {
    let mut hours = [[0; 24]; 7];
    for time in records.iter().filter_map(|record| record.time()) {
        let at = library.zone().to_datetime(time);
        let weekday = at.weekday().to_monday_zero_offset() as usize;
        hours[weekday % 7][at.hour() as usize % 24] += 1;
    }
    hours
}

fn by_session(ledger: &Ledger, records: &[&Record]) -> HashMap<NameId, Amounts> {
    let mut sessions: HashMap<NameId, Amounts> = HashMap::new();
    let mut spans: HashMap<NameId, (Timestamp, Timestamp)> = HashMap::new();
    for record in records {
        let Some(session) = ledger.session_of(record) else { continue };
        let sum = sessions.entry(session).or_default();
        sum.messages += 1;
        sum.output += u64::from(record.counts.output);
        sum.sessions = 1;
        let Some(time) = record.time() else { continue };
        let span = spans.entry(session).or_insert((time, time));
        *span = (span.0.min(time), span.1.max(time));
        let length = span.1.duration_since(span.0).as_millis();
        sum.milliseconds = u64::try_from(length).unwrap_or(0);
    }
    sessions
}

fn top(ledger: &Ledger, sessions: &HashMap<NameId, Amounts>, by: Measure) -> Vec<TopSession> {
    let one = |(session, amounts): (&NameId, &Amounts)| TopSession {
        id: ledger.name(*session).to_owned(),
        amounts: *amounts,
    };
    let mut top: Vec<TopSession> = sessions.iter().map(one).collect();
    top.sort_by(|a, b| b.amounts.of(by).cmp(&a.amounts.of(by)).then_with(|| a.id.cmp(&b.id)));
    top.truncate(MOST_SESSIONS);
    top
}

/// The value that half of all are below or at, and nine of ten.
fn spread(mut values: Vec<u64>) -> Option<(u64, u64)> {
    values.sort_unstable();
    let at =
        |share: usize| values.get((values.len() * share).div_ceil(10).saturating_sub(1)).copied();
    Some((at(5)?, at(9)?))
}

impl Library {
    /// The sessions that have a message on a day.
    pub fn sessions_of_day(&self, day: Date) -> HashSet<String> {
        let period = Period::one_day(day);
        let (since, until) = (period.since(self.zone()), period.until(self.zone()));
        let selection = Selection { since, until, ..Selection::default() };
        let usage = self.count_usage(&[], selection, &|_, _| {});
        let ledger = &usage.ledger;
        let records = ledger.records().iter();
        let records = records.filter(|record| usage.selection.holds(ledger, record));
        let sessions: HashSet<NameId> =
            records.filter_map(|record| ledger.session_of(record)).collect();
        sessions.into_iter().map(|session| ledger.name(session).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_sessions_and_nine_of_ten_are_below_the_spread() {
        assert_eq!(spread(vec![]), None);
        assert_eq!(spread(vec![7]), Some((7, 7)));
        assert_eq!(spread((1..=10).rev().collect()), Some((5, 9)));
        assert_eq!(spread(vec![1, 1, 1, 100]), Some((1, 100)));
    }
}
