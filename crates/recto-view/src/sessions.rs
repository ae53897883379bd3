//! The list of sessions.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use jiff::civil::Date;
use rayon::prelude::*;
use recto_log::SessionId;
use recto_store::Digest;
use recto_store::FileKind;
use recto_store::FileState;
use recto_store::Filter;
use recto_store::Inventory;
use recto_store::LiveSession;
use recto_store::LogFile;
use recto_store::SessionFile;
use recto_store::SessionStatus;
use serde::Serialize;

use crate::Moment;
use crate::library::Library;

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
    /// The log.
    pub path: String,
    /// The working directory.
    pub cwd: Option<String>,
    /// What the session is called.
    pub title: Option<String>,
    /// Who called it so.
    pub title_source: Option<&'static str>,
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
}

impl ListedRow {
    /// A log of a session, by its head and tail.
    pub fn of(
        session: SessionId,
        log: &LogFile,
        digest: &Digest,
        live: Option<&LiveSession>,
    ) -> ListedRow {
        ListedRow {
            id: log.name(),
            kind: listed_kind(log, digest).name(),
            session: session.to_string(),
            project: log.project.key.clone(),
            path: log.path.to_string_lossy().into_owned(),
            cwd: digest.cwd.clone(),
            title: digest.title.as_ref().map(|(title, _)| title.clone()),
            title_source: digest.title.as_ref().map(|(_, source)| source.name()),
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
                .filter(|live| live.alive)
                .map(|live| live.status.clone().unwrap_or_else(|| "unknown".to_owned())),
        }
    }
}

