//! What leaves the machine, and how: `collect.toml`.
//!
//! The archive of this machine has everything. A policy is about stores beyond it.

use std::path::Path;
use std::path::PathBuf;

use globset::Glob;
use globset::GlobSet;
use globset::GlobSetBuilder;
use recto_session::redact::Level;
use recto_session::redact::Options;
use recto_session::redact::Pattern;
use recto_session::redact::RedactError;
use recto_session::redact::Redactor;
use recto_store::follow::FileKind;
use recto_store::keep::MachineSecret;
use serde::Deserialize;
use sha2::Digest as _;
use sha2::Sha256;

use crate::content::Content;
use crate::error::CollectError;

/// Changes when the same line may be redacted to other bytes than before.
const RULES: u32 = 1;

/// What is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redaction {
    /// Everything that `recto redact` replaces.
    #[default]
    Strict,
    /// Tokens of known forms and random values.
    Plain,
    /// Nothing.
    Off,
}

/// The file, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    content: Content,
    #[serde(default)]
    redact: Redaction,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    #[serde(default)]
    include_remotes: Vec<String>,
    #[serde(default)]
    exclude_remotes: Vec<String>,
    #[serde(default)]
    pattern: Vec<WrittenPattern>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPattern {
    name: String,
    regex: String,
}

/// What leaves the machine, and how.
#[derive(Debug, Clone)]
pub struct Policy {
    /// How much of a session.
    pub content: Content,
    /// What is replaced.
    pub redact: Redaction,
    patterns: Vec<Pattern>,
    directories: Choice,
    remotes: Choice,
    salt: Vec<u8>,
    name: String,
}

/// Which projects, by patterns.
#[derive(Debug, Clone, Default)]
struct Choice {
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
}

impl Choice {
    fn is_any(&self) -> bool {
        self.include.is_some() || self.exclude.is_some()
    }

    fn takes(&self, name: Option<&str>) -> bool {
        let matches = |set: &GlobSet| name.is_some_and(|name| set.is_match(name));
        self.include.as_ref().is_none_or(matches) && !self.exclude.as_ref().is_some_and(matches)
    }
}

/// Where a session was started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// The directory.
    pub directory: Option<String>,
    /// The remote of its repository.
    pub remote: Option<String>,
}

/// Why a file stays on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Withheld {
    /// Its project is not chosen, or not known yet.
    Project,
    /// Its kind is more than the content level allows.
    Content,
    /// It mixes projects, of which not all are chosen.
    Mixed,
    /// It cannot be searched for secrets: too large, or not text.
    Unsearchable,
}

impl Withheld {
    /// A stable name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            Withheld::Project => "project",
            Withheld::Content => "content",
            Withheld::Mixed => "mixed",
            Withheld::Unsearchable => "unsearchable",
        }
    }
}

impl Policy {
    /// Everything, with its secrets redacted: what holds without a file.
    pub fn standard(secret: &MachineSecret) -> Policy {
        Policy::made(Written::default(), secret, None).unwrap_or_else(|_| Policy::closed())
    }

    /// Reads a policy. `~` is the directory of the user.
    pub fn read(
        text: &str,
        path: &Path,
        secret: &MachineSecret,
        user_home: Option<&Path>,
    ) -> Result<Policy, CollectError> {
        let bad =
            |reason: String| CollectError::Policy { path: path.display().to_string(), reason };
        let written: Written =
            toml::from_str(text).map_err(|error| bad(error.message().to_owned()))?;
        let policy = Policy::made(written, secret, user_home).map_err(bad)?;
        policy.redactor().map_err(|error| bad(error.to_string()))?;
        Ok(policy)
    }

