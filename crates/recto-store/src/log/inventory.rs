//! Discovery: which projects and sessions there are.
//!
//! Only names and sizes are looked at, in parallel, so that a home of 100,000
//! files is listed in milliseconds. What cannot be looked at is skipped and
//! said; a file that vanishes meanwhile is not there.

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use fs_err as fs;
use jiff::Timestamp;
use rayon::prelude::*;
use recto_log::AgentId;
use recto_log::SessionId;

use crate::AgentFile;
use crate::Home;
use crate::StoreError;
use crate::place::platform;

/// A directory under `projects/`.
#[derive(Debug, Clone)]
pub struct Project {
    /// The directory's name. Not invertible: see `cwd` of the lines.
    pub key: String,
    /// The directory.
    pub path: PathBuf,
}

/// The main log of a session.
#[derive(Debug, Clone)]
pub struct SessionFile {
    /// The session, which is the name of the file.
    pub id: SessionId,
    /// The project's place in [`Inventory::projects`].
    pub project: usize,
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was written last.
    pub modified: Timestamp,
    /// What tells whether it is still the same.
    pub(crate) stamp: Stamp,
}

/// The log of a subagent beside the main logs, where clients up to 2.0.76 put
/// it. Its session is named in its lines only.
#[derive(Debug, Clone)]
pub(crate) struct LooseAgent {
    pub(crate) id: AgentId,
    pub(crate) project: usize,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) modified: Timestamp,
    pub(crate) stamp: Stamp,
}

/// Which version of a log it is. The time and the size are not enough: edits of
/// recto's keep the time, and two titles can be of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogVersion(FileState);

impl SessionFile {
    /// Which version it was when it was listed.
    pub fn version(&self) -> LogVersion {
        LogVersion(FileState::listed(self.bytes, self.modified, self.stamp))
    }
}

impl AgentFile {
    /// Which version it was when it was listed.
    pub fn version(&self) -> LogVersion {
        LogVersion(FileState::listed(self.bytes, self.modified, self.stamp))
    }
}

/// Which file it is, and when anything of it changed: what no program can set
/// back, unlike the time of writing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// In nanoseconds since 1970.
    pub(crate) changed: i64,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Stamp {
        let (device, number) = platform::file_number(metadata);
        Stamp { device, number, changed: platform::changed(metadata) }
    }
}

/// What a file is at some moment: as long as nothing of it differs, it was not
/// written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) size: u64,
    /// In nanoseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) stamp: Stamp,
}

/// How long the clock of a file system may stand still, in nanoseconds.
const TICK: i64 = 50_000_000;

impl FileState {
    /// Of a file that is open. What is written in this moment may look as if it
    /// had been written before, because clocks of files tick slowly; then it is
    /// not said when it changed.
    pub(crate) fn now(metadata: &Metadata) -> FileState {
        let state = FileState {
            size: metadata.len(),
            modified: nanoseconds(timestamp(metadata.modified())),
            stamp: Stamp::of(metadata),
        };
        state.before_reading()
    }

    /// Of a file that was listed and is read from now on. The rule is that of
    /// [`FileState::now`].
    pub(crate) fn before_reading(mut self) -> FileState {
        if nanoseconds(Timestamp::now()) - self.stamp.changed < TICK {
            self.stamp.changed = 0;
        }
        self
    }

    /// Of what was listed.
    pub(crate) fn listed(size: u64, modified: Timestamp, stamp: Stamp) -> FileState {
        FileState { size, modified: nanoseconds(modified), stamp }
    }

    /// Whether a file that looks like this is this one for certain.
    pub(crate) fn is_certain(&self) -> bool {
        self.stamp.changed != 0
    }
}

pub(crate) fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}

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

/// What is in a home.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// The projects, by name.
    pub projects: Vec<Project>,
    /// The main logs, newest first.
    pub sessions: Vec<SessionFile>,
    pub(crate) loose_agents: Vec<LooseAgent>,
    /// The folders of sessions, where newer clients put what belongs to one.
    pub(crate) folders: Vec<PathBuf>,
    /// What was not looked at.
    pub skipped: Vec<Skipped>,
}

/// What the name of a file in a project says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogName {
    Main(SessionId),
    Agent(AgentId),
}

