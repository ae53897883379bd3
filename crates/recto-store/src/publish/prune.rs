//! Forgetting old operations, when the user asks for it.

use std::collections::BTreeSet;

use fs_err as fs;
use jiff::Timestamp;

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
        let operations = self.operations()?;
        let sizes = self.backups.all()?;
        let size = |needed: &BTreeSet<std::path::PathBuf>| -> u64 {
            sizes.iter().filter(|(path, _)| needed.contains(path)).map(|(_, bytes)| bytes).sum()
        };
        let mut forgotten = 0;
        while let Some(oldest) = operations.get(forgotten) {
            let goes = match prune {
                Prune::Before(time) => oldest.time < time,
                Prune::ToBytes(most) => size(&self.needed(&operations[forgotten..])) > most,
            };
            if !goes || oldest.is_unfinished() {
                break;
            }
            forgotten += 1;
        }
        let needed = self.needed(&operations[forgotten..]);
        let remaining = (operations.len() - forgotten) as u64;
        let mut pruned = Pruned { left: size(&needed), remaining, ..Pruned::default() };
        for operation in &operations[..forgotten] {
            self.records.note_pruned(operation.id)?;
            self.records.remove(operation.id)?;
            pruned.operations.push(operation.id);
        }
        for (path, bytes) in &sizes {
            if !needed.contains(path) {
                fs::remove_file(path)?;
                pruned.freed += bytes;
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
