//! Faults × client: each turn completes, or ends in an error with a name, within its budget.

use std::time::Duration;

use recto_agent::api::ApiEvent;
use recto_agent::api::Client;
use recto_agent::mock::Fault;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Personality;
use recto_agent::wire::FinishedBlock;

use crate::support::ask;
use crate::support::client_of;
use crate::support::endpoint_of;
use crate::support::events_of;
use crate::support::hello;
use crate::support::mock_of;
use crate::support::wait;

fn mock_with(faults: &[&str]) -> Mock {
    let faults = faults.iter().map(|text| text.parse::<Fault>().unwrap()).collect();
    let personality = Personality::Constant("The answer.".into());
    Mock::start(MockOptions { faults, personality, keep: 1000, ..MockOptions::default() }).unwrap()
}

/// What came of an exchange: the attempts, and the name of the error if there is one.
fn outcome(client: &Client) -> (u32, Option<&'static str>) {
    let (events, end) = events_of(client, hello());
    let retries = events.iter().filter(|event| matches!(event, ApiEvent::Retry { .. })).count();
    let attempts = u32::try_from(retries).unwrap() + 1;
    match end {
        Ok(answer) => {
            assert_eq!(answer.text_of_blocks(), "The answer.");
            // What was shown since the last connection is the answer, and nothing twice.
            let start = events.iter().rposition(|e| matches!(e, ApiEvent::Connected { .. }));
            let shown: Vec<&FinishedBlock> = events[start.unwrap()..]
                .iter()
                .filter_map(|event| match event {
                    ApiEvent::Block { block, .. } => Some(block),
                    _ => None,
                })
                .collect();
            let said: Vec<&FinishedBlock> = answer.blocks.iter().collect();
            assert!(shown.is_empty() || shown == said, "{shown:?}");
            (attempts, None)
        }
        Err(failure) => {
            assert_eq!(failure.attempts, attempts);
            (attempts, Some(failure.error.name()))
        }
    }
}

#[test]
fn a_fault_that_passes_is_survived_and_one_that_stays_has_a_name() {
    let table: [(&[&str], u32, Option<&str>); 33] = [
        (&["400"], 1, Some("invalid-request")),
        (&["401"], 1, Some("unauthenticated")),
        (&["402"], 1, Some("billing")),
        (&["403"], 1, Some("forbidden")),
        (&["404"], 1, Some("not-found")),
        (&["413"], 1, Some("request-too-large")),
        (&["408"], 2, None),
        (&["409"], 2, None),
        (&["429"], 2, None),
        (&["429,retry-after=0"], 2, None),
        (&["429,retry-after-ms=5"], 2, None),
        (&["429,retry-after=3600"], 1, Some("rate-limited")),
        (&["429", "429", "429", "429"], 5, None),
        (&["500"], 2, None),
        (&["503"], 2, None),
        (&["500,should-retry=false"], 1, Some("endpoint-failed")),
        (&["400,should-retry=true"], 2, None),
        (&["529", "529", "529"], 4, None),
        (&["529", "529", "529", "529"], 4, Some("overloaded")),
        (&["slow-start:50"], 1, None),
        (&["slow-bytes:1"], 1, None),
        (&["chunks:1"], 1, None),
        (&["cut-byte:0"], 2, None),
        (&["cut-byte:300"], 2, None),
        (&["cut-byte:300", "cut-byte:301"], 3, None),
        (&["cut-byte:100000"], 1, None),
        (&["error-event:0"], 2, None),
        (&["error-event:3,type=api_error"], 2, None),
        (&["error-event:2,type=invalid_request_error"], 1, Some("bad-stream")),
        (&["garbage"], 2, None),
        (&["wrong-type"], 2, None),
        (&["reset"], 2, None),
        (&["reset", "500", "cut-event:2", "429", "garbage"], 6, None),
    ];
    for (faults, attempts, error) in table {
        let mock = mock_with(faults);
        assert_eq!(outcome(&client_of(&mock)), (attempts, error), "{faults:?}");
    }
}

