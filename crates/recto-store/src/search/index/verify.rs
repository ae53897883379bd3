//! What the index knows, and whether it is what the logs say.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use rusqlite::params;

use super::Index;
use super::IndexError;
use super::apply::read_kind;
use super::compare::Change;
use super::compare::IngestPosition;
use super::compare::compare;
use super::ingest::Batch;
use super::ingest::Buffers;
use super::ingest::ingest;
use super::rollups::RollupKind;
use super::rollups::kept;
use crate::CacheDirectory;
use crate::Home;
use crate::Inventory;
use crate::LogFile;
use crate::Skipped;
use crate::StoreError;
use crate::place::locking::lock_file;
use crate::read::log_statistics::log_statistics;

/// How long to wait for another process that builds the index.
const PATIENCE: Duration = Duration::from_secs(5);

/// Of all texts their places and the sums of their words are compared; one of so many is
/// looked for as well, which takes much longer.
const LOOKED_UP: usize = 16;

/// How far the index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The file.
    pub path: std::path::PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// Its size.
    pub bytes: u64,
    /// Logs that are in it.
    pub logs: u64,
    /// Bytes of logs that are in it.
    pub log_bytes: u64,
    /// Texts that can be found.
    pub documents: u64,
    /// Logs on disk that are not in it as they are now.
    pub stale: u64,
    /// Logs in it that are gone from the disk.
    pub gone: u64,
    /// Whether another process is changing it now.
    pub is_being_built: bool,
}

/// Something that is not as the logs say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The log, below the home.
    pub log: String,
    /// What is wrong, in words.
    pub what: String,
}

/// What a comparison gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Logs that were compared.
    pub logs: u64,
    /// Texts that were compared.
    pub documents: u64,
    /// Logs that were written meanwhile, and so not compared.
    pub changed: u64,
    /// What differs.
    pub differences: Vec<Difference>,
}

impl Home {
    /// How far the index is. Nothing is changed or made.
    pub fn index_status(
        &self,
        inventory: &Inventory,
        cache: &CacheDirectory,
    ) -> Result<Status, StoreError> {
        let path = Index::path(self, cache);
        let logs = self.logs(inventory);
        let mut status = Status {
            exists: path.exists(),
            path,
            bytes: 0,
            logs: 0,
            log_bytes: 0,
            documents: 0,
            stale: logs.len() as u64,
            gone: 0,
            is_being_built: false,
        };
        if !status.exists {
            return Ok(status);
        }
        let lock = Index::lock_path(self, cache);
        // Where the lock cannot be taken because nothing can be written, nobody builds.
        status.is_being_built =
            lock.exists() && lock_file(&lock, Duration::ZERO).is_ok_and(|lock| lock.is_none());
        let index = Index::open_to_read(self, cache)?;
        let plan = compare(&index.connection, &logs)?;
        let number = |sql: &str| -> Result<u64, StoreError> {
            let number: i64 = index.connection.query_row(sql, [], |row| row.get(0))?;
            Ok(number.cast_unsigned())
        };
        status.bytes = index.bytes();
        status.logs = number("SELECT count(*) FROM files")?;
        status.log_bytes = number("SELECT coalesce(sum(max(size, 0)), 0) FROM files")?;
        status.documents = number("SELECT count(*) FROM documents")?;
        status.stale = plan.stale() as u64;
        status.gone = plan.gone.len() as u64;
        Ok(status)
    }

    /// Brings the index up to date; from nothing, if that is asked for. Gives the
    /// logs that could not be read.
    pub fn build_index(
        &self,
        inventory: &Inventory,
        cache: &CacheDirectory,
        anew: bool,
        tell: &dyn Fn(u64, u64),
    ) -> Result<Vec<Skipped>, StoreError> {
        let logs = self.logs(inventory);
        match self.build_once(&logs, cache, anew, tell) {
            Err(StoreError::Index(IndexError::Damaged { .. })) => {
                Index::remove(self, cache)?;
                self.build_once(&logs, cache, anew, tell)
            }
            done => done,
        }
    }

