//! Every file of a home that is worth keeping, by kind.
//!
//! Owns the rule that a path below the home has a kind, for all kinds at once. What can be
//! a secret has none, and is never opened; nor have the client's own caches.

use std::path::Path;
use std::path::PathBuf;

use recto_log::SessionId;

use crate::Home;
use crate::Skipped;
use crate::log::file_state::FileState;
use crate::log::log_file::LogName;
use crate::place::home::below;
use crate::place::secret_name::can_be_secret;
use crate::read::live::is_pid_file;

/// What a file of a home is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// The main log of a session.
    MainLog,
    /// The log of a subagent.
    AgentLog,
    /// What the client notes about a subagent beside its log.
    AgentMeta,
    /// A tool result that was too long for the log.
    ToolResult,
    /// The title that was given to a session, in a file of its own.
    SessionTitle,
    /// What the client lists of the sessions of a project.
    SessionsIndex,
    /// What the client counts of all sessions.
    StatsCache,
    /// What the model remembers about a project.
    Memory,
    /// The prompts that were typed.
    History,
    /// The to-dos of a session, as old clients keep them.
    Todo,
    /// A task of a session, as new clients keep them.
    Task,
    /// A plan.
    Plan,
    /// A copy of a file from before an edit.
    FileHistory,
    /// The announcement of a running client.
    Announcement,
}

/// A file of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeFile {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// What it was when it was listed.
    pub state: FileState,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [FileKind; 14] = [
        FileKind::MainLog,
        FileKind::AgentLog,
        FileKind::AgentMeta,
        FileKind::ToolResult,
        FileKind::SessionTitle,
        FileKind::SessionsIndex,
        FileKind::StatsCache,
        FileKind::Memory,
        FileKind::History,
        FileKind::Todo,
        FileKind::Task,
        FileKind::Plan,
        FileKind::FileHistory,
        FileKind::Announcement,
    ];

    /// A stable name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::MainLog => "log",
            FileKind::AgentLog => "agent-log",
            FileKind::AgentMeta => "agent-meta",
            FileKind::ToolResult => "tool-result",
            FileKind::SessionTitle => "title",
            FileKind::SessionsIndex => "sessions-index",
            FileKind::StatsCache => "stats-cache",
            FileKind::Memory => "memory",
            FileKind::History => "history",
            FileKind::Todo => "todo",
            FileKind::Task => "task",
            FileKind::Plan => "plan",
            FileKind::FileHistory => "file-history",
            FileKind::Announcement => "announcement",
        }
    }

    /// Whether a file of this kind only grows. Others are rewritten whole.
    pub fn grows(self) -> bool {
        match self {
            FileKind::MainLog | FileKind::AgentLog | FileKind::History => true,
            FileKind::AgentMeta
            | FileKind::ToolResult
            | FileKind::SessionTitle
            | FileKind::SessionsIndex
            | FileKind::StatsCache
            | FileKind::Memory
            | FileKind::Todo
            | FileKind::Task
            | FileKind::Plan
            | FileKind::FileHistory
            | FileKind::Announcement => false,
        }
    }

    /// Whether a file of this kind belongs to a session, in the folder of its project.
    pub(crate) fn is_of_session(self) -> bool {
        match self {
            FileKind::MainLog
            | FileKind::AgentLog
            | FileKind::AgentMeta
            | FileKind::ToolResult
            | FileKind::SessionTitle => true,
            FileKind::SessionsIndex
            | FileKind::StatsCache
            | FileKind::Memory
            | FileKind::History
            | FileKind::Todo
            | FileKind::Task
            | FileKind::Plan
            | FileKind::FileHistory
            | FileKind::Announcement => false,
        }
    }

    /// The kind with a name.
    pub fn of_name(name: &str) -> Option<FileKind> {
        FileKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of a file, by its path below the home.
    pub fn of(below: &Path) -> Option<FileKind> {
        let (parts, count) = parts(below)?;
        let kind = FileKind::by_parts(&parts[..count])?;
        // The name of a session's log is a uuid and cannot be a secret's; a home has thousands.
        (kind == FileKind::MainLog || !can_be_secret(below)).then_some(kind)
    }

    fn by_parts(parts: &[&str]) -> Option<FileKind> {
        match parts {
            ["history.jsonl"] => Some(FileKind::History),
            ["stats-cache.json"] => Some(FileKind::StatsCache),
            ["projects", _, "sessions-index.json"] => Some(FileKind::SessionsIndex),
            ["todos", name] => name.ends_with(".json").then_some(FileKind::Todo),
            ["tasks", _, name] => name.ends_with(".json").then_some(FileKind::Task),
            ["plans", name] => name.ends_with(".md").then_some(FileKind::Plan),
            ["file-history", session, _] if is_session(session) => Some(FileKind::FileHistory),
            ["sessions", name] => is_pid_file(name).then_some(FileKind::Announcement),
            ["projects", _, "memory", _, ..] => Some(FileKind::Memory),
            ["projects", _, name] => match LogName::of(name)? {
                LogName::Main(_) => Some(FileKind::MainLog),
                LogName::Agent(_) => Some(FileKind::AgentLog),
            },
            ["projects", _, session, "custom-title.json"] if is_session(session) => {
                Some(FileKind::SessionTitle)
            }
            ["projects", _, session, "tool-results", _] if is_session(session) => {
                Some(FileKind::ToolResult)
            }
            ["projects", _, session, "subagents", name] if is_session(session) => {
                // What is noted about an agent has the name of its log.
                let (log, kind) = match name.strip_suffix(".meta.json") {
                    Some(stem) => (format!("{stem}.jsonl"), FileKind::AgentMeta),
                    None => ((*name).to_owned(), FileKind::AgentLog),
                };
                matches!(LogName::of(&log), Some(LogName::Agent(_))).then_some(kind)
            }
            _ => None,
        }
    }

    /// The entry of the home that holds files of this kind.
    fn area(self) -> &'static str {
        match self {
            FileKind::MainLog
            | FileKind::AgentLog
            | FileKind::AgentMeta
            | FileKind::ToolResult
            | FileKind::SessionTitle
            | FileKind::SessionsIndex
            | FileKind::Memory => "projects",
            FileKind::StatsCache => "stats-cache.json",
            FileKind::History => "history.jsonl",
            FileKind::Todo => "todos",
            FileKind::Task => "tasks",
            FileKind::Plan => "plans",
            FileKind::FileHistory => "file-history",
            FileKind::Announcement => "sessions",
        }
    }
}

