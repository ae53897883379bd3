//! The file of the index: where it is, what is in it, how it is opened.

use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::OpenFlags;
use rusqlite::TransactionBehavior;
use rusqlite::config::DbConfig;
use sha2::Digest as _;
use sha2::Sha256;

use super::IndexError;
use super::page_sums;
use super::rollups;
use super::write_ahead;
use crate::CacheDirectory;
use crate::Home;
use crate::StoreError;
use crate::place::locking::lock_file;
use crate::place::open::open_known;
use crate::place::platform;

/// Goes up with every change of the tables, or of what is put into them. An index
/// of another version is made anew.
const VERSION: i64 = 9;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_millis(2000);

/// How long to wait for it before looking again whether it has to be waited for.
const SHORT_PATIENCE: Duration = Duration::from_millis(50);

/// `files`: the logs, and how far each was read. `documents`: the places of texts.
/// `chunks`: which numbers of documents are of which log, with the oldest and the
/// newest time among them. `texts`: the tokens. `names`: of tools. The tables of
/// roll-ups are in `rollups.rs`.
const TABLES: &str = "
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    session TEXT,
    agent TEXT,
    cwd TEXT,
    model TEXT,
    branch TEXT,
    device INTEGER NOT NULL,
    number INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    size INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    line INTEGER NOT NULL,
    time INTEGER NOT NULL,
    cursor BLOB,
    state TEXT NOT NULL,
    tentative INTEGER NOT NULL,
    tentative_end INTEGER NOT NULL
) STRICT;
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE chunks (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    file INTEGER NOT NULL,
    oldest INTEGER NOT NULL,
    newest INTEGER NOT NULL
) STRICT;
CREATE INDEX chunks_of_file ON chunks (file);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    offset INTEGER NOT NULL,
    line INTEGER NOT NULL,
    time INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    tool INTEGER NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
CREATE VIRTUAL TABLE texts USING fts5 (
    text, whole, path, about,
    content = '', contentless_delete = 1, tokenize = 'ascii'
);
INSERT INTO texts (texts, rank) VALUES ('hashsize', 50331648);
INSERT INTO texts (texts, rank) VALUES ('automerge', 16);
INSERT INTO texts (texts, rank) VALUES ('crisismerge', 48);
";

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        IndexError::from(error).into()
    }
}

/// The index of a home.
pub struct Index {
    pub(super) connection: Connection,
    path: PathBuf,
    /// Whether it was made anew, because of its age or because it was not there.
    pub(super) is_new: bool,
    /// Whether an older one was there.
    pub(super) was_old: bool,
}

impl Index {
    /// Where the index of a home is.
    pub fn path(home: &Home, cache: &CacheDirectory) -> PathBuf {
        let hash = Sha256::digest(home.real_root().as_os_str().as_encoded_bytes());
        let name: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        // Who leaves the archive out must not make others read it again.
        let part = if home.hides_archive { "-home" } else { "" };
        cache.root().join(format!("index-{name}{part}.sqlite"))
    }

    /// Whether a home has one.
    pub fn is_there(home: &Home, cache: &CacheDirectory) -> bool {
        Index::path(home, cache).is_file()
    }

    /// Opens the index of a home. It is made if it is not there, and made anew if
    /// it is of another version.
    pub fn open(home: &Home, cache: &CacheDirectory) -> Result<Index, StoreError> {
        let path = Index::path(home, cache);
        cache.make()?;
        match platform::create_private_file(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let why = format!("{}: {error}", path.display());
                return Err(IndexError::Refused { why }.into());
            }
        }
        let is_without_sums = is_without_sums(&path);
        if is_without_sums {
            Index::remove(home, cache)?;
            let _ = platform::create_private_file(&path);
        }
        write_ahead::check(&path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = page_sums::open(&path, flags)?;
        // Who makes the tables may go on to fill them at once, and holds the file for
        // long; that they are there can be seen all the same.
        connection.busy_timeout(SHORT_PATIENCE)?;
        patiently(|| set_up(&connection))?;
        let version = version(&connection)?;
        if version != VERSION {
            patiently(|| make_tables(&mut connection, Make::IfMissing))?;
        }
        connection.busy_timeout(PATIENCE)?;
        let was_old = is_without_sums || (version != VERSION && version != 0);
        Ok(Index { connection, path, is_new: version != VERSION, was_old })
    }

    /// Opens the index to read what is there, without changing anything.
    pub(super) fn open_to_read(home: &Home, cache: &CacheDirectory) -> Result<Index, StoreError> {
        Index::open_known(home, cache, OpenFlags::SQLITE_OPEN_READ_ONLY, PATIENCE)
    }

