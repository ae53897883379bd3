//! How much of a line leaves the machine.
//!
//! What a level keeps is listed, not what it drops: a field that a later client writes is content
//! until somebody says that it is none.

use recto_log::json::Value;
use recto_log::json::write_string;
use serde::Deserialize;
use serde::Serialize;

/// How much of a session leaves the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Everything.
    #[default]
    Full,
    /// Everything but what tools gave back, attached files and copies of files.
    NoToolResults,
    /// Who, when, which model, which tools, how many tokens: no text.
    Metadata,
}

impl Content {
    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Content::Full => "full",
            Content::NoToolResults => "no-tool-results",
            Content::Metadata => "metadata",
        }
    }
}

/// Values of these names are kept at the level `metadata`, if they are short texts.
const KEPT: [&str; 33] = [
    "agentId",
    "cwd",
    "entrypoint",
    "gitBranch",
    "id",
    "inference_geo",
    "leafUuid",
    "level",
    "logicalParentUuid",
    "messageId",
    "model",
    "operation",
    "parentToolUseID",
    "parentUuid",
    "parent_tool_use_id",
    "permissionMode",
    "requestId",
    "role",
    "service_tier",
    "sessionId",
    "session_id",
    "sourceToolAssistantUUID",
    "speed",
    "stop_reason",
    "subtype",
    "timestamp",
    "toolUseID",
    "tool_use_id",
    "trigger",
    "type",
    "userType",
    "uuid",
    "version",
];

/// Objects and lists of these names are looked into at the level `metadata`; others are emptied.
const OPENED: [&str; 8] = [
    "cache_creation",
    "compactMetadata",
    "content",
    "iterations",
    "message",
    "output_tokens_details",
    "server_tool_use",
    "usage",
];

/// Longer texts are content, whatever they are called.
const LONGEST: usize = 512;
/// What is nested deeper is content.
const DEEPEST: usize = 12;

/// What stands instead of something that is withheld.
const WITHHELD: &str = "[withheld]";

/// A line as a level lets it go; none if it goes as it is. A line that is no JSON says nothing
/// about itself, so it is withheld.
pub(crate) fn reduced(level: Content, line: &[u8]) -> Option<Vec<u8>> {
    if level == Content::Full {
        return None;
    }
    match Value::parse(line.trim_ascii()) {
        Ok(value) if value.is_object() => {
            let mut out = Vec::with_capacity(line.len().min(4096));
            match level {
                Content::Full => return None,
                Content::NoToolResults => without_results(value, "", 0, &mut out),
                Content::Metadata => metadata(value, "", 0, &mut out),
            }
            Some(out)
        }
        Ok(_) | Err(_) => Some(withheld(line.len() as u64)),
    }
}

/// The line instead of one that is withheld.
pub(crate) fn withheld(bytes: u64) -> Vec<u8> {
    format!("{{\"type\":\"recto-withheld\",\"bytes\":{bytes}}}").into_bytes()
}

fn without_results(value: Value<'_>, name: &str, depth: usize, out: &mut Vec<u8>) {
    if name == "toolUseResult" || depth > DEEPEST {
        return out.extend_from_slice(b"null");
    }
    let kind = value.is_object().then(|| value.str("type")).flatten();
    match kind.as_deref() {
        Some("tool_result") => {
            object(value, out, |name, member, out| match name {
                "type" | "tool_use_id" | "is_error" => out.extend_from_slice(member.bytes()),
                "content" => write_string(out, WITHHELD),
                _ => out.extend_from_slice(b"null"),
            });
        }
        // Files that were attached have the form of what a tool read.
        Some(_) if name == "attachment" => {
            object(value, out, |name, member, out| match name {
                "type" => out.extend_from_slice(member.bytes()),
                _ => out.extend_from_slice(b"null"),
            });
        }
        _ if value.is_object() => {
            object(value, out, |name, member, out| without_results(member, name, depth + 1, out));
        }
        _ if value.is_array() => {
            array(value, out, |element, out| without_results(element, name, depth + 1, out));
        }
        _ => out.extend_from_slice(value.bytes()),
    }
}

