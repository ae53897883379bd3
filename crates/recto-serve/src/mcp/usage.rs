//! `usage`: tokens and cost.

use jiff::SignedDuration;
use recto_session::usage::Dimension;
use recto_session::usage::Grouping;
use recto_session::usage::Total;
use recto_session::usage::Wanted;
use recto_session::usage::report;
use recto_store::UsageScan;
use serde_json::Value;
use serde_json::json;

use super::archive::Archive;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;
use super::tools::LIST_MOST;
use super::tools::OFFSET;

impl Archive {
    pub(super) fn usage(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let mut selection = self.filter(&mut arguments)?.selection();
        let by = arguments.text("by")?.unwrap_or_else(|| Dimension::Day.name().to_owned());
        let session = arguments.text("session")?;
        let limit = arguments.number("limit", LIST_MOST)?.unwrap_or(100) as usize;
        let offset = arguments.number("offset", OFFSET)?.unwrap_or(0) as usize;
        arguments.finish()?;
        let known = Dimension::ALL.into_iter().find(|dimension| dimension.name() == by);
        let Some(dimension) = known else {
            let all = Dimension::ALL.map(Dimension::name).join(", ");
            return Err(Refusal(format!("`by` takes one of {all}")));
        };
        let inventory = self.0.library.home().inventory();
        if let Some(session) = session {
            let session = self.choose_session(&inventory, &session)?;
            selection.session = Some(session.id.to_string());
        }
        // A file can be a day older than its last message says: clocks are set back.
        let day = SignedDuration::from_hours(24);
        let since = selection.since.and_then(|since| since.checked_sub(day).ok());
        let scan = UsageScan { wanted: Wanted { tools: dimension == Dimension::Tool }, since };
        let usage =
            self.0.library.home().usage(&inventory, &scan, self.0.library.cache(), &|_, _| {});
        let grouping =
            Grouping { dimensions: vec![dimension], zone: self.0.library.zone().clone() };
        let report =
            report(&usage.ledger, self.0.library.prices(), &grouping, &selection, self.now());
        let mut notes = Vec::new();
        let doubts = &report.doubts;
        if !doubts.unknown_models.is_empty() {
            notes.push(format!("models without a price: {}", doubts.unknown_models.join(", ")));
        }
        if report.total.under_reported > 0 {
            let count = report.total.under_reported;
            notes.push(format!("{count} messages are of clients that wrote too few output tokens"));
        }
        let skipped = usage.skipped.iter();
        notes.extend(skipped.map(ToString::to_string));
        // Times come newest first: that is what is asked for most.
        let mut rows: Vec<&recto_session::usage::Row> = report.rows.iter().collect();
        if dimension.is_time() {
            rows.reverse();
        }
        let page = Page { offset, total: rows.len(), notes, sum: Some(row(&report.total)) };
        let wanted = rows.into_iter().skip(offset).take(limit);
        Ok(page.finish(wanted.map(|one| {
            let mut value = row(&one.total);
            value[dimension.name()] = json!(one.keys.first().map(|key| self.say(key)));
            value
        })))
    }
}

fn row(total: &Total) -> Value {
    json!({
        "messages": total.messages,
        "input": total.input,
        "output": total.output,
        "cache_write": total.writes(),
        "cache_read": total.cache_read,
        "cost_usd": total.cost().map(|cost| cost.rounded(4)),
    })
}
