//! Tools and files of many sessions.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use recto_session::statistics::Statistics;
use recto_session::statistics::Tally;
use recto_store::Inventory;

use crate::context::Context;
use crate::data::figures::FailedCall;
use crate::data::figures::Looked;
use crate::data::figures::Surveyed;

/// Tools and files of many sessions.
#[derive(Debug)]
pub(crate) struct Totals {
    pub(crate) statistics: Statistics,
    /// Calls that failed, with their logs, newest first; each once.
    pub(crate) failed: Vec<(Arc<Looked>, FailedCall)>,
    /// When each file was changed last.
    pub(crate) changed: HashMap<String, Timestamp>,
}

/// Adds up the logs that were written in a span of time, of a project if one is
/// named by its directory.
pub(crate) fn totals(
    context: &Context,
    surveyed: &Surveyed,
    (since, until): (Option<Timestamp>, Option<Timestamp>),
    project: Option<&str>,
) -> Totals {
    let mut logs: Vec<&Arc<Looked>> = surveyed
        .logs
        .iter()
        .filter(|looked| since.is_none_or(|since| looked.log.modified >= since))
        .filter(|looked| until.is_none_or(|until| looked.log.modified < until))
        .filter(|looked| project.is_none_or(|key| project_of(context, looked) == Some(key)))
        .collect();
    // The first log that has something counts: that of a session before those that
    // copied it, and before those of subagents.
    logs.sort_by(|a, b| {
        let key = |one: &Looked| (one.log.agent.is_some(), one.started.is_none(), one.started);
        let times = key(a).cmp(&key(b)).then_with(|| a.log.modified.cmp(&b.log.modified));
        times.then_with(|| a.log.path.cmp(&b.log.path))
    });
    let mut tally = Tally::new(context.zone.clone());
    let mut seen: HashSet<(&str, Option<Timestamp>)> = HashSet::new();
    let mut failed = Vec::new();
    let mut changed: HashMap<String, Timestamp> = HashMap::new();
    for looked in logs {
        for (path, time) in &looked.changed {
            let last = changed.entry(path.clone()).or_insert(*time);
            *last = (*last).max(*time);
        }
        if let Some(statistics) = &looked.statistics {
            tally.add(statistics);
        }
        for call in &looked.failed {
            if seen.insert((&call.id, call.time)) {
                failed.push((Arc::clone(looked), call.clone()));
            }
        }
    }
    failed.sort_by(|(_, a), (_, b)| b.time.cmp(&a.time).then_with(|| a.id.cmp(&b.id)));
    Totals { statistics: tally.finish(), failed, changed }
}

/// The directory of the project of a log.
pub(crate) fn project_of<'a>(context: &Context, looked: &'a Looked) -> Option<&'a str> {
    let below = looked.log.path.strip_prefix(context.home.projects()).ok()?;
    below.iter().next()?.to_str()
}

/// What a session is called: its title, or what was typed first.
pub(crate) fn title_of(
    context: &Context,
    inventory: &Inventory,
    session: recto_log::SessionId,
) -> Option<String> {
    let file = inventory.sessions.iter().find(|file| file.id == session)?;
    let digest = context.digests.of(file)?;
    let title = digest.title.as_ref().map(|(title, _)| title.clone());
    title.or_else(|| digest.first_prompt.clone())
}
