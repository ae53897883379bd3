//! All files of a home into an archive, again and again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use fs_err as fs;
use jiff::Timestamp;
use rayon::prelude::*;
use recto_log::json::ObjectWriter;

use crate::DataDirectory;
use crate::FileState;
use crate::Home;
use crate::StoreError;
use crate::follow::FileKind;
use crate::follow::HomeFile;
use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::capture::Capture;
use crate::keep::capture::Captured;
use crate::keep::capture::Known;
use crate::keep::capture::Remembered;
use crate::keep::key::FileKey;
use crate::keep::key::Part;
use crate::keep::life::Lives;
use crate::keep::machine::MachineId;
use crate::keep::segment::milliseconds;
use crate::keep::state::NewRow;
use crate::keep::state::Row;
use crate::keep::state::Rows;
use crate::keep::state::State;

/// How many files are kept before what was done is remembered.
const CHUNK: usize = 64;

/// What is collected.
#[derive(Debug, Clone)]
pub struct CollectOptions {
    /// Which kinds of files, in the order in which they are kept.
    pub kinds: Vec<FileKind>,
    /// How long a torn end of a log is left alone before it is kept as it is.
    pub torn_after: Duration,
    /// The clock. It may jump: what is kept later counts as later all the same.
    pub clock: fn() -> Timestamp,
}

impl Default for CollectOptions {
    fn default() -> CollectOptions {
        CollectOptions {
            kinds: KINDS.to_vec(),
            torn_after: Duration::from_secs(60),
            clock: Timestamp::now,
        }
    }
}

/// Every kind that is worth keeping, what matters most first. Announcements of running clients
/// mean nothing later.
const KINDS: [FileKind; 13] = [
    FileKind::MainLog,
    FileKind::SessionsIndex,
    FileKind::AgentLog,
    FileKind::AgentMeta,
    FileKind::History,
    FileKind::StatsCache,
    FileKind::Todo,
    FileKind::Task,
    FileKind::Plan,
    FileKind::Memory,
    FileKind::SessionTitle,
    FileKind::ToolResult,
    FileKind::FileHistory,
];

/// A file that could not be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// What a look at the home came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectReport {
    /// Files that were found.
    pub files: u64,
    /// Files with something new.
    pub changed: u64,
    /// What was added.
    pub captured: Captured,
    /// Files that were deleted since the last look.
    pub gone: u64,
    /// Logs that are in another project now.
    pub moved: u64,
    /// Files that could not be kept; they are tried again.
    pub troubles: Vec<Trouble>,
}

/// How far a look at the home is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectProgress {
    /// Files that are done.
    pub done: u64,
    /// Files with something new.
    pub files: u64,
    /// Bytes that are done, of all files with something new.
    pub done_bytes: u64,
    /// Bytes of all files with something new.
    pub bytes: u64,
}

/// Keeps what is new in a home.
#[derive(Debug)]
pub struct Collector {
    home: Home,
    archive: Archive,
    state: State,
    rows: Rows,
    /// How often the whole home was looked at.
    looks: u64,
    options: CollectOptions,
}

/// What was done with one file.
struct Done {
    below: String,
    kind: FileKind,
    result: Result<(FileKey, Remembered, Captured), StoreError>,
    path: PathBuf,
    bytes: u64,
}

impl Collector {
    /// Begins to collect a home into an archive on this disk.
    pub fn open(
        home: &Home,
        data: &DataDirectory,
        archive: &Path,
        options: CollectOptions,
    ) -> Result<Collector, StoreError> {
        let archive = Archive::create(archive, MachineId::of(home))?;
        let folder = data.make(&["collect"])?;
        let (state, rows) = State::open(&folder.join("state.sqlite"), &target_of(&archive)?)?;
        Ok(Collector { home: home.clone(), archive, state, rows, looks: 0, options })
    }

    /// The kinds of files that are kept.
    pub fn kinds(&self) -> &[FileKind] {
        &self.options.kinds
    }

    /// The archive.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Looks at the whole home once, and keeps what is new. Waits for another collector.
    pub fn collect(
        &mut self,
        progress: &mut dyn FnMut(CollectProgress),
    ) -> Result<CollectReport, StoreError> {
        let _lock = self.archive.lock()?;
        let (files, skipped) = self.home.files(&self.options.kinds);
        let mut report = CollectReport { files: files.len() as u64, ..CollectReport::default() };
        report
            .troubles
            .extend(skipped.into_iter().map(|one| Trouble { path: one.path, reason: one.reason }));
        self.looks += 1;
        let mut changed = Vec::new();
        for file in files {
            let Some(below) = below(&self.home, &file.path, &mut report) else { continue };
            let row = self.rows.get_mut(&*below);
            let is_kept = row.is_some_and(|row| {
                row.look = self.looks;
                row.is_kept(&file.state)
            });
            if !is_kept {
                changed.push((below.into_owned(), file));
            }
        }
        self.keep(changed, &mut report, progress)?;
        let missing = self.rows.iter().filter(|(_, row)| row.look != self.looks);
        let missing: Vec<String> = missing.map(|(below, _)| below.clone()).collect();
        self.notice_missing(missing, &mut report)?;
        self.state.note_collected(milliseconds((self.options.clock)()))?;
        Ok(report)
    }

