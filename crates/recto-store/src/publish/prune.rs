//! Forgetting old operations, when the user asks for it.

use std::collections::BTreeSet;

use fs_err as fs;
use jiff::Timestamp;
use recto_log::SessionId;

use super::Journal;
use super::Operation;
use super::OperationId;
use super::state::State;
use crate::StoreError;

/// Which operations to forget, always the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// Those done before a time.
    Before(Timestamp),
    /// As many as needed for the backups to take no more than so many bytes.
    ToBytes(u64),
}

/// What was forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The operations, which can no longer be undone.
    pub operations: Vec<OperationId>,
    /// How many operations are left.
    pub remaining: u64,
    /// How many bytes are free now.
    pub freed: u64,
    /// How many bytes the backups take that are left.
    pub left: u64,
}

impl Journal {
    /// Forgets operations, and removes the backups that no other needs.
    pub fn prune(&mut self, prune: Prune) -> Result<Pruned, StoreError> {
        let list = self.records.all()?;
        let operations = list.operations;
        let sizes = self.backups.all()?;
        let size = |needed: &BTreeSet<std::path::PathBuf>| -> u64 {
            sizes.iter().filter(|(path, _)| needed.contains(path)).map(|(_, bytes)| bytes).sum()
        };
        // One that was interrupted stays, and stops none of the others.
        let (unfinished, mut kept): (Vec<Operation>, Vec<Operation>) =
            operations.into_iter().partition(Operation::is_unfinished);
        let mut forgotten = 0;
        while let Some(oldest) = kept.get(forgotten) {
            let goes = match prune {
                Prune::Before(time) => oldest.time < time,
                Prune::ToBytes(most) => {
                    let mut needed = self.needed(&kept[forgotten..]);
                    needed.extend(self.needed(&unfinished));
                    size(&needed) > most
                }
            };
            if !goes {
                break;
            }
            forgotten += 1;
        }
        let gone: Vec<Operation> = kept.drain(..forgotten).collect();
        kept.extend(unfinished);
        self.forget(&gone, &kept, list.unreadable.is_empty())
    }

    /// Forgets all operations on a session, and removes the backups that no other needs:
    /// no version of its files can be brought back.
    pub fn purge(&mut self, session: SessionId) -> Result<Pruned, StoreError> {
        let list = self.records.all()?;
        let is_gone = |operation: &Operation| {
            operation.home == self.bounds.root()
                && !operation.is_unfinished()
                && operation.sessions().contains(&session)
        };
        let (gone, kept): (Vec<Operation>, Vec<Operation>) =
            list.operations.into_iter().partition(is_gone);
        self.forget(&gone, &kept, false)
    }

    /// Removes the records of operations, and the backups that no other needs. Those that
    /// no record names go only if all records are known.
    fn forget(
        &mut self,
        gone: &[Operation],
        kept: &[Operation],
        knows_all: bool,
    ) -> Result<Pruned, StoreError> {
        let needed = self.needed(kept);
        let known = self.needed(gone);
        let mut pruned = Pruned { remaining: kept.len() as u64, ..Pruned::default() };
        for operation in gone {
            self.records.note_pruned(operation.id)?;
            self.records.remove(operation.id)?;
            pruned.operations.push(operation.id);
        }
        for (path, bytes) in self.backups.all()? {
            let may_go = knows_all || known.contains(&path);
            if may_go && !needed.contains(&path) {
                fs::remove_file(&path)?;
                pruned.freed += bytes;
            } else if needed.contains(&path) {
                pruned.left += bytes;
            }
        }
        Ok(pruned)
    }

    /// The backups that operations may need.
    fn needed(&self, operations: &[Operation]) -> BTreeSet<std::path::PathBuf> {
        let changes = operations.iter().flat_map(|operation| &operation.changes);
        let states = changes.flat_map(|change| [change.before.as_ref(), change.after.as_ref()]);
        let files = states.flatten().filter_map(State::file);
        files.map(|file| self.backups.path(&file.sha256)).collect()
    }
}
