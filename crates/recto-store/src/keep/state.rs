//! What a collector remembers: which files it saw, and how far it kept them.
//!
//! It is a cache. Each row is written after the archive has what the row says, and a row that
//! is lost or too old costs a second look at the file and its segments, nothing else.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use foldhash::fast::RandomState;
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
use crate::keep::key::LifeId;
use crate::log::file_state::Stamp;
use crate::place::locking::lock_file;

/// The version of the tables.
const VERSION: i64 = 2;

/// How long to wait for another process that opens the file.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// When the whole home was looked at last.
const COLLECTED: &str = "collected";

/// What is remembered about one archive and one home.
#[derive(Debug)]
pub(super) struct State {
    connection: Connection,
    path: PathBuf,
    target: i64,
}

/// The files that are remembered, by path below the home.
pub(super) type Rows = HashMap<String, Row, RandomState>;

/// What is remembered of a file, without how far it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: FileKey,
    pub(super) kind: FileKind,
    pub(super) state: FileState,
    pub(super) is_settled: bool,
    /// In which look at the whole home the file was seen last; 0 before the first.
    pub(super) look: u64,
}

impl Row {
    /// Whether all of a file that is like this now is in the archive.
    pub(super) fn is_kept(&self, state: &FileState) -> bool {
        self.is_settled && self.state == *state
    }
}

/// A row to be written.
pub(super) struct NewRow<'a> {
    pub(super) below: &'a str,
    pub(super) key: FileKey,
    pub(super) kind: FileKind,
    pub(super) remembered: &'a Remembered,
}

impl State {
    /// Opens the file, or makes it, and reads what it remembers. What cannot be used is replaced
    /// by an empty one. One process at a time does so: another could drop the tables that this
    /// one has just made.
    pub(super) fn open(path: &Path, target: &str) -> Result<(State, Rows), KeepError> {
        let lock = path.with_extension("lock");
        let held = lock_file(&lock, LONGEST_WAIT).map_err(KeepError::of(&lock))?;
        let _held = held.ok_or_else(|| KeepError::Busy { path: path.to_owned() })?;
        let read = || {
            let connection = connect(path)?;
            let target = target_number(&connection, target)?;
            let rows = read_rows(&connection, target)?;
            Ok((State { connection, path: path.to_owned(), target }, rows))
        };
        match read() {
            Ok(read) => Ok(read),
            // It is sound; somebody writes into it for longer than one can wait.
            Err(error) if is_busy(&error) => Err(failed(path, &error)),
            Err(_) => {
                for ending in ["", "-wal", "-shm"] {
                    let mut name = path.as_os_str().to_owned();
                    name.push(ending);
                    let _ = fs::remove_file(PathBuf::from(name));
                }
                read().map_err(|error| failed(path, &error))
            }
        }
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

    /// How far a file that grows was kept.
    pub(super) fn lines(&self, below: &str) -> Result<Option<(LifeId, Cursor)>, KeepError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT life, cursor FROM cursors WHERE target = ?1 AND path = ?2",
            )?;
            statement
                .query_row(params![self.target, below], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?))
                })
                .optional()
        };
        let row = read().map_err(|error| failed(&self.path, &error))?;
        Ok(row.and_then(|(life, cursor)| life.parse().ok().zip(Cursor::decode(&cursor))))
    }

    /// Remembers what was kept, and forgets what is gone, in one step.
    pub(super) fn commit(&mut self, new: &[NewRow<'_>], gone: &[String]) -> Result<(), KeepError> {
        let State { connection, path, target } = self;
        let target = *target;
        let mut write = || {
            let transaction = connection.transaction()?;
            for below in gone {
                for table in ["files", "cursors"] {
                    let delete = format!("DELETE FROM {table} WHERE target = ?1 AND path = ?2");
                    transaction.prepare_cached(&delete)?.execute(params![target, below])?;
                }
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
    target: i64,
    row: &NewRow<'_>,
) -> Result<(), rusqlite::Error> {
    let Remembered { state, is_settled, lines } = row.remembered;
    let FileState { size, modified, stamp } = state;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO files
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
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
        ])?;
    match lines {
        Some((life, cursor)) => connection
            .prepare_cached("INSERT OR REPLACE INTO cursors VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![target, row.below, life.to_string(), cursor.encode()])?,
        None => connection
            .prepare_cached("DELETE FROM cursors WHERE target = ?1 AND path = ?2")?
            .execute(params![target, row.below])?,
    };
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version != VERSION {
        // How far files were read is long and wanted of changed files only: it has a table of
        // its own, so that a look at a home in which nothing changed does not read it.
        connection.execute_batch(
            "DROP TABLE IF EXISTS files;
             DROP TABLE IF EXISTS cursors;
             DROP TABLE IF EXISTS notes;
             DROP TABLE IF EXISTS targets;
             CREATE TABLE targets (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
             CREATE TABLE notes (
                 target INTEGER NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL,
                 PRIMARY KEY (target, name)
             ) WITHOUT ROWID;
             CREATE TABLE files (
                 target INTEGER NOT NULL, path TEXT NOT NULL, key BLOB NOT NULL,
                 kind TEXT NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
                 device INTEGER NOT NULL, number INTEGER NOT NULL, changed INTEGER NOT NULL,
                 settled INTEGER NOT NULL,
                 PRIMARY KEY (target, path)
             ) WITHOUT ROWID;
             CREATE TABLE cursors (
                 target INTEGER NOT NULL, path TEXT NOT NULL, life TEXT NOT NULL,
                 cursor BLOB NOT NULL,
                 PRIMARY KEY (target, path)
             ) WITHOUT ROWID;",
        )?;
        connection.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(connection)
}

/// The number that stands for an archive and a home.
fn target_number(connection: &Connection, name: &str) -> Result<i64, rusqlite::Error> {
    let known = connection
        .query_row("SELECT number FROM targets WHERE name = ?1", [name], |row| row.get(0))
        .optional()?;
    match known {
        Some(number) => Ok(number),
        None => {
            connection.execute("INSERT INTO targets (name) VALUES (?1)", [name])?;
            Ok(connection.last_insert_rowid())
        }
    }
}

fn read_rows(connection: &Connection, target: i64) -> Result<Rows, rusqlite::Error> {
    let mut statement = connection.prepare(
        "SELECT path, key, kind, size, modified, device, number, changed, settled
         FROM files WHERE target = ?1",
    )?;
    let mut found = statement.query([target])?;
    let mut rows = Rows::default();
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
        let state = FileState { size: number(3)?.cast_unsigned(), modified: number(4)?, stamp };
        let is_settled = number(8)? != 0;
        rows.insert(row.get(0)?, Row { key, kind, state, is_settled, look: 0 });
    }
    Ok(rows)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn failed(path: &Path, error: &rusqlite::Error) -> KeepError {
    KeepError::State { path: path.to_owned(), reason: error.to_string() }
}
