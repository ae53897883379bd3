//! Sessions that only the archive has, as files that can be listed and opened.
//!
//! The shelf is a directory in the cache. Below `tree` it has the form of a home: each file of a
//! session that the home no longer has stands there under its own name, with its size and time,
//! and without its content until it is opened (see [`crate::place::archived_copy`]). So readers,
//! search and sums need no second way to a log.
//!
//! Owns which copies there are. What a copy holds is [`super::copies`]'s.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fs_err as fs;
use rayon::prelude::*;
use recto_log::SessionId;

use crate::CacheDirectory;
use crate::Home;
use crate::StoreError;
use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::copies;
use crate::keep::key::FileKey;
use crate::keep::machine::MachineId;
use crate::keep::shelf_list::Entry;
use crate::keep::shelf_list::ShelfList;
use crate::keep::shelf_list::folder_version;
use crate::place::archived_copy;
use crate::place::archived_copy::ArchivedTree;
use crate::place::archived_copy::Problem;
use crate::place::locking::lock_file;
use crate::place::platform;

/// The file that says which archive the copies are of.
pub(super) const SOURCE: &str = "source";
/// The directory of files that are being made.
pub(super) const UNFINISHED: &str = "tmp";
/// The directory with what could not be read, a file for each copy.
pub(super) const PROBLEMS: &str = "problems";
/// How long to wait for another process that makes copies. Its copies are as good as ours.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

impl Home {
    /// The same home, with the sessions that only an archive has. There need not be an archive.
    /// Without modes of files, copies cannot be told from files; then the archive is not seen.
    pub fn with_archive(mut self, archive: &Path, cache: &CacheDirectory) -> Home {
        // To ask macOS which machine it is takes longer than a listing.
        if cfg!(unix) && (cfg!(not(target_os = "macos")) || archive.is_dir()) {
            let name = format!("{}-{}", MachineId::of(&self), short_name(archive));
            let shelf = cache.root().join("archived").join(name);
            self.archived =
                Some(Arc::new(ArchivedTree { archive: archive.to_owned(), shelf, refresh }));
            archived_copy::fill_with(copies::fill);
        }
        self
    }
}

fn short_name(archive: &Path) -> String {
    let hash = blake3::hash(archive.as_os_str().as_encoded_bytes());
    hash.to_hex().chars().take(8).collect()
}

/// A copy that should be there.
struct Wanted<'a> {
    path: PathBuf,
    entry: &'a Entry,
}

/// Makes the copies of all sessions of the archive but for those that the home has.
fn refresh(tree: &ArchivedTree, present: &HashSet<SessionId>) -> Result<Vec<Problem>, Problem> {
    match try_to_refresh(tree, present) {
        Ok(problems) => Ok(problems),
        Err(StoreError::Keep(KeepError::NoArchive { .. })) => {
            let _ = fs::remove_dir_all(&tree.shelf);
            Ok(Vec::new())
        }
        Err(error) => Err(problem(&tree.archive, &error.to_string())),
    }
}

/// Why something is not shown. The path stands before it already.
fn problem(path: &Path, error: &str) -> Problem {
    let reason = match error.strip_prefix(&*path.to_string_lossy()) {
        Some(rest) => rest.trim_start_matches([':', ' ']).to_owned(),
        None => format!("is not shown: {error}"),
    };
    (path.to_owned(), reason)
}

fn try_to_refresh(
    tree: &ArchivedTree,
    present: &HashSet<SessionId>,
) -> Result<Vec<Problem>, StoreError> {
    let machine = machine_of(&tree.shelf)?;
    let archive = Archive::open(&tree.archive, machine)?;
    let mut list = ShelfList::read(&tree.shelf);
    let version = folder_version(&archive.machine_folder());
    let keys = match version.is_some() && version == list.version {
        true => list.entries.keys().copied().collect(),
        false => archive.files()?,
    };
    list.is_changed |= version.is_some() && version != list.version;
    list.version = version;
    let mut problems = look_at(&archive, &mut list, &keys, present);
    let wanted = wanted(&tree.root(), &list, present);
    let digest = digest_of(&wanted);
    if list.entries.is_empty() && !tree.shelf.is_dir() {
        return Ok(problems);
    }
    let is_new = list.made != Some(digest);
    if is_new || list.is_changed {
        prepare(tree)?;
        let _lock = lock_file(&tree.shelf.join("lock"), LONGEST_WAIT)?;
        if is_new {
            make_copies(tree, &wanted)?;
        }
        list.write(&tree.shelf, digest)?;
    }
    problems.extend(problems_of(&tree.shelf, &wanted));
    Ok(problems)
}

/// The machine that a shelf is for, which is in its name.
pub(super) fn machine_of(shelf: &Path) -> Result<MachineId, KeepError> {
    let name = shelf.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let machine = name.split('-').next().and_then(|id| id.parse().ok());
    machine.ok_or_else(|| KeepError::NoArchive { path: shelf.to_owned() })
}

