//! Counts the usage of a home: all logs, in parallel, each line looked at once.
//!
//! Owns: which files are read, and how much of them is held. Which lines count,
//! and how, is in `recto_session::usage`.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;

use jiff::Timestamp;
use memchr::memmem::Finder;
use rayon::prelude::*;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::usage::Ledger;
use recto_session::usage::LogFile as LedgerFile;
use recto_session::usage::LogUsage;
use recto_session::usage::Sighting;
use recto_session::usage::UsageLine;
use recto_session::usage::Wanted;
use recto_session::usage::may_matter;

use crate::CacheDirectory;
use crate::Home;
use crate::Inventory;
use crate::LogFile;
use crate::Skipped;
use crate::StoreError;
use crate::each_alone;
use crate::log::file_state::FileState;
use crate::open_file;
use crate::search::index::Rollup;
use crate::search::index::RollupKind;
use crate::search::index::Rollups;

/// What to count.
#[derive(Debug, Clone, Copy, Default)]
pub struct UsageScan {
    /// What to collect beside the numbers.
    pub wanted: Wanted,
    /// Only files written since then: older ones cannot hold newer messages.
    pub since: Option<Timestamp>,
}

/// What was counted, and what could not be read.
#[derive(Debug, Default)]
pub struct Usage {
    /// The messages.
    pub ledger: Ledger,
    /// Logs that could not be read, or not to the end.
    pub skipped: Vec<Skipped>,
}

/// How many logs are asked for at a time.
const PIECE: usize = 256;

impl Home {
    /// Counts the usage of all logs. With a cache, logs that have not changed are
    /// not read if its index has them. `tell` is called with the bytes that were
    /// read so far and those of all, from any thread.
    pub fn usage(
        &self,
        inventory: &Inventory,
        scan: &UsageScan,
        cache: Option<&CacheDirectory>,
        tell: &(dyn Fn(u64, u64) + Sync),
    ) -> Usage {
        let logs = self.every_log(inventory);
        let mut rollups = cache.and_then(|cache| Rollups::open(self, cache, RollupKind::Usage));
        let names: Vec<String> = match &rollups {
            Some(_) => logs.iter().map(LogFile::name_in_home).collect(),
            None => Vec::new(),
        };
        let all_names: HashSet<&str> = names.iter().map(String::as_str).collect();
        let mut usage = Usage::default();
        let mut left = Vec::new();
        let is_wanted = |log: &LogFile| {
            let is_new = scan.since.is_none_or(|since| log.modified() >= since);
            log.bytes() > 0 && is_new
        };
        match &mut rollups {
            Some(rollups) => {
                for (logs, names) in logs.chunks(PIECE).zip(names.chunks(PIECE)) {
                    let piece: Vec<(&LogFile, &str)> = logs
                        .iter()
                        .zip(names.iter().map(String::as_str))
                        .filter(|(log, _)| is_wanted(log))
                        .collect();
                    let known = rollups.read(piece.iter().map(|(log, name)| (*name, log.state)));
                    for ((log, name), sums) in piece.into_iter().zip(known) {
                        let known = sums.and_then(|sums| LogUsage::decode(&sums, scan.wanted));
                        match known {
                            Some(known) => usage.ledger.add(ledger_file(self, log), known),
                            None => left.push((log, name)),
                        }
                    }
                }
            }
            None => left.extend(logs.iter().filter(|log| is_wanted(log)).map(|log| (log, ""))),
        }
        let counting = Mutex::new((usage, rollups));
        count_logs(self, left, scan.wanted, &counting, tell);
        let (mut usage, rollups) = counting.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(rollups) = rollups {
            rollups.finish_and_forget_others(&all_names);
        }
        usage.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        usage
    }

    /// What a ledger calls the log at a path, if the log is in a project of the home.
    pub fn name_in_ledger(&self, inventory: &Inventory, path: &Path) -> Option<String> {
        let path = fs_err::canonicalize(path).ok()?;
        let is_it = |log: &&LogFile| fs_err::canonicalize(&log.path).is_ok_and(|one| one == path);
        let log = inventory.named_otherwise.iter().find(is_it)?;
        Some(ledger_file(self, log).path)
    }

