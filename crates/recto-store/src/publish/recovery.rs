//! Operations that were interrupted: finished where that is possible, else
//! taken back.

use std::path::Path;
use std::path::PathBuf;

use super::Journal;
use super::Operation;
use super::OperationId;
use super::PublishError;
use super::apply;
use super::apply::Progress;
use super::backup::remove_if_there;
use super::bounds::Bounds;
use super::notes::Notes;
use super::notes::StagedFiles;
use super::notes::is_temporary;
use super::notes::temporary_name;
use super::operation::Pending;
use super::operation::Step;
use super::state::FileIdentity;
use super::state::State;
use super::state::is_in;
use super::transaction::Attributes;
use super::transaction::write_staged;
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
    /// Its home is not there now, so that nothing could be done.
    HomeIsGone(PathBuf),
}

impl Recovered {
    /// What became of it, a line for each thing to know.
    pub fn lines(&self) -> Vec<String> {
        let what = format!("operation {} ({}) had been interrupted", self.id, self.name);
        let taken_back = format!("{what}: it was taken back");
        match &self.outcome {
            RecoveredAs::Finished => vec![format!("{what}: it was finished")],
            RecoveredAs::TakenBack => vec![taken_back],
            RecoveredAs::TakenBackExcept(paths) => {
                let left = paths.iter().map(|path| {
                    let path = path.display();
                    format!("left as it is, because another program wrote to it: {path}")
                });
                std::iter::once(taken_back).chain(left).collect()
            }
            RecoveredAs::HomeIsGone(home) => {
                vec![format!("{what}: its home is not there: {}", home.display())]
            }
        }
    }
}

impl Journal {
    /// Deals with everything that was interrupted.
    pub(crate) fn recover(&mut self) -> Result<Vec<Recovered>, StoreError> {
        let mut recovered = Vec::new();
        for operation in self.records.all()? {
            if let Some(outcome) = self.recover_operation(&operation)? {
                let (id, name) = (operation.id, operation.name);
                recovered.push(Recovered { id, name, outcome });
            }
        }
        for id in self.records.numbers(".staged")? {
            let path = self.records.notes_path(id);
            let staged = StagedFiles::read(&path)?;
            let record = self.operation(id).ok();
            if record.as_ref().is_some_and(Operation::is_unfinished) {
                continue;
            }
            staged.remove_temporaries()?;
            // Otherwise it was done, and only the notes were left.
            if record.is_none_or(|record| record.sequence != staged.sequence) {
                staged.remove_directories();
                let outcome = RecoveredAs::TakenBack;
                let name = staged.name;
                if !recovered.iter().any(|one| one.id == id) {
                    recovered.push(Recovered { id, name, outcome });
                }
            }
            remove_if_there(&path)?;
        }
        Ok(recovered)
    }

    fn recover_operation(
        &mut self,
        operation: &Operation,
    ) -> Result<Option<RecoveredAs>, StoreError> {
        let Some(pending) = &operation.pending else { return Ok(None) };
        if !operation.home.is_dir() {
            return Ok(Some(RecoveredAs::HomeIsGone(operation.home.clone())));
        }
        let bounds = Bounds::of(operation);
        for step in &pending.steps {
            check_step(&bounds, step)?;
        }
        let mut notes = Notes::resume(self.records.notes_path(operation.id), operation)?;
        if can_be_finished(pending)? {
            for step in &pending.steps {
                finish_step(step)?;
            }
            apply::sync_parents(pending.steps.iter().map(|step| step.path.as_path()))?;
            self.records.write(&Operation { pending: None, ..operation.clone() })?;
            return Ok(Some(RecoveredAs::Finished));
        }
        let kept = self.take_back(operation, &mut notes)?;
        if kept.is_empty() {
            return Ok(Some(RecoveredAs::TakenBack));
        }
        Ok(Some(RecoveredAs::TakenBackExcept(kept)))
    }

    /// Takes back the steps of an operation and its record. Gives the files that
    /// could not be, because another program has changed them.
    pub(crate) fn take_back(
        &mut self,
        operation: &Operation,
        notes: &mut Notes,
    ) -> Result<Vec<PathBuf>, StoreError> {
        let Some(pending) = &operation.pending else { return Ok(Vec::new()) };
        let mut kept = Vec::new();
        for step in pending.steps.iter().rev() {
            let is_directory = [&step.from, &step.to]
                .iter()
                .any(|state| matches!(state, Some(State::Directory { .. })));
            match apply::progress(step)? {
                _ if is_directory => self.step_back(operation, step, notes)?,
                Progress::Before => {}
                Progress::After => self.step_back(operation, step, notes)?,
                Progress::Elsewhere => kept.push(step.path.clone()),
            }
        }
        apply::sync_parents(pending.steps.iter().map(|step| step.path.as_path()))?;
        match &pending.previous {
            Some(previous) => self.records.write(previous)?,
            None => self.records.remove(operation.id)?,
        }
        // Nothing depends on it any more; what is left is removed next time.
        let _ = notes.abandon();
        Ok(kept)
    }

    /// The opposite of a step that was taken.
    fn step_back(
        &self,
        operation: &Operation,
        step: &Step,
        notes: &mut Notes,
    ) -> Result<(), StoreError> {
        let mut back = Step {
            path: step.path.clone(),
            from: step.to.clone(),
            to: step.from.clone(),
            temporary: None,
        };
        if let Some(State::File(state)) = &step.from {
            // Numbers of staged files are small.
            let number = 1_000_000 + notes.staged.temporaries.len();
            let directory = step.path.parent().unwrap_or(Path::new("/"));
            let temporary = directory.join(temporary_name(operation, number));
            remove_if_there(&temporary)?;
            let staged = write_staged(&temporary, notes, Attributes::from(state), |out| {
                self.backups.copy_to(state, out)
            })?;
            back.temporary = Some(staged.path().to_owned());
        }
        let expected = match step.to {
            Some(State::File(_)) => Some(FileIdentity::of(&step.path)?),
            Some(State::Directory { .. }) | None => None,
        };
        apply::apply(&back, expected.as_ref())
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

fn can_be_finished(pending: &Pending) -> Result<bool, StoreError> {
    for step in &pending.steps {
        let is_possible = match (apply::progress(step)?, &step.temporary) {
            (Progress::After, _) => true,
            (Progress::Before, Some(temporary)) => is_in(temporary, step.to.as_ref())?,
            (Progress::Before, None) => true,
            (Progress::Elsewhere, _) => false,
        };
        if !is_possible {
            return Ok(false);
        }
    }
    Ok(true)
}

fn finish_step(step: &Step) -> Result<(), StoreError> {
    let expected = match step.from {
        Some(State::File(_)) => FileIdentity::of(&step.path).ok(),
        Some(State::Directory { .. }) | None => None,
    };
    match apply::progress(step)? {
        Progress::After => Ok(()),
        Progress::Before | Progress::Elsewhere => apply::apply(step, expected.as_ref()),
    }
}
