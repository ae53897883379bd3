//! Where a setting or a rule comes from.

use recto_store::Scope;

/// The layer that a setting or a rule comes from. Later ones win where only one can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// `settings.json` in Claude Code's home directory.
    User,
    /// `.claude/settings.json` of the project.
    Project,
    /// `.claude/settings.local.json` of the project.
    Local,
    /// `--settings`.
    Flag,
    /// `--allowedTools`, `--disallowedTools`, `--permission-mode`, `--add-dir`.
    CommandLine,
    /// What the user granted while the session runs.
    Session,
    /// What a command or skill allows while it is followed.
    Command,
    /// Settings of the machine's administrator.
    Managed,
}

impl Source {
    /// The name in texts, log lines and permission updates.
    pub fn name(self) -> &'static str {
        match self {
            Source::User => "userSettings",
            Source::Project => "projectSettings",
            Source::Local => "localSettings",
            Source::Flag => "flagSettings",
            Source::CommandLine => "cliArg",
            Source::Session => "session",
            Source::Command => "command",
            Source::Managed => "policySettings",
        }
    }

    /// Whether somebody else than the user can have written it: a file of a repository.
    pub fn is_of_the_repository(self) -> bool {
        matches!(self, Source::Project | Source::Local)
    }
}

impl From<Scope> for Source {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Default | Scope::User => Source::User,
            Scope::Project => Source::Project,
            Scope::Local => Source::Local,
            Scope::Managed => Source::Managed,
        }
    }
}
