//! Writes batches into the tables.

use std::collections::HashMap;

use recto_session::search::TextRole;
use rusqlite::Connection;
use rusqlite::OptionalExtension;
use rusqlite::params;

use super::ingest::Batch;
use super::ingest::Place;
use super::rollups;
use crate::Cursor;
use crate::LogFile;
use crate::StoreError;

/// A transaction ends when this many bytes of tokens were written. Each one makes
/// a part of the index of its own, so that fewer are better, and who is killed
/// loses no more than this.
const STEP: usize = if cfg!(test) { 64 * 1024 } else { 32 * 1024 * 1024 };

/// Parts of the index are made one when this many bytes of tokens were written.
const WORTH_MERGING: usize = 16 * 1024 * 1024;

/// How many pages are written in a step of that. Others can write between the steps.
const PAGES_TO_MERGE: i64 = 2000;

/// A chunk takes more documents up to this number.
const LARGEST_CHUNK: i64 = 20_000;

/// Writes into the index. Without [`Writer::commit`], what was written last is gone.
pub(super) struct Writer<'c> {
    connection: &'c Connection,
    tools: HashMap<String, i64>,
    next: i64,
    is_open: bool,
    written: usize,
    /// How many bytes of tokens were written in all.
    pub(super) all_written: usize,
}

impl<'c> Writer<'c> {
    pub(super) fn new(connection: &'c Connection) -> Writer<'c> {
        let tools = HashMap::new();
        Writer { connection, tools, next: 0, is_open: false, written: 0, all_written: 0 }
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if self.is_open {
            return Ok(());
        }
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        self.is_open = true;
        self.tools.clear();
        let last: Option<i64> =
            self.connection.query_row("SELECT max(last) FROM chunks", [], |row| row.get(0))?;
        self.next = last.unwrap_or(0) + 1;
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.is_open, false) {
            self.connection.execute_batch("COMMIT")?;
        }
        self.written = 0;
        Ok(())
    }

    /// Makes one part of many in the index after much was written, so that searches
    /// have few to look at, and so that none of the small steps that follow has to
    /// merge large ones.
    /// It goes on while `is_wanted`; what is left then is done another time.
    pub(super) fn merge(&mut self, is_wanted: &dyn Fn() -> bool) -> Result<(), StoreError> {
        if self.all_written < WORTH_MERGING {
            return Ok(());
        }
        while is_wanted() {
            let before = self.connection.total_changes();
            let mut step = self
                .connection
                .prepare_cached("INSERT INTO texts (texts, rank) VALUES ('merge', ?1)")?;
            step.execute([PAGES_TO_MERGE])?;
            // The command itself counts as one.
            if self.connection.total_changes() - before < 2 {
                break;
            }
        }
        Ok(())
    }

    /// Forgets a log.
    pub(super) fn remove(&mut self, file: i64) -> Result<(), StoreError> {
        self.begin()?;
        self.forget(file)?;
        self.connection.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([file])?;
        Ok(())
    }

    /// Gives logs other names. First none of them has one, because they may have
    /// changed places.
    pub(super) fn rename(&mut self, moved: &[(i64, &LogFile)]) -> Result<(), StoreError> {
        if moved.is_empty() {
            return Ok(());
        }
        self.begin()?;
        for (file, _) in moved {
            let mut step =
                self.connection.prepare_cached("UPDATE files SET path = ?2 WHERE id = ?1")?;
            step.execute(params![file, format!("\u{1}{file}")])?;
        }
        for (file, log) in moved {
            let mut step = self.connection.prepare_cached(
                "UPDATE files SET path = ?2, session = ?3, agent = ?4, changed = 0 WHERE id = ?1",
            )?;
            let session = log.owner().map(|session| session.to_string());
            let agent = log.agent.as_ref().map(|agent| agent.as_str());
            step.execute(params![file, log.name_in_home(), session, agent])?;
        }
        Ok(())
    }

