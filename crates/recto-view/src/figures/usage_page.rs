//! Tokens and what they cost, as a page shows them. All sums are those of
//! `recto_session::usage::report`.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use jiff::SignedDuration;
use jiff::Span;
use jiff::civil::Date;
use recto_session::usage::Dimension;
use recto_session::usage::Doubts;
use recto_session::usage::Grouping;
use recto_session::usage::Ledger;
use recto_session::usage::Money;
use recto_session::usage::Report;
use recto_session::usage::Row;
use recto_session::usage::Selection;
use recto_session::usage::Total;
use recto_session::usage::Wanted;
use recto_session::usage::report;
use recto_store::Usage;
use recto_store::UsageScan;

use crate::figures::Period;
use crate::library::Library;

/// How many bars a chart has at most.
const MOST_BARS: usize = 120;

/// How many parts a bar has, before all others are one.
const MOST_SERIES: usize = 7;

/// How many sessions are listed.
const TOP_SESSIONS: usize = 10;

/// What a chart is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Dollars.
    Cost,
    /// Tokens of all kinds.
    Tokens,
}

impl Metric {
    /// How much it is, to compare with others.
    pub fn of(self, total: &Total) -> u128 {
        match self {
            Metric::Cost => total.known_cost.pico(),
            Metric::Tokens => u128::from(total.tokens.all()),
        }
    }
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct UsageQuestion {
    /// The time that is summed up.
    pub period: Period,
    /// The name of a project's directory.
    pub project: Option<String>,
    /// The name of a model.
    pub model: Option<String>,
    /// Only this session.
    pub session: Option<String>,
    /// What the parts of bars are: projects or models.
    pub by: Dimension,
    /// What is drawn.
    pub metric: Metric,
}

impl UsageQuestion {
    /// The messages of a period that are meant.
    pub fn selection(&self, library: &Library, period: &Period) -> Selection {
        Selection {
            since: period.since(library.zone()),
            until: period.until(library.zone()),
            project_key: self.project.clone(),
            exact_model: self.model.clone(),
            session: self.session.clone(),
            ..Selection::default()
        }
    }
}

/// A part of the whole: a project, a model, a day.
#[derive(Debug, Clone)]
pub struct Slice {
    /// By which it is asked for.
    pub key: String,
    /// What people call it.
    pub label: String,
    /// The sum.
    pub total: Total,
}

/// A session and what it cost.
#[derive(Debug, Clone)]
pub struct SessionCost {
    /// The session.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Its sum.
    pub total: Total,
}

/// One bar of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// What the bar stands for.
    pub label: String,
    /// The days it stands for, to look closer.
    pub from: Date,
    /// Its last day.
    pub to: Date,
    /// One for each series.
    pub values: Vec<u128>,
}

/// Bars over time, each in parts.
#[derive(Debug, Clone, Default)]
pub struct Stack {
    /// What the parts are, the largest first.
    pub series: Vec<String>,
    /// The bars, by time.
    pub bars: Vec<Bucket>,
    /// What a bar stands for.
    pub unit: &'static str,
    /// Whether older bars are left out.
    pub is_cut: bool,
}

/// What the cache was good for, by the prices of each message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheSaving {
    /// What reading cost less than sending again.
    pub saved: Money,
    /// What writing cost more than sending.
    pub spent: Money,
}

/// Everything on the page.
#[derive(Debug)]
pub struct UsageFigures {
    /// The sum of the period.
    pub total: Total,
    /// The period before, where there is one.
    pub before: Option<Before>,
    /// The first and the last day that is shown; none if nothing counts.
    pub days: Option<(Date, Date)>,
    /// By day.
    pub by_day: Vec<Slice>,
    /// By project.
    pub by_project: Vec<Slice>,
    /// By model.
    pub by_model: Vec<Slice>,
    /// The dearest sessions.
    pub sessions: Vec<SessionCost>,
    /// How many sessions there are.
    pub session_count: usize,
    /// The chart.
    pub stack: Stack,
    /// What the cache saved.
    pub cache: CacheSaving,
    /// What must be said beside the figures.
    pub doubts: Doubts,
    /// Logs that could not be read.
    pub skipped: Vec<String>,
    /// Projects and models of the period, to choose from: key and label.
    pub projects: Vec<(String, String)>,
    /// Models of the period, to choose from.
    pub models: Vec<String>,
    /// Sessions by project and by model, to compare.
    pub sessions_of: HashMap<(Dimension, String), usize>,
}

