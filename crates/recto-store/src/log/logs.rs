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
use recto_log::SessionId;

use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::StoreError;
use crate::each_alone;
use crate::log::log_file::LogFile;
use crate::open_file;
use crate::place::platform::timestamp;

impl LogFile {
    /// Whether it holds the word somewhere in its bytes. One that cannot be read may.
    pub fn holds(&self, word: &str) -> bool {
        holds(&self.path, &memmem::Finder::new(word.as_bytes())).unwrap_or(true)
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
    /// All logs of the home, main logs first. Whose an old log of a subagent is, is not
    /// read: see [`LogFile::owner`].
    pub fn logs(&self, inventory: &Inventory) -> Vec<LogFile> {
        let sessions = inventory.sessions.iter().map(|session| LogFile::clone(session));
        sessions.chain(self.all_agents(inventory)).collect()
    }

    /// All logs that count: also those beside the main logs whose names say nothing.
    pub fn every_log(&self, inventory: &Inventory) -> Vec<LogFile> {
        let mut logs = self.logs(inventory);
        logs.extend(inventory.named_otherwise.iter().cloned());
        logs
    }

    /// The log of a session and those of its subagents.
    pub fn logs_of(&self, inventory: &Inventory, session: &SessionFile) -> Vec<LogFile> {
        let agents = self.agents_of(inventory, session);
        std::iter::once(LogFile::clone(session)).chain(agents).collect()
    }

    /// The logs of the subagents of some sessions, in the order of the sessions.
    /// Each is looked at once, however many sessions there are.
    pub fn agent_logs_of(&self, inventory: &Inventory, sessions: &[&SessionFile]) -> Vec<LogFile> {
        let agents = self.all_agents(inventory).into_par_iter();
        let agents: Vec<LogFile> = agents.map(LogFile::with_owner).collect();
        let mut by_session: HashMap<(PathBuf, SessionId), Vec<LogFile>> = HashMap::new();
        for log in agents {
            if let Some(session) = log.session {
                by_session.entry((log.project.path.clone(), session)).or_default().push(log);
            }
        }
        let mut logs = Vec::new();
        for session in sessions {
            let of_it = by_session.remove(&(session.project.path.clone(), session.id));
            let mut of_it = of_it.unwrap_or_default();
            of_it.sort_by(|a, b| (a.state.modified, &a.agent).cmp(&(b.state.modified, &b.agent)));
            logs.extend(of_it);
        }
        logs
    }

    /// All logs that hold the word somewhere in their bytes. A log that cannot
    /// be read is among them: who reads it will say why it cannot.
    pub fn logs_with(&self, inventory: &Inventory, word: &str) -> Vec<LogFile> {
        let finder = memmem::Finder::new(word.as_bytes());
        let fits = |path: &Path| holds(path, &finder).unwrap_or(true);
        let logs = self.logs(inventory);
        each_alone(&logs)
            .filter(|log| log.bytes() > 0 && fits(&log.path))
            .map(|log| log.clone().with_owner())
            .collect()
    }

    /// All logs that are not empty, the newest first.
    pub fn all_logs(&self, inventory: &Inventory) -> Vec<LogFile> {
        let logs = self.logs(inventory).into_par_iter().filter(|log| log.bytes() > 0);
        let mut logs: Vec<LogFile> = logs.map(LogFile::with_owner).collect();
        logs.sort_by(|a, b| {
            b.state.modified.cmp(&a.state.modified).then_with(|| a.path.cmp(&b.path))
        });
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
        let names = |mut logs: Vec<LogFile>| {
            assert!(logs.iter().all(|log| log.session == id.parse().ok()));
            logs.sort_by_key(LogFile::name);
            logs.iter().map(LogFile::name).collect::<Vec<_>>()
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
