//! Tools: names, and schemas that are JSON Schema.

use std::collections::BTreeSet;

use serde_json::Value;

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// How deep a schema is looked at.
const MOST_LEVELS: usize = 64;

pub(super) fn check_tools(body: &Value) -> Result<(), String> {
    let tools = match &body["tools"] {
        Value::Null => return Ok(()),
        Value::Array(tools) => tools,
        _ => return Err("tools: Input should be a valid list".into()),
    };
    let mut names = BTreeSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let is_custom = matches!(tool["type"].as_str(), None | Some("custom"));
        if is_custom {
            check_tool(at, tool)?;
        }
        if let Some(name) = tool["name"].as_str()
            && !names.insert(name)
        {
            return Err("tools: Tool names must be unique.".into());
        }
    }
    Ok(())
}

fn check_tool(at: usize, tool: &Value) -> Result<(), String> {
    let place = format!("tools.{at}.custom");
    let Some(name) = tool["name"].as_str() else {
        return Err(format!("{place}.name: Field required"));
    };
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if name.is_empty() || name.len() > 128 || !is_plain {
        return Err(format!(
            "{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        ));
    }
    if !matches!(tool["description"], Value::Null | Value::String(_)) {
        return Err(format!("{place}.description: Input should be a valid string"));
    }
    let schema = &tool["input_schema"];
    if schema.is_null() {
        return Err(format!("{place}.input_schema: Field required"));
    }
    if !schema.is_object() {
        return Err(format!("{place}.input_schema: Input should be a valid dictionary"));
    }
    match &schema["type"] {
        Value::Null => return Err(format!("{place}.input_schema.type: Field required")),
        Value::String(kind) if kind == "object" => {}
        _ => return Err(format!("{place}.input_schema.type: Input should be 'object'")),
    }
    if ["oneOf", "allOf", "anyOf"].iter().any(|name| !schema[*name].is_null()) {
        return Err(format!(
            "{place}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        ));
    }
    check_schema(schema, 0).map_err(|()| {
        format!(
            "{place}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"
        )
    })
}

fn check_schema(schema: &Value, level: usize) -> Result<(), ()> {
    let members = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(members) if level < MOST_LEVELS => members,
        _ => return Err(()),
    };
    let known = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    for (name, value) in members {
        let is_valid = match (name.as_str(), value) {
            ("type", Value::Array(kinds)) => !kinds.is_empty() && kinds.iter().all(known),
            ("type", kind) => known(kind),
            ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(all)) => {
                all.values().all(|schema| check_schema(schema, level + 1).is_ok())
            }
            ("properties" | "$defs" | "definitions" | "patternProperties", _) => false,
            ("required", Value::Array(names)) => names.iter().all(Value::is_string),
            ("enum", Value::Array(_)) => true,
            ("required" | "enum", _) => false,
            ("items" | "not" | "additionalProperties" | "contains" | "propertyNames", schema) => {
                check_schema(schema, level + 1).is_ok()
            }
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::Array(all)) => {
                !all.is_empty() && all.iter().all(|one| check_schema(one, level + 1).is_ok())
            }
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", _) => false,
            ("description" | "title" | "$ref" | "pattern" | "format" | "$schema", value) => {
                value.is_string()
            }
            (
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties",
                value,
            ) => value.as_u64().is_some(),
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", value) => {
                value.is_number()
            }
            _ => true,
        };
        if !is_valid {
            return Err(());
        }
    }
    Ok(())
}
