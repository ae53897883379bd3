//! Late lines: what another program writes to a file while it is replaced or removed.
//!
//! Claude Code takes no lock. It opens a log by its name, writes, and closes it, and
//! each of the three may come at any moment of an operation. So no file is ever
//! unlinked on the strength of a check:
//!
//! 1. **Aside.** The file loses its name in one step of the system and gets that of a
//!    staged file: both names are exchanged, or the file is renamed. Whoever opens the
//!    name from now on gets the new file, or makes one. Whoever had the file open
//!    still has it.
//! 2. **Wait** until nobody has the file open for writing: `place::writers` looks
//!    twice, with a pause between. A program that does not let go makes the operation
//!    fail, and the file gets its name back.
//! 3. **Compare** it with the version that was read, and which is in the backups.
//! 4. The same: it is **removed**. Longer: the late lines are **carried over**, which
//!    is to append them to the file that has the name now, as if their writer had come
//!    a moment later. If no file has the name (a removal), or the content differs, the
//!    operation is taken back and the file gets its name again.
//! 5. What was never read is **never deleted**. Where it can have its name neither back
//!    nor kept, it goes to the trash (`.recto-trash` in the home), and the user is told.
//!
//! Taking back and recovery after a crash follow the same steps: the new content is
//! what is put aside then. All states between are told apart by content alone, so a
//! kill at any point is dealt with by the next command. Lines that were carried over
//! already are found and not appended twice.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;

use memchr::memmem;

use super::state::FileIdentity;
use super::state::FileVersion;
use super::state::hash_reader;
use crate::StoreError;
use crate::place::folder::Folder;
use crate::place::folder::step;
use crate::place::platform;

/// More late bytes than this are not carried over; the file goes to the trash.
const MOST_CARRIED: u64 = 64 * 1024 * 1024;

/// A file against a version that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// There is no file.
    Missing,
    /// It is the version.
    Same,
    /// It is the version and something after it.
    Grown,
    /// Anything else.
    Different,
}

/// Compares a file with a version, by content.
pub(crate) fn compare(
    folder: &Folder,
    name: &OsStr,
    version: &FileVersion,
) -> Result<Against, StoreError> {
    let Some(file) = folder.open(name)? else { return Ok(Against::Missing) };
    step("read");
    let (hash, read) = hash_reader((&file).take(version.bytes))?;
    if read != version.bytes || hash != version.sha256 {
        return Ok(Against::Different);
    }
    Ok(if file.metadata()?.len() > version.bytes { Against::Grown } else { Against::Same })
}

/// The same, for a file whose identity was taken when the version was read: it need
/// not be read again if that is still the same.
pub(crate) fn compare_known(
    folder: &Folder,
    name: &OsStr,
    version: &FileVersion,
    identity: Option<&FileIdentity>,
) -> Result<Against, StoreError> {
    if let Some(identity) = identity
        && let Some(file) = folder.open(name)?
        && FileIdentity::of_file(&file)? == *identity
    {
        return Ok(Against::Same);
    }
    compare(folder, name, version)
}

/// Appends what `from` has after `known` bytes to `to`, whose first `base` bytes are no
/// late lines. Lines that are there already, because a kill came between this and the
/// removal of `from`, are not appended again.
pub(crate) fn carry_over(
    folder: &Folder,
    (from, known): (&OsStr, u64),
    (to, base): (&OsStr, u64),
) -> Result<(), StoreError> {
    let mut known = known;
    loop {
        let Some(source) = folder.open(from)? else { return Ok(()) };
        let length = source.metadata()?.len();
        let Some(late) = length.checked_sub(known).filter(|late| *late > 0) else { return Ok(()) };
        if late > MOST_CARRIED {
            let message = format!("{}: too much was written", folder.join(from).display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message).into());
        }
        let lines = platform::read_span(&source, known, late)?;
        append(&folder.append(to)?, &lines, base)?;
        // Whatever came while this was written is carried over as well.
        known = length;
    }
}

fn append(file: &File, lines: &[u8], base: u64) -> Result<(), StoreError> {
    let length = file.metadata()?.len();
    let since = length.saturating_sub(base);
    if since >= lines.len() as u64 && since <= MOST_CARRIED {
        let written = platform::read_up_to(file, base.min(length), since)?;
        if memmem::find(&written, lines).is_some() {
            return Ok(());
        }
    }
    let mut whole = Vec::with_capacity(lines.len() + 1);
    let mut last = [b'\n'];
    if let Some(at) = length.checked_sub(1) {
        platform::read_fully(file, &mut last, at)?;
    }
    // A torn line stays torn by itself.
    if last != *b"\n" {
        whole.push(b'\n');
    }
    whole.extend_from_slice(lines);
    step("append");
    let mut file = file;
    // One call of the system, so that no other line comes between.
    file.write_all(&whole)?;
    step("sync");
    Ok(file.sync_data()?)
}
