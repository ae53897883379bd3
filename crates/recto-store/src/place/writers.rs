//! Who has a file open for writing.
//!
//! Claude Code opens a log for each batch of lines, writes once, and closes it. A
//! file that has just lost its name may still be open: what is written then goes
//! into the file without the name. So whoever takes a name away waits here until
//! nobody can write to the file any longer.
//!
//! Linux lists the open files of each process of this user. Other systems do not,
//! and processes of other users are hidden. For those, and for a process that is
//! just inside the call that opens the file, there is a pause between two looks.

use std::collections::HashSet;
use std::time::Duration;
use std::time::Instant;

use crate::place::folder::step;

/// Between two looks. Claude Code has a log open for less than a millisecond.
const PAUSE: Duration = Duration::from_millis(25);

/// How long to wait for a process that has a file open for writing.
const LONGEST: Duration = Duration::from_secs(3);

/// The file system and the number of a file in it.
pub(crate) type FileNumber = (u64, u64);

/// Waits until nobody has one of the files open for writing. Gives those that
/// somebody still has.
pub(crate) fn wait_for_writers(files: &HashSet<FileNumber>) -> HashSet<FileNumber> {
    if files.is_empty() {
        return HashSet::new();
    }
    let start = Instant::now();
    let mut is_first = true;
    loop {
        step("look for writers");
        let held = open_for_writing(files);
        if held.is_empty() && !is_first {
            return held;
        }
        if !held.is_empty() && has_waited_enough(start) {
            return held;
        }
        is_first = !held.is_empty();
        pause();
    }
}

fn has_waited_enough(start: Instant) -> bool {
    // No test waits: its writers act at steps.
    #[cfg(test)]
    if crate::place::folder::steps::are_watched() {
        return model::has_waited_enough();
    }
    start.elapsed() > LONGEST
}

fn pause() {
    #[cfg(test)]
    if crate::place::folder::steps::are_watched() {
        return;
    }
    std::thread::sleep(PAUSE);
}

/// The files that another process has open for writing, as far as can be seen.
fn open_for_writing(files: &HashSet<FileNumber>) -> HashSet<FileNumber> {
    #[cfg(test)]
    if crate::place::folder::steps::are_watched() {
        return model::open_for_writing(files);
    }
    #[cfg(target_os = "linux")]
    {
        processes::open_for_writing(files)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = files;
        HashSet::new()
    }
}

#[cfg(target_os = "linux")]
mod processes {
    //! Open files as `/proc` lists them.

    use std::collections::HashSet;
    use std::path::Path;

    use crate::place::platform;
    use crate::place::writers::FileNumber;

    /// Looks at all processes but this one.
    pub(super) fn open_for_writing(files: &HashSet<FileNumber>) -> HashSet<FileNumber> {
        let mut held = HashSet::new();
        let own = std::process::id().to_string();
        // Without /proc nobody is seen; the pause has to do.
        let Ok(processes) = fs_err::read_dir("/proc") else { return held };
        for process in processes.flatten() {
            let name = process.file_name();
            let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
            if is_process && name.as_encoded_bytes() != own.as_bytes() {
                look_at(&process.path(), files, &mut held);
            }
        }
        held
    }

    fn look_at(process: &Path, files: &HashSet<FileNumber>, held: &mut HashSet<FileNumber>) {
        // It belongs to another user, or has just ended.
        let Ok(descriptors) = fs_err::read_dir(process.join("fd")) else { return };
        for descriptor in descriptors.flatten() {
            let path = descriptor.path();
            // Pipes and sockets have no path. Asking about them is slow, and may block.
            let is_file = fs_err::read_link(&path)
                .is_ok_and(|target| target.is_absolute() && !target.starts_with("/dev"));
            if !is_file {
                continue;
            }
            let Ok(metadata) = fs_err::metadata(&path) else { continue };
            let number = platform::file_number(&metadata);
            if files.contains(&number)
                && !held.contains(&number)
                && may_write(&process.join("fdinfo").join(descriptor.file_name()))
            {
                held.insert(number);
            }
        }
    }

    /// Whether the flags of an open file let it be written. Flags that cannot be read
    /// count as yes.
    fn may_write(information: &Path) -> bool {
        const ACCESS: u32 = 0o3;
        let Ok(text) = fs_err::read_to_string(information) else { return true };
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        flags.is_none_or(|flags| flags & ACCESS != 0)
    }
}

#[cfg(test)]
pub(crate) mod model {
    //! Writers of tests, which act in the same process.

    use std::cell::Cell;
    use std::cell::RefCell;
    use std::collections::HashSet;

    use crate::place::writers::FileNumber;

    thread_local! {
        static HELD: RefCell<HashSet<FileNumber>> = RefCell::default();
        static LOOKS: Cell<u32> = const { Cell::new(0) };
    }

    /// Says which files are open for writing.
    pub(crate) fn set_held(files: HashSet<FileNumber>) {
        HELD.set(files);
    }

    /// Forgets how often somebody looked.
    pub(crate) fn reset() {
        LOOKS.set(0);
        HELD.set(HashSet::new());
    }

    pub(super) fn open_for_writing(files: &HashSet<FileNumber>) -> HashSet<FileNumber> {
        HELD.with_borrow(|held| held.intersection(files).copied().collect())
    }

    /// After some looks at a file that stays open.
    pub(super) fn has_waited_enough() -> bool {
        LOOKS.set(LOOKS.get() + 1);
        LOOKS.get().is_multiple_of(5)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write as _;
    use std::process::Command;
    use std::process::Stdio;

    use super::*;
    use crate::place::platform;

    #[test]
    fn a_process_that_writes_is_seen_and_one_that_reads_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        fs_err::write(&path, "x").unwrap();
        let number = platform::file_number(&fs_err::metadata(&path).unwrap());
        let files = HashSet::from([number]);
        let shell = |redirect: &str| {
            let script = format!("exec {redirect}; echo ready; read line");
            let mut child = Command::new("sh")
                .args(["-c", &script, "sh"])
                .arg(&path)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut ready = [0; 6];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
            child
        };
        let mut reader = shell("3<\"$1\"");
        assert_eq!(open_for_writing(&files), HashSet::new());
        let mut writer = shell("3>>\"$1\"");
        assert_eq!(open_for_writing(&files), files);
        // A file keeps its number when it loses its name.
        fs_err::rename(&path, folder.path().join("aside")).unwrap();
        assert_eq!(open_for_writing(&files), files);
        for child in [&mut reader, &mut writer] {
            child.stdin.take().unwrap().write_all(b"\n").unwrap();
            child.wait().unwrap();
        }
        assert_eq!(open_for_writing(&files), HashSet::new());
    }
}