/// What a log is. The client's own helpers are told by their ids.
pub fn listed_kind(log: &LogFile, digest: &Digest) -> FileKind {
    match &log.agent {
        Some(id) if id.is_prompt_suggestion() || id.is_compaction() => FileKind::Helper,
        _ => digest.kind,
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
    pub sessions: Vec<SessionRow>,
    /// Where the next part begins, if there is one.
    pub next: Option<usize>,
    /// Files that could not be looked at: the list may not be complete.
    pub skipped: usize,
}

/// Which sessions are wanted.
#[derive(Debug, Default)]
pub struct SessionQuery {
    pub filter: Filter,
    /// Words that must be in the title, a prompt, the directory, the branch or the id.
    pub words: Option<String>,
    pub only_live: bool,
    /// Files without a conversation too.
    pub all: bool,
    pub from: usize,
    pub count: usize,
}

/// Heads and tails that were read, as long as the files are what they were.
#[derive(Debug, Default)]
pub(crate) struct Digests(Mutex<HashMap<PathBuf, KnownDigest>>);

/// What a log was, and what was read of it.
#[derive(Debug, Clone)]
struct KnownDigest {
    version: FileState,
    digest: Arc<Digest>,
}

impl KnownDigest {
    fn fits(&self, file: &SessionFile) -> bool {
        self.version == file.state
    }
}

impl Digests {
    /// What a listing says of a log; nothing if it cannot be read.
    pub(crate) fn of(&self, file: &SessionFile) -> Option<Arc<Digest>> {
        let known = self.lock().get(&file.path).cloned();
        if let Some(known) = known.filter(|known| known.fits(file)) {
            return Some(known.digest);
        }
        let digest = Arc::new(Digest::read_listed(file).ok()?);
        self.note(file, &digest);
        Some(digest)
    }

    /// Learns of all logs that are new or have changed, those first that the index
    /// has.
    fn learn(&self, library: &Library, inventory: &Inventory) {
        let new: Vec<&SessionFile> = {
            let known = self.lock();
            let is_new =
                |file: &&SessionFile| !known.get(&file.path).is_some_and(|known| known.fits(file));
            inventory.sessions.iter().filter(is_new).collect()
        };
        let mut digests = recto_store::Digests::new(library.home(), library.cache());
        let read = digests.read(new.iter().copied());
        digests.finish();
        for (file, digest) in new.into_iter().zip(read) {
            if let Some(digest) = digest {
                self.note(file, &Arc::new(digest));
            }
        }
    }

    fn note(&self, file: &SessionFile, digest: &Arc<Digest>) {
        let known = KnownDigest { version: file.state, digest: Arc::clone(digest) };
        self.lock().insert(file.path.clone(), known);
    }

    /// Drops what belongs to files that are gone.
    fn keep(&self, inventory: &Inventory) {
        let mut known = self.lock();
        if known.len() > inventory.sessions.len() + 100 {
            let there: HashSet<&PathBuf> =
                inventory.sessions.iter().map(|file| &file.path).collect();
            known.retain(|path, _| there.contains(path));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, KnownDigest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By what a list is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The newest first.
    #[default]
    Age,
    Title,
    Project,
    Branch,
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
    library.digests().keep(inventory);
    library.digests().learn(library, inventory);
    let statuses = status_by_session(library);
    let words: Vec<String> = query
        .words
        .as_deref()
        .map(|words| words.to_lowercase().split_whitespace().map(str::to_owned).collect())
        .unwrap_or_default();
    inventory
        .sessions
        .par_iter()
        .filter(|file| query.filter.fits_time(file.modified()))
        .filter(|file| query.all || file.bytes() > 0)
        .filter(|file| !query.only_live || is_live(&statuses, file.id))
        .filter_map(|file| {
            // A log that may not be read is still a session that is there.
            let digest = library.digests().of(file).unwrap_or_default();
            let project = file.project.key.as_str();
            let is_wanted = (query.all || digest.kind == FileKind::Session)
                && query.filter.fits(project, &digest);
            let row = is_wanted.then(|| row(file, &digest, statuses.get(&file.id)))?;
            words.iter().all(|word| has_word(&row, word)).then_some(row)
        })
        .collect()
}

/// What sessions can be chosen by: each name once, in order.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    pub projects: Vec<String>,
    pub models: Vec<String>,
    pub branches: Vec<String>,
}

/// How many names of a kind are given to choose from.
const MOST_CHOICES: usize = 500;

impl Library {
    /// The projects, models and branches that sessions name.
    pub fn choices(&self) -> Choices {
        let inventory = self.inventory();
        self.digests().learn(self, &inventory);
        let (mut projects, mut models, mut branches) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for file in &inventory.sessions {
            let Some(digest) = self.digests().of(file) else { continue };
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
            let digest = self.digests().of(file).unwrap_or_default();
            Some(row(file, &digest, statuses.get(&id)))
        });
        rows.collect()
    }
}

impl Library {
    /// One session as it is in a list.
    pub fn session_row(&self, file: &SessionFile) -> SessionRow {
        let digest = self.digests().of(file).unwrap_or_default();
        row(file, &digest, status_by_session(self).get(&file.id))
    }
}

fn row(file: &SessionFile, digest: &Digest, status: Option<&SessionStatus>) -> SessionRow {
    let live = status.and_then(|status| status.announced.as_ref());
    SessionRow {
        listed: ListedRow::of(file.id, file, digest, live),
        status: status.map(|status| status.status.kind.name()),
    }
}

fn has_word(row: &SessionRow, word: &str) -> bool {
    let texts = [&row.title, &row.first_prompt, &row.last_prompt, &row.cwd, &row.branch];
    row.id.starts_with(word)
        || texts.into_iter().flatten().any(|text| text.to_lowercase().contains(word))
}

/// What sessions do that run, or did a short time ago.
fn status_by_session(library: &Library) -> HashMap<SessionId, SessionStatus> {
    library.recent_statuses().into_iter().map(|status| (status.id, status)).collect()
}

fn is_live(statuses: &HashMap<SessionId, SessionStatus>, id: SessionId) -> bool {
    statuses.get(&id).is_some_and(SessionStatus::is_live)
}