impl Home {
    /// The files of some kinds, in no order, and what could not be looked at.
    /// Directories that hold other kinds only are not listed, and nothing is opened.
    pub fn files(&self, kinds: &[FileKind]) -> (Vec<HomeFile>, Vec<Skipped>) {
        let (mut files, mut skipped) = (Vec::new(), Vec::new());
        let mut waiting = vec![self.root().to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in self.list(&directory, &mut skipped) {
                let Some(below) = below(self.root(), &entry.path) else { continue };
                if entry.is_directory {
                    if is_wanted_directory(below, kinds) {
                        waiting.push(entry.path);
                    }
                    continue;
                }
                let Some(kind) = FileKind::of(below).filter(|kind| kinds.contains(kind)) else {
                    continue;
                };
                // The file may have gone between the listing and now.
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_file() {
                    let state = FileState::listed(&metadata);
                    files.push(HomeFile { path: entry.path, kind, state });
                }
            }
        }
        (files, skipped)
    }
}

/// Whether a directory can hold files of these kinds.
pub(super) fn is_wanted_directory(below: &Path, kinds: &[FileKind]) -> bool {
    let Some((parts, count)) = parts(below) else { return false };
    let wants = |wanted: &[FileKind]| wanted.iter().any(|kind| kinds.contains(kind));
    match &parts[..count] {
        [area] => kinds.iter().any(|kind| kind.area() == *area),
        ["projects", _] | ["tasks" | "file-history", _] => true,
        ["projects", _, "memory", ..] => wants(&[FileKind::Memory]),
        ["projects", _, session] => {
            let inside = [FileKind::AgentLog, FileKind::AgentMeta, FileKind::ToolResult];
            is_session(session) && (wants(&inside) || wants(&[FileKind::SessionTitle]))
        }
        ["projects", _, _, "subagents"] => wants(&[FileKind::AgentLog, FileKind::AgentMeta]),
        ["projects", _, _, "tool-results"] => wants(&[FileKind::ToolResult]),
        _ => false,
    }
}

/// More parts of a path than this tell nothing more.
const MOST_PARTS: usize = 6;

/// The first parts of a path below the home, and how many they are; none if a part is not text.
/// A project may have any name.
fn parts(below: &Path) -> Option<([&str; MOST_PARTS], usize)> {
    let mut parts = [""; MOST_PARTS];
    let mut count = 0;
    for (at, part) in below.components().enumerate() {
        let text = match part.as_os_str().to_str() {
            None if at == 1 => "",
            text => text?,
        };
        if let Some(place) = parts.get_mut(at) {
            *place = text;
            count = at + 1;
        }
    }
    Some((parts, count))
}

