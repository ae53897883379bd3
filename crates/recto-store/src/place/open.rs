//! Opening files: only regular ones, never secrets.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use crate::StoreError;
use crate::place::error::PlaceError;
use crate::place::platform;

/// Opens a file for reading.
///
/// Refuses what can hold a secret by its name, and what is no regular file: a
/// pipe in the home must not make a reader wait for ever.
pub fn open_file(path: &Path) -> Result<File, StoreError> {
    open_sized(path).map(|(file, _)| file)
}

/// Opens a file for reading, and says how long it is now.
pub(crate) fn open_sized(path: &Path) -> Result<(File, u64), StoreError> {
    let file = open_known(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(PlaceError::NotAFile { path: path.to_owned() }.into());
    }
    Ok((file, metadata.len()))
}

/// Opens what was a regular file a moment ago. What took its place meanwhile
/// cannot make a reader wait, because it is opened without waiting and read at
/// a place, which a pipe does not have.
pub(crate) fn open_known(path: &Path) -> Result<File, StoreError> {
    if can_be_secret(path) {
        return Err(PlaceError::Secret { path: path.to_owned() }.into());
    }
    let file = platform::open_without_waiting(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    Ok(file)
}

/// Reads a whole file that is small by nature, such as settings.
pub fn read_small(path: &Path) -> Result<Vec<u8>, StoreError> {
    const LARGEST: u64 = 16 * 1024 * 1024;
    let (file, bytes) = open_sized(path)?;
    if bytes > LARGEST {
        return Err(PlaceError::TooLarge { path: path.to_owned(), bytes }.into());
    }
    let mut content = Vec::with_capacity(bytes as usize);
    file.take(LARGEST).read_to_end(&mut content)?;
    Ok(content)
}

/// Whether a file can hold a secret, by its name.
pub(crate) fn can_be_secret(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let name = name.to_string_lossy().to_ascii_lowercase();
    let endings = [".key", ".pem", ".p12", ".pfx", ".token"];
    endings.iter().any(|ending| name.ends_with(ending))
        || name.contains("credential")
        || name == ".claude.json"
        || name.starts_with(".env")
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn secrets_are_never_opened() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["1234.ab.key", ".credentials.json", "X.PEM", ".claude.json", ".env.local"] {
            let path = directory.path().join(name);
            fs::write(&path, "secret").unwrap();
            assert!(
                matches!(open_file(&path), Err(StoreError::Place(PlaceError::Secret { .. }))),
                "{name}"
            );
        }
        let path = directory.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        assert_eq!(read_small(&path).unwrap(), b"{}");
    }

    #[test]
    fn directories_and_missing_files_are_errors_with_the_path() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(
            open_file(directory.path()),
            Err(StoreError::Place(PlaceError::NotAFile { .. }))
        ));
        let missing = open_file(&directory.path().join("gone.jsonl")).unwrap_err();
        assert!(missing.to_string().contains("gone.jsonl"), "{missing}");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_does_not_make_the_reader_wait() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(matches!(open_file(&pipe), Err(StoreError::Place(PlaceError::NotAFile { .. }))));
    }
}
