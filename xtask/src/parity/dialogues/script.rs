//! A model that says what the script of a case tells it to.
//!
//! A request names its list of answers: the last prompt with `LAB:name`. How many answers follow
//! that prompt is the place in the list. A step of a list:
//!
//! | field | meaning |
//! |---|---|
//! | `blocks` | `{"t": "text" \| "think" \| "redacted" \| "tool", …}` |
//! | `stop`, `usage`, `headers` | of the answer |
//! | `delay` | seconds between two events |
//! | `error`, `kind`, `message`, `times` | a status that is answered instead, the first times or always |
//! | `sse_error` | an event of this kind after the first block, the first times or always |
//! | `cut` | the connection ends after the first piece of text, or after so many events |
//! | `events` | the events, as they are |

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::json;

const SUMMARY: &str = "<analysis>\nshort analysis\n</analysis>\n\n<summary>\n\
                       1. Primary Request and Intent: TESTSUMMARY the user ran test prompts.\n\
                       2. Key Technical Concepts: none\n</summary>";

/// The script, and what was asked so far.
#[derive(Debug, Default)]
pub(super) struct Model {
    script: Value,
    /// How often a step failed.
    failed: BTreeMap<String, u64>,
    asked: u64,
}

impl Model {
    /// A model that was asked so often before: its ids go on from there.
    pub(super) fn new(script: &Value, asked: u64) -> Model {
        Model { script: script.clone(), asked, ..Model::default() }
    }

    /// What is answered, in the form of a recording.
    pub(super) fn answer(&mut self, body: &Value) -> Value {
        self.asked += 1;
        let step = self.step(body);
        let mut headers = json!({"request-id": format!("req_011LAB{:018}", self.asked)});
        for (name, value) in step["headers"].as_object().into_iter().flatten() {
            headers[name] = value.clone();
        }
        let fails = self.fails(&step);
        if fails && !step["error"].is_null() {
            return failure(&step, headers);
        }
        let message = message(&step, body, self.asked);
        if body["stream"] != true {
            return json!({"status": 200, "headers": headers, "body": message});
        }
        let mut events = match step["events"].as_array() {
            Some(events) => events.clone(),
            None => events(&message),
        };
        let mut answer = json!({"status": 200, "headers": headers});
        if fails && !step["sse_error"].is_null() {
            let first = events.iter().position(|event| event["type"] == "content_block_stop");
            events.truncate(first.map_or(2, |first| first + 1));
            events.push(json!({"type": "error", "error": step["sse_error"]}));
            answer["end"] = json!("error event");
        }
        let cut = match &step["cut"] {
            Value::Bool(true) => {
                events.iter().position(|event| event["type"] == "content_block_delta")
            }
            Value::Number(after) => {
                after.as_u64().and_then(|after| usize::try_from(after).ok()?.checked_sub(1))
            }
            _ => None,
        };
        if let Some(last) = cut.filter(|_| fails) {
            events.truncate(last + 1);
            answer["end"] = json!("cut");
        }
        if let Some(seconds) = step["delay"].as_f64() {
            answer["delay_ms"] = json!((seconds * 1000.0).round() as u64);
        }
        answer["events"] = Value::Array(events);
        answer
    }

    /// Whether this is one of the times that a step fails.
    fn fails(&mut self, step: &Value) -> bool {
        let failed = self.failed.entry(step.to_string()).or_default();
        *failed += 1;
        step["times"].as_u64().is_none_or(|times| *failed <= times)
    }

    fn step(&self, body: &Value) -> Value {
        let said = |text: &str| json!({"blocks": [{"t": "text", "text": text}]});
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let prompts: Vec<(usize, Vec<String>)> = messages
            .iter()
            .enumerate()
            .filter(|(_, message)| message["role"] == "user")
            .map(|(at, message)| (at, texts(&message["content"])))
            .collect();
        let last = prompts.last().map(|(_, texts)| texts.join("\n")).unwrap_or_default();
        if last.contains("create a detailed summary") {
            return said(SUMMARY);
        }
        if body["tools"].as_array().is_none_or(Vec::is_empty)
            && texts(&body["system"]).join("\n").to_lowercase().contains("title")
        {
            return said(r#"{"title": "Generated test title"}"#);
        }
        for (at, texts) in prompts.iter().rev() {
            let Some(name) = texts.iter().rev().find_map(|text| named(text)) else { continue };
            let later = messages.iter().skip(at + 1);
            let done = later.filter(|message| message["role"] == "assistant").count();
            let step = self.script[&name].get(done).cloned();
            return step.unwrap_or_else(|| said("(end of script)"));
        }
        said("Default answer.")
    }
}

/// The last list that a text names.
fn named(text: &str) -> Option<String> {
    let (_, rest) = text.rsplit_once("LAB:")?;
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        _ => {
            let blocks = content.as_array().into_iter().flatten();
            blocks.filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
        }
    }
}

