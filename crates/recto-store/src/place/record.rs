//! Small files of recto's own data that are read whole and changed whole, such as the marks of
//! sessions. Never anything in Claude Code's home.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::StoreError;
use crate::place::data_directory::DataDirectory;
use crate::place::locking::lock_file;
use crate::place::platform;
use crate::place::unfinished::Unfinished;

/// How large such a file may be.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// How long another process may have it.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl DataDirectory {
    fn record(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The content of a file of this directory; none if it is not there.
    pub fn read_record(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.record(name);
        match fs_err::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
            Ok(metadata) if metadata.len() > MOST_BYTES => {
                let message = format!("{}: more than 16 MB", path.display());
                return Err(std::io::Error::other(message).into());
            }
            Ok(_) => {}
        }
        Ok(Some(fs_err::read(&path)?))
    }

    /// Changes a file of this directory: one process at a time, in one step, for its user
    /// only. `change` gets the content and gives the new one.
    pub fn change_record<E: From<StoreError>>(
        &self,
        name: &str,
        change: impl FnOnce(Option<Vec<u8>>) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        let folder = self.make(&[])?;
        let lock = lock_file(&folder.join(format!("{name}.lock")), LONGEST_WAIT);
        let _lock = lock.map_err(StoreError::from)?.ok_or_else(|| {
            StoreError::from(std::io::Error::other("another process is changing recto's data"))
        })?;
        let bytes = change(self.read_record(name)?)?;
        let unfinished = Unfinished::new(&folder, &format!("{name}.new-"));
        let write = || -> std::io::Result<()> {
            let mut file = platform::append_private_file(unfinished.path())?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs_err::rename(unfinished.path(), self.record(name))
        };
        write().map_err(|error| E::from(StoreError::from(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_changed_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(folder.path().join("recto"));
        assert_eq!(data.read_record("marks.json").unwrap(), None);
        for _ in 0..3 {
            data.change_record("marks.json", |before| -> Result<_, StoreError> {
                let mut bytes = before.unwrap_or_default();
                bytes.push(b'x');
                Ok(bytes)
            })
            .unwrap();
        }
        assert_eq!(data.read_record("marks.json").unwrap().as_deref(), Some(&b"xxx"[..]));
        let names = std::fs::read_dir(data.root()).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["marks.json", "marks.json.lock"]);
        // What cannot be done changes nothing.
        let refused = data.change_record("marks.json", |_| -> Result<Vec<u8>, StoreError> {
            Err(std::io::Error::other("no").into())
        });
        assert!(refused.is_err());
        assert_eq!(data.read_record("marks.json").unwrap().as_deref(), Some(&b"xxx"[..]));
    }
}
