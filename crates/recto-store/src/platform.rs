//! What differs between operating systems, all in one place.

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;

/// Opens a file without waiting for the other end if it is a pipe.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    options.open(path)
}

/// Reads at a place, without moving a cursor.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_at(file, buffer, offset)
    }
    #[cfg(windows)]
    {
        std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
    }
}

/// Makes a directory that only its user may look into, unless something is there.
pub(crate) fn make_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    // Another process may have made it meanwhile.
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Whether the process that wrote a session's pid file still runs.
///
/// A pid alone proves nothing, because the system uses it again; the start
/// time does. Where the system does not tell it, the pid has to do.
pub fn process_is_alive(pid: u32, start: Option<&str>) -> bool {
    #[cfg(target_os = "linux")]
    {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
        match (start, start_time(&stat)) {
            (Some(expected), Some(found)) => expected == found,
            _ => true,
        }
    }
    #[cfg(all(unix, not(target_os = "linux")))]
    {
        let _ = start;
        let Ok(pid) = i32::try_from(pid) else { return false };
        rustix::process::Pid::from_raw(pid).is_some_and(|pid| {
            !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
        })
    }
    #[cfg(not(unix))]
    {
        let _ = (pid, start);
        // Not known here: a live session must not be taken for a dead one.
        true
    }
}

/// The 22nd field of `/proc/PID/stat`. The second one is the program's name in
/// brackets and can hold anything, brackets and spaces included.
#[cfg(target_os = "linux")]
fn start_time(stat: &str) -> Option<&str> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_ascii_whitespace().nth(19)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_tells_processes_apart() {
        let pid = std::process::id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let start = start_time(&stat).unwrap().to_owned();
        assert!(process_is_alive(pid, Some(&start)));
        assert!(process_is_alive(pid, None));
        assert!(!process_is_alive(pid, Some("1")));
        assert!(!process_is_alive(u32::MAX, None));
    }

    #[test]
    fn a_name_with_brackets_does_not_confuse() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(start_time(&format!("7 (a) b) {}", fields.join(" "))), Some("22"));
    }
}
