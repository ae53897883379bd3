//! Tables in a SQLite file: what was read once is not read again.
//!
//! Rows know the source that they are from, a log or a Parquet file. A source that changed is
//! loaded anew, one that is gone is removed. Several processes can use a file at once: what is
//! loaded is looked up again in the transaction that changes it. The file can be deleted at any
//! time. It has what sessions contain, so nothing that was removed stays in its free pages.

use std::collections::HashMap;
use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use recto_store::StoreError;
use recto_store::index::IndexError;
use rusqlite::Connection;
use rusqlite::ErrorCode;
use rusqlite::OptionalExtension as _;
use rusqlite::TransactionBehavior;
use rusqlite::config::DbConfig;
use rusqlite::hooks::AuthAction;
use rusqlite::hooks::AuthContext;
use rusqlite::hooks::Authorization;
use rusqlite::limits::Limit;
use rusqlite::params_from_iter;
use rusqlite::types::ToSqlOutput;
use rusqlite::types::ValueRef;

use crate::error::LakeError;
use crate::library::views;
use crate::rows::Cell;
use crate::rows::date_of;
use crate::schema::Table;

/// Changes with the form of the file.
const FORM: i64 = 2;
/// How long others are waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// No value of an answer is larger; a line of a log is smaller.
const LARGEST_VALUE: i32 = 128 * 1024 * 1024;

/// A query takes so much memory at most: what it sorts and groups is nowhere else.
pub(crate) const LARGEST_HEAP: i64 = 4 * 1024 * 1024 * 1024;

/// A file with tables.
pub struct Cache {
    connection: Connection,
    /// What is loaded, as far as is known: source and table to its state and level.
    loaded: HashMap<(String, Table), (String, u8)>,
}

/// What a source of rows is: its name, what it looked like, and how much of it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceState {
    /// Its name.
    pub name: String,
    /// What it looked like. Nothing for one that is written at this moment.
    pub state: String,
    /// 1 with texts, else 0.
    pub level: u8,
}

impl SourceState {
    /// Whether rows of a state and a level are what is needed.
    fn is_met_by(&self, state: &str, level: u8) -> bool {
        !self.state.is_empty() && state == self.state && level >= self.level
    }
}

impl Cache {
    /// Works with the tables in a file. One that turns out to be damaged is made again, once.
    pub fn with<T>(
        path: &Path,
        mut work: impl FnMut(Cache) -> Result<T, LakeError>,
    ) -> Result<T, LakeError> {
        match Cache::open(path).and_then(&mut work) {
            Err(LakeError::Cache { is_damaged: true, .. }) => {
                Cache::remove(path)?;
                work(Cache::open(path)?)
            }
            answer => answer,
        }
    }

    /// Opens or makes a file. One of another form is emptied, a damaged one is made again.
    pub fn open(path: &Path) -> Result<Cache, LakeError> {
        if let Some(directory) = path.parent() {
            let made = recto_store::make_directory(directory);
            made.map_err(|error| refused(path, error.to_string()))?;
        }
        // Nobody opens a file while its parts are removed one after the other.
        let _lock = lock(path)?;
        match Cache::try_open(path) {
            Err(LakeError::Cache { is_damaged: true, .. }) => {
                remove_files(path)?;
                Cache::try_open(path)
            }
            opened => opened,
        }
    }

    /// Removes a file. Who has it open goes on with what it was.
    pub fn remove(path: &Path) -> Result<(), LakeError> {
        let _lock = lock(path)?;
        remove_files(path)
    }

