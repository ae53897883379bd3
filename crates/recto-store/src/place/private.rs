//! Files that only their user may read, and files of the user that contain secrets and are read
//! because the user has asked for what they are for.

use std::io;
use std::io::Read as _;
use std::io::Write as _;
use std::path::Path;

use fs_err as fs;

use crate::StoreError;
use crate::place::error::PlaceError;
use crate::place::platform;

/// No such file is larger.
const LARGEST: u64 = 1024 * 1024;

/// Writes a file that only its user may read, in one step.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let name = format!(".{}.tmp", uuid::Uuid::new_v4().simple());
    let beside = path.with_file_name(name);
    let mut file = platform::create_private_file(&beside).map_err(named)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let renamed = written.and_then(|()| fs::rename(&beside, path));
    if let Err(error) = renamed {
        let _ = fs::remove_file(&beside);
        return Err(named(error).into());
    }
    if let Some(folder) = path.parent() {
        platform::sync_directory(folder)?;
    }
    Ok(())
}

/// Reads a file that only its user may read; nothing if there is none.
pub fn read_private(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    read(path, /* others may read it */ false)
}

/// Reads a file with secrets that other programs keep for the user, such as credentials of a
/// store; nothing if there is none. Who else may read it is that program's concern.
pub fn read_credentials(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    read(path, /* others may read it */ true)
}

fn read(path: &Path, may_be_public: bool) -> Result<Option<Vec<u8>>, StoreError> {
    let file = match platform::open_without_waiting(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("{}: {error}", path.display());
            return Err(io::Error::new(error.kind(), message).into());
        }
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(PlaceError::NotAFile { path: path.to_owned() }.into());
    }
    if metadata.len() > LARGEST {
        return Err(PlaceError::TooLarge { path: path.to_owned(), bytes: metadata.len() }.into());
    }
    if !may_be_public && platform::others_may_read(&metadata) {
        let message = format!("{}: other users can read it; run `chmod 600` on it", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message).into());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_private_file_is_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token.json");
        assert_eq!(read_private(&path).unwrap(), None);
        for text in ["one", "two"] {
            write_private(&path, text.as_bytes()).unwrap();
            assert_eq!(read_private(&path).unwrap().unwrap(), text.as_bytes());
        }
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode, std::fs::read_dir(folder.path()).unwrap().count()), (0o600, 1));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read_private(&path).unwrap_err().to_string().contains("chmod 600"));
        assert!(read_credentials(&path).unwrap().is_some());
    }
}
