//! All logs of a home as one list, and which of them hold a word.
//!
//! Questions across sessions (plans, uses of a file) have an answer in few
//! logs. Looking for a word in raw bytes is many times faster than decoding, so
//! that only those few are read as sessions.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use memchr::memmem;
use rayon::prelude::*;
use recto_log::AgentId;
use recto_log::SessionId;

use crate::AgentFile;
use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::StoreError;
use crate::each_alone;
use crate::log::agents::session_named_in;
use crate::log::inventory::FileState;
use crate::log::inventory::timestamp;
use crate::open_file;

/// A log of the home: of a session, or of a subagent.
#[derive(Debug, Clone)]
pub struct HomeLog {
    /// The session it belongs to; unknown for an old subagent whose lines name none.
    pub session: Option<SessionId>,
    /// The subagent, if it is the log of one.
    pub agent: Option<AgentId>,
    /// The file.
    pub path: PathBuf,
    /// When it was written last.
    pub modified: Timestamp,
    /// What the file was when it was listed.
    pub(crate) state: FileState,
}

impl HomeLog {
    /// A log that the user named, wherever it is.
    pub fn alone(path: PathBuf, agent: Option<AgentId>) -> HomeLog {
        let (modified, state) = (Timestamp::UNIX_EPOCH, FileState::default());
        HomeLog { session: None, agent, path, modified, state }
    }

    /// What to call it, so that every SESSION argument understands it.
    pub fn name(&self) -> String {
        match (&self.agent, self.session) {
            (Some(agent), _) => format!("agent-{agent}"),
            (None, Some(session)) => session.to_string(),
            (None, None) => self.path.display().to_string(),
        }
    }

    /// How large it was when it was listed.
    pub fn bytes(&self) -> u64 {
        self.state.size
    }

    /// Whether it holds the word somewhere in its bytes. One that cannot be read may.
    pub fn holds(&self, word: &str) -> bool {
        holds(&self.path, &memmem::Finder::new(word.as_bytes())).unwrap_or(true)
    }

    /// Whether another listing has the same file, with nothing written since.
    pub fn is_same(&self, other: &HomeLog) -> bool {
        self.path == other.path && self.state == other.state
    }

    fn of_agent(agent: AgentFile) -> HomeLog {
        // Newer clients say it in the path: SESSION/subagents/agent-ID.jsonl.
        let folder = agent.path.parent().and_then(Path::parent).and_then(Path::file_name);
        let named = folder.and_then(|name| name.to_string_lossy().parse().ok());
        HomeLog {
            session: named.or_else(|| session_named_in(&agent.path)),
            agent: Some(agent.id),
            path: agent.path,
            modified: agent.modified,
            state: FileState::listed(agent.bytes, agent.modified, agent.stamp),
        }
    }
}

impl From<&SessionFile> for HomeLog {
    fn from(file: &SessionFile) -> HomeLog {
        HomeLog {
            session: Some(file.id),
            agent: None,
            path: file.path.clone(),
            modified: file.modified,
            state: FileState::listed(file.bytes, file.modified, file.stamp),
        }
    }
}

/// A plan in the directory of plans.
#[derive(Debug, Clone)]
pub struct PlanFile {
    /// The file.
    pub path: PathBuf,
    /// When it was written last.
    pub modified: Timestamp,
}

impl Home {
    /// The log of a session and those of its subagents.
    pub fn logs_of(&self, inventory: &Inventory, session: &SessionFile) -> Vec<HomeLog> {
        let agents = self.agents_of(inventory, session).into_iter().map(HomeLog::of_agent);
        std::iter::once(HomeLog::from(session)).chain(agents).collect()
    }

    /// The logs of the subagents of some sessions, in the order of the sessions.
    /// Each is looked at once, however many sessions there are.
    pub fn agent_logs_of(&self, inventory: &Inventory, sessions: &[&SessionFile]) -> Vec<HomeLog> {
        let agents = self.all_agents(inventory).into_par_iter();
        let agents: Vec<HomeLog> = agents.map(HomeLog::of_agent).collect();
        let mut by_session: HashMap<(PathBuf, SessionId), Vec<HomeLog>> = HashMap::new();
        for log in agents {
            // In PROJECT, or in PROJECT/SESSION/subagents.
            let folder = log.path.parent().map(|folder| match folder.ends_with("subagents") {
                true => folder.parent().and_then(Path::parent).unwrap_or(folder),
                false => folder,
            });
            if let (Some(folder), Some(session)) = (folder, log.session) {
                by_session.entry((folder.to_owned(), session)).or_default().push(log);
            }
        }
        let mut logs = Vec::new();
        for session in sessions {
            let Some(folder) = session.path.parent() else { continue };
            let of_it = by_session.remove(&(folder.to_owned(), session.id));
            let mut of_it = of_it.unwrap_or_default();
            of_it.sort_by(|a, b| a.modified.cmp(&b.modified).then_with(|| a.agent.cmp(&b.agent)));
            logs.extend(of_it);
        }
        logs
    }