    /// Removes all files of a directory. Says whether there was one.
    pub fn remove_all(directory: &Path) -> Result<bool, LakeError> {
        let mut is_any = false;
        let entries = match std::fs::read_dir(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "sqlite") {
                Cache::remove(&path)?;
                is_any = true;
            }
        }
        Ok(is_any)
    }

    fn try_open(path: &Path) -> Result<Cache, LakeError> {
        let connection = recto_store::index::open_database(path).map_err(|error| {
            let is_damaged = matches!(error, StoreError::Index(IndexError::Damaged { .. }));
            let reason = match error {
                StoreError::Index(
                    IndexError::Damaged { why }
                    | IndexError::Locked { why }
                    | IndexError::Refused { why },
                ) => why,
                other => other.to_string(),
            };
            LakeError::Cache { path: path.display().to_string(), reason, is_damaged }
        })?;
        let mut cache = Cache { connection, loaded: HashMap::new() };
        match cache.set_up() {
            Ok(()) => Ok(cache),
            Err(error) => Err(broken(&cache.connection, &error)),
        }
    }

    fn set_up(&mut self) -> rusqlite::Result<()> {
        let connection = &mut self.connection;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "cache_size", -65_536)?;
        let script = script();
        let form = (FORM * 1_000_000_007 + checksum(&script)).rem_euclid(2_000_000_000);
        if form_of(connection)? != form {
            let behavior = TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behavior)?;
            // Another process may have been first.
            if form_of(&transaction)? != form {
                clear(&transaction)?;
                transaction.execute_batch(&script)?;
                transaction.pragma_update(None, "user_version", form)?;
            }
            transaction.commit()?;
        }
        self.read_loaded()
    }

    fn read_loaded(&mut self) -> rusqlite::Result<()> {
        let mut statement =
            self.connection.prepare("SELECT name, tbl, state, level FROM recto_sources")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (name, table): (String, String) = (row.get(0)?, row.get(1)?);
            if let Some(table) = Table::of_name(&table) {
                self.loaded.insert((name, table), (row.get(2)?, row.get(3)?));
            }
        }
        Ok(())
    }

    /// Whether a table lacks the rows of a source.
    pub fn is_stale(&self, table: Table, source: &SourceState) -> bool {
        let known = self.loaded.get(&(source.name.clone(), table));
        !known.is_some_and(|(state, level)| source.is_met_by(state, *level))
    }

    /// Replaces the rows of sources by those that `fill` gives. All of it happens, or nothing.
    /// `fill` is told what is due: another process may have loaded a part of it meanwhile, and
    /// texts that are loaded stay loaded.
    pub fn replace<E: From<LakeError>>(
        &mut self,
        sources: &[(Table, SourceState)],
        fill: impl FnOnce(
            &[(Table, SourceState)],
            &mut dyn FnMut(Table, &[Cell<'_>]) -> Result<(), LakeError>,
        ) -> Result<(), E>,
    ) -> Result<(), E> {
        let connection = &self.connection;
        let failed = |error: rusqlite::Error| broken(connection, &error);
        // Readers may be open; no two transactions are on one connection.
        let transaction =
            rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
                .map_err(failed)?;
        let mut due = Vec::new();
        let mut statements = HashMap::new();
        for (table, source) in sources {
            let known = known(&transaction, *table, &source.name).map_err(failed)?;
            let level = known.as_ref().map_or(0, |known| known.level);
            if known.is_some_and(|known| source.is_met_by(&known.state, known.level)) {
                continue;
            }
            let source = SourceState { level: source.level.max(level), ..source.clone() };
            remove(&transaction, *table, &source.name).map_err(failed)?;
            let insert = "INSERT INTO recto_sources (name, tbl, state, level) VALUES (?, ?, ?, ?)";
            let values = (&source.name, table.name(), &source.state, source.level);
            transaction.execute(insert, values).map_err(failed)?;
            let id = transaction.last_insert_rowid();
            let statement = transaction.prepare(&insert_statement(*table)).map_err(failed)?;
            statements.insert(*table, (statement, id));
            due.push((*table, source));
        }
        if !due.is_empty() {
            fill(&due, &mut |table, cells| {
                let Some((statement, id)) = statements.get_mut(&table) else { return Ok(()) };
                let id = Cell::Long(*id);
                let values = std::iter::once(&id).chain(cells).map(to_sql);
                statement.execute(params_from_iter(values)).map_err(failed)?;
                Ok(())
            })?;
        }
        drop(statements);
        transaction.commit().map_err(failed)?;
        for (table, source) in due {
            self.loaded.insert((source.name, table), (source.state, source.level));
        }
        Ok(())
    }

    /// Removes rows of sources that no longer exist.
    pub fn keep_only(&mut self, table: Table, names: &HashSet<&str>) -> Result<(), LakeError> {
        let gone =
            self.loaded.keys().filter(|(name, of)| *of == table && !names.contains(name.as_str()));
        let gone: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let connection = &self.connection;
        let failed = |error: rusqlite::Error| broken(connection, &error);
        let transaction =
            rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
                .map_err(failed)?;
        for name in &gone {
            remove(&transaction, table, name).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        for name in gone {
            self.loaded.remove(&(name, table));
        }
        Ok(())
    }

    /// The connection, which only reads from now on: its file is the one that was loaded.
    pub fn into_reader(self) -> Result<Connection, LakeError> {
        let mut connection = self.connection;
        match only_read(&mut connection) {
            Ok(()) => Ok(connection),
            Err(error) => Err(broken(&connection, &error)),
        }
    }
}

/// Leaves nothing beside the file, and makes a connection one that cannot write.
fn only_read(connection: &mut Connection) -> rusqlite::Result<()> {
    // Whoever is reading is not waited for; then it is done another time.
    connection.busy_timeout(Duration::ZERO)?;
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -131_072)?;
    connection.pragma_update(None, "hard_heap_limit", LARGEST_HEAP)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LARGEST_VALUE)?;
    strictly(connection)?;
    connection.authorizer(Some(|context: AuthContext<'_>| reading(&context.action)))
}

/// Names in double quotes are names: SQLite takes those that it does not know for texts.
pub(crate) fn strictly(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    Ok(())
}

/// What a query may do.
pub(crate) fn reading(action: &AuthAction<'_>) -> Authorization {
    match action {
        AuthAction::Select
        | AuthAction::Read { .. }
        | AuthAction::Function { .. }
        | AuthAction::Recursive => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

/// What went wrong with the file of a connection.
pub(crate) fn broken(connection: &Connection, error: &rusqlite::Error) -> LakeError {
    LakeError::Cache {
        path: connection.path().unwrap_or_default().to_owned(),
        reason: error.to_string(),
        is_damaged: is_damage(error),
    }
}

/// Whether a file is not what was written to it.
fn is_damage(error: &rusqlite::Error) -> bool {
    let page = |error: &rusqlite::ffi::Error| {
        error.extended_code == rusqlite::ffi::SQLITE_IOERR_DATA
            || matches!(error.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    };
    code_of(error).is_some_and(page)
}

/// What SQLite says of an error, also where it is about a query.
pub(crate) fn code_of(error: &rusqlite::Error) -> Option<&rusqlite::ffi::Error> {
    match error {
        rusqlite::Error::SqliteFailure(error, _) | rusqlite::Error::SqlInputError { error, .. } => {
            Some(error)
        }
        _ => None,
    }
}

fn lock(path: &Path) -> Result<File, LakeError> {
    let lock = recto_store::lock_file(&path.with_extension("lock"), PATIENCE);
    let lock = lock.map_err(|error| refused(path, error.to_string()))?;
    lock.ok_or_else(|| refused(path, "another program is opening it".to_owned()))
}

/// A file that cannot be used, although nothing says that it is damaged.
fn refused(path: &Path, reason: String) -> LakeError {
    LakeError::Cache { path: path.display().to_string(), reason, is_damaged: false }
}

fn remove_files(path: &Path) -> Result<(), LakeError> {
    recto_store::remove_database(path);
    match path.symlink_metadata().is_ok() {
        false => Ok(()),
        true => Err(refused(path, "it cannot be deleted".to_owned())),
    }
}

fn form_of(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Removes whatever is in a file of another form.
fn clear(connection: &Connection) -> rusqlite::Result<()> {
    // Views first, because they need tables.
    let all = "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') \
               AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC";
    let mut statement = connection.prepare(all)?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found = found.collect::<rusqlite::Result<Vec<(String, String)>>>()?;
    for (kind, name) in found {
        let name = name.replace('"', "\"\"");
        connection.execute_batch(&format!("DROP {kind} \"{name}\""))?;
    }
    Ok(())
}

/// What is loaded of a source.
struct Known {
    state: String,
    level: u8,
}

fn known(connection: &Connection, table: Table, name: &str) -> rusqlite::Result<Option<Known>> {
    let sql = "SELECT state, level FROM recto_sources WHERE name = ? AND tbl = ?";
    connection
        .query_row(sql, (name, table.name()), |row| {
            Ok(Known { state: row.get(0)?, level: row.get(1)? })
        })
        .optional()
}

fn remove(connection: &Connection, table: Table, name: &str) -> rusqlite::Result<()> {
    let rows = format!(
        "DELETE FROM {}_rows WHERE recto_source IN \
         (SELECT id FROM recto_sources WHERE name = ? AND tbl = ?)",
        table.name()
    );
    connection.execute(&rows, (name, table.name()))?;
    let source = "DELETE FROM recto_sources WHERE name = ? AND tbl = ?";
    connection.execute(source, (name, table.name()))?;
    Ok(())
}

fn insert_statement(table: Table) -> String {
    let places = vec!["?"; table.columns().len() + 1].join(", ");
    format!("INSERT INTO {}_rows VALUES ({places})", table.name())
}

/// Tables and views without rows: what a query is about can be asked of them.
pub(crate) fn empty_tables() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    let tables = Table::ALL.map(|table| {
        let columns: Vec<&str> = table.columns().iter().map(|column| column.name).collect();
        format!("CREATE TABLE {} ({});\n", table.name(), columns.join(", "))
    });
    connection.execute_batch(&(tables.concat() + &view_script()))?;
    Ok(connection)
}

fn view_script() -> String {
    let views = views().into_iter();
    views.map(|view| format!("CREATE VIEW {} AS {};\n", view.name, view.sql)).collect()
}

/// The form of the file: rows with their sources, and the tables and views on them.
fn script() -> String {
    let mut script = "CREATE TABLE recto_sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL, \
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
    script + &view_script()
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Barrier;

    use super::*;
    use crate::query::Value;
    use crate::query::ask;

    const COUNT: &str = "SELECT COUNT(*) AS n FROM prices";

    fn source(name: &str, state: &str, level: u8) -> (Table, SourceState) {
        (Table::Prices, SourceState { name: name.to_owned(), state: state.to_owned(), level })
    }

    /// Loads rows with a text, if they are due. Says whether they were.
    fn load(cache: &mut Cache, one: (Table, SourceState), rows: usize, text: &str) -> Option<u8> {
        let columns = Table::Prices.columns();
        let mut level = None;
        let filled = cache.replace::<LakeError>(&[one], |due, take| {
            level = due.first().map(|(_, source)| source.level);
            let mut cells = vec![Cell::Null; columns.len()];
            cells[0] = Cell::Text(text);
            (0..rows).try_for_each(|_| take(Table::Prices, &cells))
        });
        filled.unwrap();
        level
    }

    fn count(cache: Cache) -> Value {
        ask(&cache.into_reader().unwrap(), COUNT, 1).unwrap().rows.remove(0).remove(0)
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("query/one.sqlite");
        (folder, path)
    }

    #[test]
    fn many_that_load_the_same_at_once_have_the_same_rows() {
        for _ in 0..10 {
            let (_folder, path) = place();
            let at_once = Barrier::new(6);
            std::thread::scope(|scope| {
                for _ in 0..6 {
                    scope.spawn(|| {
                        at_once.wait();
                        let mut cache = Cache::open(&path).unwrap();
                        for name in ["a", "b", "c"] {
                            load(&mut cache, source(name, "1", 0), 5, "x");
                        }
                        assert_eq!(count(cache), Value::Integer(15));
                    });
                }
            });
        }
    }

    #[test]
    fn what_another_process_has_loaded_is_not_loaded_again_and_its_texts_stay() {
        let (_folder, path) = place();
        let mut late = Cache::open(&path).unwrap();
        let mut early = Cache::open(&path).unwrap();
        assert_eq!(load(&mut early, source("a", "1", 1), 2, "x"), Some(1));
        assert!(late.is_stale(Table::Prices, &source("a", "1", 0).1), "it has not looked");
        assert_eq!(load(&mut late, source("a", "1", 0), 9, "x"), None);
        assert_eq!(load(&mut late, source("a", "2", 0), 3, "x"), Some(1), "with texts");
        // One that is written at this moment is loaded each time.
        assert_eq!(load(&mut late, source("b", "", 0), 1, "x"), Some(0));
        assert_eq!(load(&mut early, source("b", "", 0), 2, "x"), Some(0));
        assert_eq!(count(late), Value::Integer(5));
    }

    #[test]
    fn nothing_that_was_removed_stays_in_the_file_or_beside_it() {
        let (_folder, path) = place();
        let has = |word: &str| {
            std::fs::read_dir(path.parent().unwrap()).unwrap().any(|entry| {
                let bytes = std::fs::read(entry.unwrap().path()).unwrap();
                bytes.windows(word.len()).any(|part| part == word.as_bytes())
            })
        };
        let mut cache = Cache::open(&path).unwrap();
        load(&mut cache, source("a", "1", 0), 3000, "zebrasecret");
        load(&mut cache, source("b", "1", 0), 3000, "anything");
        drop(cache.into_reader().unwrap());
        assert!(has("zebrasecret"));
        let mut cache = Cache::open(&path).unwrap();
        // Who has it open keeps what is beside it.
        let _open = Cache::open(&path).unwrap();
        cache.keep_only(Table::Prices, &HashSet::from(["b"])).unwrap();
        let reader = cache.into_reader().unwrap();
        assert!(!has("zebrasecret") && has("anything"));
        drop(reader);
    }

    #[cfg(unix)]
    #[test]
    fn only_its_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, path) = place();
        let mut cache = Cache::open(&path).unwrap();
        load(&mut cache, source("a", "1", 0), 3, "x");
        for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{:?}", entry.file_name());
        }
    }

    #[test]
    fn damage_is_never_another_answer() {
        let (_folder, path) = place();
        let load_all = |mut cache: Cache| {
            for name in ["a", "b", "c", "d"] {
                if cache.is_stale(Table::Prices, &source(name, "1", 0).1) {
                    load(&mut cache, source(name, "1", 0), 100, "some model");
                }
            }
            let reader = cache.into_reader()?;
            Ok(ask(&reader, COUNT, 1)?.rows.remove(0).remove(0))
        };
        assert_eq!(Cache::with(&path, load_all).unwrap(), Value::Integer(400));
        let sound = std::fs::read(&path).unwrap();
        for at in (0..sound.len()).step_by(977) {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(Cache::with(&path, load_all).unwrap(), Value::Integer(400), "at {at}");
        }
        for bad in [&b"no database"[..], &sound[..sound.len() / 2], b""] {
            std::fs::write(&path, bad).unwrap();
            assert_eq!(Cache::with(&path, load_all).unwrap(), Value::Integer(400));
        }
    }

    #[test]
    fn a_place_that_cannot_be_used_is_named_with_what_helps() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("query"), "no directory").unwrap();
        let error = Cache::open(&folder.path().join("query/one.sqlite")).err().unwrap();
        assert_eq!(error.kind(), "query-cache");
        assert!(error.hint().unwrap().contains("RECTO_CACHE_DIR"), "{error}");
    }

    #[test]
    fn a_file_of_another_form_is_emptied() {
        let (_folder, path) = place();
        let mut cache = Cache::open(&path).unwrap();
        load(&mut cache, source("a", "1", 0), 3, "x");
        cache.connection.pragma_update(None, "user_version", 7).unwrap();
        drop(cache);
        assert_eq!(count(Cache::open(&path).unwrap()), Value::Integer(0));
    }
}