    /// Opens an index that is there and of this version. Nothing is made.
    pub(super) fn open_known(
        home: &Home,
        cache: &CacheDirectory,
        access: OpenFlags,
        patience: Duration,
    ) -> Result<Index, StoreError> {
        let path = Index::path(home, cache);
        if is_without_sums(&path) {
            let why = "it is from another version".into();
            return Err(IndexError::Damaged { why }.into());
        }
        write_ahead::check(&path)?;
        let connection = page_sums::open(&path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(patience)?;
        if version(&connection)? != VERSION {
            let why = "it is from another version".into();
            return Err(IndexError::Damaged { why }.into());
        }
        Ok(Index { connection, path, is_new: false, was_old: false })
    }

    /// Removes the file of the index, whatever it is. Who builds one is not disturbed:
    /// two that find the same damage would take each other's new files away.
    pub fn remove(home: &Home, cache: &CacheDirectory) -> Result<(), StoreError> {
        let path = Index::path(home, cache);
        let _lock = Index::lock(home, cache, PATIENCE)?;
        for end in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            match fs_err::remove_file(Path::new(&name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Empties the index.
    pub fn clear(&mut self) -> Result<(), StoreError> {
        make_tables(&mut self.connection, Make::Anew)
    }

    /// Moves what was written into the file, where every page has a sum, and leaves nothing
    /// beside it. Whoever is reading is not waited for; then it is done another time.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        self.connection.busy_timeout(Duration::ZERO)?;
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        Ok(self.connection.busy_timeout(PATIENCE)?)
    }

    /// How large the file is, with what is not yet merged into it.
    pub fn bytes(&self) -> u64 {
        let size = |end: &str| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(end);
            fs_err::metadata(Path::new(&name)).map_or(0, |metadata| metadata.len())
        };
        size("") + size("-wal")
    }

    /// Takes the lock for who changes the index.
    pub(super) fn lock(
        home: &Home,
        cache: &CacheDirectory,
        longest: Duration,
    ) -> Result<File, StoreError> {
        let lock = lock_file(&Index::lock_path(home, cache), longest)?;
        let why = "another process is building it".to_owned();
        lock.ok_or_else(|| IndexError::Locked { why }.into())
    }

    /// The name of the lock for who changes the index.
    pub(super) fn lock_path(home: &Home, cache: &CacheDirectory) -> PathBuf {
        Index::path(home, cache).with_extension("lock")
    }
}

fn version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Whether a file was written by a version of recto whose pages have no sums. Its header says
/// so twice: by its version, and by how much of each page is free.
fn is_without_sums(path: &Path) -> bool {
    const LAST_WITHOUT: i64 = 7;
    let header = open_known(path).ok().and_then(|file| platform::read_up_to(&file, 0, 100).ok());
    let Some(header) = header.filter(|header| header.len() == 100) else { return false };
    let version = <[u8; 4]>::try_from(&header[60..64]).map_or(0, u32::from_be_bytes);
    header[20] == 0 && (1..=LAST_WITHOUT).contains(&i64::from(version))
}

pub(super) fn set_up(connection: &Connection) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Answered by the name of the mode, which a read-only file does not change.
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "cache_size", -48000)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "journal_size_limit", 4 * 1024 * 1024)?;
    Ok(())
}

/// Tries again as long as another process is in the way. SQLite does not wait by
/// itself where that could be for ever, such as for a change of the journal's mode.
fn patiently(mut work: impl FnMut() -> Result<(), StoreError>) -> Result<(), StoreError> {
    let started = Instant::now();
    loop {
        match work() {
            Err(StoreError::Index(IndexError::Locked { .. })) if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

/// When tables are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Make {
    /// Unless those of this version are there.
    IfMissing,
    /// In any case.
    Anew,
}

/// Makes the tables in one step; those of another version go.
fn make_tables(connection: &mut Connection, make: Make) -> Result<(), StoreError> {
    if make == Make::IfMissing && version(connection)? == VERSION {
        return Ok(());
    }
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have made them, and filled them, while this one waited.
    if make == Make::IfMissing && version(&step)? == VERSION {
        return Ok(());
    }
    // Those of FTS5 first: what they keep for themselves goes with them.
    for kind in ["CREATE VIRTUAL%", "%"] {
        let names: Vec<String> = {
            let mut found = step.prepare(
                "SELECT name FROM sqlite_schema WHERE type = 'table'
                 AND name NOT LIKE 'sqlite_%' AND sql LIKE ?1",
            )?;
            let names = found.query_map([kind], |row| row.get(0))?;
            names.collect::<Result<_, _>>()?
        };
        for name in names {
            step.execute_batch(&format!("DROP TABLE \"{}\"", name.replace('"', "\"\"")))?;
        }
    }
    step.execute_batch(TABLES)?;
    rollups::make_tables(&step)?;
    step.pragma_update(None, "user_version", VERSION)?;
    step.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waited_for_the_tables_leaves_those_of_another_process_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(folder.path().join("home/projects")).unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let cache = CacheDirectory::new(folder.path().join("cache"));
        let count = |index: &Index| -> i64 {
            let sql = "SELECT count(*) FROM names";
            index.connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        let first = Index::open(&home, &cache).unwrap();
        first.connection.execute("INSERT INTO names (name) VALUES ('Bash')", []).unwrap();
        // It saw no tables before the first one made them.
        let path = Index::path(&home, &cache);
        let mut late = page_sums::open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
        make_tables(&mut late, Make::IfMissing).unwrap();
        assert_eq!(count(&first), 1);
        make_tables(&mut late, Make::Anew).unwrap();
        assert_eq!(count(&first), 0);
    }
}
