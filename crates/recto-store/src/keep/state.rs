//! What a collector remembers: which files it saw, and how far it kept them.
//!
//! It is a cache. Each row is written after the archive has what the row says, and a row that
//! is lost or too old costs a second look at the file and its segments, nothing else.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use fs_err as fs;
use rusqlite::Connection;
use rusqlite::ErrorCode;
use rusqlite::OptionalExtension as _;
use rusqlite::params;

use crate::Cursor;
use crate::FileState;
use crate::follow::FileKind;
use crate::keep::KeepError;
use crate::keep::capture::Remembered;
use crate::keep::key::FileKey;
use crate::log::file_state::Stamp;
use crate::place::locking::lock_file;

/// The version of the tables.
const VERSION: i64 = 1;

/// How long to wait for another process that opens the file.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// When the whole home was looked at last.
const COLLECTED: &str = "collected";

/// What is remembered about one archive and one home.
#[derive(Debug)]
pub(super) struct State {
    connection: Connection,
    path: PathBuf,
    target: String,
}

/// What is remembered of a file, without how far it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: FileKey,
    pub(super) kind: FileKind,
    pub(super) state: FileState,
    pub(super) is_settled: bool,
}

/// A row to be written.
pub(super) struct NewRow<'a> {
    pub(super) below: &'a str,
    pub(super) key: FileKey,
    pub(super) kind: FileKind,
    pub(super) remembered: &'a Remembered,
}

impl State {
    /// Opens the file, or makes it. What cannot be used is replaced by an empty one. One process
    /// at a time does so: another could drop the tables that this one has just made.
    pub(super) fn open(path: &Path, target: String) -> Result<State, KeepError> {
        let lock = path.with_extension("lock");
        let held = lock_file(&lock, LONGEST_WAIT).map_err(KeepError::of(&lock))?;
        let _held = held.ok_or_else(|| KeepError::Busy { path: path.to_owned() })?;
        let connection = match connect(path) {
            Ok(connection) => connection,
            // It is sound; somebody writes into it for longer than one can wait.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                return Err(failed(path, &error));
            }
            Err(_) => {
                for ending in ["", "-wal", "-shm"] {
                    let mut name = path.as_os_str().to_owned();
                    name.push(ending);
                    let _ = fs::remove_file(PathBuf::from(name));
                }
                connect(path).map_err(|error| failed(path, &error))?
            }
        };
        Ok(State { connection, path: path.to_owned(), target })
    }

    /// Everything that is remembered, by path below the home.
    pub(super) fn rows(&self) -> Result<HashMap<String, Row>, KeepError> {
        let read = || {
            let mut statement = self.connection.prepare(
                "SELECT path, key, kind, size, modified, device, number, changed, settled
                 FROM files WHERE target = ?1",
            )?;
            let mut found = statement.query([&self.target])?;
            let mut rows = HashMap::new();
            while let Some(row) = found.next()? {
                let key = row.get_ref(1)?.as_blob().ok().and_then(FileKey::from_bytes);
                let kind = row.get_ref(2)?.as_str().ok().and_then(FileKind::of_name);
                let (Some(key), Some(kind)) = (key, kind) else { continue };
                let number = |at: usize| row.get::<_, i64>(at);
                let stamp = Stamp {
                    device: number(5)?.cast_unsigned(),
                    number: number(6)?.cast_unsigned(),
                    changed: number(7)?,
                };
                let state =
                    FileState { size: number(3)?.cast_unsigned(), modified: number(4)?, stamp };
                let is_settled = number(8)? != 0;
                rows.insert(row.get(0)?, Row { key, kind, state, is_settled });
            }
            Ok(rows)
        };
        read().map_err(|error| failed(&self.path, &error))
    }

    /// Remembers that the whole home was looked at.
    pub(super) fn note_collected(&mut self, time: u64) -> Result<(), KeepError> {
        let write = || {
            self.connection.execute(
                "INSERT OR REPLACE INTO notes VALUES (?1, ?2, ?3)",
                params![self.target, COLLECTED, time.cast_signed()],
            )
        };
        write().map(drop).map_err(|error| failed(&self.path, &error))
    }

    /// When the whole home was looked at last, in milliseconds since 1970.
    pub(super) fn collected(&self) -> Result<Option<u64>, KeepError> {
        let read = || {
            let mut statement = self
                .connection
                .prepare("SELECT value FROM notes WHERE target = ?1 AND name = ?2")?;
            statement
                .query_row(params![self.target, COLLECTED], |row| row.get::<_, i64>(0))
                .optional()
        };
        let time = read().map_err(|error| failed(&self.path, &error))?;
        Ok(time.map(i64::cast_unsigned))
    }

    /// How far a file was kept.
    pub(super) fn remembered(&self, below: &str) -> Result<Option<Remembered>, KeepError> {
        let read = || {
            let mut statement = self
                .connection
                .prepare_cached("SELECT life, cursor FROM files WHERE target = ?1 AND path = ?2")?;
            statement
                .query_row(params![self.target, below], |row| {
                    Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?))
                })
                .optional()
        };
        let row = read().map_err(|error| failed(&self.path, &error))?;
        Ok(row.map(|(life, cursor)| {
            let life = life.and_then(|life| life.parse().ok());
            let cursor = cursor.and_then(|cursor| Cursor::decode(&cursor));
            let lines = life.zip(cursor);
            Remembered { state: FileState::default(), is_settled: false, lines }
        }))
    }

    /// Remembers what was kept, and forgets what is gone, in one step.
    pub(super) fn commit(&mut self, new: &[NewRow<'_>], gone: &[String]) -> Result<(), KeepError> {
        let State { connection, path, target } = self;
        let target = target.as_str();
        let mut write = || {
            let transaction = connection.transaction()?;
            for below in gone {
                transaction
                    .prepare_cached("DELETE FROM files WHERE target = ?1 AND path = ?2")?
                    .execute(params![target, below])?;
            }
            for row in new {
                write_row(&transaction, target, row)?;
            }
            transaction.commit()
        };
        write().map_err(|error| failed(path, &error))
    }
}

