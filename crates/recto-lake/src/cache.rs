//! Tables in a SQLite file: what was read once is not read again.
//!
//! Rows know the source that they are from, a log or a Parquet file. A source that changed is
//! loaded anew, one that is gone is removed. The file can be deleted at any time.

use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;

use rusqlite::Connection;
use rusqlite::OpenFlags;
use rusqlite::params_from_iter;
use rusqlite::types::ToSqlOutput;
use rusqlite::types::ValueRef;

use crate::error::LakeError;
use crate::library::views;
use crate::rows::Cell;
use crate::rows::date_of;
use crate::schema::Table;

/// Changes with the form of the file.
const FORM: i64 = 1;

/// A file with tables.
pub struct Cache {
    connection: Connection,
    path: PathBuf,
    /// What is loaded: source and table to its state and level.
    loaded: HashMap<(String, Table), (i64, String, u8)>,
}

/// What a source of rows is: its name, what it looked like, and how much of it is loaded.
#[derive(Debug, Clone)]
pub struct SourceState {
    /// Its name.
    pub name: String,
    /// What it looked like.
    pub state: String,
    /// 1 with texts, else 0.
    pub level: u8,
}

impl Cache {
    /// Opens or makes a file. One of another form is made again.
    pub fn open(path: &Path) -> Result<Cache, LakeError> {
        if let Some(directory) = path.parent() {
            recto_store::make_directory(directory)?;
        }
        match Cache::try_open(path) {
            Ok(Some(cache)) => Ok(cache),
            Ok(None) | Err(_) => {
                recto_store::remove_database(path);
                let cache = Cache::try_open(path).map_err(|error| broken(path, &error))?;
                cache.ok_or_else(|| LakeError::Cache {
                    path: path.display().to_string(),
                    reason: "another program is changing it".to_owned(),
                })
            }
        }
    }

