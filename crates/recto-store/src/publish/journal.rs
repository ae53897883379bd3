//! The journal: all operations, and the right to make one.

use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use fs_err as fs;
use jiff::Timestamp;
use recto_log::SessionId;

use super::Operation;
use super::OperationId;
use super::PublishError;
use super::Recovered;
use super::Status;
use super::Transaction;
use super::backup::Backups;
use super::backup::remove_if_there;
use super::backup::remove_temporary_files;
use super::record;
use crate::DataDirectory;
use crate::Home;
use crate::StoreError;
use crate::place::locking::lock_file;
use crate::place::platform;
use crate::read_small;

/// How long to wait for another process. Operations take less than a second,
/// but for the largest logs.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What a command is about to do.
#[derive(Debug, Clone)]
pub struct Intent<'a> {
    /// The home to work in.
    pub home: &'a Home,
    /// The command, such as `rename`.
    pub name: &'a str,
    /// What the command was given.
    pub arguments: Vec<String>,
    /// The time.
    pub time: Timestamp,
    /// The session it starts from.
    pub source: Option<SessionId>,
    /// The session it makes or changes.
    pub result: Option<SessionId>,
    /// Directories outside the home that the user named to be written to.
    pub directories: Vec<PathBuf>,
}

/// All operations, and the right to make one: no other process has it while
/// this lives.
#[derive(Debug)]
pub struct Journal {
    pub(crate) records: Records,
    pub(crate) backups: Backups,
    recovered: Vec<Recovered>,
    /// The lock is held as long as the file is open.
    _lock: File,
}

impl Journal {
    /// Waits for its turn, and finishes or takes back what was interrupted.
    pub fn open(data: &DataDirectory) -> Result<Journal, StoreError> {
        let records = Records { directory: data.make(&["operations"])? };
        let backups = Backups::open(data)?;
        let lock = lock(&data.root().join("lock"), LONGEST_WAIT)?;
        remove_temporary_files(&records.directory)?;
        backups.clean()?;
        let mut journal = Journal { records, backups, recovered: Vec::new(), _lock: lock };
        journal.recovered = journal.recover()?;
        Ok(journal)
    }

    /// What had been interrupted before.
    pub fn recovered(&self) -> &[Recovered] {
        &self.recovered
    }

    /// All operations, oldest first.
    pub fn operations(&self) -> Result<Vec<Operation>, StoreError> {
        self.records.all()
    }

    /// One operation.
    pub fn operation(&self, id: OperationId) -> Result<Operation, StoreError> {
        let path = self.records.path(id);
        if !path.is_file() {
            return Err(PublishError::NoOperation { id }.into());
        }
        read_record(&path)
    }

    /// Starts an operation. Nothing is changed before it is committed.
    pub fn begin(&mut self, intent: Intent<'_>) -> Result<Transaction<'_>, StoreError> {
        let mut directories = Vec::new();
        for directory in &intent.directories {
            directories.push(fs::canonicalize(directory)?);
        }
        let operation = Operation {
            id: self.records.next_id()?,
            sequence: self.records.next_sequence()?,
            time: intent.time,
            name: intent.name.to_owned(),
            arguments: intent.arguments,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            home: intent.home.real_root().to_owned(),
            directories,
            source: intent.source,
            result: intent.result,
            status: Status::Done,
            changes: Vec::new(),
            pending: None,
        };
        Ok(Transaction::new(self, operation, None))
    }
}

/// All operations, oldest first, for who only wants to look: nothing is made,
/// nothing is waited for.
pub fn list_operations(data: &DataDirectory) -> Result<Vec<Operation>, StoreError> {
    Records { directory: data.root().join("operations") }.all()
}

/// The operations of one home, newest first, for who only wants to look.
pub fn newest_operations(data: &DataDirectory, home: &Home) -> Result<Vec<Operation>, StoreError> {
    let mut operations = list_operations(data)?;
    operations.retain(|operation| home.is_at(&operation.home));
    operations.reverse();
    Ok(operations)
}

fn lock(path: &Path, longest: Duration) -> Result<File, StoreError> {
    lock_file(path, longest)?.ok_or_else(|| PublishError::Busy.into())
}

/// The directory with a file for each operation.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    pub(crate) directory: PathBuf,
}

impl Records {
    pub(crate) fn path(&self, id: OperationId) -> PathBuf {
        self.directory.join(format!("{:06}.json", id.number()))
    }

    /// Where the staged files of an operation are noted.
    pub(crate) fn notes_path(&self, id: OperationId) -> PathBuf {
        self.directory.join(format!("{:06}.staged", id.number()))
    }

    /// The numbers of all files with an ending, sorted.
    pub(crate) fn numbers(&self, ending: &str) -> Result<Vec<OperationId>, StoreError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            if let Some(id) = name.strip_suffix(ending).and_then(|number| number.parse().ok()) {
                numbers.push(id);
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(crate) fn all(&self) -> Result<Vec<Operation>, StoreError> {
        let mut operations = Vec::new();
        for id in self.numbers(".json")? {
            operations.push(read_record(&self.path(id))?);
        }
        Ok(operations)
    }

    fn next_id(&self) -> Result<OperationId, StoreError> {
        let mut last = self.last_pruned();
        for ending in [".json", ".staged"] {
            last = last.max(self.numbers(ending)?.last().map_or(0, |id| id.number()));
        }
        Ok(OperationId(last + 1))
    }

    pub(crate) fn next_sequence(&self) -> Result<u64, StoreError> {
        let all = self.all()?;
        Ok(all.iter().map(|operation| operation.sequence).max().unwrap_or(0) + 1)
    }

    /// The last number that was forgotten, so that it is not used again.
    fn last_pruned(&self) -> u64 {
        let text = read_small(&self.directory.join("pruned")).unwrap_or_default();
        String::from_utf8_lossy(&text).trim().parse().unwrap_or(0)
    }

    pub(crate) fn note_pruned(&self, id: OperationId) -> Result<(), StoreError> {
        let last = self.last_pruned().max(id.number());
        self.write_file(&self.directory.join("pruned"), format!("{last}\n").as_bytes())
    }

    /// Makes a record durable, in one step.
    pub(crate) fn write(&self, operation: &Operation) -> Result<(), StoreError> {
        self.write_file(&self.path(operation.id), &record::write(operation)?)
    }

    /// Removes a record.
    pub(crate) fn remove(&self, id: OperationId) -> Result<(), StoreError> {
        remove_if_there(&self.path(id))?;
        Ok(platform::sync_directory(&self.directory)?)
    }

    fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.directory.join(format!(".{name}.tmp"));
        remove_if_there(&temporary)?;
        let mut file = platform::create_private_file(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        Ok(platform::sync_directory(&self.directory)?)
    }
}

fn read_record(path: &Path) -> Result<Operation, StoreError> {
    let bad = || PublishError::BadRecord { path: path.to_owned() };
    Ok(record::read(&read_small(path)?).ok_or_else(bad)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_given_to_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = lock(&path, Duration::ZERO).unwrap();
        assert_eq!(lock(&path, Duration::ZERO).unwrap_err().kind(), "busy");
        drop(first);
        lock(&path, Duration::ZERO).unwrap();
    }
}
