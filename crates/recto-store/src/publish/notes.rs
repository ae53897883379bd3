//! Notes of what was staged, made before each file is: what a crash leaves
//! behind can be found and removed.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use recto_log::json::ObjectWriter;
use recto_log::json::Value;

use super::Operation;
use super::apply;
use super::backup::remove_if_there;
use super::bounds::Bounds;
use super::record::text;
use crate::StoreError;
use crate::place::platform;
use crate::read_small;

/// The notes of an operation that is under way.
#[derive(Debug)]
pub(crate) struct Notes {
    path: PathBuf,
    file: Option<File>,
    header: Vec<u8>,
    /// What they say.
    pub(crate) staged: StagedFiles,
}

/// What was staged, or was about to be.
#[derive(Debug, Default)]
pub(crate) struct StagedFiles {
    /// The command.
    pub(crate) name: String,
    /// The sequence of the record that was to be written.
    pub(crate) sequence: u64,
    /// The home. Older notes do not tell.
    home: Option<PathBuf>,
    pub(crate) temporaries: Vec<PathBuf>,
    /// Directories that were made.
    pub(crate) directories: Vec<PathBuf>,
}

impl Notes {
    /// No file is written before there is something to note.
    pub(crate) fn new(path: PathBuf, operation: &Operation) -> Notes {
        let header = ObjectWriter::new()
            .string("name", &operation.name)
            .number("sequence", operation.sequence)
            .string("home", &operation.home.to_string_lossy())
            .finish();
        let staged = StagedFiles {
            name: operation.name.clone(),
            sequence: operation.sequence,
            home: Some(operation.home.clone()),
            ..StagedFiles::default()
        };
        Notes { path, file: None, header, staged }
    }

    /// The notes of an operation that was interrupted, to go on with them.
    pub(crate) fn resume(path: PathBuf, operation: &Operation) -> Result<Notes, StoreError> {
        let mut notes = Notes::new(path, operation);
        if notes.path.is_file() {
            notes.staged = StagedFiles::read(&notes.path)?;
        }
        Ok(notes)
    }

    pub(crate) fn temporary(&mut self, path: &Path) -> Result<(), StoreError> {
        self.add(ObjectWriter::new().string("temporary", text(path)?))?;
        self.staged.temporaries.push(path.to_owned());
        Ok(())
    }

    pub(crate) fn directory(&mut self, path: &Path) -> Result<(), StoreError> {
        self.add(ObjectWriter::new().string("directory", text(path)?))?;
        self.staged.directories.push(path.to_owned());
        Ok(())
    }

    fn add(&mut self, line: ObjectWriter) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        if self.file.is_none() {
            bytes.extend_from_slice(&self.header);
            bytes.push(b'\n');
        }
        bytes.extend(line.finish());
        bytes.push(b'\n');
        let mut file = match self.file.take() {
            Some(file) => file,
            None => platform::append_private_file(&self.path)?,
        };
        file.write_all(&bytes)?;
        file.sync_all()?;
        self.file = Some(file);
        Ok(())
    }

    /// Removes the notes of an operation that is done: all that was staged has its name.
    pub(crate) fn finish(&self) -> Result<(), StoreError> {
        Ok(remove_if_there(&self.path)?)
    }

    /// Removes everything that was staged, and the notes. Nothing of it ever had a name
    /// that others know.
    pub(crate) fn abandon(&self, bounds: &Bounds) -> Result<(), StoreError> {
        self.staged.remove_all(bounds)?;
        Ok(remove_if_there(&self.path)?)
    }
}

impl StagedFiles {
    /// Reads notes. A torn line is about a file that was not made yet.
    pub(crate) fn read(path: &Path) -> Result<StagedFiles, StoreError> {
        let mut staged = StagedFiles::default();
        for line in read_small(path)?.split(|byte| *byte == b'\n') {
            let Ok(value) = Value::parse(line) else { continue };
            if let Some(name) = value.str("name") {
                staged.name = name.into_owned();
                staged.sequence = value.get("sequence").and_then(Value::as_u64).unwrap_or(0);
                staged.home = value.str("home").map(|home| PathBuf::from(&*home));
            }
            if let Some(path) = value.str("temporary") {
                staged.temporaries.push(PathBuf::from(&*path));
            }
            if let Some(path) = value.str("directory") {
                staged.directories.push(PathBuf::from(&*path));
            }
        }
        Ok(staged)
    }

    /// Whether they are notes of an operation in a home. Older notes are those of the home
    /// in which all of their files are.
    pub(crate) fn is_of(&self, home: &Path) -> bool {
        let mut paths = self.temporaries.iter().chain(&self.directories);
        match &self.home {
            Some(noted) => noted == home,
            None => paths.all(|path| path.starts_with(home)),
        }
    }

    /// Removes staged files, and directories that are empty. Notes are data: nothing else
    /// is removed, and nothing outside of the home, whatever they say.
    pub(crate) fn remove_all(&self, bounds: &Bounds) -> Result<(), StoreError> {
        for path in self.temporaries.iter().filter(|path| is_temporary(path)) {
            match bounds.open(path) {
                Ok((folder, name)) => folder.remove(name)?,
                Err(StoreError::Publish(_)) => {}
                Err(StoreError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        for path in self.directories.iter().rev() {
            // One that holds something by now stays.
            let _ = apply::remove_directory(bounds, path);
        }
        Ok(())
    }
}

/// The name of a staged file. It must not look like a log.
pub(crate) fn temporary_name(operation: &Operation, number: usize) -> String {
    format!(".recto-{}-{number}-{}.tmp", operation.id, std::process::id())
}

/// Whether a name is one of those.
pub(crate) fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(".recto-") && name.ends_with(".tmp")
}
