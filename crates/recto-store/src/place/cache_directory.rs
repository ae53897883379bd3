//! Where recto keeps what can be made again: the index.

use std::path::Path;
use std::path::PathBuf;

use crate::StoreError;
use crate::place::data_directory::DataDirectory;
use crate::place::error::PlaceError;

/// Where the cache directory may be, as the environment says it. A relative path
/// does not count, as the rules for `XDG_CACHE_HOME` say.
#[derive(Debug, Clone, Default)]
pub struct CacheSource {
    /// `RECTO_CACHE_DIR`.
    pub explicit: Option<PathBuf>,
    /// `XDG_CACHE_HOME`: the caches of all programs.
    pub cache_home: Option<PathBuf>,
    /// The user's home directory.
    pub user_home: Option<PathBuf>,
    /// Whether a test is running, which must never reach a real cache.
    pub in_test: bool,
}

impl CacheSource {
    /// The first place that was named.
    pub fn directory(&self) -> Result<CacheDirectory, StoreError> {
        let named = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
        if let Some(root) = named(&self.explicit) {
            return Ok(CacheDirectory::new(root));
        }
        if let Some(all) = named(&self.cache_home) {
            return Ok(CacheDirectory::new(all.join("recto")));
        }
        if self.in_test {
            return Err(PlaceError::CacheInTest.into());
        }
        let user = named(&self.user_home).ok_or(PlaceError::CacheUnknown)?;
        let all = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        Ok(CacheDirectory::new(user.join(all).join("recto")))
    }
}

/// The directory of what can be made again. It need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDirectory(DataDirectory);

impl CacheDirectory {
    /// A directory that is named.
    pub fn new(root: impl Into<PathBuf>) -> CacheDirectory {
        CacheDirectory(DataDirectory::new(root))
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        self.0.root()
    }

    /// The directory itself, made if it is not there, for its user only.
    pub(crate) fn make(&self) -> Result<PathBuf, StoreError> {
        self.0.make(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_absolute_place_that_is_named_counts() {
        let path = |text: &str| Some(PathBuf::from(text));
        let mut source = CacheSource {
            explicit: path("/explicit"),
            cache_home: path("/cache"),
            user_home: path("/user"),
            in_test: true,
        };
        let root = |source: &CacheSource| source.directory().map(|cache| cache.root().to_owned());
        assert_eq!(root(&source).unwrap(), Path::new("/explicit"));
        source.explicit = path("relative");
        assert_eq!(root(&source).unwrap(), Path::new("/cache/recto"));
        source.cache_home = None;
        assert!(matches!(root(&source), Err(StoreError::Place(PlaceError::CacheInTest))));
        source.in_test = false;
        assert!(root(&source).unwrap().starts_with("/user"));
        source.user_home = None;
        assert!(matches!(root(&source), Err(StoreError::Place(PlaceError::CacheUnknown))));
    }
}