    fn made(
        written: Written,
        secret: &MachineSecret,
        user_home: Option<&Path>,
    ) -> Result<Policy, String> {
        let Written {
            content,
            redact,
            include,
            exclude,
            include_remotes,
            exclude_remotes,
            pattern,
        } = written;
        if redact == Redaction::Off && !pattern.is_empty() {
            return Err("`pattern` needs `redact` to be strict or plain".to_owned());
        }
        let directories = |patterns: Vec<String>| {
            let whole = patterns.into_iter().map(|one| from_home(one, user_home));
            set(&whole.collect::<Result<Vec<_>, String>>()?, /* with what is below */ true)
        };
        let patterns: Vec<Pattern> =
            pattern.into_iter().map(|one| Pattern { name: one.name, regex: one.regex }).collect();
        let mut policy = Policy {
            content,
            redact,
            directories: Choice { include: directories(include)?, exclude: directories(exclude)? },
            remotes: Choice {
                include: set(&include_remotes, false)?,
                exclude: set(&exclude_remotes, false)?,
            },
            patterns,
            salt: secret.hash::<16>(b"redact", b"").to_vec(),
            name: String::new(),
        };
        policy.name = policy.spelled();
        Ok(policy)
    }

    /// Lets nothing but metadata go. The standard policy always compiles; this is what holds if
    /// that were not so.
    fn closed() -> Policy {
        Policy {
            content: Content::Metadata,
            redact: Redaction::Strict,
            patterns: Vec::new(),
            directories: Choice::default(),
            remotes: Choice::default(),
            salt: Vec::new(),
            name: "closed".to_owned(),
        }
    }

    /// What the header of a segment says was done with its bytes: the same name, the same bytes.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn spelled(&self) -> String {
        if self.is_raw() {
            return "raw".to_owned();
        }
        let redaction = match self.redact {
            Redaction::Strict => "strict",
            Redaction::Plain => "plain",
            Redaction::Off => "off",
        };
        let mut name = format!("redact={redaction};content={};rules={RULES}", self.content.name());
        if !self.patterns.is_empty() {
            let mut hash = Sha256::new();
            for Pattern { name, regex } in &self.patterns {
                hash.update((name.len() as u64).to_le_bytes());
                hash.update(name);
                hash.update((regex.len() as u64).to_le_bytes());
                hash.update(regex);
            }
            let digest = hash.finalize();
            name.push_str(&format!(
                ";patterns={:02x}{:02x}{:02x}{:02x}",
                digest[0], digest[1], digest[2], digest[3]
            ));
        }
        name
    }

    /// Whether bytes go as they are.
    pub fn is_raw(&self) -> bool {
        self.content == Content::Full && self.redact == Redaction::Off
    }

    /// Whether projects matter.
    pub fn chooses_projects(&self) -> bool {
        self.directories.is_any() || self.remotes.is_any()
    }

    /// Whether the remotes of repositories matter.
    pub fn asks_for_remotes(&self) -> bool {
        self.remotes.is_any()
    }

    /// Whether a project is chosen. One whose directory is not known is not.
    pub fn takes(&self, project: &Project) -> bool {
        if !self.chooses_projects() {
            return true;
        }
        project.directory.is_some()
            && self.directories.takes(project.directory.as_deref())
            && self.remotes.takes(project.remote.as_deref())
    }

    /// Why files of a kind stay, whatever their project is.
    pub fn withholds(&self, kind: FileKind) -> Option<Withheld> {
        let is_allowed = match self.content {
            Content::Full => true,
            Content::NoToolResults => !matches!(kind, FileKind::ToolResult | FileKind::FileHistory),
            Content::Metadata => matches!(kind, FileKind::MainLog | FileKind::AgentLog),
        };
        match kind {
            _ if !is_allowed => Some(Withheld::Content),
            FileKind::StatsCache | FileKind::Plan if self.chooses_projects() => {
                Some(Withheld::Mixed)
            }
            _ => None,
        }
    }

    /// What replaces secrets; none if nothing is replaced.
    pub fn redactor(&self) -> Result<Option<Redactor>, RedactError> {
        let level = match self.redact {
            Redaction::Strict => Level::Strict,
            Redaction::Plain => Level::Plain,
            Redaction::Off => return Ok(None),
        };
        let options = Options {
            level,
            patterns: self.patterns.clone(),
            // Others cannot try what a placeholder stands for.
            salt: self.salt.clone(),
            ..Options::default()
        };
        Redactor::new(options).map(Some)
    }
}

