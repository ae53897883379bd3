//! Namespaces of a confined command: its own mounts and its own network.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use rustix::mount::MountFlags;
use rustix::mount::MountPropagationFlags;
use rustix::net::AddressFamily;
use rustix::net::SocketType;
use rustix::thread::UnshareFlags;

use super::Policy;

/// Moves this process, which must have one thread, into namespaces of its own.
pub(super) fn leave() -> io::Result<()> {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWNET;
    // It is deprecated because of `FILES`, which is not used here.
    #[expect(deprecated, reason = "the other one is unsafe because of a flag that is not used")]
    rustix::thread::unshare(flags)?;
    // The user stays who it is.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Switches the loopback interface of a new network on.
pub(super) fn loopback_up() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 1 | 4;
    const UP: u32 = 1;
    const LOOPBACK: i32 = 1;
    let socket = rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut message = Vec::new();
    message.extend(32u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACK.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    fs::File::from(socket).write_all(&message)
}

/// Covers secrets, and makes everything but the writable directories read-only.
pub(super) fn arrange(policy: &Policy) -> io::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)?;
    let empty = unreadable();
    for directory in &policy.writable {
        rustix::mount::mount_bind_recursive(directory, directory)?;
    }
    // A directory above something protected must not be moved away with it: a mount cannot be.
    let above = policy.protected.iter().flat_map(|path| path.ancestors().skip(1));
    let is_inside = |path: &Path| {
        policy.writable.iter().any(|one| path.starts_with(one) && path != one.as_path())
    };
    let above: BTreeSet<&Path> = above.filter(|path| is_inside(path)).collect();
    for path in above {
        rustix::mount::mount_bind_recursive(path, path)?;
    }
    for path in &policy.protected {
        rustix::mount::mount_bind_recursive(path, path)?;
    }
    for path in &policy.hidden {
        cover(path, empty.as_deref())?;
    }
    if let Some(empty) = empty {
        // A file that is mounted stays as long as the mount does.
        fs::remove_file(empty)?;
    }
    let inside = |path: &Path| {
        let below = |all: &[PathBuf]| all.iter().any(|one| path.starts_with(one));
        below(&policy.writable) && !below(&policy.protected)
    };
    for (path, flags) in mounts()? {
        if inside(&path) {
            continue;
        }
        let read_only = flags | MountFlags::BIND | MountFlags::RDONLY;
        // Landlock refuses the same; some mounts of the system cannot be changed.
        let _ = rustix::mount::mount_remount(&path, read_only, c"");
    }
    Ok(())
}

/// A file that nobody may read, if one can be made.
fn unreadable() -> Option<PathBuf> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = std::env::temp_dir().join(format!(".recto-covered-{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o000).open(&path).ok()?;
    Some(path)
}

/// Puts something empty over a secret.
fn cover(path: &Path, empty: Option<&Path>) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if metadata.is_dir() {
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        return Ok(rustix::mount::mount("none", path, "tmpfs", flags, c"mode=0,size=4k")?);
    }
    Ok(rustix::mount::mount_bind(empty.unwrap_or(Path::new("/dev/null")), path)?)
}

/// The mounts of this process with what must stay of their flags.
fn mounts() -> io::Result<Vec<(PathBuf, MountFlags)>> {
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    let mut mounts = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ').skip(4);
        let (Some(path), Some(options)) = (words.next(), words.next()) else { continue };
        let mut flags = MountFlags::empty();
        for option in options.split(',') {
            flags |= match option {
                "nosuid" => MountFlags::NOSUID,
                "nodev" => MountFlags::NODEV,
                "noexec" => MountFlags::NOEXEC,
                "noatime" => MountFlags::NOATIME,
                "nodiratime" => MountFlags::NODIRATIME,
                "relatime" => MountFlags::RELATIME,
                _ => MountFlags::empty(),
            };
        }
        mounts.push((PathBuf::from(plain(path)), flags));
    }
    Ok(mounts)
}

/// Blanks and the like are written as octal numbers.
fn plain(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn blanks_in_mount_points_are_read() {
        assert_eq!(super::plain("/a\\040b\\134c"), "/a b\\c");
        assert_eq!(super::plain("/a\\"), "/a\\");
    }
}