fn metadata(value: Value<'_>, name: &str, depth: usize, out: &mut Vec<u8>) {
    let is_opened = name.is_empty() || OPENED.contains(&name);
    if value.is_object() {
        if !is_opened || depth > DEEPEST {
            return out.extend_from_slice(b"{}");
        }
        let is_call = matches!(value.str("type").as_deref(), Some("tool_use" | "server_tool_use"));
        object(value, out, |name, member, out| match name {
            // The name of a tool, of nothing else.
            "name" if is_call && is_short(member) => out.extend_from_slice(member.bytes()),
            _ => metadata(member, name, depth + 1, out),
        });
    } else if value.is_array() {
        if !is_opened || depth > DEEPEST {
            return out.extend_from_slice(b"[]");
        }
        array(value, out, |element, out| metadata(element, name, depth + 1, out));
    } else if value.is_string() && !(KEPT.contains(&name) && is_short(value)) {
        out.extend_from_slice(b"\"\"");
    } else {
        out.extend_from_slice(value.bytes());
    }
}

fn is_short(value: Value<'_>) -> bool {
    value.bytes().len() <= LONGEST
}

fn object<'a>(
    value: Value<'a>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&str, Value<'a>, &mut Vec<u8>),
) {
    out.push(b'{');
    for (at, member) in value.members().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let key = member.key();
        write_string(out, &key);
        out.push(b':');
        write(&key, member.value, out);
    }
    out.push(b'}');
}

fn array<'a>(value: Value<'a>, out: &mut Vec<u8>, mut write: impl FnMut(Value<'a>, &mut Vec<u8>)) {
    out.push(b'[');
    for (at, element) in value.elements().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(element, out);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"type":"assistant","uuid":"u1","cwd":"/w","message":{"role":"assistant","model":"m","content":[{"type":"text","text":"PRIVATE"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"PRIVATE","PRIVATE":1}}],"usage":{"input_tokens":3,"cache_creation":{"x":1}}}}"#;
    const RESULT: &str = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"PRIVATE","is_error":true},{"type":"text","text":"kept"}]},"toolUseResult":{"stdout":"PRIVATE"}}"#;
    const ATTACHED: &str =
        r#"{"type":"attachment","attachment":{"type":"file","content":"PRIVATE"},"uuid":"u"}"#;

    fn text(level: Content, line: &str) -> String {
        String::from_utf8(reduced(level, line.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn metadata_has_no_text_and_all_figures() {
        assert_eq!(
            text(Content::Metadata, CALL),
            r#"{"type":"assistant","uuid":"u1","cwd":"/w","message":{"role":"assistant","model":"m","content":[{"type":"text","text":""},{"type":"tool_use","id":"t1","name":"Bash","input":{}}],"usage":{"input_tokens":3,"cache_creation":{"x":1}}}}"#
        );
        for line in [RESULT, ATTACHED] {
            assert!(!text(Content::Metadata, line).contains("PRIVATE"), "{line}");
        }
        let name = r#"{"type":"custom-title","name":"PRIVATE","customTitle":"PRIVATE"}"#;
        assert!(!text(Content::Metadata, name).contains("PRIVATE"));
        let string = r#"{"type":"user","message":{"role":"user","content":"PRIVATE"}}"#;
        assert!(!text(Content::Metadata, string).contains("PRIVATE"));
        let long = format!(r#"{{"type":"x","id":"{}"}}"#, "y".repeat(600));
        assert_eq!(text(Content::Metadata, &long), r#"{"type":"x","id":""}"#);
    }

    #[test]
    fn results_of_tools_are_withheld_and_the_rest_stays() {
        assert_eq!(text(Content::NoToolResults, CALL), CALL);
        assert_eq!(
            text(Content::NoToolResults, RESULT),
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"[withheld]","is_error":true},{"type":"text","text":"kept"}]},"toolUseResult":null}"#
        );
        assert!(!text(Content::NoToolResults, ATTACHED).contains("PRIVATE"));
    }

    #[test]
    fn what_is_no_json_or_nested_without_end_is_withheld() {
        assert_eq!(
            text(Content::NoToolResults, "PRIVATE"),
            r#"{"type":"recto-withheld","bytes":7}"#
        );
        assert_eq!(text(Content::Metadata, "[1]"), r#"{"type":"recto-withheld","bytes":3}"#);
        let deep = format!(
            r#"{{"message":{{"content":{}{}}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert!(text(Content::Metadata, &deep).len() < 100);
        assert!(text(Content::NoToolResults, &deep).len() < 100);
        assert_eq!(reduced(Content::Full, b"x"), None);
    }
}
