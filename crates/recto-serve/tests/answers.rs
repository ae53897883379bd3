//! What the API says of a home whose contents are known.

use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::full_home;
use crate::support::hours_ago;
use crate::support::session;
use crate::support::working_home;

fn ids(list: &serde_json::Value) -> Vec<&str> {
    let sessions = list["sessions"].as_array().unwrap().iter();
    sessions.map(|session| session["id"].as_str().unwrap()).collect()
}

#[test]
fn sessions_are_listed_filtered_and_cut_into_parts() {
    let test = Test::new(full_home());
    let list = |query: &str| test.get(&format!("/api/v1/sessions{query}")).json();
    let all = list("");
    assert_eq!(ids(&all), [SESSION, OTHER]);
    assert_eq!(all["total"], 2);
    assert_eq!(all["next"], serde_json::Value::Null);
    assert_eq!(ids(&list("?count=1&from=1")), [OTHER]);
    assert_eq!(list("?count=1")["next"], 1);
    assert_eq!(ids(&list("?q=docs")), [OTHER]);
    assert_eq!(ids(&list("?q=PARSER")), [SESSION]);
    assert_eq!(ids(&list("?since=5h")), [SESSION]);
    assert_eq!(ids(&list("?until=5h")), [OTHER]);
    assert_eq!(ids(&list("?project=/home/dev/docs")), [OTHER]);
    assert_eq!(ids(&list("?live=true")), [SESSION]);
    assert_eq!(all["sessions"][0]["live"], "busy");
    assert_eq!(all["sessions"][0]["status"], "working");
    assert_eq!(all["sessions"][1]["live"], serde_json::Value::Null);
    assert_eq!(all["sessions"][1]["status"], serde_json::Value::Null);
    for bad in ["?since=soon", "?count=many", "?sinse=7d", "?q=a&q=b"] {
        assert_eq!(test.get(&format!("/api/v1/sessions{bad}")).status, 400, "{bad}");
    }
}

#[test]
fn turns_hold_calls_with_their_results() {
    let test = Test::new(working_home());
    let page = test.get(&format!("/api/v1/sessions/{SESSION}/turns")).json();
    let kinds: Vec<&str> = page["turns"][0]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["item"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["prompt", "thinking", "answer", "call", "call", "answer"]);
    let calls = &page["turns"][0]["items"];
    assert_eq!(calls[3]["result"]["text"], "src/main.rs");
    assert_eq!(calls[3]["result"]["is_error"], false);
    assert_eq!(calls[4]["result"]["is_error"], true);
    assert_eq!(page["total"], 2);
    let second = test.get(&format!("/api/v1/sessions/{SESSION}/turns?from=2&count=1")).json();
    assert_eq!(second["turns"].as_array().unwrap().len(), 1);
    assert_eq!(second["turns"][0]["turn"], 2);
    assert_eq!(second["next"], serde_json::Value::Null);
}

