//! Folders for working files, one a session, outside the client's home.
//!
//! A compaction forgets what was said, not what was written down. The client
//! deletes its own folders after some days, so that these are in recto's data.

use std::path::PathBuf;

use recto_log::SessionId;

use crate::DataDirectory;
use crate::StoreError;

/// The folder of a session, made if it is not there. Only its user may look
/// into it.
pub fn scratch_folder(data: &DataDirectory, session: SessionId) -> Result<PathBuf, StoreError> {
    data.make(&["scratch", &session.to_string()])
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
        let root = data.join("recto");
        let data = DataDirectory::new(&root);
        let folder = scratch_folder(&data, ID.parse().unwrap()).unwrap();
        assert_eq!(folder, root.join("scratch").join(ID));
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
        let data = DataDirectory::new(directory.path().join("recto"));
        let error = scratch_folder(&data, ID.parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), "not-a-directory");
    }
}
