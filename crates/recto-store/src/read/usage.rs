//! Counts the usage of a home: all logs, in parallel, each line looked at once.
//!
//! Owns: which files are read, and how much of them is held. Which lines count,
//! and how, is in `recto_session::usage`.

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
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

use crate::CacheDirectory;
use crate::Home;
use crate::Inventory;
use crate::Skipped;
use crate::StoreError;
use crate::each_alone;
use crate::log::inventory::FileState;
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

/// A log that is to be read.
struct Source {
    file: LogFile,
    path: PathBuf,
    /// What it was when it was listed.
    state: FileState,
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
        let sources = self.usage_sources(inventory);
        let mut rollups = cache.and_then(|cache| Rollups::open(self, cache, RollupKind::Usage));
        let names: Vec<String> = match &rollups {
            Some(_) => sources.iter().map(|source| self.name_of(&source.path)).collect(),
            None => Vec::new(),
        };
        let all_names: HashSet<&str> = names.iter().map(String::as_str).collect();
        let mut usage = Usage::default();
        let mut left = Vec::new();
        let is_wanted = |source: &Source| {
            let is_new = scan.since.is_none_or(|since| source.file.modified >= since);
            source.state.size > 0 && is_new
        };
        match &mut rollups {
            Some(rollups) => {
                let mut named = sources.into_iter().zip(&names);
                loop {
                    let piece: Vec<(Source, &String)> = named.by_ref().take(PIECE).collect();
                    if piece.is_empty() {
                        break;
                    }
                    let piece: Vec<_> =
                        piece.into_iter().filter(|(source, _)| is_wanted(source)).collect();
                    let asked = piece.iter().map(|(source, name)| (name.as_str(), source.state));
                    let known = rollups.read(asked);
                    for ((source, name), sums) in piece.into_iter().zip(known) {
                        let known = sums.and_then(|sums| LogUsage::decode(&sums, scan.wanted));
                        match known {
                            Some(known) => usage.ledger.add(source.file, known),
                            None => left.push((source, name.as_str())),
                        }
                    }
                }
            }
            None => left.extend(sources.into_iter().filter(is_wanted).map(|source| (source, ""))),
        }
        let counting = Mutex::new((usage, rollups));
        count_logs(left, scan.wanted, &counting, tell);
        let (mut usage, rollups) = counting.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(rollups) = rollups {
            rollups.finish_and_forget_others(&all_names);
        }
        usage.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        usage
    }

    /// All logs.
    fn usage_sources(&self, inventory: &Inventory) -> Vec<Source> {
        let project = |path: &Path| {
            let below = path.strip_prefix(self.projects()).ok().and_then(|path| path.iter().next());
            below.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        };
        let source = |path: PathBuf, session, agent, modified, state| Source {
            file: LogFile {
                path: path.strip_prefix(self.root()).unwrap_or(&path).display().to_string(),
                project: project(&path),
                session,
                agent,
                modified,
            },
            path,
            state,
        };
        let mut sources = Vec::with_capacity(inventory.sessions.len());
        for session in &inventory.sessions {
            let (path, modified) = (session.path.clone(), session.modified);
            let state = FileState::listed(session.bytes, modified, session.stamp);
            sources.push(source(path, Some(session.id.to_string()), None, modified, state));
        }
        for agent in self.all_agents(inventory) {
            let (session, id) = (session_of_agent(&agent.path), agent.id.to_string());
            let state = FileState::listed(agent.bytes, agent.modified, agent.stamp);
            sources.push(source(agent.path, session, Some(id), agent.modified, state));
        }
        sources
    }

    /// All lines of some messages, by file and line, read again.
    pub fn sightings(&self, ledger: &Ledger, keys: &HashSet<u128>) -> Vec<Sighting> {
        let finder = may_matter();
        let files = ledger.files_of(keys);
        let files = files.iter().filter_map(|at| Some((*at, ledger.files().get(*at as usize)?)));
        let files: Vec<_> = files.collect();
        let found = each_alone(&files).flat_map_iter(|(place, file)| {
            let path = self.root().join(&file.path);
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

/// The session of a subagent, where the folder of its log says it. Of a log beside
/// the main logs only its lines name the session.
pub(crate) fn session_of_agent(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| folder.ends_with("subagents"));
    let session = folder.and_then(Path::parent).and_then(Path::file_name);
    session.map(|name| name.to_string_lossy().into_owned())
}

/// Reads logs, with their names if what they add is to be kept.
fn count_logs(
    mut sources: Vec<(Source, &str)>,
    wanted: Wanted,
    counting: &Mutex<(Usage, Option<Rollups<'_>>)>,
    tell: &(dyn Fn(u64, u64) + Sync),
) {
    // The largest first, so that no thread is left with one at the end.
    sources.sort_by(|(a, _), (b, _)| {
        b.state.size.cmp(&a.state.size).then_with(|| a.path.cmp(&b.path))
    });
    let all: u64 = sources.iter().map(|(source, _)| source.state.size).sum();
    let done = std::sync::atomic::AtomicU64::new(0);
    let finder = may_matter();
    sources.into_par_iter().with_max_len(1).for_each_init(Vec::new, |buffer, (source, name)| {
        // What is kept has to be good for whatever is asked the next time.
        let is_kept = !name.is_empty();
        let collected = if is_kept { Wanted { tools: true } } else { wanted };
        let read = read_log(&source, collected, &finder, buffer).map(|(mut counted, state)| {
            let sums = is_kept.then(|| counted.encode());
            if !wanted.tools {
                counted.forget_tools();
            }
            let name = name.to_owned();
            (counted, sums.map(|sums| Rollup { name, state, sums }))
        });
        let bytes = source.state.size;
        let before = done.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        tell(before + bytes, all);
        let mut counting = counting.lock().unwrap_or_else(PoisonError::into_inner);
        let (usage, rollups) = &mut *counting;
        match read {
            Ok((counted, rollup)) => {
                usage.ledger.add(source.file, counted);
                if let (Some(rollups), Some(rollup)) = (rollups, rollup) {
                    rollups.keep(rollup);
                }
            }
            Err(error) => usage
                .skipped
                .push(Skipped { path: source.path, reason: format!("is not counted: {error}") }),
        }
    });
}

/// Reads a log, and says what it was before. Most lines hold no count and are left
/// as they are.
fn read_log(
    source: &Source,
    wanted: Wanted,
    finder: &Finder<'_>,
    buffer: &mut Vec<u8>,
) -> Result<(LogUsage, FileState), StoreError> {
    let file = open_file(&source.path)?;
    let state = FileState::now(&file.metadata()?);
    let mut lines = LineReader::with_buffer(file, std::mem::take(buffer));
    let mut usage = LogUsage::new(wanted);
    while let Some(line) = lines.next_line()? {
        if line.is_cut() || finder.find(line.bytes).is_some() {
            usage.push(&decode(line).0, source.file.session.as_deref());
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
