//! Real answers are what the description says. Knows the parts of JSON Schema
//! that the description uses, and fails at any other.

use serde_json::Value;

use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::full_home;
use crate::team::team;

struct Description(Value);

impl Description {
    /// Says where a value is not what its schema says.
    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let schema = self.resolve(schema);
        let keys = schema.as_object().ok_or_else(|| format!("{at}: no schema"))?;
        for key in keys.keys() {
            let known = [
                "type",
                "description",
                "format",
                "properties",
                "required",
                "items",
                "enum",
                "additionalProperties",
                "anyOf",
                "oneOf",
            ];
            assert!(known.contains(&key.as_str()), "the test does not know `{key}`");
        }
        // Arguments of tools can be anything; who describes that says so in words.
        if keys.keys().eq(["description"]) {
            return Ok(());
        }
        for one_of in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(one_of) {
                let tried: Vec<Result<(), String>> = choices
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|choice| self.check(choice, value, at))
                    .collect();
                let fitting = tried.iter().filter(|tried| tried.is_ok()).count();
                return match (one_of, fitting) {
                    ("oneOf", 1) | ("anyOf", 1..) => Ok(()),
                    _ => Err(format!("{at}: {fitting} choices fit: {tried:?}")),
                };
            }
        }
        let name = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_u64() || number.is_i64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let types: Vec<&str> = match &schema["type"] {
            Value::String(one) => vec![one],
            Value::Array(all) => all.iter().map(|one| one.as_str().unwrap()).collect(),
            other => return Err(format!("{at}: no type: {other}")),
        };
        let fits = types.contains(&name) || (name == "integer" && types.contains(&"number"));
        if !fits {
            return Err(format!("{at}: {name} is not {types:?}"));
        }
        if let Some(allowed) = schema.get("enum")
            && !allowed.as_array().unwrap().contains(value)
        {
            return Err(format!("{at}: {value} is not one of {allowed}"));
        }
        if let (Some(format), Value::String(text)) = (schema.get("format"), value) {
            assert_eq!(format, "date-time");
            text.parse::<jiff::Timestamp>().map_err(|error| format!("{at}: {error}"))?;
        }
        if let Value::Array(items) = value {
            for (place, item) in items.iter().enumerate() {
                self.check(&schema["items"], item, &format!("{at}[{place}]"))?;
            }
        }
        if let Value::Object(members) = value {
            for (name, member) in members {
                let described = schema["properties"].get(name);
                let described = described.ok_or_else(|| format!("{at}.{name} is not described"))?;
                self.check(described, member, &format!("{at}.{name}"))?;
            }
            for name in schema["required"].as_array().unwrap() {
                if !members.contains_key(name.as_str().unwrap()) {
                    return Err(format!("{at} has no {name}"));
                }
            }
        }
        Ok(())
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(name) => {
                let name = name.strip_prefix("#/components/schemas/").unwrap();
                &self.0["components"]["schemas"][name]
            }
            None => schema,
        }
    }
}