    /// Keeps what is new in some files.
    pub fn collect_files(&mut self, paths: &[PathBuf]) -> Result<CollectReport, StoreError> {
        let _lock = self.archive.lock()?;
        let mut report = CollectReport::default();
        let (mut changed, mut missing) = (Vec::new(), Vec::new());
        for path in paths {
            let Some(below) = below(&self.home, path, &mut report) else { continue };
            let kind = FileKind::of(Path::new(&*below));
            let Some(kind) = kind.filter(|kind| self.options.kinds.contains(kind)) else {
                continue;
            };
            match self.home.look_at(path).filter(std::fs::Metadata::is_file) {
                Some(metadata) => {
                    let state = FileState::listed(&metadata);
                    report.files += 1;
                    if !self.rows.get(&*below).is_some_and(|row| row.is_kept(&state)) {
                        let below = below.into_owned();
                        changed.push((below, HomeFile { path: path.clone(), kind, state }));
                    }
                }
                None if self.rows.contains_key(&*below) => missing.push(below.into_owned()),
                None => {}
            }
        }
        self.keep(changed, &mut report, &mut |_| {})?;
        self.notice_missing(missing, &mut report)?;
        Ok(report)
    }

    fn keep(
        &mut self,
        mut changed: Vec<(String, HomeFile)>,
        report: &mut CollectReport,
        progress: &mut dyn FnMut(CollectProgress),
    ) -> Result<(), StoreError> {
        let forgotten = self.archive.forgotten()?;
        if !forgotten.is_empty() {
            let archive = &self.archive;
            let usual = |below: &str, kind| forgotten.contains(&FileKey::of(kind, below));
            let own =
                |below: &str, kind| archive.key_at(kind, below).map(|key| forgotten.contains(&key));
            let mut stay = Vec::new();
            for (below, file) in changed {
                if !usual(&below, file.kind) && !own(&below, file.kind)? {
                    stay.push((below, file));
                }
            }
            changed = stay;
        }
        let rank = |kind| self.options.kinds.iter().position(|one| *one == kind);
        let key = |file: &HomeFile| (rank(file.kind), std::cmp::Reverse(file.state.modified));
        changed.sort_by(|(one_below, one), (other_below, other)| {
            key(one).cmp(&key(other)).then_with(|| one_below.cmp(other_below))
        });
        let bytes = changed.iter().map(|(_, file)| file.state.size()).sum();
        let files = changed.len() as u64;
        let mut at = CollectProgress { done: 0, files, done_bytes: 0, bytes };
        progress(at);
        for chunk in changed.chunks(CHUNK) {
            let known = self.known(chunk)?;
            let CollectOptions { torn_after, clock, .. } = self.options;
            let (home, archive) = (&self.home, &self.archive);
            let capture = Capture { home, archive, torn_after, clock };
            let done: Vec<Done> = one_key_at_a_time(chunk, known)
                .into_par_iter()
                .with_max_len(1)
                .flat_map_iter(|files| {
                    files.into_iter().map(|((below, file), known)| Done {
                        below: below.clone(),
                        kind: file.kind,
                        result: capture.file(file, below, known),
                        path: file.path.clone(),
                        bytes: file.state.size(),
                    })
                })
                .collect();
            at.done += done.len() as u64;
            at.done_bytes += done.iter().map(|done| done.bytes).sum::<u64>();
            self.remember(done, report)?;
            progress(at);
        }
        Ok(())
    }

    /// How far files were kept. A log that was moved goes on where it was.
    fn known(&self, chunk: &[(String, HomeFile)]) -> Result<Vec<Option<Known>>, StoreError> {
        let known = chunk.iter().map(|(below, _)| match self.rows.get(below) {
            Some(row) => Ok(self.state.lines(below)?.map(|lines| (row.key, lines))),
            None => Ok(None),
        });
        known.collect()
    }