/// Looks at files that are not known, and at those of deleted sessions that have changed.
fn look_at(
    archive: &Archive,
    list: &mut ShelfList,
    keys: &[FileKey],
    present: &HashSet<SessionId>,
) -> Vec<Problem> {
    if keys.len() != list.entries.len() {
        let there: HashSet<&FileKey> = keys.iter().collect();
        list.entries.retain(|key, _| there.contains(key));
        list.is_changed = true;
    }
    let is_as_known = |key: &FileKey| {
        list.entries.get(key).is_some_and(|entry| {
            let is_hidden = entry.session.is_none_or(|session| present.contains(&session));
            is_hidden || entry.version.is_some() && entry.version == archive.version_of(*key)
        })
    };
    let read: Vec<(FileKey, Result<Option<Entry>, KeepError>)> = keys
        .par_iter()
        .filter(|key| !is_as_known(key))
        .map(|key| (*key, Entry::read(archive, *key)))
        .collect();
    let mut problems = Vec::new();
    for (key, entry) in read {
        list.is_changed = true;
        match entry {
            Ok(Some(entry)) => drop(list.entries.insert(key, entry)),
            Ok(None) => drop(list.entries.remove(&key)),
            Err(error) => {
                list.entries.remove(&key);
                problems.push(problem(&archive.folder(key), &error.to_string()));
            }
        }
    }
    problems
}

/// The files of sessions whose log the home has not. Old clients leave subagents behind whose
/// session never had a log; they count too.
fn wanted<'a>(
    root: &Path,
    list: &'a ShelfList,
    present: &HashSet<SessionId>,
) -> BTreeMap<FileKey, Wanted<'a>> {
    let is_wanted = |entry: &Entry| entry.session.is_some_and(|id| !present.contains(&id));
    let wanted = list.entries.iter().filter(|(_, entry)| is_wanted(entry));
    wanted.map(|(key, entry)| (*key, Wanted { path: root.join(&entry.path), entry })).collect()
}

/// What tells one set of copies from another.
fn digest_of(wanted: &BTreeMap<FileKey, Wanted<'_>>) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    for (key, Wanted { entry, .. }) in wanted {
        hasher.update(key.as_bytes()).update(&entry.stamp().to_le_bytes());
        hasher.update(&entry.bytes.to_le_bytes()).update(entry.path.as_bytes());
    }
    let mut digest = [0; 8];
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    digest
}

fn prepare(tree: &ArchivedTree) -> Result<(), StoreError> {
    if let Some(above) = tree.shelf.parent() {
        fs::create_dir_all(above)?;
    }
    platform::make_private_directory(&tree.shelf)?;
    for name in [UNFINISHED, PROBLEMS, archived_copy::TREE] {
        platform::make_private_directory(&tree.shelf.join(name))?;
    }
    let source = tree.shelf.join(SOURCE);
    let archive = platform::path_bytes(&tree.archive);
    if fs::read(&source).ok().as_deref() != Some(&archive) {
        fs::write(&source, archive)?;
    }
    Ok(())
}

/// Makes the tree hold these copies and no others. Copies that are as they should be stay, with
/// what they hold.
fn make_copies(
    tree: &ArchivedTree,
    wanted: &BTreeMap<FileKey, Wanted<'_>>,
) -> Result<(), StoreError> {
    let by_path: HashMap<&Path, &Entry> =
        wanted.values().map(|one| (one.path.as_path(), one.entry)).collect();
    copies::walk(&tree.root(), &mut |path, metadata| {
        let is_wanted = by_path.get(path).is_some_and(|entry| {
            archived_copy::is_copy(metadata) && copies::modified_of(metadata) == entry.stamp()
        });
        if !is_wanted {
            let _ = fs::remove_file(path);
        }
    });
    for Wanted { path, entry } in wanted.values() {
        if fs::symlink_metadata(path).is_ok() {
            continue;
        }
        make_folders(&tree.root(), path)?;
        copies::make_empty(&tree.shelf, path, entry.bytes, entry.stamp())?;
    }
    Ok(())
}

fn make_folders(root: &Path, path: &Path) -> Result<(), StoreError> {
    let below = path.parent().and_then(|folder| folder.strip_prefix(root).ok());
    let mut folder = root.to_owned();
    for part in below.into_iter().flat_map(Path::components) {
        folder.push(part);
        platform::make_private_directory(&folder)?;
    }
    Ok(())
}

/// What could not be read of copies that were filled.
fn problems_of(shelf: &Path, wanted: &BTreeMap<FileKey, Wanted<'_>>) -> Vec<Problem> {
    let Ok(entries) = fs::read_dir(shelf.join(PROBLEMS)) else { return Vec::new() };
    let mut problems = Vec::new();
    for entry in entries.flatten() {
        let key = entry.file_name().to_string_lossy().parse::<FileKey>().ok();
        let Some(one) = key.and_then(|key| wanted.get(&key)) else { continue };
        let Ok(text) = fs::read_to_string(entry.path()) else { continue };
        problems.extend(text.lines().map(|line| (one.path.clone(), line.to_owned())));
    }
    problems
}