/// The period before.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    /// The sum of that period.
    pub total: Total,
    /// Days with usage.
    pub active_days: usize,
    /// Projects with usage.
    pub projects: usize,
    /// Models with usage.
    pub models: usize,
    /// The dearest day.
    pub peak: Money,
}

impl UsageFigures {
    /// Days with usage.
    pub fn active_days(&self) -> usize {
        self.by_day.len()
    }

    /// The day that cost the most.
    pub fn peak(&self) -> Option<&Slice> {
        self.by_day.iter().max_by_key(|day| (day.total.known_cost, day.total.tokens.all()))
    }

    /// How many days there are, with and without messages.
    pub fn day_count(&self, period: &Period) -> u64 {
        let between = |(from, to): (Date, Date)| {
            to.since(from).map_or(1, |span| i64::from(span.get_days()) + 1)
        };
        let days = period.days().or_else(|| self.days.map(between)).unwrap_or(1);
        u64::try_from(days).unwrap_or(1).max(1)
    }
}

impl Library {
    /// Reads the logs that can hold messages of a period and the one before.
    pub fn read_usage(&self, question: &UsageQuestion) -> Usage {
        let earliest = question.period.before().unwrap_or_else(|| question.period.clone());
        // A file can be a day older than its last message says: clocks are set back.
        let day = SignedDuration::from_hours(24);
        let since = earliest.since(self.zone()).and_then(|since| since.checked_sub(day).ok());
        let scan = UsageScan { wanted: Wanted::default(), since };
        self.home().usage(&self.inventory(), &scan, self.cache(), &|_, _| {})
    }
}

impl Library {
    /// Adds up, in every way that the page shows.
    pub fn usage_figures(&self, question: &UsageQuestion) -> UsageFigures {
        let usage = self.read_usage(question);
        let adding =
            Adding { library: self, ledger: &usage.ledger, labels: usage.ledger.project_labels() };
        let selection = question.selection(self, &question.period);
        let by_day = adding.report(&[Dimension::Day], &selection);
        let projects = adding.slices(Dimension::Project, &selection);
        let models = adding.slices(Dimension::Model, &selection);
        let sessions = adding.report(&[Dimension::Session], &selection);
        let days = days_of(&by_day, &question.period);
        let unit = days.map_or(Dimension::Day, |(from, to)| unit(from, to));
        let stacked = adding.report(&[unit, question.by], &selection);
        let of_series = if question.by == Dimension::Model { &models } else { &projects };
        // What could be chosen does not depend on what was.
        let any = UsageQuestion { project: None, model: None, ..question.clone() };
        let any = any.selection(self, &question.period);
        UsageFigures {
            before: question.period.before().map(|before| adding.before(question, &before)),
            stack: stack(days, unit, question.metric, of_series, &stacked.rows),
            cache: adding.cache(&selection),
            session_count: sessions.rows.len(),
            sessions: adding.top_sessions(&sessions.rows),
            sessions_of: adding.sessions_of(&selection),
            projects: adding
                .slices(Dimension::Project, &any)
                .into_iter()
                .map(|slice| (slice.key, slice.label))
                .collect(),
            models: adding
                .slices(Dimension::Model, &any)
                .into_iter()
                .map(|slice| slice.key)
                .collect(),
            days,
            by_day: by_day.rows.iter().map(|row| slice_of(row, None)).collect(),
            by_project: projects,
            by_model: models,
            total: by_day.total,
            doubts: by_day.doubts,
            skipped: usage.skipped.iter().map(|one| one.path.display().to_string()).collect(),
        }
    }
}

fn slice_of(row: &Row, key: Option<String>) -> Slice {
    let label = row.keys.first().cloned().unwrap_or_default();
    Slice { key: key.unwrap_or_else(|| label.clone()), label, total: row.total }
}

/// Messages, and how they are added up.
struct Adding<'a> {
    library: &'a Library,
    ledger: &'a Ledger,
    /// What projects are called, by the names of their directories.
    labels: BTreeMap<String, String>,
}

