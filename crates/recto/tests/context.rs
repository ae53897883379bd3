//! `recto context`.

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

fn test_home() -> TestHome {
    let test = TestHome::empty();
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("Read the whole file.")
        .tool("Read", r#"{"file_path":"/a"}"#, &"line\n".repeat(2000))
        .tool("Bash", r#"{"command":"ls"}"#, &"name\n".repeat(200))
        .answer("It is long.")
        .compaction(&"We read it. ".repeat(40))
        .prompt("And now?")
        .answer("Nothing.");
    test.home.add(&log, hours_ago(1));
    test
}

#[test]
fn what_fills_the_context_is_shown_by_turn_and_by_part() {
    let test = test_home();
    assert_snapshot!(test.run(&["context"]).shown(), @"
    turn  measured  estimated                            most of it
       1     9,128     ~2,765  ████████████████████████  results 99 %
       3     9,128       ~122  ████████████████████████  [compacted] summaries 98 %, prompts 1 %

    turn 3, at line 14
                                              number  tokens
      summaries                                    1    ~120  ▎
      prompts                                      1      ~2  ▏
      rest       system prompt, tools, error          ~9,006  ████████████████████████
      all                                              9,128
    --- exit 0
    ");
    assert_snapshot!(test.run(&["context", "latest", "--turn", "1"]).shown(), @"
    turn 1, at line 7
                                            number  tokens
      results  Read                              1  ~2,500  █████████▍
      results  Bash                              1    ~250  ▉
      prompts                                    1      ~5  ▏
      calls    Bash                              1      ~5  ▏
      calls    Read                              1      ~5  ▏
      rest     system prompt, tools, error          ~6,363  ████████████████████████
      all                                            9,128
    --- exit 0
    ");
}

#[test]
fn json_has_all_turns_and_the_parts_of_one() {
    let test = test_home();
    let json = test.run(&["context", "--turn", "1", "--json"]).json().remove(0);
    assert_eq!(json["turns"].as_array().unwrap().len(), 2);
    assert_eq!((&json["turn"], &json["parts"][0]["name"]), (&1.into(), &"Read".into()));
    let turn = &json["turns"][0];
    let parts = json["parts"].as_array().unwrap().iter();
    let sum: u64 = parts.map(|part| part["estimated_tokens"].as_u64().unwrap()).sum();
    let all = turn["estimated_tokens"].as_u64().unwrap();
    assert!(all - sum < 8, "{all} and {sum}: parts are rounded down");
    assert!(turn["measured_tokens"].as_u64().unwrap() > all);
}

#[test]
fn a_turn_that_is_not_there_is_said() {
    let test = test_home();
    assert_snapshot!(test.run(&["context", "latest", "--turn", "99"]).shown(), @"
    --- stderr
    error: there is no turn 99
    hint: the session has 3 turns
    --- exit 1
    ");
    let empty = SessionBuilder::new(FIX, Client::V2_1_325).prompt("Hello");
    test.home.add(&empty, hours_ago(1));
    assert_eq!(test.run(&["context", "latest"]).code, 1);
}
