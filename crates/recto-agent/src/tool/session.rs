//! What the tools of a session share.
//!
//! Owns: the working directory that persists, the files that the model has seen, background
//! tasks and their notices, and where a session keeps its files. Locks are held for moments
//! only, never across an `await`.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use serde_json::json;

use super::background::Background;
use super::background::Notice;
use super::host::Host;
use super::host::HostRequest;
use super::ids::Ids;
use super::ids::SessionName;
use super::offer::Shelf;
use super::outcome::Note;
use super::web_fetch::Web;
use super::worktree::Worktree;

/// Where a session is, and where it keeps its files.
#[derive(Debug, Clone)]
pub struct Places {
    /// The user's home, which `~` means.
    pub home: PathBuf,
    /// The client's own directory, usually `~/.claude`.
    pub config: PathBuf,
    /// The directory in which the session began.
    pub project: PathBuf,
    /// The name of the project in `config/projects`.
    pub project_key: String,
    /// The id of the session.
    pub session: SessionName,
    /// A directory for output of background tasks, one for each user.
    pub temporary: PathBuf,
    /// The shell that runs commands.
    pub shell: PathBuf,
}

impl Places {
    /// The directory of the session beside its log.
    #[must_use]
    pub fn session_directory(&self) -> PathBuf {
        self.config.join("projects").join(&self.project_key).join(self.session.get())
    }

    /// Where output goes that is too large for a result.
    #[must_use]
    pub fn results(&self) -> PathBuf {
        self.session_directory().join("tool-results")
    }

    /// Where the output of background tasks goes.
    #[must_use]
    pub fn tasks(&self) -> PathBuf {
        self.temporary.join(&self.project_key).join(self.session.get()).join("tasks")
    }

    /// The log of a subagent.
    #[must_use]
    pub fn agent_log(&self, agent: &str) -> PathBuf {
        self.session_directory().join("subagents").join(format!("agent-{agent}.jsonl"))
    }

    /// Where the to-do list of the session is.
    #[must_use]
    pub fn task_list(&self) -> PathBuf {
        self.config.join("tasks").join(self.session.get())
    }
}

/// What the model knows of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Of the bytes that the file had.
    pub(super) hash: [u8; 32],
    /// Whether it saw all of it.
    pub(super) is_whole: bool,
    /// Whether `Read` showed it. What a command or the model itself wrote follows commands.
    pub(super) is_read: bool,
}

/// What changes while tools run.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Calls that run outside the sandbox.
    pub(super) let_out: std::collections::BTreeSet<String>,
    pub(super) cwd: PathBuf,
    /// The working directory that the model was told last.
    pub(super) told_cwd: PathBuf,
    /// Directories besides the project that commands may stay in.
    pub(super) directories: Vec<PathBuf>,
    pub(super) seen: HashMap<PathBuf, Seen>,
    /// Memory files that were sent with a result.
    pub(super) memory_told: BTreeSet<PathBuf>,
    /// Tools whose input was explained after an error, without being asked for.
    pub(super) explained: BTreeSet<String>,
    /// Skills that were launched.
    pub(super) launched: BTreeSet<String>,
    /// Deferred tools that the model loaded.
    pub(super) loaded: BTreeSet<String>,
    /// Tools whose calls have ended, here or in a subagent.
    pub(super) used: BTreeSet<String>,
    /// Where commands that run print to, by their call.
    pub(super) outputs: HashMap<String, PathBuf>,
    /// The list of `TodoWrite`, which is in no file.
    pub(super) todos: serde_json::Value,
    /// The plan of plan mode, and whether the mode is on.
    pub(super) plan_file: Option<PathBuf>,
    pub(super) is_planning: bool,
    pub(super) was_planning: bool,
    /// The checkout that the session works in, if it moved there.
    pub(super) worktree: Option<Worktree>,
}

/// Whether a path is left out of searches.
pub type IsHidden = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Counts tokens of a text.
pub type TokenCount = Arc<dyn Fn(&str) -> u64 + Send + Sync>;

/// A session, as its tools see it.
pub struct Session {
    /// Where it is.
    pub places: Places,
    /// Which tools there are.
    pub offer: Shelf,
    /// Whether it is that of a subagent.
    pub is_subagent: bool,
    /// Environment variables of commands, besides those of this process.
    pub environment: BTreeMap<String, String>,
    /// Where new ids come from.
    pub ids: Ids,
    /// The loop.
    pub host: Host,
    /// The background tasks.
    pub(super) background: Background,
    /// How pages are fetched.
    pub web: Web,
    /// Files that searches leave out, because rules deny reading them.
    pub is_hidden: Option<IsHidden>,
    /// What commands are confined to.
    pub sandbox: Option<crate::sandbox::Shared>,
    /// What to count with where the host does not.
    pub estimate: TokenCount,
    state: Mutex<State>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("places", &self.places).finish_non_exhaustive()
    }
}

/// About how many tokens a text has, where no endpoint tells: four bytes each.
#[must_use]
pub fn estimated_tokens(text: &str) -> u64 {
    text.len() as u64 / 4
}

