//! What the sessions of a home do now.
//!
//! What clients announce, the ends of their logs, and the times of the logs of their
//! subagents. A log is read from where it was read up to the last time; the first time,
//! its end is enough, unless it is small or its client runs.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::Lines;
use recto_log::SessionId;
use recto_log::decode;
use recto_session::status::Announced;
use recto_session::status::Announcement;
use recto_session::status::Status;
use recto_session::status::StatusFold;
use recto_session::status::StatusKind;
use recto_session::status::TaskKind;
use recto_session::status::status;

use crate::Digest;
use crate::Home;
use crate::Inventory;
use crate::LiveSession;
use crate::SessionFile;
use crate::StoreError;
use crate::inventory::Stamp;
use crate::open::open_sized;
use crate::platform::read_at;

/// Logs up to this size are read whole: if their client runs, and if it does not.
const WHOLE_LIVE: u64 = 16 * 1024 * 1024;
const WHOLE: u64 = 1024 * 1024;
/// How much of the end of a larger one is read at first, and at most.
const TAIL: u64 = 256 * 1024;
const TAIL_MOST: u64 = 4 * 1024 * 1024;
/// How many bytes before the place that was read up to must still be the same.
const SAME: usize = 256;
/// A log that was written within this time is looked at without being asked for.
pub const RECENT: SignedDuration = SignedDuration::from_hours(1);

/// Which sessions are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusScope {
    /// All that a client announces, and those whose log was written within a time.
    Recent(SignedDuration),
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
}

/// One log, and how far it was read.
#[derive(Debug)]
struct KnownLog {
    fold: StatusFold,
    digest: Digest,
    stamp: Stamp,
    offset: u64,
    /// The bytes before the offset.
    before: Vec<u8>,
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
        let mut announced: HashMap<SessionId, LiveSession> = HashMap::new();
        for live in home.live_sessions_now() {
            // Of several clients of a session, the one that runs, or spoke last, counts.
            let rank = |live: &LiveSession| (live.alive, live.status_since);
            match announced.get(&live.session) {
                Some(known) if rank(known) >= rank(&live) => {}
                _ => drop(announced.insert(live.session, live)),
            }
        }
        let is_wanted = |id: SessionId, modified: Option<Timestamp>| match scope {
            StatusScope::All => true,
            StatusScope::Only(wanted) => wanted.contains(&id),
            StatusScope::Recent(within) => {
                let is_recent = |time: Timestamp| now.duration_since(time) <= *within;
                announced.contains_key(&id) || modified.is_some_and(is_recent)
            }
        };
        let mut found = Vec::new();
        let files = inventory.sessions.iter();
        for file in files.filter(|file| is_wanted(file.id, Some(file.modified))) {
            let live = announced.get(&file.id);
            // An empty log of a session that nobody runs is left over from something.
            if file.bytes == 0 && live.is_none() && !matches!(scope, StatusScope::Only(_)) {
                continue;
            }
            found.extend(self.of_log(home, inventory, file, (live, now)));
        }
        let has_log = |id: SessionId| inventory.sessions.iter().any(|file| file.id == id);
        let without = announced.values().filter(|live| !has_log(live.session));
        for live in without.filter(|live| is_wanted(live.session, None)) {
            let status = status(&announcement(Some(live)), &StatusFold::default(), now);
            found.push(SessionStatus {
                id: live.session,
                path: None,
                announced: Some(live.clone()),
                status: completed(status, None, Some(live)),
                is_whole: true,
            });
        }
        self.logs.retain(|path, _| found.iter().any(|one| one.path.as_ref() == Some(path)));
        found.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.id.cmp(&b.id)));
        found
    }

    /// One session with a log. None if it cannot be read: it may just be deleted.
    fn of_log(
        &mut self,
        home: &Home,
        inventory: &Inventory,
        file: &SessionFile,
        (live, now): (Option<&LiveSession>, Timestamp),
    ) -> Option<SessionStatus> {
        let is_live = live.is_some_and(|live| live.alive);
        let known = self.read(&file.path, is_live).ok()?;
        let announcement = announcement(live);
        let mut found = status(&announcement, &known.fold, now);
        let agents = found.running.iter().filter(|task| task.kind == TaskKind::Agent);
        if let Some(first) = agents.filter_map(|task| task.since).min() {
            let agents = home.agents_of(inventory, file);
            let written = agents.iter().map(|agent| agent.modified).max();
            known.fold.note_agents_written(written.filter(|written| *written >= first));
            found = status(&announcement, &known.fold, now);
        }
        Some(SessionStatus {
            id: file.id,
            path: Some(file.path.clone()),
            announced: live.cloned(),
            status: completed(found, Some(&known.digest), live),
            is_whole: known.is_whole,
        })
    }

    fn read(&mut self, path: &Path, is_live: bool) -> Result<&mut KnownLog, StoreError> {
        let (file, length) = open_sized(path)?;
        let stamp = Stamp::of(&file.metadata()?);
        let known = self.logs.remove(path);
        let known = match known {
            Some(mut known) if known.has_only_grown(&file, length, stamp)? => {
                known.take(&file, length)?;
                known
            }
            _ => KnownLog::read(path, &file, (length, stamp), is_live)?,
        };
        Ok(self.logs.entry(path.to_owned()).insert_entry(known).into_mut())
    }
}

