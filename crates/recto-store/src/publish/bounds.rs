//! Where files may be changed: in the home. Links do not lead out.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use super::PublishError;
use crate::Home;
use crate::StoreError;
use crate::place::folder::Folder;

/// The directory in which an operation may change files, without links: the home
/// that the user opened, whatever a record says.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    root: PathBuf,
}

impl Bounds {
    pub(crate) fn of(home: &Home) -> Bounds {
        Bounds { root: home.real_root().to_owned() }
    }

    /// The home.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The path without links in the directories above it, if it is inside.
    pub(crate) fn locate(&self, path: &Path) -> Result<PathBuf, StoreError> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(outside(path));
        };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        let real = fs::canonicalize(above)?;
        if real.starts_with(&self.root) { Ok(real.join(name)) } else { Err(outside(path)) }
    }

    /// The same for a file that is there: a link is followed, so that the file
    /// is replaced and not the link.
    pub(crate) fn locate_existing(&self, path: &Path) -> Result<PathBuf, StoreError> {
        self.locate(&fs::canonicalize(path)?)
    }

    /// The directory of a path, held open, and the name in it. No link is followed on
    /// the way, so the path means what it says.
    pub(crate) fn open<'a>(&self, path: &'a Path) -> Result<(Folder, &'a OsStr), StoreError> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(outside(path));
        };
        match Folder::beneath(&self.root, above) {
            Ok(folder) => Ok((folder, name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error.into()),
            // A link, or anything else that is not a directory.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(outside(path)),
            Err(error) => Err(error.into()),
        }
    }

    /// The same, unless the directory is gone.
    pub(crate) fn open_if_there<'a>(
        &self,
        path: &'a Path,
    ) -> Result<Option<(Folder, &'a OsStr)>, StoreError> {
        match self.open(path) {
            Ok(found) => Ok(Some(found)),
            Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a path of a record is inside and means what it says: no link has
    /// come into it since. A path whose directory is gone leads nowhere.
    pub(crate) fn check_recorded(&self, path: &Path) -> Result<(), StoreError> {
        if path == self.root || !self.is_inside(path) {
            return Err(outside(path));
        }
        // The nearest directory that is there must be where the path says.
        for above in path.ancestors().skip(1) {
            match Folder::beneath(&self.root, above) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return Err(outside(path)),
            }
        }
        Err(outside(path))
    }

    fn is_inside(&self, path: &Path) -> bool {
        let is_plain =
            path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
        is_plain && path.starts_with(&self.root)
    }
}

fn outside(path: &Path) -> StoreError {
    PublishError::Outside { path: path.to_owned() }.into()
}
