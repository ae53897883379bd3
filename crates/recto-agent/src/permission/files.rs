//! Files: what the file tools may read and write.

use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;

use crate::permission::Permissions;
use crate::permission::check::Ask;
use crate::permission::check::Check;
use crate::permission::decision::Decision;
use crate::permission::decision::Reason;
use crate::permission::mode::Mode;
use crate::permission::pattern;
use crate::permission::place::Place;
use crate::permission::place::link_target;
use crate::permission::rule::Behavior;
use crate::permission::rule::Rule;
use crate::permission::sentence;
use crate::permission::update::Destination;
use crate::permission::update::PermissionUpdate;

/// Directories whose files run or configure programs.
const SENSITIVE_FOLDERS: &[&str] =
    &[".git", ".vscode", ".idea", ".husky", ".devcontainer", ".cargo", ".yarn", ".mvn"];

/// Files that a shell or a tool runs.
const SENSITIVE_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".bunfig.toml",
    ".envrc",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".pnp.cjs",
    ".bazelrc",
    ".bazeliskrc",
    ".mcp.json",
    ".claude.json",
];

/// How careful a write to a path must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// As any other file.
    None,
    /// Claude Code's own settings in a project, and keys: always asked.
    Settings,
    /// Files that run programs: always asked, and named as such.
    Sensitive,
}

/// How careful a write to a path must be, as it is spelled and where its links lead.
pub(crate) fn care(place: &Place, path: &Path) -> Care {
    let real = crate::permission::place::real_path(path);
    let spelled = care_spelled(place, path);
    if spelled != Care::None { spelled } else { care_spelled(place, &real) }
}

fn care_spelled(place: &Place, path: &Path) -> Care {
    let names = || path.iter().filter_map(|name| name.to_str()).map(str::to_ascii_lowercase);
    if names().any(|name| SENSITIVE_FOLDERS.contains(&name.as_str())) {
        return Care::Sensitive;
    }
    if names().next_back().is_some_and(|name| SENSITIVE_FILES.contains(&name.as_str())) {
        return Care::Sensitive;
    }
    let is_settings = |name| path == place.claude.join(name);
    if is_settings("settings.json") || is_settings("settings.local.json") {
        return Care::Settings;
    }
    if path.starts_with(&place.claude) || path.ends_with(".config/git/config") {
        return Care::Sensitive;
    }
    let keys = names().any(|name| name == ".ssh");
    care_of_settings(place, path).unwrap_or(if keys { Care::Settings } else { Care::None })
}

/// How careful a write below a `.claude` of a project must be.
fn care_of_settings(place: &Place, path: &Path) -> Option<Care> {
    let folder = path.ancestors().find(|folder| {
        folder.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".claude"))
    })?;
    let below: Vec<&str> =
        path.strip_prefix(folder).ok()?.iter().filter_map(|name| name.to_str()).collect();
    let is_spelled = folder.ends_with(".claude");
    let is_own = folder.parent().is_some_and(|parent| parent == place.project);
    match below.as_slice() {
        // Work trees of agents hold code as any other place.
        ["worktrees", ..] | ["launch.json"] if is_spelled => None,
        ["settings.json" | "settings.local.json"] if is_spelled => Some(Care::Settings),
        [] | ["commands" | "agents" | "skills", ..] if is_spelled && is_own => Some(Care::Settings),
        _ => Some(Care::Sensitive),
    }
}

/// The path that a file tool is called with.
pub(crate) fn path_of<'a>(tool: &str, input: &'a Value) -> Option<&'a str> {
    let key = match tool {
        "NotebookEdit" => "notebook_path",
        "Glob" | "Grep" | "LS" => "path",
        _ => "file_path",
    };
    input.get(key).and_then(Value::as_str)
}

/// The directory that `Glob` searches when only its pattern names one: the part of an absolute
/// pattern before what stands for names.
fn searched(input: &Value, place: &Place) -> PathBuf {
    let pattern = input.get("pattern").and_then(Value::as_str).unwrap_or_default();
    if !pattern.starts_with('/') {
        return place.cwd.clone();
    }
    let end = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let fixed = pattern.get(..end).unwrap_or_default();
    let folder = fixed.rsplit_once('/').map_or("", |(folder, _)| folder);
    place.absolute(if folder.is_empty() { "/" } else { folder })
}

impl Permissions {
    /// The rule about files that matches a path.
    pub(crate) fn file_rule(
        &self,
        behavior: Behavior,
        tool: &str,
        place: &Place,
        path: &Path,
    ) -> Option<&Rule> {
        self.rules_of(behavior, tool).find(|rule| {
            let Some(content) = &rule.content else { return false };
            match behavior {
                Behavior::Allow => pattern::matches_both(content, rule.source, place, path),
                Behavior::Ask | Behavior::Deny => {
                    pattern::matches(content, rule.source, place, path)
                }
            }
        })
    }

