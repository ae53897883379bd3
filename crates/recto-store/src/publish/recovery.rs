//! Operations that were interrupted: finished where that is possible, else
//! taken back.

use std::path::PathBuf;

use super::Journal;
use super::Operation;
use super::OperationId;
use super::PublishError;
use super::apply;
use super::apply::Action;
use super::bounds::Bounds;
use super::notes::Notes;
use super::notes::StagedFiles;
use super::notes::is_temporary;
use super::operation::Step;
use super::sides::Side;
use super::sides::Sides;
use super::state::FileIdentity;
use crate::StoreError;

/// An operation that had been interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The operation. A new one that was taken back leaves its number free.
    pub id: OperationId,
    /// Its command.
    pub name: String,
    /// What became of it.
    pub outcome: RecoveredAs,
    /// Files that were moved to the trash, because they hold something that nobody
    /// had read.
    pub trash: Vec<PathBuf>,
}

/// What became of an operation that had been interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoveredAs {
    /// It is done.
    Finished,
    /// Everything is as it was before.
    TakenBack,
    /// It was taken back, but for files that another program has changed since:
    /// these are as that program left them.
    TakenBackExcept(Vec<PathBuf>),
    /// Nothing could be done, for a reason. It is set aside until the next time, and
    /// stops no other operation.
    Stuck(String),
}

/// What could not be taken back.
#[derive(Debug, Default)]
pub(crate) struct TakenBack {
    /// Files that another program has changed: they are as it left them.
    pub(crate) kept: Vec<PathBuf>,
    /// Files with something that nobody had read, where they are now.
    pub(crate) trash: Vec<PathBuf>,
}

impl Recovered {
    /// What became of it, a line for each thing to know.
    pub fn lines(&self) -> Vec<String> {
        let what = format!("operation {} ({}) had been interrupted", self.id, self.name);
        let taken_back = format!("{what}: it was undone");
        let mut lines = match &self.outcome {
            RecoveredAs::Finished => vec![format!("{what}: it was finished")],
            RecoveredAs::TakenBack => vec![taken_back],
            RecoveredAs::TakenBackExcept(paths) => {
                let left = paths.iter().map(|path| {
                    let path = path.display();
                    format!("unchanged, because another program wrote to it: {path}")
                });
                std::iter::once(taken_back).chain(left).collect()
            }
            RecoveredAs::Stuck(reason) => {
                vec![format!("{what} and is set aside: {reason}")]
            }
        };
        let trash = self.trash.iter();
        lines.extend(trash.map(|path| format!("moved to the trash: {}", path.display())));
        lines
    }
}

impl Journal {
    /// Deals with everything that was interrupted in this home. What is not possible
    /// now stops nothing else.
    pub(crate) fn recover(&mut self) -> Result<Vec<Recovered>, StoreError> {
        let mut recovered = Vec::new();
        let own = self.records.all()?.operations.into_iter();
        let own: Vec<Operation> = own.filter(|one| one.home == self.bounds.root()).collect();
        for operation in own.iter().filter(|operation| operation.is_unfinished()) {
            let (id, name) = (operation.id, operation.name.clone());
            let (outcome, trash) = match self.recover_operation(operation) {
                Ok(done) => done,
                Err(error) => (RecoveredAs::Stuck(error.to_string()), Vec::new()),
            };
            recovered.push(Recovered { id, name, outcome, trash });
        }
        for id in self.records.numbers(".staged")? {
            let path = self.records.notes_path(id);
            // Notes that cannot be read now can wait.
            let Ok(staged) = StagedFiles::read(&path) else { continue };
            let record = self.operation(id).ok();
            let is_unfinished = record.as_ref().is_some_and(Operation::is_unfinished);
            if is_unfinished || !staged.is_of(self.bounds.root()) {
                continue;
            }
            // Otherwise it was done, and only the notes were left.
            let is_abandoned = record.is_none_or(|record| record.sequence != staged.sequence);
            if is_abandoned && !recovered.iter().any(|one| one.id == id) {
                let outcome = match staged.remove_all(&self.bounds) {
                    Ok(()) => RecoveredAs::TakenBack,
                    Err(error) => RecoveredAs::Stuck(error.to_string()),
                };
                let name = staged.name;
                let is_stuck = matches!(outcome, RecoveredAs::Stuck(_));
                recovered.push(Recovered { id, name, outcome, trash: Vec::new() });
                if is_stuck {
                    continue;
                }
            }
            super::backup::remove_if_there(&path)?;
        }
        Ok(recovered)
    }