    /// Makes what was kept durable, then remembers it.
    fn remember(&mut self, done: Vec<Done>, report: &mut CollectReport) -> Result<(), StoreError> {
        let mut kept = Vec::new();
        let mut fatal = None;
        for done in done {
            match done.result {
                Ok((key, remembered, captured)) => {
                    report.changed += u64::from(captured.segments > 0);
                    report.captured.add(captured);
                    kept.push((done.below, key, done.kind, remembered));
                }
                Err(error) if self.is_of_archive(&error) => fatal = fatal.or(Some(error)),
                Err(_) if fs::symlink_metadata(&done.path).is_err() => {}
                Err(error) => {
                    report.troubles.push(Trouble { path: done.path, reason: error.to_string() });
                }
            }
        }
        self.archive.sync()?;
        let new: Vec<NewRow<'_>> = kept
            .iter()
            .map(|(below, key, kind, remembered)| NewRow {
                below,
                key: *key,
                kind: *kind,
                remembered,
            })
            .collect();
        self.state.commit(&new, &[])?;
        for (below, key, kind, Remembered { state, is_settled, .. }) in kept {
            let look = self.looks;
            self.rows.insert(below, Row { key, kind, state, is_settled, look });
        }
        match fatal {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Whether an error is the archive's own, so that no other file can be kept either.
    fn is_of_archive(&self, error: &StoreError) -> bool {
        matches!(
            error,
            StoreError::Keep(KeepError::Io { path, .. } | KeepError::Newer { path, .. })
                if path.starts_with(self.archive.root())
        )
    }

    /// Writes down which files are gone, and which have another path.
    fn notice_missing(
        &mut self,
        missing: Vec<String>,
        report: &mut CollectReport,
    ) -> Result<(), StoreError> {
        let mut gone = Vec::new();
        let mut paths: HashMap<FileKey, Vec<String>> = HashMap::new();
        if !missing.is_empty() {
            for (below, row) in &self.rows {
                paths.entry(row.key).or_default().push(below.clone());
            }
        }
        let forgotten = self.archive.forgotten()?;
        for below in missing {
            // A directory that could not be listed hides its files; they are not gone.
            let path = self.home.root().join(&below);
            match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Ok(_) | Err(_) => continue,
            }
            let Some(row) = self.rows.get(&below) else { continue };
            let key = row.key;
            if forgotten.contains(&key) {
                gone.push(below);
                continue;
            }
            let elsewhere = paths.get(&key).into_iter().flatten().find(|other| {
                **other != below && self.home.look_at(&self.home.root().join(other)).is_some()
            });
            let event = ObjectWriter::new().string("path", &below);
            let lives = Lives::of(self.archive.parts(key)?);
            let time = milliseconds(lives.moment(&self.archive, key, (self.options.clock)()));
            let (part, event) = match elsewhere {
                Some(other) => {
                    report.moved += 1;
                    (Part::Moved(time), event.string("to", other))
                }
                None => {
                    report.gone += 1;
                    (Part::Gone(time), event)
                }
            };
            self.archive.put_event(key, &part, &event.finish())?;
            gone.push(below);
        }
        self.archive.sync()?;
        self.state.commit(&[], &gone)?;
        for below in gone {
            self.rows.remove(&below);
        }
        Ok(())
    }
}

/// Files, each with what is known of it.
type Files<'a> = Vec<(&'a (String, HomeFile), Option<Known>)>;

/// Files that may have the same key stand together, in their order: two that are kept at the same
/// moment would both find the key free.
fn one_key_at_a_time(chunk: &[(String, HomeFile)], known: Vec<Option<Known>>) -> Vec<Files<'_>> {
    let mut groups: Vec<Files<'_>> = Vec::new();
    let mut places: HashMap<FileKey, usize> = HashMap::new();
    for (file, known) in chunk.iter().zip(known) {
        let place = *places.entry(FileKey::of(file.1.kind, &file.0)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push((file, known)),
            None => groups.push(vec![(file, known)]),
        }
    }
    groups
}

/// The path below the home, with `/`.
fn below<'a>(home: &Home, path: &'a Path, report: &mut CollectReport) -> Option<Cow<'a, str>> {
    let below = path_below(home, path);
    if below.is_none() {
        let reason = "its name is not text".to_owned();
        report.troubles.push(Trouble { path: path.to_owned(), reason });
    }
    below
}

/// The path below the home, with `/`; none if it is not text. On Windows only a backslash stands
/// between directories.
pub(super) fn path_below<'a>(home: &Home, path: &'a Path) -> Option<Cow<'a, str>> {
    let below = home.relative(path).to_str()?;
    Some(match cfg!(windows) {
        true => below.replace('\\', "/").into(),
        false => below.into(),
    })
}

/// What an archive is called in what a collector remembers.
pub(super) fn target_of(archive: &Archive) -> Result<String, StoreError> {
    let root = fs::canonicalize(archive.root())?;
    Ok(format!("{} {}", archive.machine(), root.to_string_lossy()))
}
