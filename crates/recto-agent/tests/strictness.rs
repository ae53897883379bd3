//! What is refused, and what is not.

use std::collections::BTreeSet;
use std::fs;

use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Personality;
use recto_agent::mock::strict::Headers;
use recto_agent::mock::strict::Judge;
use recto_agent::mock::strict::Purpose;
use recto_agent::wire::Message;
use recto_log::Lines;
use recto_log::decode;
use recto_session::Session;
use recto_session::request::messages_before;
use recto_session::request::recording;
use serde_json::Value;
use serde_json::json;

use crate::support::ask;
use crate::support::client_of;
use crate::support::corpora;
use crate::support::files;
use crate::support::hello;
use crate::support::logs;

/// What the client that recorded the requests sent as `anthropic-beta`.
const BETAS: [&str; 3] = [
    "per-turn-control-2026-07-01",
    "mid-conversation-tool-changes-2026-07-01",
    "context-management-2025-06-27",
];

fn judged(body: &Value, purpose: Purpose) -> Option<(u16, &'static str, String)> {
    let refusal = Judge.judge(body.to_string().as_bytes(), &[], purpose).1?;
    Some((refusal.status, refusal.kind, refusal.message))
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({
        "model": "m", "max_tokens": 100,
        "messages": [{"role": "user", "content": "a"}],
        "tools": [{"name": "Read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}],
    });
    change(&mut body);
    body
}

/// A request with these messages after the first one.
fn after(messages: Value) -> Value {
    with(|body| {
        let all = body["messages"].as_array_mut().unwrap();
        all.extend(messages.as_array().unwrap().iter().cloned());
    })
}

fn set(path: &str, value: Value) -> Value {
    with(|body| *body.pointer_mut(path).unwrap() = value)
}

fn add(name: &str, value: Value) -> Value {
    with(|body| body[name] = value)
}

fn without(name: &str) -> Value {
    with(|body| {
        body.as_object_mut().unwrap().remove(name);
    })
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn use_of(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {}})
}

fn result_of(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "x"})
}

fn marked(mut block: Value, ttl: Option<&str>) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    if let Some(ttl) = ttl {
        block["cache_control"]["ttl"] = ttl.into();
    }
    block
}

fn schema(schema: Value) -> Value {
    add("tools", json!([{"name": "T", "input_schema": schema}]))
}

