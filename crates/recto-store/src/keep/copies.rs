//! The content of copies on the shelf: filled when one is opened, emptied when there is too much.

use std::fs::File;
use std::fs::Metadata;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::SystemTime;

use fs_err as fs;

use crate::StoreError;
use crate::follow::FileKind;
use crate::keep::archive::Archive;
use crate::keep::catalog::KeptFile;
use crate::keep::life::Lives;
use crate::keep::restore::is_plain;
use crate::keep::shelf::PROBLEMS;
use crate::keep::shelf::SOURCE;
use crate::keep::shelf::UNFINISHED;
use crate::keep::shelf::machine_of;
use crate::keep::shelf_list::Entry;
use crate::place::archived_copy;
use crate::place::error::PlaceError;
use crate::place::platform;
use crate::place::unfinished::Unfinished;

/// How many bytes copies hold together, as far as that is in our hands: the last one stays.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;
/// The file that says how many bytes copies hold, at least.
const HELD: &str = "held";

/// Fills a copy and opens it. Everything that is put into it is compared with its digest; what is
/// damaged or missing is written down for the next listing, and the rest is given.
pub(super) fn fill(path: &Path) -> Result<File, StoreError> {
    let only_archived = || PlaceError::OnlyArchived { path: path.to_owned() };
    let (shelf, below) = place_of(path).ok_or_else(only_archived)?;
    let archive = platform::path_of_bytes(&fs::read(shelf.join(SOURCE))?);
    let archive = Archive::open(archive, machine_of(&shelf)?)?;
    let kind = FileKind::of(Path::new(&below)).filter(|_| is_plain(&below));
    let key = archive.key_at(kind.ok_or_else(only_archived)?, &below)?;
    let kept = KeptFile::read(&archive, key, Lives::of(archive.parts(key)?))?;
    let kept = kept.ok_or_else(only_archived)?;
    let unfinished = Unfinished::new(&shelf.join(UNFINISHED), "");
    let mut file = platform::create_private_file(unfinished.path())?;
    let missing = kept.copy_into(&archive, &mut file)?;
    let bytes = file.metadata()?.len();
    let notes = shelf.join(PROBLEMS).join(key.to_string());
    match missing.problems.is_empty() {
        true => drop(fs::remove_file(&notes)),
        false => {
            let lines = missing.problems.iter().map(|problem| {
                format!("is not shown as a whole: {}\n", problem.to_string().replace('\n', " "))
            });
            fs::write(&notes, lines.collect::<String>())?;
        }
    }
    let content = platform::open_without_waiting(unfinished.path())?;
    finish(&file, Entry::of(&kept).stamp(), archived_copy::FILLED)?;
    // A session that is in the home again has no copy.
    if fs::symlink_metadata(path).is_ok() {
        fs::rename(unfinished.path(), path)?;
        note_held(&shelf, path, bytes);
    }
    Ok(content)
}

/// The shelf that a copy is on, and its path below the home.
fn place_of(path: &Path) -> Option<(PathBuf, String)> {
    let tree = path.ancestors().skip(1).find(|above| {
        above.file_name().is_some_and(|name| name == archived_copy::TREE)
            && above.with_file_name(SOURCE).is_file()
    })?;
    let below = path.strip_prefix(tree).ok()?.to_str()?;
    Some((tree.parent()?.to_owned(), below.to_owned()))
}

/// Makes a copy without its content.
pub(super) fn make_empty(
    shelf: &Path,
    path: &Path,
    bytes: u64,
    stamp: i64,
) -> Result<(), StoreError> {
    let unfinished = Unfinished::new(&shelf.join(UNFINISHED), "");
    let file = platform::create_private_file(unfinished.path())?;
    file.set_len(bytes)?;
    finish(&file, stamp, archived_copy::EMPTY)?;
    fs::rename(unfinished.path(), path)?;
    Ok(())
}

fn finish(file: &File, stamp: i64, mode: u32) -> std::io::Result<()> {
    let since = Duration::from_nanos(stamp.unsigned_abs());
    file.set_modified(SystemTime::UNIX_EPOCH + since)?;
    platform::set_mode(file, mode)
}

/// The time of a copy, in nanoseconds.
pub(super) fn modified_of(metadata: &Metadata) -> i64 {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}

/// Counts what copies hold, and empties the oldest ones when it is too much. Who reads one goes
/// on reading what it held.
fn note_held(shelf: &Path, newest: &Path, bytes: u64) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let path = shelf.join(HELD);
    let known = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let mut held = known.unwrap_or(0).saturating_add(bytes);
    if held > MOST_BYTES {
        held = empty_oldest(shelf, newest, MOST_BYTES / 2);
    }
    // Without the number, more is held than should be until the next time.
    let _ = fs::write(&path, held.to_string());
}

/// Empties the oldest copies until the others hold no more than this. Says how much that is.
pub(super) fn empty_oldest(shelf: &Path, newest: &Path, most: u64) -> u64 {
    remove_unfinished(shelf);
    let mut filled = Vec::new();
    walk(&shelf.join(archived_copy::TREE), &mut |path, metadata| {
        if archived_copy::is_copy(metadata) && !archived_copy::is_empty(metadata) {
            let stamp = modified_of(metadata);
            filled.push((platform::changed(metadata), path.to_owned(), metadata.len(), stamp));
        }
    });
    filled.sort();
    let mut held: u64 = filled.iter().map(|(_, _, bytes, _)| bytes).sum();
    for (_, path, bytes, stamp) in filled {
        if held <= most {
            break;
        }
        if path != newest && make_empty(shelf, &path, bytes, stamp).is_ok() {
            held -= bytes;
        }
    }
    held
}

/// Removes what killed processes left behind: what nobody has written to for an hour.
fn remove_unfinished(shelf: &Path) {
    const OLD: Duration = Duration::from_secs(3600);
    for entry in fs::read_dir(shelf.join(UNFINISHED)).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.map(|time| time.elapsed().unwrap_or_default());
        if age.is_ok_and(|age| age > OLD) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// All files below a directory. Directories that are empty go.
pub(super) fn walk(folder: &Path, take: &mut dyn FnMut(&Path, &Metadata)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            walk(&path, take);
            // Fails if something is in it.
            let _ = fs::remove_dir(&path);
        } else {
            take(&path, &metadata);
        }
    }
}