    fn recover_operation(
        &mut self,
        operation: &Operation,
    ) -> Result<(RecoveredAs, Vec<PathBuf>), StoreError> {
        let Some(pending) = &operation.pending else {
            return Ok((RecoveredAs::Finished, Vec::new()));
        };
        for step in &pending.steps {
            check_step(&self.bounds, step)?;
        }
        let mut notes = Notes::resume(self.records.notes_path(operation.id), operation)?;
        if can_be_finished(&self.bounds, &pending.steps)? && self.finish(&pending.steps).is_ok() {
            self.records.write(&Operation { pending: None, ..operation.clone() })?;
            return Ok((RecoveredAs::Finished, Vec::new()));
        }
        let TakenBack { kept, trash } = self.take_back(operation, &mut notes)?;
        if kept.is_empty() {
            return Ok((RecoveredAs::TakenBack, trash));
        }
        Ok((RecoveredAs::TakenBackExcept(kept), trash))
    }

    /// Takes the steps that are left.
    fn finish(&self, steps: &[Step]) -> Result<(), StoreError> {
        for step in steps {
            // Taken before the file is compared, so that it is the one that was compared.
            let identity = FileIdentity::of(&step.path).ok();
            let path = Sides::of(&self.bounds, step)?.path;
            let expected = match (Action::of(step)?, path) {
                (Action::Replace { .. } | Action::Create { .. }, path) if path.is_new() => continue,
                (Action::Remove { .. }, Side::Missing) => continue,
                (Action::Replace { .. } | Action::Remove { .. }, Side::Old) => identity,
                (Action::Create { .. }, Side::Missing) => None,
                (Action::MakeDirectory { .. } | Action::RemoveDirectory { .. }, _) => None,
                (Action::Nothing, _) => continue,
                // A client has written to it, or made it again, since that was looked at.
                _ => return Err(PublishError::ChangedMeanwhile { path: step.path.clone() }.into()),
            };
            apply::apply(&self.bounds, step, expected.as_ref())?;
        }
        let paths = || steps.iter().map(|step| step.path.as_path());
        apply::sync_parents(&self.bounds, paths())?;
        apply::conclude(&self.bounds, steps, &[])?;
        apply::sync_parents(&self.bounds, paths())
    }
}

/// Records are data: they must not lead anywhere else.
fn check_step(bounds: &Bounds, step: &Step) -> Result<(), StoreError> {
    bounds.check_recorded(&step.path)?;
    if let Some(temporary) = &step.temporary
        && (temporary.parent() != step.path.parent() || !is_temporary(temporary))
    {
        return Err(PublishError::Outside { path: temporary.clone() }.into());
    }
    Ok(())
}

fn can_be_finished(bounds: &Bounds, steps: &[Step]) -> Result<bool, StoreError> {
    for step in steps {
        let sides = Sides::of(bounds, step)?;
        let is_possible = match Action::of(step)? {
            Action::Replace { .. } => match sides.path {
                Side::New | Side::NewGrown => sides.temporary != Side::Other,
                Side::Old => sides.temporary == Side::New,
                _ => false,
            },
            Action::Create { .. } => match sides.path {
                Side::New | Side::NewGrown => true,
                Side::Missing => sides.temporary == Side::New,
                _ => false,
            },
            Action::Remove { .. } => match sides.path {
                Side::Missing => matches!(sides.temporary, Side::Missing | Side::Old),
                Side::Old => sides.temporary == Side::Missing,
                _ => false,
            },
            Action::MakeDirectory { .. } | Action::RemoveDirectory { .. } | Action::Nothing => true,
        };
        if !is_possible {
            return Ok(false);
        }
    }
    Ok(true)
}
