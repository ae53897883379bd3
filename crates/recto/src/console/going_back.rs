//! Going back: prompts to go back to, files that are set back, a conversation that forks.

use std::path::Path;
use std::path::PathBuf;

use recto_store::rewind;
use recto_store::rewind::FileTurns;

use super::doing::Doing;
use super::message::FileBack;
use super::question::changed_lines;
use super::state::Extent;
use super::state::Input;
use super::state::PastPrompt;
use crate::commands::run::RunOptions;
use crate::error::CommandError;
use crate::terminal::output::Look;
use crate::terminal::text::plural;

/// How many prompts are offered.
const MOST_PROMPTS: usize = 100;
/// How many lines of changes are kept for each prompt, and how much of a line.
const MOST_LINES: usize = 400;
const MOST_IN_LINE: usize = 400;

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
                files: files_back(&plan.changes, &self.project),
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

/// What setting files back would do to each: the first lines of all, so that none is hidden
/// behind a large one before it.
fn files_back(changes: &[rewind::FileChange], project: &Path) -> Vec<FileBack> {
    let room = MOST_LINES / changes.len().max(1);
    changes.iter().map(|change| file_back(change, project, room)).collect()
}

fn file_back(change: &rewind::FileChange, project: &Path, room: usize) -> FileBack {
    let text = |bytes: &Option<Vec<u8>>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    let mut diff = changed_lines(&text(&change.now), &text(&change.then));
    let count = |mark: char| diff.iter().filter(|line| line.starts_with(mark)).count();
    let (added, removed) = (count('+'), count('-'));
    let hidden = diff.len().saturating_sub(room);
    diff.truncate(room);
    for line in &mut diff {
        line.truncate(line.floor_char_boundary(MOST_IN_LINE));
    }
    FileBack { path: short(&change.path, project), added, removed, diff, hidden }
}

/// A path as the user sees it from the project.
fn short(path: &Path, project: &Path) -> String {
    path.strip_prefix(project).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_change_is_shown_in_bounds() {
        let numbers = |count: usize| {
            let lines: Vec<String> = (0..count).map(|number| format!("{number}\n")).collect();
            Some(lines.concat().into_bytes())
        };
        let change = |name: &str, now: Option<Vec<u8>>, then: Option<Vec<u8>>| rewind::FileChange {
            path: Path::new("/app").join(name),
            now,
            then,
        };
        let changes = [
            change("a.txt", Some(b"one\nTWO\n".to_vec()), Some(b"one\ntwo\n".to_vec())),
            change("new.txt", numbers(1000), None),
            change("wide.txt", None, Some("é".repeat(1000).into_bytes())),
        ];
        let files = files_back(&changes, Path::new("/app"));
        let sums = files.iter().map(|file| (file.path.as_str(), file.added, file.removed));
        let expected = [("a.txt", 1, 1), ("new.txt", 0, 1000), ("wide.txt", 1, 0)];
        assert_eq!(sums.collect::<Vec<_>>(), expected);
        assert_eq!(files[0].diff, [" one", "-TWO", "+two"]);
        assert_eq!((files[0].hidden, files[1].diff.len() + files[1].hidden), (0, 1000));
        let kept: usize = files.iter().flat_map(|file| &file.diff).map(String::len).sum();
        assert!(kept <= MOST_LINES * MOST_IN_LINE && files[1].hidden > 0);
    }
}