impl LogName {
    pub(crate) fn of(name: &str) -> Option<LogName> {
        let stem = name.strip_suffix(".jsonl")?;
        match stem.strip_prefix("agent-") {
            Some(id) => id.parse().ok().map(LogName::Agent),
            None => stem.parse().ok().map(LogName::Main),
        }
    }
}

impl Home {
    /// Looks at all projects.
    pub fn inventory(&self) -> Inventory {
        let mut inventory = Inventory::default();
        let mut directories = Vec::new();
        for entry in self.list(&self.projects(), &mut inventory.skipped) {
            if entry.is_directory {
                directories.push(entry);
            }
        }
        directories.sort_by(|a, b| a.name.cmp(&b.name));
        let found: Vec<Found> = directories
            .into_par_iter()
            .enumerate()
            .map(|(project, directory)| self.look_into(project, directory))
            .collect();
        for one in found {
            inventory.projects.push(one.project);
            inventory.sessions.extend(one.sessions);
            inventory.loose_agents.extend(one.loose_agents);
            inventory.folders.extend(one.folders);
            inventory.skipped.extend(one.skipped);
        }
        inventory.sessions.par_sort_unstable_by(|a, b| {
            b.modified
                .cmp(&a.modified)
                .then_with(|| a.id.cmp(&b.id))
                .then_with(|| a.project.cmp(&b.project))
        });
        inventory
    }

    fn look_into(&self, project: usize, directory: Listed) -> Found {
        let mut skipped = Vec::new();
        let mut found = Found {
            project: Project { key: directory.name, path: directory.path },
            sessions: Vec::new(),
            loose_agents: Vec::new(),
            folders: Vec::new(),
            skipped: Vec::new(),
        };
        for file in self.list(&found.project.path, &mut skipped) {
            if file.is_directory {
                if file.name.parse::<SessionId>().is_ok() {
                    found.folders.push(file.path);
                }
                continue;
            }
            let Some(name) = LogName::of(&file.name) else { continue };
            // The file may have gone between the listing and now.
            let Ok(metadata) = file.metadata() else { continue };
            if !metadata.is_file() {
                continue;
            }
            let (path, bytes) = (file.path, metadata.len());
            let modified = timestamp(metadata.modified());
            let stamp = Stamp::of(&metadata);
            match name {
                LogName::Main(id) => {
                    let file = SessionFile { id, project, path, bytes, modified, stamp };
                    found.sessions.push(file);
                }
                LogName::Agent(id) => {
                    let agent = LooseAgent { id, project, path, bytes, modified, stamp };
                    found.loose_agents.push(agent);
                }
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
        if self.contains(path) { fs::metadata(path).ok() } else { None }
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
                if !self.contains(&path) {
                    skipped.push(Skipped { path, reason: LEADS_OUT.into() });
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

struct Found {
    project: Project,
    sessions: Vec<SessionFile>,
    loose_agents: Vec<LooseAgent>,
    folders: Vec<PathBuf>,
    skipped: Vec<Skipped>,
}

impl Inventory {
    /// The project of a session.
    pub fn project_of(&self, session: &SessionFile) -> Option<&Project> {
        self.projects.get(session.project)
    }

    /// The sessions of a project, newest first.
    pub fn sessions_in(&self, project: usize) -> impl Iterator<Item = &SessionFile> {
        self.sessions.iter().filter(move |session| session.project == project)
    }

    /// How many logs of subagents stand beside the main logs.
    pub fn loose_agent_count(&self) -> usize {
        self.loose_agents.len()
    }
}

/// The time of a file; 1970 where the system does not tell it.
pub(crate) fn timestamp(time: io::Result<SystemTime>) -> Timestamp {
    time.ok().and_then(|time| Timestamp::try_from(time).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
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
    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    #[test]
    fn names_say_what_a_file_is() {
        assert_eq!(LogName::of(&format!("{ID}.jsonl")), Some(LogName::Main(ID.parse().unwrap())));
        assert_eq!(LogName::of("agent-a1b2.jsonl"), Some(LogName::Agent("a1b2".parse().unwrap())));
        for other in ["notes.jsonl", "agent-.jsonl", "agent-a.jsonl.bak", ".jsonl", ID] {
            assert_eq!(LogName::of(other), None, "{other}");
        }
    }

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
        assert_eq!(inventory.loose_agent_count(), 1);
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
