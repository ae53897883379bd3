//! The trash: files that lost their name and hold something that was never read.
//! recto never deletes anything from it.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use super::OperationId;
use super::bounds::Bounds;
use crate::StoreError;
use crate::place::folder::Folder;
use crate::place::home::TRASH;

/// Moves a file to the trash, and says where it is then. Whoever has it open still
/// writes to it.
pub(crate) fn discard(
    bounds: &Bounds,
    folder: &Folder,
    name: &OsStr,
    (id, original): (OperationId, &OsStr),
) -> Result<PathBuf, StoreError> {
    let root = Folder::beneath(bounds.root(), bounds.root())?;
    root.make_directory(OsStr::new(TRASH))?;
    let path = bounds.root().join(Path::new(TRASH));
    let trash = Folder::beneath(bounds.root(), &path)?;
    for number in 0..u32::MAX {
        let mut goal = OsString::from(format!("{id}-{number}-"));
        goal.push(original);
        match folder.rename_new(name, &trash, &goal) {
            Ok(()) => {
                trash.sync()?;
                folder.sync()?;
                return Ok(trash.join(&goal));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists).into())
}