fn failure(step: &Value, headers: Value) -> Value {
    let (status, kind, message) = match (&step["error"], step["error"].as_u64().unwrap_or(400)) {
        (Value::String(_), _) => {
            (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
        }
        (_, 401) => (401, "authentication_error", "invalid x-api-key"),
        (_, 403) => (403, "permission_error", "not allowed"),
        (_, 404) => (404, "not_found_error", "model: not found"),
        (_, 429) => (429, "rate_limit_error", "Rate limited"),
        (_, 529) => (529, "overloaded_error", "Overloaded"),
        (_, status @ 500..) => (status, "api_error", "Internal server error"),
        (_, status) => (status, "invalid_request_error", "messages.1: this request is invalid"),
    };
    let kind = step["kind"].as_str().unwrap_or(kind);
    let message = step["message"].as_str().unwrap_or(message);
    let body = json!({
        "type": "error", "error": {"type": kind, "message": message}, "request_id": headers["request-id"],
    });
    json!({"status": status, "headers": headers, "body": body})
}

fn message(step: &Value, body: &Value, number: u64) -> Value {
    let plan = body["messages"].to_string();
    let plan = plan.split_once("/plans/").and_then(|(_, rest)| rest.split_once(".md"));
    let plan = plan.map_or("none", |(name, _)| name);
    let plan = format!("/home/dev/.claude/plans/{plan}.md");
    let mut content = Vec::new();
    for (index, block) in step["blocks"].as_array().into_iter().flatten().enumerate() {
        content.push(match block["t"].as_str() {
            Some("think") => {
                let seal = sha256(&format!("{}{number}", block["text"]));
                json!({"type": "thinking", "thinking": block["text"], "signature": format!("EqoBCkgIARAB{seal}==")})
            }
            Some("redacted") => {
                json!({"type": "redacted_thinking", "data": format!("UkVEQUNURUQ{}", "A".repeat(60))})
            }
            Some("tool") => {
                let input = block["input"].to_string().replace("{planfile}", &plan);
                let input: Value = serde_json::from_str(&input).unwrap_or_default();
                let id = format!("toolu_01LAB{:018}", number * 100 + index as u64);
                let name = offered(block["name"].as_str().unwrap_or_default(), body);
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
            _ => json!({"type": "text", "text": block["text"]}),
        });
    }
    let calls = content.iter().any(|block| block["type"] == "tool_use");
    let stop = step["stop"].as_str().unwrap_or(if calls { "tool_use" } else { "end_turn" });
    let mut usage = json!({
        "input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 2000,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 20, "service_tier": "standard", "inference_geo": "not_available",
    });
    for (name, value) in step["usage"].as_object().into_iter().flatten() {
        usage[name] = value.clone();
    }
    json!({
        "id": format!("msg_01LAB{number:020}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage,
    })
}

/// Of names such as `Agent|Task` the first that the client offers.
fn offered<'a>(names: &'a str, body: &Value) -> &'a str {
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    let mut wanted = names.split('|');
    wanted.clone().find(|name| tools.contains(name)).or_else(|| wanted.next()).unwrap_or(names)
}

fn events(message: &Value) -> Vec<Value> {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events =
        vec![json!({"type": "message_start", "message": start}), json!({"type": "ping"})];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let (begun, deltas) = pieces(block);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let mut usage = json!({});
    for name in
        ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"]
    {
        usage[name] = message["usage"][name].clone();
    }
    let delta = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// A block as it begins, and what is added to it.
fn pieces(block: &Value) -> (Value, Vec<Value>) {
    match block["type"].as_str() {
        Some("text") => {
            let letters: Vec<char> = block["text"].as_str().unwrap_or_default().chars().collect();
            let parts = letters.chunks(40).map(|part| part.iter().collect::<String>());
            let deltas = parts.map(|part| json!({"type": "text_delta", "text": part}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Some("thinking") => (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![
                json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                json!({"type": "signature_delta", "signature": block["signature"]}),
            ],
        ),
        Some("tool_use") => {
            let mut begun = block.clone();
            begun["input"] = json!({});
            let given = block["input"].to_string();
            let deltas =
                ["", &given].map(|part| json!({"type": "input_json_delta", "partial_json": part}));
            (begun, deltas.into())
        }
        _ => (block.clone(), Vec::new()),
    }
}

pub(super) fn sha256(text: &str) -> String {
    use std::fmt::Write as _;

    use sha2::Digest as _;
    let mut hex = String::new();
    for byte in sha2::Sha256::digest(text.as_bytes()) {
        write!(hex, "{byte:02x}").ok();
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_by_the_last_name_and_the_answers_behind_it() {
        let say = |text: &str| json!({"blocks": [{"t": "text", "text": text}]});
        let mut model = Model::new(&json!({"a": [say("one"), say("two")], "b": [say("three")]}), 0);
        let ask = |messages: Value| json!({"stream": false, "tools": [{}], "messages": messages});
        let said = |answer: Value| answer["body"]["content"][0]["text"].clone();
        let first = json!({"role": "user", "content": "LAB:a"});
        let answer = json!({"role": "assistant", "content": "one"});
        let result = json!({"role": "user", "content": [{"type": "tool_result"}]});
        assert_eq!(said(model.answer(&ask(json!([first])))), "one");
        assert_eq!(said(model.answer(&ask(json!([first, answer, result])))), "two");
        let other = json!({"role": "user", "content": [{"type": "text", "text": "LAB:a LAB:b"}]});
        assert_eq!(said(model.answer(&ask(json!([first, answer, other])))), "three");
        assert_eq!(
            said(model.answer(&ask(json!([first, answer, other, answer])))),
            "(end of script)"
        );
    }

    #[test]
    fn a_step_fails_as_often_as_it_says() {
        let step = json!({"blocks": [{"t": "text", "text": "ok"}], "error": 529, "times": 1});
        let mut model = Model::new(&json!({"a": [step]}), 0);
        let body = json!({"stream": true, "messages": [{"role": "user", "content": "LAB:a"}]});
        assert_eq!(model.answer(&body)["status"], 529);
        assert_eq!(model.answer(&body)["status"], 200);
    }
}
