//! A log on disk: which file it is, whose it is, and what it was when it was listed.
//!
//! Owns the rules of names. `PROJECT/SESSION.jsonl` is the main log of a session and
//! `PROJECT/SESSION/subagents/agent-ID.jsonl` the log of a subagent. Clients up to 2.0.76
//! put the log of a subagent beside the main logs, `PROJECT/agent-ID.jsonl`; only its
//! lines name the session.

use std::fs::Metadata;
use std::ops::Deref;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use recto_log::AgentId;
use recto_log::SessionId;

use crate::log::file_state::FileState;
use crate::log::owner::session_named_in;
use crate::place::archived_copy::is_copy;

/// The folder with the projects, in the home.
pub(crate) const PROJECTS: &str = "projects";

/// The folder with the logs of subagents, in the folder of their session.
const SUBAGENTS: &str = "subagents";

/// A directory under `projects/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The directory's name. Not invertible: see `cwd` of the lines.
    pub key: String,
    /// The directory.
    pub path: PathBuf,
    /// Whether its logs are copies of what only the archive has.
    pub is_archived: bool,
}

/// A log on disk: the main log of a session, or that of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// The file.
    pub path: PathBuf,
    /// The project, which all its logs share.
    pub project: Arc<Project>,
    /// The session that it belongs to, where the path names it.
    pub session: Option<SessionId>,
    /// The subagent, if it is the log of one.
    pub agent: Option<AgentId>,
    /// What the file was when it was listed.
    pub state: FileState,
}

impl LogFile {
    /// A log that is at a path of a project, by what its name says.
    pub(crate) fn listed(
        path: PathBuf,
        project: Arc<Project>,
        name: Option<LogName>,
        metadata: &Metadata,
    ) -> LogFile {
        let (session, agent) = match name {
            Some(LogName::Main(session)) => (Some(session), None),
            Some(LogName::Agent(agent)) => (session_in(&path), Some(agent)),
            None => (None, None),
        };
        LogFile { path, project, session, agent, state: FileState::listed(metadata) }
    }

    /// A log that the user named, wherever it is.
    pub fn alone(path: PathBuf, agent: Option<AgentId>) -> LogFile {
        let directory = project_directory(&path).map(Path::to_owned).unwrap_or_default();
        let key = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let metadata = fs_err::symlink_metadata(&path);
        let is_archived = metadata.is_ok_and(|metadata| is_copy(&metadata));
        let project = Arc::new(Project { key, path: directory, is_archived });
        LogFile { path, project, session: None, agent, state: FileState::default() }
    }

    /// What to call it, so that every SESSION argument understands it.
    pub fn name(&self) -> String {
        match (&self.agent, self.session) {
            (Some(agent), _) => format!("agent-{agent}"),
            (None, Some(session)) => session.to_string(),
            (None, None) => self.path.display().to_string(),
        }
    }

    /// The path below the home, with `/`: its name in the index.
    pub(crate) fn name_in_home(&self) -> String {
        let below = self.path.strip_prefix(&self.project.path).unwrap_or(&self.path);
        let below = below.to_string_lossy();
        let below = if cfg!(windows) { below.replace('\\', "/").into() } else { below };
        format!("{PROJECTS}/{}/{below}", self.project.key)
    }

    /// Whether only the archive has it.
    pub fn is_archived(&self) -> bool {
        self.project.is_archived
    }

    /// Whether it is the log of a subagent.
    pub fn is_agent(&self) -> bool {
        self.agent.is_some()
    }

    /// The same as the main log of a session; nothing if it is not one.
    pub fn main(&self) -> Option<SessionFile> {
        SessionFile::of(self.clone())
    }

    /// How large it was when it was listed.
    pub fn bytes(&self) -> u64 {
        self.state.size()
    }

    /// When it was written last, as it was listed.
    pub fn modified(&self) -> Timestamp {
        self.state.modified()
    }

    /// The session that it belongs to, if not by its path then by its first lines.
    pub fn owner(&self) -> Option<SessionId> {
        self.session.or_else(|| session_named_in(&self.path))
    }

    /// The same log with the session that it belongs to.
    pub(crate) fn with_owner(mut self) -> LogFile {
        self.session = self.owner();
        self
    }
}