    /// What the checks of the file tools refuse, before hooks and questions.
    pub(crate) fn refused_file(
        &self,
        tool: &str,
        input: &Value,
        place: &Place,
    ) -> Option<Decision> {
        let path = place.absolute(path_of(tool, input)?);
        let rule = |name: &str| self.file_rule(Behavior::Deny, name, place, &path);
        let denied = "File is in a directory that is denied by your permission settings.";
        let verb = if tool == "Write" { "written" } else { "edited" };
        let covered = format!(
            "File is covered by a Read deny rule in your permission settings and cannot be {verb}."
        );
        let (text, rule) = match tool {
            "Read" => (denied, rule("Read")?),
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => match rule("Edit") {
                Some(rule) => (denied, rule),
                // What may not be read at all may not be written either.
                None => {
                    let whole = || self.whole_tool_rule(Behavior::Deny, "Read");
                    (covered.as_str(), rule("Read").or_else(whole)?)
                }
            },
            _ => return None,
        };
        let text = sentence::tool_use_error(text);
        Some(Decision::refused(text, true, Reason::Rule(rule.clone())))
    }

    /// `Read`, `Glob`, `Grep`.
    pub(crate) fn check_read(&self, tool: &str, input: &Value, place: &Place) -> Check {
        let path = match (path_of(tool, input), tool) {
            (Some(spelled), _) => place.absolute(spelled),
            (None, "Glob") => searched(input, place),
            (None, _) => place.cwd.clone(),
        };
        let shown = path.display();
        if let Some(rule) = self.file_rule(Behavior::Deny, "Read", place, &path) {
            let text = format!("Permission to read {shown} has been denied.");
            return Check::Deny { text, reason: Reason::Rule(rule.clone()) };
        }
        let text = sentence::not_granted(&format!("read from {shown}"));
        if let Some(rule) = self.file_rule(Behavior::Ask, "Read", place, &path) {
            return Check::Ask(Ask::by_rule(text, Reason::Rule(rule.clone())));
        }
        if place.is_inside(&path) {
            return Check::Allow(Reason::Mode(self.mode));
        }
        if place.is_of_the_session(&path) {
            return Check::Allow(Reason::None);
        }
        // What may be edited may be read, by the file tools.
        let rule = |tool| self.file_rule(Behavior::Allow, tool, place, &path);
        if let Some(rule) = rule("Read").or_else(|| rule("Edit")) {
            return Check::Allow(Reason::Rule(rule.clone()));
        }
        if self.mode.reads_anywhere() {
            return Check::Allow(Reason::Mode(self.mode));
        }
        let folder = if tool == "Read" { path.parent().unwrap_or(&path) } else { &path };
        Check::Ask(Ask {
            reason: Reason::WorkingDirectory,
            suggestions: vec![PermissionUpdate::AddRules {
                rules: vec![("Read".to_owned(), Some(format!("/{}/**", folder.display())))],
                behavior: Behavior::Allow,
                destination: Destination::Session,
            }],
            blocked_path: Some(path.clone()),
            ..Ask::plain(text)
        })
    }

    /// `Write`, `Edit`, `NotebookEdit`.
    pub(crate) fn check_write(&self, tool: &str, input: &Value, place: &Place) -> Check {
        let Some(spelled) = path_of(tool, input) else {
            return Check::Ask(Ask::plain(sentence::not_granted(&format!("use {tool}"))));
        };
        let path = place.absolute(spelled);
        let shown = path.display();
        if let Some(target) = link_target(&path) {
            let text = format!(
                "Refusing to write {shown}: it is a symbolic link. Write to the link's target path instead: {}.",
                target.display()
            );
            return Check::Deny { text, reason: Reason::Other };
        }
        let inside = place.is_inside(&path);
        if !inside && self.block_writes_outside {
            let text = format!(
                "{shown} is outside {}; the permissions.blockWritesOutsideWorkingDirectories setting blocks writes outside the working directories. Ask the user to add the directory with /add-dir, or to remove that setting.",
                place.project.display()
            );
            return Check::Deny { text, reason: Reason::WorkingDirectory };
        }
        let text = sentence::not_granted(&format!("write to {shown}"));
        if let Some(rule) = self.file_rule(Behavior::Ask, "Edit", place, &path) {
            return Check::Ask(Ask::by_rule(text, Reason::Rule(rule.clone())));
        }
        if place.is_writable_by_the_session(&path) {
            return Check::Allow(Reason::Other);
        }
        match care(place, &path) {
            Care::None => {}
            Care::Settings => return Check::Ask(Ask { careful: true, ..Ask::plain(text) }),
            Care::Sensitive => {
                let text = sentence::sensitive(&shown.to_string());
                return Check::Ask(Ask { careful: true, ..Ask::plain(text) });
            }
        }
        if self.mode == Mode::Plan {
            let text = format!("Cannot write to {shown} while in plan mode.");
            return Check::Ask(Ask { reason: Reason::Mode(Mode::Plan), ..Ask::plain(text) });
        }
        if let Some(rule) = self.file_rule(Behavior::Allow, "Edit", place, &path) {
            return Check::Allow(Reason::Rule(rule.clone()));
        }
        if inside && self.mode.accepts_edits() {
            return Check::Allow(Reason::Mode(self.mode));
        }
        let accept = PermissionUpdate::SetMode {
            mode: Mode::AcceptEdits,
            destination: Destination::Session,
        };
        let mut ask = Ask { suggestions: vec![accept], ..Ask::plain(text) };
        if !inside {
            ask.reason = Reason::WorkingDirectory;
            let directories = path.parent().map(|parent| parent.display().to_string());
            ask.suggestions.insert(
                0,
                PermissionUpdate::AddDirectories {
                    directories: directories.into_iter().collect(),
                    destination: Destination::Session,
                },
            );
            ask.blocked_path = Some(path.clone());
        }
        Check::Ask(ask)
    }
}