    /// Writes a batch, and gives the number of the log, which may be `known`. Nothing
    /// happens if somebody else has read the log meanwhile; then there is none.
    pub(super) fn add(
        &mut self,
        log: &LogFile,
        known: Option<i64>,
        batch: &Batch,
    ) -> Result<Option<i64>, StoreError> {
        self.begin()?;
        let file = match known {
            Some(file) => {
                let mut look = self.connection.prepare_cached(
                    "SELECT offset, tentative, tentative_end FROM files WHERE id = ?1",
                )?;
                let found: Option<(i64, i64, i64)> = look
                    .query_row([file], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                    .optional()?;
                let Some((offset, first, end)) = found else { return Ok(None) };
                if batch.is_anew {
                    self.forget(file)?;
                } else if offset.cast_unsigned() != batch.from {
                    return Ok(None);
                }
                self.remove_documents(first, end)?;
                file
            }
            None => {
                let mut step = self.connection.prepare_cached(
                    "INSERT OR IGNORE INTO files (path, device, number, changed, modified, size,
                     generation, offset, line, time, state, tentative, tentative_end)
                     VALUES (?1, 0, 0, 0, 0, 0, 0, 0, 1, 0, '', 0, 0)",
                )?;
                if step.execute(params![log.name_in_home()])? == 0 {
                    return Ok(None);
                }
                self.connection.last_insert_rowid()
            }
        };
        self.insert(file, batch)?;
        self.note(file, log, batch)?;
        rollups::keep_all(self.connection, log, batch)?;
        self.written += batch.bytes();
        self.all_written += batch.bytes();
        if self.written >= STEP {
            self.commit()?;
        }
        Ok(Some(file))
    }

