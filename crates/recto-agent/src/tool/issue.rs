//! What is wrong with an input, as the model and the log are told.
//!
//! Owns: the sentences. Missing, unexpected and wrongly typed fields have a line each, and what
//! else is wrong follows them; if there are none of them, the model gets the list that the log
//! keeps.

use serde_json::Value;
use serde_json::json;

use super::outcome::ToolOutcome;

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Into a field.
    Name(String),
    /// Into an array.
    Index(usize),
}

/// What an issue is about, for the line that the model sees.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    Missing,
    Type {
        expected: &'static str,
        received: &'static str,
    },
    Unexpected(Vec<String>),
    /// None of the lists of words has it.
    NoForm,
    /// None of the above: only the list tells.
    Other,
}

/// One thing that is wrong with an input.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Issue {
    path: Vec<Step>,
    line: Line,
    detail: Value,
}

impl Issue {
    pub(super) fn missing(path: &[Step], expected: &'static str) -> Issue {
        Issue { line: Line::Missing, ..Issue::of_type(path, expected, "undefined") }
    }

    pub(super) fn wrong_type(path: &[Step], expected: &'static str, value: &Value) -> Issue {
        Issue::of_type(path, expected, type_name(value))
    }

    fn of_type(path: &[Step], expected: &'static str, received: &'static str) -> Issue {
        let detail = json!({
            "expected": expected,
            "code": "invalid_type",
            "path": spelled(path),
            "message": format!("Invalid input: expected {expected}, received {received}"),
        });
        Issue { path: path.to_vec(), line: Line::Type { expected, received }, detail }
    }

    pub(super) fn not_whole(path: &[Step]) -> Issue {
        let detail = json!({
            "expected": "int",
            "format": "safeint",
            "code": "invalid_type",
            "path": spelled(path),
            "message": "Invalid input: expected int, received number",
        });
        let line = Line::Type { expected: "int", received: "number" };
        Issue { path: path.to_vec(), line, detail }
    }

    pub(super) fn unexpected(path: &[Step], names: Vec<String>) -> Issue {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let noun = if names.len() == 1 { "key" } else { "keys" };
        let detail = json!({
            "code": "unrecognized_keys",
            "keys": names,
            "path": spelled(path),
            "message": format!("Unrecognized {noun}: {}", quoted.join(", ")),
        });
        Issue { path: path.to_vec(), line: Line::Unexpected(names), detail }
    }

    pub(super) fn not_an_option(path: &[Step], words: &[&str]) -> Issue {
        Issue { path: path.to_vec(), line: Line::Other, detail: option(&spelled(path), words) }
    }

    pub(super) fn no_list_has(path: &[Step], lists: &[&[&str]]) -> Issue {
        let errors: Vec<Value> =
            lists.iter().map(|words| json!([option(&json!([]), words)])).collect();
        let detail = json!({
            "code": "invalid_union",
            "errors": errors,
            "path": spelled(path),
            "message": "Invalid input",
        });
        Issue { path: path.to_vec(), line: Line::NoForm, detail }
    }

    pub(super) fn not_a_url(path: &[Step]) -> Issue {
        let detail = json!({
            "code": "invalid_format",
            "format": "url",
            "path": spelled(path),
            "message": "Invalid URL",
        });
        Issue { path: path.to_vec(), line: Line::Other, detail }
    }

    /// Numbers beyond this are not exact in the log and in programs that read it.
    pub(super) const LARGEST_WHOLE: i64 = (1 << 53) - 1;

    pub(super) fn too_large(path: &[Step]) -> Issue {
        let largest = Issue::LARGEST_WHOLE;
        let detail = json!({
            "code": "too_big",
            "maximum": largest,
            "note": "Integers must be within the safe integer range.",
            "origin": "int",
            "inclusive": true,
            "path": spelled(path),
            "message": format!("Too big: expected int to be <={largest}"),
        });
        Issue { path: path.to_vec(), line: Line::Other, detail }
    }

    /// What no kind of a field tells.
    pub(super) fn custom(path: &[Step], message: &str) -> Issue {
        let detail = json!({"code": "custom", "path": spelled(path), "message": message});
        Issue { path: path.to_vec(), line: Line::Other, detail }
    }

    pub(super) fn too_short(path: &[Step], min: usize) -> Issue {
        let detail = json!({
            "origin": "string",
            "code": "too_small",
            "minimum": min,
            "inclusive": true,
            "path": spelled(path),
            "message": format!("Too small: expected string to have >={min} characters"),
        });
        Issue { path: path.to_vec(), line: Line::Other, detail }
    }

    pub(super) fn too_few(path: &[Step], min: usize) -> Issue {
        let detail = json!({
            "origin": "array",
            "code": "too_small",
            "minimum": min,
            "inclusive": true,
            "path": spelled(path),
            "message": format!("Too small: expected array to have >={min} items"),
        });
        Issue { path: path.to_vec(), line: Line::Other, detail }
    }

