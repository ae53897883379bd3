//! When people and models worked: by day, by hour of the week, by session.

use std::collections::BTreeMap;
use std::collections::HashMap;

use jiff::SignedDuration;
use jiff::Timestamp;
use jiff::civil::Date;
use recto_session::usage::Dimension;
use recto_session::usage::Grouping;
use recto_session::usage::Ledger;
use recto_session::usage::Selection;
use recto_session::usage::Total;
use recto_session::usage::report;
use recto_store::UsageScan;

use crate::context::Context;
use crate::data::UsageTotal;

/// How many weeks are looked at.
pub(crate) const WEEKS: usize = 53;

/// How many of the largest sessions are listed.
const MOST_SESSIONS: usize = 10;

/// When people and models worked. Messages are those of models.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(crate) today: Date,
    /// Messages and output tokens of days that have any.
    pub(crate) days: BTreeMap<Date, DayActivity>,
    /// Messages by weekday, from Monday, and hour.
    pub(crate) hours: [[u64; 24]; 7],
    pub(crate) usage_today: UsageTotal,
    /// The last seven days, and the seven before them.
    pub(crate) usage_week: UsageTotal,
    pub(crate) usage_week_before: UsageTotal,
    /// The last thirty days.
    pub(crate) usage_month: UsageTotal,
    /// The sessions with the most messages in a year.
    pub(crate) top: Vec<TopSession>,
}

/// What happened on a day.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DayActivity {
    pub(crate) messages: u64,
    pub(crate) output: u64,
}

/// A session with many messages.
#[derive(Debug)]
pub(crate) struct TopSession {
    pub(crate) id: String,
    pub(crate) messages: u64,
    pub(crate) output: u64,
}

/// Looks at a year.
pub(crate) fn activity(context: &Context) -> Activity {
    let now = context.now();
    let today = now.to_zoned(context.zone.clone()).date();
    let ago = |days: i64| now.checked_sub(SignedDuration::from_hours(24 * days)).ok();
    let year = ago(7 * WEEKS as i64);
    let inventory = context.inventory();
    let scan = UsageScan { since: year, ..UsageScan::default() };
    let usage = context.home.usage(&inventory, &scan, Some(&context.cache), &|_, _| {});
    let ledger = &usage.ledger;
    let total = |since: Option<Timestamp>, until: Option<Timestamp>| -> UsageTotal {
        let grouping = Grouping { dimensions: vec![Dimension::Model], zone: context.zone.clone() };
        let selection = Selection { since, until, ..Selection::default() };
        let report = report(ledger, &context.prices, &grouping, &selection, now);
        UsageTotal::from(&report.total as &Total)
    };
    let midnight = today.to_zoned(context.zone.clone()).ok().map(|start| start.timestamp());
    let mut activity = Activity {
        today,
        days: BTreeMap::new(),
        hours: [[0; 24]; 7],
        usage_today: total(midnight, None),
        usage_week: total(ago(7), None),
        usage_week_before: total(ago(14), ago(7)),
        usage_month: total(ago(30), None),
        top: Vec::new(),
    };
    count_records(&mut activity, context, ledger, year);
    activity
}

fn count_records(
    activity: &mut Activity,
    context: &Context,
    ledger: &Ledger,
    since: Option<Timestamp>,
) {
    let mut sessions: HashMap<&str, DayActivity> = HashMap::new();
    for record in ledger.records() {
        let Some(time) = record.time().filter(|time| since.is_none_or(|since| *time >= since))
        else {
            continue;
        };
        let at = context.zone.to_datetime(time);
        let output = u64::from(record.counts.output);
        let day = activity.days.entry(at.date()).or_default();
        day.messages += 1;
        day.output += output;
        let weekday = at.weekday().to_monday_zero_offset() as usize;
        activity.hours[weekday % 7][at.hour() as usize % 24] += 1;
        if let Some(session) = ledger.session_of(record) {
            let session = sessions.entry(ledger.name(session)).or_default();
            session.messages += 1;
            session.output += output;
        }
    }
    let mut top: Vec<TopSession> = sessions
        .into_iter()
        .map(|(id, sum)| TopSession {
            id: id.to_owned(),
            messages: sum.messages,
            output: sum.output,
        })
        .collect();
    top.sort_by(|a, b| b.messages.cmp(&a.messages).then_with(|| a.id.cmp(&b.id)));
    top.truncate(MOST_SESSIONS);
    activity.top = top;
}
