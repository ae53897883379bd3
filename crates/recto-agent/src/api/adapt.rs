//! A request as an endpoint accepts it.

use std::fmt;

use recto_log::Role;
use recto_log::json::ArrayWriter;
use recto_log::json::Value;

use super::Capabilities;
use crate::wire::Block;
use crate::wire::Json;
use crate::wire::Message;
use crate::wire::Request;

/// What was changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Adaptation {
    /// A beta was left out.
    Beta(String),
    /// A field was left out.
    Field(String),
    /// Thinking of another endpoint was left out: its signatures mean nothing here.
    ForeignThinking,
    /// The kind of thinking was left out.
    Thinking(String),
    /// Cache marks were left out.
    CacheControl,
    /// Messages of the role `system` became text of the user.
    SystemMessages,
    /// A tool of the endpoint was left out.
    ServerTool(String),
    /// A tool was left out because its name is too long.
    LongName(String),
}

impl fmt::Display for Adaptation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Adaptation::Beta(name) => write!(f, "dropped the beta `{name}`"),
            Adaptation::Field(name) => write!(f, "dropped the field `{name}`"),
            Adaptation::ForeignThinking => {
                f.write_str("dropped thinking that another endpoint signed")
            }
            Adaptation::Thinking(kind) => write!(f, "dropped thinking of the type `{kind}`"),
            Adaptation::CacheControl => f.write_str("dropped cache marks"),
            Adaptation::SystemMessages => f.write_str("sent system messages as user text"),
            Adaptation::ServerTool(name) => write!(f, "dropped the server tool `{name}`"),
            Adaptation::LongName(name) => {
                write!(f, "dropped the tool `{name}`: its name is too long")
            }
        }
    }
}

/// Changes a request until an endpoint accepts it, and says what was changed.
pub fn adapt(request: &mut Request, host: &str, endpoint: &Capabilities) -> Vec<Adaptation> {
    let mut told = Vec::new();
    request.betas.retain(|beta| {
        let is_known = endpoint.has_beta(beta);
        if !is_known {
            told.push(Adaptation::Beta(beta.clone()));
        }
        is_known
    });
    request.fields.retain(|(name, _)| {
        let is_known = endpoint.has_field(name);
        if !is_known {
            told.push(Adaptation::Field(name.clone()));
        }
        is_known
    });
    adapt_tools(request, endpoint, &mut told);
    adapt_thinking(request, host, endpoint, &mut told);
    if !endpoint.system_messages {
        adapt_system(request, &mut told);
    }
    if !endpoint.cache_control && remove_marks(request) {
        told.push(Adaptation::CacheControl);
    }
    told
}

fn adapt_tools(request: &mut Request, endpoint: &Capabilities, told: &mut Vec<Adaptation>) {
    request.tools.retain(|tool| {
        let name = tool.str("name").unwrap_or_default().into_owned();
        let is_own = matches!(tool.str("type").as_deref(), None | Some("custom"));
        if !is_own && !endpoint.server_tools {
            told.push(Adaptation::ServerTool(name));
            return false;
        }
        if name.len() > endpoint.tool_name_length {
            told.push(Adaptation::LongName(name));
            return false;
        }
        true
    });
}

fn adapt_thinking(
    request: &mut Request,
    host: &str,
    endpoint: &Capabilities,
    told: &mut Vec<Adaptation>,
) {
    let kind = request
        .thinking
        .as_ref()
        .and_then(|thinking| thinking.str("type").map(|kind| kind.into_owned()));
    let accepts = |kind: &str| endpoint.thinking.iter().any(|known| known == kind || known == "*");
    if let Some(kind) = kind.filter(|kind| !accepts(kind)) {
        request.thinking = None;
        told.push(Adaptation::Thinking(kind));
    }
    let is_foreign = request.signed_by.as_deref().is_some_and(|signer| signer != host);
    if !is_foreign && !endpoint.thinking.is_empty() {
        return;
    }
    if Message::drop_thinking(&mut request.messages) {
        // Without its start, the turn that runs cannot be one that thinks.
        if request
            .thinking
            .as_ref()
            .is_some_and(|kind| kind.str("type").as_deref() == Some("enabled"))
        {
            request.thinking = None;
        }
        told.push(Adaptation::ForeignThinking);
    }
}

/// Instructions in the middle become text of the user, as older clients had them.
fn adapt_system(request: &mut Request, told: &mut Vec<Adaptation>) {
    for message in &mut request.messages {
        if message.role() != Some(Role::System) {
            continue;
        }
        let texts = message.blocks();
        let texts = texts.iter().filter_map(|block| block.view().text());
        let text = texts.collect::<Vec<_>>().join("\n");
        let reminder = format!("<system-reminder>\n{text}\n</system-reminder>");
        *message = Message::user([Block::text(&reminder)]);
        if !told.contains(&Adaptation::SystemMessages) {
            told.push(Adaptation::SystemMessages);
        }
    }
}