    pub(super) fn too_many(path: &[Step], max: usize) -> Issue {
        let detail = json!({
            "origin": "array",
            "code": "too_big",
            "maximum": max,
            "inclusive": true,
            "path": spelled(path),
            "message": format!("Too big: expected array to have <={max} items"),
        });
        Issue { path: path.to_vec(), line: Line::Other, detail }
    }

    /// Removes the fields that the issue is about from an input, if no tool has them.
    pub(super) fn leave_out(&self, input: &mut Value) {
        if let (Line::Unexpected(names), true) = (&self.line, self.path.is_empty())
            && let Some(fields) = input.as_object_mut()
        {
            names.iter().for_each(|name| drop(fields.shift_remove(name)));
        }
    }

    pub(super) fn path(&self) -> &[Step] {
        &self.path
    }

    pub(super) fn code(&self) -> &str {
        self.detail.get("code").and_then(Value::as_str).unwrap_or_default()
    }

    fn name(&self) -> String {
        let mut name = String::new();
        for step in &self.path {
            match step {
                Step::Name(field) if name.is_empty() => name.push_str(field),
                Step::Name(field) => {
                    name.push('.');
                    name.push_str(field);
                }
                Step::Index(at) => name.push_str(&format!("[{at}]")),
            }
        }
        name
    }
}

fn option(path: &Value, words: &[&str]) -> Value {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let message = match quoted.as_slice() {
        [only] => format!("Invalid input: expected {only}"),
        _ => format!("Invalid option: expected one of {}", quoted.join("|")),
    };
    json!({"code": "invalid_value", "values": words, "path": path, "message": message})
}

fn spelled(path: &[Step]) -> Value {
    let steps = path.iter().map(|step| match step {
        Step::Name(name) => json!(name),
        Step::Index(at) => json!(at),
    });
    steps.collect()
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The list of issues as the log keeps it.
pub(super) fn listed(issues: &[Issue]) -> String {
    let details: Vec<&Value> = issues.iter().map(|issue| &issue.detail).collect();
    serde_json::to_string_pretty(&details).unwrap_or_default()
}

/// The outcome of a call whose input is wrong.
pub(super) fn outcome(tool: &str, issues: &[Issue]) -> ToolOutcome {
    let list = format!("InputValidationError: {}", listed(issues));
    match told(tool, issues) {
        Some(told) => ToolOutcome::tagged(&format!("InputValidationError: {told}"), list),
        None => ToolOutcome::tagged(&list, list.clone()),
    }
}

/// Of an input that is no JSON, how much the model is shown.
const SHOWN: usize = 200;

/// The outcome of a call whose input is no JSON.
pub(super) fn unparsed(tool: &str, raw: &str) -> ToolOutcome {
    let all = raw.len();
    let shown: String = raw.chars().take(SHOWN).collect();
    let text = format!(
        "InputValidationError: {tool} was called with input that could not be parsed as JSON.\n\
         You sent (first {} of {all} bytes): {shown}\n\
         Common causes: unescaped backslashes in file paths (use / or \\\\), unescaped control \
         characters, or truncated output. Retry with valid JSON.",
        shown.len()
    );
    ToolOutcome::tagged(&text, format!("InputValidationError: JSON parse failed ({all} bytes)"))
}

/// The same for an input that whoever answered the question put in the place of the model's.
pub(super) fn answered(tool: &str, issues: &[Issue]) -> ToolOutcome {
    let told = told(tool, issues).unwrap_or_else(|| listed(issues));
    let text = format!(
        "The permission handler returned updatedInput for {tool} that failed schema validation: \
         {told}\nThis is a configuration issue in your canUseTool callback, PermissionRequest \
         hook, or permission-prompt tool — updatedInput must satisfy the tool's input schema. The \
         tool input from the model was valid."
    );
    let log =
        format!("InputValidationError: permission handler updatedInput failed schema for {tool}");
    ToolOutcome::tagged(&text, log)
}

/// The issues with a line each, if one of them has a line.
pub(super) fn told(tool: &str, issues: &[Issue]) -> Option<String> {
    let mut missing = Vec::new();
    let mut types = Vec::new();
    let mut unexpected = Vec::new();
    let mut others = Vec::new();
    for issue in issues {
        match &issue.line {
            Line::Missing => {
                missing.push(format!("The required parameter `{}` is missing", issue.name()));
            }
            Line::Type { expected, received } => types.push(format!(
                "The parameter `{}` type is expected as `{expected}` but provided as `{received}`",
                issue.name()
            )),
            Line::Unexpected(names) => unexpected.extend(
                names.iter().map(|name| format!("An unexpected parameter `{name}` was provided")),
            ),
            Line::NoForm => others.push(format!(
                "The parameter `{}` matches none of the accepted forms",
                issue.name()
            )),
            Line::Other => others.push(format!(
                "The parameter `{}` is invalid: {}",
                issue.name(),
                issue.detail.get("message").and_then(Value::as_str).unwrap_or_default()
            )),
        }
    }
    let mut lines = [missing, unexpected, types].concat();
    if lines.is_empty() {
        return None;
    }
    lines.append(&mut others);
    let noun = if lines.len() == 1 { "issue" } else { "issues" };
    Some(format!("{tool} failed due to the following {noun}:\n{}", lines.join("\n")))
}