#[test]
fn a_stream_that_is_cut_after_any_event_is_asked_for_again() {
    // Start, block, ping, delta, end of the block, end of the message, stop.
    for events in 0..=7 {
        let mock = mock_with(&[&format!("cut-event:{events}")]);
        // With the stop reason everything was said.
        let attempts = if events >= 6 { 1 } else { 2 };
        assert_eq!(outcome(&client_of(&mock)), (attempts, None), "{events}");
    }
}

#[test]
fn a_stream_that_is_cut_at_any_byte_is_asked_for_again() {
    let mock = mock_with(&[]);
    let client = client_of(&mock);
    let whole = ask(&client, hello()).unwrap();
    // A few hundred places, each with a connection of its own.
    for byte in (0..900).step_by(7) {
        let mock = mock_with(&[&format!("cut-byte:{byte}")]);
        let (events, end) = events_of(&client_of(&mock), hello());
        assert_eq!(end.unwrap().text_of_blocks(), whole.text_of_blocks(), "{byte}: {events:?}");
    }
}

#[test]
fn what_was_whole_before_an_error_is_handed_over_and_not_asked_for_again() {
    let mock = mock_with(&["error-event:5"]);
    let (_, end) = events_of(&client_of(&mock), hello());
    let failure = end.unwrap_err();
    assert_eq!(failure.attempts, 1);
    assert_eq!(failure.error.kind(), "overloaded_error");
    assert_eq!(failure.partial.len(), 1);
    assert_eq!(failure.partial[0].block.view().text().unwrap(), "The answer.");
    assert_eq!(mock.asked().len(), 1);
}

#[test]
fn silence_ends_after_the_time_for_it() {
    for fault in ["hang:0", "hang:4", "slow-start:600000"] {
        let mock = mock_with(&[fault, fault]);
        let mut endpoint = endpoint_of(&mock.base_url());
        endpoint.retries.most = 1;
        endpoint.timeouts.response = Duration::from_millis(300);
        endpoint.timeouts.idle = Duration::from_millis(200);
        let client = Client::new(endpoint).unwrap();
        assert_eq!(outcome(&client), (2, Some("timeout")), "{fault}");
        assert_eq!(outcome(&client), (1, None), "{fault}: then it answers");
    }
}

#[test]
fn no_fault_is_retried_for_ever() {
    for (fault, attempts, name) in [
        ("500", 11, "endpoint-failed"),
        ("429", 11, "rate-limited"),
        ("529", 4, "overloaded"),
        ("reset", 11, "unreachable"),
        ("cut-event:2", 11, "truncated"),
        ("cut-byte:10", 11, "truncated"),
        ("garbage", 2, "bad-stream"),
        ("wrong-type", 2, "not-the-api"),
        ("429,retry-after=61", 1, "rate-limited"),
    ] {
        let mock = mock_of(&format!("[[rule]]\ntext = \"The answer.\"\nfault = \"{fault}\"\n"));
        assert_eq!(outcome(&client_of(&mock)), (attempts, Some(name)), "{fault}");
        assert_eq!(mock.asked().len(), attempts as usize, "{fault}");
    }
}

#[test]
fn after_streams_that_fail_the_answer_is_asked_for_in_one_piece() {
    let mock = mock_with(&["cut-event:2", "cut-event:2"]);
    assert_eq!(outcome(&client_of(&mock)), (3, None));
    let asked: Vec<bool> = mock.asked().iter().map(|one| one.body["stream"] == true).collect();
    assert_eq!(asked, [true, true, false]);
    let bodies = mock.asked();
    assert_eq!(bodies[0].body["messages"], bodies[2].body["messages"]);
}

#[test]
fn an_exchange_that_is_dropped_ends_and_the_next_one_works() {
    for until in 0..6 {
        let mock = mock_with(&["slow-bytes:20"]);
        let client = client_of(&mock);
        wait(async {
            let mut exchange = client.send(hello());
            for _ in 0..until {
                exchange.next().await.unwrap().unwrap();
            }
            drop(exchange);
            let answer = client.send(hello()).answer().await.unwrap();
            assert_eq!(answer.text_of_blocks(), "The answer.");
        });
        assert_eq!(mock.differences(), 0);
    }
}
