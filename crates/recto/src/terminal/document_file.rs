//! Documents where the user wants them.

use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::CommandError;

/// What becomes of a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Keep,
    Replace,
}

/// A file beside the place of a document, to be moved there at the end, so that a
/// half-written document is never found under its name.
pub(crate) fn begin(path: &Path, existing: Existing) -> Result<NamedTempFile, CommandError> {
    if path.is_dir() {
        let message = format!("{} is a directory", path.display());
        return Err(CommandError::user("is-a-directory", message));
    }
    if path.exists() && existing == Existing::Keep {
        let message = format!("{} exists", path.display());
        return Err(CommandError::user("exists", message).with_hint("--force replaces it"));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok(NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))?)
}

/// Writes a whole document.
pub(crate) fn write(path: &Path, existing: Existing, text: &str) -> Result<(), CommandError> {
    let mut file = begin(path, existing)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| CommandError::from(error.error))?;
    Ok(())
}
