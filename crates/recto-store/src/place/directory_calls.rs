//! Calls that take a directory which is held open, where the system has them.
//! Elsewhere the path of the directory is used, which was checked when it was opened.

use std::ffi::OsStr;
use std::fs::File;
#[cfg(not(unix))]
use std::fs::OpenOptions;
use std::io;
use std::path::Path;

#[cfg(unix)]
use rustix::fs::AtFlags;
#[cfg(unix)]
use rustix::fs::Mode;
#[cfg(unix)]
use rustix::fs::OFlags;

/// A directory that is held open, where the system resolves names from it.
#[cfg(unix)]
pub(crate) type DirectoryHandle = std::os::fd::OwnedFd;
/// Elsewhere names are resolved from the path.
#[cfg(not(unix))]
pub(crate) type DirectoryHandle = ();

/// A name in a directory.
pub(crate) type PlaceAt<'a> = (&'a DirectoryHandle, &'a Path, &'a OsStr);

/// What a name in a directory means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// A link, a pipe, or anything else.
    Other,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenFor {
    Reading,
    Appending,
    Creating,
}

/// Opens a directory beneath a root without following a link below the root.
#[cfg(unix)]
pub(crate) fn open_beneath(root: &Path, inside: &Path) -> io::Result<DirectoryHandle> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = rustix::fs::open(root, flags, Mode::empty())?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        use rustix::io::Errno;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let name = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        match rustix::fs::openat2(&handle, name, flags, Mode::empty(), resolve) {
            Ok(found) => return Ok(found),
            // Systems before 5.6, and sandboxes that do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            Err(error) => return Err(not_beneath(error)),
        }
    }
    walk_beneath(&handle, inside)
}

/// A way that leads over a link or out of the root is not a way over directories.
#[cfg(unix)]
fn not_beneath(error: rustix::io::Errno) -> io::Error {
    use rustix::io::Errno;
    match error {
        Errno::LOOP | Errno::XDEV | Errno::MLINK => io::ErrorKind::NotADirectory.into(),
        other => other.into(),
    }
}

/// The same with one call for each part of the path.
#[cfg(unix)]
pub(crate) fn walk_beneath(root: &DirectoryHandle, inside: &Path) -> io::Result<DirectoryHandle> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut handle = rustix::fs::openat(root, ".", flags, Mode::empty())?;
    for part in inside.components() {
        let std::path::Component::Normal(name) = part else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        handle = rustix::fs::openat(&handle, name, flags, Mode::empty()).map_err(not_beneath)?;
    }
    Ok(handle)
}

/// Opens a directory beneath a root: a walk that refuses links.
#[cfg(not(unix))]
pub(crate) fn open_beneath(root: &Path, inside: &Path) -> io::Result<DirectoryHandle> {
    let mut path = root.to_owned();
    for part in inside.components() {
        let std::path::Component::Normal(name) = part else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        path.push(name);
        if !fs_err::symlink_metadata(&path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
    }
    fs_err::metadata(&path).map(|_| ())
}

/// What a name in a directory means, without following it.
pub(crate) fn kind_at((handle, directory, name): PlaceAt<'_>) -> io::Result<Kind> {
    #[cfg(unix)]
    {
        use rustix::fs::FileType;
        let _ = directory;
        let stat = rustix::fs::statat(handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        })
    }
    #[cfg(not(unix))]
    {
        let () = handle;
        let metadata = fs_err::symlink_metadata(directory.join(name))?;
        Ok(match () {
            () if metadata.is_file() => Kind::File,
            () if metadata.is_dir() => Kind::Directory,
            () => Kind::Other,
        })
    }
}

