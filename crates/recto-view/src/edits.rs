//! Edits that a screen offers beside a new title: a session up to a turn, and removal.
//!
//! The rules (who may not be edited, what is kept for an undo) are the store's.

use std::path::PathBuf;

use recto_log::SessionId;
use recto_session::edit::ForkPoint;
use recto_session::edit::fork;
use recto_store::Digest;
use recto_store::Edit;
use recto_store::NewSession;
use recto_store::OpenedLog;
use recto_store::Removal;
use recto_store::SessionFile;
use recto_store::StoreError;
use recto_store::Uuids;
use recto_store::new_session_id;
use recto_store::publish::Intent;
use recto_store::publish::Journal;
use serde::Serialize;

use crate::SessionName;
use crate::error::ViewError;
use crate::library::Library;
use crate::operations::remarks;

/// How many characters of a title its copy keeps.
const LONGEST_TITLE: usize = 200;

/// A session that was made of the beginning of another one.
#[derive(Debug, Serialize)]
pub struct ForkedView {
    /// The new session.
    pub session: String,
    /// The session that it was made of.
    pub source: String,
    /// The number to undo it with.
    pub operation: u64,
    /// What had been interrupted before, and was put right first.
    pub remarks: Vec<String>,
}

/// Sessions that were removed.
#[derive(Debug)]
pub struct RemovedView {
    /// The sessions.
    pub sessions: Vec<String>,
    /// How many files went.
    pub files: u64,
    /// How large they were.
    pub bytes: u64,
    /// The number to undo it with.
    pub operation: u64,
    /// What had been interrupted before, and was put right first.
    pub remarks: Vec<String>,
}

impl Library {
    /// Makes a session of another one, up to the end of a turn.
    pub fn fork(&self, name: impl Into<SessionName>, turn: u32) -> Result<ForkedView, ViewError> {
        let (home, data) = (self.home(), self.data()?);
        let mut journal = Journal::open(data, home)?;
        // What was put right may have changed what is there.
        self.readings().forget_list();
        let found = self.find(name)?;
        let session = found.file.id;
        home.may_edit(data, &found.file, self.now())?;
        let opened = OpenedLog::read(&found.file.path)?;
        let (mut draft, leaf) =
            fork(&opened.manuscript, &ForkPoint::Turn(turn)).map_err(StoreError::from)?;
        draft.settle_leaf(leaf, Some(session), &opened.prompt_before(leaf));
        let new = NewSession {
            id: new_session_id(),
            project: found.file.path.parent().map(PathBuf::from).unwrap_or_default(),
            title: title_of_fork(&found.file),
            uuids: Uuids::Keep,
            moved: None,
        };
        let result = new.id;
        let edit = Edit::new_session(home, &found.inventory, &found.file, &opened, draft, new)?;
        let mut transaction = journal.begin(Intent {
            home,
            name: "fork",
            arguments: vec![session.to_string(), "--at".to_owned(), turn.to_string()],
            time: self.now(),
            source: Some(session),
            result: Some(result),
        })?;
        edit.stage(&mut transaction)?;
        // A client may have been started meanwhile.
        home.may_edit(data, &found.file, self.now())?;
        let operation = transaction.commit()?.id.number();
        self.readings().forget_list();
        Ok(ForkedView {
            session: result.to_string(),
            source: session.to_string(),
            operation,
            remarks: remarks(&journal),
        })
    }

    /// Removes sessions with all that belongs to them. Their files are kept for an undo.
    pub fn remove(&self, sessions: &[SessionId]) -> Result<RemovedView, ViewError> {
        let (home, data) = (self.home(), self.data()?);
        let mut journal = Journal::open(data, home)?;
        self.readings().forget_list();
        let mut files: Vec<SessionFile> = Vec::new();
        for session in sessions {
            let found = self.find(*session)?;
            home.may_edit(data, &found.file, self.now())?;
            files.push(found.file);
        }
        let removal = Removal::plan(home, &self.inventory(), files)?;
        let names: Vec<String> = sessions.iter().map(ToString::to_string).collect();
        let operation = journal.remove(home, &removal, names.clone(), self.now())?;
        self.readings().forget_list();
        Ok(RemovedView {
            sessions: names,
            files: removal.files.len() as u64,
            bytes: removal.bytes(),
            operation: operation.id.number(),
            remarks: remarks(&journal),
        })
    }
}

fn title_of_fork(session: &SessionFile) -> Option<String> {
    let (title, _) = Digest::read(&session.path, false).ok()?.title?;
    Some(format!("{} (fork)", title.chars().take(LONGEST_TITLE).collect::<String>()))
}
