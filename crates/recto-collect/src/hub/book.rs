//! What a hub itself remembers: today's sums, and the audit rows that are not in the store yet.
//!
//! Both are in one SQLite file. Audit rows move to the store in objects of many, so the file
//! stays small; which rows an object has is noted before it is written, so none is in two.

use std::path::Path;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::Connection;
use rusqlite::OptionalExtension as _;
use rusqlite::params;
use serde::Serialize;

use crate::error::CollectError;

const VERSION: i64 = 1;
/// So many rows make an object.
const MANY: u64 = 10_000;
/// Fewer rows move when they are this old, in milliseconds.
const OLD: i64 = 3_600_000;

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Deed<'a> {
    #[serde(serialize_with = "crate::moment::serialize")]
    pub(crate) time: Timestamp,
    pub(crate) machine: &'a str,
    /// The id of the token.
    pub(crate) token: &'a str,
    /// Where it came from.
    pub(crate) peer: &'a str,
    /// What was done: `stored`, `repeated`, `joined`, `refused`.
    pub(crate) action: &'static str,
    pub(crate) key: &'a str,
    pub(crate) bytes: u64,
}

/// Rows on their way to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) key: String,
    pub(crate) lines: Vec<u8>,
    last: i64,
}

/// What a hub remembers.
#[derive(Debug)]
pub(crate) struct Book {
    connection: Mutex<Connection>,
    path: String,
    hub: String,
}

impl Book {
    pub(crate) fn open(path: &Path) -> Result<Book, CollectError> {
        let shown = path.display().to_string();
        let failed = |error: rusqlite::Error| CollectError::State {
            path: shown.clone(),
            reason: error.to_string(),
        };
        let connection = connect(path).map_err(failed)?;
        let hub = hub_id(&connection).map_err(failed)?;
        Ok(Book { connection: Mutex::new(connection), path: shown, hub })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: &rusqlite::Error) -> CollectError {
        CollectError::State { path: self.path.clone(), reason: error.to_string() }
    }

    /// What a machine has stored on a day: bytes and objects.
    pub(crate) fn stored(&self, machine: &str, day: &str) -> Result<(u64, u64), CollectError> {
        let read = self
            .connection()
            .query_row(
                "SELECT bytes, objects FROM sums WHERE machine = ?1 AND day = ?2",
                params![machine, day],
                |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)),
            )
            .optional();
        Ok(read.map_err(|error| self.failed(&error))?.unwrap_or_default())
    }

    /// Notes what happened. What was stored counts for the day.
    pub(crate) fn note(&self, deed: &Deed<'_>) -> Result<(), CollectError> {
        let write = || {
            let mut connection = self.connection();
            let transaction = connection.transaction()?;
            transaction.prepare_cached("INSERT INTO audit (time, line) VALUES (?1, ?2)")?.execute(
                params![
                    deed.time.as_millisecond(),
                    serde_json::to_string(deed).unwrap_or_default()
                ],
            )?;
            if deed.action == "stored" {
                let day = day(deed.time);
                transaction
                    .prepare_cached(
                        "INSERT INTO sums VALUES (?1, ?2, ?3, 1) ON CONFLICT (machine, day)
                         DO UPDATE SET bytes = bytes + ?3, objects = objects + 1",
                    )?
                    .execute(params![deed.machine, day, deed.bytes as i64])?;
            }
            transaction.commit()
        };
        write().map_err(|error| self.failed(&error))
    }

    /// The next rows for the store, if they are many or old, or if `all` are wanted.
    pub(crate) fn page(&self, now: Timestamp, all: bool) -> Result<Option<Page>, CollectError> {
        self.try_page(now, all).map_err(|error| self.failed(&error))
    }

    fn try_page(&self, now: Timestamp, all: bool) -> Result<Option<Page>, rusqlite::Error> {
        let connection = self.connection();
        let begun = note_of(&connection, "page")?.and_then(|text| {
            let (first, last) = text.split_once('-')?;
            Some((first.parse::<i64>().ok()?, last.parse::<i64>().ok()?))
        });
        let (first, last) = match begun {
            Some(range) => range,
            None => {
                let oldest: Option<(i64, i64)> = connection
                    .query_row("SELECT id, time FROM audit ORDER BY id LIMIT 1", [], |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })
                    .optional()?;
                let Some((first, time)) = oldest else { return Ok(None) };
                let (count, last): (i64, i64) = connection.query_row(
                    "SELECT count(*), max(id) FROM
                     (SELECT id FROM audit ORDER BY id LIMIT ?1)",
                    [MANY as i64],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )?;
                let is_old = now.as_millisecond().saturating_sub(time) >= OLD;
                if !all && !is_old && (count as u64) < MANY {
                    return Ok(None);
                }
                set_note(&connection, "page", Some(&format!("{first}-{last}")))?;
                (first, last)
            }
        };
        let mut statement = connection
            .prepare_cached("SELECT line FROM audit WHERE id BETWEEN ?1 AND ?2 ORDER BY id")?;
        let mut lines = Vec::new();
        let mut rows = statement.query(params![first, last])?;
        while let Some(row) = rows.next()? {
            lines.extend_from_slice(row.get::<_, String>(0)?.as_bytes());
            lines.push(b'\n');
        }
        let key = format!("audit/v1/hub={}/{first:012}-{last:012}.jsonl", self.hub);
        Ok(Some(Page { key, lines, last }))
    }

    /// Forgets rows that are in the store now, and sums of days that are over.
    pub(crate) fn turn(&self, page: &Page, now: Timestamp) -> Result<(), CollectError> {
        let write = || {
            let mut connection = self.connection();
            let transaction = connection.transaction()?;
            transaction.execute("DELETE FROM audit WHERE id <= ?1", [page.last])?;
            transaction.execute("DELETE FROM sums WHERE day < ?1", [day(now)])?;
            set_note(&transaction, "page", None)?;
            transaction.commit()
        };
        write().map_err(|error| self.failed(&error))
    }
}

