//! Plans that were made in plan mode.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use rayon::prelude::*;
use recto_log::Entry;
use recto_log::ToolResult;
use recto_log::json::Value;
use recto_session::Span;
use recto_session::ToolCall;
use recto_session::with_call;
use recto_store::KeptLines;
use recto_store::LogFile;
use recto_store::PlanFile;
use recto_store::read_small;
use serde::Serialize;

use crate::Reading;
use crate::library::Library;
use crate::sweep::Place;
use crate::sweep::Tell;
use crate::sweep::drop_copies;

/// The tool that the model shows a plan with.
const PLAN_TOOL: &str = "ExitPlanMode";

/// A plan.
#[derive(Debug, Clone, Serialize)]
pub struct PlanRow {
    /// Where the model showed it. Of a file that no log names only the time is known.
    #[serde(flatten)]
    pub place: Place,
    /// Whether the user agreed; unknown without an answer. A call that failed counts as
    /// refused, because the log does not tell by whom in all clients.
    pub agreed: Option<bool>,
    /// The file that keeps it, as the log names it.
    pub file: Option<String>,
    /// Its text; empty where it is in a file that is gone.
    pub text: String,
}

impl PlanRow {
    /// The first heading; without one the name of its file; without that the first line that
    /// says something.
    pub fn title(&self) -> &str {
        let heading = |line: &str| line.starts_with('#');
        let plain = |line: &'_ str| -> bool { !line.trim_start_matches('#').trim().is_empty() };
        let mut lines = self.text.lines().map(str::trim).filter(|line| plain(line));
        let first = lines.clone().find(|line| heading(line));
        let file = || self.file_name().map(|name| name.strip_suffix(".md").unwrap_or(name));
        let title = first.or_else(file).or_else(|| lines.next()).unwrap_or_default();
        title.trim_start_matches('#').trim()
    }

    /// The name of the file that keeps it, without its directory.
    pub fn file_name(&self) -> Option<&str> {
        self.file.as_deref().and_then(|file| file.rsplit(['/', '\\']).next())
    }
}

/// Which plans are wanted.
#[derive(Debug, Clone)]
pub enum PlanScope {
    /// Those of all logs, and the files that belong to none of them.
    Home,
    /// Those of some logs.
    Logs(Vec<LogFile>),
}

/// Plans, newest first.
#[derive(Debug, Default)]
pub struct Plans {
    /// The plans.
    pub rows: Vec<PlanRow>,
    /// Why logs could not be read, one sentence each.
    pub skipped: Vec<String>,
}

/// The plans of a log, or why it could not be read.
type PlansOfLog = Result<Vec<PlanRow>, String>;

/// A log as it was, and the plans in it.
type ReadPlans = (LogFile, Arc<PlansOfLog>);

/// Plans that were read, as long as the logs are what they were. To look for them in all
/// logs takes seconds where there is a gigabyte of these.
#[derive(Debug, Default)]
pub(crate) struct KnownPlans(Mutex<HashMap<PathBuf, ReadPlans>>);

impl KnownPlans {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, ReadPlans>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plans of all logs; those that are new or have changed are read.
    fn of(&self, library: &Library, logs: &[LogFile], tell: Tell<'_>) -> Vec<Arc<PlansOfLog>> {
        let known = |log: &LogFile| {
            let known = self.lock().get(&log.path).cloned();
            known.filter(|(before, _)| before == log).map(|(_, plans)| plans)
        };
        let (done, all) = (AtomicU64::new(0), logs.len() as u64);
        // A log without plans has no lines that count. Where it has some, all of it is read.
        let work = |log: &LogFile, lines: Option<&[Span]>| {
            tell(done.fetch_add(1, Ordering::Relaxed), all);
            if let Some(plans) = known(log) {
                return ((log.clone(), plans), None);
            }
            let has_plans = lines.map_or_else(|| log.holds(PLAN_TOOL), |lines| !lines.is_empty());
            let plans = if has_plans { plans_in(log) } else { Ok(Vec::new()) };
            let lines = plans.is_ok().then(|| match has_plans {
                true => vec![Span { offset: 0, length: log.bytes() }],
                false => Vec::new(),
            });
            ((log.clone(), Arc::new(plans)), lines)
        };
        let home = library.home();
        let found: Vec<ReadPlans> =
            home.with_kept_lines(logs, library.cache(), KeptLines::Plans, work);
        let kept =
            found.iter().map(|(log, plans)| (log.path.clone(), (log.clone(), Arc::clone(plans))));
        *self.lock() = kept.collect();
        found.into_iter().map(|(_, plans)| plans).collect()
    }
}

