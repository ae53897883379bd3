//! Whatever stands in a log comes out as text.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use crate::support::SESSION;
use crate::support::Test;
use crate::support::hours_ago;

/// The hostile texts, in pieces that fit into one session each.
fn texts() -> Vec<String> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hostile");
    let mut texts = Vec::new();
    for name in ["html.txt", "terminal.txt"] {
        let lines = std::fs::read_to_string(root.join(name)).unwrap();
        for line in lines.lines() {
            let value = recto_log::json::Value::parse(line.as_bytes()).unwrap();
            texts.push(value.as_str().unwrap().into_owned());
        }
    }
    assert!(texts.len() > 900, "{}", texts.len());
    texts
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn hostile_strings_in_every_field_come_out_as_text() {
    let home = FakeHome::new();
    let texts = texts();
    let mut session = SessionBuilder::new(SESSION, Client::V2_1_325);
    for text in &texts {
        let input = format!(r#"{{"command":{0},"file_path":{0}}}"#, quoted(text));
        session = session.prompt(text).thinking(text).answer(text).tool(text, &input, text);
    }
    let last = texts.last().unwrap();
    home.add(&session.custom_title(last).branch(last).model(last), hours_ago(1));
    let test = Test::new(home);
    let base = format!("/api/v1/sessions/{SESSION}");
    let mut next = Some((1, 0));
    let mut seen = std::collections::HashSet::new();
    while let Some((from, skip)) = next {
        let answer = test.get(&format!("{base}/turns?from={from}&skip={skip}&count=50"));
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let page = answer.json();
        for item in page["turns"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|turn| turn["items"].as_array().unwrap().iter())
        {
            if item["item"] == "answer" {
                seen.insert(item["text"].as_str().unwrap().to_owned());
            }
            if item["item"] == "call" {
                let result = item["result"]["text"].as_str().unwrap();
                assert_eq!(item["tool"].as_str().unwrap(), result);
            }
        }
        next = page["next"]
            .as_object()
            .map(|next| (next["from"].as_u64().unwrap(), next["skip"].as_u64().unwrap()));
    }
    for text in texts.iter().filter(|text| !text.trim().is_empty()) {
        assert!(seen.contains(text), "{text:?} did not come out as it is");
    }
    for path in ["", "/files", "/health", "/agents", "/plans"] {
        let answer = test.get(&format!("{base}{path}"));
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.json().is_object() || answer.json().is_array());
    }
    let head = test.get(&base).json();
    assert_eq!(head["session"]["title"].as_str().map(str::is_empty), Some(false));
    // A line is text to a browser, whatever it holds.
    let answer = test.get(&format!("{base}/lines/{}", head["outline"][0]["line"]));
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    let document = test.get(&format!("{base}/export?format=html"));
    assert!(document.header("content-disposition").unwrap().starts_with("attachment;"));
}
