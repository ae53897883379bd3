//! What single logs add to sums of all, kept in the index.
//!
//! A log that has not changed since needs not be read again to count it. The index
//! is never made for that, and never waited for: without one, or with one that
//! cannot be read, there is nothing here, and all logs are read. A roll-up is good
//! only for a file that is in everything what it was; damage of its bytes is known
//! to who decodes them.

use std::collections::HashSet;
use std::time::Duration;

use memchr::memmem::Finder;
use recto_log::Entry;
use recto_session::usage::LogUsage;
use recto_session::usage::Wanted;
use recto_session::usage::may_matter;
use rusqlite::Connection;
use rusqlite::OpenFlags;
use rusqlite::OptionalExtension;
use rusqlite::TransactionBehavior;
use rusqlite::params;

use super::Index;
use super::ingest::Batch;
use super::schema::set_up;
use crate::CacheDirectory;
use crate::Home;
use crate::LogFile;
use crate::StoreError;
use crate::log::chain::short_hash;
use crate::log::file_state::FileState;
use crate::log::file_state::Stamp;
use crate::place::locking::lock_file;

/// Roll-ups are written when they take this many bytes together.
const PENDING: usize = 4 * 1024 * 1024;

/// What is kept of single logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RollupKind {
    Usage,
    Statistics,
    /// Nothing: what a listing says of the log.
    Digest,
    /// Nothing: where its prompts are.
    Prompts,
    /// Nothing: where it has plans.
    Plans,
}

impl RollupKind {
    const ALL: [RollupKind; 5] = [
        RollupKind::Usage,
        RollupKind::Statistics,
        RollupKind::Digest,
        RollupKind::Prompts,
        RollupKind::Plans,
    ];

    fn table(self) -> &'static str {
        match self {
            RollupKind::Usage => "usage_rollups",
            RollupKind::Statistics => "statistics_rollups",
            RollupKind::Digest => "digest_rollups",
            RollupKind::Prompts => "prompt_lines",
            RollupKind::Plans => "plan_lines",
        }
    }
}

/// A table for each kind, so that who wants small ones need not pass large ones.
/// Rows have the number that their path gives, which is found at once. Should two
/// paths have the same, one of them is not kept.
pub(super) fn make_tables(connection: &Connection) -> Result<(), StoreError> {
    for kind in RollupKind::ALL {
        connection.execute_batch(&format!(
            "CREATE TABLE {} (
                id INTEGER PRIMARY KEY,
                path TEXT NOT NULL,
                device INTEGER NOT NULL,
                number INTEGER NOT NULL,
                changed INTEGER NOT NULL,
                modified INTEGER NOT NULL,
                size INTEGER NOT NULL,
                sums BLOB NOT NULL
            ) STRICT",
            kind.table()
        ))?;
    }
    Ok(())
}

fn number_of(name: &str) -> i64 {
    short_hash(name.as_bytes())
}

/// What a log adds.
#[derive(Debug)]
pub(crate) struct Rollup {
    /// The path below the home, as [`Home::name_of`] gives it.
    pub(crate) name: String,
    /// What the file was before it was read.
    pub(crate) state: FileState,
    pub(crate) sums: Vec<u8>,
}

/// The roll-ups of an index that is there.
pub(crate) struct Rollups<'a> {
    home: &'a Home,
    cache: &'a CacheDirectory,
    kind: RollupKind,
    /// None after an error.
    reading: Option<Connection>,
    pending: Vec<Rollup>,
    pending_bytes: usize,
    is_refused: bool,
}

impl<'a> Rollups<'a> {
    /// None without an index of this version.
    pub(crate) fn open(
        home: &'a Home,
        cache: &'a CacheDirectory,
        kind: RollupKind,
    ) -> Option<Rollups<'a>> {
        let access = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let index = Index::open_known(home, cache, access, Duration::ZERO).ok()?;
        let reading = Some(index.connection);
        let (pending, pending_bytes, is_refused) = (Vec::new(), 0, false);
        Some(Rollups { home, cache, kind, reading, pending, pending_bytes, is_refused })
    }

    /// The roll-ups of some logs, where there are good ones.
    pub(crate) fn read<'l>(
        &mut self,
        logs: impl ExactSizeIterator<Item = (&'l str, FileState)>,
    ) -> Vec<Option<Vec<u8>>> {
        let nothing = logs.len();
        let found = self.reading.as_ref().map(|connection| read(connection, self.kind, logs));
        match found {
            Some(Ok(found)) => found,
            Some(Err(_)) => {
                self.reading = None;
                vec![None; nothing]
            }
            None => vec![None; nothing],
        }
    }

    /// Takes in what a log adds, to be found the next time.
    pub(crate) fn keep(&mut self, rollup: Rollup) {
        if self.is_refused || !rollup.state.is_certain() {
            return;
        }
        self.pending_bytes += rollup.sums.len() + rollup.name.len();
        self.pending.push(rollup);
        if self.pending_bytes >= PENDING {
            self.write(&HashSet::new());
        }
    }

    /// Writes what is left to be written.
    pub(crate) fn finish(mut self) {
        if !self.pending.is_empty() {
            self.write(&HashSet::new());
        }
    }

    /// Like [`Rollups::finish`], and forgets logs that are not among these, which
    /// are all that there are.
    pub(crate) fn finish_and_forget_others(mut self, all: &HashSet<&str>) {
        let known = self.reading.as_ref().map_or_else(|| Ok(HashSet::new()), names);
        let gone: HashSet<String> =
            known.unwrap_or_default().into_iter().filter(|name| !all.contains(&**name)).collect();
        if !self.pending.is_empty() || !gone.is_empty() {
            self.write(&gone);
        }
    }

    /// Writes without waiting for anybody. It is a cache: what cannot be written
    /// is counted again the next time.
    fn write(&mut self, gone: &HashSet<String>) {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        self.is_refused = self.is_refused || self.try_to_write(&pending, gone).is_err();
    }

    fn try_to_write(&self, pending: &[Rollup], gone: &HashSet<String>) -> Result<(), StoreError> {
        let lock = lock_file(&Index::lock_path(self.home, self.cache), Duration::ZERO)?;
        if lock.is_none() {
            return Ok(());
        }
        let access = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let mut index = Index::open_known(self.home, self.cache, access, Duration::ZERO)?;
        set_up(&index.connection)?;
        let step = index.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for rollup in pending {
            keep(&step, self.kind, &rollup.name, &rollup.state, &rollup.sums)?;
        }
        for name in gone {
            for kind in RollupKind::ALL {
                delete(&step, kind, name)?;
            }
        }
        step.commit()?;
        index.settle()
    }
}

