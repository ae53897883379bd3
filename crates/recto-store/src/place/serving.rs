//! Files of a server: the socket that it listens on, and the token that the
//! user gives it.

use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use crate::StoreError;
use crate::place::error::PlaceError;
use crate::place::folder::named;
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
            false => Some("something else already exists there"),
        };
        if let Some(what) = what {
            let message = format!("{}: {what}; choose another path", path.display());
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
        let message = format!("{}: other users can read it; run `chmod 600` on it", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message).into());
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// A page that leads a browser to an address, and that only this user can read. It is
/// removed when it is dropped.
#[derive(Debug)]
pub struct LoginPage {
    path: PathBuf,
    directory: PathBuf,
}

impl LoginPage {
    /// Writes the page into a directory of its own, in the first of the directories where
    /// that is possible. Others may write to those.
    pub fn write(parents: &[PathBuf], url: &str) -> Result<LoginPage, StoreError> {
        let mut last = io::Error::from(io::ErrorKind::NotFound).into();
        for parent in parents.iter().filter(|parent| parent.is_absolute()) {
            match LoginPage::write_in(parent, url) {
                Ok(page) => return Ok(page),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn write_in(parent: &Path, url: &str) -> Result<LoginPage, StoreError> {
        // Others cannot know the name, nor look into the directory.
        let directory = parent.join(format!("recto-{}", uuid::Uuid::new_v4().simple()));
        platform::create_private_directory(&directory).map_err(named(&directory))?;
        let page = LoginPage { path: directory.join("open.html"), directory };
        let mut file = platform::create_private_file(&page.path).map_err(named(&page.path))?;
        // The address is made of a number and hexadecimal digits: nothing to escape.
        let text = format!(
            "<!doctype html><meta charset=\"utf-8\"><title>recto</title>\
             <meta name=\"referrer\" content=\"no-referrer\">\
             <meta http-equiv=\"refresh\" content=\"0;url={url}\">\
             <a href=\"{url}\">recto</a>\n"
        );
        file.write_all(text.as_bytes())?;
        Ok(page)
    }

    /// The page.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LoginPage {
    fn drop(&mut self) {
        // What stays behind leads nowhere: its address works once, for ten minutes.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_dir(&self.directory);
    }
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
        assert!(bind_socket(&path).is_err(), "it is in use");
        drop(listener);
        drop(bind_socket(&path).unwrap());
        remove_socket(&path);
        fs::write(&path, "a file").unwrap();
        assert!(bind_socket(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a file");
    }

    #[test]
    fn a_login_page_is_for_its_user_alone_and_goes() {
        let directory = tempfile::tempdir().unwrap();
        let url = "http://127.0.0.1:7700/login?code=abc";
        let parents = ["relative".into(), "/not/there".into(), directory.path().to_owned()];
        let page = LoginPage::write(&parents, url).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(page.path()), mode(page.path().parent().unwrap())), (0o600, 0o700));
        assert!(page.path().starts_with(directory.path()));
        assert!(fs::read_to_string(page.path()).unwrap().contains(url));
        drop(page);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
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
