//! What belongs to a session beside its log.

use std::fs::Metadata;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use recto_log::SessionId;
use recto_log::ToolUseId;

use crate::Home;
use crate::SessionFile;
use crate::log::log_file::session_folder_above;

/// The files of a session beside its log. Only paths that exist are given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sidecars {
    /// Results that were too long for the log.
    pub overflow: Vec<PathBuf>,
    /// Lists of things to do (clients up to 2.1.29).
    pub todos: Vec<PathBuf>,
    /// Tasks (newer clients).
    pub tasks: Vec<PathBuf>,
    /// Files as they were before an edit.
    pub file_history: Vec<PathBuf>,
    /// The title given by the user (2.1.325).
    pub custom_title: Option<PathBuf>,
}

impl Home {
    /// Looks for everything that belongs to a session.
    pub fn sidecars_of(&self, session: &SessionFile) -> Sidecars {
        let id = session.id.to_string();
        let folder = session.folder();
        let files = |directory: PathBuf| -> Vec<PathBuf> {
            let mut files: Vec<PathBuf> = self
                .list(&directory, &mut Vec::new())
                .into_iter()
                .filter(|file| !file.is_directory && !file.name.ends_with(".lock"))
                .map(|file| file.path)
                .collect();
            files.sort();
            files
        };
        let mut todos = files(self.todos());
        todos.retain(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&id))
        });
        let custom_title = folder.join("custom-title.json");
        Sidecars {
            overflow: files(folder.join("tool-results")),
            todos,
            tasks: files(self.tasks().join(&id)),
            file_history: files(self.file_history().join(&id)),
            custom_title: custom_title.is_file().then_some(custom_title),
        }
    }

    /// The file with the whole result of a tool call, where the log has only
    /// its beginning.
    ///
    /// Client 2.1.29 names the file after the call; later ones give it a name of
    /// its own, which the text of the result says. Of that path only the last
    /// part is used: the log may have come from another machine, and what it
    /// says must not lead out of the session's folder. Nor must a link: the file
    /// must really be where its name says.
    pub fn overflow_file(
        &self,
        log: &Path,
        call: Option<&ToolUseId>,
        persisted_path: Option<&str>,
    ) -> Option<OverflowFile> {
        self.overflow_paths(log, call, persisted_path).into_iter().find_map(|path| {
            let metadata = fs::symlink_metadata(&path).ok().filter(Metadata::is_file)?;
            let is_there = fs::canonicalize(&path).is_ok_and(|real| real == path);
            is_there.then_some(OverflowFile { bytes: metadata.len(), path })
        })
    }

    /// All files that may have whole results of a log.
    pub(crate) fn overflow_files(&self, log: &Path) -> Vec<OverflowFile> {
        let Some((project, folder)) = session_folder(log) else { return Vec::new() };
        let folder = project.join(folder).join("tool-results");
        let listed = self.list(&folder, &mut Vec::new()).into_iter();
        listed
            .filter(|file| file.name.ends_with(".txt"))
            .filter_map(|file| self.overflow_file(log, None, Some(&file.name)))
            .collect()
    }

    /// Whether something is where that file should be, and is not opened because it
    /// is a link, or no file; or whether its name would lead elsewhere.
    pub fn overflow_is_refused(
        &self,
        log: &Path,
        call: Option<&ToolUseId>,
        persisted_path: Option<&str>,
    ) -> bool {
        let name = persisted_path.and_then(|path| path.rsplit(['/', '\\']).next());
        let leads_away = name.is_some_and(|name| !is_plain_name(name));
        let mut paths = self.overflow_paths(log, call, persisted_path).into_iter();
        self.overflow_file(log, call, persisted_path).is_none()
            && (leads_away || paths.any(|path| fs::symlink_metadata(path).is_ok()))
    }

    fn overflow_paths(
        &self,
        log: &Path,
        call: Option<&ToolUseId>,
        persisted_path: Option<&str>,
    ) -> Vec<PathBuf> {
        let Some((project, folder)) = session_folder(log) else { return Vec::new() };
        let Some(project) = fs::canonicalize(project)
            .ok()
            .filter(|real| self.contains(real) || self.has_copies_in(real))
        else {
            return Vec::new();
        };
        let folder = project.join(folder).join("tool-results");
        let by_path = persisted_path.and_then(|path| path.rsplit(['/', '\\']).next());
        let by_call = call.map(|call| format!("{call}.txt"));
        let names = by_path.map(str::to_owned).into_iter().chain(by_call);
        names.filter(|name| is_plain_name(name)).map(|name| folder.join(name)).collect()
    }
}

