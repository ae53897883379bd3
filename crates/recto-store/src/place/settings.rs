//! Where Claude Code's settings files are, and the one setting that decides about the life of
//! a log: `cleanupPeriodDays`.

use std::path::Path;
use std::path::PathBuf;

use recto_log::json::Value;

use crate::Home;
use crate::read_chosen;

/// Where a setting stands. Later ones win over earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Nowhere: the client's own default.
    Default,
    /// The user's `settings.json`.
    User,
    /// `.claude/settings.json` of a project.
    Project,
    /// `.claude/settings.local.json` of a project.
    Local,
    /// Settings of the machine's administrator.
    Managed,
}

impl Scope {
    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Default => "default",
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Local => "local",
            Scope::Managed => "managed",
        }
    }
}

/// After how many days without a change the client deletes a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupSetting {
    /// The number of days.
    pub days: u64,
    /// Where it is set.
    pub scope: Scope,
    /// The file that sets it.
    pub path: Option<PathBuf>,
}

/// What the client does when nothing is set.
const DEFAULT_DAYS: u64 = 30;

impl Home {
    /// The settings files of a client that starts in `project`, those that win last. They
    /// need not exist.
    pub fn settings_files(&self, project: Option<&Path>) -> Vec<(Scope, PathBuf)> {
        let mut files = vec![(Scope::User, self.settings())];
        if let Some(project) = project {
            files.push((Scope::Project, project.join(".claude/settings.json")));
            files.push((Scope::Local, project.join(".claude/settings.local.json")));
        }
        files.push((Scope::Managed, managed_settings()));
        files
    }

    /// The setting in force. A client that starts in `project` reads the
    /// project's settings too; the sweep then covers the whole home.
    pub fn cleanup_setting(&self, project: Option<&Path>) -> CleanupSetting {
        effective(self.settings_files(project))
    }
}

fn effective(files: Vec<(Scope, PathBuf)>) -> CleanupSetting {
    let unset = CleanupSetting { days: DEFAULT_DAYS, scope: Scope::Default, path: None };
    files
        .into_iter()
        .filter_map(|(scope, path)| {
            Some(CleanupSetting { days: days_in(&path)?, scope, path: Some(path) })
        })
        .max_by_key(|setting| setting.scope)
        .unwrap_or(unset)
}

fn days_in(path: &Path) -> Option<u64> {
    let bytes = read_chosen(path).ok()?;
    // Clients since 2.1.89 refuse 0, so it sets nothing.
    Value::parse(&bytes).ok()?.get("cleanupPeriodDays")?.as_u64().filter(|days| *days > 0)
}

fn managed_settings() -> PathBuf {
    if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode/managed-settings.json".into()
    } else if cfg!(windows) {
        "C:\\Program Files\\ClaudeCode\\managed-settings.json".into()
    } else {
        "/etc/claude-code/managed-settings.json".into()
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn the_narrower_scope_wins() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let user = file("user.json", r#"{"cleanupPeriodDays":90}"#);
        let project = file("project.json", r#"{"cleanupPeriodDays":0}"#);
        let local = file("local.json", r#"{"cleanupPeriodDays":7}"#);
        let broken = file("broken.json", "{");
        let days = |files: &[(Scope, &PathBuf)]| {
            let setting = effective(files.iter().map(|(s, p)| (*s, (*p).clone())).collect());
            (setting.days, setting.scope.name())
        };
        assert_eq!(days(&[]), (30, "default"));
        assert_eq!(days(&[(Scope::User, &broken)]), (30, "default"));
        assert_eq!(days(&[(Scope::User, &user), (Scope::Project, &project)]), (90, "user"));
        assert_eq!(days(&[(Scope::Local, &local), (Scope::User, &user)]), (7, "local"));
    }
}