/// The day of a time, in UTC.
pub(crate) fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

fn note_of(connection: &Connection, name: &str) -> Result<Option<String>, rusqlite::Error> {
    connection
        .query_row("SELECT value FROM notes WHERE name = ?1", [name], |row| row.get(0))
        .optional()
}

fn set_note(
    connection: &Connection,
    name: &str,
    value: Option<&str>,
) -> Result<(), rusqlite::Error> {
    match value {
        Some(value) => connection
            .execute("INSERT OR REPLACE INTO notes VALUES (?1, ?2)", params![name, value])
            .map(drop),
        None => connection.execute("DELETE FROM notes WHERE name = ?1", [name]).map(drop),
    }
}

/// What this hub is called in the store. It stays.
fn hub_id(connection: &Connection) -> Result<String, rusqlite::Error> {
    if let Some(id) = note_of(connection, "hub")? {
        return Ok(id);
    }
    let id = uuid::Uuid::new_v4().simple().to_string()[..12].to_owned();
    set_note(connection, "hub", Some(&id))?;
    Ok(id)
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // What is acknowledged is in the audit log, whatever happens to the machine.
    connection.pragma_update(None, "synchronous", "FULL")?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version == 0 {
        connection.execute_batch(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS sums (
                 machine TEXT NOT NULL, day TEXT NOT NULL, bytes INTEGER NOT NULL,
                 objects INTEGER NOT NULL, PRIMARY KEY (machine, day)
             ) WITHOUT ROWID;
             CREATE TABLE IF NOT EXISTS audit (
                 id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, line TEXT NOT NULL
             );
             CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)
                 WITHOUT ROWID;
             PRAGMA user_version = 1;
             COMMIT;",
        )?;
    } else if version != VERSION {
        return Err(rusqlite::Error::InvalidQuery);
    }
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed<'a>(time: Timestamp, key: &'a str, action: &'static str) -> Deed<'a> {
        Deed { time, machine: "m", token: "t", peer: "p", action, key, bytes: 7 }
    }

    #[test]
    fn what_is_stored_counts_for_its_day() {
        let folder = tempfile::tempdir().unwrap();
        let book = Book::open(&folder.path().join("hub.sqlite")).unwrap();
        let now: Timestamp = "2026-11-17T23:59:00Z".parse().unwrap();
        book.note(&deed(now, "a", "stored")).unwrap();
        book.note(&deed(now, "b", "stored")).unwrap();
        book.note(&deed(now, "b", "repeated")).unwrap();
        assert_eq!(book.stored("m", "2026-11-17").unwrap(), (14, 2));
        assert_eq!(book.stored("m", "2026-11-18").unwrap(), (0, 0));
    }

    #[test]
    fn a_row_of_the_audit_log_is_in_one_object_whatever_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.sqlite");
        let now: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let book = Book::open(&path).unwrap();
        for key in ["a", "b"] {
            book.note(&deed(now, key, "stored")).unwrap();
        }
        assert_eq!(book.page(now, false).unwrap(), None);
        let first = book.page(now, true).unwrap().unwrap();
        book.note(&deed(now, "c", "stored")).unwrap();
        // Killed before the store had it, or before that was noted: the same object again.
        let book = Book::open(&path).unwrap();
        assert_eq!(book.page(now, true).unwrap().unwrap(), first);
        book.turn(&first, now).unwrap();
        let second = book.page(now, true).unwrap().unwrap();
        assert_ne!(second.key, first.key);
        assert_eq!(String::from_utf8(second.lines.clone()).unwrap().lines().count(), 1);
        book.turn(&second, now).unwrap();
        assert_eq!(book.page(now, true).unwrap(), None);
        assert_eq!(book.stored("m", "2026-11-17").unwrap(), (21, 3));
    }
}