    fn try_open(path: &Path) -> rusqlite::Result<Option<Cache>> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(std::time::Duration::from_secs(60))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "cache_size", -65_536)?;
        let script = script();
        let form = FORM * 1_000_000_007 + checksum(&script);
        let known: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let form = form.rem_euclid(2_000_000_000);
        if known != 0 && known != form {
            return Ok(None);
        }
        if known == 0 {
            connection.execute_batch(&script)?;
            connection.pragma_update(None, "user_version", form)?;
        }
        let mut cache = Cache { connection, path: path.to_owned(), loaded: HashMap::new() };
        cache.read_loaded()?;
        Ok(Some(cache))
    }

    fn read_loaded(&mut self) -> rusqlite::Result<()> {
        let mut statement =
            self.connection.prepare("SELECT id, name, tbl, state, level FROM recto_sources")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, name, table): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if let Some(table) = Table::of_name(&table) {
                self.loaded.insert((name, table), (id, row.get(3)?, row.get(4)?));
            }
        }
        Ok(())
    }

    /// Whether a table lacks the rows of a source.
    pub fn is_stale(&self, table: Table, source: &SourceState) -> bool {
        match self.loaded.get(&(source.name.clone(), table)) {
            Some((_, state, level)) => {
                source.state.is_empty() || *state != source.state || *level < source.level
            }
            None => true,
        }
    }

    /// Replaces the rows of sources by those that `fill` gives. All of it
    /// happens, or nothing.
    pub fn replace<E: From<LakeError>>(
        &mut self,
        sources: &[(Table, SourceState)],
        fill: impl FnOnce(&mut dyn FnMut(Table, &[Cell<'_>]) -> Result<(), LakeError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = self.path.clone();
        let failed = |error: rusqlite::Error| LakeError::from_sqlite(&path, &error);
        let transaction = self.connection.transaction().map_err(failed)?;
        let mut ids = HashMap::new();
        for (table, source) in sources {
            if let Some((old, ..)) = self.loaded.get(&(source.name.clone(), *table)) {
                remove(&transaction, *table, *old).map_err(failed)?;
            }
            let insert = "INSERT INTO recto_sources (name, tbl, state, level) VALUES (?, ?, ?, ?)";
            let values = (&source.name, table.name(), &source.state, source.level);
            transaction.execute(insert, values).map_err(failed)?;
            ids.insert(*table, transaction.last_insert_rowid());
        }
        {
            let mut statements = HashMap::new();
            for (table, id) in &ids {
                let statement = transaction.prepare(&insert_statement(*table)).map_err(failed)?;
                statements.insert(*table, (statement, *id));
            }
            fill(&mut |table, cells| {
                let Some((statement, id)) = statements.get_mut(&table) else { return Ok(()) };
                let id = Cell::Long(*id);
                let values = std::iter::once(&id).chain(cells).map(to_sql);
                statement.execute(params_from_iter(values)).map_err(failed)?;
                Ok(())
            })?;
        }
        transaction.commit().map_err(failed)?;
        for (table, source) in sources {
            let known = (ids[table], source.state.clone(), source.level);
            self.loaded.insert((source.name.clone(), *table), known);
        }
        Ok(())
    }

    /// Removes rows of sources that no longer exist.
    pub fn keep_only(&mut self, table: Table, names: &HashSet<&str>) -> Result<(), LakeError> {
        let gone = self
            .loaded
            .iter()
            .filter(|((name, of), _)| *of == table && !names.contains(name.as_str()));
        let gone: Vec<(String, i64)> =
            gone.map(|((name, _), (id, ..))| (name.clone(), *id)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let path = self.path.clone();
        let failed = |error: rusqlite::Error| LakeError::from_sqlite(&path, &error);
        let transaction = self.connection.transaction().map_err(failed)?;
        for (_, id) in &gone {
            remove(&transaction, table, *id).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        for (name, _) in gone {
            self.loaded.remove(&(name, table));
        }
        Ok(())
    }

    /// A second connection to it, which cannot write.
    pub fn reader(&self) -> Result<Connection, LakeError> {
        let failed = |error: rusqlite::Error| broken(&self.path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(failed)?;
        connection.pragma_update(None, "query_only", true).map_err(failed)?;
        connection.pragma_update(None, "temp_store", "MEMORY").map_err(failed)?;
        connection.pragma_update(None, "cache_size", -131_072).map_err(failed)?;
        Ok(connection)
    }
}

impl LakeError {
    fn from_sqlite(path: &Path, error: &rusqlite::Error) -> LakeError {
        broken(path, error)
    }
}

fn broken(path: &Path, error: &rusqlite::Error) -> LakeError {
    LakeError::Cache { path: path.display().to_string(), reason: error.to_string() }
}

fn remove(connection: &Connection, table: Table, id: i64) -> rusqlite::Result<()> {
    connection
        .execute(&format!("DELETE FROM {}_rows WHERE recto_source = ?", table.name()), [id])?;
    connection.execute("DELETE FROM recto_sources WHERE id = ?", [id])?;
    Ok(())
}

fn insert_statement(table: Table) -> String {
    let places = vec!["?"; table.columns().len() + 1].join(", ");
    format!("INSERT INTO {}_rows VALUES ({places})", table.name())
}

/// The form of the file: rows with their sources, and the tables and views on them.
fn script() -> String {
    let mut script =
        "BEGIN;\nCREATE TABLE recto_sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL, \
         tbl TEXT NOT NULL, state TEXT NOT NULL, level INTEGER NOT NULL, UNIQUE (name, tbl));\n"
            .to_owned();
    for table in Table::ALL {
        let name = table.name();
        let columns = table.columns();
        let typed: Vec<String> = columns
            .iter()
            .map(|column| format!("{} {}", column.name, column.kind.sqlite()))
            .collect();
        let plain: Vec<&str> = columns.iter().map(|column| column.name).collect();
        script += &format!(
            "CREATE TABLE {name}_rows (recto_source INTEGER NOT NULL, {});\n\
             CREATE INDEX {name}_source ON {name}_rows (recto_source);\n\
             CREATE VIEW {name} AS SELECT {} FROM {name}_rows;\n",
            typed.join(", "),
            plain.join(", ")
        );
    }
    for view in views() {
        script += &format!("CREATE VIEW {} AS {};\n", view.name, view.sql);
    }
    script + "COMMIT;\n"
}

fn checksum(text: &str) -> i64 {
    text.bytes().fold(7, |sum: i64, byte| (sum * 131 + i64::from(byte)).rem_euclid(1_000_000_007))
}

fn to_sql<'a>(cell: &Cell<'a>) -> ToSqlOutput<'a> {
    match cell {
        Cell::Null => ToSqlOutput::Borrowed(ValueRef::Null),
        Cell::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Cell::Long(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
        Cell::Bool(is) => ToSqlOutput::Borrowed(ValueRef::Integer(i64::from(*is))),
        Cell::Day(days) => ToSqlOutput::from(date_of(*days).to_string()),
        Cell::Micros(micros) => {
            let time = jiff::Timestamp::from_microsecond(*micros).unwrap_or_default();
            ToSqlOutput::from(time.to_string())
        }
    }
}