    fn build_once(
        &self,
        logs: &[LogFile],
        cache: &CacheDirectory,
        anew: bool,
        tell: &dyn Fn(u64, u64),
    ) -> Result<Vec<Skipped>, StoreError> {
        let mut index = Index::open(self, cache)?;
        let _lock = Index::lock(self, cache, PATIENCE)?;
        if anew && !index.is_new {
            index.clear()?;
        }
        let plan = compare(&index.connection, logs)?;
        index.carry_out(&plan, &|done, all| {
            tell(done, all);
            ControlFlow::Continue(())
        })
    }

    /// Compares the index with the logs, text by text, and the sums that are kept in
    /// it with those of the logs. Nothing is changed.
    pub fn verify_index(
        &self,
        inventory: &Inventory,
        cache: &CacheDirectory,
        tell: &dyn Fn(u64, u64),
    ) -> Result<Verified, StoreError> {
        let index = Index::open_to_read(self, cache)?;
        // One state of the file from beginning to end, whoever writes meanwhile.
        let _reading = index.connection.unchecked_transaction()?;
        let logs = self.logs(inventory);
        let plan = compare(&index.connection, &logs)?;
        let mut verified = Verified::default();
        let mut differs = |log: &str, what: &str| {
            let difference = Difference { log: log.to_owned(), what: what.to_owned() };
            verified.differences.push(difference);
        };
        let mut stale: HashSet<&Path> = HashSet::new();
        for work in &plan.work {
            let what = match work.change {
                Change::New => "is not in the index",
                Change::Moved => "has another name in the index",
                Change::Touched | Change::Replaced => "has changed since it was indexed",
                Change::Doubtful => continue,
            };
            stale.insert(&work.log.path);
            differs(&work.log.name_in_home(), what);
        }
        for file in &plan.gone {
            let name: String = index.connection.query_row(
                "SELECT path FROM files WHERE id = ?1",
                [file],
                |row| row.get(0),
            )?;
            differs(&name, "is in the index but not on disk");
        }
        let all: u64 = logs.iter().map(|log| log.bytes()).sum();
        let mut done = 0;
        let mut buffers = Buffers::with_usage();
        for log in logs.iter().filter(|log| !stale.contains(log.path.as_path())) {
            done += log.bytes();
            tell(done, all);
            let Some((documents, what)) = index.compare_log(log, &mut buffers)? else {
                verified.changed += 1;
                continue;
            };
            verified.documents += documents;
            verified.logs += 1;
            if let Some(what) = what {
                verified.differences.push(Difference { log: log.name_in_home(), what });
            }
        }
        verified.differences.sort_by(|a, b| a.log.cmp(&b.log));
        Ok(verified)
    }
}

