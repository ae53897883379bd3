//! Discovery: which projects and sessions there are.
//!
//! Only names and sizes are looked at, in parallel, so that a home of 100,000
//! files is listed in milliseconds. What cannot be looked at is skipped and
//! said; a file that vanishes meanwhile is not there.

use std::collections::HashSet;
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use fs_err as fs;
use rayon::prelude::*;
use recto_log::SessionId;

use crate::Home;
use crate::StoreError;
use crate::log::log_file::LogFile;
use crate::log::log_file::LogName;
use crate::log::log_file::PROJECTS;
use crate::log::log_file::Project;
use crate::log::log_file::SessionFile;
use crate::place::error::PlaceError;
use crate::place::open::follow;

/// Something that was not looked at, and why.
#[derive(Debug, Clone)]
pub struct Skipped {
    /// The path.
    pub path: PathBuf,
    /// Why, in words.
    pub reason: String,
}

impl Skipped {
    /// What could not be searched, for `error`. The client removes files while they are
    /// read: what is gone is not to be searched.
    pub(crate) fn unsearched(path: &Path, error: &StoreError) -> Option<Skipped> {
        match error {
            StoreError::Io(error) if error.kind() == io::ErrorKind::NotFound => None,
            error => {
                let reason = format!("cannot be searched: {error}");
                Some(Skipped { path: path.to_owned(), reason })
            }
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "skipped: {} {}", self.path.display(), self.reason)
    }
}

/// The folder of a session.
#[derive(Debug, Clone)]
pub(crate) struct SessionFolder {
    pub(crate) project: Arc<Project>,
    pub(crate) path: PathBuf,
}

/// What is in a home.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// The projects, by name.
    pub projects: Vec<Arc<Project>>,
    /// The main logs, newest first.
    pub sessions: Vec<SessionFile>,
    /// The logs of subagents beside the main logs.
    pub(crate) loose_agents: Vec<LogFile>,
    /// Logs in projects whose names say neither a session nor a subagent: they were renamed,
    /// or written by something else. Clients do not find them.
    pub(crate) named_otherwise: Vec<LogFile>,
    /// The folders of sessions, where newer clients put what belongs to one.
    pub(crate) folders: Vec<SessionFolder>,
    /// What was not looked at.
    pub skipped: Vec<Skipped>,
}

impl Home {
    /// Looks at all projects.
    pub fn inventory(&self) -> Inventory {
        let mut inventory = self.inventory_of(&self.projects(), false);
        if let Some(tree) = &self.archived {
            let present = inventory.sessions.iter().map(|session| session.id).collect();
            let skipped = |(path, reason)| Skipped { path, reason };
            let projects = tree.root().join(PROJECTS);
            match (tree.refresh)(tree, &present) {
                Ok(problems) => {
                    inventory.skipped.extend(problems.into_iter().map(skipped));
                    if projects.is_dir() {
                        inventory.add_archived(self.inventory_of(&projects, true), &present);
                    }
                }
                Err(problem) => inventory.skipped.push(skipped(problem)),
            }
        }
        inventory.sessions.par_sort_unstable_by(|a, b| {
            b.state
                .modified
                .cmp(&a.state.modified)
                .then_with(|| a.id.cmp(&b.id))
                .then_with(|| a.project.key.cmp(&b.project.key))
        });
        inventory
    }

    /// What is in a directory of projects, in no particular order.
    fn inventory_of(&self, projects: &Path, is_archived: bool) -> Inventory {
        let mut inventory = Inventory::default();
        let mut directories = Vec::new();
        for entry in self.list(projects, &mut inventory.skipped) {
            if entry.is_directory {
                directories.push(entry);
            }
        }
        directories.sort_by(|a, b| a.name.cmp(&b.name));
        let found: Vec<Found> = directories
            .into_par_iter()
            .map(|directory| self.look_into(directory, is_archived))
            .collect();
        for one in found {
            inventory.projects.push(one.project);
            inventory.sessions.extend(one.sessions);
            inventory.loose_agents.extend(one.loose_agents);
            inventory.named_otherwise.extend(one.named_otherwise);
            inventory.folders.extend(one.folders);
            inventory.skipped.extend(one.skipped);
        }
        inventory
    }

