//! Plans that were made in plan mode.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use rayon::prelude::*;
use recto_log::SessionId;
use recto_session::turn_places;
use recto_session::turns;
use recto_store::Loaded;
use recto_store::LogFile;
use recto_store::PLAN_TOOL;
use recto_store::PlanFile;
use recto_store::logged_plans;
use recto_store::plan_file_named;
use serde::Serialize;

use crate::Moment;
use crate::cut;
use crate::error::ViewError;
use crate::library::Library;

/// How long a plan is at most, in bytes.
const MOST_TEXT: usize = 64 * 1024;

/// A plan.
#[derive(Debug, Clone, Serialize)]
pub struct PlanView {
    /// None for a file that no session names.
    pub session: Option<String>,
    pub agent: Option<String>,
    /// The turn in its log.
    pub turn: u32,
    pub time: Option<Moment>,
    /// Whether the user agreed; none without an answer.
    pub agreed: Option<bool>,
    /// The name of the file that keeps it.
    pub file: Option<String>,
    pub text: String,
}

/// A log as it was, and the plans in it.
type ReadPlans = (LogFile, Arc<Vec<PlanView>>);

/// Plans that were read, as long as the logs are what they were. To look for them in all
/// logs takes seconds where there is a gigabyte of these.
#[derive(Debug, Default)]
pub struct KnownPlans(Mutex<HashMap<PathBuf, ReadPlans>>);

impl KnownPlans {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, ReadPlans>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plans of all logs; those that are new or have changed are read.
    fn of(&self, logs: Vec<LogFile>) -> Vec<Arc<Vec<PlanView>>> {
        let known = |log: &LogFile| {
            let known = self.lock().get(&log.path).cloned();
            known.filter(|(before, _)| before == log).map(|(_, plans)| plans)
        };
        let read = |log: LogFile| {
            let plans = Arc::new(if log.holds(PLAN_TOOL) { plans_in(&log) } else { Vec::new() });
            (log, plans)
        };
        let found: Vec<ReadPlans> = logs
            .into_par_iter()
            .with_max_len(1)
            .map(|log| match known(&log) {
                Some(plans) => (log, plans),
                None => read(log),
            })
            .collect();
        let kept =
            found.iter().map(|(log, plans)| (log.path.clone(), (log.clone(), Arc::clone(plans))));
        *self.lock() = kept.collect();
        found.into_iter().map(|(_, plans)| plans).collect()
    }
}

impl Library {
    /// The plans of a session or of all, newest first.
    pub fn plans(&self, id: Option<SessionId>) -> Result<Vec<PlanView>, ViewError> {
        let mut plans: Vec<PlanView> = match id {
            Some(id) => {
                let found = self.find(id)?;
                let logs = self.home().logs_of(&found.inventory, &found.file);
                logs.par_iter().flat_map_iter(plans_in).collect()
            }
            None => {
                let logs = self.home().all_logs(&self.inventory());
                let plans = self.figures().plans.of(logs);
                plans.iter().flat_map(|plans| plans.iter().cloned()).collect()
            }
        };
        let files = self.home().plan_files();
        for plan in plans.iter_mut().filter(|plan| plan.text.is_empty()) {
            // Some clients leave the text to the file. Only a file of the home's own
            // directory is opened, whatever path the log names.
            let kept = plan.file.as_deref().and_then(|named| plan_file_named(&files, named));
            plan.text = kept.map_or_else(String::new, |file| cut(&file.text(), MOST_TEXT).0);
        }
        if id.is_none() {
            add_files(&mut plans, &files);
        }
        plans.sort_by_key(|plan| std::cmp::Reverse(plan.time));
        Ok(plans)
    }
}

fn plans_in(log: &LogFile) -> Vec<PlanView> {
    let Ok(loaded) = Loaded::read(&log.path) else { return Vec::new() };
    let found = logged_plans(&loaded);
    if found.is_empty() {
        return Vec::new();
    }
    let turns = turns(&loaded.session);
    let places = turn_places(&loaded.session, &turns);
    let view = |plan: recto_store::LoggedPlan| PlanView {
        session: log.session.map(|session| session.to_string()),
        agent: log.agent.as_ref().map(|agent| agent.as_str().to_owned()),
        turn: turns.get(places[plan.call.index()]).map_or(0, |turn| turn.number),
        time: loaded.session.node(plan.call).time().map(Moment),
        agreed: plan.agreed,
        file: plan.file.map(|file| base_name(&file)),
        text: cut(&plan.text, MOST_TEXT).0,
    };
    found.into_iter().map(view).collect()
}

/// Adds the files that are the text of no plan so far.
fn add_files(plans: &mut Vec<PlanView>, files: &[PlanFile]) {
    for file in files {
        let name = base_name(&file.path.to_string_lossy());
        let text = cut(&file.text(), MOST_TEXT).0;
        let is_known = |plan: &PlanView| {
            plan.file.as_deref() == Some(&name) || plan.text.trim() == text.trim()
        };
        if !plans.iter().any(is_known) {
            plans.push(PlanView {
                session: None,
                agent: None,
                turn: 0,
                time: Some(Moment(file.modified)),
                agreed: None,
                file: Some(name),
                text,
            });
        }
    }
}

fn base_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}
