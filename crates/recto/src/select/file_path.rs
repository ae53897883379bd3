//! The file that a user means, and the word by which logs that name it are found;
//! the directory that a user means. Paths of users are looked at here and nowhere else.

use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::error::CommandError;

/// A file as the user named it, to be compared with paths in logs.
#[derive(Debug)]
pub(crate) struct WantedFile {
    /// The file, without `.` and `..`; a second form if links lead elsewhere.
    absolute: Vec<PathBuf>,
    /// The parts that the end of a path must have to fit too.
    ending: Option<Vec<String>>,
}

impl WantedFile {
    /// Exactly the file at a path.
    pub(crate) fn exact(text: &str, working_directory: Option<&Path>) -> WantedFile {
        let path = Path::new(text);
        let path = working_directory.map_or_else(|| path.to_owned(), |base| base.join(path));
        let plain = without_dots(&path);
        // A client started in a linked directory logs the path without links,
        // or with them: both are this file.
        let real = without_links(&path).filter(|real| *real != plain);
        WantedFile { absolute: std::iter::once(plain).chain(real).collect(), ending: None }
    }

    /// The file at a path, and where the path is relative, every file whose
    /// path ends with it.
    pub(crate) fn anywhere(text: &str, working_directory: Option<&Path>) -> WantedFile {
        let is_plain = |component: Component<'_>| matches!(component, Component::Normal(_));
        // `components` leaves out a `.` at the start only if nothing else is there.
        let ending = Path::new(text).components().all(is_plain).then(|| parts(text));
        WantedFile { ending, ..WantedFile::exact(text, working_directory) }
    }

    /// Whether a path in a log is this file.
    pub(crate) fn fits(&self, logged: &str) -> bool {
        if self.absolute.iter().any(|path| path.as_path() == Path::new(logged)) {
            return true;
        }
        let Some(ending) = self.ending.as_ref().filter(|ending| !ending.is_empty()) else {
            return false;
        };
        parts(logged).ends_with(ending)
    }

    /// A word that every log which names the file has in its bytes: the longest
    /// part of the file's name that no writer of JSON would escape. Empty if
    /// there is none.
    pub(crate) fn word(&self) -> &str {
        let name = self.absolute.first().and_then(|path| path.file_name()?.to_str());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+@".contains(c);
        let runs = name.unwrap_or_default().split(|c| !is_plain(c));
        // All forms of the path must have it, and a link can have another name.
        let is_common = |run: &&str| {
            self.absolute.iter().all(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().contains(run))
            })
        };
        runs.filter(is_common).max_by_key(|run| run.len()).unwrap_or_default()
    }
}

/// The parts of a path of any system.
fn parts(path: &str) -> Vec<String> {
    let parts = path.split(['/', '\\']).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
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

/// A path without links, if it leads anywhere.
pub(crate) fn without_links(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// A directory that is there, as the client names it: without links.
pub(crate) fn real_directory(path: &Path) -> Result<String, CommandError> {
    let missing = |why: String| {
        CommandError::user("not-found", format!("{}: {why}", path.display()))
            .with_hint("name a directory that is there")
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

/// The path without `.` and `..`, by its text alone.
fn without_dots(path: &Path) -> PathBuf {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_fits_every_path_that_ends_with_it() {
        let base = Some(Path::new("/nowhere/app"));
        let wanted = WantedFile::anywhere("src/main.rs", base);
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
            let wanted = WantedFile::anywhere(text, base);
            assert!(wanted.fits("/nowhere/app/main.rs"), "{text}");
            assert!(!wanted.fits("/other/main.rs"), "{text}");
        }
        assert!(!WantedFile::exact("main.rs", base).fits("/other/main.rs"));
    }

    #[test]
    fn the_word_is_never_escaped_in_json() {
        let word = |name: &str| WantedFile::exact(name, Some(Path::new("/n"))).word().to_owned();
        assert_eq!(word("my \"big\" file.txt"), "file.txt");
        assert_eq!(word("größe.md"), "e.md");
        assert_eq!(word("日本"), "");
    }
}
