use serde_json::json;

use super::*;

fn refused(messages: Value) -> Option<String> {
    let body = json!({"model": "m", "max_tokens": 10, "messages": messages}).to_string();
    let judge = Judge;
    judge.judge(body.as_bytes(), &[], Purpose::Answer).1.map(|refusal| refusal.message)
}

fn use_of(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {}})
}

fn result_of(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "x"})
}

#[test]
fn a_paired_conversation_is_accepted() {
    let messages = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}, use_of("1")]},
        {"role": "assistant", "content": [use_of("2")]},
        {"role": "user", "content": [result_of("1")]},
        {"role": "system", "content": []},
        {"role": "user", "content": [result_of("2"), {"type": "text", "text": "b"}]},
    ]);
    assert_eq!(refused(messages), None);
}

#[test]
fn half_of_a_surrogate_pair_is_refused_and_still_read() {
    let body = br#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"\\ud83d \ud83d\ude00 \ud83d!"}]}"#;
    let (value, refusal) = Judge.judge(body, &[], Purpose::Answer);
    assert_eq!(value["messages"][0]["content"], "\\ud83d \u{1F600} \u{FFFD}!");
    assert!(refusal.unwrap().message.contains("surrogate"));
}

#[test]
fn too_many_bytes_are_refused() {
    let body = json!({"messages": [{"role": "user", "content": "a".repeat(MOST_BYTES)}]});
    let body = body.to_string();
    let refusal = Judge.judge(body.as_bytes(), &[], Purpose::Answer).1.unwrap();
    assert_eq!((refusal.status, refusal.kind), (413, "request_too_large"));
}
