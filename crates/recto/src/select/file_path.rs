//! The file that a user means, and the word to find logs that name it by;
//! the directory that a user means. Paths of users are looked at here and nowhere else.

use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use recto_store::without_dots;
use recto_view::WantedFile;

use crate::environment::Environment;
use crate::error::CommandError;

/// Exactly the file at a path.
pub(crate) fn exact(text: &str, working_directory: Option<&Path>) -> WantedFile {
    let path = Path::new(text);
    let path = working_directory.map_or_else(|| path.to_owned(), |base| base.join(path));
    let plain = without_dots(&path);
    // A client started in a linked directory logs the path without links,
    // or with them: both are this file.
    let real = without_links(&path).filter(|real| *real != plain);
    WantedFile::at(std::iter::once(plain).chain(real))
}

/// The file at a path, and where the path is relative, every file whose path ends with it.
pub(crate) fn anywhere(text: &str, working_directory: Option<&Path>) -> WantedFile {
    let is_plain = |component: Component<'_>| matches!(component, Component::Normal(_));
    let exact = exact(text, working_directory);
    // `components` leaves out a `.` at the start only if nothing else is there.
    match Path::new(text).components().all(is_plain) {
        true => exact.or_ending_with(text),
        false => exact,
    }
}

/// Whether a user's path leads to anything.
pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}

/// Refuses the path of a file that does not exist.
pub(crate) fn require(path: &Path) -> Result<(), CommandError> {
    if path.exists() {
        return Ok(());
    }
    Err(CommandError::user("not-found", format!("there is no file {}", path.display())))
}

/// Whether a user's path leads to a file.
pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Whether a user's path leads to a directory.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.is_dir()
}

/// The repository that a directory is in, else the directory itself.
pub(crate) fn repository_of(directory: &Path) -> PathBuf {
    let root = directory.ancestors().find(|above| above.join(".git").exists());
    root.unwrap_or(directory).to_owned()
}

/// A path without links, if it leads anywhere.
pub(crate) fn without_links(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// A directory that is there, as the client names it: without links.
pub(crate) fn real_directory(path: &Path) -> Result<String, CommandError> {
    let missing = |why: String| {
        CommandError::user("not-found", format!("{}: {why}", path.display()))
            .with_hint("name a directory that exists")
    };
    let real = path.canonicalize().map_err(|error| missing(error.to_string()))?;
    if !real.is_dir() {
        return Err(missing("is not a directory".to_owned()));
    }
    Ok(real.to_string_lossy().into_owned())
}

/// A directory that need not be there: without links if it is, else as it is
/// called.
pub(crate) fn directory_or_name(environment: &Environment, path: &Path) -> String {
    let base = environment.working_directory.as_deref().unwrap_or(Path::new("/"));
    let path = without_links(path).unwrap_or_else(|| without_dots(&base.join(path)));
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_fits_every_path_that_ends_with_it() {
        let base = Some(Path::new("/nowhere/app"));
        let wanted = anywhere("src/main.rs", base);
        assert!(wanted.fits("/nowhere/app/src/main.rs"));
        assert!(wanted.fits("/other/src/main.rs"));
        assert!(wanted.fits(r"C:\other\src\main.rs"));
        assert!(!wanted.fits("/other/mysrc/main.rs"), "only whole parts count");
        assert!(!wanted.fits("/other/src/main.rs.bak"));
        assert_eq!(wanted.word(), "main.rs");
    }

    #[test]
    fn dots_and_absolute_paths_mean_one_file() {
        let base = Some(Path::new("/nowhere/app"));
        for text in
            ["./main.rs", "../app/main.rs", "/nowhere/app/main.rs", "/nowhere/./app/main.rs"]
        {
            let wanted = anywhere(text, base);
            assert!(wanted.fits("/nowhere/app/main.rs"), "{text}");
            assert!(!wanted.fits("/other/main.rs"), "{text}");
        }
        assert!(!exact("main.rs", base).fits("/other/main.rs"));
    }
}