fn is_session(name: &str) -> bool {
    name.parse::<SessionId>().is_ok()
}

#[cfg(test)]
mod tests {
    use recto_testkit::FakeHome;

    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    /// A home with a file of every kind, and others that have none.
    fn home_of_all_kinds() -> (FakeHome, Vec<(FileKind, String)>) {
        let home = FakeHome::new();
        let folder = format!("projects/-w/{ID}");
        let files = vec![
            (FileKind::FileHistory, format!("file-history/{ID}/0123456789abcdef@v1")),
            (FileKind::History, "history.jsonl".to_owned()),
            (FileKind::Plan, "plans/a-plan.md".to_owned()),
            (FileKind::AgentLog, "projects/-w/agent-0a1b2c3d.jsonl".to_owned()),
            (FileKind::Memory, "projects/-w/memory/MEMORY.md".to_owned()),
            (FileKind::Memory, "projects/-w/memory/topics/build.md".to_owned()),
            (FileKind::SessionTitle, format!("{folder}/custom-title.json")),
            (FileKind::AgentLog, format!("{folder}/subagents/agent-a1.jsonl")),
            (FileKind::AgentMeta, format!("{folder}/subagents/agent-a1.meta.json")),
            (FileKind::ToolResult, format!("{folder}/tool-results/b1234abcd.txt")),
            (FileKind::MainLog, format!("{folder}.jsonl")),
            (FileKind::SessionsIndex, "projects/-w/sessions-index.json".to_owned()),
            (FileKind::StatsCache, "stats-cache.json".to_owned()),
            (FileKind::Announcement, "sessions/12.json".to_owned()),
            (FileKind::Task, format!("tasks/{ID}/1.json")),
            (FileKind::Todo, format!("todos/{ID}-agent-{ID}.json")),
        ];
        for (_, file) in &files {
            home.write(file, "{}\n");
        }
        let others = [
            ".credentials.json",
            ".claude.json",
            "settings.json",
            "sessions/12.ab.key",
            "projects/-w/memory/deploy.pem",
            "projects/-w/memory/.env",
            "projects/-w/notes.txt",
            &format!("{folder}/tool-results/server.key"),
            &format!("tasks/{ID}/.lock"),
            &format!("file-history/{ID}/credentials@v1"),
            "debug/log.txt",
        ];
        for other in others {
            home.write(other, "secret");
        }
        (home, files)
    }

    fn found(home: &FakeHome, kinds: &[FileKind]) -> Vec<(FileKind, String)> {
        let home = Home::open(home.path()).unwrap();
        let (files, skipped) = home.files(kinds);
        assert_eq!(skipped.len(), 0);
        let name = |file: &HomeFile| {
            file.path.strip_prefix(home.root()).unwrap().to_string_lossy().replace('\\', "/")
        };
        let mut found: Vec<_> = files.iter().map(|file| (file.kind, name(file))).collect();
        found.sort_by(|(_, one), (_, other)| one.cmp(other));
        found
    }

    #[test]
    fn every_kind_is_found_and_no_secret_is() {
        let (home, mut files) = home_of_all_kinds();
        files.sort_by(|(_, one), (_, other)| one.cmp(other));
        assert_eq!(found(&home, &FileKind::ALL), files);
        for kind in FileKind::ALL {
            let of_kind: Vec<_> = files.iter().filter(|file| file.0 == kind).cloned().collect();
            assert!(!of_kind.is_empty(), "{kind:?}");
            assert_eq!(found(&home, &[kind]), of_kind);
        }
    }

    #[test]
    fn who_wants_logs_does_not_look_elsewhere() {
        let logs = [FileKind::MainLog, FileKind::AgentLog];
        let wanted = |below: &str| is_wanted_directory(Path::new(below), &logs);
        for other in ["todos", "plans", "sessions", "debug", "projects/-w/memory", "projects/-w/x"]
        {
            assert!(!wanted(other), "{other}");
        }
        let folder = format!("projects/-w/{ID}");
        assert!(!wanted(&format!("{folder}/tool-results")));
        for own in ["projects", "projects/-w", &folder, &format!("{folder}/subagents")] {
            assert!(wanted(own), "{own}");
        }
    }
}
