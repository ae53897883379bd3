//! The page of a session, without a browser, and what a browser is told where
//! there is no page.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use crate::support::Answer;
use crate::support::SESSION;
use crate::support::TOKEN;
use crate::support::Test;
use crate::support::hours_ago;
use crate::support::session;
use crate::support::working_home;

/// A session that was rewound to its first answer: two ways.
fn forked() -> FakeHome {
    let start = SessionBuilder::new(SESSION, Client::V2_1_325).prompt("First").answer("one");
    let first = String::from_utf8(start.bytes().to_vec()).unwrap();
    let mut uuids = first.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["uuid"].as_str().map(str::to_owned)
    });
    let answer = uuids.next_back().unwrap();
    let again = serde_json::json!({
        "type": "user", "uuid": "0b0b0b0b-0000-4000-8000-000000000001", "parentUuid": answer,
        "isSidechain": false, "sessionId": SESSION, "timestamp": "2026-11-01T10:00:00.000Z",
        "cwd": "/home/dev/app", "version": "2.1.325", "userType": "external",
        "message": {"role": "user", "content": "The right way"},
    });
    let home = FakeHome::new();
    home.add(&start.prompt("The left way").answer("two").raw(format!("{again}\n")), hours_ago(1));
    home
}

/// The addresses of an outline, with what stands beside them.
fn outline(page: &str) -> Vec<(String, String)> {
    let outline = page.split("id=\"outline\"").nth(1).unwrap();
    let entries = outline.split(" href=\"").skip(1);
    let entry = |entry: &str| {
        let address = entry.split('"').next().unwrap().replace("&amp;", "&");
        let words = entry.split("<bdi>").nth(1).unwrap().split('<').next().unwrap();
        (address, words.to_owned())
    };
    entries.map(entry).collect()
}

#[test]
fn the_outline_and_its_links_keep_to_the_branch() {
    let test = Test::new(forked());
    let branches = test.get(&format!("/api/v1/sessions/{SESSION}")).json();
    let branches = branches["branches"].as_array().unwrap().clone();
    assert_eq!(branches.len(), 2);
    let words = |query: &str| -> Vec<String> {
        let page = test.get(&format!("/session/{SESSION}{query}")).text();
        let entries = outline(&page).into_iter();
        let entries = entries.map(|(address, words)| {
            let has_branch = address.contains("branch=");
            assert_eq!(has_branch, !query.is_empty(), "{address}");
            assert!(test.get(&address).text().contains(&words), "{address}");
            words
        });
        entries.collect()
    };
    assert_eq!(words(""), ["First", "The left way", "The right way"]);
    let mut ways: Vec<Vec<String>> = branches
        .iter()
        .map(|branch| words(&format!("?branch={}", branch["tip"].as_str().unwrap())))
        .collect();
    ways.sort();
    assert_eq!(ways, [["First", "The left way"], ["First", "The right way"]]);
}

fn ask_as(test: &Test, path: &str, accept: &str) -> Answer {
    let host = test.address;
    let headers = format!("Host: {host}\nAuthorization: Bearer {TOKEN}\nAccept: {accept}");
    test.ask("GET", path, &headers)
}

