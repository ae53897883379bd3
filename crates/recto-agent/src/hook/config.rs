//! Hooks of the settings files.

use std::time::Duration;

use serde_json::Value;

use crate::hook::event::Event;
use crate::hook::matcher;
use crate::permission::Call;
use crate::permission::Permissions;
use crate::permission::Place;
use crate::settings::Settings;
use crate::settings::Source;

/// How long a hook may run when its settings do not say.
const LONGEST: Duration = Duration::from_secs(60);
/// The most that settings can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(24 * 60 * 60);

/// One command that runs at an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    /// The event.
    pub event: Event,
    /// Whom it is for.
    pub matcher: Option<String>,
    /// The text for `/bin/sh -c`.
    pub command: String,
    /// How long it may run.
    pub timeout: Duration,
    /// Whether nothing waits for it.
    pub is_async: bool,
    /// A permission rule that the call must match.
    pub condition: Option<String>,
    /// Where it is set.
    pub source: Source,
}

/// All hooks of a session, in the order of their settings.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    commands: Vec<HookCommand>,
}

/// What an event is about, for matchers and conditions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject<'a> {
    /// The tool's name, the session's source, the agent's kind, the trigger.
    pub name: Option<&'a str>,
    /// The input of the call.
    pub input: Option<&'a Value>,
}

impl Hooks {
    /// Reads the hooks of all layers. Hooks of an unknown kind or event are passed over.
    pub fn new(settings: &Settings) -> Self {
        if settings.is_on("disableAllHooks") {
            return Hooks::default();
        }
        // Only the administrator can want that.
        let only_managed = settings.layers().iter().any(|layer| {
            layer.source == Source::Managed
                && layer.value.get("allowManagedHooksOnly") == Some(&Value::Bool(true))
        });
        let mut commands = Vec::new();
        for layer in settings.layers() {
            if only_managed && layer.source != Source::Managed {
                continue;
            }
            let Some(events) = layer.value.get("hooks").and_then(Value::as_object) else {
                continue;
            };
            for (name, groups) in events {
                let Some(event) = Event::named(name) else { continue };
                for group in groups.as_array().into_iter().flatten() {
                    read_group(event, group, layer.source, &mut commands);
                }
            }
        }
        Hooks { commands }
    }

    /// All commands.
    pub fn commands(&self) -> &[HookCommand] {
        &self.commands
    }

    /// Whether any hook is set for an event.
    pub fn has(&self, event: Event) -> bool {
        self.commands.iter().any(|command| command.event == event)
    }

    /// The hooks that run at an event, the same command once.
    pub fn matching(&self, event: Event, subject: Subject<'_>, place: &Place) -> Vec<&HookCommand> {
        let mut found: Vec<&HookCommand> = Vec::new();
        for hook in self.commands.iter().filter(|hook| hook.event == event) {
            let named = match subject.name {
                Some(name) => matcher::matches(hook.matcher.as_deref(), name),
                // Events without a subject have nothing to match.
                None => true,
            };
            let known = found
                .iter()
                .any(|other| other.command == hook.command && other.condition == hook.condition);
            if named && !known && meets_condition(hook, subject, place) {
                found.push(hook);
            }
        }
        found
    }
}

fn meets_condition(hook: &HookCommand, subject: Subject<'_>, place: &Place) -> bool {
    let Some(condition) = &hook.condition else { return true };
    let (Some(tool), Some(input)) = (subject.name, subject.input) else {
        // A rule about a call says nothing about other events.
        return !hook.event.is_about_a_tool();
    };
    Permissions::rule_matches(condition, Call { tool, input }, place)
}

fn read_group(event: Event, group: &Value, source: Source, commands: &mut Vec<HookCommand>) {
    // What is not understood must not mean every tool.
    if group.get("matcher").is_some_and(|matcher| !matcher.is_string()) {
        return;
    }
    let matcher = group.get("matcher").and_then(Value::as_str).map(str::to_owned);
    for hook in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
        if hook.get("type").and_then(Value::as_str) != Some("command") {
            continue;
        }
        let Some(command) = hook.get("command").and_then(Value::as_str) else { continue };
        if command.trim().is_empty() || command.contains('\0') {
            continue;
        }
        let timeout = hook.get("timeout").and_then(Value::as_f64).filter(|seconds| *seconds > 0.0);
        let timeout = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        commands.push(HookCommand {
            event,
            matcher: matcher.clone(),
            command: command.to_owned(),
            timeout: timeout.unwrap_or(LONGEST).min(LONGEST_ASKED),
            is_async: hook.get("async").and_then(Value::as_bool).unwrap_or(false),
            condition: hook
                .get("if")
                .and_then(Value::as_str)
                .filter(|condition| !condition.is_empty())
                .map(str::to_owned),
            source,
        });
    }
}

/// A hook that the program runs which started the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    /// The event.
    pub event: Event,
    /// Whom it is for.
    pub matcher: Option<String>,
    /// The name by which the program knows it.
    pub id: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether something is forbidden when it fails.
    pub blocks_on_failure: bool,
}

impl Callback {
    /// Reads `hooks` of an `initialize` request. Unknown events are passed over.
    pub fn read_all(hooks: &Value) -> Vec<Callback> {
        let mut callbacks = Vec::new();
        for (name, groups) in hooks.as_object().into_iter().flatten() {
            // A session that starts or ends has nobody to ask yet, or any more.
            let event = Event::named(name)
                .filter(|event| !matches!(event, Event::SessionStart | Event::SessionEnd));
            let Some(event) = event else { continue };
            for group in groups.as_array().into_iter().flatten() {
                let matcher = group.get("matcher").and_then(Value::as_str).map(str::to_owned);
                let timeout = group.get("timeout").and_then(Value::as_f64);
                let timeout = timeout.filter(|seconds| *seconds > 0.0);
                let timeout = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                let ids = group.get("hookCallbackIds").and_then(Value::as_array);
                for id in ids.into_iter().flatten().filter_map(Value::as_str) {
                    callbacks.push(Callback {
                        event,
                        matcher: matcher.clone(),
                        id: id.to_owned(),
                        timeout: timeout.unwrap_or(LONGEST).min(LONGEST_ASKED),
                        blocks_on_failure: group.get("onFailure").and_then(Value::as_str)
                            == Some("block"),
                    });
                }
            }
        }
        callbacks
    }

    /// Whether it runs at an event about a subject.
    pub fn is_for(&self, event: Event, subject: Option<&str>) -> bool {
        self.event == event
            && subject.is_none_or(|name| matcher::matches(self.matcher.as_deref(), name))
    }
}