impl Adding<'_> {
    fn report(&self, dimensions: &[Dimension], selection: &Selection) -> Report {
        let zone = self.library.zone().clone();
        let grouping = Grouping { dimensions: dimensions.to_vec(), zone };
        report(self.ledger, self.library.prices(), &grouping, selection, self.library.now())
    }

    fn slices(&self, dimension: Dimension, selection: &Selection) -> Vec<Slice> {
        let rows = self.report(&[dimension], selection).rows;
        let key_of: HashMap<&String, &String> =
            self.labels.iter().map(|(key, label)| (label, key)).collect();
        let slice = |row: &Row| {
            let key = row.keys.first().and_then(|label| key_of.get(label));
            let key = key.filter(|_| dimension == Dimension::Project);
            slice_of(row, key.map(|key| (*key).clone()))
        };
        rows.iter().map(slice).collect()
    }

    fn before(&self, question: &UsageQuestion, period: &Period) -> Before {
        let selection = question.selection(self.library, period);
        let days = self.report(&[Dimension::Day], &selection);
        let count = |dimension| self.report(&[dimension], &selection).rows.len();
        Before {
            total: days.total,
            active_days: days.rows.len(),
            projects: count(Dimension::Project),
            models: count(Dimension::Model),
            peak: days.rows.iter().map(|row| row.total.known_cost).max().unwrap_or_default(),
        }
    }

    fn top_sessions(&self, rows: &[Row]) -> Vec<SessionCost> {
        let inventory = self.library.inventory();
        let cost = |row: &Row| {
            let id = row.keys.first().cloned().unwrap_or_default();
            let title = id.parse().ok().and_then(|id| self.library.title_of(&inventory, id));
            SessionCost { id, title, total: row.total }
        };
        rows.iter().take(TOP_SESSIONS).map(cost).collect()
    }

    /// How many sessions a project or a model was used in.
    fn sessions_of(&self, selection: &Selection) -> HashMap<(Dimension, String), usize> {
        let mut seen: HashMap<(Dimension, String), BTreeSet<&str>> = HashMap::new();
        for record in self.ledger.records() {
            if !selection.holds(self.ledger, record) {
                continue;
            }
            let Some(session) = self.ledger.session_of(record) else { continue };
            let project = self.ledger.name(self.ledger.project_of(record));
            let model = record.model.map_or("unknown", |model| self.ledger.name(model));
            for key in [(Dimension::Project, project), (Dimension::Model, model)] {
                let sessions = seen.entry((key.0, key.1.to_owned())).or_default();
                sessions.insert(self.ledger.name(session));
            }
        }
        seen.into_iter().map(|(key, sessions)| (key, sessions.len())).collect()
    }

    fn cache(&self, selection: &Selection) -> CacheSaving {
        let (mut saved, mut spent) = (0u128, 0u128);
        for record in self.ledger.records() {
            if !selection.holds(self.ledger, record) {
                continue;
            }
            let model = record.model.map(|model| self.ledger.name(model));
            let Ok(amount) = self.library.prices().amount(model, record) else { continue };
            let [input, _, read, writes @ .., _] = &amount.parts;
            let factor = u128::from(amount.factor);
            let less = input.price.pico().saturating_sub(read.price.pico());
            saved += less * u128::from(read.number) * factor / 1000;
            for write in writes {
                let more = write.price.pico().saturating_sub(input.price.pico());
                spent += more * u128::from(write.number) * factor / 1000;
            }
        }
        CacheSaving { saved: Money::from_pico(saved), spent: Money::from_pico(spent) }
    }
}

/// The days that are shown: those of the period, or from the first message on.
fn days_of(by_day: &Report, period: &Period) -> Option<(Date, Date)> {
    let days = by_day.rows.iter().filter_map(|row| row.keys.first()?.parse::<Date>().ok());
    let (mut first, mut last) = (None, None);
    for day in days {
        first = Some(first.map_or(day, |first: Date| first.min(day)));
        last = Some(last.map_or(day, |last: Date| last.max(day)));
    }
    Some((period.from.or(first)?, period.to.or(last)?)).filter(|_| first.is_some())
}

/// What a bar stands for.
fn unit(from: Date, to: Date) -> Dimension {
    let days = to.since(from).map_or(i32::MAX, |span| span.get_days());
    match days {
        ..1 => Dimension::Hour,
        1..100 => Dimension::Day,
        100..730 => Dimension::Week,
        _ => Dimension::Month,
    }
}

