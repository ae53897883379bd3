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
use super::bounds::Bounds;
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
}

/// All operations, and the right to make one: no other process has it while
/// this lives.
#[derive(Debug)]
pub struct Journal {
    pub(crate) records: Records,
    pub(crate) backups: Backups,
    /// The home that was opened. No record leads to another place.
    pub(crate) bounds: Bounds,
    recovered: Vec<Recovered>,
    /// The lock is held as long as the file is open.
    _lock: File,
}

impl Journal {
    /// Waits for its turn, and finishes or takes back what was interrupted in the home.
    /// Operations in other homes wait until those are opened.
    pub fn open(data: &DataDirectory, home: &Home) -> Result<Journal, StoreError> {
        let records = Records { directory: data.make(&["operations"])? };
        let backups = Backups::open(data)?;
        let lock = lock(&data.root().join("lock"), LONGEST_WAIT)?;
        remove_temporary_files(&records.directory)?;
        backups.clean()?;
        let bounds = Bounds::of(home);
        let mut journal = Journal { records, backups, bounds, recovered: Vec::new(), _lock: lock };
        journal.recovered = journal.recover()?;
        Ok(journal)
    }

    /// What had been interrupted before.
    pub fn recovered(&self) -> &[Recovered] {
        &self.recovered
    }

    /// All operations whose records can be read, oldest first.
    pub fn operations(&self) -> Result<Vec<Operation>, StoreError> {
        Ok(self.records.all()?.operations)
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
        if intent.home.real_root() != self.bounds.root() {
            return Err(PublishError::Outside { path: intent.home.root().to_owned() }.into());
        }
        let operation = Operation {
            id: self.records.next_id()?,
            sequence: self.records.next_sequence()?,
            time: intent.time,
            name: intent.name.to_owned(),
            arguments: intent.arguments,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            home: intent.home.real_root().to_owned(),
            source: intent.source,
            result: intent.result,
            title: None,
            status: Status::Done,
            changes: Vec::new(),
            pending: None,
        };
        Ok(Transaction::new(self, operation, None))
    }
}

/// Operations, and the records that could not be read.
#[derive(Debug, Clone, Default)]
pub struct OperationList {
    /// The operations.
    pub operations: Vec<Operation>,
    /// The records that are damaged or may not be read, with the reason. They are
    /// skipped; nobody can tell which home they belong to.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// All operations, oldest first, for who only wants to look: nothing is made,
/// nothing is waited for.
pub fn list_operations(data: &DataDirectory) -> Result<OperationList, StoreError> {
    Records { directory: data.root().join("operations") }.all()
}

/// The operations of one home, newest first, for who only wants to look.
pub fn newest_operations(data: &DataDirectory, home: &Home) -> Result<OperationList, StoreError> {
    let mut list = list_operations(data)?;
    list.operations.retain(|operation| home.is_at(&operation.home));
    list.operations.reverse();
    Ok(list)
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

    /// All records. One that cannot be read stops none of the others.
    pub(crate) fn all(&self) -> Result<OperationList, StoreError> {
        let mut list = OperationList::default();
        for id in self.numbers(".json")? {
            let path = self.path(id);
            match read_record(&path) {
                Ok(operation) if operation.id == id => list.operations.push(operation),
                // It has the name of another one: undoing it would change that one.
                Ok(_) => list.unreadable.push((path.clone(), bad_record(&path).to_string())),
                // Another process has just forgotten it.
                Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => list.unreadable.push((path, error.to_string())),
            }
        }
        Ok(list)
    }

    fn next_id(&self) -> Result<OperationId, StoreError> {
        let mut last = self.last_pruned();
        for ending in [".json", ".staged"] {
            last = last.max(self.numbers(ending)?.last().map_or(0, |id| id.number()));
        }
        Ok(OperationId(last + 1))
    }

    pub(crate) fn next_sequence(&self) -> Result<u64, StoreError> {
        let all = self.all()?.operations;
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
    Ok(record::read(&read_small(path)?).ok_or_else(|| bad_record(path))?)
}

fn bad_record(path: &Path) -> PublishError {
    PublishError::BadRecord { path: path.to_owned() }
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
