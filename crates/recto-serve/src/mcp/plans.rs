//! `plans`: what was planned, and whether the user agreed.

use jiff::Timestamp;
use rayon::prelude::*;
use recto_store::Loaded;
use recto_store::LogFile;
use recto_store::LoggedPlan;
use recto_store::PLAN_TOOL;
use recto_store::logged_plans;
use recto_store::plan_file_named;
use serde_json::Value;
use serde_json::json;

use super::archive::Archive;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;
use super::reply::cut;
use super::tools::LIST_MOST;
use super::tools::OFFSET;

/// How much of a plan is given.
const TEXT: usize = 12 * 1024;

/// A plan, and where it is from.
struct Placed {
    log: String,
    session: Option<String>,
    time: Option<Timestamp>,
    plan: LoggedPlan,
}

impl Archive {
    pub(super) fn plans(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let session = arguments.text("session")?;
        let limit = arguments.number("limit", LIST_MOST)?.unwrap_or(10) as usize;
        let offset = arguments.number("offset", OFFSET)?.unwrap_or(0) as usize;
        arguments.finish()?;
        let inventory = self.0.library.home().inventory();
        let logs = match session {
            Some(text) => {
                let session = self.choose_session(&inventory, &text)?;
                self.0.library.home().logs_of(&inventory, &session)
            }
            None => self.0.library.home().logs_with(&inventory, PLAN_TOOL),
        };
        let mut plans: Vec<Placed> = logs.par_iter().flat_map_iter(plans_of).collect();
        plans.reverse();
        plans.sort_by_key(|plan| std::cmp::Reverse(plan.time));
        let files = self.0.library.home().plan_files();
        for placed in &mut plans {
            // Some clients leave the text to a file of the home's own directory.
            let named = placed.plan.file.as_deref();
            let kept = named.and_then(|named| plan_file_named(&files, named));
            if let Some(file) = kept.filter(|_| placed.plan.text.is_empty()) {
                placed.plan.text = file.text();
            }
        }
        let page = Page { offset, total: plans.len(), notes: Vec::new(), sum: None };
        let wanted = plans.iter().skip(offset).take(limit);
        Ok(page.finish(wanted.map(|placed| self.told_plan(placed))))
    }

    fn told_plan(&self, placed: &Placed) -> Value {
        let answer = match placed.plan.agreed {
            Some(true) => "agreed",
            Some(false) => "refused",
            None => "open",
        };
        json!({
            "session": placed.session,
            "log": placed.log,
            "time": placed.time.map(|time| format!("{time:.0}")),
            "answer": answer,
            "text": cut(&self.say(&placed.plan.text), TEXT),
        })
    }
}

/// The plans of a log; none of one that cannot be read.
fn plans_of(log: &LogFile) -> Vec<Placed> {
    let Ok(loaded) = Loaded::read(&log.path) else { return Vec::new() };
    let plans = logged_plans(&loaded).into_iter();
    plans
        .map(|plan| Placed {
            log: log.name(),
            session: log.session.map(|session| session.to_string()),
            time: loaded.with_entry(plan.call, |entry| entry.timestamp()).flatten(),
            plan,
        })
        .collect()
}
