//! Streams: however the bytes are cut, the answer is the same.

use std::fs;

use proptest::prelude::*;
use recto_agent::wire::Accumulator;
use recto_agent::wire::Answer;
use recto_agent::wire::Json;
use recto_agent::wire::MOST_EVENT_BYTES;
use recto_agent::wire::Progress;
use recto_agent::wire::SseParser;
use recto_agent::wire::StreamEvent;
use serde_json::Value;
use serde_json::json;

use crate::support::ask;
use crate::support::client_of;
use crate::support::corpora;
use crate::support::hello;
use crate::support::logs;
use crate::support::mock_of;

/// The events in pieces of bytes.
fn frames<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut parser = SseParser::default();
    let mut frames = Vec::new();
    for piece in pieces {
        let pushed =
            parser.push(piece, |frame| frames.push((frame.event.to_vec(), frame.data.to_vec())));
        pushed.unwrap();
    }
    frames
}

fn answer_of(frames: &[(Vec<u8>, Vec<u8>)]) -> Option<Answer> {
    let mut accumulator = Accumulator::default();
    for (_, data) in frames {
        let event = StreamEvent::parse(data).ok()?;
        if let Progress::Done(answer) = accumulator.push(&event).ok()? {
            return Some(*answer);
        }
    }
    None
}

fn line_of(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
}

/// A stream with every kind of event and delta.
fn everything() -> String {
    let block = |index: u64, block: Value, deltas: Vec<Value>| {
        let mut events =
            vec![json!({"type": "content_block_start", "index": index, "content_block": block})];
        events.extend(
            deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
        events
    };
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 1}}}),
        json!({"type": "ping"}),
    ];
    events.extend(block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        vec![
            json!({"type": "thinking_delta", "thinking": "so 😀"}),
            json!({"type": "signature_delta", "signature": "EqQB=="}),
        ],
    ));
    events.extend(block(
        1,
        json!({"type": "text", "text": "", "citations": []}),
        vec![
            json!({"type": "text_delta", "text": "line\nend: \u{2028}"}),
            json!({"type": "citations_delta", "citation": {"cited_text": "c"}}),
        ],
    ));
    events.push(json!({"type": "surprise", "data": ":"}));
    events.extend(block(
        2,
        json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}),
        vec![
            json!({"type": "input_json_delta", "partial_json": ""}),
            json!({"type": "input_json_delta", "partial_json": "{\"path\": \"/a"}),
            json!({"type": "input_json_delta", "partial_json": "\"}"}),
        ],
    ));
    events.extend(block(
        3,
        json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        vec![],
    ));
    events.extend(block(
        4,
        json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
        vec![],
    ));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 9}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(line_of).collect()
}

/// The same events in other spellings.
fn spellings(stream: &str) -> Vec<(&'static str, Vec<u8>)> {
    let comments = stream.replace("event: ", ": a comment\nid: 7\nretry: 5\nunknown\nevent: ");
    let compact = stream.replace("event: ", "event:").replace("data: ", "data:");
    // One event in several lines of data: a line end is white space in JSON.
    let lines = stream.replace("data: {", "data: {\ndata: ");
    let mut marked = b"\xef\xbb\xbf".to_vec();
    marked.extend_from_slice(stream.as_bytes());
    vec![
        ("as it is", stream.into()),
        ("CRLF", stream.replace('\n', "\r\n").into()),
        ("CR", stream.replace('\n', "\r").into()),
        ("byte order mark", marked),
        ("comments", comments.into()),
        ("no spaces", compact.into()),
        ("lines", lines.into()),
    ]
}

#[test]
fn a_stream_is_the_same_however_it_is_cut_and_spelled() {
    let stream = everything();
    let expected = answer_of(&frames([stream.as_bytes()])).unwrap();
    assert_eq!(expected.blocks.len(), 5);
    for (name, bytes) in spellings(&stream) {
        let whole = frames([bytes.as_slice()]);
        assert_eq!(answer_of(&whole).as_ref().map(plain), Some(plain(&expected)), "{name}");
        for cut in 0..=bytes.len() {
            let (one, other) = bytes.split_at(cut);
            assert_eq!(frames([one, other]), whole, "{name}, cut at {cut}");
        }
        for size in [1, 2, 3, 7] {
            assert_eq!(frames(bytes.chunks(size)), whole, "{name}, pieces of {size}");
        }
    }
}

/// White space between tokens may differ.
fn plain(answer: &Answer) -> Value {
    answer.message.to_serde()
}

#[test]
fn every_recorded_answer_survives_the_mock_and_every_cut() {
    let mut count = 0;
    for corpus in corpora() {
        for file in logs(&corpus) {
            let log = fs::read(&file).unwrap();
            let session = crate::strictness::session_of(&log);
            for answer in recto_session::request::recording(&session, &log).answers {
                let message = Json::parse(answer.message.clone()).unwrap();
                let stream = stream_of(&message.to_serde());
                let whole = frames([stream.as_bytes()]);
                let read = answer_of(&whole).unwrap();
                assert_eq!(
                    read.message.to_serde()["content"],
                    message.to_serde()["content"],
                    "{} line {}",
                    file.display(),
                    answer.line
                );
                if stream.len() < 20_000 {
                    for cut in 0..=stream.len() {
                        let (one, other) = stream.as_bytes().split_at(cut);
                        assert_eq!(frames([one, other]).len(), whole.len());
                    }
                }
                assert_eq!(frames(stream.as_bytes().chunks(1)), whole);
                count += 1;
            }
        }
    }
    assert!(count >= 100, "{count}");
}