fn invalid_messages() -> Vec<(Value, &'static str)> {
    let image = |source: Value| after(json!([user(json!([{"type": "image", "source": source}]))]));
    let answer = |blocks: Value| after(json!([assistant(blocks), user("b".into())]));
    vec![
        (without("messages"), "messages: Field required"),
        (add("messages", json!({})), "messages: Input should be a valid list"),
        (add("messages", json!([])), "at least one message is required"),
        (
            add("messages", json!([assistant("a".into())])),
            "first message must use the \"user\" role",
        ),
        (add("messages", json!([7])), "messages.0: Input should be a valid dictionary"),
        (after(json!([{"content": "a"}])), "messages.1.role: Field required"),
        (after(json!([{"role": "robot", "content": "a"}])), "messages.1.role: Input should be"),
        (
            after(json!([{"role": "user", "content": "a", "name": "x"}])),
            "messages.1.name: Extra inputs",
        ),
        (after(json!([{"role": "user"}])), "messages.1.content: Field required"),
        (after(json!([user(json!(7))])), "messages.1.content: Input should be a valid array"),
        (after(json!([user("".into())])), "all messages must have non-empty content"),
        (after(json!([user(json!([]))])), "all messages must have non-empty content"),
        (after(json!([user(json!([{"text": "a"}]))])), "messages.1.content.0.type: Field required"),
        (after(json!([user(json!([{"type": "smell"}]))])), "Input tag 'smell' found using 'type'"),
        (after(json!([user(json!([text("")]))])), "text content blocks must be non-empty"),
        (after(json!([user(json!([text(" \n")]))])), "must contain non-whitespace text"),
        (
            after(json!([user(json!([{"type": "text"}]))])),
            "messages.1.content.0.text.text: Field required",
        ),
        (
            after(json!([user(json!([{"type": "text", "text": 7}]))])),
            "Input should be a valid string",
        ),
        (
            after(json!([user(json!([{"type": "text", "text": "a", "x": 1}]))])),
            "text.x: Extra inputs",
        ),
        (
            after(json!([user(json!([marked(text(""), None)]))])),
            "cache_control cannot be set for empty",
        ),
        (
            image(json!({"type": "base64", "media_type": "image/bmp", "data": "aa"})),
            "media_type: Input should be",
        ),
        (
            image(json!({"type": "base64", "media_type": "image/png", "data": "a b"})),
            "Invalid base64 data",
        ),
        (image(json!({"type": "base64", "media_type": "image/png"})), "data: Field required"),
        (
            image(
                json!({"type": "base64", "media_type": "image/png", "data": "a".repeat(6 << 20)}),
            ),
            "image exceeds 5 MB maximum",
        ),
        (image(json!({"type": "path"})), "Input tag 'path'"),
        (image(json!(null)), "Field required"),
        (
            after(json!([user(json!([{"type": "document", "source": {"type": "base64"}}]))])),
            "document.source.data",
        ),
        (
            answer(json!([{"type": "thinking", "thinking": "x"}, text("a")])),
            "thinking.signature: Field required",
        ),
        (
            answer(json!([{"type": "thinking", "signature": "s"}, text("a")])),
            "thinking.thinking: Field required",
        ),
        (
            answer(json!([{"type": "thinking", "thinking": "x", "signature": ""}, text("a")])),
            "Invalid `signature` in `thinking` block",
        ),
        (
            answer(json!([{"type": "redacted_thinking", "data": ""}, text("a")])),
            "Invalid `data` in `redacted_thinking` block",
        ),
        (
            answer(json!([text("a"), {"type": "thinking", "thinking": "x", "signature": "s"}])),
            "final block in an assistant message cannot be `thinking`",
        ),
        (
            after(json!([user(
                json!([{"type": "thinking", "thinking": "x", "signature": "s"}, text("a")])
            )])),
            "`thinking` blocks can only be in `assistant`",
        ),
        (
            answer(json!([
                marked(json!({"type": "thinking", "thinking": "x", "signature": "s"}), None),
                text("a")
            ])),
            "thinking.cache_control: Extra inputs",
        ),
        (
            answer(json!([{"type": "tool_use", "name": "Read", "input": {}}])),
            "tool_use.id: Field required",
        ),
        (
            answer(json!([{"type": "tool_use", "id": "1", "input": {}}])),
            "tool_use.name: Field required",
        ),
        (
            answer(json!([{"type": "tool_use", "id": "1", "name": "Read"}])),
            "tool_use.input: Field required",
        ),
        (
            answer(json!([{"type": "tool_use", "id": "1", "name": "Read", "input": "x"}])),
            "tool_use.input: Input should be",
        ),
        (answer(json!([use_of("a b")])), "String should match pattern"),
        (
            after(json!([assistant(json!([use_of("1")]))])),
            "`tool_use` ids were found without `tool_result` blocks",
        ),
        (answer(json!([use_of("1")])), "immediately after: 1"),
        (
            after(json!([
                assistant(json!([use_of("1"), use_of("2")])),
                user(json!([result_of("1")]))
            ])),
            "immediately after: 2",
        ),
        (
            after(json!([
                assistant(json!([use_of("1")])),
                user(json!([text("first"), result_of("1")]))
            ])),
            "immediately after: 1",
        ),
        (after(json!([user(json!([result_of("1")]))])), "unexpected `tool_use_id`"),
        (
            after(json!([
                assistant(json!([use_of("1"), use_of("1")])),
                user(json!([result_of("1")]))
            ])),
            "`tool_use` ids must be unique",
        ),
        (
            after(json!([
                assistant(json!([use_of("1")])),
                user(json!([result_of("1")])),
                assistant(json!([use_of("1")])),
                user(json!([result_of("1")]))
            ])),
            "`tool_use` ids must be unique",
        ),
        (
            after(json!([
                assistant(json!([use_of("1")])),
                user(json!([result_of("1"), result_of("1")]))
            ])),
            "must have a single result",
        ),
        (
            after(json!([user(json!([use_of("1")]))])),
            "`tool_use` blocks can only be in `assistant`",
        ),
        (
            after(json!([assistant(json!([result_of("1")]))])),
            "`tool_result` blocks can only be in `user`",
        ),
        (
            after(json!([assistant(json!([use_of("1")])), user(json!([{"type": "tool_result"}]))])),
            "tool_use_id: Field required",
        ),
        (
            after(json!([
                assistant(json!([use_of("1")])),
                user(json!([{"type": "tool_result", "tool_use_id": "1", "content": 7}]))
            ])),
            "tool_result.content: Input should be",
        ),
        (
            after(json!([
                assistant(json!([use_of("1")])),
                user(json!([{"type": "tool_result", "tool_use_id": "1", "is_error": "no"}]))
            ])),
            "is_error: Input should be a valid boolean",
        ),
        (
            after(json!([
                assistant(json!([use_of("1")])),
                user(
                    json!([{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "thinking"}]}])
                )
            ])),
            "Input tag 'thinking'",
        ),
        (
            after(json!([
                assistant(json!([use_of("1")])),
                user(
                    json!([{"type": "tool_result", "tool_use_id": "1", "is_error": true, "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]}])
                )
            ])),
            "all content must be type \"text\" if `is_error` is true",
        ),
        (
            answer(
                json!([{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, text("a")]),
            ),
            "was found without a corresponding",
        ),
        (
            after(json!([{"role": "system", "content": [use_of("1")]}])),
            "`system` messages take text only",
        ),
        (
            after(json!([assistant("ends with a space ".into())])),
            "cannot end with trailing whitespace",
        ),
    ]
}

fn invalid_fields() -> Vec<(Value, &'static str)> {
    let many: Vec<Value> = (0..5).map(|_| marked(text("a"), None)).collect();
    vec![
        (json!([]), "Input should be a valid dictionary"),
        (without("model"), "model: Field required"),
        (set("/model", json!(7)), "model: Input should be a valid string"),
        (set("/model", json!("")), "model: String should have at least 1 character"),
        (without("max_tokens"), "max_tokens: Field required"),
        (set("/max_tokens", json!(0)), "max_tokens: Input should be greater than or equal to 1"),
        (set("/max_tokens", json!(-1)), "max_tokens: Input should be greater than or equal to 1"),
        (set("/max_tokens", json!("9")), "max_tokens: Input should be a valid integer"),
        (
            set("/max_tokens", json!(1_000_000)),
            "which is the maximum allowed number of output tokens",
        ),
        (add("temperature", json!(1.1)), "temperature: Input should be less than or equal to 1"),
        (
            add("temperature", json!(-0.1)),
            "temperature: Input should be greater than or equal to 0",
        ),
        (add("top_p", json!("x")), "top_p: Input should be a valid number"),
        (add("top_k", json!(-1)), "top_k: Input should be greater than or equal to 0"),
        (add("stream", json!("yes")), "stream: Input should be a valid boolean"),
        (add("stop_sequences", json!("x")), "stop_sequences: Input should be a valid list"),
        (add("stop_sequences", json!([" "])), "each stop sequence must contain non-whitespace"),
        (add("metadata", json!({"user": "x"})), "metadata.user: Extra inputs"),
        (
            add("metadata", json!({"user_id": 7})),
            "metadata.user_id: Input should be a valid string",
        ),
        (add("service_tier", json!("gold")), "service_tier: Input should be"),
        (add("surprise", json!(1)), "surprise: Extra inputs are not permitted"),
        (add("context_management", json!({"edits": []})), "context_management: Extra inputs"),
        (add("mcp_servers", json!([])), "mcp_servers: Extra inputs"),
        (add("system", json!(7)), "system: Input should be a valid list"),
        (add("system", json!([{"type": "image"}])), "system.0.type: Input should be 'text'"),
        (add("system", json!([text("")])), "system: text content blocks must be non-empty"),
        (add("tool_choice", json!({"type": "maybe"})), "Input tag 'maybe'"),
        (
            add("tool_choice", json!({"type": "tool", "name": "No"})),
            "Tool 'No' not found in provided tools",
        ),
        (add("tool_choice", json!({"type": "tool"})), "tool_choice.tool.name: Field required"),
        (
            with(|body| {
                body["tools"] = json!([]);
                body["tool_choice"] = json!({"type": "any"});
            }),
            "may only be specified while providing tools",
        ),
        (add("tools", json!({})), "tools: Input should be a valid list"),
        (
            add("tools", json!([{"input_schema": {"type": "object"}}])),
            "tools.0.custom.name: Field required",
        ),
        (
            add("tools", json!([{"name": "a b", "input_schema": {"type": "object"}}])),
            "String should match pattern",
        ),
        (
            add("tools", json!([{"name": "a".repeat(129), "input_schema": {"type": "object"}}])),
            "String should match pattern",
        ),
        (add("tools", json!([{"name": "a"}])), "input_schema: Field required"),
        (
            add(
                "tools",
                json!([{"name": "a", "input_schema": {"type": "object"}}, {"name": "a", "input_schema": {"type": "object"}}]),
            ),
            "Tool names must be unique",
        ),
        (schema(json!("x")), "input_schema: Input should be a valid dictionary"),
        (schema(json!({})), "input_schema.type: Field required"),
        (schema(json!({"type": "array"})), "input_schema.type: Input should be 'object'"),
        (schema(json!({"type": "object", "anyOf": []})), "does not support oneOf, allOf, or anyOf"),
        (schema(json!({"type": "object", "properties": []})), "JSON schema is invalid"),
        (
            schema(json!({"type": "object", "properties": {"a": {"type": "text"}}})),
            "JSON schema is invalid",
        ),
        (schema(json!({"type": "object", "required": "a"})), "JSON schema is invalid"),
        (
            schema(json!({"type": "object", "properties": {"a": {"items": 7}}})),
            "JSON schema is invalid",
        ),
        (add("thinking", json!({"type": "hard"})), "Input tag 'hard'"),
        (add("thinking", json!({"budget_tokens": 2000})), "thinking.type: Field required"),
        (add("thinking", json!({"type": "enabled"})), "budget_tokens: Field required"),
        (
            add("thinking", json!({"type": "enabled", "budget_tokens": 1000})),
            "greater than or equal to 1024",
        ),
        (
            with(|body| {
                body["tools"] = json!(null);
                body["thinking"] = json!({"type": "enabled", "budget_tokens": 2000});
            }),
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        ),
        (
            with(|body| {
                body["temperature"] = json!(0.5);
                body["thinking"] = json!({"type": "adaptive"});
            }),
            "`temperature` may only be set to 1",
        ),
        (
            with(|body| {
                body["tool_choice"] = json!({"type": "any"});
                body["thinking"] = json!({"type": "adaptive"});
            }),
            "Thinking may not be enabled when tool_choice forces tool use",
        ),
        (
            with(|body| {
                body["thinking"] = json!({"type": "enabled", "budget_tokens": 2000});
                body["messages"] = json!([
                    user("a".into()),
                    assistant(json!([use_of("1")])),
                    user(json!([result_of("1")]))
                ]);
            }),
            "a final `assistant` message must start with a thinking block",
        ),
        (
            add("system", json!(many)),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            add("system", json!([marked(text("a"), Some("2h"))])),
            "ttl: Input should be '5m' or '1h'",
        ),
        (
            add(
                "system",
                json!([{"type": "text", "text": "a", "cache_control": {"type": "eternal"}}]),
            ),
            "type: Input should be 'ephemeral'",
        ),
        (
            with(|body| {
                body["system"] = json!([marked(text("a"), None)]);
                body["messages"] = json!([user(json!([marked(text("b"), Some("1h"))]))]);
            }),
            "a ttl='1h' cache_control block must not come after a ttl='5m'",
        ),
    ]
}

#[test]
fn each_thing_that_the_api_refuses_is_refused_with_its_words() {
    let cases: Vec<(Value, &str)> =
        invalid_messages().into_iter().chain(invalid_fields()).collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    let mut sentences = BTreeSet::new();
    for (body, words) in &cases {
        let shown: String = body.to_string().chars().take(300).collect();
        let (status, kind, message) =
            judged(body, Purpose::Answer).unwrap_or_else(|| panic!("accepted: {shown}"));
        assert_eq!((status, kind), (400, "invalid_request_error"), "{shown}");
        assert!(message.contains(words), "{shown}: {message}");
        sentences.insert(message);
    }
    assert!(sentences.len() >= 60, "{} different sentences", sentences.len());
    assert_eq!(judged(&with(|_| {}), Purpose::Answer), None, "the request that all begin with");
}

#[test]
fn a_request_that_counts_tokens_has_no_limit_of_tokens() {
    let body = without("max_tokens");
    assert_eq!(judged(&body, Purpose::Count), None);
    let (_, _, message) = judged(&with(|_| {}), Purpose::Count).unwrap();
    assert_eq!(message, "max_tokens: Extra inputs are not permitted");
}

#[test]
fn headers_are_checked_before_the_body() {
    let good = Headers {
        has_key: true,
        version: Some("2023-06-01".into()),
        betas: BETAS.map(str::to_owned).into(),
        content_type: Some("application/json".into()),
    };
    assert_eq!(good.check(), None);
    for (headers, status, kind) in [
        (Headers { has_key: false, ..good.clone() }, 401, "authentication_error"),
        (Headers { version: None, ..good.clone() }, 400, "invalid_request_error"),
        (Headers { version: Some("1".into()), ..good.clone() }, 400, "invalid_request_error"),
        (Headers { betas: vec!["a b".into()], ..good.clone() }, 400, "invalid_request_error"),
        (Headers { betas: vec!["nope".into()], ..good.clone() }, 400, "invalid_request_error"),
        (Headers { content_type: Some("text/plain".into()), ..good }, 400, "invalid_request_error"),
    ] {
        let refusal = headers.check().unwrap();
        assert_eq!((refusal.status, refusal.kind), (status, kind), "{headers:?}");
    }
}

/// The requests of a corpus: those that were written down, those that clients sent on resume,
/// and those that logs give for each of their answers.
fn recorded_requests() -> Vec<(String, Value)> {
    let mut requests = Vec::new();
    for corpus in corpora() {
        for file in files(&corpus, "requests.jsonl") {
            for line in fs::read_to_string(&file).unwrap().lines() {
                let request: Value = serde_json::from_str(line).unwrap();
                // A request to which the endpoint was told to answer with an error counts too.
                requests.push((file.display().to_string(), request["messages"].clone()));
            }
        }
        for file in files(&corpus, ".json") {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with("resume") {
                let resume: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
                requests.push((file.display().to_string(), resume["messages"].clone()));
            }
        }
        for file in logs(&corpus) {
            // Some subagents go on from what another log has.
            if file.file_name().unwrap().to_string_lossy().starts_with("agent-") {
                continue;
            }
            let log = fs::read(&file).unwrap();
            let session = session_of(&log);
            for answer in recording(&session, &log).answers {
                let messages = messages_before(&session, answer.line, &log);
                let messages: Vec<Value> = messages
                    .iter()
                    .map(|message| serde_json::from_slice(message).unwrap())
                    .collect();
                let name = format!("{} before line {}", file.display(), answer.line);
                requests.push((name, messages.into()));
            }
        }
    }
    requests.retain(|(_, messages)| messages.as_array().is_some_and(|all| !all.is_empty()));
    requests
}

pub(crate) fn session_of(log: &[u8]) -> Session {
    let mut session = Session::default();
    for line in Lines::new(log) {
        session.push(&decode(line).0);
    }
    session
}

#[test]
fn no_recorded_request_is_refused() {
    let requests = recorded_requests();
    assert!(requests.len() >= 500, "{}", requests.len());
    let betas = BETAS.map(str::to_owned);
    let mut refused = Vec::new();
    for (name, messages) in &requests {
        let body = json!({"model": "m", "max_tokens": 100, "messages": messages}).to_string();
        let refusal = Judge.judge(body.as_bytes(), &betas, Purpose::Answer).1;
        refused.extend(refusal.map(|refusal| format!("{name}: {}", refusal.message)));
    }
    assert!(refused.is_empty(), "{} of {}:\n{}", refused.len(), requests.len(), refused.join("\n"));
}

#[test]
fn own_signatures_are_verified() {
    let options =
        MockOptions { personality: Personality::Thinker, seed: 7, ..MockOptions::default() };
    let mock = Mock::start(options).unwrap();
    let client = client_of(&mock);
    let mut request = hello();
    request.thinking = Some(json!({"type": "adaptive"}).into());
    let answer = ask(&client, request.clone()).unwrap();
    let blocks: Vec<_> = answer.blocks.iter().map(|one| one.block.clone()).collect();
    assert_eq!(blocks[0].kind(), "thinking");
    let next = |blocks: Vec<recto_agent::wire::Block>| {
        let mut request = request.clone();
        request.messages.push(Message::assistant(blocks));
        request.messages.push(hello().messages.remove(0));
        ask(&client, request)
    };
    next(blocks.clone()).unwrap();
    // A mock with another seed, too, knows what a mock has signed.
    let other = Mock::start(MockOptions { seed: 8, ..MockOptions::default() }).unwrap();
    let mut later = request.clone();
    later.messages.push(Message::assistant(blocks.clone()));
    later.messages.push(hello().messages.remove(0));
    ask(&client_of(&other), later).unwrap();
    let mut altered = blocks.clone();
    altered[0] = blocks[0].json().with("thinking", b"\"something else\"").into();
    let failure = next(altered).unwrap_err();
    assert!(failure.to_string().contains("cannot be modified"), "{failure}");
    assert_eq!(failure.attempts, 1, "it would be refused again");
    let mut cut = blocks.clone();
    let signature = blocks[0].json().str("signature").unwrap().into_owned();
    let half = format!("{:?}", &signature[..signature.len() / 2]);
    cut[0] = blocks[0].json().with("signature", half.as_bytes()).into();
    assert!(next(cut).is_err());
}
