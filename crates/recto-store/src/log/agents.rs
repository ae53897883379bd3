//! The logs of subagents, in both places where clients put them.

use std::collections::HashSet;
use std::sync::Arc;

use rayon::prelude::*;
use recto_log::json::Value;

use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::log::inventory::SessionFolder;
use crate::log::log_file::LogFile;
use crate::log::log_file::LogName;
use crate::log::log_file::subagents_folder;
use crate::log::owner::session_named_in;
use crate::read_small;

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

impl LogFile {
    /// Reads the `.meta.json` beside the log of a subagent.
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
    pub fn agents_of(&self, inventory: &Inventory, session: &SessionFile) -> Vec<LogFile> {
        let folder =
            SessionFolder { project: Arc::clone(&session.project), path: session.folder() };
        let mut agents = self.agents_in(&folder);
        for loose in &inventory.loose_agents {
            if loose.project.key == session.project.key
                && session_named_in(&loose.path) == Some(session.id)
            {
                agents.push(LogFile { session: Some(session.id), ..loose.clone() });
            }
        }
        agents.sort_by(|a, b| (a.state.modified, &a.agent).cmp(&(b.state.modified, &b.agent)));
        agents
    }

    /// The logs of all subagents of all sessions, in no particular order.
    pub fn all_agents(&self, inventory: &Inventory) -> Vec<LogFile> {
        let mut agents: Vec<LogFile> =
            inventory.folders.par_iter().flat_map_iter(|folder| self.agents_in(folder)).collect();
        // The client deletes the log of a session before its folder: what is still there is not
        // taken from the archive as well.
        if agents.iter().any(LogFile::is_archived) {
            let there: HashSet<String> = agents
                .iter()
                .filter(|agent| !agent.is_archived())
                .map(LogFile::name_in_home)
                .collect();
            agents.retain(|one| !one.is_archived() || !there.contains(&one.name_in_home()));
        }
        agents.extend_from_slice(&inventory.loose_agents);
        agents
    }

    /// The logs in the folder of a session.
    fn agents_in(&self, folder: &SessionFolder) -> Vec<LogFile> {
        let mut agents = Vec::new();
        for file in self.list(&subagents_folder(&folder.path), &mut Vec::new()) {
            let Some(name @ LogName::Agent(_)) = LogName::of(&file.name) else { continue };
            let Ok(metadata) = fs_err::metadata(&file.path) else { continue };
            let project = Arc::clone(&folder.project);
            agents.push(LogFile::listed(file.path, project, Some(name), &metadata));
        }
        agents
    }
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
        agents.sort_by(|a, b| a.agent.cmp(&b.agent));
        let names: Vec<String> = agents.iter().map(LogFile::name).collect();
        assert_eq!(names, ["agent-aa", "agent-cc"]);
        assert_eq!(agents[0].meta(), None);
        assert_eq!(agents[1].meta().unwrap().agent_type.as_deref(), Some("Explore"));
    }
}