/// A file with the whole result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverflowFile {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// The project's directory of a log, and the name of the session's folder in it.
/// The log of a subagent may be in that folder itself.
pub(crate) fn session_folder(log: &Path) -> Option<(&Path, &str)> {
    let (project, name) = match session_folder_above(log) {
        Some(folder) => (folder.parent()?, folder.file_name()?),
        None => (log.parent()?, log.file_stem()?),
    };
    let name = name.to_str()?;
    name.parse::<SessionId>().is_ok().then_some((project, name))
}

/// A name that cannot lead anywhere else.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecars_are_found_and_overflow_stays_in_its_folder() {
        let id = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
        let directory = tempfile::tempdir().unwrap();
        let write = |path: String, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(format!("projects/-w/{id}.jsonl"), "{}\n");
        write(format!("projects/-w/{id}/tool-results/toolu_1.txt"), "old");
        write(format!("projects/-w/{id}/tool-results/b12345678.txt"), "new");
        write(format!("projects/-w/{id}/custom-title.json"), "{}");
        write(format!("todos/{id}-agent-{id}.json"), "[]");
        write("todos/other.json".into(), "[]");
        write(format!("tasks/{id}/1.json"), "{}");
        write(format!("tasks/{id}/.lock"), "");
        write(format!("file-history/{id}/f4661088e6996082@v1"), "x");
        write("secret.txt".into(), "secret");
        let home = Home::open(directory.path()).unwrap();
        let session = home.inventory().sessions.remove(0);
        let sidecars = home.sidecars_of(&session);
        assert_eq!(sidecars.overflow.len(), 2);
        assert_eq!(sidecars.todos.len(), 1);
        assert_eq!(sidecars.tasks.len(), 1);
        assert_eq!(sidecars.file_history.len(), 1);
        assert!(sidecars.custom_title.is_some());
        let find = |call: &str, path: Option<&str>| {
            let found = home.overflow_file(&session.path, Some(&ToolUseId::new(call)), path);
            found.map(|file| fs::read_to_string(file.path).unwrap())
        };
        assert_eq!(find("toolu_1", None).as_deref(), Some("old"));
        let other = "/home/else/.claude/projects/-x/s/tool-results/b12345678.txt";
        assert_eq!(find("toolu_9", Some(other)).as_deref(), Some("new"));
        assert_eq!(find("../../../../secret", None), None);
        assert_eq!(find("toolu_9", Some("..")), None);
        // The log of a subagent has its results in the folder of the session.
        let agent = session.folder().join("subagents/agent-a1.jsonl");
        assert!(home.overflow_file(&agent, Some(&ToolUseId::new("toolu_1")), None).is_some());
        // Whatever is no session of the home has no folder.
        for other in ["/etc/passwd", "x.jsonl", "/", "", "projects/-w/notes.jsonl"] {
            let found = home.overflow_file(Path::new(other), Some(&ToolUseId::new("t")), None);
            assert_eq!(found, None, "{other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn overflow_is_not_found_through_links() {
        use std::os::unix::fs::symlink;
        let (first, second) =
            ("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", "3f2b0000-9d8e-4f70-a1b2-c3d4e5f60718");
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("home/projects/-w");
        let folder = project.join(first).join("tool-results");
        fs::create_dir_all(&folder).unwrap();
        fs::write(directory.path().join("outside.txt"), "outside").unwrap();
        fs::write(directory.path().join("home/settings.json"), "{}").unwrap();
        fs::write(folder.join("real.txt"), "real").unwrap();
        symlink(directory.path().join("outside.txt"), folder.join("out.txt")).unwrap();
        symlink(directory.path().join("home/settings.json"), folder.join("home.txt")).unwrap();
        symlink("real.txt", folder.join("same.txt")).unwrap();
        // The folder of the other session is a link to the first one's.
        symlink(project.join(first), project.join(second)).unwrap();
        let home = Home::open(directory.path().join("home")).unwrap();
        let find = |id: &str, name: &str| {
            let log = project.join(format!("{id}.jsonl"));
            home.overflow_file(&log, None, Some(name)).is_some()
        };
        assert!(find(first, "real.txt"));
        let is_refused = |id: &str, name: &str| {
            let log = project.join(format!("{id}.jsonl"));
            home.overflow_is_refused(&log, None, Some(name))
        };
        for name in ["out.txt", "home.txt", "same.txt"] {
            assert!(!find(first, name) && is_refused(first, name), "{name}");
        }
        assert!(!find(first, "gone.txt") && !is_refused(first, "gone.txt"));
        assert!(!is_refused(first, "real.txt"));
        assert!(!find(second, "real.txt") && is_refused(second, "real.txt"));
    }
}