    fn look_into(&self, directory: Listed, is_archived: bool) -> Found {
        let mut skipped = Vec::new();
        let project = Arc::new(Project { key: directory.name, path: directory.path, is_archived });
        let mut found = Found {
            project: Arc::clone(&project),
            sessions: Vec::new(),
            loose_agents: Vec::new(),
            named_otherwise: Vec::new(),
            folders: Vec::new(),
            skipped: Vec::new(),
        };
        for file in self.list(&project.path, &mut skipped) {
            if file.is_directory {
                if file.name.parse::<SessionId>().is_ok() {
                    let project = Arc::clone(&project);
                    found.folders.push(SessionFolder { project, path: file.path });
                }
                continue;
            }
            let name = LogName::of(&file.name);
            if name.is_none() && !file.name.ends_with(".jsonl") {
                continue;
            }
            // The file may have gone between the listing and now.
            let Ok(metadata) = file.metadata() else { continue };
            if !metadata.is_file() {
                continue;
            }
            let log = LogFile::listed(file.path, Arc::clone(&project), name, &metadata);
            match (log.is_agent(), SessionFile::of(log.clone())) {
                (true, _) => found.loose_agents.push(log),
                (false, Some(session)) => found.sessions.push(session),
                (false, None) => found.named_otherwise.push(log),
            }
        }
        found.skipped = skipped;
        found
    }

    /// Size and times of what is at a path of the home, by the rules of a listing: a
    /// symbolic link that leads out of the home is nothing.
    pub(crate) fn look_at(&self, path: &Path) -> Option<Metadata> {
        let metadata = fs::symlink_metadata(path).ok()?;
        if !metadata.is_symlink() {
            return Some(metadata);
        }
        if self.may_follow(path).is_ok() { fs::metadata(path).ok() } else { None }
    }

    /// Whether a symbolic link may be followed: to a directory inside the home, to a file
    /// only within its own folder, and never to what can hold a secret.
    fn may_follow(&self, link: &Path) -> Result<(), &'static str> {
        if !self.contains(link) {
            return Err(LEADS_OUT);
        }
        match follow(link) {
            Ok(_) => Ok(()),
            Err(StoreError::Place(PlaceError::Secret { .. })) => Err(IS_SECRET),
            Err(_) if link.is_dir() => Ok(()),
            Err(_) => Err(LEADS_AWAY),
        }
    }

    /// The entries of a directory. Symbolic links are followed only inside the home.
    pub(crate) fn list(&self, directory: &Path, skipped: &mut Vec<Skipped>) -> Vec<Listed> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                skipped.push(Skipped { path: directory.to_owned(), reason: plain_reason(&error) });
                return Vec::new();
            }
        };
        let mut listed = Vec::new();
        for entry in entries {
            let Ok(entry) = entry else { continue };
            let path = entry.path();
            let Ok(file_type) = entry.file_type() else { continue };
            let mut is_directory = file_type.is_dir();
            if file_type.is_symlink() {
                if let Err(reason) = self.may_follow(&path) {
                    skipped.push(Skipped { path, reason: reason.into() });
                    continue;
                }
                is_directory = path.is_dir();
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            listed.push(Listed {
                name,
                path,
                is_directory,
                entry,
                is_link: file_type.is_symlink(),
            });
        }
        listed
    }
}

/// Why a symbolic link is not followed.
const LEADS_OUT: &str = "is a symbolic link that leads out of the home";
/// The same, for a file.
const LEADS_AWAY: &str = "is a symbolic link that leads out of its folder";
/// The same, for a file that is never opened.
const IS_SECRET: &str = "is a symbolic link to a file that can contain a secret";

/// An entry of a directory.
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) is_directory: bool,
    is_link: bool,
    entry: fs::DirEntry,
}

impl Listed {
    /// Size and times of what is there, through a symbolic link.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        // Asking by the open directory saves the walk along the path.
        if self.is_link { fs::metadata(&self.path) } else { self.entry.metadata() }
    }
}

