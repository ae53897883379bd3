//! Lines on standard input, as SDKs write them.

use recto_log::EntryUuid;
use serde_json::Value;
use serde_json::json;

use crate::turn::Prompt;

/// What a line says.
#[derive(Debug)]
pub enum Input {
    /// A prompt.
    Prompt(Prompt),
    /// Something that needs no answer, or is not known here.
    Nothing,
    /// A request of the host.
    Request(Value),
    /// Its answer to a request.
    Answer(Value),
}

/// Reads a line.
///
/// # Errors
///
/// The sentence for standard error: the session ends.
pub fn read_line(line: &[u8]) -> Result<Input, String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    if text.is_empty() {
        return Ok(Input::Nothing);
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        let length = text.chars().count();
        return Err(format!(
            "Error parsing streaming input line (type=unknown, {length} chars): SyntaxError"
        ));
    };
    match value["type"].as_str() {
        Some("user") => {}
        Some("control_request") => return Ok(Input::Request(value)),
        Some("control_response") => return Ok(Input::Answer(value)),
        _ => return Ok(Input::Nothing),
    }
    let message = &value["message"];
    if message["role"].as_str().is_some_and(|role| role != "user") {
        return Err(format!(
            "Error: Expected message role 'user', got '{}'",
            message["role"].as_str().unwrap_or_default()
        ));
    }
    let content = match &message["content"] {
        Value::String(text) if text.is_empty() => Value::String("(no content)".to_owned()),
        Value::Null => Value::String("(no content)".to_owned()),
        Value::Array(blocks) if blocks.is_empty() => Value::String("(no content)".to_owned()),
        content => content.clone(),
    };
    Ok(Input::Prompt(Prompt {
        content,
        uuid: value["uuid"].as_str().map(EntryUuid::new),
        origin: match value.get("origin").filter(|origin| origin.is_object()) {
            Some(origin) => Some(origin.clone()),
            None if value["isSynthetic"] == true => Some(json!({"kind": "unclassified"})),
            None => None,
        },
        asks: value["shouldQuery"] != false,
        is_verbatim: value["client_composed"] == true,
        is_told: false,
        is_synthetic: value["isSynthetic"] == true,
        is_logged: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_read_and_what_is_no_json_ends_the_session() {
        let prompt = |line: &str| match read_line(line.as_bytes()).unwrap() {
            Input::Prompt(prompt) => prompt,
            other => panic!("{other:?}"),
        };
        let one = prompt(
            r#"{"type":"user","message":{"role":"user","content":"hi"},"uuid":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718"}"#,
        );
        assert_eq!((one.content, one.asks), (Value::from("hi"), true));
        assert!(!prompt(r#"{"type":"user","message":{"role":"user"},"shouldQuery":false}"#).asks);
        assert!(matches!(read_line(b"  \r"), Ok(Input::Nothing)));
        assert!(matches!(read_line(br#"{"type":"keep_alive"}"#), Ok(Input::Nothing)));
        assert_eq!(
            read_line(b"{broken").unwrap_err(),
            "Error parsing streaming input line (type=unknown, 7 chars): SyntaxError"
        );
        assert!(read_line(br#"{"type":"user","message":{"role":"assistant"}}"#).is_err());
    }
}