fn write_row(
    connection: &Connection,
    target: &str,
    row: &NewRow<'_>,
) -> Result<(), rusqlite::Error> {
    let Remembered { state, is_settled, lines } = row.remembered;
    let FileState { size, modified, stamp } = state;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO files
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            target,
            row.below,
            &row.key.as_bytes()[..],
            row.kind.name(),
            size.cast_signed(),
            modified,
            stamp.device.cast_signed(),
            stamp.number.cast_signed(),
            stamp.changed,
            is_settled,
            lines.as_ref().map(|(life, _)| life.to_string()),
            lines.as_ref().map(|(_, cursor)| cursor.encode()),
        ])?;
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version != VERSION {
        connection.execute_batch(
            "DROP TABLE IF EXISTS files;
             DROP TABLE IF EXISTS notes;
             CREATE TABLE notes (
                 target TEXT NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL,
                 PRIMARY KEY (target, name)
             ) WITHOUT ROWID;
             CREATE TABLE files (
                 target TEXT NOT NULL, path TEXT NOT NULL, key BLOB NOT NULL, kind TEXT NOT NULL,
                 size INTEGER NOT NULL, modified INTEGER NOT NULL, device INTEGER NOT NULL,
                 number INTEGER NOT NULL, changed INTEGER NOT NULL, settled INTEGER NOT NULL,
                 life TEXT, cursor BLOB,
                 PRIMARY KEY (target, path)
             ) WITHOUT ROWID;",
        )?;
        connection.pragma_update(None, "user_version", VERSION)?;
    }
    // A damaged file fails here, not in the middle of the work.
    connection.query_row("SELECT count(*) FROM files", [], |_| Ok(()))?;
    Ok(connection)
}

fn failed(path: &Path, error: &rusqlite::Error) -> KeepError {
    KeepError::State { path: path.to_owned(), reason: error.to_string() }
}
