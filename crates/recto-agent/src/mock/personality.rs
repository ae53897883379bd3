//! Answers without a script.

use std::str::FromStr;

use serde_json::Value;
use serde_json::json;

use super::script::Reply;
use super::signature;
use super::view::Asking;
use super::view::text_of;

/// How the mock answers what no rule matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Personality {
    /// Says what the user said.
    #[default]
    Echo,
    /// Calls a tool, then says what it gave.
    Tools,
    /// Thinks first, and signs that.
    Thinker,
    /// Says one sentence, always.
    Constant(String),
}

impl FromStr for Personality {
    type Err = String;

    fn from_str(name: &str) -> Result<Personality, String> {
        match name {
            "echo" => Ok(Personality::Echo),
            "tools" => Ok(Personality::Tools),
            "thinker" => Ok(Personality::Thinker),
            _ => Err("use echo, tools or thinker".into()),
        }
    }
}

/// How deep an input is made up.
const MOST_LEVELS: usize = 8;

impl Personality {
    /// The answer to a request; `seed` and the number of the request decide what is made up.
    pub(super) fn reply(&self, asking: &Asking<'_>, seed: u64, nth: u64) -> Reply {
        let text = |text: &str| {
            let text = if text.trim().is_empty() { "(nothing)" } else { text };
            json!({"type": "text", "text": text})
        };
        let said = asking.last_text();
        match self {
            Personality::Echo => Reply::of(vec![text(&said)]),
            Personality::Constant(sentence) => Reply::of(vec![text(sentence)]),
            Personality::Tools => match called(asking, seed, nth) {
                Some(call) => Reply::of(vec![text("I call a tool."), call]),
                None => {
                    let results = asking.last_results();
                    let given: Vec<String> =
                        results.iter().map(|block| text_of(&block["content"])).collect();
                    let given = if given.is_empty() { said } else { given.join("\n") };
                    Reply::of(vec![text(&format!("The tool returned: {given}"))])
                }
            },
            Personality::Thinker => {
                let answer = text(&format!("After some thought: {said}"));
                if !asking.may_think() {
                    return Reply::of(vec![answer]);
                }
                let thought = format!("The user said {} characters.", said.chars().count());
                let signature = signature::sign(seed, &thought);
                let shown =
                    json!({"type": "thinking", "thinking": thought, "signature": signature});
                // Now and then, as the real ones do.
                let hidden = nth.is_multiple_of(3).then(|| {
                    let data = signature::redact(seed, &thought);
                    json!({"type": "redacted_thinking", "data": data})
                });
                Reply::of([Some(shown), hidden, Some(answer)].into_iter().flatten().collect())
            }
        }
    }
}

/// A call of one of the tools, unless the last message answers one.
fn called(asking: &Asking<'_>, seed: u64, nth: u64) -> Option<Value> {
    if !asking.last_results().is_empty() {
        return None;
    }
    let tools = asking.body["tools"].as_array()?;
    let own: Vec<&Value> = tools.iter().filter(|tool| tool["input_schema"].is_object()).collect();
    let count = u64::try_from(own.len()).ok().filter(|count| *count > 0)?;
    let chosen = seed.wrapping_add(nth.saturating_sub(1)) % count;
    let tool = own.get(usize::try_from(chosen).ok()?)?;
    let input = made_up(&tool["input_schema"], 0);
    Some(json!({"type": "tool_use", "name": tool["name"], "input": input}))
}

/// A value that a schema allows.
fn made_up(schema: &Value, level: usize) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().cloned().unwrap_or_default(),
        kind => kind.clone(),
    };
    match kind.as_str() {
        Some("object") | None if level < MOST_LEVELS => {
            let needed = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
            let names = needed.iter().filter_map(Value::as_str);
            let members = names
                .map(|name| (name.to_owned(), made_up(&schema["properties"][name], level + 1)));
            Value::Object(members.collect())
        }
        Some("array") => json!([]),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(false),
        Some("null") => Value::Null,
        Some("string") => json!("mock"),
        _ => json!({}),
    }
}
