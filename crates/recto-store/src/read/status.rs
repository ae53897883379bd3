//! What the sessions of a home do now.
//!
//! What clients announce, the ends of their logs, and the times of the logs of their
//! subagents. A log is read from where it was read up to the last time; the first time,
//! its end is enough, unless it is small or its client runs.

use std::collections::HashMap;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::Lines;
use recto_log::SessionId;
use recto_log::decode;
use recto_session::status::Announced;
use recto_session::status::Announcement;
use recto_session::status::Confidence;
use recto_session::status::Status;
use recto_session::status::StatusFold;
use recto_session::status::StatusKind;
use recto_session::status::TaskKind;
use recto_session::status::status;

use crate::Advance;
use crate::Announcements;
use crate::Cursor;
use crate::Digest;
use crate::Home;
use crate::Inventory;
use crate::LiveSession;
use crate::ReadLimits;
use crate::SessionFile;
use crate::StoreError;
use crate::log::file_state::FileState;
use crate::open_file;
use crate::place::platform::read_up_to;
use crate::read::live::KnownClients;

/// Logs up to this size are read whole: if their client runs, and if it does not.
const WHOLE_LIVE: u64 = 16 * 1024 * 1024;
const WHOLE: u64 = 1024 * 1024;
/// How much of the end of a larger one is read at first, and at most.
const TAIL: u64 = 256 * 1024;
const TAIL_MOST: u64 = 4 * 1024 * 1024;
/// A log that was written within this time is looked at without being asked for.
pub const RECENT: SignedDuration = SignedDuration::from_hours(1);

/// Which sessions are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusScope {
    /// All that a client announces, and those whose log was written within a time.
    Recent(SignedDuration),
    /// The same, and some however old their logs are.
    RecentAnd(SignedDuration, HashSet<SessionId>),
    /// These only.
    Only(Vec<SessionId>),
    /// All of the home.
    All,
}

/// What a session does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStatus {
    /// The session.
    pub id: SessionId,
    /// Its log; a client that was not asked anything yet has none.
    pub path: Option<PathBuf>,
    /// What its client announces.
    pub announced: Option<LiveSession>,
    /// Its first prompt.
    pub first_prompt: Option<String>,
    /// The answer, with titles and texts from wherever they are known.
    pub status: Status,
    /// Whether the whole log was read, so that its tokens are all there are.
    pub is_whole: bool,
}

impl SessionStatus {
    /// Whether its client runs.
    pub fn is_live(&self) -> bool {
        self.announced.as_ref().is_some_and(|announced| announced.alive)
    }
}

impl Home {
    /// What the sessions do that run, or whose logs were written a short time ago:
    /// those with a client first, and of these, those who need somebody.
    pub fn statuses(&self, now: Timestamp) -> Vec<SessionStatus> {
        Statuses::default().look(self, &self.inventory(), &StatusScope::Recent(RECENT), now)
    }
}

/// What was read of logs so far, so that only what is new is read.
#[derive(Debug, Default)]
pub struct Statuses {
    logs: HashMap<PathBuf, KnownLog>,
    announcements: KnownClients,
    /// What each process announced last, for the moment in which it writes it anew.
    clients: HashMap<u32, LiveSession>,
}

/// What is announced, and when that was asked.
struct Evidence {
    announced: HashMap<SessionId, LiveSession>,
    /// A process whose announcement cannot be read, and never could be.
    stranger: Option<u32>,
    now: Timestamp,
}

/// One log, and how far it was read.
#[derive(Debug)]
struct KnownLog {
    fold: StatusFold,
    digest: Digest,
    /// How the file was when it was read last.
    state: FileState,
    /// None if the file was changed while it was read: then it is read again.
    cursor: Option<Cursor>,
    is_whole: bool,
}