    fn insert(&mut self, file: i64, batch: &Batch) -> Result<(), StoreError> {
        let Some(oldest) = batch.places.iter().map(|place| place.time).min() else { return Ok(()) };
        let newest = batch.places.iter().map(|place| place.time).max().unwrap_or(oldest);
        let tools: Vec<i64> =
            batch.tools.iter().map(|tool| self.tool(tool)).collect::<Result<_, _>>()?;
        let first = self.next;
        let mut documents = self.connection.prepare_cached(
            "INSERT INTO documents (id, offset, line, time, turn, kind, tool, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        let mut texts = self.connection.prepare_cached(
            "INSERT INTO texts (rowid, text, whole, path, about) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (number, place) in batch.places.iter().enumerate() {
            let tool = place.tool.and_then(|tool| tools.get(tool)).copied().unwrap_or(0);
            documents.execute(params![
                self.next,
                place.offset.cast_signed(),
                place.line.cast_signed(),
                place.time,
                place.turn,
                kind_of(place),
                tool,
                batch.sum(number)
            ])?;
            let [text, whole, path, about] = batch.columns(number);
            texts.execute(params![self.next, text, whole, path, about])?;
            self.next += 1;
        }
        let last = self.next - 1;
        // What follows what was written just before becomes one with it. The row is
        // looked for first: a statement that may change several rows makes SQLite take
        // a savepoint, at which FTS5 writes all tokens that it holds, however few.
        let mut look = self.connection.prepare_cached(
            "SELECT first FROM chunks WHERE file = ?1 AND last = ?2 - 1 AND ?3 - first < ?4",
        )?;
        let before: Option<i64> = look
            .query_row(params![file, first, last, LARGEST_CHUNK], |row| row.get(0))
            .optional()?;
        match before {
            Some(before) => {
                let mut grow = self.connection.prepare_cached(
                    "UPDATE chunks SET last = ?2, oldest = min(oldest, ?3),
                     newest = max(newest, ?4) WHERE first = ?1",
                )?;
                grow.execute(params![before, last, oldest, newest])?;
            }
            None => {
                let mut step = self.connection.prepare_cached(
                    "INSERT INTO chunks (first, last, file, oldest, newest)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?;
                step.execute(params![first, last, file, oldest, newest])?;
            }
        }
        Ok(())
    }

    /// Notes how far the log was read.
    fn note(&mut self, file: i64, log: &LogFile, batch: &Batch) -> Result<(), StoreError> {
        let end = &batch.end;
        let mut step = self.connection.prepare_cached(
            "UPDATE files SET cwd = ?2, model = ?3, branch = ?4, offset = ?5, line = ?6, time = ?7,
             cursor = ?8, state = ?9, tentative = ?10, tentative_end = ?11, device = ?12,
             number = ?13, changed = ?14, modified = ?15, size = ?16,
             generation = generation + ?17, session = ?18, agent = ?19 WHERE id = ?1",
        )?;
        // A log may name its session later than in the first line that was read.
        let session = log.owner().map(|session| session.to_string());
        let agent = log.agent.as_ref().map(|agent| agent.as_str());
        // Before its end, a log has a size that no file has, and is looked at again.
        let state = batch.file;
        let size = if batch.is_last { state.size.cast_signed() } else { -1 };
        step.execute(params![
            file,
            end.cwd,
            end.model,
            end.branch,
            end.offset.cast_signed(),
            end.line.cast_signed(),
            end.time,
            end.cursor.as_ref().map(Cursor::encode),
            end.state,
            self.next - batch.tentative as i64,
            self.next,
            state.stamp.device.cast_signed(),
            state.stamp.number.cast_signed(),
            state.stamp.changed,
            state.modified,
            size,
            i64::from(batch.is_anew),
            session,
            agent,
        ])?;
        Ok(())
    }

    fn tool(&mut self, name: &str) -> Result<i64, StoreError> {
        if let Some(id) = self.tools.get(name) {
            return Ok(*id);
        }
        let mut step =
            self.connection.prepare_cached("INSERT OR IGNORE INTO names (name) VALUES (?1)")?;
        step.execute([name])?;
        let mut look = self.connection.prepare_cached("SELECT id FROM names WHERE name = ?1")?;
        let id = look.query_row([name], |row| row.get(0))?;
        self.tools.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Removes all documents of a log.
    fn forget(&mut self, file: i64) -> Result<(), StoreError> {
        let chunks: Vec<(i64, i64)> = {
            let mut look =
                self.connection.prepare_cached("SELECT first, last FROM chunks WHERE file = ?1")?;
            let rows = look.query_map([file], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<_, _>>()?
        };
        for (first, last) in chunks {
            self.remove_documents(first, last + 1)?;
        }
        self.connection.prepare_cached("DELETE FROM chunks WHERE file = ?1")?.execute([file])?;
        rollups::forget(self.connection, file)
    }

    fn remove_documents(&mut self, first: i64, end: i64) -> Result<(), StoreError> {
        if first >= end {
            return Ok(());
        }
        let numbers: Vec<i64> = {
            let mut look = self
                .connection
                .prepare_cached("SELECT id FROM documents WHERE id >= ?1 AND id < ?2")?;
            let rows = look.query_map([first, end], |row| row.get(0))?;
            rows.collect::<Result<_, _>>()?
        };
        let mut text = self.connection.prepare_cached("DELETE FROM texts WHERE rowid = ?1")?;
        for number in numbers {
            text.execute([number])?;
        }
        let mut places =
            self.connection.prepare_cached("DELETE FROM documents WHERE id >= ?1 AND id < ?2")?;
        places.execute([first, end])?;
        Ok(())
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // Who is dropped without a commit has failed, and that was said.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

/// TextRole, failure and part in one number.
fn kind_of(place: &Place) -> i64 {
    let role = TextRole::ALL.iter().position(|role| *role == place.role).unwrap_or(0) as i64;
    role | i64::from(place.is_error) << 4 | i64::from(place.part) << 5
}

/// Reads what [`kind_of`] wrote.
pub(super) fn read_kind(kind: i64) -> (TextRole, bool, u32) {
    let role = TextRole::ALL.get((kind & 15) as usize).copied().unwrap_or(TextRole::System);
    (role, kind & 16 != 0, u32::try_from(kind >> 5).unwrap_or(0))
}
