//! All logs that are followed, and what is to be handed out of them.
//!
//! Owns which file has which cursor, and what becomes of a file that has gone. What
//! directories hold is found in `discovery`.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::collections::VecDeque;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use super::Batch;
use super::Change;
use super::FollowOptions;
use super::FollowedFile;
use super::HomeFile;
use super::discovery::Directory;
use super::discovery::Loose;
use super::watches::Watches;
use crate::Advance;
use crate::Cursor;
use crate::Growth;
use crate::Home;
use crate::ReadLimits;
use crate::log::cursor::Identity;
use crate::log::cursor::identity;
use crate::log::file_state::FileState;
use crate::place::open::open_known;

/// How long a file may be gone before that is told.
const GRACE: Duration = Duration::from_secs(1);

/// A log, and how far it is read.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    pub(super) file: Arc<FollowedFile>,
    /// Which of all lives of all logs it is, counted.
    pub(super) life: u64,
    pub(super) cursor: Cursor,
}

/// The logs, the directories they are in, and what has changed.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) home: Home,
    pub(super) options: FollowOptions,
    pub(super) watches: Watches,
    pub(super) files: BTreeMap<PathBuf, Tail>,
    by_identity: HashMap<Identity, PathBuf>,
    pub(super) directories: BTreeMap<PathBuf, Directory>,
    /// Logs of subagents beside the main logs that are not followed, or not yet.
    pub(super) loose: BTreeMap<PathBuf, Loose>,
    /// Files of other kinds, as they were told.
    pub(super) others: BTreeMap<PathBuf, HomeFile>,
    /// The announcements of running clients.
    pub(super) announced: BTreeMap<String, FileState>,
    /// What is not looked at, and why.
    pub(super) skipped: BTreeMap<PathBuf, String>,
    /// Files that were there, and since when they are not.
    missing: HashMap<PathBuf, Instant>,
    /// Paths to look at before anything is handed out.
    again: Vec<PathBuf>,
    /// Files that have changed, or may have, in this order.
    waiting: VecDeque<PathBuf>,
    is_waiting: HashSet<PathBuf>,
    pub(super) changes: Vec<Change>,
    pub(super) next_life: u64,
}

impl Tree {
    pub(super) fn new(home: &Home, options: FollowOptions) -> Tree {
        Tree {
            home: home.clone(),
            watches: Watches::new(options.notice),
            options,
            files: BTreeMap::new(),
            by_identity: HashMap::new(),
            directories: BTreeMap::new(),
            loose: BTreeMap::new(),
            others: BTreeMap::new(),
            announced: BTreeMap::new(),
            skipped: BTreeMap::new(),
            missing: HashMap::new(),
            again: Vec::new(),
            waiting: VecDeque::new(),
            is_waiting: HashSet::new(),
            changes: Vec::new(),
            next_life: 1,
        }
    }

    /// A log that begins a life of its own.
    pub(super) fn new_tail(&mut self, file: Arc<FollowedFile>, cursor: Cursor) -> Tail {
        let life = self.next_life;
        self.next_life += 1;
        Tail { file, life, cursor }
    }

    /// Puts a log in its place.
    pub(super) fn insert(&mut self, tail: Tail) {
        let path = tail.file.path.clone();
        // Of files with two names, by links, the first one counts.
        self.by_identity.entry(tail.cursor.identity()).or_insert_with(|| path.clone());
        self.files.insert(path, tail);
    }

    /// A log at a path that had none: one that moved, or a new one.
    pub(super) fn admit(&mut self, file: FollowedFile, identity: Identity) {
        let file = Arc::new(file);
        if let Some(mut tail) = self.take_moved(identity) {
            let from = std::mem::replace(&mut tail.file, Arc::clone(&file));
            self.mark(&file.path);
            self.insert(tail);
            self.changes.push(Change::Moved { from, to: file });
            return;
        }
        self.mark(&file.path);
        let tail = self.new_tail(Arc::clone(&file), Cursor::start_of(identity));
        self.insert(tail);
        self.changes.push(Change::Appeared(file));
    }

    /// A file that is no longer where it was.
    fn take_moved(&mut self, wanted: Identity) -> Option<Tail> {
        // Systems without such numbers say zeros.
        if wanted == (0, 0) {
            return None;
        }
        let path = self.by_identity.get(&wanted)?.clone();
        let is_there =
            self.home.look_at(&path).is_some_and(|metadata| identity(&metadata) == wanted);
        if is_there {
            return None;
        }
        // Another file may have the name now.
        self.again.push(path.clone());
        self.forget(&path)
    }

    /// Forgets a file.
    fn forget(&mut self, path: &Path) -> Option<Tail> {
        self.missing.remove(path);
        let tail = self.files.remove(path)?;
        self.forget_identity(path, tail.cursor.identity());
        Some(tail)
    }

    fn forget_identity(&mut self, path: &Path, identity: Identity) {
        if self.by_identity.get(&identity).is_some_and(|known| known == path) {
            self.by_identity.remove(&identity);
        }
    }

    /// Notes that a file may have changed.
    pub(super) fn mark(&mut self, path: &Path) {
        if self.is_waiting.insert(path.to_owned()) {
            self.waiting.push_back(path.to_owned());
        }
    }

    /// Notes that a file is gone.
    pub(super) fn miss(&mut self, path: &Path) {
        if self.files.contains_key(path) {
            self.missing.entry(path.to_owned()).or_insert_with(Instant::now);
        }
    }

    /// Whether a file is taken for gone, though not told yet.
    pub(super) fn is_missing(&self, path: &Path) -> bool {
        self.missing.contains_key(path)
    }

