//! Every recorded resume is rebuilt exactly.

use std::collections::BTreeMap;

use recto_log::Lines;
use recto_log::decode;
use recto_session::Session;
use recto_session::request::Generation;
use recto_session::request::RequestOptions;
use recto_session::request::reach_at;
use recto_session::request::read_by;
use recto_session::request::request;
use recto_testkit::difference;
use serde_json::Value;

use crate::cases::Case;
use crate::cases::cases;
use crate::cases::corpora;

#[test]
fn every_recorded_resume_is_rebuilt() {
    for corpus in corpora() {
        let cases = cases(&corpus);
        assert!(cases.len() > 100, "the corpus is not there: {} cases", cases.len());
        let mut scores: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        let mut misses = Vec::new();
        for case in &cases {
            let folder = case.name.rsplit_once('/').map_or("", |(folder, _)| folder);
            let folder = if folder.starts_with("edit") { folder } else { &case.version };
            let score = scores.entry(folder.into()).or_default();
            score.1 += 1;
            match miss(case) {
                None => score.0 += 1,
                Some(miss) => misses.push(format!("{}: {miss}", case.name)),
            }
        }
        for (folder, (good, all)) in &scores {
            eprintln!("{folder:14} {good}/{all}");
        }
        eprintln!("all {}/{}", cases.len() - misses.len(), cases.len());
        assert!(misses.is_empty(), "{}", misses.join("\n"));
    }
}

/// What is wrong with the prediction, if anything is.
fn miss(case: &Case) -> Option<String> {
    let generation = Generation::of_version(&case.version).unwrap();
    let mut session = Session::new();
    session.read_as(generation);
    for line in Lines::new(&case.log) {
        session.push(&read_by(decode(line).0, generation));
    }
    let reach = reach_at(&session, generation, case.place);
    let recorded = &case.expected["messages"];
    let outcome = match &case.expected["outcome"] {
        Value::String(outcome) => outcome,
        _ if case.expected["rc"] == 0 && recorded.is_array() => "resumed",
        _ => "refused",
    };
    if reach.outcome.name() != outcome {
        return Some(format!("{outcome}, not {:?}", reach.outcome));
    }
    if outcome != "resumed" {
        return None;
    }
    let options = RequestOptions {
        prompt: case.expected["prompt"].as_str().map(str::to_owned),
        ..RequestOptions::default()
    };
    let request = request(&session, &reach, &case.log, &options);
    assert!(request.unreadable.is_empty(), "{}", case.name);
    let rebuilt = serde_json::from_slice(&request.messages).unwrap();
    difference(recorded, &rebuilt)
}
