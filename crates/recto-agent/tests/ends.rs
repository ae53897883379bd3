//! How turns end that go wrong again and again, and what a session does after that.

use recto_agent::turn::End;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use recto_agent::turn::With;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::Ran;
use crate::bench::call;
use crate::bench::calls_and_results;
use crate::bench::hook;
use crate::bench::script;

fn subtypes(ran: &Ran) -> Vec<String> {
    let named = ran.events.iter().filter_map(|event| match event {
        TurnEvent::System(line) => line["subtype"].as_str().map(str::to_owned),
        _ => None,
    });
    named.collect()
}

#[test]
fn an_answer_at_its_limit_is_continued_three_times() {
    let bench = Bench::new(&script(&[json!({"text": "more", "stop_reason": "max_tokens"})]));
    let ran = bench.run(bench.setup(), &["go"]);
    let End::ApiError(text, failed) = &ran.ends()[0].end else { panic!("{:?}", ran.ends()) };
    assert!(text.contains("output token maximum"), "{text}");
    assert_eq!((failed.error, failed.cause), ("max_output_tokens", Some("max_output_tokens")));
    assert_eq!(bench.mock.asked().len(), 4);
}

#[test]
fn a_model_that_refuses_twice_ends_the_turn() {
    let bench = Bench::new(&script(&[json!({"text": "no", "stop_reason": "refusal"})]));
    let ran = bench.run(bench.setup(), &["go"]);
    let End::ApiError(_, failed) = &ran.ends()[0].end else { panic!("{:?}", ran.ends()) };
    assert_eq!(failed.error, "invalid_request");
    assert_eq!(bench.mock.asked().len(), 2);
    let line =
        bench.lines().into_iter().find(|line| line["subtype"] == "model_refusal_no_fallback");
    assert_eq!(line.unwrap()["originalModel"], "claude-opus-5-5");
    assert!(subtypes(&ran).contains(&"model_refusal_no_fallback".to_owned()));
}

#[test]
fn a_request_that_is_too_large_is_sent_again_behind_a_summary() {
    let read = |id: &str| json!({"blocks": [call(id, "Read", json!({"file_path": "a.txt"}))]});
    let with = |mut rule: Value, nth: u64| {
        rule["nth"] = nth.into();
        rule
    };
    let bench = Bench::new(&script(&[
        json!({"contains": "write a summary", "text": "what was done"}),
        with(read("toolu_a"), 1),
        with(read("toolu_b"), 2),
        json!({"nth": 3, "fault": "413"}),
        json!({"text": "small again"}),
    ]));
    let ran = bench.run(bench.setup(), &["go"]);
    assert_eq!(ran.ends()[0].end, End::Completed, "{:?}", ran.events);
    let lines = bench.lines();
    let boundary = lines.iter().find(|line| line["subtype"] == "compact_boundary").unwrap();
    // The last call and its result stay as they are.
    let kept = boundary["compactMetadata"]["preservedMessages"]["uuids"].as_array().unwrap();
    assert_eq!(kept.len(), 2, "{boundary}");
    let sent = json!(bench.messages().pop().unwrap()).to_string();
    assert!(sent.contains("what was done") && sent.contains("toolu_b"), "{sent}");
    assert!(!sent.contains("toolu_a"), "{sent}");
}

#[test]
fn too_little_to_summarize_stays_an_error() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Read", json!({"file_path": "a.txt"}))]}),
        json!({"fault": "413"}),
    ]));
    let ran = bench.run(bench.setup(), &["go"]);
    assert!(matches!(&ran.ends()[0].end, End::ApiError(_, failed) if failed.status == Some(413)));
    assert_eq!(subtypes(&ran).iter().filter(|name| *name == "status").count(), 2);
    assert!(bench.lines().iter().all(|line| line["subtype"] != "compact_boundary"));
}

