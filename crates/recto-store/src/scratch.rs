//! Folders for working files, one a session, outside the client's home.
//!
//! A compaction forgets what was said, not what was written down. The client
//! deletes its own folders after some days, so that these are in recto's data.

use std::path::Path;
use std::path::PathBuf;

use recto_log::SessionId;

use crate::StoreError;
use crate::platform::make_private_directory;

/// The folder of a session, made if it is not there. Only its user may look
/// into it. `data` is the directory of the data of all programs.
pub fn scratch_folder(data: &Path, session: SessionId) -> Result<PathBuf, StoreError> {
    // The directory of all programs is none of ours to restrict.
    fs_err::create_dir_all(data)?;
    let mut folder = data.to_owned();
    for part in ["recto", "scratch", &session.to_string()] {
        folder.push(part);
        make_private_directory(&folder).map_err(|error| {
            std::io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
        })?;
        if !folder.is_dir() {
            return Err(StoreError::NotADirectory { path: folder });
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    #[test]
    fn the_folder_is_made_once_and_keeps_what_is_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("share");
        let folder = scratch_folder(&data, ID.parse().unwrap()).unwrap();
        assert_eq!(folder, data.join("recto/scratch").join(ID));
        fs::write(folder.join("notes.md"), "x").unwrap();
        assert_eq!(scratch_folder(&data, ID.parse().unwrap()).unwrap(), folder);
        assert!(folder.join("notes.md").exists());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("recto"), "x").unwrap();
        let error = scratch_folder(directory.path(), ID.parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), "not-a-directory");
    }
}
