//! Removing sessions with all that belongs to them.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::StoreError;
use crate::publish::FileIdentity;
use crate::publish::Intent;
use crate::publish::Journal;
use crate::publish::Operation;

/// What goes with some sessions, as it was when that was looked at.
#[derive(Debug, Clone)]
pub struct Removal {
    /// The sessions.
    pub sessions: Vec<SessionFile>,
    /// Their files, each with the version that goes: one that was written since stays, and
    /// so does all else.
    pub files: Vec<(PathBuf, FileIdentity)>,
    directories: Vec<PathBuf>,
}

impl Removal {
    /// Looks at what belongs to the sessions. Nothing is changed.
    pub fn plan(
        home: &Home,
        inventory: &Inventory,
        sessions: Vec<SessionFile>,
    ) -> Result<Removal, StoreError> {
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        for session in &sessions {
            let parts = home.parts_of(inventory, session)?;
            for path in parts.files {
                let identity = FileIdentity::of(&path)?;
                files.push((path, identity));
            }
            directories.extend(parts.directories);
        }
        Ok(Removal { sessions, files, directories })
    }

    /// How large the files are.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, identity)| identity.bytes).sum()
    }
}

impl Journal {
    /// Removes sessions. Their files are kept as backups, so that an undo brings them back.
    pub fn remove(
        &mut self,
        home: &Home,
        removal: &Removal,
        arguments: Vec<String>,
        time: Timestamp,
    ) -> Result<Operation, StoreError> {
        // The record of an operation names one session at most.
        let source = match removal.sessions.as_slice() {
            [one] => Some(one.id),
            _ => None,
        };
        let mut transaction =
            self.begin(Intent { home, name: "rm", arguments, time, source, result: None })?;
        for (path, identity) in &removal.files {
            transaction.remove(path, identity)?;
        }
        for path in &removal.directories {
            transaction.remove_directory(path)?;
        }
        transaction.commit()
    }
}
