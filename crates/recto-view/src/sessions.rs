//! The list of sessions.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::ops::Deref;
use std::path::Path;

use jiff::civil::Date;
use rayon::prelude::*;
use recto_log::SessionId;
use recto_store::Inventory;
use recto_store::LiveSession;
use recto_store::SessionFile;
use recto_store::SessionStatus;
use serde::Serialize;

use crate::Moment;
use crate::library::Library;
use crate::listing::ListedLog;
use crate::listing::Listing;
use crate::profile::goal;
use crate::profile::last_part;

/// One log in a list.
#[derive(Debug, Clone, Serialize)]
pub struct ListedRow {
    /// The session's id; of a subagent's log `agent-` and the id of the subagent.
    pub id: String,
    /// What the log is: `session`, `agent`, `empty`, …
    pub kind: &'static str,
    /// The session that it belongs to.
    pub session: String,
    /// The name of the project's directory.
    pub project: String,
    /// The last part of the working directory.
    pub project_name: Option<String>,
    /// Whether the log is a subagent's.
    pub subagent: bool,
    /// The log.
    pub path: String,
    /// The working directory.
    pub cwd: Option<String>,
    /// What the session is called.
    pub title: Option<String>,
    /// Who called it so.
    pub title_source: Option<&'static str>,
    /// The first prompt, 200 characters at most.
    pub goal: Option<String>,
    /// The beginning of the first prompt.
    pub first_prompt: Option<String>,
    /// The beginning of the last prompt.
    pub last_prompt: Option<String>,
    /// When the first line was written.
    pub started: Option<Moment>,
    /// When the log was written last, by the file system.
    pub updated: Moment,
    /// When the last line was written.
    pub ended: Option<Moment>,
    /// The size of the log.
    pub bytes: u64,
    /// The client that wrote last.
    pub version: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// What a running client says of itself; none if no client runs.
    pub live: Option<String>,
    /// Whether only the archive has it.
    pub archived: bool,
}

impl ListedRow {
    /// A log of a session, by its head and tail.
    pub fn of(listed: &ListedLog) -> ListedRow {
        let ListedLog { session, digest, live, .. } = listed;
        let log = listed.log();
        let cwd = digest.cwd.as_deref().map(Path::new);
        ListedRow {
            id: log.name(),
            kind: listed.kind().name(),
            session: session.id.to_string(),
            project: log.project.key.clone(),
            project_name: cwd.and_then(last_part),
            subagent: log.is_agent(),
            path: log.path.to_string_lossy().into_owned(),
            cwd: digest.cwd.clone(),
            title: digest.title.as_ref().map(|(title, _)| title.clone()),
            title_source: digest.title.as_ref().map(|(_, source)| source.name()),
            goal: digest.first_prompt.as_deref().map(goal),
            first_prompt: digest.first_prompt.clone(),
            last_prompt: digest.last_prompt.clone(),
            started: digest.started.map(Moment),
            updated: Moment(log.modified()),
            ended: digest.ended.map(Moment),
            bytes: log.bytes(),
            version: digest.version.clone(),
            branch: digest.branch.clone(),
            model: digest.model.clone(),
            live: live
                .as_ref()
                .map(|live| live.status.clone().unwrap_or_else(|| "unknown".to_owned())),
            archived: log.is_archived(),
        }
    }
}

/// One session in a list.
#[derive(Debug, Clone, Serialize)]
pub struct SessionRow {
    /// What `recto ls --json` says of it.
    #[serde(flatten)]
    pub listed: ListedRow,
    /// What it does; none if no client runs and it was not written within the last hour.
    pub status: Option<&'static str>,
}

impl Deref for SessionRow {
    type Target = ListedRow;

    fn deref(&self) -> &ListedRow {
        &self.listed
    }
}

/// A part of the list.
#[derive(Debug, Serialize)]
pub struct SessionList {
    /// How many sessions fit in all.
    pub total: usize,
    /// The place of the first one.
    pub from: usize,
    /// The sessions of this part.
    pub sessions: Vec<SessionRow>,
    /// Where the next part begins, if there is one.
    pub next: Option<usize>,
    /// Files that could not be looked at: the list may not be complete.
    pub skipped: usize,
}

/// Which part of a list of sessions is wanted.
#[derive(Debug, Default)]
pub struct SessionQuery {
    /// Which sessions.
    pub listing: Listing,
    /// How many to leave out before the first one.
    pub from: usize,
    /// How many are wanted.
    pub count: usize,
}

/// By what a list is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The newest first.
    #[default]
    Age,
    /// By title.
    Title,
    /// By project.
    Project,
    /// By branch.
    Branch,
    /// By model.
    Model,
    /// The largest first.
    Size,
}

