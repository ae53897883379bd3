//! What a call gave, for the log and the stream.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::tool;
use crate::tool::Tool;
use crate::tool::ToolOutcome;

/// Takes over what a hook says a tool gave, if it has the shape of that.
pub(super) fn replace_output(outcome: &mut ToolOutcome, output: Value) {
    let has_shape = match (&outcome.structured, &output) {
        (Value::Object(known), Value::Object(new)) => known.keys().all(|key| new.contains_key(key)),
        (Value::String(_), Value::String(_)) => true,
        _ => false,
    };
    if !has_shape {
        return;
    }
    let text = match &output {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => object.get("stdout").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    if let Some(text) = text {
        outcome.content = tool::Content::Text(text);
    }
    outcome.structured = output;
}

/// The `tool_result` block, with its fields in the order of the client.
pub(in crate::turn) fn result_block(id: &str, name: &str, outcome: &ToolOutcome) -> Value {
    let content = outcome.content.to_json();
    if outcome.is_error {
        return json!({"type": "tool_result", "content": content, "is_error": true, "tool_use_id": id});
    }
    let mut block = Map::new();
    block.insert("tool_use_id".into(), id.into());
    block.insert("type".into(), "tool_result".into());
    block.insert("content".into(), content);
    if matches!(Tool::named(name), Some(Tool::Bash)) {
        block.insert("is_error".into(), false.into());
    }
    Value::Object(block)
}

/// `tool_result_meta` of a JSON stream.
pub(in crate::turn) fn result_meta(
    id: &str,
    outcome: &ToolOutcome,
    decision: Option<&Value>,
) -> Option<Value> {
    let denial = outcome.line.get("toolDenialKind");
    if denial.is_none() && decision.is_none() {
        return None;
    }
    let mut meta = Map::new();
    meta.insert("id".into(), id.into());
    if let Some(kind) = denial {
        meta.insert("non_execution_kind".into(), kind.clone());
    }
    if let Some(decision) = decision {
        let mut short = Map::new();
        for (from, to) in
            [("decision", "decision"), ("source", "source"), ("reasonType", "reason_type")]
        {
            if let Some(value) = decision.get(from) {
                short.insert(to.into(), value.clone());
            }
        }
        meta.insert("permission_decision".into(), Value::Object(short));
    }
    Some(json!([meta]))
}
