//! Where files may be changed: in the home, and in directories that the user
//! named. Links do not lead out.

use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use super::Operation;
use super::PublishError;
use crate::StoreError;

/// The directories in which an operation may change files, without links.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    roots: Vec<PathBuf>,
}

impl Bounds {
    /// Those that a record names.
    pub(crate) fn of(operation: &Operation) -> Bounds {
        let directories = operation.directories.iter();
        Bounds { roots: std::iter::once(&operation.home).chain(directories).cloned().collect() }
    }

    /// The path without links in the directories above it, if it is inside.
    pub(crate) fn locate(&self, path: &Path) -> Result<PathBuf, StoreError> {
        let outside = || PublishError::Outside { path: path.to_owned() };
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(outside().into());
        };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        let real = fs::canonicalize(above)?;
        if self.roots.iter().any(|root| real.starts_with(root)) {
            Ok(real.join(name))
        } else {
            Err(outside().into())
        }
    }

    /// The same for a file that is there: a link is followed, so that the file
    /// is replaced and not the link.
    pub(crate) fn locate_existing(&self, path: &Path) -> Result<PathBuf, StoreError> {
        self.locate(&fs::canonicalize(path)?)
    }

    /// Whether a path of a record is inside and means what it says: no link has
    /// come into it since. A path whose directory is gone leads nowhere.
    pub(crate) fn check_recorded(&self, path: &Path) -> Result<(), StoreError> {
        let outside = || PublishError::Outside { path: path.to_owned() };
        let is_plain =
            path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
        if !is_plain || !self.roots.iter().any(|root| path.starts_with(root)) {
            return Err(outside().into());
        }
        // The nearest directory that is there must be where the path says.
        let mut above = path.parent();
        while let Some(directory) = above {
            if let Ok(real) = fs::canonicalize(directory) {
                return if real == directory { Ok(()) } else { Err(outside().into()) };
            }
            above = directory.parent();
        }
        Err(outside().into())
    }
}