#[test]
fn behind_the_budget_nothing_is_told_and_nothing_is_asked() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Read", json!({"file_path": "a.txt"}))]}),
        json!({"text": "done"}),
    ]));
    let setup = Setup { budget: Some(1e-9), ..bench.setup() };
    let ran = bench.run(setup, &["one", "two"]);
    assert!(ran.ends().iter().all(|ended| matches!(ended.end, End::Budget(_))));
    let told = ran.events.iter().filter(|event| matches!(event, TurnEvent::User(_))).count();
    assert_eq!((told, bench.mock.asked().len()), (0, 1));
    // With more money the session goes on, and knows the result.
    bench.run(bench.resumed(), &["three"]);
    let (calls, results) = calls_and_results(&bench.lines());
    assert_eq!(calls, results);
    bench.is_sound().unwrap();
}

#[test]
fn a_call_behind_the_budget_is_known_to_who_resumes() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Read", json!({"file_path": "a.txt"}))]}),
        json!({"text": "done"}),
    ]));
    bench.run(Setup { budget: Some(1e-9), ..bench.setup() }, &["one"]);
    assert_eq!(calls_and_results(&bench.lines()).1, Vec::<String>::new());
    bench.run(bench.resumed(), &["two"]);
    let (calls, results) = calls_and_results(&bench.lines());
    assert_eq!(calls, results);
    bench.is_sound().unwrap();
}

#[test]
fn a_prompt_that_a_hook_stops_is_in_the_log_and_is_not_asked() {
    let bench = Bench::new(&script(&[json!({"text": "done"})]));
    let stop = hook(r#"echo '{"continue": false, "stopReason": "not now"}'"#);
    let setup = bench.with_hooks(&json!({"UserPromptSubmit": stop}));
    let ran = bench.run(setup, &["secret plan"]);
    assert!(matches!(ran.ends()[0].end, End::PromptBlocked(_)));
    assert!(bench.mock.asked().is_empty());
    let texts: Vec<String> =
        bench.lines().iter().map(|line| line["message"]["content"].to_string()).collect();
    assert!(texts.iter().any(|text| text.contains("secret plan")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("stopped by hook: not now")), "{texts:?}");
}

#[test]
fn what_a_session_cost_is_said_without_the_model() {
    let bench = Bench::new(&script(&[json!({"text": "done"})]));
    let ran = bench.run(bench.setup(), &["/cost", "/context", "/fast", "/plan"]);
    assert!(bench.mock.asked().is_empty());
    let ends: Vec<&End> = ran.ends().iter().map(|ended| &ended.end).collect();
    let named = |name: &str| End::Local(Some(name.to_owned()));
    assert_eq!(ends, [&named("cost"), &named("context"), &named("fast"), &End::Local(None)]);
    assert!(ran.ends()[0].text.starts_with("Total cost:            $0.0000\n"));
    let log = bench.lines();
    let text = log.iter().find_map(|line| {
        line["message"]["content"].as_str().filter(|text| text.contains("<command-name>"))
    });
    assert!(text.unwrap().contains("/usage"), "the log has the command's own name");
}

#[test]
fn a_session_says_what_it_is_called_and_run_as_at_both_ends() {
    let bench = Bench::new(&script(&[json!({"text": "done"})]));
    let agents = recto_agent::tool::agents_of(&json!({"reader": {
        "description": "reads", "prompt": "You only read.",
    }}));
    let with = With {
        agents,
        agent: Some("reader".into()),
        title: Some("My name".into()),
        ..With::default()
    };
    bench.run(Setup { with, ..bench.setup() }, &["go"]);
    let heading = |lines: &[Value]| -> Vec<String> {
        let kinds = lines.iter().filter_map(|line| line["type"].as_str().map(str::to_owned));
        let is_meant = |kind: &String| {
            matches!(kind.as_str(), "custom-title" | "agent-name" | "agent-setting")
        };
        kinds.filter(is_meant).collect()
    };
    let once = ["custom-title", "agent-name", "agent-setting"];
    assert_eq!(heading(&bench.lines()), [once, once].concat());
    bench.run(bench.resumed(), &["go on"]);
    assert_eq!(heading(&bench.lines()).len(), 6, "a log that goes on keeps the ones it has");
}
