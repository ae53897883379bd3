//! Where a new file of the home goes, links resolved.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use crate::Home;
use crate::append::AppendError;
use crate::place::platform;

/// The path of a file without links, and its directories, which are made where
/// there are none. Refuses what is not inside the home.
pub(super) fn prepared(home: &Home, path: &Path) -> Result<PathBuf, AppendError> {
    let outside = || AppendError::Outside { path: path.to_owned() };
    let below = path.strip_prefix(home.root()).map_err(|_| outside())?;
    let name = below.file_name().ok_or_else(outside)?;
    let mut directory = home.root().to_owned();
    for part in below.parent().into_iter().flat_map(Path::iter) {
        directory.push(part);
        platform::make_private_directory(&directory).map_err(AppendError::of(&directory))?;
        // Before anything is made in it: a link may lead anywhere.
        if !home.contains(&directory) {
            return Err(outside());
        }
    }
    let file = fs::canonicalize(&directory).map_err(AppendError::of(&directory))?.join(name);
    match fs::symlink_metadata(&file) {
        Ok(metadata) if metadata.is_symlink() => match fs::canonicalize(&file) {
            Ok(real) if real.starts_with(home.real_root()) => Ok(real),
            Ok(_) | Err(_) => Err(outside()),
        },
        Ok(_) => Ok(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(file),
        Err(error) => Err(AppendError::of(path)(error)),
    }
}
