//! Plans that were made in plan mode.

use rayon::prelude::*;
use recto_log::SessionId;
use recto_session::turn_places;
use recto_session::turns;
use recto_store::HomeLog;
use recto_store::Loaded;
use recto_store::PLAN_TOOL;
use recto_store::PlanFile;
use recto_store::logged_plans;
use recto_store::plan_file_named;
use serde::Serialize;

use crate::answer::Failure;
use crate::context::Context;
use crate::data::Moment;
use crate::data::cut;

/// How long a plan is at most, in bytes.
const MOST_TEXT: usize = 64 * 1024;

/// A plan.
#[derive(Debug, Serialize)]
pub(crate) struct PlanView {
    /// None for a file that no session names.
    pub(crate) session: Option<String>,
    pub(crate) agent: Option<String>,
    /// The turn in its log.
    pub(crate) turn: u32,
    pub(crate) time: Option<Moment>,
    /// Whether the user agreed; none without an answer.
    pub(crate) agreed: Option<bool>,
    /// The name of the file that keeps it.
    pub(crate) file: Option<String>,
    pub(crate) text: String,
}

/// The plans of a session or of all, newest first.
pub(crate) fn plans(context: &Context, id: Option<SessionId>) -> Result<Vec<PlanView>, Failure> {
    let logs = match id {
        Some(id) => {
            let found = context.find(id)?;
            context.home.logs_of(&found.inventory, &found.file)
        }
        None => context.home.logs_with(&context.inventory(), PLAN_TOOL),
    };
    let files = context.home.plan_files();
    let mut plans: Vec<PlanView> =
        logs.par_iter().flat_map_iter(|log| plans_in(log, &files)).collect();
    if id.is_none() {
        add_files(&mut plans, &files);
    }
    plans.sort_by_key(|plan| std::cmp::Reverse(plan.time));
    Ok(plans)
}

fn plans_in(log: &HomeLog, files: &[PlanFile]) -> Vec<PlanView> {
    let Ok(loaded) = Loaded::read(&log.path) else { return Vec::new() };
    let found = logged_plans(&loaded);
    if found.is_empty() {
        return Vec::new();
    }
    let turns = turns(&loaded.session);
    let places = turn_places(&loaded.session, &turns);
    let view = |plan: recto_store::LoggedPlan| {
        // Some clients leave the text to the file. Only a file of the home's own
        // directory is opened, whatever path the log names.
        let kept = plan.file.as_deref().and_then(|named| plan_file_named(files, named));
        let text = match kept {
            Some(file) if plan.text.is_empty() => file.text(),
            _ => plan.text,
        };
        PlanView {
            session: log.session.map(|session| session.to_string()),
            agent: log.agent.as_ref().map(|agent| agent.as_str().to_owned()),
            turn: turns.get(places[plan.call.index()]).map_or(0, |turn| turn.number),
            time: loaded.session.node(plan.call).time().map(Moment),
            agreed: plan.agreed,
            file: plan.file.map(|file| base_name(&file)),
            text: cut(&text, MOST_TEXT).0,
        }
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
