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
        (missing, 404, "there is no session of this id"),
        ("/nothing/%3Cb%3Ehere", 404, "there is nothing here"),
        ("/usage?period=soon", 400, "This cannot be asked"),
        ("/sessions?sinse=7d", 400, "This cannot be asked"),
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
