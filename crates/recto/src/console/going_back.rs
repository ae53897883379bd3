//! Going back: prompts to go back to, files that are set back, a conversation that forks.

use std::path::Path;
use std::path::PathBuf;

use recto_store::rewind;
use recto_store::rewind::FileTurns;

use super::doing::Doing;
use super::state::Extent;
use super::state::Input;
use super::state::PastPrompt;
use crate::commands::run::RunOptions;
use crate::error::CommandError;
use crate::terminal::output::Look;
use crate::terminal::text::plural;

/// How many prompts are offered.
const MOST_PROMPTS: usize = 100;

impl Doing<'_> {
    pub(super) fn prompts(&self) -> Input {
        let Some(file) = self.file() else { return Input::Prompts(Vec::new()) };
        let turns = match FileTurns::read(self.home, &file) {
            Ok(turns) => turns,
            Err(error) => return Input::Say(Look::Warning, error.to_string()),
        };
        let first = turns.prompts.len().saturating_sub(MOST_PROMPTS);
        let prompts = turns.prompts[first..].iter().map(|prompt| {
            let plan = turns.plan(&prompt.uuid).unwrap_or_default();
            PastPrompt {
                uuid: prompt.uuid.clone(),
                parent: prompt.parent.clone(),
                text: prompt.text.clone(),
                files: plan.changes.iter().map(|change| sums(change, &self.project)).collect(),
                left: plan
                    .left
                    .iter()
                    .map(|(path, why)| format!("{}: {why}", path.display()))
                    .collect(),
            }
        });
        Input::Prompts(prompts.collect())
    }

    fn kept(&self) -> Result<PathBuf, CommandError> {
        let root = self.environment.data_directory()?;
        Ok(root.root().join("rewinds").join(&self.session))
    }

    pub(super) fn rewind(&mut self, prompt: &PastPrompt, extent: Extent) -> Vec<Input> {
        let mut inputs = Vec::new();
        if extent.files {
            match self.set_back(&prompt.uuid) {
                Ok(text) => inputs.push(Input::Say(Look::Faint, text)),
                Err(error) => {
                    let text = format!("no file was changed: {error}");
                    return vec![Input::Say(Look::Warning, text)];
                }
            }
        }
        if extent.conversation {
            let draft = Some(prompt.text.clone());
            let (options, remark) = match &prompt.parent {
                Some(parent) => {
                    let at = Some(parent.clone());
                    let resume = Some(self.session.clone());
                    let options = RunOptions { resume, resume_session_at: at, ..self.fresh() };
                    (options, "back before that prompt")
                }
                None => (self.fresh(), "that was the first prompt: this is a new session"),
            };
            inputs.extend(self.switch(options, draft, remark));
        }
        inputs
    }

    fn set_back(&self, prompt: &str) -> Result<String, CommandError> {
        let Some(file) = self.file() else {
            return Err(CommandError::user("not-found", "the session has no log yet"));
        };
        let plan = FileTurns::read(self.home, &file)?.plan(prompt)?;
        rewind::carry_out(&plan, &self.kept()?)?;
        let files = match plan.changes.as_slice() {
            [only] => short(&only.path, &self.project),
            several => plural(several.len() as u64, "file"),
        };
        let session = self.session.get(..8).unwrap_or(&self.session);
        Ok(format!("restored {files}; `recto redo --files {session}` reverts that"))
    }

    pub(super) fn undo_files(&self) -> Input {
        let last = || -> Result<Option<String>, CommandError> {
            let Some(file) = self.file() else { return Ok(None) };
            let turns = FileTurns::read(self.home, &file)?;
            let Some((prompt, _)) = turns.last_changed()? else { return Ok(None) };
            self.set_back(&prompt.uuid).map(Some)
        };
        match last() {
            Ok(Some(text)) => Input::Say(Look::Faint, text),
            Ok(None) => Input::Say(Look::Faint, "no file changes to undo".to_owned()),
            Err(error) => Input::Say(Look::Warning, error.to_string()),
        }
    }
}

/// Path, lines added and removed by setting a file back.
fn sums(change: &rewind::FileChange, project: &Path) -> (String, usize, usize) {
    let text = |bytes: &Option<Vec<u8>>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    let (now, then) = (text(&change.now), text(&change.then));
    let (old, new): (Vec<&str>, Vec<&str>) = (now.lines().collect(), then.lines().collect());
    let (mut added, mut removed) = (0, 0);
    for step in similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new) {
        if step.tag() != similar::DiffTag::Equal {
            removed += step.old_range().len();
            added += step.new_range().len();
        }
    }
    (short(&change.path, project), added, removed)
}

/// A path as the user sees it from the project.
fn short(path: &Path, project: &Path) -> String {
    path.strip_prefix(project).unwrap_or(path).display().to_string()
}