/// A message as the API would stream it.
fn stream_of(message: &Value) -> String {
    let mut start = message.clone();
    start["content"] = json!([]);
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in message["content"].as_array().unwrap().iter().enumerate() {
        let mut empty = block.clone();
        let mut deltas = Vec::new();
        for (field, kind) in [
            ("text", "text_delta"),
            ("thinking", "thinking_delta"),
            ("signature", "signature_delta"),
        ] {
            if let Some(text) = block[field].as_str() {
                empty[field] = "".into();
                deltas.push(json!({"type": kind, field: text}));
            }
        }
        if block["input"].is_object() {
            empty["input"] = json!({});
            let input = block["input"].to_string();
            let middle =
                (0..=input.len() / 2).rev().find(|at| input.is_char_boundary(*at)).unwrap();
            for piece in [&input[..middle], &input[middle..]] {
                deltas.push(json!({"type": "input_json_delta", "partial_json": piece}));
            }
        }
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_stop"}));
    events.iter().map(line_of).collect()
}

#[test]
fn a_giant_event_is_read_and_one_beyond_the_limit_is_refused() {
    let text = "x".repeat(8 << 20);
    let stream = format!("data: {text}\n\ndata: y\n\n");
    for size in [stream.len(), 64 << 10, 4093] {
        let frames = frames(stream.as_bytes().chunks(size));
        assert_eq!(frames.len(), 2);
        assert_eq!(frames[0].1.len(), text.len());
    }
    let mut parser = SseParser::default();
    let piece = vec![b'x'; 1 << 20];
    let mut pushed = Ok(());
    let mut taken = 0;
    while pushed.is_ok() && taken < 2 * MOST_EVENT_BYTES {
        pushed = parser.push(&piece, |_| {});
        taken += piece.len();
    }
    assert!(pushed.is_err() && taken <= MOST_EVENT_BYTES + 2 * piece.len());
}

fn budget() -> u32 {
    let given = std::env::var("RECTO_FUZZ_ITERATIONS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: budget(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Any bytes, and bytes that look like a stream: no panic, and no difference by cuts.
    #[test]
    fn any_bytes_are_a_stream(
        seeds in proptest::collection::vec(0usize..20, 0..24),
        noise in proptest::collection::vec(any::<u8>(), 0..12),
        cut in 0usize..4096,
    ) {
        const WORDS: [&[u8]; 20] = [
            b"data: ", b"data:", b"event: ", b"\n", b"\r", b"\r\n", b"\n\n", b": c", b"{}",
            b"{\"type\":\"message_start\",\"message\":{}}", b"\xef\xbb\xbf", b"{\"type\":\"ping\"}",
            b"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}",
            b"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"\\ud83d\"}}",
            b"{\"type\":\"content_block_stop\",\"index\":0}", b"{\"type\":\"message_stop\"}",
            b"[DONE]", b"\xff", b"{\"type\":\"message_delta\",\"delta\":7,\"usage\":[]}", b"id",
        ];
        let mut bytes: Vec<u8> = Vec::new();
        for (at, seed) in seeds.iter().enumerate() {
            bytes.extend_from_slice(WORDS[*seed]);
            if at == seeds.len() / 2 {
                bytes.extend_from_slice(&noise);
            }
        }
        let whole = frames([bytes.as_slice()]);
        let (one, other) = bytes.split_at(cut % (bytes.len() + 1));
        prop_assert_eq!(&frames([one, other]), &whole);
        prop_assert_eq!(&frames(bytes.chunks(1)), &whole);
        answer_of(&whole);
    }
}

#[test]
fn the_client_reads_every_kind_of_block_from_the_mock() {
    let mock = mock_of(
        r#"
        [[rule]]
        chunk_bytes = 3
        blocks = [
          { type = "thinking", thinking = "hm" },
          { type = "text", text = "hello 😀\n", citations = [{ cited_text = "c" }] },
          { type = "tool_use", name = "Read", input = { path = "/a", deep = [1, { x = true }] } },
          { type = "server_tool_use", name = "web_search", input = { query = "q" } },
          { type = "web_search_tool_result", tool_use_id = "s", content = [] },
          { type = "never_seen", field = { a = 1 } },
        ]
        "#,
    );
    let streamed = ask(&client_of(&mock), hello()).unwrap();
    let kinds: Vec<String> = streamed.blocks.iter().map(|one| one.block.kind()).collect();
    assert_eq!(
        kinds,
        ["thinking", "text", "tool_use", "server_tool_use", "web_search_tool_result", "never_seen"]
    );
    let tool = streamed.blocks[2].block.json().to_serde();
    assert_eq!(tool["input"], json!({"path": "/a", "deep": [1, {"x": true}]}));
    assert_eq!(streamed.stop_reason().as_deref(), Some("tool_use"));
    assert_eq!(streamed.request_id.as_deref(), Some("req_000000000000000000000001"));
    assert_eq!(mock.asked()[0].agent, concat!("recto/", env!("CARGO_PKG_VERSION")));
}