/// The main log of a session: a log whose session is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// The session, which is the name of the file.
    pub id: SessionId,
    log: LogFile,
}

impl SessionFile {
    /// Nothing if it is the log of a subagent.
    pub fn of(log: LogFile) -> Option<SessionFile> {
        log.session.filter(|_| log.agent.is_none()).map(|id| SessionFile { id, log })
    }

    /// The folder of what belongs to the session beside its log.
    pub(crate) fn folder(&self) -> PathBuf {
        self.path.with_extension("")
    }
}

impl Deref for SessionFile {
    type Target = LogFile;

    fn deref(&self) -> &LogFile {
        &self.log
    }
}

impl AsRef<LogFile> for SessionFile {
    fn as_ref(&self) -> &LogFile {
        &self.log
    }
}

impl AsRef<LogFile> for LogFile {
    fn as_ref(&self) -> &LogFile {
        self
    }
}

/// What the name of a file in a project says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogName {
    Main(SessionId),
    Agent(AgentId),
}

impl LogName {
    pub(crate) fn of(name: &str) -> Option<LogName> {
        let stem = name.strip_suffix(".jsonl")?;
        match stem.strip_prefix("agent-") {
            Some(id) => id.parse().ok().map(LogName::Agent),
            None => stem.parse().ok().map(LogName::Main),
        }
    }

    /// What the last part of a path says.
    pub(crate) fn of_path(path: &Path) -> Option<LogName> {
        LogName::of(&path.file_name()?.to_string_lossy())
    }
}

/// The folder with the logs of subagents, in the folder of a session.
pub(crate) fn subagents_folder(session_folder: &Path) -> PathBuf {
    session_folder.join(SUBAGENTS)
}

/// Whether a name is that of the folder with the logs of subagents.
pub(crate) fn is_subagents_folder(name: &str) -> bool {
    name == SUBAGENTS
}

/// The log of a subagent, in the folder of its session.
pub(crate) fn agent_log(session_folder: &Path, agent: &AgentId) -> PathBuf {
    subagents_folder(session_folder).join(format!("agent-{agent}.jsonl"))
}

/// The log of a subagent of the session whose log is at a path, in either place where
/// clients put it, if it is there.
pub fn agent_log_beside(log: &Path, agent: &AgentId) -> Option<PathBuf> {
    let folder = match session_folder_above(log) {
        Some(folder) => folder.to_owned(),
        None => log.with_extension(""),
    };
    let beside = project_directory(log)?.join(format!("agent-{agent}.jsonl"));
    [agent_log(&folder, agent), beside].into_iter().find(|path| path.is_file())
}

/// The folder of the session, of a log that is among its subagents.
pub fn session_folder_above(log: &Path) -> Option<&Path> {
    log.parent().filter(|folder| folder.ends_with(SUBAGENTS))?.parent()
}

/// The directory of the project that a log is in.
pub fn project_directory(log: &Path) -> Option<&Path> {
    match session_folder_above(log) {
        Some(folder) => folder.parent(),
        None => log.parent(),
    }
}

/// The session whose folder a log is in.
fn session_in(log: &Path) -> Option<SessionId> {
    session_folder_above(log)?.file_name()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    #[test]
    fn names_say_what_a_file_is() {
        assert_eq!(LogName::of(&format!("{ID}.jsonl")), Some(LogName::Main(ID.parse().unwrap())));
        assert_eq!(LogName::of("agent-a1b2.jsonl"), Some(LogName::Agent("a1b2".parse().unwrap())));
        for other in ["notes.jsonl", "agent-.jsonl", "agent-a.jsonl.bak", ".jsonl", ID] {
            assert_eq!(LogName::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_path_says_where_the_project_and_the_session_of_a_subagent_are() {
        let project = Path::new("projects/-w");
        let inside = agent_log(&project.join(ID), &"a1".parse().unwrap());
        assert_eq!(inside, project.join(ID).join("subagents/agent-a1.jsonl"));
        assert_eq!(session_in(&inside), ID.parse().ok());
        let beside = project.join("agent-a1.jsonl");
        assert_eq!(session_in(&beside), None);
        let main = project.join(format!("{ID}.jsonl"));
        for log in [inside, beside, main] {
            assert_eq!(project_directory(&log), Some(project), "{}", log.display());
        }
    }
}
