//! What is safe, and what is not yet.

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use jiff::Timestamp;

use crate::DataDirectory;
use crate::FileState;
use crate::Home;
use crate::StoreError;
use crate::follow::FileKind;
use crate::keep::archive::Archive;
use crate::keep::collector::path_below;
use crate::keep::collector::target_of;
use crate::keep::machine::MachineId;
use crate::keep::state::State;

/// How far an archive has a home. Nothing is read but names, and what the collector remembers.
#[derive(Debug, Default)]
pub struct CollectStatus {
    /// Files of the home.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that changed since they were kept, or never were.
    pub behind: Vec<PathBuf>,
    /// The bytes of those files.
    pub behind_bytes: u64,
    /// Files that only the archive has.
    pub only_archived: u64,
    /// Bytes on the disk.
    pub stored: u64,
    /// When the whole home was looked at last.
    pub collected: Option<Timestamp>,
    /// The logs of sessions that are wholly kept.
    pub safe: HashSet<PathBuf>,
}

impl CollectStatus {
    /// Looks at an archive on this disk.
    pub fn read(
        home: &Home,
        data: &DataDirectory,
        root: &Path,
        kinds: &[FileKind],
    ) -> Result<CollectStatus, StoreError> {
        let archive = Archive::open(root, MachineId::of(home))?;
        let path = data.make(&["collect"])?.join("state.sqlite");
        let (state, rows) = State::open(&path, &target_of(&archive)?)?;
        let collected = state.collected()?.and_then(|time| i64::try_from(time).ok());
        let mut status = CollectStatus {
            collected: collected.and_then(|time| Timestamp::from_millisecond(time).ok()),
            ..CollectStatus::default()
        };
        let mut present = HashSet::new();
        let (files, _) = home.files(kinds);
        for file in files {
            status.files += 1;
            status.bytes += file.state.size();
            let row = path_below(home, &file.path).and_then(|below| rows.get(&*below));
            if let Some(row) = row {
                present.insert(row.key);
            }
            if row.is_some_and(|row| row.is_settled && is_as_kept(row.state, file.state)) {
                status.safe.insert(file.path);
            } else {
                status.behind_bytes += file.state.size();
                status.behind.push(file.path);
            }
        }
        let keys = archive.files()?;
        status.only_archived = keys.iter().filter(|key| !present.contains(key)).count() as u64;
        status.stored = stored(archive.root());
        Ok(status)
    }
}

/// Whether a file looks as it did when it was kept. A file that was kept in the moment it was
/// written is looked at again by the next collector, but it is not called unsafe.
fn is_as_kept(kept: FileState, now: FileState) -> bool {
    let is_same = kept.size() == now.size() && kept.modified() == now.modified();
    kept == now || !kept.is_certain() && is_same
}

/// The bytes of everything below a directory.
fn stored(root: &Path) -> u64 {
    let mut bytes = 0;
    let mut waiting = vec![root.join("raw")];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(_) => bytes += entry.metadata().map_or(0, |metadata| metadata.len()),
                Err(_) => {}
            }
        }
    }
    bytes
}
