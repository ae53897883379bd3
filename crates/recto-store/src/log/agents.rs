//! The logs of subagents, in both places where clients put them.

use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_log::AgentId;
use recto_log::LineReader;
use recto_log::SessionId;
use recto_log::decode;
use recto_log::json::Value;

use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::log::inventory::LogName;
use crate::log::inventory::LooseAgent;
use crate::log::inventory::Stamp;
use crate::log::inventory::timestamp;
use crate::open_file;
use crate::read_small;

/// The log of a subagent.
#[derive(Debug, Clone)]
pub struct AgentFile {
    /// The subagent.
    pub id: AgentId,
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was written last.
    pub modified: Timestamp,
    /// What tells whether it is still the same.
    pub(crate) stamp: Stamp,
}

/// What stands in the `.meta.json` beside a subagent's log (2.1.100 and later).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentMeta {
    /// Such as `general-purpose`.
    pub agent_type: Option<String>,
    /// What it is for, in a few words.
    pub description: Option<String>,
    /// The call that started it.
    pub tool_use_id: Option<String>,
    /// How many subagents are above it.
    pub spawn_depth: Option<u64>,
}

impl AgentFile {
    /// Reads the `.meta.json` beside the log.
    pub fn meta(&self) -> Option<AgentMeta> {
        let bytes = read_small(&self.path.with_extension("meta.json")).ok()?;
        let value = Value::parse(&bytes).ok()?;
        let text = |name| value.str(name).map(|text| text.into_owned());
        Some(AgentMeta {
            agent_type: text("agentType"),
            description: text("description"),
            tool_use_id: text("toolUseId"),
            spawn_depth: value.get("spawnDepth").and_then(Value::as_u64),
        })
    }
}

impl Home {
    /// The logs of a session's subagents, oldest first: those in
    /// `SESSION/subagents/`, and those beside the main log whose lines name the
    /// session.
    pub fn agents_of(&self, inventory: &Inventory, session: &SessionFile) -> Vec<AgentFile> {
        let mut agents = Vec::new();
        for file in self.list(&session.path.with_extension("").join("subagents"), &mut Vec::new()) {
            let Some(LogName::Agent(id)) = LogName::of(&file.name) else { continue };
            let Ok(metadata) = fs_err::metadata(&file.path) else { continue };
            let modified = timestamp(metadata.modified());
            let stamp = Stamp::of(&metadata);
            agents.push(AgentFile { id, path: file.path, bytes: metadata.len(), modified, stamp });
        }
        for loose in &inventory.loose_agents {
            if loose.project == session.project && session_named_in(&loose.path) == Some(session.id)
            {
                agents.push(AgentFile {
                    id: loose.id.clone(),
                    path: loose.path.clone(),
                    bytes: loose.bytes,
                    modified: loose.modified,
                    stamp: loose.stamp,
                });
            }
        }
        agents.sort_by(|a, b| a.modified.cmp(&b.modified).then_with(|| a.id.cmp(&b.id)));
        agents
    }

    /// The logs of all subagents of all sessions, in no particular order.
    pub fn all_agents(&self, inventory: &Inventory) -> Vec<AgentFile> {
        let mut agents: Vec<AgentFile> =
            inventory.folders.par_iter().flat_map_iter(|folder| self.agents_in(folder)).collect();
        agents.extend(inventory.loose_agents.iter().map(AgentFile::from));
        agents
    }

    /// The logs in the folder of a session.
    fn agents_in(&self, folder: &Path) -> Vec<AgentFile> {
        let mut agents = Vec::new();
        for file in self.list(&folder.join("subagents"), &mut Vec::new()) {
            let Some(LogName::Agent(id)) = LogName::of(&file.name) else { continue };
            let Ok(metadata) = fs_err::metadata(&file.path) else { continue };
            let modified = timestamp(metadata.modified());
            let stamp = Stamp::of(&metadata);
            agents.push(AgentFile { id, path: file.path, bytes: metadata.len(), modified, stamp });
        }
        agents
    }
}

impl From<&LooseAgent> for AgentFile {
    fn from(loose: &LooseAgent) -> AgentFile {
        AgentFile {
            id: loose.id.clone(),
            path: loose.path.clone(),
            bytes: loose.bytes,
            modified: loose.modified,
            stamp: loose.stamp,
        }
    }
}

/// Whose log a loose agent log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LooseOwner {
    /// The session that its first lines name.
    Session(SessionId),
    /// Too little is written yet.
    NotYet,
    /// Its lines name none.
    Nobody,
}

/// The session that the first lines of a loose agent log name.
pub(crate) fn session_named_in(path: &Path) -> Option<SessionId> {
    match owner_of(path) {
        LooseOwner::Session(id) => Some(id),
        LooseOwner::NotYet | LooseOwner::Nobody => None,
    }
}

/// Whose log a loose agent log is, by its first lines.
pub(crate) fn owner_of(path: &Path) -> LooseOwner {
    const LINES: usize = 4;
    const MOST: u64 = 1024 * 1024;
    let Ok(file) = open_file(path) else { return LooseOwner::NotYet };
    let mut lines = LineReader::new(file.take(MOST));
    for _ in 0..LINES {
        let Ok(Some(line)) = lines.next_line() else { return LooseOwner::NotYet };
        let (is_whole, is_last) = (line.terminated, line.end() >= MOST);
        if let Some(id) = decode(line).0.session_id() {
            return id.parse().map_or(LooseOwner::Nobody, LooseOwner::Session);
        }
        if is_last {
            break;
        }
        if !is_whole {
            return LooseOwner::NotYet;
        }
    }
    LooseOwner::Nobody
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn agents_are_found_in_both_layouts() {
        let id = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("projects/-w");
        fs::create_dir_all(project.join(id).join("subagents")).unwrap();
        fs::write(project.join(format!("{id}.jsonl")), "{}\n").unwrap();
        let line =
            |id: &str| format!("{{\"type\":\"user\",\"sessionId\":\"{id}\",\"message\":{{}}}}\n");
        fs::write(project.join("agent-aa.jsonl"), line(id)).unwrap();
        fs::write(project.join("agent-bb.jsonl"), line(&id.replace('3', "4"))).unwrap();
        fs::write(project.join(id).join("subagents/agent-cc.jsonl"), line(id)).unwrap();
        fs::write(
            project.join(id).join("subagents/agent-cc.meta.json"),
            r#"{"agentType":"Explore","toolUseId":"t1","spawnDepth":1}"#,
        )
        .unwrap();
        let home = Home::open(directory.path()).unwrap();
        let inventory = home.inventory();
        let mut agents = home.agents_of(&inventory, &inventory.sessions[0]);
        agents.sort_by(|a, b| a.id.cmp(&b.id));
        let ids: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
        assert_eq!(ids, ["aa", "cc"]);
        assert_eq!(agents[0].meta(), None);
        assert_eq!(agents[1].meta().unwrap().agent_type.as_deref(), Some("Explore"));
    }
}