impl Library {
    /// The plans of some logs or of all, newest first.
    pub fn plans(&self, scope: PlanScope, tell: Tell<'_>) -> Plans {
        let is_home = matches!(scope, PlanScope::Home);
        let found: Vec<Arc<PlansOfLog>> = match scope {
            PlanScope::Home => {
                let logs = self.home().all_logs(&self.inventory());
                self.figures().plans.of(self, &logs, tell)
            }
            PlanScope::Logs(logs) => logs.par_iter().map(|log| Arc::new(plans_in(log))).collect(),
        };
        let mut plans = Plans::default();
        for one in found {
            match &*one {
                Ok(rows) => plans.rows.extend(rows.iter().cloned()),
                Err(why) => plans.skipped.push(why.clone()),
            }
        }
        drop_copies(&mut plans.rows, |plan| &plan.place);
        let files = self.home().plan_files();
        for plan in plans.rows.iter_mut().filter(|plan| plan.text.is_empty()) {
            // Some clients leave the text to the file. Only a file of the home's own
            // directory is opened, whatever path the log names.
            let kept = plan.file_name().and_then(|name| file_named(&files, name));
            plan.text = kept.map(text_of).unwrap_or_default();
        }
        if is_home {
            add_files(&mut plans.rows, &files);
        }
        plans.rows.reverse();
        plans.rows.sort_by_key(|plan| std::cmp::Reverse(plan.place.time));
        plans
    }
}

fn plans_in(log: &LogFile) -> PlansOfLog {
    let reading = Reading::open(log.clone()).map_err(|error| error.to_string())?;
    let session = reading.session();
    let calls = session.facts().calls.iter();
    let is_plan = |call: &&ToolCall| call.name.is_some_and(|name| session.name(name) == PLAN_TOOL);
    Ok(calls.filter(is_plan).filter_map(|call| plan_of(&reading, call)).collect())
}

fn plan_of(reading: &Reading, call: &ToolCall) -> Option<PlanRow> {
    let line = call.call?;
    let own =
        |value: Option<Value<'_>>| value.and_then(Value::as_str).map(|text| text.into_owned());
    let asked = reading.loaded.with_entry(line, |entry| {
        with_call(entry, reading.session().name(call.id), |input| {
            (own(input.get("plan")), own(input.get("planFilePath")))
        })
    });
    let (asked, asked_file) = asked.flatten().unwrap_or_default();
    let answer = |entry: &Entry<'_>| match entry.tool_result(Some(PLAN_TOOL)) {
        Some(ToolResult::Plan { plan, path }) => (own(plan), own(path)),
        _ => (None, None),
    };
    let answer = call.result.and_then(|result| reading.loaded.with_entry(result, answer));
    let (agreed, agreed_file) = answer.unwrap_or_default();
    Some(PlanRow {
        place: reading.place(line),
        agreed: call.result.map(|_| !call.is_error),
        file: agreed_file.or(asked_file),
        // The user can change a plan before agreeing: the answer has what holds.
        text: agreed.or(asked).unwrap_or_default(),
    })
}

/// The file of the home that a log means. The home may have been moved since, so that only
/// the name counts.
fn file_named<'a>(files: &'a [PlanFile], name: &str) -> Option<&'a PlanFile> {
    files.iter().find(|file| file.path.file_name().is_some_and(|known| known == name))
}

/// The text of a file; empty if it cannot be read.
fn text_of(file: &PlanFile) -> String {
    let bytes = read_small(&file.path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Adds the files that are the text of no plan so far.
fn add_files(plans: &mut Vec<PlanRow>, files: &[PlanFile]) {
    for file in files {
        let name = file.path.file_name().map(|name| name.to_string_lossy());
        let text = text_of(file);
        let is_known =
            |plan: &PlanRow| plan.file_name() == name.as_deref() || plan.text.trim() == text.trim();
        if !plans.iter().any(is_known) {
            plans.push(PlanRow {
                place: Place::at_time(file.modified),
                agreed: None,
                file: Some(file.path.to_string_lossy().into_owned()),
                text,
            });
        }
    }
}