impl Statuses {
    /// Looks at the sessions, with the files of an inventory.
    pub fn look(
        &mut self,
        home: &Home,
        inventory: &Inventory,
        scope: &StatusScope,
        now: Timestamp,
    ) -> Vec<SessionStatus> {
        let evidence = self.evidence(home, now);
        let announced = &evidence.announced;
        let is_wanted = |id: SessionId, modified: Option<Timestamp>| {
            let is_recent = |within: &SignedDuration| {
                let is_within = |time: Timestamp| now.duration_since(time) <= *within;
                announced.contains_key(&id) || modified.is_some_and(is_within)
            };
            match scope {
                StatusScope::All => true,
                StatusScope::Only(wanted) => wanted.contains(&id),
                StatusScope::Recent(within) => is_recent(within),
                StatusScope::RecentAnd(within, wanted) => wanted.contains(&id) || is_recent(within),
            }
        };
        let (mut found, mut has_log) = (Vec::new(), HashSet::new());
        for file in &inventory.sessions {
            if !is_wanted(file.id, Some(file.modified())) {
                continue;
            }
            let is_announced = announced.contains_key(&file.id);
            // An empty log of a session that nobody runs is left over from something.
            if file.bytes() == 0 && !is_announced && !matches!(scope, StatusScope::Only(_)) {
                continue;
            }
            if let Some(one) = self.of_log(home, inventory, file, &evidence) {
                found.push(one);
                has_log.insert(file.id);
            }
        }
        let without = announced.values().filter(|live| !has_log.contains(&live.session));
        for live in without.filter(|live| is_wanted(live.session, None)) {
            let status = status(&announcement(Some(live)), &StatusFold::default(), now);
            found.push(SessionStatus {
                id: live.session,
                path: None,
                announced: Some(live.clone()),
                first_prompt: None,
                status: completed(status, None, Some(live)),
                is_whole: true,
            });
        }
        let paths: HashSet<&Path> = found.iter().filter_map(|one| one.path.as_deref()).collect();
        self.logs.retain(|path, _| paths.contains(path.as_path()));
        found.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.id.cmp(&b.id)));
        found
    }

    /// What is announced now. Of a client that writes its announcement in this moment,
    /// the last one counts.
    fn evidence(&mut self, home: &Home, now: Timestamp) -> Evidence {
        let Announcements { mut clients, unreadable } = self.announcements.look(home);
        let mut stranger = None;
        for one in unreadable {
            match self.clients.remove(&one.pid).filter(|client| client.alive) {
                Some(client) => clients.push(client),
                None => stranger = Some(one.pid),
            }
        }
        self.clients = clients.iter().map(|client| (client.pid, client.clone())).collect();
        let mut announced: HashMap<SessionId, LiveSession> = HashMap::new();
        for live in clients {
            // Of several clients of a session, the one that runs, or spoke last, counts.
            let rank = |live: &LiveSession| (live.alive, live.status_since);
            match announced.get(&live.session) {
                Some(known) if rank(known) >= rank(&live) => {}
                _ => drop(announced.insert(live.session, live)),
            }
        }
        Evidence { announced, stranger, now }
    }

    /// One session with a log. None if the log is gone by now.
    fn of_log(
        &mut self,
        home: &Home,
        inventory: &Inventory,
        file: &SessionFile,
        evidence: &Evidence,
    ) -> Option<SessionStatus> {
        let (live, now) = (evidence.announced.get(&file.id), evidence.now);
        let is_live = live.is_some_and(|live| live.alive);
        let known = match self.read(&file.path, is_live) {
            Ok(known) => known,
            Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(without_log(file, live, &error, now)),
        };
        let announcement = announcement(live);
        let mut found = status(&announcement, &known.fold, now);
        let agents = found.running.iter().filter(|task| task.kind == TaskKind::Agent);
        if let Some(first) = agents.filter_map(|task| task.since).min() {
            let agents = home.agents_of(inventory, file);
            let written = agents.iter().map(|agent| agent.modified()).max();
            known.fold.note_agents_written(written.filter(|written| *written >= first));
            found = status(&announcement, &known.fold, now);
        }
        if let (StatusKind::Ended, None, Some(pid)) = (found.kind, live, evidence.stranger) {
            // It may be the client of this session.
            found = status(&Announcement::Unknown, &known.fold, now);
            found.why.push(format!("the announcement of process {pid} cannot be read"));
        }
        Some(SessionStatus {
            id: file.id,
            path: Some(file.path.clone()),
            announced: live.cloned(),
            first_prompt: known.digest.first_prompt.clone(),
            status: completed(found, Some(&known.digest), live),
            is_whole: known.is_whole,
        })
    }

    fn read(&mut self, path: &Path, is_live: bool) -> Result<&mut KnownLog, StoreError> {
        // Most logs are as they were, which is seen without opening them.
        let is_same = |known: &KnownLog| {
            let metadata = std::fs::symlink_metadata(path);
            known.state.is_certain()
                && metadata.is_ok_and(|metadata| FileState::now(&metadata) == known.state)
        };
        let known = match self.logs.remove(path) {
            Some(known) if is_same(&known) => known,
            known => KnownLog::read_on(known, path, is_live)?,
        };
        Ok(self.logs.entry(path.to_owned()).insert_entry(known).into_mut())
    }
}

impl KnownLog {
    /// Reads what is new since the last time, or as much as is wanted at first.
    fn read_on(
        known: Option<KnownLog>,
        path: &Path,
        is_live: bool,
    ) -> Result<KnownLog, StoreError> {
        let file = open_file(path)?;
        if let Some(mut known) = known
            && known.take_new(&file)?
        {
            // The first prompt can come long after the first line.
            if known.digest.first_prompt.is_none() {
                known.digest = Digest::read(path, false)?;
            }
            return Ok(known);
        }
        KnownLog::read(path, &file, is_live)
    }

