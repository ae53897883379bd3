//! What every row about one session says of it, under the same names.

use std::path::Path;

use recto_session::status::beginning;
use serde::Serialize;

/// How many characters of the first prompt and of the last answer a row has.
const GOAL: usize = 200;
const LAST_OUTPUT: usize = 500;

/// What a session is about, and where it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// What it is called.
    pub title: Option<String>,
    /// The first prompt, 200 characters at most.
    pub goal: Option<String>,
    /// The last text of the model, 500 characters at most.
    pub last_output: Option<String>,
    /// The project's directory below `projects`.
    pub project: Option<String>,
    /// The last part of the working directory.
    pub project_name: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The branch of git.
    pub branch: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The client that wrote last.
    pub version: Option<String>,
    /// Whether the log is a subagent's.
    pub subagent: bool,
}

/// The first prompt as rows have it.
pub(crate) fn goal(first_prompt: &str) -> String {
    beginning(first_prompt, GOAL)
}

/// The last answer as rows have it.
pub(crate) fn last_output(text: &str) -> String {
    beginning(text, LAST_OUTPUT)
}

/// The last part of a path: what people call a project, or the directory of its logs.
pub(crate) fn last_part(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}