impl KnownLog {
    fn read(
        path: &Path,
        file: &File,
        (length, stamp): (u64, Stamp),
        is_live: bool,
    ) -> Result<KnownLog, StoreError> {
        let digest = Digest::read(path, false)?;
        let whole = if is_live { WHOLE_LIVE } else { WHOLE };
        let mut wanted = if length <= whole { length } else { TAIL };
        loop {
            let start = length.saturating_sub(wanted);
            let mut known = KnownLog {
                fold: StatusFold::default(),
                digest: digest.clone(),
                stamp,
                offset: start,
                before: Vec::new(),
                is_whole: start == 0,
            };
            known.take(file, length)?;
            if start == 0 || known.fold.has_conversation() || wanted >= TAIL_MOST {
                return Ok(known);
            }
            wanted = (wanted * 4).min(TAIL_MOST).min(length);
        }
    }

    /// Whether what was read is still there, and is the start of what is there now.
    fn has_only_grown(&self, file: &File, length: u64, stamp: Stamp) -> Result<bool, StoreError> {
        let is_same = (stamp.device, stamp.number) == (self.stamp.device, self.stamp.number);
        if !is_same || length < self.offset {
            return Ok(false);
        }
        let start = self.offset - self.before.len() as u64;
        Ok(read_range(file, start, self.offset)? == self.before)
    }

    /// Takes in the whole lines after the offset. A first line that is cut, because
    /// only the end is read, is no JSON and says nothing.
    fn take(&mut self, file: &File, length: u64) -> Result<(), StoreError> {
        let bytes = read_range(file, self.offset, length)?;
        let mut end = 0;
        for line in Lines::new(&bytes).filter(|line| line.terminated) {
            self.fold.push(&decode(line).0);
            end = usize::try_from(line.end()).unwrap_or(bytes.len());
        }
        self.before.extend_from_slice(&bytes[..end]);
        let surplus = self.before.len().saturating_sub(SAME);
        self.before.drain(..surplus);
        self.offset += end as u64;
        Ok(())
    }
}

/// The bytes of a file from one place to another, or to its end.
fn read_range(file: &File, start: u64, end: u64) -> Result<Vec<u8>, StoreError> {
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(0)];
    let mut filled = 0;
    while filled < bytes.len() {
        match read_at(file, &mut bytes[filled..], start + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
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
    }
}

/// Adds what the lines that were read do not say, and the head of the log or the client
/// does.
fn completed(mut status: Status, digest: Option<&Digest>, live: Option<&LiveSession>) -> Status {
    if let Some(digest) = digest {
        let title = || digest.title.as_ref().map(|(title, _)| title.clone());
        status.title = status.title.or_else(title);
        let goal = || digest.last_prompt.clone().or_else(|| digest.first_prompt.clone());
        status.goal = status.goal.or_else(goal);
        status.model = status.model.or_else(|| digest.model.clone());
        status.cwd = status.cwd.or_else(|| digest.cwd.clone());
        status.version = status.version.or_else(|| digest.version.clone());
    }
    if let Some(live) = live {
        status.cwd = status.cwd.or_else(|| live.cwd.clone());
        status.version = status.version.or_else(|| live.version.clone());
        if live.elsewhere {
            let why = "its client is in another container or machine, and cannot be seen from here";
            status.why.push(why.to_owned());
        }
    }
    status
}

#[cfg(test)]
mod status_tests;