    fn read(path: &Path, file: &File, is_live: bool) -> Result<KnownLog, StoreError> {
        let digest = Digest::read(path, false)?;
        let cursor = Cursor::at_end(file)?;
        let length = cursor.state().size;
        let whole = if is_live { WHOLE_LIVE } else { WHOLE };
        let mut wanted = if length <= whole { length } else { TAIL };
        let (fold, is_whole) = loop {
            let start = length.saturating_sub(wanted);
            let mut fold = StatusFold::default();
            let bytes = read_up_to(file, start, cursor.offset().saturating_sub(start))?;
            // A first line that is cut, because only the end is read, is no JSON and says
            // nothing.
            for line in Lines::new(&bytes).filter(|line| line.terminated) {
                fold.push(&decode(line).0);
            }
            if start == 0 || fold.has_conversation() || wanted >= TAIL_MOST {
                break (fold, start == 0);
            }
            wanted = (wanted * 4).min(TAIL_MOST).min(length);
        };
        let state = cursor.state();
        let cursor = cursor.is_intact(file)?.then_some(cursor);
        Ok(KnownLog { fold, digest, state, cursor, is_whole })
    }

    /// Takes in what was added. `false` if the file is not what it was.
    fn take_new(&mut self, file: &File) -> Result<bool, StoreError> {
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        loop {
            match cursor.advance(file, ReadLimits::default())? {
                Advance::Grown(growth) => {
                    growth.lines(1).for_each(|line| self.fold.push(&decode(line).0));
                }
                Advance::Nothing => break,
                Advance::Differs => return Ok(false),
            }
        }
        self.state = cursor.state();
        Ok(true)
    }
}

/// A session whose log is there and cannot be read: the client's word is all there is.
fn without_log(
    file: &SessionFile,
    live: Option<&LiveSession>,
    error: &StoreError,
    now: Timestamp,
) -> SessionStatus {
    let mut status = status(&announcement(live), &StatusFold::default(), now);
    if status.confidence != Confidence::High {
        // It was told from a log without lines, and that is not what this one is.
        status.kind = StatusKind::Unknown;
        (status.since, status.changes_at) = (None, None);
        status.why.clear();
    }
    status.why.push(format!("its log cannot be read: {error}"));
    SessionStatus {
        id: file.id,
        path: Some(file.path.clone()),
        announced: live.cloned(),
        first_prompt: None,
        status: completed(status, None, live),
        is_whole: false,
    }
}

/// Those with a client first; of these, those who need somebody, the latest first.
fn order(one: &SessionStatus) -> (bool, StatusKind, std::cmp::Reverse<Option<Timestamp>>) {
    (!one.is_live(), one.status.kind, std::cmp::Reverse(one.status.since))
}

fn announcement(live: Option<&LiveSession>) -> Announcement {
    match live {
        // Whether it runs cannot be seen from here, so that the log has to do.
        Some(live) if live.elsewhere => Announcement::Unknown,
        Some(live) => Announcement::Made(announced_by(live)),
        None => Announcement::Absent,
    }
}

fn announced_by(live: &LiveSession) -> Announced {
    Announced {
        pid: live.pid,
        is_alive: live.alive,
        status: live.status.clone(),
        waiting_for: live.waiting_for.clone(),
        since: live.status_since,
        started: live.started,
        version: live.version.clone(),
        kind: live.kind.clone(),
        entrypoint: live.entrypoint.clone(),
    }
}

/// Adds what the lines that were read do not say, and the head of the log or the client
/// does.
fn completed(mut status: Status, digest: Option<&Digest>, live: Option<&LiveSession>) -> Status {
    if let Some(digest) = digest {
        let title = || digest.title.as_ref().map(|(title, _)| title.clone());
        status.title = status.title.or_else(title);
        let prompt = || digest.last_prompt.clone().or_else(|| digest.first_prompt.clone());
        status.last_prompt = status.last_prompt.or_else(prompt);
        status.model = status.model.or_else(|| digest.model.clone());
        status.cwd = status.cwd.or_else(|| digest.cwd.clone());
        status.version = status.version.or_else(|| digest.version.clone());
    }
    if let Some(live) = live {
        status.cwd = status.cwd.or_else(|| live.cwd.clone());
        status.version = status.version.or_else(|| live.version.clone());
        if live.elsewhere {
            let why = "its client is in another container or on another machine";
            status.why.push(why.to_owned());
        }
    }
    status
}

#[cfg(test)]
mod status_tests;