fn read<'l>(
    connection: &Connection,
    kind: RollupKind,
    logs: impl Iterator<Item = (&'l str, FileState)>,
) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
    // One step for all, unless the caller is in one, saves the locks of each.
    let is_alone = connection.is_autocommit();
    let _step = is_alone.then(|| connection.unchecked_transaction()).transpose()?;
    let mut look = connection.prepare_cached(&format!(
        "SELECT device, number, changed, modified, size, sums FROM {} WHERE id = ?1 AND path = ?2",
        kind.table()
    ))?;
    let mut found = Vec::new();
    for (name, state) in logs {
        let sums = look.query_row(params![number_of(name), name], |row| {
            let known = FileState {
                stamp: Stamp {
                    device: row.get::<_, i64>(0)?.cast_unsigned(),
                    number: row.get::<_, i64>(1)?.cast_unsigned(),
                    changed: row.get(2)?,
                },
                modified: row.get(3)?,
                size: row.get::<_, i64>(4)?.cast_unsigned(),
            };
            if known == state && known.is_certain() { row.get(5).map(Some) } else { Ok(None) }
        });
        found.push(sums.optional()?.flatten());
    }
    Ok(found)
}

/// What the index says that a log adds, if that is good for the file as it is.
pub(super) fn kept(
    connection: &Connection,
    kind: RollupKind,
    name: &str,
    state: FileState,
) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(read(connection, kind, std::iter::once((name, state)))?.pop().flatten())
}

/// The names of all logs that have a roll-up.
fn names(connection: &Connection) -> Result<HashSet<String>, StoreError> {
    let mut names = HashSet::new();
    for kind in RollupKind::ALL {
        let mut all = connection.prepare(&format!("SELECT path FROM {}", kind.table()))?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            names.insert(row.get(0)?);
        }
    }
    Ok(names)
}

/// Writes what a log adds.
pub(super) fn keep(
    connection: &Connection,
    kind: RollupKind,
    name: &str,
    state: &FileState,
    sums: &[u8],
) -> Result<(), StoreError> {
    let mut step = connection.prepare_cached(&format!(
        "INSERT OR REPLACE INTO {} (id, path, device, number, changed, modified, size, sums)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        kind.table()
    ))?;
    step.execute(params![
        number_of(name),
        name,
        state.stamp.device.cast_signed(),
        state.stamp.number.cast_signed(),
        state.stamp.changed,
        state.modified,
        state.size.cast_signed(),
        sums,
    ])?;
    Ok(())
}

/// Writes what is known of a log that was read to its end.
pub(super) fn keep_all(
    connection: &Connection,
    log: &LogFile,
    batch: &Batch,
) -> Result<(), StoreError> {
    let kinds = [(RollupKind::Usage, &batch.usage), (RollupKind::Digest, &batch.digest)];
    for (kind, sums) in kinds {
        if let Some(sums) = sums.as_ref().filter(|_| batch.file.is_certain()) {
            keep(connection, kind, &log.name_in_home(), &batch.file, sums)?;
        }
    }
    Ok(())
}

/// Counts the usage of a log that is read from its start to its end anyway.
pub(super) struct UsageOnTheWay {
    usage: LogUsage,
    session: Option<String>,
    finder: Finder<'static>,
}

impl UsageOnTheWay {
    pub(super) fn new(log: &LogFile) -> UsageOnTheWay {
        let session = log.session.map(|session| session.to_string());
        let usage = LogUsage::new(Wanted { tools: true });
        UsageOnTheWay { usage, session, finder: may_matter() }
    }

    pub(super) fn push(&mut self, entry: &Entry<'_>) {
        let line = entry.line();
        if line.is_cut() || self.finder.find(line.bytes).is_some() {
            self.usage.push(entry, self.session.as_deref());
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.usage.encode()
    }
}

/// Removes what is known of a log of the index, by its number there.
pub(super) fn forget(connection: &Connection, file: i64) -> Result<(), StoreError> {
    let mut look = connection.prepare_cached("SELECT path FROM files WHERE id = ?1")?;
    let Some(name) = look.query_row([file], |row| row.get::<_, String>(0)).optional()? else {
        return Ok(());
    };
    RollupKind::ALL.into_iter().try_for_each(|kind| delete(connection, kind, &name))
}

fn delete(connection: &Connection, kind: RollupKind, name: &str) -> Result<(), StoreError> {
    let sql = format!("DELETE FROM {} WHERE id = ?1 AND path = ?2", kind.table());
    connection.prepare_cached(&sql)?.execute(params![number_of(name), name])?;
    Ok(())
}