    /// All logs that hold the word somewhere in their bytes. A log that cannot
    /// be read is among them: who reads it will say why it cannot.
    pub fn logs_with(&self, inventory: &Inventory, word: &str) -> Vec<HomeLog> {
        let finder = memmem::Finder::new(word.as_bytes());
        let fits = |path: &Path| holds(path, &finder).unwrap_or(true);
        let mut logs: Vec<HomeLog> = each_alone(&inventory.sessions)
            .filter(|session| session.bytes > 0 && fits(&session.path))
            .map(HomeLog::from)
            .collect();
        let agents = self.all_agents(inventory).into_par_iter();
        let agents = agents.filter(|agent| agent.bytes > 0 && fits(&agent.path));
        logs.par_extend(agents.map(HomeLog::of_agent));
        logs
    }

    /// All logs that are not empty, the newest first.
    pub fn all_logs(&self, inventory: &Inventory) -> Vec<HomeLog> {
        let sessions = inventory.sessions.iter().filter(|session| session.bytes > 0);
        let mut logs: Vec<HomeLog> = sessions.map(HomeLog::from).collect();
        let agents = self.all_agents(inventory).into_par_iter().filter(|agent| agent.bytes > 0);
        logs.par_extend(agents.map(HomeLog::of_agent));
        logs.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        logs
    }

    /// The files in the directory of plans.
    pub fn plan_files(&self) -> Vec<PlanFile> {
        let mut files = Vec::new();
        for file in self.list(&self.plans(), &mut Vec::new()) {
            if file.is_directory || !file.name.ends_with(".md") {
                continue;
            }
            let Ok(metadata) = fs_err::metadata(&file.path) else { continue };
            let modified = timestamp(metadata.modified());
            files.push(PlanFile { path: file.path, modified });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }
}

/// Whether a file holds the word.
fn holds(path: &Path, finder: &memmem::Finder<'_>) -> Result<bool, StoreError> {
    let overlap = finder.needle().len().saturating_sub(1);
    let is_found = in_pieces(path, overlap, |piece| finder.find(piece).is_some())?;
    Ok(is_found || finder.needle().is_empty())
}

/// Whether a piece of a file passes a test. Pieces overlap, so that what stands
/// across two of them is seen.
pub(crate) fn in_pieces(
    path: &Path,
    overlap: usize,
    mut passes: impl FnMut(&[u8]) -> bool,
) -> Result<bool, StoreError> {
    const PIECE: usize = 256 * 1024;
    let mut file = open_file(path)?;
    let mut buffer = vec![0; PIECE + overlap];
    let mut kept = 0;
    loop {
        let read = file.read(&mut buffer[kept..])?;
        if read == 0 {
            return Ok(false);
        }
        let filled = kept + read;
        if passes(&buffer[..filled]) {
            return Ok(true);
        }
        kept = overlap.min(filled);
        buffer.copy_within(filled - kept..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn a_word_is_found_wherever_it_stands() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let finder = memmem::Finder::new("needle");
        for before in [0, 1, 256 * 1024 - 3, 256 * 1024, 256 * 1024 + 2, 700_000] {
            fs::write(&path, format!("{}needle{}", "n".repeat(before), "e".repeat(99))).unwrap();
            assert!(holds(&path, &finder).unwrap(), "after {before} bytes");
        }
        fs::write(&path, "needl").unwrap();
        assert!(!holds(&path, &finder).unwrap());
        assert!(holds(&path, &memmem::Finder::new("")).unwrap());
    }

    #[test]
    fn logs_of_subagents_know_their_session_in_both_layouts() {
        let id = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("projects/-w");
        fs::create_dir_all(project.join(id).join("subagents")).unwrap();
        let line = format!("{{\"type\":\"user\",\"sessionId\":\"{id}\",\"word\":\"plan\"}}\n");
        for name in [
            format!("{id}.jsonl"),
            "agent-aa.jsonl".into(),
            format!("{id}/subagents/agent-cc.jsonl"),
        ] {
            fs::write(project.join(name), &line).unwrap();
        }
        let home = Home::open(directory.path()).unwrap();
        let inventory = home.inventory();
        let names = |mut logs: Vec<HomeLog>| {
            assert!(logs.iter().all(|log| log.session == id.parse().ok()));
            logs.sort_by_key(HomeLog::name);
            logs.iter().map(HomeLog::name).collect::<Vec<_>>()
        };
        let all = [id, "agent-aa", "agent-cc"];
        assert_eq!(names(home.logs_with(&inventory, "plan")), all);
        assert_eq!(names(home.logs_of(&inventory, &inventory.sessions[0])), all);
        assert_eq!(names(home.logs_with(&inventory, "nothing")), [""; 0]);
        let sessions: Vec<&SessionFile> = inventory.sessions.iter().collect();
        assert_eq!(names(home.agent_logs_of(&inventory, &sessions)), all[1..]);
        assert_eq!(names(home.agent_logs_of(&inventory, &[])), [""; 0]);
    }
}
