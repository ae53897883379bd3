//! Permission updates: what a host or a hook may be offered to grant, and may grant.

use serde_json::Value;
use serde_json::json;

use crate::permission::mode::Mode;
use crate::permission::rule::Behavior;

/// Where an update is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Until the session ends.
    Session,
    /// `.claude/settings.local.json`.
    LocalSettings,
    /// `.claude/settings.json`.
    ProjectSettings,
    /// The user's `settings.json`.
    UserSettings,
}

impl Destination {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Destination::Session => "session",
            Destination::LocalSettings => "localSettings",
            Destination::ProjectSettings => "projectSettings",
            Destination::UserSettings => "userSettings",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "session" | "cliArg" => Destination::Session,
            "localSettings" => Destination::LocalSettings,
            "projectSettings" => Destination::ProjectSettings,
            "userSettings" => Destination::UserSettings,
            _ => return None,
        })
    }
}

/// A change of the permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionUpdate {
    /// More rules: tool and content.
    AddRules {
        /// The rules.
        rules: Vec<(String, Option<String>)>,
        /// What they do.
        behavior: Behavior,
        /// Where they are kept.
        destination: Destination,
    },
    /// More working directories.
    AddDirectories {
        /// The directories.
        directories: Vec<String>,
        /// Where they are kept.
        destination: Destination,
    },
    /// Another mode.
    SetMode {
        /// The mode.
        mode: Mode,
        /// Where it is kept.
        destination: Destination,
    },
}

impl PermissionUpdate {
    /// As hosts and hooks read it.
    pub fn to_json(&self) -> Value {
        match self {
            PermissionUpdate::AddRules { rules, behavior, destination } => {
                let rules: Vec<Value> = rules
                    .iter()
                    .map(|(tool, content)| match content {
                        Some(content) => json!({"toolName": tool, "ruleContent": content}),
                        None => json!({"toolName": tool}),
                    })
                    .collect();
                json!({"type": "addRules", "rules": rules, "behavior": behavior.name(), "destination": destination.name()})
            }
            PermissionUpdate::AddDirectories { directories, destination } => {
                json!({"type": "addDirectories", "directories": directories, "destination": destination.name()})
            }
            PermissionUpdate::SetMode { mode, destination } => {
                json!({"type": "setMode", "mode": mode.name(), "destination": destination.name()})
            }
        }
    }

    /// Reads what a host or a hook grants. Updates of an unknown kind are `None`.
    pub fn from_json(value: &Value) -> Option<Self> {
        let destination = Destination::parse(value.get("destination")?.as_str()?)?;
        let strings = |key: &str| -> Option<Vec<String>> {
            let list = value.get(key)?.as_array()?;
            Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        match value.get("type")?.as_str()? {
            "addRules" => {
                let behavior = match value.get("behavior")?.as_str()? {
                    "allow" => Behavior::Allow,
                    "deny" => Behavior::Deny,
                    "ask" => Behavior::Ask,
                    _ => return None,
                };
                let rule = |rule: &Value| {
                    let content = rule.get("ruleContent").and_then(Value::as_str);
                    Some((rule.get("toolName")?.as_str()?.to_owned(), content.map(str::to_owned)))
                };
                let rules = value.get("rules")?.as_array()?.iter().filter_map(rule).collect();
                Some(PermissionUpdate::AddRules { rules, behavior, destination })
            }
            "addDirectories" => Some(PermissionUpdate::AddDirectories {
                directories: strings("directories")?,
                destination,
            }),
            "setMode" => {
                let mode = Mode::parse(value.get("mode")?.as_str()?)?;
                Some(PermissionUpdate::SetMode { mode, destination })
            }
            _ => None,
        }
    }
}
