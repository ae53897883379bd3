//! Lines at the end of a log, each whole.
//!
//! A line and its end are one `write` to a file opened for appending, so that
//! lines of clients and of recto can meet in one file. Writers of this kind also
//! lock the file for the time of a line: should the system take a long line in
//! pieces, no other writer gets between them. Clients lock nothing.
//!
//! A log that ends without a line end was torn by a crash. The next line then
//! starts with one, as clients do it, and the torn piece stays where it is. This
//! is also how a line that failed half way (a full disk) is left: taking bytes
//! away again could take those of another writer.

use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use crate::Home;
use crate::append::AppendError;
use crate::append::place::prepared;
use crate::place::platform;
use crate::place::secret_name::can_be_secret;

/// How long another writer may hold the lock. It needs it for one line.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// When lines are on the disk for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncPolicy {
    /// When the system likes, or [`LogWriter::sync`] is called. Clients do this: a
    /// crash of the program loses nothing, a loss of power the last seconds.
    #[default]
    Never,
    /// Before the next line is written.
    EachLine,
}

/// Appends lines to one log.
#[derive(Debug)]
pub struct LogWriter {
    home: Home,
    path: PathBuf,
    sync: SyncPolicy,
    open: Option<OpenLog>,
    /// The line that is being written, kept to be filled again.
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct OpenLog {
    file: File,
    /// The path without links.
    path: PathBuf,
    number: (u64, u64),
}

impl LogWriter {
    /// A writer for the log at `path`, which is inside the home. The log and its
    /// directories are made with the first line, for their user alone.
    pub fn new(home: &Home, path: impl Into<PathBuf>, sync: SyncPolicy) -> LogWriter {
        let (home, path) = (home.clone(), path.into());
        LogWriter { home, path, sync, open: None, buffer: Vec::new() }
    }

    /// The log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line, which has no line end of its own.
    ///
    /// The log is found by its name each time: if it was replaced, the line goes
    /// into the new one; if it was removed, it is made again.
    pub fn append(&mut self, line: &[u8]) -> Result<(), AppendError> {
        if memchr::memchr(b'\n', line).is_some() {
            return Err(AppendError::LineEnd);
        }
        let failed = AppendError::of(&self.path);
        let log = locked(&self.home, &self.path, self.open.take())?;
        self.buffer.clear();
        if is_torn(&log.file).map_err(&failed)? {
            self.buffer.push(b'\n');
        }
        self.buffer.extend_from_slice(line);
        self.buffer.push(b'\n');
        // One call of the system, unless it takes less than it was given.
        let written = (&log.file).write_all(&self.buffer);
        let written = written.and_then(|()| match self.sync {
            SyncPolicy::Never => Ok(()),
            SyncPolicy::EachLine => log.file.sync_data(),
        });
        // The lock ends with the file at the latest.
        let _ = log.file.unlock();
        self.open = Some(log);
        written.map_err(&failed)
    }

    /// Waits until all lines are on the disk.
    pub fn sync(&self) -> Result<(), AppendError> {
        match &self.open {
            Some(log) => log.file.sync_all().map_err(AppendError::of(&self.path)),
            None => Ok(()),
        }
    }
}

/// The log that has the name now, locked.
fn locked(home: &Home, path: &Path, known: Option<OpenLog>) -> Result<OpenLog, AppendError> {
    let start = Instant::now();
    let mut known = known;
    loop {
        let log = match known.take().filter(OpenLog::has_its_name) {
            Some(log) => log,
            None => OpenLog::open(home, path)?,
        };
        match log.file.try_lock() {
            // It may have been replaced before it was locked.
            Ok(()) if log.has_its_name() => return Ok(log),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if start.elapsed() < LONGEST_WAIT => {
                std::thread::sleep(Duration::from_millis(1));
                known = Some(log);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(AppendError::Locked { path: path.to_owned() });
            }
            // Some network file systems have no locks. One call is still one line.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(log);
            }
            Err(TryLockError::Error(error)) => return Err(AppendError::of(path)(error)),
        }
    }
}

impl OpenLog {
    fn open(home: &Home, path: &Path) -> Result<OpenLog, AppendError> {
        if can_be_secret(path) {
            return Err(AppendError::Secret { path: path.to_owned() });
        }
        let real = prepared(home, path)?;
        let file = platform::append_to_log(&real).map_err(AppendError::of(path))?;
        let metadata = file.metadata().map_err(AppendError::of(path))?;
        if !metadata.is_file() {
            return Err(AppendError::NotAFile { path: path.to_owned() });
        }
        Ok(OpenLog { file, path: real, number: platform::file_number(&metadata) })
    }

    /// Whether the path still leads to this file.
    fn has_its_name(&self) -> bool {
        std::fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| platform::file_number(&metadata) == self.number)
    }
}

/// Whether the log ends without a line end.
fn is_torn(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if let Some(at) = length.checked_sub(1) {
        platform::read_fully(file, &mut last, at)?;
    }
    Ok(last != *b"\n")
}
