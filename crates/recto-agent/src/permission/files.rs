//! Files: what the file tools may read and write.

use std::path::Path;

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
const SENSITIVE_FOLDERS: &[&str] = &[".git", ".vscode", ".idea", ".husky", ".ssh"];

/// Files that a shell or a tool runs.
const SENSITIVE_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".mcp.json",
    ".claude.json",
];

/// How careful a write to a path must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// As any other file.
    None,
    /// Claude Code's own settings in a project: always asked.
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
    if path.starts_with(&place.claude) {
        return Care::Sensitive;
    }
    if names().any(|name| name == ".claude") { Care::Settings } else { Care::None }
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
        let covered =
            "File is covered by a Read deny rule in your permission settings and cannot be edited.";
        let (text, rule) = match tool {
            "Read" => (denied, rule("Read")?),
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => match rule("Edit") {
                Some(rule) => (denied, rule),
                None => (covered, rule("Read")?),
            },
            _ => return None,
        };
        let text = sentence::tool_use_error(text);
        Some(Decision::refused(text, true, Reason::Rule(rule.clone())))
    }

    /// `Read`, `Glob`, `Grep`.
    pub(crate) fn check_read(&self, tool: &str, input: &Value, place: &Place) -> Check {
        let spelled = path_of(tool, input).unwrap_or(".");
        let path = place.absolute(spelled);
        let shown = path.display();
        if let Some(rule) = self.file_rule(Behavior::Deny, "Read", place, &path) {
            let text = format!("Permission to read {shown} has been denied.");
            return Check::Deny { text, reason: Reason::Rule(rule.clone()) };
        }
        let text = sentence::not_granted(&format!("read from {shown}"));
        if let Some(rule) = self.file_rule(Behavior::Ask, "Read", place, &path) {
            return Check::Ask(Ask::by_rule(text, Reason::Rule(rule.clone())));
        }
        if place.is_inside(&path) && self.mode == Mode::AcceptEdits {
            return Check::Allow(Reason::Mode(self.mode));
        }
        if place.is_inside(&path) || place.is_of_the_session(&path) {
            return Check::Allow(Reason::None);
        }
        if let Some(rule) = self.file_rule(Behavior::Allow, "Read", place, &path) {
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
                "Refusing to write {shown}: writes outside the working directories are blocked by permissions.blockWritesOutsideWorkingDirectories."
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
