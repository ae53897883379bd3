//! Documents where the user wants them.

use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::CommandError;

/// Opens a file to add lines at its end; it is made if it does not exist. Others do not read
/// it: it can contain whole conversations.
pub(crate) fn append(path: &Path) -> Result<File, CommandError> {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        CommandError::user("cannot-write", message)
    })
}

/// What happens to a file that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It stays, and the user gets an error with this hint.
    Keep {
        hint: &'static str,
    },
    Replace,
}

impl Existing {
    /// What `--force` decides.
    pub(crate) fn forced(force: bool) -> Existing {
        if force { Existing::Replace } else { Existing::Keep { hint: "--force replaces it" } }
    }
}

/// A document that is being written beside its place. It moves there at the end, so that
/// half a document never appears under its name.
#[derive(Debug)]
pub(crate) struct DocumentFile<'a> {
    path: &'a Path,
    existing: Existing,
    file: NamedTempFile,
}

impl<'a> DocumentFile<'a> {
    pub(crate) fn begin(
        path: &'a Path,
        existing: Existing,
    ) -> Result<DocumentFile<'a>, CommandError> {
        if path.is_dir() {
            let message = format!("{} is a directory", path.display());
            return Err(CommandError::user("is-a-directory", message));
        }
        if let Existing::Keep { hint } = existing
            && path.exists()
        {
            return Err(already_there(path, hint));
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        // The name of the temporary file means nothing to the user.
        let file = NamedTempFile::new_in(directory.unwrap_or(Path::new("."))).map_err(|error| {
            let missing = directory.filter(|directory| !directory.exists());
            let (why, hint) = match missing {
                Some(directory) => (
                    "its directory does not exist".to_owned(),
                    Some(format!("create {} first", directory.display())),
                ),
                None => (error.kind().to_string(), None),
            };
            let message = format!("cannot write {}: {why}", path.display());
            let failure = CommandError::user("cannot-write", message);
            hint.into_iter().fold(failure, CommandError::with_hint)
        })?;
        Ok(DocumentFile { path, existing, file })
    }

    /// Writes a whole document.
    pub(crate) fn write(
        path: &'a Path,
        existing: Existing,
        text: &str,
    ) -> Result<(), CommandError> {
        let mut document = DocumentFile::begin(path, existing)?;
        document.write_all(text.as_bytes())?;
        document.finish()
    }

    /// The file itself, as long as it has no name.
    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives the document its name once it is on the disk, and says how large it is.
    pub(crate) fn finish_durably(self) -> Result<u64, CommandError> {
        self.file().sync_all()?;
        let bytes = self.file().metadata()?.len();
        self.finish()?;
        Ok(bytes)
    }

    /// Gives the document its name.
    pub(crate) fn finish(self) -> Result<(), CommandError> {
        let named = match self.existing {
            Existing::Keep { .. } => self.file.persist_noclobber(self.path),
            Existing::Replace => self.file.persist(self.path),
        };
        match (named.map_err(|error| error.error), self.existing) {
            (Ok(_), _) => Ok(()),
            (Err(error), Existing::Keep { hint })
                if error.kind() == io::ErrorKind::AlreadyExists =>
            {
                Err(already_there(self.path, hint))
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

impl Write for DocumentFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn already_there(path: &Path, hint: &'static str) -> CommandError {
    CommandError::user("exists", format!("{} exists", path.display())).with_hint(hint)
}
