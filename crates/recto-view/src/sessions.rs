//! The list of sessions.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::Deref;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use jiff::civil::Date;
use rayon::prelude::*;
use recto_log::SessionId;
use recto_session::usage::Dimension;
use recto_session::usage::Selection;
use recto_store::Inventory;
use recto_store::LiveSession;
use recto_store::SessionFile;
use recto_store::SessionStatus;
use serde::Serialize;

use crate::Moment;
use crate::SessionNames;
use crate::dollars;
use crate::figures::Progress;
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
    /// What addresses call it: its id, and a place if several logs have that id.
    pub name: String,
    /// What it does; none if no client runs and it was not written within the last hour.
    pub status: Option<&'static str>,
    /// Its sums, where a list was asked for them.
    #[serde(skip)]
    pub sums: Option<SessionSums>,
}

/// The sums of a session in a list.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SessionSums {
    /// Turns; none as long as the log was not looked at.
    pub turns: Option<u64>,
    /// Calls that failed; none as long as the log was not looked at.
    pub failed: Option<u64>,
    /// Messages that count for it, with those of its subagents.
    pub messages: u64,
    /// What they cost.
    pub cost_usd: f64,
    /// Whether some of them have no price.
    pub is_more: bool,
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
    /// Sessions that come before all others.
    pub first: HashSet<String>,
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
    /// Those that need somebody first, then those that work.
    Status,
    /// Those with the most turns first.
    Turns,
    /// Those with the most messages first.
    Messages,
    /// The dearest first.
    Cost,
    /// Those with the most failed calls first.
    Failed,
}

/// The sums of all sessions, and how far the look at their logs is.
#[derive(Debug, Default)]
pub struct AllSums {
    by_session: HashMap<String, SessionSums>,
    /// Turns and failed calls by the path of the log: several logs can have one id.
    by_log: HashMap<PathBuf, (u64, u64)>,
    /// How far the look at all logs is.
    pub progress: Progress,
}

impl AllSums {
    fn of(&self, row: &SessionRow) -> Option<SessionSums> {
        let usage = self.by_session.get(&row.listed.id).copied();
        let counts = self.by_log.get(Path::new(&row.listed.path)).copied();
        let (turns, failed) = counts.unzip();
        (usage.is_some() || counts.is_some()).then(|| SessionSums {
            turns,
            failed,
            ..usage.unwrap_or_default()
        })
    }
}

impl Library {
    /// The sums of all sessions. Turns and failed calls need a look at every log, for which it
    /// waits as long as it is told.
    pub fn session_sums(&self, patience: Duration) -> AllSums {
        let surveyed = self.survey_within(patience);
        let mut sums: HashMap<String, SessionSums> = HashMap::new();
        let usage = self.count_usage(&[], Selection::default(), &|_, _| {});
        for row in usage.report(&[Dimension::Session]).rows {
            let Some(session) = row.keys.into_iter().next() else { continue };
            let sum = sums.entry(session).or_default();
            sum.messages = row.total.messages;
            sum.cost_usd = dollars(row.total.known_cost);
            sum.is_more = row.total.unpriced > 0;
        }
        let mut by_log = HashMap::new();
        for looked in surveyed.logs.iter().filter(|looked| looked.log.agent.is_none()) {
            let counts = (looked.work.turns.len() as u64, looked.work.failed());
            by_log.insert(looked.log.path.clone(), counts);
        }
        AllSums { by_session: sums, by_log, progress: surveyed.progress }
    }
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
        self.summed_sessions(query, day, order, &AllSums::default())
    }

    /// The same with sums, by which they can be ordered.
    pub fn summed_sessions(
        &self,
        query: &SessionQuery,
        day: Option<Date>,
        order: Order,
        sums: &AllSums,
    ) -> SessionList {
        let inventory = self.inventory();
        let of_day = day.map(|day| self.sessions_of_day(day));
        let mut rows = fitting(self, &inventory, query);
        rows.retain(|row| of_day.as_ref().is_none_or(|of_day| of_day.contains(&row.id)));
        for row in &mut rows {
            row.sums = sums.of(row);
        }
        let most = |value: &dyn Fn(&SessionSums) -> u64, row: &SessionRow| {
            std::cmp::Reverse(row.sums.as_ref().map_or(0, value))
        };
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
            Order::Status => rows.sort_by_key(|row| match row.status {
                Some("waiting_for_approval") => 0,
                Some("waiting_for_input") => 1,
                Some("working") => 2,
                Some(_) => 3,
                None => 4,
            }),
            Order::Turns => rows.sort_by_key(|row| most(&|sums| sums.turns.unwrap_or(0), row)),
            Order::Failed => rows.sort_by_key(|row| most(&|sums| sums.failed.unwrap_or(0), row)),
            Order::Messages => rows.sort_by_key(|row| most(&|sums| sums.messages, row)),
            // In a millionth of a dollar, what is the same is the same.
            Order::Cost => {
                rows.sort_by_key(|row| most(&|sums| (sums.cost_usd * 1e6) as u64, row));
            }
        }
        rows.sort_by_key(|row| !query.first.contains(&row.listed.id));
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
    let names = SessionNames::of(inventory);
    listed.par_iter().map(|log| row(log, statuses.get(&log.session.id), &names)).collect()
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
        let names = SessionNames::of(&inventory);
        let rows = ids.filter_map(|id| {
            let file = files.get(&id)?;
            Some(self.row_of(file, statuses.get(&id), &names))
        });
        rows.collect()
    }

    /// The other logs that have the id of a session, newest first.
    pub fn namesakes(&self, session: &SessionFile) -> Vec<SessionRow> {
        let inventory = self.inventory();
        let is_other = |file: &&SessionFile| file.id == session.id && file.path != session.path;
        inventory.sessions.iter().filter(is_other).map(|file| self.session_row(file)).collect()
    }

    /// One session as it is in a list.
    pub fn session_row(&self, file: &SessionFile) -> SessionRow {
        let names = SessionNames::of(&self.inventory());
        self.row_of(file, status_by_session(self).get(&file.id), &names)
    }

    fn row_of(
        &self,
        file: &SessionFile,
        status: Option<&SessionStatus>,
        names: &SessionNames,
    ) -> SessionRow {
        let digest = self.digests().of(file);
        row(&ListedLog::of_session(file.clone(), digest, status.and_then(client)), status, names)
    }
}

fn row(log: &ListedLog, status: Option<&SessionStatus>, names: &SessionNames) -> SessionRow {
    SessionRow {
        listed: ListedRow::of(log),
        name: names.name(log.session.id, &log.log().project.key).to_string(),
        status: status.map(|status| status.status.kind.name()),
        sums: None,
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
