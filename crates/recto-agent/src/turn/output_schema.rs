//! `--json-schema`: output in a shape that the user asked for.

use std::fmt::Write as _;

use regex::Regex;
use serde_json::Value;
use serde_json::json;

/// A JSON schema that an output must fit. Keywords that are not known here check nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema(Value);

impl OutputSchema {
    /// Takes a schema: an object.
    pub fn new(schema: Value) -> Option<OutputSchema> {
        schema.is_object().then_some(OutputSchema(schema))
    }

    /// The tool that takes the output.
    pub(super) fn declaration(&self) -> Value {
        let mut schema = self.0.clone();
        // A tool takes an object.
        if let Some(object) = schema.as_object_mut() {
            object.entry("type").or_insert_with(|| json!("object"));
            object.remove("$schema");
        }
        json!({
            "name": super::call::STRUCTURED_OUTPUT,
            "description": "Returns the final answer in the requested shape. Call it once, at the end.",
            "input_schema": schema,
        })
    }

    /// Whether a value fits, or where it does not.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let mut problems = Vec::new();
        check(&self.0, &self.0, value, "", 0, &mut problems);
        if problems.is_empty() { Ok(()) } else { Err(problems.join(", ")) }
    }
}

/// References may go in circles.
const DEEPEST: usize = 64;

fn check(
    root: &Value,
    schema: &Value,
    value: &Value,
    at: &str,
    depth: usize,
    problems: &mut Vec<String>,
) {
    if depth > DEEPEST {
        return;
    }
    let place = if at.is_empty() { "root" } else { at };
    let mut say = |what: String| problems.push(format!("{place}: {what}"));
    if schema == &Value::Bool(false) {
        return say("boolean schema is false".to_owned());
    }
    let Some(keywords) = schema.as_object() else { return };
    if let Some(target) = keywords.get("$ref").and_then(Value::as_str)
        && let Some(target) = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
    {
        return check(root, target, value, at, depth + 1, problems);
    }
    if let Some(kind) = keywords.get("type") {
        let kinds: Vec<&str> = match kind {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !kinds.is_empty() && !kinds.iter().any(|kind| is_of(kind, value)) {
            return say(format!("must be {}", kinds.join(",")));
        }
    }
    if let Some(Value::Array(allowed)) = keywords.get("enum")
        && !allowed.contains(value)
    {
        say("must be equal to one of the allowed values".to_owned());
    }
    if let Some(wanted) = keywords.get("const")
        && wanted != value
    {
        say("must be equal to constant".to_owned());
    }
    check_size(keywords, value, &mut say);
    check_members(root, keywords, value, at, depth, problems);
    check_choices(root, keywords, value, at, depth, problems);
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

fn check_size(
    keywords: &serde_json::Map<String, Value>,
    value: &Value,
    say: &mut impl FnMut(String),
) {
    let bound = |name: &str| keywords.get(name).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            say(format!("must be >= {least}"));
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            say(format!("must be <= {most}"));
        }
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as f64;
        if let Some(least) = bound("minLength").filter(|least| length < *least) {
            say(format!("must NOT have fewer than {least} characters"));
        }
        if let Some(most) = bound("maxLength").filter(|most| length > *most) {
            say(format!("must NOT have more than {most} characters"));
        }
        let pattern = keywords.get("pattern").and_then(Value::as_str);
        if let Some(pattern) = pattern
            && Regex::new(pattern).is_ok_and(|regex| !regex.is_match(text))
        {
            say(format!("must match pattern \"{pattern}\""));
        }
    }
    if let Some(items) = value.as_array() {
        let count = items.len() as f64;
        if let Some(least) = bound("minItems").filter(|least| count < *least) {
            say(format!("must NOT have fewer than {least} items"));
        }
        if let Some(most) = bound("maxItems").filter(|most| count > *most) {
            say(format!("must NOT have more than {most} items"));
        }
    }
}

fn check_members(
    root: &Value,
    keywords: &serde_json::Map<String, Value>,
    value: &Value,
    at: &str,
    depth: usize,
    problems: &mut Vec<String>,
) {
    let inside = |name: &str| {
        let mut path = at.to_owned();
        let _ = write!(path, "/{name}");
        path
    };
    if let Some(object) = value.as_object() {
        let place = if at.is_empty() { "root" } else { at };
        for name in keywords.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str().filter(|name| !object.contains_key(*name)) {
                problems.push(format!("{place}: must have required property '{name}'"));
            }
        }
        let properties = keywords.get("properties").and_then(Value::as_object);
        for (name, member) in object {
            match properties.and_then(|properties| properties.get(name)) {
                Some(schema) => check(root, schema, member, &inside(name), depth + 1, problems),
                None => match keywords.get("additionalProperties") {
                    Some(Value::Bool(false)) => {
                        problems.push(format!("{place}: must NOT have additional properties"));
                    }
                    Some(schema) => check(root, schema, member, &inside(name), depth + 1, problems),
                    None => {}
                },
            }
        }
    }
    if let (Some(items), Some(schema)) = (value.as_array(), keywords.get("items")) {
        for (number, item) in items.iter().enumerate() {
            check(root, schema, item, &inside(&number.to_string()), depth + 1, problems);
        }
    }
}

fn check_choices(
    root: &Value,
    keywords: &serde_json::Map<String, Value>,
    value: &Value,
    at: &str,
    depth: usize,
    problems: &mut Vec<String>,
) {
    let place = if at.is_empty() { "root" } else { at };
    let list = |name: &str| keywords.get(name).and_then(Value::as_array);
    for schema in list("allOf").into_iter().flatten() {
        check(root, schema, value, at, depth + 1, problems);
    }
    let fits = |schema: &Value| {
        let mut found = Vec::new();
        check(root, schema, value, at, depth + 1, &mut found);
        found.is_empty()
    };
    if let Some(schemas) = list("anyOf")
        && !schemas.iter().any(fits)
    {
        problems.push(format!("{place}: must match a schema in anyOf"));
    }
    if let Some(schemas) = list("oneOf")
        && schemas.iter().filter(|schema| fits(schema)).count() != 1
    {
        problems.push(format!("{place}: must match exactly one schema in oneOf"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let schema = OutputSchema::new(json!({
            "type": "object",
            "properties": {
                "color": {"type": "string", "enum": ["red", "blue"]},
                "n": {"type": "integer", "minimum": 1},
                "list": {"type": "array", "items": {"$ref": "#/$defs/word"}},
            },
            "required": ["color", "n"],
            "additionalProperties": false,
            "$defs": {"word": {"type": "string", "minLength": 2}},
        }))
        .unwrap();
        assert_eq!(schema.check(&json!({"color": "red", "n": 3, "list": ["ab"]})), Ok(()));
        let why = |value: Value| schema.check(&value).unwrap_err();
        assert_eq!(why(json!({"color": "red"})), "root: must have required property 'n'");
        assert_eq!(why(json!({"color": "red", "n": 0.5})), "/n: must be integer");
        assert_eq!(
            why(json!({"color": "x", "n": 0})),
            "/color: must be equal to one of the allowed values, /n: must be >= 1"
        );
        assert_eq!(
            why(json!({"color": "red", "n": 1, "list": ["a"]})),
            "/list/0: must NOT have fewer than 2 characters"
        );
        assert_eq!(
            why(json!({"color": "red", "n": 1, "x": 1})),
            "root: must NOT have additional properties"
        );
        assert!(OutputSchema::new(json!(true)).is_none());
    }
}
