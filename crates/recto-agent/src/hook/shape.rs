//! Whether the hooks of a settings file are written as hooks are.
//!
//! One that is not makes its whole file set nothing: what was meant cannot be known, and half of
//! a check is no check. Unknown events are passed over, because later versions have more.

use serde_json::Map;
use serde_json::Value;

use crate::hook::event::Event;

type Object = Map<String, Value>;

/// What is wrong with the `hooks` of a settings file, and where.
pub(crate) fn problem(settings: &Object) -> Option<String> {
    let events = settings.get("hooks")?.as_object()?;
    let known = events.iter().filter(|(name, _)| Event::named(name).is_some());
    for (name, groups) in known {
        for (number, group) in groups.as_array().into_iter().flatten().enumerate() {
            if let Err(what) = check_group(group) {
                return Some(format!("hooks.{name}.{number}{what}"));
            }
        }
    }
    None
}

fn check_group(group: &Value) -> Result<(), String> {
    let group = group.as_object().ok_or(": not an object")?;
    optional(group, "matcher", "a string", Value::is_string)?;
    let hooks = group.get("hooks").and_then(Value::as_array).ok_or(".hooks: not a list")?;
    for (number, hook) in hooks.iter().enumerate() {
        check_hook(hook).map_err(|what| format!(".hooks.{number}{what}"))?;
    }
    Ok(())
}

fn check_hook(hook: &Value) -> Result<(), String> {
    let hook = hook.as_object().ok_or(": not an object")?;
    let needed: &[&str] = match hook.get("type").and_then(Value::as_str) {
        Some("command") => &["command"],
        Some("prompt" | "agent") => &["prompt"],
        Some("http") => &["url"],
        Some("mcp_tool") => &["server", "tool"],
        _ => return Err(".type: not a known kind of hook".to_owned()),
    };
    for key in needed {
        if !hook.get(*key).is_some_and(Value::is_string) {
            return Err(format!(".{key}: not a string"));
        }
    }
    optional(hook, "timeout", "a number above zero", |value| {
        value.as_f64().is_some_and(|seconds| seconds > 0.0)
    })?;
    optional(hook, "async", "true or false", Value::is_boolean)?;
    optional(hook, "once", "true or false", Value::is_boolean)?;
    optional(hook, "if", "a string", Value::is_string)?;
    optional(hook, "statusMessage", "a string", Value::is_string)?;
    optional(hook, "shell", "a known shell", |value| {
        matches!(value.as_str(), Some("bash" | "powershell"))
    })
}

/// A key that may be missing, and is of its kind if it is there.
fn optional(object: &Object, key: &str, kind: &str, is: fn(&Value) -> bool) -> Result<(), String> {
    match object.get(key) {
        Some(value) if !is(value) => Err(format!(".{key}: not {kind}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_hook(hook: Value) -> Option<String> {
        let hooks = json!([{ "type": "command", "command": "a" }, hook]);
        let settings = json!({ "hooks": { "Stop": [{ "matcher": "*", "hooks": hooks }] } });
        problem(settings.as_object().unwrap())
    }

    fn of_group(group: Value) -> Option<String> {
        problem(json!({ "hooks": { "Stop": [group] } }).as_object().unwrap())
    }

    #[test]
    fn one_that_is_wrong_is_told_with_its_place() {
        let what = of_hook(json!({ "type": "command", "command": "a", "timeout": 0 }));
        assert_eq!(what.as_deref(), Some("hooks.Stop.0.hooks.1.timeout: not a number above zero"));
        for (key, value) in [
            ("timeout", json!("5")),
            ("timeout", json!(-1)),
            ("timeout", Value::Null),
            ("async", json!("yes")),
            ("once", json!("x")),
            ("if", json!(5)),
            ("statusMessage", json!(5)),
            ("shell", json!("fish")),
            ("type", json!("nosuch")),
            ("command", json!(1)),
        ] {
            let mut hook = json!({ "type": "command", "command": "a" });
            hook[key] = value.clone();
            assert!(of_hook(hook).is_some_and(|what| what.contains(key)), "{key} {value}");
        }
        assert!(of_hook(json!({ "type": "command" })).is_some());
        assert!(of_hook(json!({ "type": "prompt" })).is_some());
        assert!(of_hook(json!("x")).is_some());
        assert!(of_group(json!("x")).is_some());
        assert!(of_group(json!({ "matcher": "Bash" })).is_some());
        assert!(of_group(json!({ "matcher": 5, "hooks": [] })).is_some());
        assert!(of_group(json!({ "matcher": null, "hooks": [] })).is_some());
    }

    #[test]
    fn other_kinds_further_keys_and_unknown_events_are_fine() {
        for hook in [
            json!({ "type": "command", "command": "", "timeout": 0.5, "foo": 1 }),
            json!({ "type": "prompt", "prompt": "x" }),
            json!({ "type": "agent", "prompt": "x" }),
            json!({ "type": "http", "url": "http://localhost" }),
            json!({ "type": "mcp_tool", "server": "a", "tool": "b" }),
        ] {
            assert_eq!(of_hook(hook), None);
        }
        for settings in [
            json!({}),
            json!({ "hooks": 5 }),
            json!({ "hooks": { "NoSuchEvent": [{ "hooks": [{ "timeout": 0 }] }] } }),
        ] {
            assert_eq!(problem(settings.as_object().unwrap()), None);
        }
    }
}
