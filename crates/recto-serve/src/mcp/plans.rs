//! `plans`: what was planned, and whether the user agreed.

use recto_view::PlanScope;

use super::archive::Archive;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;
use super::tools::LIST_MOST;
use super::tools::OFFSET;

/// How much of a plan is given.
const TEXT: usize = 12 * 1024;

impl Archive {
    pub(super) fn plans(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let session = arguments.text("session")?;
        let limit = arguments.number("limit", LIST_MOST)?.unwrap_or(5) as usize;
        let offset = arguments.number("offset", OFFSET)?.unwrap_or(0) as usize;
        arguments.finish()?;
        let scope = match session {
            Some(text) => {
                let session = self.choose_session(&self.0.library.inventory(), &text)?;
                PlanScope::Logs(self.0.library.logs_of(session.id)?)
            }
            None => PlanScope::Home,
        };
        let plans = self.0.library.plans(scope, &|_, _| {});
        let page = Page { offset, total: plans.rows.len(), notes: plans.skipped, sum: None };
        let wanted = plans.rows.iter().skip(offset).take(limit);
        Ok(page.finish(wanted.map(|plan| self.told(plan, TEXT))))
    }
}
