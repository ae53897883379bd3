//! How much room the parts of a home take.

use std::path::Path;

use fs_err as fs;
use rayon::prelude::*;

use crate::Home;

/// One part of the home: a file or directory at its top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// Its name.
    pub name: String,
    /// Files in it.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
    /// What it holds, where that is known.
    pub about: &'static str,
}

impl Home {
    /// Counts files and bytes by part, the largest first. Names and sizes are
    /// looked at, contents are not; links are not followed.
    pub fn areas(&self) -> Vec<Area> {
        let entries = self.list(self.root(), &mut Vec::new());
        let mut areas: Vec<Area> = entries
            .into_par_iter()
            .map(|entry| {
                let (files, bytes) = count(&entry.path);
                let about = about(&entry.name);
                Area { name: entry.name, files, bytes, about }
            })
            .collect();
        areas.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        areas
    }
}

/// Files and bytes below a path, without recursion in depth of the tree.
fn count(path: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            if let Ok(entries) = fs::read_dir(&path) {
                waiting.extend(entries.flatten().map(|entry| entry.path()));
            }
        } else if metadata.is_file() {
            files += 1;
            bytes += metadata.len();
        }
    }
    (files, bytes)
}

fn about(name: &str) -> &'static str {
    match name {
        "projects" => "session logs, subagents, long results",
        "todos" => "to-do lists (old clients)",
        "tasks" => "tasks",
        "plans" => "plans",
        "file-history" => "files before each edit",
        "history.jsonl" => "prompts you typed",
        "sessions" => "running clients",
        "settings.json" => "user settings",
        "stats-cache.json" => "Claude Code's statistics",
        "debug" => "debug logs",
        "backups" => "backups of Claude Code's configuration",
        "shell-snapshots" => "shell state",
        "plugins" => "plugins",
        "CLAUDE.md" => "user memory",
        "memory" => "memory",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_the_largest_first() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("projects/-w/deep/er")).unwrap();
        fs::write(directory.path().join("projects/-w/deep/er/a"), "12345").unwrap();
        fs::write(directory.path().join("projects/-w/b"), "67").unwrap();
        fs::write(directory.path().join("history.jsonl"), "1").unwrap();
        let areas = Home::open(directory.path()).unwrap().areas();
        let seen: Vec<(&str, u64, u64)> =
            areas.iter().map(|area| (area.name.as_str(), area.files, area.bytes)).collect();
        assert_eq!(seen, [("projects", 2, 7), ("history.jsonl", 1, 1)]);
    }
}
