//! Two sessions in one: their lines, and what belongs to both.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use recto_log::EntryUuid;
use recto_log::LineReader;
use recto_log::SessionId;
use recto_log::decode;
use recto_session::Session;
use recto_session::edit::Rewrite;
use sha2::Digest as _;
use sha2::Sha256;

use crate::Destination;
use crate::Edit;
use crate::Home;
use crate::Inventory;
use crate::OpenedLog;
use crate::SessionFile;
use crate::StoreError;
use crate::edit::copy::Prefer;
use crate::edit::copy::SessionCopy;
use crate::edit::error::EditError;
use crate::edit::opened_log::NextLog;
use crate::open_file;
use crate::publish::FileIdentity;
use crate::publish::HashingWriter;

impl OpenedLog {
    /// Reads two logs as one: the lines of the first, then those of the second
    /// that the first has not. A line of the chain is known by its uuid; any
    /// other one is the same if it is the same but for the session's id.
    pub fn join(first: &SessionFile, second: &SessionFile) -> Result<OpenedLog, StoreError> {
        let mut joined = OpenedLog::read(&first.path)?;
        let beside = lines_beside_the_chain(&first.path)?;
        let file = open_file(&second.path)?;
        let identity = FileIdentity::of_file(&file)?;
        // Beyond the first log, so that every place is in one of the two.
        let base = joined.identity.bytes + 1;
        let as_first = Rewrite::session(second.id, first.id);
        let own: HashSet<EntryUuid> = joined.session().nodes().map(|node| node.uuid()).collect();
        let mut lines = LineReader::new(open_file(&second.path)?);
        while let Some(mut line) = lines.next_line()? {
            line.offset += base;
            line.number = joined.manuscript.lines().len() as u64 + 1;
            let (entry, problems) = decode(line);
            let is_known = match entry.uuid().filter(|_| entry.kind().in_chain()) {
                Some(uuid) => own.contains(&uuid),
                None => beside.contains(&hash(&as_first.apply(entry.bytes().to_vec()))),
            };
            if !is_known {
                joined.problems += problems.len() as u64;
                joined.manuscript.push(&entry);
            }
        }
        joined.next = Some(NextLog { offset: base, file, identity });
        Ok(joined)
    }
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn lines_beside_the_chain(path: &Path) -> Result<HashSet<[u8; 32]>, StoreError> {
    let mut found = HashSet::new();
    let mut lines = LineReader::new(open_file(path)?);
    while let Some(line) = lines.next_line()? {
        let entry = decode(line).0;
        if !entry.kind().in_chain() {
            found.insert(hash(entry.bytes()));
        }
    }
    Ok(found)
}

impl<'a> Edit<'a> {
    /// Adds what belongs to another session whose lines are in the log.
    pub fn add_session(
        &mut self,
        home: &Home,
        inventory: &Inventory,
        other: &SessionFile,
        prefer: Prefer,
    ) -> Result<(), StoreError> {
        let Destination::New { session, project, .. } = &self.destination else {
            return Ok(());
        };
        let session: SessionId = *session;
        let added = SessionCopy::plan((home, home), inventory, other, session, project)?;
        self.rewrite = added.rewrite(self.rewrite.clone(), crate::Uuids::Keep)?;
        let rewrite = self.rewrite.clone();
        self.copy.join(added, |first, second| choose(home, &rewrite, first, second, prefer))
    }

    /// Demands that what clients send of a session they send of the result too.
    pub fn must_send(&mut self, session: &'a Session, but_for: HashSet<EntryUuid>) {
        self.also.push((session, but_for));
    }
}

/// Which of two files of one name is copied.
fn choose(
    home: &Home,
    rewrite: &Rewrite,
    first: &Path,
    second: &Path,
    prefer: Prefer,
) -> Result<Prefer, StoreError> {
    // Of lists of things to do and of tasks, the later state counts.
    let is_state = [home.todos(), home.tasks()].iter().any(|folder| second.starts_with(folder));
    if is_state {
        return Ok(Prefer::Second);
    }
    let content = |path: &Path| -> Result<(String, u64), StoreError> {
        let mut out = HashingWriter::new(io::sink());
        SessionCopy::write(path, rewrite, &mut out)?;
        let (_, hash, bytes) = out.finish();
        Ok((hash, bytes))
    };
    if content(first)? == content(second)? {
        return Ok(Prefer::First);
    }
    match prefer {
        Prefer::Neither => {
            let (first, second): (PathBuf, PathBuf) = (first.to_owned(), second.to_owned());
            Err(EditError::PartsDiffer { first, second }.into())
        }
        Prefer::First | Prefer::Second => Ok(prefer),
    }
}