fn set(patterns: &[String], with_below: bool) -> Result<Option<GlobSet>, String> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let bad = |error: globset::Error| format!("pattern `{pattern}`: {}", error.kind());
        let pattern = pattern.trim_end_matches('/');
        set.add(Glob::new(pattern).map_err(bad)?);
        if with_below {
            set.add(Glob::new(&format!("{pattern}/**")).map_err(bad)?);
        }
    }
    set.build().map(Some).map_err(|error| error.to_string())
}

fn from_home(pattern: String, user_home: Option<&Path>) -> Result<String, String> {
    let whole = match (pattern.strip_prefix("~/"), user_home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(&pattern),
    };
    match whole.is_absolute() || pattern.starts_with("**") {
        true => Ok(whole.to_string_lossy().into_owned()),
        false => Err(format!("`{pattern}` is not an absolute path; begin with / or ~/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Policy, String> {
        let directory = tempfile::tempdir().unwrap();
        let home = recto_store::Home::open(directory.path()).unwrap();
        let secret = MachineSecret::of(&home);
        let user = Some(Path::new("/home/dev"));
        Policy::read(text, Path::new("collect.toml"), &secret, user).map_err(|e| e.to_string())
    }

    fn at(directory: &str, remote: Option<&str>) -> Project {
        Project { directory: Some(directory.to_owned()), remote: remote.map(str::to_owned) }
    }

    #[test]
    fn without_a_word_everything_goes_redacted() {
        let policy = read("").unwrap();
        assert_eq!(policy.name(), "redact=strict;content=full;rules=1");
        assert!(policy.takes(&Project::default()) && !policy.is_raw());
        assert!(policy.redactor().unwrap().is_some());
        assert_eq!(read("redact = \"off\"").unwrap().name(), "raw");
    }

    #[test]
    fn projects_are_chosen_by_directory_and_remote() {
        let policy = read(
            "include = [\"~/work\"]\nexclude = [\"~/work/secret\"]\n\
             exclude_remotes = [\"*github.com?me/*\"]",
        )
        .unwrap();
        assert!(policy.takes(&at("/home/dev/work", None)));
        assert!(policy.takes(&at("/home/dev/work/app", None)));
        assert!(!policy.takes(&at("/home/dev/work-private", None)));
        assert!(!policy.takes(&at("/home/dev/work/secret/deep", None)));
        assert!(!policy.takes(&at("/home/dev/work/app", Some("git@github.com:me/x"))));
        assert!(!policy.takes(&Project::default()));
        assert_eq!(policy.withholds(FileKind::StatsCache), Some(Withheld::Mixed));
        let policy = read("include_remotes = [\"*acme*\"]").unwrap();
        assert!(policy.takes(&at("/x", Some("https://git.acme.dev/a"))));
        assert!(!policy.takes(&at("/x", None)));
    }

    #[test]
    fn levels_of_content_say_which_files_go() {
        let policy = read("content = \"metadata\"").unwrap();
        assert_eq!(policy.withholds(FileKind::MainLog), None);
        assert_eq!(policy.withholds(FileKind::History), Some(Withheld::Content));
        let policy = read("content = \"no-tool-results\"").unwrap();
        assert_eq!(policy.withholds(FileKind::ToolResult), Some(Withheld::Content));
        assert_eq!(policy.withholds(FileKind::History), None);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(read("colour = 1").unwrap_err().contains("unknown field `colour`"));
        assert!(read("redact = \"some\"").unwrap_err().contains("unknown variant"));
        assert!(read("include = [\"work\"]").unwrap_err().contains("not an absolute path"));
        assert!(read("[[pattern]]\nname = \"x\"\nregex = \"(\"").unwrap_err().contains('x'));
        let one = read("[[pattern]]\nname = \"x\"\nregex = \"a\"").unwrap();
        let other = read("[[pattern]]\nname = \"x\"\nregex = \"b\"").unwrap();
        assert_ne!(one.name(), other.name());
    }
}
