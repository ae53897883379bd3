//! What a confined command may do, and which files are secrets.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

/// How many entries of a project are looked at for secrets.
const MOST_ENTRIES: usize = 20_000;
/// Directories with nothing but files of others.
const SKIPPED: [&str; 5] = ["node_modules", "target", ".git", ".venv", "vendor"];
/// What a home has of keys and sessions.
const HOME_SECRETS: [&str; 22] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".mozilla",
    ".thunderbird",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/google-chrome",
    ".config/chromium",
    ".config/rclone",
    ".config/git/credentials",
    ".local/share/keyrings",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".gem/credentials",
    ".terraform.d",
];
/// What the system has of them.
const SYSTEM_SECRETS: [&str; 6] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/run/secrets",
];
/// What runs outside the sandbox later, so that a command must not write it: hooks and settings.
const PROTECTED: [&str; 10] = [
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/info/attributes",
    ".claude",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".envrc",
    ".husky",
];

/// What a confined command may do. All paths are absolute and without links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Directories that it may write to.
    pub writable: Vec<PathBuf>,
    /// Files and directories that it may not read.
    pub hidden: Vec<PathBuf>,
    /// Files and directories inside the above that it may not write.
    pub protected: Vec<PathBuf>,
    /// The socket of the proxy to allowed domains.
    pub proxy: Option<PathBuf>,
}

impl Policy {
    /// As an argument.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads such an argument.
    pub fn parse(text: &str) -> Option<Policy> {
        serde_json::from_str(text).ok()
    }
}

fn real(path: PathBuf) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// Secrets of the user and the system that exist.
pub(super) fn hidden_in_home(home: &Path, config: &Path) -> Vec<PathBuf> {
    let named = HOME_SECRETS.iter().map(|name| home.join(name));
    let system = SYSTEM_SECRETS.iter().map(PathBuf::from);
    let own = [".credentials.json", ".claude.json"].map(|name| config.join(name));
    let mut hidden: Vec<PathBuf> = named.chain(system).chain(own).filter_map(real).collect();
    for folder in [home, config, Path::new("/etc/ssh"), &home.join(".config/recto")] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_file())
                && recto_store::can_be_secret(&entry.path())
            {
                hidden.extend(real(entry.path()));
            }
        }
    }
    hidden.sort();
    hidden.dedup();
    hidden
}

/// Files of a project whose names say that they are secrets.
pub(super) fn hidden_in_project(directory: &Path) -> Vec<PathBuf> {
    let mut hidden = Vec::new();
    let mut folders = vec![directory.to_owned()];
    let mut left = MOST_ENTRIES;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            left = match left {
                0 => return hidden,
                left => left - 1,
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !SKIPPED.contains(&name.as_str()) => {
                    folders.push(entry.path());
                }
                Ok(kind) if kind.is_file() && is_project_secret(&entry.path(), &name) => {
                    hidden.push(entry.path());
                }
                _ => {}
            }
        }
    }
    hidden
}

/// Samples are there to be read.
fn is_project_secret(path: &Path, name: &str) -> bool {
    let is_sample = ["example", "sample", "template", "dist"].iter().any(|end| name.ends_with(end));
    !is_sample && recto_store::can_be_secret(path)
}

/// What is there of a project that runs outside the sandbox later. The client's folder is made
/// if it is missing: a command could make it, with hooks that the next session runs.
pub(super) fn protected_in(directory: &Path) -> Vec<PathBuf> {
    let _ = fs::create_dir(directory.join(".claude"));
    PROTECTED.iter().filter_map(|name| real(directory.join(name))).collect()
}
