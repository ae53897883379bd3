//! Tools and files of many sessions.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use recto_session::statistics::Tally;
use recto_store::Inventory;

use crate::figures::FailedCall;
use crate::figures::Looked;
use crate::figures::Surveyed;
use crate::library::Library;
use crate::statistics::StatsReport;
use crate::statistics::first_counts;

/// Tools and files of many sessions.
#[derive(Debug)]
pub struct Totals {
    /// The sums.
    pub statistics: StatsReport,
    /// Calls that failed, with their logs, newest first; each once.
    pub failed: Vec<(Arc<Looked>, FailedCall)>,
    /// When each file was changed last.
    pub changed: HashMap<String, Timestamp>,
}

impl Library {
    /// Adds up the logs that were written in a span of time, of a project if one is
    /// named by its directory.
    pub fn totals(
        &self,
        surveyed: &Surveyed,
        (since, until): (Option<Timestamp>, Option<Timestamp>),
        project: Option<&str>,
    ) -> Totals {
        let mut logs: Vec<&Arc<Looked>> = surveyed
            .logs
            .iter()
            .filter(|looked| since.is_none_or(|since| looked.log.modified() >= since))
            .filter(|looked| until.is_none_or(|until| looked.log.modified() < until))
            .filter(|looked| project.is_none_or(|key| self.project_of(looked) == Some(key)))
            .collect();
        logs.sort_by_cached_key(|looked| first_counts(&looked.log, looked.started));
        let mut tally = Tally::new(self.zone().clone());
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
        Totals { statistics: StatsReport::of(tally.finish(), self.zone()), failed, changed }
    }
}

impl Library {
    /// The directory of the project of a log.
    pub fn project_of<'a>(&self, looked: &'a Looked) -> Option<&'a str> {
        let below = looked.log.path.strip_prefix(self.home().projects()).ok()?;
        below.iter().next()?.to_str()
    }
}

impl Library {
    /// What a session is called: its title, or what was typed first.
    pub fn title_of(&self, inventory: &Inventory, session: recto_log::SessionId) -> Option<String> {
        let file = inventory.sessions.iter().find(|file| file.id == session)?;
        let digest = self.digests().of(file)?;
        let title = digest.title.as_ref().map(|(title, _)| title.clone());
        title.or_else(|| digest.first_prompt.clone())
    }
}
