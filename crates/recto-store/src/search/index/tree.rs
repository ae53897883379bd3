//! The logs on disk, as the index compares them.

use std::path::Path;
use std::path::PathBuf;

use recto_log::AgentId;
use recto_log::SessionId;
use recto_session::search::Document;

use crate::Home;
use crate::Inventory;
use crate::log::agents::session_named_in;
use crate::log::inventory::Stamp;
use crate::log::inventory::nanoseconds;

/// A log on disk.
#[derive(Debug, Clone)]
pub(crate) struct DiskLog {
    pub(crate) path: PathBuf,
    /// The path below the home, with `/`.
    pub(crate) name: String,
    /// The session, where the path names it.
    session: Option<SessionId>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) size: u64,
    /// In nanoseconds since 1970.
    pub(super) modified: i64,
    pub(super) stamp: Stamp,
}

impl DiskLog {
    /// The session that the log belongs to. That of a subagent beside the main
    /// logs is named in its lines only.
    pub(crate) fn session(&self) -> Option<SessionId> {
        self.session.or_else(|| session_named_in(&self.path))
    }
}

/// What is known of a log that holds a hit, to choose among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogFacts {
    /// The directory of the project.
    pub project: String,
    /// The working directory at first.
    pub cwd: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The git branch at last.
    pub branch: Option<String>,
    /// Whether it is the log of a subagent.
    pub is_agent: bool,
}

impl LogFacts {
    /// Takes in what the next document says.
    pub(crate) fn see(&mut self, document: &Document<'_>) {
        see_facts(document, &mut self.cwd, &mut self.model, &mut self.branch);
    }
}

/// The first working directory, the last model, the last branch.
pub(super) fn see_facts(
    document: &Document<'_>,
    cwd: &mut Option<String>,
    model: &mut Option<String>,
    branch: &mut Option<String>,
) {
    if cwd.is_none() {
        *cwd = document.cwd().map(|cwd| cwd.into_owned());
    }
    if let Some(new) = document.model.filter(|model| *model != "<synthetic>")
        && model.as_deref() != Some(new)
    {
        *model = Some(new.to_owned());
    }
    if let Some(new) = document.branch()
        && branch.as_deref() != Some(&*new)
    {
        *branch = Some(new.into_owned());
    }
}

impl Home {
    /// All logs on disk, with what tells whether they have changed.
    pub(crate) fn disk_logs(&self, inventory: &Inventory) -> Vec<DiskLog> {
        let mut logs = Vec::with_capacity(inventory.sessions.len());
        for session in &inventory.sessions {
            logs.push(DiskLog {
                name: self.name_of(&session.path),
                path: session.path.clone(),
                session: Some(session.id),
                agent: None,
                size: session.bytes,
                modified: nanoseconds(session.modified),
                stamp: session.stamp,
            });
        }
        for agent in self.all_agents(inventory) {
            // Newer clients say it in the path: SESSION/subagents/agent-ID.jsonl.
            let folder = agent.path.parent().and_then(Path::parent).and_then(Path::file_name);
            logs.push(DiskLog {
                name: self.name_of(&agent.path),
                session: folder.and_then(|name| name.to_string_lossy().parse().ok()),
                path: agent.path,
                agent: Some(agent.id),
                size: agent.bytes,
                modified: nanoseconds(agent.modified),
                stamp: agent.stamp,
            });
        }
        logs
    }

    /// The path of a log below the home, with `/`.
    pub(crate) fn name_of(&self, path: &Path) -> String {
        let below = path.strip_prefix(self.root()).unwrap_or(path);
        let name = below.to_string_lossy();
        if cfg!(windows) { name.replace('\\', "/") } else { name.into_owned() }
    }
}

/// The project's directory in the path of a log below the home.
pub(crate) fn project_of(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}
