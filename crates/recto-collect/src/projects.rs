//! Which project a kept file belongs to: by the directory that its session was started in, not by
//! the name of a folder, which several directories can share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use recto_log::ProjectKey;
use recto_log::SessionId;
use recto_log::json::Value;
use recto_store::follow::FileKind;
use recto_store::keep::Archive;
use recto_store::keep::FileKey;
use recto_store::keep::Lives;
use recto_store::keep::Part;
use recto_store::keep::session_of;

use crate::filter::Cut;
use crate::filter::Cutter;
use crate::policy::Policy;
use crate::policy::Project;

/// So many bytes of a log are searched for its directory.
const SEARCHED: usize = 1024 * 1024;

/// The projects of kept files, as far as somebody asked for them.
pub(crate) struct Projects<'a> {
    archive: &'a Archive,
    policy: &'a Policy,
    directories: RefCell<HashMap<FileKey, Option<String>>>,
    remotes: RefCell<HashMap<String, Option<String>>>,
    /// Directories by the folder of a project.
    folders: RefCell<Option<HashMap<String, String>>>,
}

impl<'a> Projects<'a> {
    pub(crate) fn new(archive: &'a Archive, policy: &'a Policy) -> Projects<'a> {
        Projects {
            archive,
            policy,
            directories: RefCell::default(),
            remotes: RefCell::default(),
            folders: RefCell::default(),
        }
    }

    /// Whether the policy lets a file go, by its project.
    pub(crate) fn takes(&self, file: FileKey, kind: FileKind, path: &str) -> bool {
        if !self.policy.chooses_projects() || kind == FileKind::History {
            return true;
        }
        let directory = match (kind, session_of(kind, path)) {
            (FileKind::MainLog, _) | (FileKind::AgentLog, None) => self.directory(file),
            (_, Some(session)) => self.directory(self.log_of(session, path)),
            (_, None) => self.of_folder(path),
        };
        self.takes_directory(directory)
    }

    /// Whether a line of the history goes.
    pub(crate) fn takes_prompt(&self, line: &[u8]) -> bool {
        if !self.policy.chooses_projects() {
            return true;
        }
        let line = Value::parse(line.trim_ascii()).ok();
        let directory = line.and_then(|line| line.str("project").map(|text| text.into_owned()));
        self.takes_directory(directory)
    }

    fn takes_directory(&self, directory: Option<String>) -> bool {
        let remote = match &directory {
            Some(directory) if self.policy.asks_for_remotes() => {
                let mut remotes = self.remotes.borrow_mut();
                let remote = remotes.entry(directory.clone());
                remote.or_insert_with(|| recto_store::git_remote(Path::new(directory))).clone()
            }
            _ => None,
        };
        self.policy.takes(&Project { directory, remote })
    }

    /// The directory that a log names first.
    fn directory(&self, log: FileKey) -> Option<String> {
        if let Some(known) = self.directories.borrow().get(&log) {
            return known.clone();
        }
        let found = self.first_directory(log);
        self.directories.borrow_mut().insert(log, found.clone());
        found
    }

    fn first_directory(&self, log: FileKey) -> Option<String> {
        let lives = Lives::of(self.archive.parts(log).ok()?);
        let mut found = None;
        for life in lives.ids() {
            for range in lives.segments(life) {
                let part = Part::Lines { life, range: *range };
                let mut cutter = Cutter::default();
                let mut searched = 0;
                // It ends with an error as soon as it is found; what is damaged says nothing.
                let _ = self.archive.read_part(log, &part, |piece| {
                    searched += piece.len();
                    cutter.take(piece, |cut| {
                        if let Cut::Line(line) = cut
                            && let Ok(line) = Value::parse(line.trim_ascii())
                            && let Some(cwd) = line.str("cwd")
                        {
                            found = Some(cwd.into_owned());
                            return Err(std::io::ErrorKind::Other.into());
                        }
                        Ok(())
                    })?;
                    match searched > SEARCHED {
                        true => Err(std::io::ErrorKind::Other.into()),
                        false => Ok(()),
                    }
                });
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// The log of the session that a file belongs to: that of its own project, or if the path names
    /// no project, whichever it is in.
    fn log_of(&self, session: SessionId, path: &str) -> FileKey {
        let below = path.strip_prefix("projects/").and_then(|rest| rest.split('/').next());
        let log = format!("projects/{}/{session}.jsonl", below.unwrap_or("-"));
        let usual = FileKey::of(FileKind::MainLog, &log);
        self.archive.key_at(FileKind::MainLog, &log).unwrap_or(usual)
    }

    /// The directory of a folder below `projects/`, by the sessions in it.
    fn of_folder(&self, path: &str) -> Option<String> {
        let folder = path.strip_prefix("projects/")?.split('/').next()?;
        let mut folders = self.folders.borrow_mut();
        let folders = folders.get_or_insert_with(|| {
            let logs = self.archive.files().unwrap_or_default();
            let named = logs.into_iter().filter_map(|log| self.directory(log));
            named.map(|one| (ProjectKey::of_path(&one).as_str().to_owned(), one)).collect()
        });
        folders.get(folder).cloned()
    }
}