/// Puts rows of a time and a part each into bars, without gaps.
fn stack(
    days: Option<(Date, Date)>,
    unit: Dimension,
    metric: Metric,
    slices: &[Slice],
    rows: &[Row],
) -> Stack {
    let Some((from, to)) = days else { return Stack::default() };
    let mut ranked: Vec<&Slice> = slices.iter().collect();
    ranked.sort_by_key(|slice| std::cmp::Reverse(metric.of(&slice.total)));
    let shown = if ranked.len() > MOST_SERIES + 1 { MOST_SERIES } else { ranked.len() };
    let mut series: Vec<String> = ranked[..shown].iter().map(|one| one.label.clone()).collect();
    if shown < ranked.len() {
        series.push(format!("{} others", ranked.len() - shown));
    }
    let place: HashMap<&str, usize> =
        ranked[..shown].iter().enumerate().map(|(at, one)| (one.label.as_str(), at)).collect();
    let mut bars = buckets(from, to, unit);
    let is_cut = bars.len() > MOST_BARS;
    if is_cut {
        bars.drain(..bars.len() - MOST_BARS);
    }
    bars.iter_mut().for_each(|bar| bar.values = vec![0; series.len()]);
    let at: HashMap<String, usize> =
        bars.iter().enumerate().map(|(at, bar)| (bar.label.clone(), at)).collect();
    for row in rows {
        let [time, part] = row.keys.as_slice() else { continue };
        let Some(bar) = at.get(time).and_then(|at| bars.get_mut(*at)) else { continue };
        let part = place.get(part.as_str()).copied().unwrap_or(shown);
        if let Some(value) = bar.values.get_mut(part) {
            *value += metric.of(&row.total);
        }
    }
    Stack { series, bars, unit: unit.name(), is_cut }
}

/// The hours, days, weeks or months between two days, with the names that reports
/// give them.
fn buckets(from: Date, to: Date, unit: Dimension) -> Vec<Bucket> {
    let mut buckets: Vec<Bucket> = Vec::new();
    if unit == Dimension::Hour {
        let label = |hour: u8| format!("{from} {hour:02}:00");
        let bucket = |hour| Bucket { label: label(hour), from, to: from, values: Vec::new() };
        return (0..24).map(bucket).collect();
    }
    let mut day = from;
    // A log can say any date at all; a life has fewer days than this.
    for _ in 0..50_000 {
        if day > to {
            break;
        }
        let label = match unit {
            Dimension::Week => {
                let week = day.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Dimension::Month => format!("{:04}-{:02}", day.year(), day.month()),
            _ => day.to_string(),
        };
        match buckets.last_mut() {
            Some(last) if last.label == label => last.to = day,
            _ => buckets.push(Bucket { label, from: day, to: day, values: Vec::new() }),
        }
        let Ok(next) = day.checked_add(Span::new().days(1)) else { break };
        day = next;
    }
    buckets
}

#[cfg(test)]
mod tests {
    use recto_session::Tokens;

    use super::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    fn row(keys: &[&str], tokens: u64) -> Row {
        let total =
            Total { tokens: Tokens { input: tokens, ..Tokens::default() }, ..Total::default() };
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Row { keys, total, block: None, projection: None }
    }

    #[test]
    fn bars_have_no_gaps_and_small_parts_are_one() {
        let slices: Vec<Slice> =
            (0..10).map(|at| slice_of(&row(&[&format!("p{at}")], 100 - at), None)).collect();
        let rows = [
            row(&["2026-11-01", "p0"], 5),
            row(&["2026-11-03", "p8"], 2),
            row(&["2026-11-03", "p9"], 1),
            row(&["1999-01-01", "p0"], 7),
        ];
        let days = Some((date("2026-11-01"), date("2026-11-03")));
        let stack = stack(days, Dimension::Day, Metric::Tokens, &slices, &rows);
        assert_eq!(stack.series.len(), 8);
        assert_eq!(stack.series[7], "3 others");
        let sums: Vec<(&str, u128, u128)> = stack
            .bars
            .iter()
            .map(|bar| (bar.label.as_str(), bar.values[0], bar.values[7]))
            .collect();
        assert_eq!(sums, [("2026-11-01", 5, 0), ("2026-11-02", 0, 0), ("2026-11-03", 0, 3)]);
    }

    #[test]
    fn what_a_bar_stands_for_depends_on_the_span() {
        let unit = |from, to| unit(date(from), date(to)).name();
        assert_eq!(unit("2026-11-01", "2026-11-01"), "hour");
        assert_eq!(unit("2026-11-01", "2026-11-30"), "day");
        assert_eq!(unit("2026-01-01", "2026-12-31"), "week");
        assert_eq!(unit("2020-01-01", "2026-12-31"), "month");
        let weeks = buckets(date("2025-12-28"), date("2026-01-06"), Dimension::Week);
        let labels: Vec<&str> = weeks.iter().map(|week| week.label.as_str()).collect();
        assert_eq!(labels, ["2025-W52", "2026-W01", "2026-W02"]);
        assert_eq!(weeks[1].from.to_string(), "2025-12-29");
        assert_eq!(weeks[1].to.to_string(), "2026-01-04");
        assert_eq!(buckets(date("2026-11-01"), date("2026-11-01"), Dimension::Hour).len(), 24);
    }
}
