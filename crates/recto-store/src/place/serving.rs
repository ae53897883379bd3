//! Files of a server: the socket that it listens on, and the token that the
//! user gives it.

use std::io;
use std::io::Read;
use std::path::Path;

use fs_err as fs;

use crate::StoreError;
use crate::place::error::PlaceError;
use crate::place::platform;

/// Listens on a socket that only its user may open. One that a server left
/// behind when it was killed is taken away; one that is listened on stays.
#[cfg(unix)]
pub fn bind_socket(path: &Path) -> Result<std::os::unix::net::UnixListener, StoreError> {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream;
    if let Ok(metadata) = fs::symlink_metadata(path) {
        let what = match metadata.file_type().is_socket() {
            true if UnixStream::connect(path).is_err() => None,
            true => Some("another server listens there"),
            false => Some("something else is there already"),
        };
        if let Some(what) = what {
            let message = format!("{}: {what}; name another path", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message).into());
        }
        fs::remove_file(path)?;
    }
    platform::bind_private_socket(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
        .map_err(StoreError::from)
}

/// Takes a socket away that nobody listens on any more.
pub fn remove_socket(path: &Path) {
    // Whoever finds it there can tell that nobody listens.
    let _ = fs::remove_file(path);
}

/// Reads the token that the user names a file of. Its name may say that it is a
/// secret: it is one, and the user has asked for it. Others must not be able to
/// read it.
pub fn read_token_file(path: &Path) -> Result<String, StoreError> {
    const LARGEST: u64 = 4096;
    let file = platform::open_without_waiting(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(PlaceError::NotAFile { path: path.to_owned() }.into());
    }
    if metadata.len() > LARGEST {
        return Err(PlaceError::TooLarge { path: path.to_owned(), bytes: metadata.len() }.into());
    }
    if platform::others_may_read(&metadata) {
        let message = format!("{}: others may read it; `chmod 600` helps", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message).into());
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_socket_is_private_and_taken_over_only_from_the_dead() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("recto.sock");
        let listener = bind_socket(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(bind_socket(&path).is_err(), "somebody listens");
        drop(listener);
        drop(bind_socket(&path).unwrap());
        remove_socket(&path);
        fs::write(&path, "a file").unwrap();
        assert!(bind_socket(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a file");
    }

    #[test]
    fn a_token_that_others_may_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.token");
        fs::write(&path, "secret\n").unwrap();
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read_token_file(&path).is_err());
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read_token_file(&path).unwrap(), "secret\n");
        assert!(read_token_file(directory.path()).is_err());
    }
}
