//! The home: the directory that holds everything of the client's.

use std::path::MAIN_SEPARATOR;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use fs_err as fs;
use recto_log::ProjectKey;

use crate::StoreError;
use crate::place::archived_copy::ArchivedTree;
use crate::place::error::PlaceError;

/// Where the home may be, as the command line and the environment say it.
#[derive(Debug, Clone, Default)]
pub struct HomeSource {
    /// `--home`.
    pub explicit: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`.
    pub config_dir: Option<PathBuf>,
    /// The user's home directory.
    pub user_home: Option<PathBuf>,
    /// Whether a test is running, which must never reach a real home.
    pub in_test: bool,
}

impl HomeSource {
    /// The path of the home: the first place that was named.
    pub fn path(&self) -> Result<PathBuf, StoreError> {
        let named =
            |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
        if let Some(path) = named(&self.explicit).or_else(|| named(&self.config_dir)) {
            return Ok(path);
        }
        if self.in_test {
            return Err(PlaceError::HomeInTest.into());
        }
        let user_home = named(&self.user_home).ok_or(PlaceError::HomeUnknown)?;
        Ok(user_home.join(".claude"))
    }
}

/// The directory of files that nobody has read. No command looks for sessions there.
pub(crate) const TRASH: &str = ".recto-trash";

/// Makes the directory of a home that does not exist yet. Only its user may look into it.
pub fn make_home(path: &Path) -> Result<(), StoreError> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    crate::place::platform::make_private_directory(path)?;
    Ok(())
}

/// A home that exists.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    /// The root without symbolic links, to tell what is inside.
    real_root: PathBuf,
    /// Where sessions are that only the archive has, if they are wanted.
    pub(crate) archived: Option<Arc<ArchivedTree>>,
    /// Whether there is an archive that is not wanted.
    pub(crate) hides_archive: bool,
}

impl Home {
    /// Opens the home at `root`.
    pub fn open(root: impl Into<PathBuf>) -> Result<Home, StoreError> {
        let root = root.into();
        match fs::metadata(&root) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(PlaceError::HomeIsNoDirectory { path: root }.into()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(PlaceError::NoHome { path: root }.into());
            }
            Err(error) => return Err(error.into()),
        }
        let real_root = fs::canonicalize(&root)?;
        Ok(Home { root, real_root, archived: None, hides_archive: false })
    }

    /// The same home without what only an archive has.
    pub fn without_archive(&self) -> Home {
        let hides_archive = self.archived.as_ref().is_some_and(|tree| tree.archive.is_dir());
        Home { archived: None, hides_archive: self.hides_archive || hides_archive, ..self.clone() }
    }

    /// The archive whose sessions are seen, if there is one.
    pub fn archive(&self) -> Option<&Path> {
        let archive = self.archived.as_deref().map(|tree| tree.archive.as_path());
        archive.filter(|archive| archive.is_dir())
    }

    /// The file with a name below the home, or its copy if only the archive has it.
    pub(crate) fn locate(&self, name: &str) -> PathBuf {
        let path = self.root.join(name);
        let Some(tree) = &self.archived else { return path };
        let copy = tree.root().join(name);
        match !path.exists() && copy.exists() {
            true => copy,
            false => path,
        }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory itself, without links.
    pub(crate) fn real_root(&self) -> &Path {
        &self.real_root
    }

    /// Whether a record means this home.
    pub fn is_at(&self, recorded: &Path) -> bool {
        self.real_root == recorded
    }

    /// Whether another home is the same directory.
    pub fn is_same(&self, other: &Home) -> bool {
        self.real_root == other.real_root
    }

    /// The directory of all projects.
    pub fn projects(&self) -> PathBuf {
        self.root.join("projects")
    }

    /// The directory of one project.
    pub fn project(&self, key: &ProjectKey) -> PathBuf {
        self.projects().join(key.as_str())
    }

    /// The prompts typed in all projects.
    pub fn history(&self) -> PathBuf {
        self.root.join("history.jsonl")
    }

    /// The directory with a file for each running client.
    pub fn live_sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// The lists of things to do of old clients.
    pub fn todos(&self) -> PathBuf {
        self.root.join("todos")
    }

    /// The tasks of newer clients, a directory a session.
    pub fn tasks(&self) -> PathBuf {
        self.root.join("tasks")
    }

    /// The plans, as Markdown.
    pub fn plans(&self) -> PathBuf {
        self.root.join("plans")
    }

    /// Files as they were before an edit, a directory a session.
    pub fn file_history(&self) -> PathBuf {
        self.root.join("file-history")
    }

    /// The prompts, if there are any.
    pub fn known_history(&self) -> Option<PathBuf> {
        Some(self.history()).filter(|path| path.is_file())
    }

    /// Files that recto could neither keep in their place nor delete, because nobody has
    /// read them, if there are any.
    pub fn known_trash(&self) -> Option<PathBuf> {
        Some(self.root.join(TRASH)).filter(|path| path.is_dir())
    }

    /// The user's settings.
    pub fn settings(&self) -> PathBuf {
        self.root.join("settings.json")
    }

    /// Whether a path, with its symbolic links followed, is inside the home.
    pub fn contains(&self, path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|real| real.starts_with(&self.real_root))
    }

    /// Whether a path, with its symbolic links followed, is among the copies of what only the
    /// archive has.
    pub(crate) fn has_copies_in(&self, path: &Path) -> bool {
        let root = self.archived.as_ref().and_then(|tree| fs::canonicalize(tree.root()).ok());
        root.zip(fs::canonicalize(path).ok()).is_some_and(|(root, real)| real.starts_with(root))
    }

    /// The path below the home, where it is inside.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        let inside = below(&self.real_root, path).or_else(|| below(&self.root, path));
        inside.unwrap_or(path)
    }
}

/// The path below a directory. Texts are compared first: a home has thousands of files, and
/// comparing the parts of their paths takes longer than asking the system for them.
pub(crate) fn below<'a>(directory: &Path, path: &'a Path) -> Option<&'a Path> {
    let (Some(above), Some(text)) = (directory.to_str(), path.to_str()) else {
        return path.strip_prefix(directory).ok();
    };
    let rest = text.strip_prefix(above).and_then(|rest| rest.strip_prefix(MAIN_SEPARATOR));
    match rest.filter(|rest| !rest.starts_with(MAIN_SEPARATOR)) {
        Some(rest) => Some(Path::new(rest)),
        None => path.strip_prefix(directory).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_what_its_parts_say() {
        for directory in ["/h", "/h/", "/h/./c", "/", "h"] {
            for path in ["/h", "/h/", "/h/a", "/h//a", "/hh/a", "/h/c/a", "h/a", "/", "h"] {
                let (directory, path) = (Path::new(directory), Path::new(path));
                let expected = path.strip_prefix(directory).ok();
                assert_eq!(below(directory, path), expected, "{directory:?} {path:?}");
            }
        }
    }

    #[test]
    fn the_first_place_that_is_named_counts() {
        let path = |text: &str| Some(PathBuf::from(text));
        let mut source = HomeSource {
            explicit: path("/explicit"),
            config_dir: path("/config"),
            user_home: path("/user"),
            in_test: false,
        };
        assert_eq!(source.path().unwrap(), Path::new("/explicit"));
        source.explicit = None;
        assert_eq!(source.path().unwrap(), Path::new("/config"));
        source.config_dir = path("");
        assert_eq!(source.path().unwrap(), Path::new("/user/.claude"));
        source.in_test = true;
        assert!(matches!(source.path(), Err(StoreError::Place(PlaceError::HomeInTest))));
        source = HomeSource::default();
        assert!(matches!(source.path(), Err(StoreError::Place(PlaceError::HomeUnknown))));
    }

    #[test]
    fn a_missing_home_and_a_file_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        assert!(matches!(Home::open(&missing), Err(StoreError::Place(PlaceError::NoHome { .. }))));
        fs::write(&missing, "x").unwrap();
        assert!(matches!(
            Home::open(&missing),
            Err(StoreError::Place(PlaceError::HomeIsNoDirectory { .. }))
        ));
    }
}