#[test]
fn real_answers_are_what_the_description_says() {
    let test = Test::with(full_home(), |options| {
        options.allow_edits = true;
        options.team = Some(team());
    });
    let description = Description(test.get("/api/openapi.json").json());
    let posted = |path: &str, address: &str, body: &str| {
        let answer = test.change(address, body);
        assert_eq!(answer.status, 200, "{address}: {}", answer.text());
        let answered = &description.0["paths"][path]["post"]["responses"]["200"]["content"];
        let schema = &answered["application/json"]["schema"];
        description.check(schema, &answer.json(), address).unwrap();
    };
    let title = format!("/api/v1/sessions/{OTHER}/title");
    posted("/api/v1/sessions/{session}/title", &title, r#"{"title":"New"}"#);
    posted("/api/v1/undo", "/api/v1/undo", "{}");
    let fork = format!("/api/v1/sessions/{OTHER}/fork");
    posted("/api/v1/sessions/{session}/fork", &fork, r#"{"turn":1}"#);
    posted("/api/v1/undo", "/api/v1/undo", "{}");
    let marks = format!("/api/v1/sessions/{OTHER}/marks");
    posted("/api/v1/sessions/{session}/marks", &marks, r#"{"starred":true,"tags":["x"]}"#);
    posted("/api/v1/searches", "/api/v1/searches", r#"{"name":"a","query":"b"}"#);
    test.collect();
    let logs = walk(test.home.path());
    let log = logs.iter().find(|path| path.ends_with(format!("{OTHER}.jsonl"))).unwrap();
    std::fs::remove_file(log).unwrap();
    let restore = format!("/api/v1/sessions/{OTHER}/restore");
    posted("/api/v1/sessions/{session}/restore", &restore, "{}");
    assert!(log.is_file());
    let base = format!("/api/v1/sessions/{SESSION}");
    let head = test.get(&base).json();
    let turns = test.get(&format!("{base}/turns?count=50")).json();
    let call = turns["turns"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|turn| turn["items"].as_array().unwrap())
        .find(|item| item["item"] == "call")
        .unwrap();
    let agents = test.get(&format!("{base}/agents")).json();
    let agent = agents[0]["id"].as_str().unwrap();
    let mut checked = 0;
    for (path, item) in description.0["paths"].as_object().unwrap() {
        let Some(asked) = item.get("get") else {
            assert_eq!(test.get(&path.replace("{session}", SESSION)).status, 405, "{path}");
            continue;
        };
        let answered = &asked["responses"]["200"]["content"];
        let all = answered.as_object().unwrap();
        let first = if path.ends_with("/export") { "text/markdown" } else { "application/json" };
        let (media, content) = all.get_key_value(first).or(all.iter().next()).unwrap();
        if media == "text/event-stream" {
            continue;
        }
        let address = path
            .replace("{session}", SESSION)
            .replace("{line}", &head["outline"][0]["line"].to_string())
            .replace("{call}", call["id"].as_str().unwrap())
            .replace("{number}", "1")
            .replace("{agent}", agent);
        let address = match path.as_str() {
            "/api/v1/search" => format!("{address}?q=parser"),
            _ if path.ends_with("/find") => format!("{address}?q=parser"),
            // It is empty, or has a session as a name.
            "/api/v1/marks" => continue,
            // Images have tests of their own.
            _ if path.contains("/media/") => continue,
            // The subagent's own calls and lines.
            _ if path.contains("{agent}") && !path.ends_with("/turns") => continue,
            _ => address,
        };
        let answer = test.get(&address);
        assert_eq!(answer.status, 200, "{address}: {}", answer.text());
        let kind = answer.header("content-type").unwrap();
        assert!(kind.starts_with(media.as_str()), "{address}: {kind}");
        if let (Some(schema), "application/json") = (content.get("schema"), media.as_str()) {
            let value = answer.json();
            description.check(schema, &value, &address).unwrap();
            let is_empty = value.as_array().is_some_and(Vec::is_empty);
            assert!(!is_empty, "{address} proves nothing");
        }
        checked += 1;
    }
    assert!(checked >= 14, "{checked}");
    let formats = &description.0["paths"]["/api/v1/sessions/{session}/export"]["get"];
    for format in formats["parameters"][1]["schema"]["enum"].as_array().unwrap() {
        let answer = test.get(&format!("{base}/export?format={}", format.as_str().unwrap()));
        let kind = answer.header("content-type").unwrap();
        let kind = kind.split(';').next().unwrap().to_owned();
        assert!(formats["responses"]["200"]["content"].get(&kind).is_some(), "{format}: {kind}");
    }
    // Failures have one shape.
    for address in ["/api/v1/sessions/none", "/api/v1/none", "/api/v1/search", "/api/v1/usage?by=x"]
    {
        let answer = test.get(address);
        assert!(answer.status >= 400, "{address}");
        let schema = serde_json::json!({"$ref": "#/components/schemas/Error"});
        description.check(&schema, &answer.json(), address).unwrap();
    }
}

#[test]
fn a_value_that_is_not_described_is_found() {
    let description = Description(serde_json::json!({"components": {"schemas": {}}}));
    let schema = serde_json::json!({
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}},
        "required": ["a"],
        "additionalProperties": false,
    });
    let check = |value| description.check(&schema, &value, "x");
    assert_eq!(check(serde_json::json!({"a": null})), Ok(()));
    assert!(check(serde_json::json!({"a": 1})).is_err());
    assert!(check(serde_json::json!({})).is_err());
    assert!(check(serde_json::json!({"a": "", "b": 1})).is_err());
    // A list of values means all of them, null too.
    let schema = serde_json::json!({"type": ["string", "null"], "enum": ["x"]});
    assert!(description.check(&schema, &Value::Null, "x").is_err());
    let schema = serde_json::json!({"type": ["string", "null"], "enum": ["x", null]});
    assert!(description.check(&schema, &Value::Null, "x").is_ok());
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(walk(&path)),
            false => found.push(path),
        }
    }
    found
}
