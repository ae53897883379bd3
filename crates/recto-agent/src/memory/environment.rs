//! Facts about the machine and the place, as values for the log and as text for the model.

use serde_json::Value;
use serde_json::json;

use crate::memory::git::Git;
use crate::permission::Place;

/// What a model should know about where it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Where it works.
    pub working_directory: String,
    /// Further working directories.
    pub additional: Vec<String>,
    /// Whether it is a Git repository.
    pub is_git: bool,
    /// Whether it is a worktree of another one.
    pub is_worktree: bool,
    /// `linux`, `darwin`, `win32`.
    pub platform: String,
    /// The name of the user's shell.
    pub shell: String,
    /// The system and its release.
    pub os_version: String,
}

impl Environment {
    /// Looks at the place. `shell` is the user's `$SHELL`.
    pub fn look(place: &Place, git: Option<&Git>, shell: Option<&str>) -> Self {
        let shell = shell.and_then(|path| path.rsplit('/').next()).filter(|name| !name.is_empty());
        Environment {
            working_directory: place.cwd.display().to_string(),
            additional: place.additional.iter().map(|path| path.display().to_string()).collect(),
            is_git: git.is_some(),
            is_worktree: git.is_some_and(|git| git.is_worktree),
            platform: platform().to_owned(),
            shell: shell.unwrap_or("bash").to_owned(),
            os_version: os_version(),
        }
    }

    /// The `environment` attachment of the log.
    pub fn attachment(&self) -> Value {
        json!({
            "type": "environment",
            "snapshot": {
                "workingDirectory": self.working_directory,
                "isWorktree": self.is_worktree,
                "isGitRepo": self.is_git,
                "additionalWorkingDirectories": self.additional,
                "platform": self.platform,
                "shell": self.shell,
                "osVersion": self.os_version,
            },
        })
    }

    /// What the model reads.
    pub fn note(&self) -> String {
        let mut note = format!(
            "# Environment\n - Primary working directory: {}\n - Is a git repository: {}\n",
            self.working_directory, self.is_git
        );
        if self.is_worktree {
            note.push_str(" - The working directory is a git worktree: do not leave it for the main checkout.\n");
        }
        if !self.additional.is_empty() {
            note.push_str(&format!(
                " - Additional working directories: {}\n",
                self.additional.join(", ")
            ));
        }
        note.push_str(&format!(
            " - Platform: {}\n - Shell: {}\n - OS Version: {}",
            self.platform, self.shell, self.os_version
        ));
        note
    }
}

/// `Today's date is 2026-11-17.`, and its attachment.
pub fn date_note(date: jiff::civil::Date) -> (String, Value) {
    (format!("Today's date is {date}."), json!({ "type": "date", "date": date.to_string() }))
}

fn platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

#[cfg(unix)]
fn os_version() -> String {
    let system = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    format!("{} {}", text(system.sysname()), text(system.release()))
}

#[cfg(not(unix))]
fn os_version() -> String {
    std::env::consts::OS.to_owned()
}