impl Library {
    /// The sessions, newest first.
    pub fn sessions(&self, query: &SessionQuery) -> SessionList {
        self.ordered_sessions(query, None, Order::Age)
    }
}

impl Library {
    /// The sessions in an order; those that were at work on a day, if one is named.
    pub fn ordered_sessions(
        &self,
        query: &SessionQuery,
        day: Option<Date>,
        order: Order,
    ) -> SessionList {
        let inventory = self.inventory();
        let of_day = day.map(|day| self.sessions_of_day(day));
        let mut rows = fitting(self, &inventory, query);
        rows.retain(|row| of_day.as_ref().is_none_or(|of_day| of_day.contains(&row.id)));
        let text = |text: &Option<String>| text.clone().unwrap_or_default().to_lowercase();
        match order {
            Order::Age => {}
            Order::Title => rows.sort_by_cached_key(|row| {
                text(&row.title.clone().or_else(|| row.first_prompt.clone()))
            }),
            Order::Project => rows.sort_by_cached_key(|row| {
                let path = row.cwd.as_deref().unwrap_or(&row.project);
                path.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase()
            }),
            Order::Branch => rows.sort_by_cached_key(|row| text(&row.branch)),
            Order::Model => rows.sort_by_cached_key(|row| text(&row.model)),
            Order::Size => rows.sort_by_key(|row| std::cmp::Reverse(row.bytes)),
        }
        let total = rows.len();
        let next = query.from.saturating_add(query.count);
        SessionList {
            total,
            from: query.from,
            next: (next < total).then_some(next),
            sessions: rows.into_iter().skip(query.from).take(query.count).collect(),
            skipped: inventory.skipped.len(),
        }
    }
}

/// All sessions that fit, newest first.
fn fitting(library: &Library, inventory: &Inventory, query: &SessionQuery) -> Vec<SessionRow> {
    let statuses = status_by_session(library);
    let clients = statuses.values().filter_map(|status| Some((status.id, client(status)?)));
    let listed = library.listed_with(&query.listing, inventory, &clients.collect());
    listed.par_iter().map(|log| row(log, statuses.get(&log.session.id))).collect()
}

/// What sessions can be chosen by: each name once, in order.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// The directories of projects.
    pub projects: Vec<String>,
    /// The models.
    pub models: Vec<String>,
    /// The branches of git.
    pub branches: Vec<String>,
}

/// How many names of a kind are given to choose from.
const MOST_CHOICES: usize = 500;

impl Library {
    /// The projects, models and branches that sessions name.
    pub fn choices(&self) -> Choices {
        let inventory = self.inventory();
        let (mut projects, mut models, mut branches) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let all = Listing { all: true, ..Listing::default() };
        for ListedLog { digest, .. } in self.listed(&all, &inventory) {
            projects.extend(digest.cwd.clone());
            models.extend(digest.model.clone());
            branches.extend(digest.branch.clone());
        }
        let list = |names: BTreeSet<String>| {
            names.into_iter().filter(|name| !name.is_empty()).take(MOST_CHOICES).collect()
        };
        Choices { projects: list(projects), models: list(models), branches: list(branches) }
    }
}

impl Library {
    /// Some sessions as they are in a list, in this order; those that are gone are not.
    pub fn session_rows(&self, ids: impl Iterator<Item = SessionId>) -> Vec<SessionRow> {
        let inventory = self.inventory();
        let files: HashMap<SessionId, &SessionFile> =
            inventory.sessions.iter().rev().map(|file| (file.id, file)).collect();
        let statuses = status_by_session(self);
        let rows = ids.filter_map(|id| {
            let file = files.get(&id)?;
            Some(self.row_of(file, statuses.get(&id)))
        });
        rows.collect()
    }

    /// One session as it is in a list.
    pub fn session_row(&self, file: &SessionFile) -> SessionRow {
        self.row_of(file, status_by_session(self).get(&file.id))
    }

    fn row_of(&self, file: &SessionFile, status: Option<&SessionStatus>) -> SessionRow {
        let digest = self.digests().of(file);
        row(&ListedLog::of_session(file.clone(), digest, status.and_then(client)), status)
    }
}

fn row(log: &ListedLog, status: Option<&SessionStatus>) -> SessionRow {
    SessionRow {
        listed: ListedRow::of(log),
        status: status.map(|status| status.status.kind.name()),
    }
}

/// What sessions do that run, or did a short time ago.
fn status_by_session(library: &Library) -> HashMap<SessionId, SessionStatus> {
    library.recent_statuses().into_iter().map(|status| (status.id, status)).collect()
}

/// The client that runs the session.
fn client(status: &SessionStatus) -> Option<LiveSession> {
    status.announced.clone().filter(|client| client.alive)
}
