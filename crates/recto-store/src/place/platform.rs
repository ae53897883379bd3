//! What differs between operating systems, all in one place.

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::time::SystemTime;

use jiff::Timestamp;

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

/// The same for what is not a link. Nothing if it is one.
pub(crate) fn open_no_link(path: &Path) -> io::Result<Option<File>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
        match opened {
            Err(error) if is_link_error(&error) => Ok(None),
            opened => opened.map(Some),
        }
    }
    #[cfg(not(unix))]
    {
        if std::fs::symlink_metadata(path)?.is_symlink() {
            return Ok(None);
        }
        open_without_waiting(path).map(Some)
    }
}

/// What systems answer that were told not to follow links.
#[cfg(unix)]
fn is_link_error(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [Errno::LOOP, Errno::MLINK].map(|known| Some(known.raw_os_error()));
    known.contains(&error.raw_os_error())
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

/// Gives memory that is not used any more back to the system. The C library keeps what was
/// freed for what comes next, which for a server may be never.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    malloc_trim(0);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library can be asked in no other way")]
unsafe extern "C" {
    /// Takes how much to keep, any number, and may be called at any time by any thread.
    safe fn malloc_trim(keep: usize) -> std::ffi::c_int;
}

/// Asks for bytes that are read soon. It is a hint; where the system does not take
/// it, they are fetched when they are read.
pub(crate) fn fetch(file: &File, offset: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    {
        let bytes = std::num::NonZeroU64::new(bytes);
        let _ = rustix::fs::fadvise(file, offset, bytes, rustix::fs::Advice::WillNeed);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, bytes);
}

/// Reads at a place until the buffer is full or the file ends.
pub(crate) fn read_fully(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    fill(buffer, offset, |rest, at| read_at(file, rest, at))
}

/// The bytes at a place, all of them: a file that ends before is an error.
pub(crate) fn read_span(file: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let bytes = read_up_to(file, offset, length)?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The bytes at a place, or as many as there are before the file ends.
pub(crate) fn read_up_to(file: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = vec![0; length];
    let filled = read_fully(file, &mut bytes, offset)?;
    bytes.truncate(filled);
    Ok(bytes)
}

/// Reads until the buffer is full or there is no more. A signal interrupts a read and
/// says nothing about the file, so the read is tried again.
fn fill(
    buffer: &mut [u8],
    offset: u64,
    mut read_at: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The time of a file; 1970 where the system does not tell it.
pub(crate) fn timestamp(time: io::Result<SystemTime>) -> Timestamp {
    time.ok().and_then(|time| Timestamp::try_from(time).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The bytes of a path.
pub(crate) fn path_bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

/// A path of its bytes, where the system knows what they mean.
pub(crate) fn path_of_bytes(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
    }
    #[cfg(not(unix))]
    {
        PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
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

/// The same where nothing may be there.
pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Makes a file that only its user may read, where there is none.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

/// Opens a file that only its user may read, to add to it and to look at its end,
/// and makes it if needed. A link is refused, and a pipe does not block.
pub(crate) fn append_to_log(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits() as i32);
    }
    options.open(path)
}

/// Opens a file that only its user may read, to add to it, and makes it if
/// needed.
pub(crate) fn append_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

/// Listens on a socket that only its user may open. For a moment others may open
/// it if the user's mask lets them write all the user's files; the server's
/// token holds even then.
#[cfg(unix)]
pub(crate) fn bind_private_socket(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Whether the group or all may read a file.
pub(crate) fn others_may_read(metadata: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        metadata.mode() & 0o077 != 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// Whether something belongs to another user.
pub(crate) fn is_of_another_user(metadata: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        std::os::unix::fs::MetadataExt::uid(metadata) != rustix::process::geteuid().as_raw()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// Makes names in a directory durable. Where the system has no way to do that,
/// it does it by itself.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The file system and the number that a file has in it; zeros where the system
/// has no such numbers.
pub(crate) fn file_number(metadata: &std::fs::Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        (0, 0)
    }
}

/// When anything of a file changed, its name and rights included, in nanoseconds
/// since 1970; 0 where the system does not tell.
pub(crate) fn changed(metadata: &std::fs::Metadata) -> i64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        0
    }
}

/// Who may do what with a file, where the system has such bits.
pub(crate) fn mode(metadata: &std::fs::Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(metadata.permissions().mode() & 0o7777)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// Sets who may do what with a file.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, mode);
        Ok(())
    }
}

/// Whether the process that wrote a session's pid file still runs.
///
/// A pid alone proves nothing, because the system uses it again; the start
/// time does. Where the system does not tell it, the pid has to do. A process that has
/// ended and of which only the number is left does not run.
pub fn process_is_alive(pid: u32, start: Option<&str>) -> bool {
    #[cfg(target_os = "linux")]
    {
        // It is a few hundred bytes, and many are asked for at once: one call is enough.
        let mut bytes = [0; 1024];
        let read = File::open(format!("/proc/{pid}/stat"))
            .and_then(|mut file| io::Read::read(&mut file, &mut bytes));
        let Ok(length) = read else { return false };
        let stat = String::from_utf8_lossy(&bytes[..length]);
        if has_ended(&stat) {
            return false;
        }
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

/// Whether processes of a domain, as clients name theirs, have numbers of their own:
/// `linux::pid:[4026532256]` is a PID namespace of Linux.
pub(crate) fn is_other_pid_domain(domain: &str) -> bool {
    let Some((system, rest)) = domain.split_once(':') else { return false };
    let own_system = match () {
        () if cfg!(target_os = "macos") => "darwin",
        () if cfg!(windows) => "win32",
        () if cfg!(target_os = "linux") => "linux",
        () => return false,
    };
    if system != own_system {
        return !system.is_empty();
    }
    let Some(own) = pid_namespace() else { return false };
    rest.find("pid:[").is_some_and(|at| rest[at..] != *own)
}

/// The domain of this process, as clients name theirs; none where numbers of
/// processes are not apart.
pub(crate) fn own_pid_domain() -> Option<String> {
    pid_namespace().map(|namespace| format!("linux::{namespace}"))
}

/// Such as `pid:[4026532256]`. A process never leaves its own.
fn pid_namespace() -> Option<&'static str> {
    #[cfg(target_os = "linux")]
    {
        static OWN: OnceLock<Option<String>> = OnceLock::new();
        let read =
            || std::fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_string().ok();
        OWN.get_or_init(read).as_deref()
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// When this process started, as [`process_is_alive`] compares it.
pub(crate) fn own_start() -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        start_time(&stat).map(str::to_owned)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Whether the state, which is the third field of `/proc/PID/stat`, is that of a process
/// that nobody has asked for its exit code yet (Z), or that is being removed (X).
#[cfg(target_os = "linux")]
fn has_ended(stat: &str) -> bool {
    let after_name = stat.rfind(')').map_or("", |at| &stat[at + 1..]);
    matches!(after_name.trim_start().chars().next(), Some('Z' | 'X' | 'x'))
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
        let start = own_start().unwrap();
        assert!(process_is_alive(pid, Some(&start)));
        assert!(process_is_alive(pid, None));
        assert!(!process_is_alive(pid, Some("1")));
        assert!(!process_is_alive(u32::MAX, None));
    }

    #[test]
    fn a_process_of_which_only_the_number_is_left_does_not_run() {
        use rustix::process::Pid;
        use rustix::process::WaitId;
        use rustix::process::WaitIdOptions;
        use rustix::process::waitid;
        let mut child = std::process::Command::new("true").spawn().unwrap();
        // Waits for its end without taking its number away.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&child)), options).unwrap();
        assert!(std::fs::exists(format!("/proc/{}/stat", child.id())).unwrap());
        assert!(!process_is_alive(child.id(), None));
        child.wait().unwrap();
        assert!(has_ended("7 (a) Z b) X 1") && !has_ended("7 (a) Z b) S 1"));
    }

    #[test]
    fn a_read_that_is_interrupted_is_tried_again_and_other_errors_are_told() {
        let mut answers = vec![
            Err(io::ErrorKind::Interrupted),
            Ok(b"ab"),
            Err(io::ErrorKind::Interrupted),
            Ok(b"cd"),
        ]
        .into_iter();
        let mut places = Vec::new();
        let mut buffer = [0; 4];
        let filled = fill(&mut buffer, 7, |rest, at| {
            places.push(at);
            let bytes: &[u8; 2] = answers.next().unwrap()?;
            rest[..2].copy_from_slice(bytes);
            Ok(2)
        });
        assert_eq!((filled.unwrap(), &buffer), (4, b"abcd"));
        assert_eq!(places, [7, 7, 9, 9]);
        let refused = fill(&mut buffer, 0, |_, _| Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_file_that_ends_before_the_span_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "abcd").unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(read_span(&file, 1, 3).unwrap(), b"bcd");
        assert_eq!(read_span(&file, 2, 3).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(read_up_to(&file, 2, 3).unwrap(), b"cd");
        assert_eq!(read_span(&file, 9, 0).unwrap(), b"");
    }

    #[test]
    fn a_name_with_brackets_does_not_confuse() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(start_time(&format!("7 (a) b) {}", fields.join(" "))), Some("22"));
    }
}