    /// All lines of some messages, by file and line, read again.
    pub fn sightings(&self, ledger: &Ledger, keys: &HashSet<u128>) -> Vec<Sighting> {
        let finder = may_matter();
        let files = ledger.files_of(keys);
        let files = files.iter().filter_map(|at| Some((*at, ledger.files().get(*at as usize)?)));
        let files: Vec<_> = files.collect();
        let found = each_alone(&files).flat_map_iter(|(place, file)| {
            let path = self.locate(&file.path);
            see_log(&path, *place, keys, &finder).unwrap_or_default()
        });
        let mut found: Vec<Sighting> = found.collect();
        found.sort_by(|a, b| {
            let path = |one: &Sighting| &ledger.files()[one.file as usize].path;
            path(a).cmp(path(b)).then(a.line.cmp(&b.line))
        });
        found
    }
}

/// What a ledger notes of a log. Of a log beside the main logs only its lines name the
/// session.
fn ledger_file(home: &Home, log: &LogFile) -> LedgerFile {
    LedgerFile {
        path: match log.is_archived() {
            true => log.name_in_home(),
            false => log.path.strip_prefix(home.root()).unwrap_or(&log.path).display().to_string(),
        },
        project: log.project.key.clone(),
        session: log.session.map(|session| session.to_string()),
        agent: log.agent.as_ref().map(ToString::to_string),
        modified: log.modified(),
    }
}

/// Reads logs, with their names if what they add is to be kept.
fn count_logs(
    home: &Home,
    mut logs: Vec<(&LogFile, &str)>,
    wanted: Wanted,
    counting: &Mutex<(Usage, Option<Rollups<'_>>)>,
    tell: &(dyn Fn(u64, u64) + Sync),
) {
    // The largest first, so that no thread is left with one at the end.
    logs.sort_by(|(a, _), (b, _)| b.bytes().cmp(&a.bytes()).then_with(|| a.path.cmp(&b.path)));
    let all: u64 = logs.iter().map(|(log, _)| log.bytes()).sum();
    let done = std::sync::atomic::AtomicU64::new(0);
    let finder = may_matter();
    logs.into_par_iter().with_max_len(1).for_each_init(Vec::new, |buffer, (log, name)| {
        // What is kept has to be good for whatever is asked the next time.
        let is_kept = !name.is_empty();
        let collected = if is_kept { Wanted { tools: true } } else { wanted };
        let read = read_log(log, collected, &finder, buffer).map(|(mut counted, state)| {
            let sums = is_kept.then(|| counted.encode());
            if !wanted.tools {
                counted.forget_tools();
            }
            let name = name.to_owned();
            (counted, sums.map(|sums| Rollup { name, state, sums }))
        });
        let bytes = log.bytes();
        let before = done.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        tell(before + bytes, all);
        let mut counting = counting.lock().unwrap_or_else(PoisonError::into_inner);
        let (usage, rollups) = &mut *counting;
        match read {
            Ok((counted, rollup)) => {
                usage.ledger.add(ledger_file(home, log), counted);
                if let (Some(rollups), Some(rollup)) = (rollups, rollup) {
                    rollups.keep(rollup);
                }
            }
            Err(error) => {
                let reason = format!("is not counted: {error}");
                usage.skipped.push(Skipped { path: log.path.clone(), reason });
            }
        }
    });
}

/// Reads a log, and says what it was before. Most lines hold no count and are left
/// as they are.
fn read_log(
    log: &LogFile,
    wanted: Wanted,
    finder: &Finder<'_>,
    buffer: &mut Vec<u8>,
) -> Result<(LogUsage, FileState), StoreError> {
    let file = open_file(&log.path)?;
    let state = FileState::now(&file.metadata()?);
    let mut lines = LineReader::with_buffer(file, std::mem::take(buffer));
    let mut usage = LogUsage::new(wanted);
    let session = log.session.map(|session| session.to_string());
    while let Some(line) = lines.next_line()? {
        if line.is_cut() || finder.find(line.bytes).is_some() {
            usage.push(&decode(line).0, session.as_deref());
        }
    }
    *buffer = lines.into_buffer();
    Ok((usage, state))
}

fn see_log(
    path: &Path,
    file: u32,
    keys: &HashSet<u128>,
    finder: &Finder<'_>,
) -> Result<Vec<Sighting>, StoreError> {
    let mut lines = LineReader::new(open_file(path)?);
    let mut found = Vec::new();
    while let Some(line) = lines.next_line()? {
        if finder.find(line.bytes).is_none() {
            continue;
        }
        let entry = decode(line).0;
        let Some(usage) = UsageLine::of(&entry).filter(|usage| keys.contains(&usage.key)) else {
            continue;
        };
        found.push(Sighting {
            key: usage.key,
            file,
            line: entry.line().number,
            counts: usage.counts,
            flags: usage.flags,
            id: usage.id.map_or_else(String::new, |id| id.into_owned()),
        });
    }
    Ok(found)
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
