//! Where recto keeps data of its own: records of operations, backups, folders
//! for working files.

use std::path::Path;
use std::path::PathBuf;

use crate::StoreError;
use crate::place::error::PlaceError;
use crate::place::platform::make_private_directory;

/// Where the data directory may be, as the environment says it. A relative path
/// does not count, as the rules for `XDG_DATA_HOME` say.
#[derive(Debug, Clone, Default)]
pub struct DataSource {
    /// `RECTO_DATA_DIR`.
    pub explicit: Option<PathBuf>,
    /// `XDG_DATA_HOME`: the data of all programs.
    pub data_home: Option<PathBuf>,
    /// The user's home directory.
    pub user_home: Option<PathBuf>,
    /// Whether a test is running, which must never reach real data.
    pub in_test: bool,
}

impl DataSource {
    /// The first place that was named.
    pub fn directory(&self) -> Result<DataDirectory, StoreError> {
        let named = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
        if let Some(root) = named(&self.explicit) {
            return Ok(DataDirectory { root });
        }
        if let Some(all) = named(&self.data_home) {
            return Ok(DataDirectory { root: all.join("recto") });
        }
        if self.in_test {
            return Err(PlaceError::DataInTest.into());
        }
        let user = named(&self.user_home).ok_or(PlaceError::DataUnknown)?;
        Ok(DataDirectory { root: user.join(".local/share/recto") })
    }
}

/// The directory of recto's own data. It need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDirectory {
    root: PathBuf,
}

impl DataDirectory {
    /// A directory that is named.
    pub fn new(root: impl Into<PathBuf>) -> DataDirectory {
        DataDirectory { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A directory in it, made if it is not there. Only its user may look into
    /// it and into those above it that are recto's.
    pub fn make(&self, parts: &[&str]) -> Result<PathBuf, StoreError> {
        // What is above is none of ours to restrict.
        if let Some(above) = self.root.parent() {
            fs_err::create_dir_all(above)?;
        }
        let mut folder = self.root.clone();
        make_private(&folder)?;
        for part in parts {
            folder.push(part);
            make_private(&folder)?;
        }
        Ok(folder)
    }
}

fn make_private(folder: &Path) -> Result<(), StoreError> {
    make_private_directory(folder).map_err(|error| {
        std::io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
    })?;
    if folder.is_dir() {
        Ok(())
    } else {
        Err(PlaceError::NotADirectory { path: folder.to_owned() }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_absolute_place_that_is_named_counts() {
        let path = |text: &str| Some(PathBuf::from(text));
        let mut source = DataSource {
            explicit: path("/explicit"),
            data_home: path("/data"),
            user_home: path("/user"),
            in_test: true,
        };
        let root = |source: &DataSource| source.directory().map(|data| data.root().to_owned());
        assert_eq!(root(&source).unwrap(), Path::new("/explicit"));
        source.explicit = path("relative");
        assert_eq!(root(&source).unwrap(), Path::new("/data/recto"));
        source.data_home = None;
        assert!(matches!(root(&source), Err(StoreError::Place(PlaceError::DataInTest))));
        source.in_test = false;
        assert_eq!(root(&source).unwrap(), Path::new("/user/.local/share/recto"));
        source.user_home = path("user");
        assert!(matches!(root(&source), Err(StoreError::Place(PlaceError::DataUnknown))));
    }
}
