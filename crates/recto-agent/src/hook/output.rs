//! What a hook prints: a JSON object that is obeyed, or text.

use serde_json::Map;
use serde_json::Value;

use crate::hook::event::Event;
use crate::permission::PermissionUpdate;

/// What a hook of `PreToolUse` decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// The call runs without a question.
    Allow,
    /// Somebody is asked.
    Ask,
    /// The run ends; whoever resumes it decides.
    Defer,
    /// The call does not run.
    Deny,
}

/// What a hook of `PermissionRequest` answers.
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionAnswer {
    /// The call runs.
    Allow {
        /// With another input.
        updated_input: Option<Value>,
        /// And with these permissions from now on.
        updates: Vec<PermissionUpdate>,
    },
    /// The call does not run.
    Deny {
        /// What the model reads.
        message: Option<String>,
        /// Whether the turn ends too.
        interrupt: bool,
    },
}

/// A JSON object that a hook printed, as far as it means something.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// `continue: false`, with `stopReason`.
    pub stop: Option<String>,
    /// `decision: block`, with `reason`.
    pub block: Option<Option<String>>,
    /// `systemMessage`.
    pub system_message: Option<String>,
    /// `permissionDecision`, or the older `decision: approve`.
    pub choice: Option<Choice>,
    /// `permissionDecisionReason`.
    pub choice_reason: Option<String>,
    /// `updatedInput`: replaces the whole input.
    pub updated_input: Option<Value>,
    /// `updatedToolOutput`.
    pub updated_output: Option<Value>,
    /// `additionalContext`.
    pub context: Option<String>,
    /// `sessionTitle`.
    pub session_title: Option<String>,
    /// `decision` of `PermissionRequest`.
    pub permission: Option<PermissionAnswer>,
}

/// How the standard output of a hook is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Printed {
    /// Text, without the blanks around it.
    Text(String),
    /// An object that is obeyed.
    Json(Box<Output>),
    /// `async: true`: it goes on, and nobody waits for what it says.
    Async,
    /// Text in braces that is no object: the sentence for the log.
    Broken(String),
    /// An object that says something impossible: the sentence for the log.
    Invalid(String),
    /// An object for another event: the sentence for the log.
    WrongEvent(String),
}

/// What the log says about text in braces that is no object.
fn broken(error: &serde_json::Error) -> String {
    // A line break inside quotes, mostly: `echo` makes one of `\n`.
    let what = match error.to_string().starts_with("control character") {
        true => "Unterminated string",
        false => "Unable to parse JSON string",
    };
    format!(
        "Hook output looks like a JSON object but is not valid JSON — JSON Parse error: {what}. Emit the payload with a JSON encoder (jq, ConvertTo-Json, json.dumps) rather than string concatenation so backslashes and quotes inside strings are escaped."
    )
}

/// Reads the standard output of a hook.
pub(crate) fn read(event: Event, stdout: &str) -> Printed {
    let text = stdout.trim();
    let is_text = || Printed::Text(text.to_owned());
    if !text.starts_with('{') {
        return is_text();
    }
    let object = match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(object) => object,
        Err(error) if text.ends_with('}') => return Printed::Broken(broken(&error)),
        Err(_) => return is_text(),
    };
    if object.get("async") == Some(&Value::Bool(true)) {
        return Printed::Async;
    }
    if let Err(what) = validate(&object) {
        let shown = pretty(&Value::Object(object));
        return Printed::Invalid(format!(
            "Hook JSON output validation failed — {what}\n\nThe hook's output was: {shown}"
        ));
    }
    let specific = object.get("hookSpecificOutput").and_then(Value::as_object);
    let name = specific.and_then(|specific| specific.get("hookEventName")).and_then(Value::as_str);
    if let Some(name) = name.filter(|name| *name != event.name()) {
        let shown = pretty(&known_part(&object, name));
        let expected = event.name();
        return Printed::WrongEvent(format!(
            "Failed to run: Hook returned incorrect event name: expected '{expected}' but got '{name}'. Full stdout: {shown}"
        ));
    }
    Printed::Json(Box::new(output(&object, specific)))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn output(object: &Map<String, Value>, specific: Option<&Map<String, Value>>) -> Output {
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let own = |key: &str| specific.and_then(|specific| specific.get(key));
    let own_text = |key: &str| own(key).and_then(Value::as_str).map(str::to_owned);
    let choice = own("permissionDecision").and_then(Value::as_str).and_then(|name| match name {
        "allow" => Some(Choice::Allow),
        "ask" => Some(Choice::Ask),
        "defer" => Some(Choice::Defer),
        "deny" => Some(Choice::Deny),
        _ => None,
    });
    let decision = object.get("decision").and_then(Value::as_str);
    let stops = object.get("continue") == Some(&Value::Bool(false));
    Output {
        stop: stops.then(|| text("stopReason").unwrap_or_default()),
        block: (decision == Some("block")).then(|| text("reason")),
        system_message: text("systemMessage").filter(|message| !message.is_empty()),
        choice: choice.or((decision == Some("approve")).then_some(Choice::Allow)),
        choice_reason: own_text("permissionDecisionReason"),
        updated_input: own("updatedInput").filter(|input| input.is_object()).cloned(),
        updated_output: own("updatedToolOutput").cloned(),
        context: own_text("additionalContext").filter(|context| !context.is_empty()),
        session_title: own_text("sessionTitle").filter(|title| !title.trim().is_empty()),
        permission: own("decision").and_then(permission_answer),
    }
}

