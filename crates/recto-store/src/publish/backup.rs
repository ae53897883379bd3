//! Backups: compressed, named after the hash of their content, so that the same
//! content is kept once.

use std::io;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use super::PublishError;
use super::state::FileIdentity;
use super::state::FileVersion;
use super::state::HashingWriter;
use crate::DataDirectory;
use crate::StoreError;
use crate::open_file;
use crate::place::platform;

/// Quick, because an edit waits for it; logs become five times smaller all the same.
const LEVEL: i32 = 3;

/// The directory of backups.
#[derive(Debug, Clone)]
pub(crate) struct Backups {
    directory: PathBuf,
}

impl Backups {
    pub(crate) fn open(data: &DataDirectory) -> Result<Backups, StoreError> {
        Ok(Backups { directory: data.make(&["backups"])? })
    }

    /// Where the content of a hash is.
    pub(crate) fn path(&self, sha256: &str) -> PathBuf {
        let folder = sha256.get(..2).unwrap_or("00");
        self.directory.join(folder).join(format!("{sha256}.zst"))
    }

    /// Keeps a file as it is, which must be the version that is expected.
    pub(crate) fn keep(
        &self,
        path: &Path,
        expected: &FileIdentity,
    ) -> Result<FileVersion, StoreError> {
        let changed = || PublishError::ChangedMeanwhile { path: path.to_owned() };
        let mut file = open_file(path)?;
        let metadata = file.metadata()?;
        let temporary = self.directory.join(format!(".{}.tmp", std::process::id()));
        remove_if_there(&temporary)?;
        let out = platform::create_private_file(&temporary)?;
        let mut encoder = zstd::Encoder::new(BufWriter::with_capacity(256 * 1024, out), LEVEL)?;
        encoder.include_checksum(true)?;
        let mut writer = HashingWriter::new(encoder);
        io::copy(&mut file, &mut writer)?;
        let (encoder, sha256, bytes) = writer.finish();
        let out = encoder.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        if FileIdentity::of_file(&file)? != *expected || bytes != expected.bytes {
            remove_if_there(&temporary)?;
            return Err(changed().into());
        }
        let state = FileVersion {
            sha256,
            bytes,
            modified: expected.modified,
            mode: platform::mode(&metadata),
        };
        if self.copy_to(&state, &mut io::sink()).is_ok() {
            remove_if_there(&temporary)?;
            return Ok(state);
        }
        out.sync_all()?;
        let place = self.path(&state.sha256);
        if let Some(folder) = place.parent() {
            platform::make_private_directory(folder)?;
            fs::rename(&temporary, &place)?;
            platform::sync_directory(folder)?;
            platform::sync_directory(&self.directory)?;
        }
        Ok(state)
    }

    /// Writes the content of a version. It is whole only if this succeeds.
    pub(crate) fn copy_to(
        &self,
        state: &FileVersion,
        out: &mut dyn Write,
    ) -> Result<(), StoreError> {
        let path = self.path(&state.sha256);
        if !path.is_file() {
            return Err(PublishError::NoBackup { path }.into());
        }
        let damaged = |_| PublishError::BadBackup { path: path.clone() };
        let mut decoder = zstd::Decoder::new(open_file(&path)?).map_err(damaged)?;
        let mut writer = HashingWriter::new(out);
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let read = io::Read::read(&mut decoder, &mut buffer).map_err(damaged)?;
            if read == 0 {
                break;
            }
            writer.write_all(&buffer[..read])?;
        }
        let (_, sha256, bytes) = writer.finish();
        if sha256 != state.sha256 || bytes != state.bytes {
            return Err(PublishError::BadBackup { path }.into());
        }
        Ok(())
    }

    /// All backups with their sizes.
    pub(crate) fn all(&self) -> Result<Vec<(PathBuf, u64)>, StoreError> {
        let mut found = Vec::new();
        for folder in fs::read_dir(&self.directory)? {
            let folder = folder?.path();
            if !folder.is_dir() {
                continue;
            }
            for file in fs::read_dir(&folder)? {
                let file = file?;
                found.push((file.path(), file.metadata()?.len()));
            }
        }
        Ok(found)
    }

    /// Removes what a crash left.
    pub(crate) fn clean(&self) -> Result<(), StoreError> {
        remove_temporary_files(&self.directory)
    }
}

/// Removes a file; one that is not there is no error.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes the files of a directory of recto's own that were never finished.
pub(crate) fn remove_temporary_files(directory: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".tmp") {
            remove_if_there(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_is_kept_once_and_damage_is_noticed_and_mended() {
        let folder = tempfile::tempdir().unwrap();
        let backups = Backups::open(&DataDirectory::new(folder.path().join("data"))).unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "content").unwrap();
        let keep = || backups.keep(&path, &FileIdentity::of(&path).unwrap()).unwrap();
        let state = keep();
        assert_eq!(keep(), state);
        assert_eq!(backups.all().unwrap().len(), 1);
        let mut out = Vec::new();
        backups.copy_to(&state, &mut out).unwrap();
        assert_eq!(out, b"content");
        let place = backups.path(&state.sha256);
        let mut bytes = fs::read(&place).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&place, &bytes).unwrap();
        let error = backups.copy_to(&state, &mut io::sink()).unwrap_err();
        assert_eq!(error.kind(), "bad-backup");
        keep();
        backups.copy_to(&state, &mut io::sink()).unwrap();
        fs::remove_file(&place).unwrap();
        assert_eq!(backups.copy_to(&state, &mut io::sink()).unwrap_err().kind(), "no-backup");
    }

    #[test]
    fn a_file_that_changed_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let backups = Backups::open(&DataDirectory::new(folder.path().join("data"))).unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "content").unwrap();
        let before = FileIdentity::of(&path).unwrap();
        fs::write(&path, "other content").unwrap();
        assert_eq!(backups.keep(&path, &before).unwrap_err().kind(), "changed-meanwhile");
        assert_eq!(backups.all().unwrap(), []);
    }
}