impl Index {
    /// Compares one log: the places of its texts, some words of each, and its sums.
    /// Nothing if it was written since it was listed.
    fn compare_log(
        &self,
        log: &LogFile,
        buffers: &mut Buffers,
    ) -> Result<Option<(u64, Option<String>)>, StoreError> {
        let mut numbers = self.connection.prepare_cached(
            "SELECT d.id FROM files f JOIN chunks c ON c.file = f.id
             JOIN documents d ON d.id BETWEEN c.first AND c.last
             WHERE f.path = ?1 ORDER BY d.id",
        )?;
        let numbers: Vec<i64> =
            numbers.query_map([log.name_in_home()], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut next = 0;
        let mut wrong = None;
        let mut failed = None;
        let mut last = None;
        let mut is_as_listed = true;
        ingest(log, Change::New, IngestPosition::start(), buffers, &mut |batch| {
            is_as_listed =
                (batch.file.size, batch.file.modified) == (log.state.size, log.state.modified);
            if !is_as_listed {
                return false;
            }
            for number in 0..batch.places.len() {
                let Some(id) = numbers.get(next) else {
                    let line = batch.places[number].line;
                    wrong.get_or_insert(format!("line {line} is not in the index"));
                    return false;
                };
                next += 1;
                match self.is_same(*id, &batch, number) {
                    Ok(true) => {}
                    Ok(false) => {
                        let line = batch.places[number].line;
                        wrong.get_or_insert(format!("line {line} differs from the index"));
                    }
                    Err(error) => failed = Some(error),
                }
            }
            last = Some(batch);
            true
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        if !is_as_listed {
            return Ok(None);
        }
        if wrong.is_none() && next < numbers.len() {
            let more = numbers.len() - next;
            wrong = Some(format!("{more} texts of the index are not in the log"));
        }
        if wrong.is_none() {
            wrong = self.compare_session(log)?;
        }
        if wrong.is_none() {
            wrong = self.compare_sums(log, last.as_ref())?;
        }
        Ok(Some((next as u64, wrong)))
    }

    fn compare_session(&self, log: &LogFile) -> Result<Option<String>, StoreError> {
        let mut look =
            self.connection.prepare_cached("SELECT session FROM files WHERE path = ?1")?;
        let kept: Option<String> = look.query_row([log.name_in_home()], |row| row.get(0))?;
        let session = log.owner().map(|session| session.to_string());
        Ok((kept != session).then(|| "its session differs from the index".to_owned()))
    }

    /// Compares what a log adds to sums of all, where that is kept.
    fn compare_sums(
        &self,
        log: &LogFile,
        last: Option<&Batch>,
    ) -> Result<Option<String>, StoreError> {
        let Some(Batch { file, usage, digest, .. }) = last else { return Ok(None) };
        let kept = |kind| kept(&self.connection, kind, &log.name_in_home(), *file);
        let differs = |kept: Option<Vec<u8>>, read: &Option<Vec<u8>>| match (kept, read) {
            (Some(kept), Some(read)) => kept != *read,
            _ => false,
        };
        if differs(kept(RollupKind::Usage)?, usage) {
            return Ok(Some("its usage differs from the index".to_owned()));
        }
        if differs(kept(RollupKind::Digest)?, digest) {
            return Ok(Some("its title and state differ from the index".to_owned()));
        }
        if let Some(kept) = kept(RollupKind::Statistics)?
            && kept != log_statistics(log)?.encode()
        {
            return Ok(Some("its statistics differ from the index".to_owned()));
        }
        Ok(None)
    }

    fn is_same(&self, id: i64, batch: &Batch, number: usize) -> Result<bool, StoreError> {
        let place = &batch.places[number];
        let mut look = self.connection.prepare_cached(
            "SELECT d.offset, d.line, d.kind, coalesce(n.name, ''), d.sum FROM documents d
             LEFT JOIN names n ON n.id = d.tool WHERE d.id = ?1",
        )?;
        let is_there = look.query_row([id], |row| {
            let (offset, line, kind): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (tool, sum): (String, i64) = (row.get(3)?, row.get(4)?);
            let expected = place.tool.and_then(|tool| batch.tools.get(tool));
            Ok(offset.cast_unsigned() == place.offset
                && line.cast_unsigned() == place.line
                && read_kind(kind) == (place.role, place.is_error, place.part)
                && tool == expected.map_or("", String::as_str)
                && sum == batch.sum(number))
        })?;
        if !is_there || !number.is_multiple_of(LOOKED_UP) {
            return Ok(is_there);
        }
        let [text, _, _, about] = batch.columns(number);
        let (column, tokens) = if text.len() > 1 { ("text", text) } else { ("about", about) };
        // A few words from the middle: the beginnings of texts are much alike.
        let words: Vec<&str> = tokens.split(' ').filter(|token| !token.is_empty()).collect();
        let middle = words.len() / 2;
        let some = &words[middle..words.len().min(middle + 4)];
        let phrase = format!("{column} : \"{}\"", some.join(" "));
        let mut look = self
            .connection
            .prepare_cached("SELECT count(*) FROM texts WHERE texts MATCH ?1 AND rowid = ?2")?;
        let count: i64 = look.query_row(params![phrase, id], |row| row.get(0))?;
        Ok(count == 1)
    }
}