impl Session {
    /// A session that begins in its project.
    #[must_use]
    pub fn new(places: Places, offer: impl Into<Shelf>, host: Host, ids: Ids) -> Session {
        let cwd = places.project.clone();
        let state = State { told_cwd: cwd.clone(), cwd, ..State::default() };
        Session {
            background: Background::default(),
            places,
            offer: offer.into(),
            is_subagent: false,
            environment: BTreeMap::new(),
            ids,
            host,
            web: Web::default(),
            is_hidden: None,
            sandbox: None,
            estimate: Arc::new(estimated_tokens),
            state: Mutex::new(state),
        }
    }

    /// The state, for a moment.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked left whole values behind: each change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The working directory.
    #[must_use]
    pub fn cwd(&self) -> PathBuf {
        self.state().cwd.clone()
    }

    /// Sets the working directory, as a resumed session left it. The model is not told.
    pub fn set_cwd(&self, cwd: &Path) {
        let mut state = self.state();
        state.cwd = cwd.to_owned();
        state.told_cwd = cwd.to_owned();
    }

    /// Adds directories that commands may stay in.
    pub fn add_directories(&self, directories: impl IntoIterator<Item = PathBuf>) {
        let directories: Vec<PathBuf> = directories.into_iter().collect();
        if let Some(sandbox) = &self.sandbox {
            sandbox.add_directories(directories.iter().cloned());
        }
        self.state().directories.extend(directories);
    }

    /// Lets one call run outside the sandbox, because the user said so.
    pub(crate) fn let_out(&self, call: &str) {
        self.state().let_out.insert(call.to_owned());
    }

    /// The sandbox of a call, unless the user let it out.
    pub(crate) fn sandbox_of(&self, call: &str) -> Option<crate::sandbox::Shared> {
        let is_out = self.state().let_out.contains(call);
        let is_able = |sandbox: &&crate::sandbox::Shared| {
            sandbox.confinement != crate::sandbox::Confinement::None
        };
        self.sandbox.as_ref().filter(is_able).filter(|_| !is_out).cloned()
    }

    /// The project and the directories that were added to it.
    #[must_use]
    pub fn directories(&self) -> Vec<PathBuf> {
        let mut all = vec![self.places.project.clone()];
        all.extend(self.state().directories.iter().cloned());
        all
    }

    /// Forgets what the model knows: it starts over. The directory and the mode stay.
    pub fn forget(&self) {
        let mut state = self.state();
        state.seen.clear();
        state.memory_told.clear();
        state.launched.clear();
        state.loaded.clear();
        state.used.clear();
        state.todos = serde_json::Value::Null;
    }

    /// Whether plan mode is on.
    #[must_use]
    pub fn is_planning(&self) -> bool {
        self.state().is_planning
    }

    /// Turns plan mode on or off, and names the file of the plan.
    pub fn set_planning(&self, is_planning: bool, plan_file: Option<PathBuf>) {
        let mut state = self.state();
        state.was_planning |= state.is_planning && !is_planning;
        state.is_planning = is_planning;
        if plan_file.is_some() {
            state.plan_file = plan_file;
        }
    }

    /// How many tokens a text has.
    pub(super) async fn count_tokens(&self, text: &str) -> u64 {
        let ask = |answer| HostRequest::CountTokens { text: text.to_owned(), answer };
        match self.host.ask(ask).await.flatten() {
            Some(count) => count,
            None => (self.estimate)(text),
        }
    }

    /// What is said once after the results of a step: that the working directory changed.
    #[must_use]
    pub fn take_notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut state = self.state();
        if state.cwd != state.told_cwd {
            let before = state.told_cwd.display().to_string();
            let text = format!(
                "# Environment update\n - Primary working directory: {} (was {before})",
                state.cwd.display(),
            );
            let changes = json!([{"field": "workingDirectory", "from": before}]);
            let attachment = json!({"type": "environment", "changes": changes});
            notes.push(Note::Attached(attachment, Some((text, "system"))));
            state.told_cwd = state.cwd.clone();
        }
        notes
    }

    /// What a command that runs has printed, the first part of it.
    #[must_use]
    pub fn output_so_far(&self, tool_use: &str) -> Option<String> {
        use std::io::Read as _;
        const MOST: u64 = 30_000;
        let path = self.state().outputs.get(tool_use).cloned()?;
        let mut bytes = Vec::new();
        std::fs::File::open(path).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// Whether background tasks run, or have ended without the model knowing.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.background.is_busy()
    }

    /// Waits until a background task ends.
    pub async fn task_ended(&self) {
        self.background.changed().await;
    }

    /// What the model shall know about tasks that ended. It is told once.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        self.background.take_notices()
    }

    /// Gives what still runs in the background to another session, which is told of its end;
    /// whether anything does.
    pub fn hand_over(&self, to: &Session) -> bool {
        self.background.hand_over(&to.background)
    }

    /// Ends everything that still runs, and waits until it is gone.
    pub async fn close(&self) {
        self.background.stop_all().await;
    }
}
