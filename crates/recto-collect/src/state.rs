//! What is remembered about stores: which objects they have, and which were begun.
//!
//! It is a cache of listings, but for one thing: a range that was begun to be sent is noted before
//! it is sent, so that it is sent again under the same name if nobody knows whether it arrived.

use std::path::Path;
use std::time::Duration;

use recto_store::keep::FileKey;
use recto_store::keep::LifeId;
use recto_store::keep::Part;
use rusqlite::Connection;
use rusqlite::OptionalExtension as _;
use rusqlite::params;

use crate::error::CollectError;

/// The version of the tables.
const VERSION: i64 = 1;

/// What is remembered about one store and one home.
#[derive(Debug)]
pub(crate) struct State {
    connection: Connection,
    path: String,
    target: String,
}

/// A part that a store has, or that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) part: Part,
    pub(crate) is_there: bool,
}

impl State {
    /// Opens the file, or makes it. What cannot be used is replaced by an empty one.
    pub(crate) fn open(path: &Path, target: String) -> Result<State, CollectError> {
        let shown = path.display().to_string();
        let failed = |error: rusqlite::Error| CollectError::State {
            path: shown.clone(),
            reason: error.to_string(),
        };
        let connection = match connect(path) {
            Ok(connection) => connection,
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {
                return Err(failed(error));
            }
            Err(_) => {
                recto_store::remove_database(path);
                connect(path).map_err(failed)?
            }
        };
        Ok(State { connection, path: shown, target })
    }

    fn failed(&self, error: &rusqlite::Error) -> CollectError {
        CollectError::State { path: self.path.clone(), reason: error.to_string() }
    }

    /// Everything that is known of a file.
    pub(crate) fn of_file(&self, file: FileKey) -> Result<Vec<Known>, CollectError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT name, there FROM objects WHERE target = ?1 AND file = ?2",
            )?;
            let rows = statement.query_map(params![self.target, file.to_string()], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?))
            })?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let rows = read().map_err(|error| self.failed(&error))?;
        let known = rows
            .into_iter()
            .filter_map(|(name, is_there)| Some(Known { part: Part::parse(&name)?, is_there }));
        Ok(known.collect())
    }

    /// Remembers parts of files.
    pub(crate) fn note(
        &mut self,
        parts: &[(FileKey, Part)],
        is_there: bool,
    ) -> Result<(), CollectError> {
        let State { connection, target, .. } = self;
        let target = target.as_str();
        let mut write = || {
            let transaction = connection.transaction()?;
            for (file, part) in parts {
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO objects VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![target, file.to_string(), part.name(), is_there])?;
            }
            transaction.commit()
        };
        write().map_err(|error| self.failed(&error))
    }

    /// Which life of a store a life of the archive is, if that was found out.
    pub(crate) fn life(&self, file: FileKey, life: LifeId) -> Result<Option<LifeId>, CollectError> {
        let read = self.connection.prepare_cached(
            "SELECT named FROM lives WHERE target = ?1 AND file = ?2 AND life = ?3",
        );
        let read = read.and_then(|mut statement| {
            statement
                .query_row(params![self.target, file.to_string(), life.to_string()], |row| {
                    row.get::<_, String>(0)
                })
                .optional()
        });
        let named = read.map_err(|error| self.failed(&error))?;
        Ok(named.and_then(|named| named.parse().ok()))
    }

    /// Remembers that.
    pub(crate) fn set_life(
        &mut self,
        file: FileKey,
        life: LifeId,
        named: LifeId,
    ) -> Result<(), CollectError> {
        let write = self.connection.execute(
            "INSERT OR REPLACE INTO lives VALUES (?1, ?2, ?3, ?4)",
            params![self.target, file.to_string(), life.to_string(), named.to_string()],
        );
        write.map(drop).map_err(|error| self.failed(&error))
    }

    /// A note about the store.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, CollectError> {
        let read = self.connection.query_row(
            "SELECT value FROM notes WHERE target = ?1 AND name = ?2",
            params![self.target, name],
            |row| row.get(0),
        );
        read.optional().map_err(|error| self.failed(&error))
    }

    /// Writes a note, or removes it.
    pub(crate) fn set_text(&mut self, name: &str, text: Option<&str>) -> Result<(), CollectError> {
        let write = match text {
            Some(text) => self.connection.execute(
                "INSERT OR REPLACE INTO notes VALUES (?1, ?2, ?3)",
                params![self.target, name, text],
            ),
            None => self.connection.execute(
                "DELETE FROM notes WHERE target = ?1 AND name = ?2",
                params![self.target, name],
            ),
        };
        write.map(drop).map_err(|error| self.failed(&error))
    }

    /// Forgets everything about the store: what it has is listed again.
    pub(crate) fn forget(&mut self) -> Result<(), CollectError> {
        let State { connection, target, .. } = self;
        let target = target.as_str();
        let mut write = || {
            let transaction = connection.transaction()?;
            for table in ["objects", "lives", "notes"] {
                transaction.execute(&format!("DELETE FROM {table} WHERE target = ?1"), [target])?;
            }
            transaction.commit()
        };
        write().map_err(|error| self.failed(&error))
    }
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version != VERSION {
        connection.execute_batch(
            "BEGIN IMMEDIATE;
             DROP TABLE IF EXISTS objects;
             DROP TABLE IF EXISTS lives;
             DROP TABLE IF EXISTS notes;
             CREATE TABLE objects (
                 target TEXT NOT NULL, file TEXT NOT NULL, name TEXT NOT NULL,
                 there INTEGER NOT NULL, PRIMARY KEY (target, file, name)
             ) WITHOUT ROWID;
             CREATE TABLE lives (
                 target TEXT NOT NULL, file TEXT NOT NULL, life TEXT NOT NULL,
                 named TEXT NOT NULL, PRIMARY KEY (target, file, life)
             ) WITHOUT ROWID;
             CREATE TABLE notes (
                 target TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
                 PRIMARY KEY (target, name)
             ) WITHOUT ROWID;
             PRAGMA user_version = 1;
             COMMIT;",
        )?;
    }
    connection.query_row("SELECT count(*) FROM objects", [], |_| Ok(()))?;
    Ok(connection)
}
