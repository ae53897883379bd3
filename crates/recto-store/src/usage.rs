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
use recto_session::usage::LogFile;
use recto_session::usage::LogUsage;
use recto_session::usage::Sighting;
use recto_session::usage::UsageLine;
use recto_session::usage::Wanted;
use recto_session::usage::may_matter;

use crate::Home;
use crate::Inventory;
use crate::Skipped;
use crate::StoreError;
use crate::open_file;

/// The longest line that is held; no answer of a model comes near it.
const LONGEST: usize = 16 * 1024 * 1024;

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

/// A log that is to be read.
struct Source {
    file: LogFile,
    path: std::path::PathBuf,
}

impl Home {
    /// Counts the usage of all logs. `tell` is called with the bytes that were
    /// read so far and those of all, from any thread.
    pub fn usage(
        &self,
        inventory: &Inventory,
        scan: &UsageScan,
        tell: &(dyn Fn(u64, u64) + Sync),
    ) -> Usage {
        let mut sources = self.usage_sources(inventory, scan.since);
        // The largest first, so that no thread is left with one at the end.
        sources.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.path.cmp(&b.0.path)));
        let all: u64 = sources.iter().map(|(_, bytes)| bytes).sum();
        let done = std::sync::atomic::AtomicU64::new(0);
        let usage = Mutex::new(Usage::default());
        let finder = may_matter();
        sources.into_par_iter().with_max_len(1).for_each_init(
            Vec::new,
            |buffer, (source, bytes)| {
                let read = read_log(&source, scan.wanted, &finder, buffer);
                let before = done.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
                tell(before + bytes, all);
                let mut usage = usage.lock().unwrap_or_else(PoisonError::into_inner);
                match read {
                    Ok(counted) => usage.ledger.add(source.file, counted),
                    Err(error) => usage.skipped.push(Skipped {
                        path: source.path,
                        reason: format!("is not counted: {error}"),
                    }),
                }
            },
        );
        let mut usage = usage.into_inner().unwrap_or_else(PoisonError::into_inner);
        usage.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        usage
    }

    /// The logs that can hold messages, with their sizes.
    fn usage_sources(&self, inventory: &Inventory, since: Option<Timestamp>) -> Vec<(Source, u64)> {
        let fits = |bytes: u64, modified| bytes > 0 && since.is_none_or(|since| modified >= since);
        let project = |path: &Path| {
            let below = path.strip_prefix(self.projects()).ok().and_then(|path| path.iter().next());
            below.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        };
        let source =
            |path: &Path, session: Option<String>, agent: Option<String>, modified| Source {
                file: LogFile {
                    path: path.strip_prefix(self.root()).unwrap_or(path).display().to_string(),
                    project: project(path),
                    session,
                    agent,
                    modified,
                },
                path: path.to_owned(),
            };
        let mut sources = Vec::new();
        for session in &inventory.sessions {
            if fits(session.bytes, session.modified) {
                let id = Some(session.id.to_string());
                sources.push((source(&session.path, id, None, session.modified), session.bytes));
            }
        }
        for agent in self.all_agents(inventory) {
            if fits(agent.bytes, agent.modified) {
                // Of a log beside the main logs only its lines name the session.
                let folder = agent.path.parent().filter(|folder| folder.ends_with("subagents"));
                let session = folder.and_then(Path::parent).and_then(Path::file_name);
                let session = session.map(|name| name.to_string_lossy().into_owned());
                let id = Some(agent.id.to_string());
                sources.push((source(&agent.path, session, id, agent.modified), agent.bytes));
            }
        }
        sources
    }

    /// All lines of some messages, by file and line, read again.
    pub fn sightings(&self, ledger: &Ledger, keys: &HashSet<u128>) -> Vec<Sighting> {
        let finder = may_matter();
        let files = ledger.files().par_iter().enumerate();
        let found = files.flat_map_iter(|(place, file)| {
            let path = self.root().join(&file.path);
            see_log(&path, place as u32, keys, &finder).unwrap_or_default()
        });
        let mut found: Vec<Sighting> = found.collect();
        found.sort_by(|a, b| {
            let path = |one: &Sighting| &ledger.files()[one.file as usize].path;
            path(a).cmp(path(b)).then(a.line.cmp(&b.line))
        });
        found
    }
}

/// Reads a log. Most lines hold no count and are left as they are.
fn read_log(
    source: &Source,
    wanted: Wanted,
    finder: &Finder<'_>,
    buffer: &mut Vec<u8>,
) -> Result<LogUsage, StoreError> {
    let file = open_file(&source.path)?;
    let mut lines = LineReader::with_buffer(file, std::mem::take(buffer)).with_cap(LONGEST);
    let mut usage = LogUsage::new(wanted);
    while let Some(line) = lines.next_line()? {
        if line.is_cut() || finder.find(line.bytes).is_some() {
            usage.push(&decode(line).0, source.file.session.as_deref());
        }
    }
    *buffer = lines.into_buffer();
    Ok(usage)
}

fn see_log(
    path: &Path,
    file: u32,
    keys: &HashSet<u128>,
    finder: &Finder<'_>,
) -> Result<Vec<Sighting>, StoreError> {
    let mut lines = LineReader::new(open_file(path)?).with_cap(LONGEST);
    let mut found = Vec::new();
    while let Some(line) = lines.next_line()? {
        if finder.find(line.bytes).is_none() {
            continue;
        }
        let entry = decode(line).0;
        let Some(usage) = UsageLine::of(&entry).filter(|usage| keys.contains(&usage.key)) else {
            continue;
        };
        let id = entry.message().and_then(|message| message.object().str("id"));
        found.push(Sighting {
            key: usage.key,
            file,
            line: entry.line().number,
            counts: usage.counts,
            flags: usage.flags,
            id: id.map_or_else(String::new, |id| id.into_owned()),
        });
    }
    Ok(found)
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
