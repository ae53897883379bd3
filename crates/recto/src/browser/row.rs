//! The rows of the list: what there is to choose from, and the headings above it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::message::Entry;
use super::message::Hit;

/// A row of the list.
#[derive(Debug, Clone)]
pub(super) enum Row {
    Heading {
        text: String,
        count: usize,
    },
    Session {
        entry: Arc<Entry>,
        /// The characters of the title that fit what was typed.
        fitting: Vec<u32>,
    },
    Hit {
        entry: Arc<Entry>,
        hit: usize,
    },
}

impl Row {
    /// What stays the same when the list is made again.
    pub(super) fn key(&self, hits: &[Hit]) -> Option<(String, u64)> {
        match self {
            Row::Heading { .. } => None,
            Row::Session { entry, .. } => Some((entry.id().to_owned(), 0)),
            Row::Hit { entry, hit } => {
                Some((entry.id().to_owned(), hits.get(*hit).map_or(0, |hit| hit.line)))
            }
        }
    }
}

fn row(entry: &Arc<Entry>) -> Row {
    Row::Session { entry: entry.clone(), fitting: Vec::new() }
}

/// One below the other.
pub(super) fn in_order(entries: &[Arc<Entry>]) -> Vec<Row> {
    entries.iter().map(row).collect()
}

/// Those that run first, then the current directory, then the projects, the newest first.
pub(super) fn by_project(entries: &[Arc<Entry>], here: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    let (live, others): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.live.is_some());
    if !live.is_empty() {
        rows.push(Row::Heading { text: "Running now".into(), count: live.len() });
        rows.extend(live.into_iter().map(row));
    }
    let mut projects: Vec<(&str, Vec<&Arc<Entry>>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for entry in others {
        let place = *places.entry(&entry.project).or_insert_with(|| {
            projects.push((&entry.project, Vec::new()));
            projects.len() - 1
        });
        projects[place].1.push(entry);
    }
    let is_here = |entry: &&Arc<Entry>| entry.directory.as_deref() == Some(here);
    projects.sort_by_key(|(_, entries)| !entries.iter().any(&is_here));
    for (project, entries) in projects {
        rows.push(Row::Heading { text: project.to_owned(), count: entries.len() });
        rows.extend(entries.into_iter().map(row));
    }
    rows
}

/// The hits below their sessions, in the order in which they were found.
pub(super) fn of_hits(entries: &[Arc<Entry>], hits: &[Hit]) -> Vec<Row> {
    let by_id: HashMap<&str, &Arc<Entry>> =
        entries.iter().map(|entry| (entry.id(), entry)).collect();
    let log = |hit: &Hit| (hit.session.clone(), hit.agent.as_ref().map(|agent| agent.name()));
    let mut rows = Vec::new();
    for (from, hits) in pieces(hits, log) {
        // A session that is gone meanwhile has nothing to show.
        let Some(session) = by_id.get(hits[0].session.as_str()) else { continue };
        let entry = match &hits[0].agent {
            None => (*session).clone(),
            Some(agent) => {
                let title = format!("subagent of {}", session.title);
                Arc::new(session.of_agent(agent, title))
            }
        };
        rows.push(Row::Heading { text: entry.title.clone(), count: hits.len() });
        let places = from..from + hits.len();
        rows.extend(places.map(|hit| Row::Hit { entry: entry.clone(), hit }));
    }
    rows
}

/// The hits in pieces of one log each, with the place where each piece begins.
fn pieces<K: PartialEq>(hits: &[Hit], log: impl Fn(&Hit) -> K) -> Vec<(usize, &[Hit])> {
    let mut from = 0;
    let same = hits.chunk_by(|a, b| log(a) == log(b));
    same.map(|piece| {
        from += piece.len();
        (from - piece.len(), piece)
    })
    .collect()
}
