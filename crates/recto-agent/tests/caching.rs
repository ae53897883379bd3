//! Turn n + 1 reads what turn n wrote.

use recto_agent::api::CacheTime;
use recto_agent::api::set_marks;
use recto_agent::wire::Block;
use recto_agent::wire::Json;
use recto_agent::wire::Message;
use recto_agent::wire::Request;
use serde_json::json;

use crate::support::ask;
use crate::support::client_of;
use crate::support::mock_of;
use crate::support::wait;

/// A request of an agent after some turns of many blocks.
fn request_of(turns: usize) -> Request {
    let mut request = Request::new("claude-opus-5-5", 1000);
    request.system = vec![Block::text("Be brief."), Block::text(&"rules ".repeat(200))];
    request.tools = ["Read", "Write"]
        .map(|name| json!({"name": name, "input_schema": {"type": "object"}}).into())
        .into();
    request.messages.push(Message::user([Block::text("Question")]));
    for turn in 0..turns {
        if turn % 3 == 2 {
            request.messages.push(Message::assistant([Block::text("Done.")]));
            request.messages.push(Message::user([Block::text("And now?")]));
            continue;
        }
        let calls: Vec<String> = (0..12).map(|call| format!("toolu_{turn}_{call}")).collect();
        let input = Json::from(json!({"path": "/a"}));
        let uses = calls.iter().map(|id| Block::tool_use(id, "Read", &input));
        request.messages.push(Message::assistant(uses));
        let results = calls.iter().map(|id| Block::tool_result(id, "some text", false));
        request.messages.push(Message::user(results));
    }
    request
}

#[test]
fn the_next_turn_reads_what_this_one_wrote() {
    for time in [CacheTime::Minutes, CacheTime::Hour] {
        let mock = mock_of("[[rule]]\ntext = \"ok\"\n");
        let client = client_of(&mock);
        let mut written = 0;
        for turns in 0..8 {
            let mut request = request_of(turns);
            set_marks(&mut request, time);
            let usage = ask(&client, request).unwrap().usage();
            let read = usage.cache_read_input_tokens.unwrap();
            assert_eq!(read, written, "{turns}");
            written = read + usage.cache_creation_input_tokens.unwrap();
            let fresh = usage.input_tokens.unwrap();
            assert_eq!(fresh, 0, "{turns}: all of it is before a mark");
            let long = usage.cache_1h_input_tokens.unwrap();
            assert_eq!(long > 0, time == CacheTime::Hour);
        }
    }
}

#[test]
fn marks_are_four_at_most_and_change_nothing_else() {
    let plain = request_of(3);
    let mut marked = plain.clone();
    set_marks(&mut marked, CacheTime::Minutes);
    let body = String::from_utf8(marked.body()).unwrap();
    assert_eq!(body.matches("cache_control").count(), 4);
    let without = body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    assert_eq!(without.into_bytes(), plain.body());
    let again = {
        let mut again = marked.clone();
        set_marks(&mut again, CacheTime::Minutes);
        again
    };
    assert_eq!(again, marked);
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one() {
    for turns in 0..8 {
        let (shorter, longer) = (request_of(turns).body(), request_of(turns + 1).body());
        let end = shorter.len() - b"],\"stream\":true}".len();
        assert!(longer.starts_with(&shorter[..end]), "{turns}");
    }
}

#[test]
fn tokens_are_counted_by_the_endpoint_or_estimated() {
    let mock = mock_of("[[rule]]\ntext = \"ok\"\n");
    let counted = wait(client_of(&mock).count_tokens(&request_of(2))).unwrap();
    let estimated = recto_agent::api::estimate_tokens(&request_of(2));
    assert!(counted.abs_diff(estimated) * 10 < counted, "{counted} {estimated}");
    let models = wait(client_of(&mock).models()).unwrap();
    assert!(models.contains(&"claude-opus-5-5".to_owned()) || !models.is_empty());
}

#[test]
fn an_answer_has_a_cost_by_the_price_table() {
    let mock = mock_of(
        "[[rule]]\ntext = \"ok\"\nanswer_model = \"claude-sonnet-4-5\"\nusage = { input_tokens = 1000000, output_tokens = 0, cache_creation = { ephemeral_5m_input_tokens = 0, ephemeral_1h_input_tokens = 0 } }\n",
    );
    let answer = ask(&client_of(&mock), request_of(1)).unwrap();
    let prices = recto_session::usage::PriceTable::built_in().unwrap();
    let cost = recto_agent::api::cost_of(&answer, &prices).unwrap();
    let row = prices.rows().iter().find(|row| row.model == "claude-sonnet-4-5").unwrap();
    let per_million = row.per_million()[0].1.unwrap();
    let long = row.above().map(|(_, prices)| prices[0].1.unwrap());
    assert!(cost == per_million || Some(cost) == long, "{cost:?}");
}