/// What is in a project.
struct Found {
    project: Arc<Project>,
    sessions: Vec<SessionFile>,
    loose_agents: Vec<LogFile>,
    named_otherwise: Vec<LogFile>,
    folders: Vec<SessionFolder>,
    skipped: Vec<Skipped>,
}

impl Inventory {
    /// Adds what only the archive has. A session that is in the home is that one, whatever another
    /// process has made of the copies meanwhile.
    fn add_archived(&mut self, archived: Inventory, present: &HashSet<SessionId>) {
        let is_gone = |session: Option<SessionId>| session.is_none_or(|id| !present.contains(&id));
        let keys: HashSet<String> = self.projects.iter().map(|one| one.key.clone()).collect();
        let projects = archived.projects.into_iter();
        self.projects.extend(projects.filter(|project| !keys.contains(&project.key)));
        self.sessions.extend(archived.sessions.into_iter().filter(|one| is_gone(Some(one.id))));
        let there: HashSet<String> = self.loose_agents.iter().map(LogFile::name_in_home).collect();
        let agents = archived.loose_agents.into_iter();
        self.loose_agents.extend(agents.filter(|log| !there.contains(&log.name_in_home())));
        self.folders.extend(archived.folders.into_iter().filter(|folder| {
            let name = folder.path.file_name().and_then(|name| name.to_str());
            is_gone(name.and_then(|name| name.parse().ok()))
        }));
        self.skipped.extend(archived.skipped);
    }

    /// The sessions of a project, newest first.
    pub fn sessions_in<'a>(
        &'a self,
        project: &'a Project,
    ) -> impl Iterator<Item = &'a SessionFile> {
        self.sessions.iter().filter(|session| session.project.key == project.key)
    }
}

/// The reason without the path, which stands beside it.
fn plain_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "may not be read".into(),
        io::ErrorKind::NotADirectory => "is not a directory".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    #[test]
    fn sessions_are_found_newest_first_and_odd_files_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::open(directory.path()).unwrap();
        assert_eq!(home.inventory().sessions.len(), 0);
        let project = home.projects().join("-w");
        fs::create_dir_all(project.join("sub")).unwrap();
        fs::write(home.projects().join("stray.jsonl"), "x").unwrap();
        let other = ID.replace('3', "4");
        for (name, age) in [(ID, 100), (other.as_str(), 50)] {
            let path = project.join(format!("{name}.jsonl"));
            fs::write(&path, "{}\n").unwrap();
            let time = SystemTime::now() - std::time::Duration::from_secs(age);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        fs::write(project.join("agent-a1.jsonl"), "").unwrap();
        fs::write(project.join("sessions-index.json"), "{}").unwrap();
        let inventory = home.inventory();
        let ids: Vec<String> = inventory.sessions.iter().map(|s| s.id.to_string()).collect();
        assert_eq!(ids, [other.as_str(), ID]);
        assert_eq!(inventory.loose_agents.len(), 1);
        assert_eq!(inventory.skipped.len(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_home_are_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        let project = outside.path().join("-out");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join(format!("{ID}.jsonl")), "{}\n").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let home = Home::open(directory.path()).unwrap();
        let inside = home.projects().join("-in");
        fs::create_dir_all(&inside).unwrap();
        fs::write(inside.join(format!("{ID}.jsonl")), "{}\n").unwrap();
        std::os::unix::fs::symlink(&project, home.projects().join("-out")).unwrap();
        std::os::unix::fs::symlink(&inside, home.projects().join("-link")).unwrap();
        std::os::unix::fs::symlink(
            project.join(format!("{ID}.jsonl")),
            inside.join("4f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl"),
        )
        .unwrap();
        let inventory = home.inventory();
        let keys: Vec<&str> = inventory.projects.iter().map(|p| p.key.as_str()).collect();
        assert_eq!(keys, ["-in", "-link"]);
        assert_eq!(inventory.sessions.len(), 2, "the file inside, twice by the inner link");
        assert_eq!(inventory.skipped.len(), 3, "the directory, and the file by both ways");
    }
}