fn permission_answer(decision: &Value) -> Option<PermissionAnswer> {
    match decision.get("behavior")?.as_str()? {
        "allow" => {
            let updates = decision.get("updatedPermissions").and_then(Value::as_array);
            let updates = updates.into_iter().flatten().filter_map(PermissionUpdate::from_json);
            Some(PermissionAnswer::Allow {
                updated_input: decision
                    .get("updatedInput")
                    .filter(|input| input.is_object())
                    .cloned(),
                updates: updates.collect(),
            })
        }
        "deny" => Some(PermissionAnswer::Deny {
            message: decision.get("message").and_then(Value::as_str).map(str::to_owned),
            interrupt: decision.get("interrupt").and_then(Value::as_bool).unwrap_or(false),
        }),
        _ => None,
    }
}

/// What an object may contain, and what is wrong with this one.
fn validate(object: &Map<String, Value>) -> Result<(), String> {
    let boolean = |key: &str| is_of_kind(object, key, key, "boolean", Value::is_boolean);
    let string = |key: &str| is_of_kind(object, key, key, "string", Value::is_string);
    boolean("continue")?;
    boolean("suppressOutput")?;
    string("stopReason")?;
    is_one_of(object, "decision", "decision", &["approve", "block"])?;
    string("reason")?;
    string("systemMessage")?;
    let Some(specific) = object.get("hookSpecificOutput") else { return Ok(()) };
    let Some(specific) = specific.as_object() else {
        return Err(wrong_kind("hookSpecificOutput", "object", specific));
    };
    if !specific.contains_key("hookEventName") {
        return Err("hookSpecificOutput is missing required field \"hookEventName\"".to_owned());
    }
    let name = specific.get("hookEventName").and_then(Value::as_str);
    let event = name.and_then(Event::named).filter(|event| event.has_specific_output());
    let Some(event) = event else {
        return Err("hookSpecificOutput.hookEventName: expected one of \"PreToolUse\" | \"UserPromptSubmit\" | \"UserPromptExpansion\" | \"SessionStart\" | \"Setup\" | \"PreModelSwitch\" | …".to_owned());
    };
    validate_specific(event, specific)
}

fn validate_specific(event: Event, specific: &Map<String, Value>) -> Result<(), String> {
    let string = |key: &str| {
        let path = format!("hookSpecificOutput.{key}");
        is_of_kind(specific, key, &path, "string", Value::is_string)
    };
    if event == Event::PreToolUse {
        let path = "hookSpecificOutput.permissionDecision";
        is_one_of(specific, "permissionDecision", path, &["allow", "deny", "ask", "defer"])?;
        string("permissionDecisionReason")?;
        let path = "hookSpecificOutput.updatedInput";
        is_of_kind(specific, "updatedInput", path, "record", Value::is_object)?;
    }
    string("additionalContext")
}

fn is_of_kind(
    object: &Map<String, Value>,
    key: &str,
    path: &str,
    kind: &str,
    is: fn(&Value) -> bool,
) -> Result<(), String> {
    match object.get(key) {
        Some(value) if !is(value) => Err(wrong_kind(path, kind, value)),
        _ => Ok(()),
    }
}

fn is_one_of(
    object: &Map<String, Value>,
    key: &str,
    path: &str,
    names: &[&str],
) -> Result<(), String> {
    match object.get(key) {
        None => Ok(()),
        Some(value) if value.as_str().is_some_and(|name| names.contains(&name)) => Ok(()),
        Some(_) => {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            Err(format!("{path}: Invalid option: expected one of {}", names.join("|")))
        }
    }
}

fn wrong_kind(path: &str, expected: &str, value: &Value) -> String {
    let received = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("{path}: expected {expected}, received {received}")
}

/// An object without the keys that the named event does not have.
fn known_part(object: &Map<String, Value>, event: &str) -> Value {
    let mut object = object.clone();
    if let Some(specific) = object.get_mut("hookSpecificOutput").and_then(Value::as_object_mut) {
        let known: &[&str] = match event {
            "PreToolUse" => &[
                "permissionDecision",
                "permissionDecisionReason",
                "updatedInput",
                "additionalContext",
            ],
            "PostToolUse" => &["additionalContext", "updatedToolOutput", "updatedMCPToolOutput"],
            "PermissionRequest" => &["decision"],
            "UserPromptSubmit" => &["additionalContext", "sessionTitle"],
            _ => &["additionalContext"],
        };
        specific.retain(|key, _| key == "hookEventName" || known.contains(&key.as_str()));
    }
    Value::Object(object)
}