#[test]
fn a_browser_is_told_in_a_page_why_there_is_none() {
    let test = Test::new(working_home());
    let missing = "/session/00000000-0000-4000-8000-000000000000";
    for (path, status, words) in [
        (missing, 404, "no session has this id"),
        ("/nothing/%3Cb%3Ehere", 404, "nothing is at this address"),
        ("/usage?period=soon", 400, "Invalid request"),
        ("/sessions?sinse=7d", 400, "Invalid request"),
    ] {
        let page = ask_as(&test, path, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8");
        assert_eq!(page.status, status, "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        assert!(page.header("content-security-policy").is_some(), "{path}");
        let text = page.text();
        assert!(text.contains(words) && text.contains("href=\"/sessions\""), "{path}: {text}");
        assert!(!text.contains("<b>here"), "{path}");
        let script = ask_as(&test, path, "*/*");
        assert_eq!(script.status, status, "{path}");
        assert_eq!(script.header("content-type"), Some("application/json"), "{path}");
    }
    let program = ask_as(&test, "/api/v1/sessions/none", "text/html");
    assert_eq!(program.header("content-type"), Some("application/json"));
}

#[test]
fn a_compaction_is_marked_after_the_turn_that_ends_with_it() {
    let home = FakeHome::new();
    let log = SessionBuilder::new(SESSION, Client::V2_1_325)
        .prompt("First")
        .answer("one")
        .compaction("They said one.")
        .prompt("Second")
        .answer("two");
    home.add(&log, hours_ago(1));
    let test = Test::new(home);
    let page = test.get(&format!("/session/{SESSION}")).text();
    let outline = page.split("id=\"outline\"").nth(1).unwrap();
    let place = |text: &str| outline.find(text).unwrap_or_else(|| panic!("no {text}: {outline}"));
    assert!(place("<bdi>First") < place(">compacted<"), "{outline}");
    assert!(place(">compacted<") < place("<bdi>Second"), "{outline}");
}

#[test]
fn one_damaged_line_counts_once() {
    let home = FakeHome::new();
    let log = SessionBuilder::new(SESSION, Client::V2_1_325).prompt("One").answer("Two");
    home.add(&log.raw("{\"type\":\"user\",\"uui\n").prompt("Three"), hours_ago(1));
    let test = Test::new(home);
    let facts = test.get(&format!("/session/{SESSION}/facts")).text();
    assert!(facts.contains(">1 damaged<"), "{facts}");
    assert!(!facts.contains(">1 remarks<"), "{facts}");
}

#[test]
fn a_line_is_found_with_what_it_is_shown_with() {
    let test = Test::new(working_home());
    let attribute = |line: u64| {
        let page = test.get(&format!("/session/{SESSION}?line={line}"));
        assert_eq!(page.status, 200);
        let text = page.text();
        let part = text.split(" data-target=\"").nth(1)?;
        Some(part.split('"').next().unwrap().parse::<u64>().unwrap())
    };
    let lines: Vec<serde_json::Value> = String::from_utf8(session().bytes().to_vec())
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let is = |line: &serde_json::Value, kind: &str| line["message"]["content"][0]["type"] == kind;
    let call = lines.iter().position(|line| is(line, "tool_use")).unwrap() as u64 + 1;
    let result = lines.iter().position(|line| is(line, "tool_result")).unwrap() as u64 + 1;
    assert_eq!(attribute(call), Some(call));
    assert_eq!(attribute(result), Some(call), "a result is shown with its call");
    assert_eq!(attribute(9999), None);
}

#[test]
fn a_page_that_follows_gets_the_end_of_the_outline_and_the_numbers() {
    let test = Test::new(working_home());
    let news = test.get(&format!("/session/{SESSION}/news?from=2")).text();
    assert!(news.contains("data-turns=\"2\"") && news.contains("2 turns"), "{news}");
    assert!(news.contains("Thank you") && !news.contains("Fix the parser"), "{news}");
    assert!(news.contains("messages"), "{news}");
}

#[test]
fn commands_to_copy_name_a_home_that_a_client_would_not_use() {
    let page = |home: Option<&str>| {
        let test = Test::with(working_home(), |options| {
            options.home_to_name = home.map(Into::into);
        });
        test.get(&format!("/session/{SESSION}")).text()
    };
    let usual = page(None);
    assert!(usual.contains(&format!("claude --resume {SESSION}")), "{usual}");
    assert!(!usual.contains("CLAUDE_CONFIG_DIR"));
    let other = page(Some("/other home"));
    let command = format!("CLAUDE_CONFIG_DIR='/other home' claude --resume {SESSION}");
    assert!(other.contains(&command), "{other}");
}
