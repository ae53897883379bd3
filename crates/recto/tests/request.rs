//! `recto request`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::TestHome;
use crate::support::repository;

fn log(name: &str) -> String {
    repository().join("fixtures/corpus").join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_request_is_outlined() {
    let test = TestHome::empty();
    let run = test.run(&["request", &log("edit/2.1.325/ends_with_tool_use.jsonl")]);
    assert_snapshot!(run.shown(), @r#"
    clients from 2.1.300 resume, from line 42
      1  user        360 B  text, text
      2  system     1.4 kB  text
      3  assistant   347 B  thinking, text, tool_use Read
      4  user        146 B  tool_result
      5  assistant   242 B  thinking, text
      6  user         64 B  text
      7  assistant   423 B  tool_use Bash, tool_use Bash, tool_use Bash
      8  user        864 B  tool_result, tool_result, tool_result
      9  assistant    80 B  text
    added: an error result for 3 calls that were cut off
    added: the answer "No response requested."
    not sent: 3 lines
      3 for the client, not for the model: 11, 14, 26
    verified 10 of 10 sent messages
    --- exit 0
    "#);
    let run = test.run(&["request", &log("edit/2.1.29/base.jsonl"), "--as", "2.1.29"]);
    assert_snapshot!(run.shown(), @"
    clients 2.1.0 to 2.1.99 resume, from line 20
       1  user        65 B  text
       2  assistant  347 B  thinking, text, tool_use Read
       3  user       238 B  tool_result
       4  assistant  242 B  thinking, text
       5  user        64 B  text
       6  assistant  164 B  tool_use Bash
       7  user       130 B  tool_result
       8  assistant   68 B  text
       9  user        68 B  text
      10  assistant   84 B  text
    not sent: 4 lines
      4 not on the way from the leaf to the beginning: 12–15
    --- exit 0
    ");
}

#[test]
fn what_is_not_resumed_says_why() {
    let test = TestHome::empty();
    let cycle = log("edit/2.0.50/cycle.jsonl");
    let run = test.run(&["request", &cycle, "--as", "2.0.50"]);
    assert_snapshot!(run.shown(), @"
    clients up to 2.0.75 hang, from line 23: the parents of line 23 lead back to it
    --- exit 1
    ");
    assert_eq!(test.run(&["request", &cycle]).code, 0);
    assert_snapshot!(test.run(&["request", &cycle, "--as", "new"]).shown(), @"
    --- stderr
    error: `new` is no version of a client
    hint: versions look like 2.0.50 or 2.1.325; `latest` is the newest known
    --- exit 2
    ");
}

/// Without a prompt, the messages are those that were sent before it.
#[test]
fn the_messages_are_those_that_were_sent() {
    let test = TestHome::empty();
    for version in ["2.0.50", "2.1.29"] {
        let base = log(&format!("edit/{version}/text_edited.jsonl"));
        let recorded = std::fs::read(base.replace(".jsonl", ".expect.json")).unwrap();
        let recorded: Value = serde_json::from_slice(&recorded).unwrap();
        let mut sent = recorded["messages"].as_array().unwrap().clone();
        sent.pop();
        for block in sent.iter_mut().flat_map(|message| message["content"].as_array_mut()).flatten()
        {
            block.as_object_mut().unwrap().remove("cache_control");
        }
        let answer = test.run(&["request", &base, "--as", version, "--json"]).json().remove(0);
        let rebuilt = answer["messages"].as_array().unwrap();
        assert_eq!(rebuilt.len(), sent.len(), "{version}");
        for (rebuilt, sent) in
            rebuilt.iter().zip(&sent).filter(|(_, sent)| sent["content"].is_array())
        {
            assert_eq!(rebuilt, sent, "{version}");
        }
        assert_eq!(answer["outcome"], "resumed");
        assert!(answer["leaf"].is_string());
    }
}

#[test]
fn hashes_in_the_log_are_verified() {
    let test = TestHome::empty();
    let answer = test.run(&["request", &log("edit/2.1.325/base.jsonl"), "--json"]).json().remove(0);
    let verified = &answer["verified"];
    assert!(verified["of"].as_u64().unwrap() > 5, "{verified}");
    assert_eq!(verified["known"], verified["of"]);
}
