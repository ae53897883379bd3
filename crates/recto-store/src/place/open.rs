//! Opening files: only regular ones, never secrets, and links only within their folder.
//! All readers come through here.

use std::fs::File;
use std::io::Read;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use crate::StoreError;
use crate::place::archived_copy;
use crate::place::error::PlaceError;
use crate::place::folder::named;
use crate::place::platform;
use crate::place::secret_name::can_be_secret;

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
    refuse_secret(path)?;
    match platform::open_no_link(path) {
        Ok(Some(file)) => match archived_copy::is_empty(&file.metadata()?) {
            true => archived_copy::filled(path),
            false => Ok(file),
        },
        Ok(None) => open_target(&follow(path)?),
        Err(error) => match fs_err::symlink_metadata(path) {
            Ok(metadata) if archived_copy::is_empty(&metadata) => archived_copy::filled(path),
            _ => Err(named(path)(error).into()),
        },
    }
}

/// Opens a file that the user named, or whose place is the user's to choose, such as
/// settings: a link may lead anywhere. The name of the file itself still counts.
fn open_chosen(path: &Path) -> Result<File, StoreError> {
    refuse_secret(path)?;
    open_target(&fs_err::canonicalize(path)?)
}

fn open_target(real: &Path) -> Result<File, StoreError> {
    refuse_secret(real)?;
    match platform::open_no_link(real) {
        Ok(Some(file)) => Ok(file),
        // It has become a link since.
        Ok(None) => Err(PlaceError::LeadsOut { path: real.to_owned() }.into()),
        Err(error) => Err(named(real)(error).into()),
    }
}

fn refuse_secret(path: &Path) -> Result<(), StoreError> {
    match can_be_secret(path) {
        true => Err(PlaceError::Secret { path: path.to_owned() }.into()),
        false => Ok(()),
    }
}

/// Where a link to a file leads. It must stay in its own folder, and its target must
/// not be a secret by name.
pub(crate) fn follow(link: &Path) -> Result<PathBuf, StoreError> {
    let real = fs_err::canonicalize(link)?;
    refuse_secret(&real)?;
    let folder = link.parent().filter(|above| !above.as_os_str().is_empty());
    let folder = fs_err::canonicalize(folder.unwrap_or(Path::new(".")))?;
    match real.parent() == Some(&*folder) {
        true => Ok(real),
        false => Err(PlaceError::LeadsOut { path: link.to_owned() }.into()),
    }
}

/// Takes `.` and `..` out of a path by its text alone, without asking the disk.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Reads a whole file that is small by nature.
pub fn read_small(path: &Path) -> Result<Vec<u8>, StoreError> {
    read_whole(path, open_known(path)?)
}

/// The same for a file that the user named, or whose place is the user's to choose.
pub fn read_chosen(path: &Path) -> Result<Vec<u8>, StoreError> {
    read_whole(path, open_chosen(path)?)
}

fn read_whole(path: &Path, file: File) -> Result<Vec<u8>, StoreError> {
    const LARGEST: u64 = 16 * 1024 * 1024;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(PlaceError::NotAFile { path: path.to_owned() }.into());
    }
    let bytes = metadata.len();
    if bytes > LARGEST {
        return Err(PlaceError::TooLarge { path: path.to_owned(), bytes }.into());
    }
    let mut content = Vec::with_capacity(bytes as usize);
    file.take(LARGEST).read_to_end(&mut content)?;
    Ok(content)
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
    fn a_link_is_followed_within_its_folder_and_never_to_a_secret() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("plans");
        fs::create_dir(&inside).unwrap();
        fs::write(directory.path().join("other.md"), "other").unwrap();
        fs::write(inside.join("plan.md"), "plan").unwrap();
        fs::write(inside.join("id_rsa"), "key").unwrap();
        let link = |target: &str, name: &str| {
            symlink(target, inside.join(name)).unwrap();
            inside.join(name)
        };
        let same = link("plan.md", "same.md");
        let away = link("../other.md", "away.md");
        let key = link("id_rsa", "key.md");
        // By way of a second link.
        let chain = link("key.md", "chain.md");
        let round = link("round.md", "round.md");
        assert_eq!(read_small(&same).unwrap(), b"plan");
        let kind = |path: &Path| open_file(path).unwrap_err().kind();
        assert_eq!(kind(&away), "leads-out");
        assert_eq!((kind(&key), kind(&chain)), ("secret", "secret"));
        assert!(open_file(&round).is_err());
        assert_eq!(read_chosen(&away).unwrap(), b"other");
        assert_eq!(read_chosen(&key).unwrap_err().kind(), "secret");
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