    /// Looks whether a known file has changed.
    pub(super) fn check_file(&mut self, path: &Path) {
        let Some(tail) = self.files.get(path) else { return };
        match self.home.look_at(path).filter(std::fs::Metadata::is_file) {
            None => self.miss(path),
            Some(metadata) => {
                let state = FileState::listed(&metadata);
                if state != tail.cursor.state() || self.missing.contains_key(path) {
                    self.mark(path);
                }
            }
        }
    }

    /// When the next of the missing files is taken for gone.
    pub(super) fn next_settling(&self) -> Option<Instant> {
        self.missing.values().min().map(|since| *since + GRACE)
    }

    /// Takes files for gone that have been missing for long.
    pub(super) fn settle(&mut self, now: Instant) {
        self.settle_those(|since| now.saturating_duration_since(since) >= GRACE);
    }

    /// Takes all files for gone that are missing: everything has been looked at.
    pub(super) fn settle_all(&mut self) {
        self.settle_those(|_| true);
    }

    fn settle_those(&mut self, is_due: impl Fn(Instant) -> bool) {
        let due = self.missing.iter().filter(|(_, since)| is_due(**since));
        let mut due: Vec<PathBuf> = due.map(|(path, _)| path.clone()).collect();
        due.sort();
        for path in due {
            if self.home.look_at(&path).is_some_and(|metadata| metadata.is_file()) {
                self.missing.remove(&path);
                self.mark(&path);
            } else if let Some(tail) = self.forget(&path) {
                self.changes.push(Change::Removed(tail.file));
            }
        }
    }

    /// What is to be told, and lines up to the size of a batch.
    pub(super) fn hand_out(&mut self) -> Vec<Change> {
        while let Some(path) = self.again.pop() {
            self.look_at_path(&path);
        }
        let mut changes = std::mem::take(&mut self.changes);
        let mut room = self.options.limits.batch.max(1);
        while room > 0
            && let Some(path) = self.waiting.pop_front()
        {
            self.is_waiting.remove(&path);
            let before = changes.len();
            if self.read_on(&path, room, &mut changes) {
                // The others come first, so that a large log does not keep them waiting.
                self.mark(&path);
            }
            for change in &changes[before..] {
                room = room.saturating_sub(size(change));
            }
        }
        changes
    }

    /// Reads on in a file. Gives whether there is more.
    fn read_on(&mut self, path: &Path, most: usize, changes: &mut Vec<Change>) -> bool {
        if self.home.look_at(path).is_none() {
            self.miss(path);
            return false;
        }
        let Some(tail) = self.files.get_mut(path) else { return false };
        let opened = open_known(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = match opened {
            Ok((metadata, file)) if metadata.is_file() => (metadata, file),
            Ok(_) => return self.cannot_read(path, "is not a regular file"),
            Err(error) => return self.cannot_read(path, &error.to_string()),
        };
        let limits = ReadLimits { batch: most, ..self.options.limits };
        let advance = match tail.cursor.advance(&file, limits) {
            Ok(advance) => advance,
            Err(error) => return self.cannot_read(path, &error.to_string()),
        };
        let (file, life, cursor) = (Arc::clone(&tail.file), tail.life, &tail.cursor);
        self.skipped.remove(path);
        self.missing.remove(path);
        match advance {
            Advance::Nothing => false,
            Advance::Grown(growth) => {
                let is_long_line = growth.is_long_line();
                let Growth { generation, range, bytes } = growth;
                let is_behind = cursor.is_behind();
                let batch =
                    Box::new(Batch { file, generation, range, cursor: cursor.clone(), life });
                changes.push(match is_long_line {
                    true => Change::LongLine { batch, start: bytes },
                    false => Change::Lines { batch, bytes },
                });
                is_behind
            }
            Advance::Differs => {
                let before = cursor.identity();
                self.restart(file, before, identity(&metadata), changes);
                true
            }
        }
    }

    fn restart(
        &mut self,
        file: Arc<FollowedFile>,
        before: Identity,
        now: Identity,
        changes: &mut Vec<Change>,
    ) {
        self.forget_identity(&file.path, before);
        let tail = self.new_tail(Arc::clone(&file), Cursor::start_of(now));
        self.files.insert(file.path.clone(), tail);
        self.by_identity.insert(now, file.path.clone());
        changes.push(Change::Restarted(file));
    }

    /// A file that is gone may come back; one that may not be read is looked at again
    /// when it has changed.
    fn cannot_read(&mut self, path: &Path, why: &str) -> bool {
        match self.home.look_at(path).filter(std::fs::Metadata::is_file) {
            None => self.miss(path),
            Some(metadata) => {
                if let Some(tail) = self.files.get_mut(path) {
                    tail.cursor.note_state(FileState::now(&metadata));
                }
                self.skipped.insert(path.to_owned(), why.to_owned());
            }
        }
        false
    }
}

/// How many bytes of a log a change holds.
fn size(change: &Change) -> usize {
    match change {
        Change::Lines { bytes, .. } => bytes.len(),
        Change::LongLine { start, .. } => start.len(),
        Change::Appeared(_)
        | Change::Restarted(_)
        | Change::Moved { .. }
        | Change::Removed(_)
        | Change::File(_)
        | Change::FileRemoved(_)
        | Change::Announcements => 0,
    }
}

#[cfg(test)]
impl Tree {
    /// Whether there is nothing to read.
    pub(super) fn is_at_rest(&self) -> bool {
        self.waiting.is_empty() && self.changes.is_empty()
    }
}
