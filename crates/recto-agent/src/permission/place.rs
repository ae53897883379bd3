//! Where a session works, and where a path leads.

use std::path::Path;
use std::path::PathBuf;

use recto_store::without_dots;

/// The directories that decide what a path means and whether it is inside.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where the session started: the project.
    pub project: PathBuf,
    /// Where commands run now.
    pub cwd: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// Claude Code's home directory.
    pub claude: PathBuf,
    /// `--add-dir`, `additionalDirectories` and what the user added.
    pub additional: Vec<PathBuf>,
    /// Folders of this session that the model may read: overflow files, output of tasks.
    pub readable: Vec<PathBuf>,
    /// Files of this session that the model may write: the plan.
    pub writable: Vec<PathBuf>,
}

impl Place {
    /// A session in `project`.
    pub fn new(project: PathBuf, home: PathBuf) -> Self {
        Place {
            cwd: project.clone(),
            claude: home.join(".claude"),
            additional: Vec::new(),
            readable: Vec::new(),
            writable: Vec::new(),
            project,
            home,
        }
    }

    /// The working directories: the project first.
    pub fn working_directories(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.project.as_path()).chain(self.additional.iter().map(PathBuf::as_path))
    }

    /// `'/home/me/app', '/tmp'`, for texts.
    pub(crate) fn listed(&self) -> String {
        let names: Vec<String> =
            self.working_directories().map(|path| format!("'{}'", path.display())).collect();
        names.join(", ")
    }

    /// An absolute path without `.` and `..`. A leading `~` is the home directory.
    pub fn absolute(&self, path: &str) -> PathBuf {
        self.absolute_in(path, &self.cwd)
    }

    /// As [`absolute`](Self::absolute), with another directory for relative paths.
    pub(crate) fn absolute_in(&self, path: &str, directory: &Path) -> PathBuf {
        let path = match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => directory.join(path),
        };
        without_dots(&path)
    }

    /// Whether a path is inside the working directories, as it is spelled and where its
    /// symbolic links lead.
    pub(crate) fn is_inside(&self, path: &Path) -> bool {
        let real = real_path(path);
        self.working_directories().any(|directory| path.starts_with(directory))
            && self.working_directories().any(|directory| {
                real.starts_with(directory) || real.starts_with(real_path(directory))
            })
    }

    /// Whether the model may read a path because it belongs to the session.
    pub(crate) fn is_of_the_session(&self, path: &Path) -> bool {
        let real = real_path(path);
        self.readable.iter().any(|folder| path.starts_with(folder) && is_below(&real, folder))
    }

    /// Whether the model may write a path because it belongs to the session.
    pub(crate) fn is_writable_by_the_session(&self, path: &Path) -> bool {
        self.writable.iter().any(|file| path == file && is_below(&real_path(path), file))
    }
}

fn is_below(real: &Path, folder: &Path) -> bool {
    real.starts_with(folder) || real.starts_with(real_path(folder))
}

/// Where a path leads when symbolic links are followed, also for a file that does not exist
/// yet: then the links of the directories above it count.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut known = path;
    loop {
        match std::fs::canonicalize(known) {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return real;
            }
            // A link to nothing leads where a write would create a file.
            Err(_) => {
                if let Ok(target) = std::fs::read_link(known)
                    && missing.len() < 64
                {
                    let target = known.parent().unwrap_or(known).join(target);
                    let mut target = without_dots(&target);
                    target.extend(missing.iter().rev());
                    return target;
                }
            }
        }
        let (Some(parent), Some(name)) = (known.parent(), known.file_name()) else {
            return path.to_owned();
        };
        missing.push(name.to_owned());
        known = parent;
    }
}

/// Where a symbolic link at `path` itself leads.
pub(crate) fn link_target(path: &Path) -> Option<PathBuf> {
    let target = std::fs::read_link(path).ok()?;
    Some(without_dots(&path.parent()?.join(target)))
}