/// Removes every `cache_control`; whether there was one.
pub(crate) fn remove_marks(request: &mut Request) -> bool {
    let mut found = false;
    for tool in &mut request.tools {
        if let Some(plain) = unmarked(tool) {
            (*tool, found) = (plain, true);
        }
    }
    for block in &mut request.system {
        if let Some(plain) = unmarked(block.json()) {
            (*block, found) = (plain.into(), true);
        }
    }
    for message in &mut request.messages {
        let blocks = message.blocks();
        let plain: Vec<Option<Json>> = blocks.iter().map(|block| unmarked(block.json())).collect();
        if plain.iter().all(Option::is_none) {
            continue;
        }
        found = true;
        let pairs = plain.into_iter().zip(blocks);
        let blocks: Vec<Block> =
            pairs.map(|(plain, block)| plain.map_or(block, Block::from)).collect();
        *message = message.with_blocks(&blocks);
    }
    request.fields.retain(|(name, _)| {
        let is_mark = name == "cache_control";
        found |= is_mark;
        !is_mark
    });
    found
}

/// A block without its mark and those of blocks inside it; none if it has no mark.
fn unmarked(block: &Json) -> Option<Json> {
    let inner = block.value().get("content");
    let has_inner = inner
        .into_iter()
        .flat_map(Value::elements)
        .any(|inner| inner.get("cache_control").is_some());
    let has_own = block.value().get("cache_control").is_some();
    if !has_own && !has_inner {
        return None;
    }
    let mut plain = if has_own { block.without("cache_control") } else { block.clone() };
    if has_inner {
        let content = plain.get("content")?;
        let inner = content.value().elements().fold(ArrayWriter::new(), |array, inner| {
            array.json(content.part(inner).without("cache_control").bytes())
        });
        plain = plain.with("content", &inner.finish());
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::super::EndpointTable;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plain_endpoint_gets_a_plain_request_and_each_change_is_told() {
        let endpoint = EndpointTable::built_in().unwrap().of_host("llm.example");
        let mut request = Request::new("m", 10);
        request.betas = vec!["effort-2025-11-24".into()];
        request = request
            .with_field("output_config", json!({"effort": "low"}).into())
            .with_field("temperature", json!(1).into());
        request.thinking = Some(json!({"type": "adaptive"}).into());
        request.tools = vec![
            json!({"type": "web_search_20250305", "name": "web_search"}).into(),
            json!({"name": "Read", "input_schema": {"type": "object"}}).into(),
            json!({"name": "x".repeat(65), "input_schema": {"type": "object"}}).into(),
        ];
        request.signed_by = Some("api.anthropic.com".into());
        let thinking = json!({"type": "thinking", "thinking": "t", "signature": "s"});
        request.messages = vec![
            Message::user([Block::text("a")]),
            Message::system([Block::text("be brief")]),
            Message::assistant([Json::from(&thinking).into()]),
            Message::assistant([Json::from(&thinking).into(), Block::text("b")]),
            Message::user([Block::text("c")]),
        ];
        let told = adapt(&mut request, "llm.example", &endpoint);
        let told: Vec<String> = told.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "dropped the beta `effort-2025-11-24`",
                "dropped the field `output_config`",
                "dropped the server tool `web_search`",
                &format!("dropped the tool `{}`: its name is too long", "x".repeat(65)),
                "dropped thinking of the type `adaptive`",
                "dropped thinking that another endpoint signed",
                "sent system messages as user text",
            ]
        );
        let body = String::from_utf8(request.body()).unwrap();
        assert_eq!(
            body,
            r#"{"model":"m","max_tokens":10,"temperature":1,"tools":[{"name":"Read","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"<system-reminder>\nbe brief\n</system-reminder>"}]},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"c"}]}],"stream":true}"#
        );
    }

    #[test]
    fn what_an_endpoint_accepts_stays_byte_for_byte() {
        let endpoint = EndpointTable::built_in().unwrap().of_host("api.anthropic.com");
        let mut request = Request::new("m", 10);
        request.signed_by = Some("api.anthropic.com".into());
        let text = br#"{"role":"assistant","content":[{"type":"new","a":1e5,"cache_control":{"type":"ephemeral"}}]}"#;
        request.messages = vec![Json::parse(text.to_vec()).unwrap().into()];
        let before = request.clone();
        assert_eq!(adapt(&mut request, "api.anthropic.com", &endpoint), []);
        assert_eq!(request, before);
        assert!(remove_marks(&mut request));
        assert_eq!(
            request.messages[0].json().to_string(),
            r#"{"role":"assistant","content":[{"type":"new","a":1e5}]}"#
        );
    }
}
