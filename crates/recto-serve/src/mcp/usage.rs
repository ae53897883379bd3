//! `usage`: tokens and cost.

use recto_session::usage::Dimension;

use super::archive::Archive;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;
use super::tools::LIST_MOST;
use super::tools::OFFSET;

/// How much of a name is given.
const TEXT: usize = 600;

impl Archive {
    pub(super) fn usage(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let mut selection = self.filter(&mut arguments)?.selection();
        let by = arguments.text("by")?.unwrap_or_else(|| Dimension::Day.name().to_owned());
        let session = arguments.text("session")?;
        let limit = arguments.number("limit", LIST_MOST)?.unwrap_or(30) as usize;
        let offset = arguments.number("offset", OFFSET)?.unwrap_or(0) as usize;
        arguments.finish()?;
        let known = Dimension::ALL.into_iter().find(|dimension| dimension.name() == by);
        let Some(dimension) = known else {
            let all = Dimension::ALL.map(Dimension::name).join(", ");
            return Err(Refusal(format!("`by` takes one of {all}")));
        };
        if let Some(session) = session {
            let session = self.choose_session(&self.0.library.inventory(), &session)?;
            selection.session = Some(session.id.to_string());
        }
        let count = self.0.library.count_usage(&[dimension], selection, &|_, _| {});
        let mut usage = count.answer(&[dimension]);
        let mut notes = Vec::new();
        if !usage.notes.unknown_models.is_empty() {
            let models = usage.notes.unknown_models.join(", ");
            notes.push(format!("models without a price: {models}"));
        }
        if usage.total.under_reported_messages > 0 {
            let count = usage.total.under_reported_messages;
            notes.push(format!("{count} messages are from clients that log too few output tokens"));
        }
        notes.extend(count.skipped.iter().map(ToString::to_string));
        // Times come newest first: that is what is asked for most.
        if dimension.is_time() {
            usage.rows.reverse();
        }
        let sum = Some(self.told(&usage.total, TEXT));
        let page = Page { offset, total: usage.rows.len(), notes, sum };
        let wanted = usage.rows.iter().skip(offset).take(limit);
        Ok(page.finish(wanted.map(|row| self.told(row, TEXT))))
    }
}
