//! What belongs to a session and goes with it.

use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::StoreError;
use crate::place::error::PlaceError;

/// All files of a session, and the directories that hold nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionParts {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The directories, inner ones first.
    pub directories: Vec<PathBuf>,
}

impl Home {
    /// Everything that belongs to a session and to no other: its log, those of
    /// its subagents, long results, tasks, lists of things to do, files as they
    /// were before an edit.
    pub fn parts_of(
        &self,
        inventory: &Inventory,
        session: &SessionFile,
    ) -> Result<SessionParts, StoreError> {
        let mut parts = SessionParts { files: vec![session.path.clone()], directories: Vec::new() };
        let id = session.id.to_string();
        for agent in self.agents_of(inventory, session) {
            let folder = session.folder();
            if !agent.path.starts_with(&folder) {
                parts.files.push(agent.path);
            }
        }
        parts.files.extend(self.sidecars_of(session).todos);
        for directory in [session.folder(), self.tasks().join(&id), self.file_history().join(&id)] {
            if self.contains(&directory) && directory.is_dir() {
                collect(&directory, &mut parts)?;
            }
        }
        Ok(parts)
    }
}

/// Adds what is below a directory. Anything else than files and directories is
/// refused: a link could lead anywhere.
pub(crate) fn collect(directory: &Path, parts: &mut SessionParts) -> Result<(), StoreError> {
    let mut directories = vec![directory.to_owned()];
    let mut at = 0;
    while let Some(directory) = directories.get(at).cloned() {
        at += 1;
        let mut entries = Vec::new();
        for entry in fs::read_dir(&directory)? {
            entries.push(entry?.path());
        }
        entries.sort();
        for path in entries {
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() {
                directories.push(path);
            } else if metadata.is_file() {
                parts.files.push(path);
            } else if metadata.is_symlink() {
                return Err(PlaceError::Link { path }.into());
            } else {
                return Err(PlaceError::NotAFile { path }.into());
            }
        }
    }
    // Those found later are inside of those found before.
    parts.directories.extend(directories.into_iter().rev());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    #[test]
    #[cfg(unix)]
    fn a_link_in_a_session_is_named_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let subagents = folder.path().join("subagents");
        fs::create_dir(&subagents).unwrap();
        fs::write(outside.path().join("x"), "x").unwrap();
        let link = subagents.join("agent-a1.jsonl");
        std::os::unix::fs::symlink(outside.path().join("x"), &link).unwrap();
        let error = collect(folder.path(), &mut SessionParts::default()).unwrap_err();
        let is_named =
            matches!(&error, StoreError::Place(PlaceError::Link { path }) if *path == link);
        assert!(is_named, "{error}");
    }

    #[test]
    fn a_session_has_its_own_parts_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = folder.path().join(path.replace("ID", ID));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{{\"sessionId\":\"{ID}\"}}\n")).unwrap();
        };
        for path in [
            "projects/-w/ID.jsonl",
            "projects/-w/ID/subagents/agent-a1.jsonl",
            "projects/-w/ID/subagents/agent-a1.meta.json",
            "projects/-w/ID/tool-results/x.txt",
            "projects/-w/agent-b2.jsonl",
            "todos/ID-agent-ID.json",
            "tasks/ID/1.json",
            "tasks/ID/.lock",
            "file-history/ID/abc@v1",
        ] {
            write(path);
        }
        write("todos/other.json");
        write("projects/-w/memory/MEMORY.md");
        let home = Home::open(folder.path()).unwrap();
        let inventory = home.inventory();
        let parts = home.parts_of(&inventory, &inventory.sessions[0]).unwrap();
        assert_eq!(parts.files.len(), 9);
        let names = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
        let directories: Vec<PathBuf> = parts.directories.iter().map(names).collect();
        let expected = [
            "projects/-w/ID/tool-results",
            "projects/-w/ID/subagents",
            "projects/-w/ID",
            "tasks/ID",
            "file-history/ID",
        ];
        assert_eq!(directories, expected.map(|path| PathBuf::from(path.replace("ID", ID))));
    }
}