#[test]
fn a_long_turn_comes_in_parts_and_long_texts_have_an_address() {
    let home = recto_testkit::FakeHome::new();
    let mut session = SessionBuilder::new(SESSION, Client::V2_1_325).prompt("Go");
    let long = format!("{}end", "0123456789".repeat(2000));
    for at in 0..700 {
        let result = if at == 650 { long.as_str() } else { "ok" };
        session = session.tool("Bash", &format!(r#"{{"command":"step {at}"}}"#), result);
    }
    home.add(&session, hours_ago(1));
    let test = Test::new(home);
    let mut steps = Vec::new();
    let (mut from, mut skip, mut parts) = (1, 0, 0);
    let mut rest = None;
    loop {
        let path = format!("/api/v1/sessions/{SESSION}/turns?from={from}&skip={skip}");
        let page = test.get(&path).json();
        parts += 1;
        for item in page["turns"][0]["items"].as_array().unwrap() {
            if item["item"] == "call" {
                steps.push(item["about"].as_str().unwrap().to_owned());
                assert!(item["result"].is_object(), "{item}");
                if let Some(address) = item["result"]["rest"].as_str() {
                    rest = Some(address.to_owned());
                }
            }
        }
        if page["next"].is_null() {
            break;
        }
        from = page["next"]["from"].as_u64().unwrap();
        skip = page["next"]["skip"].as_u64().unwrap();
    }
    let expected: Vec<String> = (0..700).map(|at| format!("step {at}")).collect();
    assert_eq!(steps, expected);
    assert!(parts >= 3, "{parts}");
    assert_eq!(test.get(&rest.unwrap()).text(), long);
}

#[test]
fn a_result_in_a_file_is_read_from_there_and_nowhere_else() {
    let home = recto_testkit::FakeHome::new();
    let names = |path: &str| {
        format!("<persisted-output>\nOutput too large. Full output saved to: {path}\n\n1\n2")
    };
    let log = SessionBuilder::new(SESSION, Client::V2_1_325)
        .prompt("Go")
        .tool("Bash", "{}", &names("/anywhere/tool-results/b1.txt"))
        .tool("Bash", "{}", &names("../../secret.txt"));
    home.add(&log, hours_ago(1));
    let folder = format!("projects/-home-dev-app/{SESSION}");
    home.write(&format!("{folder}/tool-results/b1.txt"), "all of it");
    home.write("projects/-home-dev-app/secret.txt", "secret");
    home.write(&format!("{folder}/secret.txt"), "secret");
    let test = Test::new(home);
    let page = test.get(&format!("/api/v1/sessions/{SESSION}/turns")).json();
    let items = page["turns"][0]["items"].as_array().unwrap();
    let calls: Vec<_> = items.iter().filter(|item| item["item"] == "call").collect();
    assert!(calls[0]["result"]["overflow"]["path"].is_string());
    let address = calls[0]["result"]["rest"].as_str().unwrap();
    assert_eq!(test.get(address).text(), "all of it");
    assert!(calls[1]["result"]["overflow"]["path"].is_null());
    let base = format!("/api/v1/sessions/{SESSION}/results");
    let other = test.get(&format!("{base}/{}", calls[1]["id"].as_str().unwrap()));
    assert_eq!(other.status, 200);
    assert!(!other.text().contains("secret\n") && other.text().contains("no longer exists"));
    assert_eq!(test.get(&format!("{base}/toolu_none")).status, 404);
}

#[test]
fn the_status_of_a_session_comes_with_its_evidence() {
    let test = Test::new(full_home());
    let all = test.get("/api/v1/status").json();
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    assert_eq!((&all[0]["id"], &all[0]["status"]), (&SESSION.into(), &"working".into()));
    assert!(!all[0]["why"].as_array().unwrap().is_empty());
    let other = test.get(&format!("/api/v1/status?session={OTHER}")).json();
    assert_eq!(other[0]["id"], OTHER);
    assert_ne!(other[0]["status"], "working");
    assert_eq!(test.get("/api/v1/status?session=none").status, 404);
}

#[test]
fn a_search_finds_what_was_written_a_moment_ago() {
    let test = Test::new(full_home());
    let find = |query: &str| test.get(&format!("/api/v1/search?q={query}")).json();
    let found = find("parser");
    assert!(found["total"].as_u64().unwrap() >= 1, "{found}");
    let marked: Vec<&str> = found["hits"][0]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|part| part["mark"] == true)
        .map(|part| part["text"].as_str().unwrap())
        .collect();
    assert!(marked.iter().all(|text| text.eq_ignore_ascii_case("parser")), "{marked:?}");
    assert_eq!(find("zebrafish")["total"], 0);
    let new = SessionBuilder::new("9f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", Client::V2_1_325)
        .prompt("The zebrafish swims")
        .answer("It does");
    test.home.add(&new, hours_ago(0));
    assert_eq!(find("zebrafish")["total"], 1);
    assert_eq!(find("zebrafish+project:docs")["total"], 0);
    assert_eq!(test.get("/api/v1/search?q=%22open").status, 400);
    assert_eq!(test.get("/api/v1/search?q=a&sort=bogus").status, 400);
}

#[test]
fn hits_come_in_parts_and_none_is_left_out() {
    let test = Test::new(full_home());
    let find = |query: &str| test.get(&format!("/api/v1/search?q=project:app{query}")).json();
    let places = |answer: &serde_json::Value| -> Vec<String> {
        let hits = answer["hits"].as_array().unwrap().iter();
        hits.map(|hit| format!("{} {} {}", hit["session"], hit["line"], hit["role"])).collect()
    };
    for sort in ["", "&sort=rank"] {
        let all = find(&format!("{sort}&count=200"));
        assert_eq!(all["next"], serde_json::Value::Null);
        assert!(places(&all).len() > 4, "{all}");
        let (mut found, mut from) = (Vec::new(), 0);
        loop {
            let part = find(&format!("{sort}&count=2&from={from}"));
            found.extend(places(&part));
            match part["next"].as_u64() {
                Some(next) => from = next,
                None => break,
            }
        }
        assert_eq!(found, places(&all), "{sort}");
    }
}

#[test]
fn usage_adds_up_by_what_is_asked() {
    let test = Test::new(full_home());
    let usage = |query: &str| test.get(&format!("/api/v1/usage{query}")).json();
    let by_session = usage("?by=session");
    assert_eq!(by_session["by"], serde_json::json!(["session"]));
    let sum: u64 = by_session["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["messages"].as_u64().unwrap())
        .sum();
    assert_eq!(by_session["total"]["messages"], sum);
    assert!(sum > 2);
    let one = usage(&format!("?by=model&session={SESSION}"));
    assert!(one["total"]["messages"].as_u64().unwrap() < sum);
    assert_eq!(test.get("/api/v1/usage?by=day,day").status, 400);
}

#[test]
fn subagents_have_turns_of_their_own() {
    let test = Test::new(full_home());
    let base = format!("/api/v1/sessions/{SESSION}");
    let agents = test.get(&format!("{base}/agents")).json();
    let id = agents[0]["id"].as_str().unwrap();
    let page = test.get(&format!("{base}/agents/{id}/turns")).json();
    let text = page.to_string();
    assert!(text.contains("Look for the grammar"), "{text}");
    assert_eq!(test.get(&format!("{base}/agents/a0000000/turns")).status, 404);
    assert_eq!(test.get(&format!("/api/v1/sessions/{OTHER}/agents/{id}/turns")).status, 404);
}

#[test]
fn documents_are_whole() {
    let test = Test::new(working_home());
    for (format, kind) in
        [("md", "text/markdown"), ("html", "text/html"), ("json", "application/json")]
    {
        let answer = test.get(&format!("/api/v1/sessions/{SESSION}/export?format={format}"));
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-type").unwrap().starts_with(kind));
        assert!(answer.text().contains("Fix the parser"), "{}", answer.text());
    }
    assert_eq!(test.get(&format!("/api/v1/sessions/{SESSION}/export?format=exe")).status, 400);
}

#[test]
fn what_is_added_to_a_log_is_in_the_next_answer() {
    let test = Test::new(working_home());
    let path = format!("/api/v1/sessions/{SESSION}/turns?from=1&count=50");
    assert_eq!(test.get(&path).json()["total"], 2);
    let mut events = test.events(None);
    events.until("ready");
    let whole = session().prompt("One more").answer("Yes");
    test.write(&whole.bytes()[session().bytes().len()..]);
    events.until("appended");
    // Who was told finds what is new.
    assert_eq!(test.get(&path).json()["total"], 3);
}