/// Opens a file in a directory, without following a link or waiting for a pipe.
pub(crate) fn open_at(
    (handle, directory, name): PlaceAt<'_>,
    what_for: OpenFor,
) -> io::Result<File> {
    #[cfg(unix)]
    {
        let _ = directory;
        let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let (more, mode) = match what_for {
            OpenFor::Reading => (OFlags::RDONLY, Mode::empty()),
            OpenFor::Appending => (OFlags::RDWR | OFlags::APPEND, Mode::empty()),
            OpenFor::Creating => {
                (OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR)
            }
        };
        Ok(File::from(rustix::fs::openat(handle, name, flags | more, mode)?))
    }
    #[cfg(not(unix))]
    {
        let () = handle;
        let mut options = OpenOptions::new();
        match what_for {
            OpenFor::Reading => options.read(true),
            OpenFor::Appending => options.read(true).append(true),
            OpenFor::Creating => options.write(true).create_new(true),
        };
        options.open(directory.join(name))
    }
}

/// Gives two files of a directory each other's name, in one step. `false` where the
/// system cannot do it, and nothing has changed.
pub(crate) fn exchange_at(
    handle: &DirectoryHandle,
    one: &OsStr,
    other: &OsStr,
) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::RenameFlags;
        use rustix::io::Errno;
        match rustix::fs::renameat_with(handle, one, handle, other, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (handle, one, other);
        Ok(false)
    }
}

/// Gives a file a name, where no file has it yet.
pub(crate) fn rename_new_at(from: PlaceAt<'_>, to: PlaceAt<'_>) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::RenameFlags;
        use rustix::io::Errno;
        match rustix::fs::renameat_with(from.0, from.2, to.0, to.2, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            // Some file systems cannot do it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    link_at(from, to)?;
    remove_file_at(from)
}

/// Gives a file a name, whatever had it before.
pub(crate) fn rename_at(from: PlaceAt<'_>, to: PlaceAt<'_>) -> io::Result<()> {
    #[cfg(unix)]
    return Ok(rustix::fs::renameat(from.0, from.2, to.0, to.2)?);
    #[cfg(not(unix))]
    return fs_err::rename(from.1.join(from.2), to.1.join(to.2));
}

/// Gives a file a second name.
pub(crate) fn link_at(from: PlaceAt<'_>, to: PlaceAt<'_>) -> io::Result<()> {
    #[cfg(unix)]
    return Ok(rustix::fs::linkat(from.0, from.2, to.0, to.2, AtFlags::empty())?);
    #[cfg(not(unix))]
    return fs_err::hard_link(from.1.join(from.2), to.1.join(to.2));
}

/// Removes a file.
pub(crate) fn remove_file_at((handle, directory, name): PlaceAt<'_>) -> io::Result<()> {
    #[cfg(unix)]
    {
        let _ = directory;
        Ok(rustix::fs::unlinkat(handle, name, AtFlags::empty())?)
    }
    #[cfg(not(unix))]
    {
        let () = handle;
        fs_err::remove_file(directory.join(name))
    }
}

/// Makes a directory that only its user may look into.
pub(crate) fn make_directory_at((handle, directory, name): PlaceAt<'_>) -> io::Result<()> {
    #[cfg(unix)]
    {
        let _ = directory;
        Ok(rustix::fs::mkdirat(handle, name, Mode::RWXU)?)
    }
    #[cfg(not(unix))]
    {
        let () = handle;
        fs_err::create_dir(directory.join(name))
    }
}

/// Removes a directory that is empty.
pub(crate) fn remove_directory_at((handle, directory, name): PlaceAt<'_>) -> io::Result<()> {
    #[cfg(unix)]
    {
        let _ = directory;
        Ok(rustix::fs::unlinkat(handle, name, AtFlags::REMOVEDIR)?)
    }
    #[cfg(not(unix))]
    {
        let () = handle;
        fs_err::remove_dir(directory.join(name))
    }
}

/// Sets who may do what with a directory.
pub(crate) fn set_directory_mode(handle: &DirectoryHandle, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    return Ok(rustix::fs::fchmod(handle, Mode::from_raw_mode(mode as rustix::fs::RawMode))?);
    #[cfg(not(unix))]
    {
        let _ = (handle, mode);
        Ok(())
    }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_handle(handle: &DirectoryHandle) -> io::Result<()> {
    #[cfg(unix)]
    return Ok(rustix::fs::fsync(handle)?);
    #[cfg(not(unix))]
    {
        let () = handle;
        Ok(())
    }
}
