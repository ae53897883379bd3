//! What has changed on disk since the index was written.

use std::collections::HashMap;

use rusqlite::Connection;
use rusqlite::OptionalExtension;
use rusqlite::Row;

use crate::Cursor;
use crate::LogFile;
use crate::StoreError;
use crate::log::file_state::Stamp;

/// What has to be done so that the index says what the disk says.
#[derive(Debug, Default)]
pub(super) struct Plan<'l> {
    /// Logs to read, newest first: people look for those, and may do so before all are read.
    pub(super) work: Vec<Work<'l>>,
    /// Logs that are gone, by their numbers.
    pub(super) gone: Vec<i64>,
}

/// A log to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'l> {
    pub(super) log: &'l LogFile,
    /// Its number, if it is known.
    pub(super) file: Option<i64>,
    pub(super) change: Change,
}

/// What may have happened to a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It is not in the index.
    New,
    /// It may have grown, or been cut, or be another one.
    Touched,
    /// It is another file.
    Replaced,
    /// It had another name, and may have grown.
    Moved,
    /// It looks the same, but was read in the moment in which it was written.
    Doubtful,
}

impl Plan<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.work.is_empty() && self.gone.is_empty()
    }

    /// How many logs are not in the index as they are now.
    pub(super) fn stale(&self) -> usize {
        self.work.iter().filter(|work| work.change != Change::Doubtful).count()
    }

    /// How much there is to read, at most.
    pub(super) fn bytes(&self) -> u64 {
        self.work.iter().map(|work| work.log.bytes()).sum()
    }
}

struct Known {
    id: i64,
    stamp: Stamp,
    modified: i64,
    size: i64,
}

impl Known {
    /// Whether a file was written and has not grown. Then any of it may be other text,
    /// and samples of it would not tell.
    fn was_written_in_place(&self, log: &LogFile) -> bool {
        u64::try_from(self.size) == Ok(log.bytes()) && self.modified != log.state.modified
    }
}

/// Compares the index with the logs on disk.
pub(super) fn compare<'l>(
    connection: &Connection,
    logs: &'l [LogFile],
) -> Result<Plan<'l>, StoreError> {
    let mut known: HashMap<String, Known> = HashMap::new();
    let mut all = connection
        .prepare("SELECT path, id, device, number, changed, modified, size FROM files")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let one = Known {
            id: row.get(1)?,
            stamp: stamp_of(row, 2)?,
            modified: row.get(5)?,
            size: row.get(6)?,
        };
        known.insert(row.get(0)?, one);
    }
    let mut plan = Plan::default();
    let mut new = Vec::new();
    for log in logs {
        let Some(found) = known.remove(&log.name_in_home()) else {
            new.push(log);
            continue;
        };
        let is_same_file = found.stamp.number == log.state.stamp.number
            && found.stamp.device == log.state.stamp.device;
        let looks_the_same = is_same_file
            && found.modified == log.state.modified
            && u64::try_from(found.size) == Ok(log.bytes());
        if looks_the_same && found.stamp.changed == log.state.stamp.changed {
            continue;
        }
        let change = match (is_same_file, looks_the_same && found.stamp.changed == 0) {
            (_, true) => Change::Doubtful,
            (true, false) if found.was_written_in_place(log) => Change::Replaced,
            (true, false) => Change::Touched,
            (false, false) => Change::Replaced,
        };
        plan.work.push(Work { log, file: Some(found.id), change });
    }
    // What is left has no file any more, or one of another name.
    let mut nameless: HashMap<(u64, u64), Known> = HashMap::new();
    for left in known.into_values() {
        match (left.stamp.device, left.stamp.number) {
            (_, 0) => plan.gone.push(left.id),
            key => {
                if let Some(before) = nameless.insert(key, left) {
                    plan.gone.push(before.id);
                }
            }
        }
    }
    for log in new {
        let (file, change) =
            match nameless.remove(&(log.state.stamp.device, log.state.stamp.number)) {
                Some(found) if !found.was_written_in_place(log) => (Some(found.id), Change::Moved),
                found => {
                    plan.gone.extend(found.map(|found| found.id));
                    (None, Change::New)
                }
            };
        plan.work.push(Work { log, file, change });
    }
    plan.gone.extend(nameless.into_values().map(|left| left.id));
    plan.work.sort_by(|a, b| {
        let modified = b.log.state.modified.cmp(&a.log.state.modified);
        modified.then_with(|| a.log.path.cmp(&b.log.path))
    });
    Ok(plan)
}

fn stamp_of(row: &Row<'_>, at: usize) -> Result<Stamp, rusqlite::Error> {
    Ok(Stamp {
        device: row.get::<_, i64>(at)?.cast_unsigned(),
        number: row.get::<_, i64>(at + 1)?.cast_unsigned(),
        changed: row.get(at + 2)?,
    })
}

/// How far a log was read, and what was known then.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct IngestPosition {
    pub(super) offset: u64,
    /// The number of the next line.
    pub(super) line: u64,
    /// The last time that was seen, in milliseconds since 1970; 0 for none.
    pub(super) time: i64,
    /// None if the file was cut while it was read.
    pub(super) cursor: Option<Cursor>,
    pub(super) state: String,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    pub(super) branch: Option<String>,
}

impl IngestPosition {
    pub(super) fn start() -> IngestPosition {
        IngestPosition { line: 1, ..IngestPosition::default() }
    }

    /// How far a log of the index was read.
    pub(super) fn of(connection: &Connection, file: i64) -> Result<IngestPosition, StoreError> {
        let mut one = connection.prepare_cached(
            "SELECT offset, line, time, cursor, state, cwd, model, branch FROM files WHERE id = ?1",
        )?;
        let found = one.query_row([file], |row| {
            Ok(IngestPosition {
                offset: row.get::<_, i64>(0)?.cast_unsigned(),
                line: row.get::<_, i64>(1)?.cast_unsigned(),
                time: row.get(2)?,
                cursor: Cursor::decode(&row.get::<_, Option<Vec<u8>>>(3)?.unwrap_or_default()),
                state: row.get(4)?,
                cwd: row.get(5)?,
                model: row.get(6)?,
                branch: row.get(7)?,
            })
        });
        Ok(found.optional()?.unwrap_or_else(IngestPosition::start))
    }
}
