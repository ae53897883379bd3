//! Recorded sessions: as tests of themselves, and as answers.

use std::fs;
use std::path::Path;

use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::replay::Replay;
use recto_agent::replay::compare;
use recto_agent::wire::Json;
use recto_agent::wire::Message;
use recto_agent::wire::Request;
use recto_session::request::Recording;
use recto_session::request::recording;
use serde_json::Value;

use crate::strictness::session_of;
use crate::support::ask;
use crate::support::client_of;
use crate::support::corpora;
use crate::support::logs;

fn read(path: &Path) -> Recording {
    let log = fs::read(path).unwrap();
    recording(&session_of(&log), &log)
}

fn recordings() -> Vec<(String, Recording)> {
    let logs = corpora().into_iter().flat_map(|corpus| logs(&corpus));
    logs.map(|path| (path.display().to_string(), read(&path))).collect()
}

#[test]
fn every_recorded_request_is_rebuilt_to_its_hash() {
    let (mut requests, mut messages) = (0, 0);
    for (name, recording) in recordings() {
        for compared in compare(&recording) {
            assert!(compared.is_whole, "{name} line {}", compared.line);
            assert_eq!(compared.missing, [], "{name} line {}", compared.line);
            requests += 1;
            messages += compared.messages;
        }
    }
    assert!(requests >= 80 && messages >= 300, "{requests} requests, {messages} messages");
}

#[test]
fn the_answers_are_those_that_the_requests_got() {
    for corpus in corpora() {
        for file in crate::support::files(&corpus, "requests.jsonl") {
            let lines = fs::read_to_string(&file).unwrap();
            let sent: Vec<Value> =
                lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            for path in logs(file.parent().unwrap()) {
                let recording = read(&path);
                for request in recording.requests.iter().filter(|one| one.hashes.is_some()) {
                    let Some(answer) = request.answer.map(|place| &recording.answers[place]) else {
                        continue;
                    };
                    let count = request.messages.len();
                    let same = sent.iter().find(|one| one["answer"] == answer.id.as_str());
                    let Some(same) = same else { continue };
                    assert_eq!(same["messages"].as_array().unwrap().len(), count, "{}", answer.id);
                }
            }
        }
    }
}

fn request_of(messages: &[Option<Vec<u8>>]) -> Request {
    let mut request = Request::new("m", 100);
    request.betas = vec!["per-turn-control-2026-07-01".into()];
    let messages = messages.iter().flatten().map(|text| Json::parse(text.clone()).unwrap());
    request.messages = messages.map(Message::from).collect();
    request
}

fn replayed(recording: &Recording, exact: bool) -> Mock {
    let replay = Some(Replay::new(recording));
    Mock::start(MockOptions { replay, exact, ..MockOptions::default() }).unwrap()
}

#[test]
fn the_mock_gives_the_recorded_answers_to_the_recorded_requests() {
    let mut count = 0;
    for (name, recording) in recordings() {
        if recording.requests.is_empty() {
            continue;
        }
        let mock = replayed(&recording, true);
        let client = client_of(&mock);
        for request in &recording.requests {
            let Some(answer) = request.answer.map(|place| &recording.answers[place]) else {
                continue;
            };
            let given = ask(&client, request_of(&request.messages));
            let given = given.unwrap_or_else(|failure| panic!("{name}: {failure}"));
            let recorded = Json::parse(answer.message.clone()).unwrap().to_serde();
            assert_eq!(given.message.to_serde()["content"], recorded["content"], "{name}");
            assert_eq!(given.id(), answer.id, "{name}");
            count += 1;
        }
        assert_eq!(mock.differences(), 0, "{name}");
    }
    assert!(count >= 80, "{count}");
}

#[test]
fn sessions_without_hashes_are_replayed_by_position() {
    let mut count = 0;
    for (name, recording) in recordings() {
        if !recording.requests.is_empty() || recording.answers.is_empty() {
            continue;
        }
        assert_eq!(compare(&recording), []);
        let mock = replayed(&recording, true);
        let client = client_of(&mock);
        for answer in &recording.answers {
            let given = ask(&client, crate::support::hello()).unwrap();
            assert_eq!(given.id(), answer.id, "{name}");
            count += 1;
        }
        assert_eq!(mock.differences(), 0, "{name}");
        let failure = ask(&client, crate::support::hello()).unwrap_err();
        assert!(failure.to_string().contains("one more than the recording has"), "{failure}");
    }
    assert!(count >= 100, "{count}");
}

#[test]
fn a_request_that_differs_is_told_where() {
    let found = recordings().into_iter().find(|(_, one)| {
        one.requests.iter().filter(|request| request.answer.is_some()).count() > 2
    });
    let (_, recording) = found.unwrap();
    let first = recording.requests.iter().find(|request| request.answer.is_some()).unwrap();
    let mut request = request_of(&first.messages);
    let text = request.messages[0].json().to_string().replace("LAB:", "LAC:");
    request.messages[0] = Json::parse(text).unwrap().into();
    let mock = replayed(&recording, true);
    let failure = ask(&client_of(&mock), request.clone()).unwrap_err();
    let words = failure.to_string();
    let line = first.line;
    assert!(
        words.contains(&format!(
            "request 1 differs from the recorded one (line {line}) at messages.0.content."
        )),
        "{words}"
    );
    assert!(words.contains("LAB:") && words.contains("LAC:"), "{words}");
    let lenient = replayed(&recording, false);
    let answer = ask(&client_of(&lenient), request).unwrap();
    assert_eq!(answer.id(), recording.answers[first.answer.unwrap()].id);
    assert_eq!(lenient.differences(), 1);
}
